from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.hashing import digest as module
from envdoctor.hashing.digest import Digest, FileChangedError, Stopped, digest_file

# Published: FIPS 180-4's example, the digest of nothing, and git's ids of both.
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def write(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def stat_of(path: str, **times: int) -> os.stat_result:
    """The state of a file, but for these times."""
    stat = os.stat(path)
    return os.stat_result(tuple(stat)[:10], {"st_mtime_ns": stat.st_mtime_ns, "st_ctime_ns": stat.st_ctime_ns, **times})


def test_known_digests(tmp_path: Path) -> None:
    assert digest_file(write(tmp_path / "abc", b"abc")) == Digest(3, ABC, None)
    assert digest_file(write(tmp_path / "nothing", b"")) == Digest(0, NOTHING, None)
    assert digest_file(write(tmp_path / "nothing", b""), git_blob=True).git_blob == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_blob_id_is_what_git_says(tmp_path: Path) -> None:
    path = write(tmp_path / "config.json", b'{"model_type": "chatglm"}\r\n' * 100_000)
    told = subprocess.run(["git", "hash-object", "--no-filters", path], capture_output=True, text=True, check=True)
    assert digest_file(path, git_blob=True).git_blob == told.stdout.strip()


@given(content=st.binary(max_size=3000), chunk=st.integers(1, 1024), step=st.integers(1, 4000), git_blob=st.booleans())
def test_any_content_in_any_pieces(tmp_path_factory: pytest.TempPathFactory, content: bytes, chunk: int, step: int, git_blob: bool) -> None:
    path = write(tmp_path_factory.getbasetemp() / "content", content)
    told: list[int] = []
    with mock.patch.object(module, "CHUNK", chunk), mock.patch.object(module, "STEP", step):
        found = digest_file(path, git_blob=git_blob, progress=told.append)
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    assert found == Digest(len(content), hashlib.sha256(content).hexdigest(), blob if git_blob else None)
    assert sum(told) == len(content)
    assert all(told)


def test_a_sparse_file_is_as_large_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate((40 << 20) + 5)
    told: list[int] = []
    assert digest_file(str(path), progress=told.append).sha256 == hashlib.sha256(bytes((40 << 20) + 5)).hexdigest()
    assert told == [16 << 20, 16 << 20, (8 << 20) + 5]


def test_what_is_not_a_regular_file_is_refused_and_holds_nobody_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "directory").mkdir()
    (tmp_path / "link").symlink_to(write(tmp_path / "file", b"abc"))
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name, kind in (
            ("pipe", "a named pipe"),
            ("directory", "a directory"),
            ("link", "a symbolic link"),
            ("socket", "a socket"),
            (os.devnull, "a device"),
        ):
            with pytest.raises(OSError, match=f"{kind}, not a regular file"):
                digest_file(name)


def test_what_is_swapped_between_looking_and_opening_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    secret = write(tmp_path / "secret", b"secret")

    def swapped(replace: str) -> None:
        path.unlink(missing_ok=True)
        write(path, b"abc")
        seen = os.lstat(path)
        path.unlink()
        path.symlink_to(secret) if replace == "link" else os.mkfifo(path)
        monkeypatch.setattr(os, "lstat", lambda _: seen)

    swapped("link")
    with pytest.raises(OSError, match="symbolic links"):
        digest_file(str(path))
    monkeypatch.undo()
    swapped("pipe")
    with pytest.raises(OSError, match="a named pipe, not a regular file"):
        digest_file(str(path))


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        digest_file(str(tmp_path / "absent"))
    with pytest.raises(OSError, match="Not a directory"):
        digest_file(write(tmp_path / "file", b"") + "/below")
    if sys.platform == "linux":
        with pytest.raises(OSError, match="error"):  # a regular file, whose first page cannot be had
            digest_file("/proc/self/mem")
    if os.geteuid():
        path = tmp_path / "secret"
        path.touch(mode=0)
        with pytest.raises(PermissionError):
            digest_file(str(path))


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_a_file_with_more_than_its_size_is_not_taken_for_empty() -> None:
    with pytest.raises(FileChangedError, match="grew beyond 0 bytes"):
        digest_file("/proc/self/status")


@pytest.mark.parametrize("change", ["rewritten", "truncated", "grown", "touched", "emptied"])
@pytest.mark.parametrize("size", [40 << 20, 1000])
def test_a_file_that_changes_while_it_is_read_has_no_digest(tmp_path: Path, size: int, change: str) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(size)
    os.utime(path, ns=(1, 1))

    def alter(_: int) -> None:
        if change == "touched":
            os.utime(path, ns=(2, 2))
        else:
            with path.open("r+b") as file:
                if change == "rewritten":
                    file.write(b"other")
                else:
                    file.truncate({"truncated": size // 2, "grown": size * 2, "emptied": 0}[change])

    with pytest.raises(FileChangedError, match="while it was read"):
        digest_file(str(path), progress=alter)


def test_a_file_that_never_ends_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, bytes(1000))

    def grow(_: int) -> None:
        with path.open("ab") as file:
            file.write(bytes(1000))

    with mock.patch.object(module, "CHUNK", 100), mock.patch.object(module, "STEP", 1), pytest.raises(FileChangedError, match="grew"):
        digest_file(str(path), progress=grow)


def test_a_file_in_another_state_than_expected_is_not_read(tmp_path: Path) -> None:
    path, other = write(tmp_path / "file", b"abc"), write(tmp_path / "other", b"abc")
    assert digest_file(path, expected=os.stat(path)) == Digest(3, ABC, None)
    with pytest.raises(FileChangedError, match="another file took its place"):
        digest_file(path, expected=os.stat(other))
    with pytest.raises(FileChangedError, match="its change time moved"):
        digest_file(path, expected=stat_of(path, st_ctime_ns=1))
    with pytest.raises(FileChangedError, match="it was written"):
        digest_file(path, expected=stat_of(path, st_mtime_ns=1))


def test_a_directory_swapped_while_its_file_is_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "model", tmp_path / "other"
    inside.mkdir()
    outside.mkdir()
    write(inside / "file", bytes(1000))
    write(outside / "file", b"secret")

    def swap(_: int) -> None:
        if outside.exists():
            inside.rename(tmp_path / "away")
            outside.rename(inside)

    with mock.patch.object(module, "CHUNK", 100), mock.patch.object(module, "STEP", 1):
        found = digest_file(str(inside / "file"), progress=swap)
    assert found.sha256 == hashlib.sha256(bytes(1000)).hexdigest()


def test_stops_where_it_is(tmp_path: Path) -> None:
    stop = threading.Event()
    told: list[int] = []

    def first(count: int) -> None:
        told.append(count)
        stop.set()

    with mock.patch.object(module, "CHUNK", 10), mock.patch.object(module, "STEP", 10), pytest.raises(Stopped):
        digest_file(write(tmp_path / "file", bytes(1000)), progress=first, stop=stop)
    assert told == [10]
