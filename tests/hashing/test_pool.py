from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.hashing import pool
from envdoctor.hashing.cache import DigestCache
from envdoctor.hashing.digest import Digest, digest_file
from envdoctor.hashing.pool import Job, Outcome, digest_all

ROOT = Path(__file__).parent.parent.parent


def digest_of(content: bytes, git_blob: bool = False) -> Digest:
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() if git_blob else None
    return Digest(len(content), hashlib.sha256(content).hexdigest(), blob)


def write(path: Path, content: bytes) -> Job:
    path.write_bytes(content)
    return Job(str(path), False)


def at_rest(directory: Path, *, full: bool = False) -> DigestCache:
    """A cache to which every file was written long ago."""
    return DigestCache.open(directory, full=full, clock=lambda: 2**62)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are hashed, in the order in which they are begun."""
    begun: list[str] = []

    def noted(path: str, **options: object) -> Digest:
        begun.append(path)
        hasher: Callable[..., Digest] = digest_file
        return hasher(path, **options)

    monkeypatch.setattr(pool, "digest_file", noted)
    return begun


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is worth a child."""
    monkeypatch.setattr(pool, "LARGE", 1)
    monkeypatch.setattr(pool, "WORTH_A_CHILD", 1)


@given(contents=st.lists(st.binary(max_size=50), max_size=8), threads=st.integers(1, 4), blobs=st.lists(st.booleans(), min_size=8))
def test_outcomes_are_in_the_order_of_the_jobs(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], threads: int, blobs: list[bool]
) -> None:
    directory = tmp_path_factory.mktemp("files")
    jobs = [Job(write(directory / str(n), content).path, blobs[n]) for n, content in enumerate(contents)]
    told: list[int] = []
    found = digest_all(jobs, threads=threads, progress=told.append)
    assert found == [Outcome(job, digest_of(contents[n], job.git_blob), None, False) for n, job in enumerate(jobs)]
    assert sum(told) == sum(map(len, contents))


@pytest.mark.usefixtures("mapped")
def test_mapped_files_have_the_same_outcomes(tmp_path: Path) -> None:
    contents = [os.urandom(size) for size in (0, 1, 4096, 70_000, 5_000_000)]
    jobs = [write(tmp_path / str(n), content) for n, content in enumerate(contents)]
    told: list[int] = []
    found = digest_all(jobs, threads=2, progress=told.append)
    assert found == [Outcome(job, digest_of(contents[n]), None, False) for n, job in enumerate(jobs)]
    assert sum(told) == sum(map(len, contents))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_the_largest_first(tmp_path: Path, read: list[str]) -> None:
    jobs = [write(tmp_path / str(size), bytes(size)) for size in (3, 1, 4, 0, 5, 9, 2, 6)]
    digest_all(jobs, threads=1)
    assert [os.path.basename(path) for path in read] == ["9", "6", "5", "4", "3", "2", "1", "0"]


def test_each_inode_once_whatever_its_names(tmp_path: Path, read: list[str]) -> None:
    first = write(tmp_path / "first", b"content")
    os.link(first.path, tmp_path / "second")
    second = Job(str(tmp_path / "second"), True)
    told: list[int] = []
    found = digest_all([first, second, first], progress=told.append)
    assert found == [Outcome(job, digest_of(b"content", True), None, False) for job in (first, second, first)]
    assert (len(read), sum(told)) == (1, 7)


def test_another_name_leads_to_a_file_of_which_one_name_has_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write(tmp_path / "first", b"content")
    os.link(first.path, tmp_path / "second")
    second = Job(str(tmp_path / "second"), False)

    def without_first(path: str, **options: object) -> Digest:
        if path == first.path:
            raise FileNotFoundError(2, "No such file or directory", path)
        return digest_file(path)

    monkeypatch.setattr(pool, "digest_file", without_first)
    assert digest_all([first, second]) == [
        Outcome(first, None, "No such file or directory", False),
        Outcome(second, digest_of(b"content"), None, False),
    ]


def test_problems_are_told_and_stop_nobody(tmp_path: Path) -> None:
    good = write(tmp_path / "good", b"abc")
    (tmp_path / "link").symlink_to(good.path)
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    jobs = [Job(str(tmp_path / name), False) for name in ("absent", "link", "loop", "pipe", ".", "nul\0", "good/below")]
    found = digest_all([*jobs, good])
    assert [(outcome.digest, outcome.problem) for outcome in found] == [
        (None, "No such file or directory"),
        (None, "a symbolic link, not a regular file"),
        (None, "a symbolic link, not a regular file"),
        (None, "a named pipe, not a regular file"),
        (None, "a directory, not a regular file"),
        (None, "no file can have such a name"),
        (None, "Not a directory"),
        (digest_of(b"abc"), None),
    ]


def test_the_second_time_nothing_is_read(tmp_path: Path, read: list[str]) -> None:
    jobs = [write(tmp_path / str(n), bytes(n)) for n in range(5)]
    first = digest_all(jobs, cache=at_rest(tmp_path / "cache"))
    assert len(read) == 5
    told: list[int] = []
    second = digest_all(jobs, cache=at_rest(tmp_path / "cache"), progress=told.append)
    assert second == [Outcome(outcome.job, outcome.digest, None, True) for outcome in first]
    assert len(read) == 5
    assert told == [10]
    assert digest_all(jobs, cache=at_rest(tmp_path / "cache", full=True)) == first
    assert len(read) == 10


def test_only_what_has_changed_is_read_again(tmp_path: Path, read: list[str]) -> None:
    jobs = [write(tmp_path / str(n), bytes(n)) for n in range(5)]
    digest_all(jobs, cache=at_rest(tmp_path / "cache"))
    read.clear()
    write(tmp_path / "3", b"abc")
    told: list[int] = []
    found = digest_all(jobs, cache=at_rest(tmp_path / "cache"), progress=told.append)
    assert [outcome.cached for outcome in found] == [True, True, True, False, True]
    assert found[3].digest == digest_of(b"abc")
    assert read == [jobs[3].path]
    assert told == [7, 3]


def test_a_blob_id_that_the_cache_lacks_is_found(tmp_path: Path, read: list[str]) -> None:
    job = write(tmp_path / "file", b"abc")
    digest_all([job], cache=at_rest(tmp_path / "cache"))
    asked = Job(job.path, True)
    assert digest_all([asked], cache=at_rest(tmp_path / "cache")) == [Outcome(asked, digest_of(b"abc", True), None, False)]
    assert digest_all([asked], cache=at_rest(tmp_path / "cache")) == [Outcome(asked, digest_of(b"abc", True), None, True)]
    assert len(read) == 2


@pytest.mark.parametrize("mapping", [False, True])
def test_a_file_cut_while_it_is_read_is_reported_and_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapping: bool) -> None:
    if mapping:
        monkeypatch.setattr(pool, "WORTH_A_CHILD", 1)
    cache = at_rest(tmp_path / "cache")
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(1 << 34)
    (outcome,) = digest_all([Job(str(path), False)], cache=cache, progress=lambda _: os.truncate(path, 1))
    assert outcome.digest is None
    assert outcome.problem is not None
    assert "while it was read" in outcome.problem
    assert cache.get(path.stat()) is None


def test_a_file_replaced_since_it_was_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = write(tmp_path / "file", b"abc")
    other = write(tmp_path / "other", b"other")

    def swapped(path: str, **options: object) -> Digest:
        os.replace(other.path, path)
        hasher: Callable[..., Digest] = digest_file
        return hasher(path, **options)

    monkeypatch.setattr(pool, "digest_file", swapped)
    assert digest_all([job]) == [Outcome(job, None, "another file took its place", False)]


@pytest.mark.parametrize("mapping", [False, True])
def test_what_progress_raises_ends_the_work_and_keeps_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mapping: bool
) -> None:
    if mapping:
        monkeypatch.setattr(pool, "WORTH_A_CHILD", 1)
    small = write(tmp_path / "small", b"abc")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(1 << 40)
    large = Job(str(tmp_path / "large"), False)
    digest_all([small], cache=at_rest(tmp_path / "cache"))

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        digest_all([large], progress=interrupted)
    assert threading.active_count() == 1
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    seen = 0

    def after_the_small_one(_: int) -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            raise KeyboardInterrupt

    fresh = tmp_path / "fresh"
    with pytest.raises(KeyboardInterrupt):
        digest_all([large, small], cache=at_rest(fresh), threads=2, progress=after_the_small_one)
    assert at_rest(fresh).get(os.stat(small.path)) == digest_of(b"abc")


@pytest.mark.large
@pytest.mark.parametrize("mapping", [False, True])
def test_ctrl_c_ends_it_at_once(tmp_path: Path, mapping: bool) -> None:
    """Two files that would take a quarter of an hour; the signal comes as on a terminal, to all processes of the group."""
    for name in ("first", "second"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 40)
    program = f"""
import os, sys, threading
sys.path.insert(0, {str(ROOT)!r})
from envdoctor.hashing import pool
if not {mapping}:
    pool.WORTH_A_CHILD = 1 << 60
jobs = [pool.Job({str(tmp_path)!r} + "/" + name, False) for name in ("first", "second")]
try:
    pool.digest_all(jobs, threads=2, progress=lambda count: print(count, flush=True))
except KeyboardInterrupt:
    print("interrupted", threading.active_count())
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        print("no child")
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert child.stdout is not None
    try:
        child.stdout.readline()
        os.killpg(child.pid, signal.SIGINT)
        rest, _ = child.communicate(timeout=20)
    finally:
        child.kill()
    assert rest.splitlines()[-2:] == ["interrupted 1", "no child"]
    assert child.returncode == 0


@pytest.mark.usefixtures("mapped")
def test_without_a_child_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python3")
    job = write(tmp_path / "file", b"abc")
    assert digest_all([job]) == [Outcome(job, digest_of(b"abc"), None, False)]


def test_without_a_thread_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    jobs = [write(tmp_path / str(n), bytes(n)) for n in range(5)]
    told: list[int] = []
    found = digest_all(jobs, threads=4, progress=told.append)
    assert [outcome.digest for outcome in found] == [digest_of(bytes(n)) for n in range(5)]
    assert sum(told) == 10


def test_no_jobs_no_outcomes() -> None:
    assert digest_all([]) == []


def test_a_child_pays_only_for_much() -> None:
    def files(*sizes: int) -> list[pool._File]:
        return [pool._File(os.stat_result((0,) * 6 + (size,) + (0,) * 3)) for size in sizes]

    gigabyte = 1 << 30
    assert pool._worth_mapping(files(gigabyte // 16, gigabyte // 16), 2) == 0
    assert pool._worth_mapping(files(*[gigabyte // 2] * 8), 2) == 2
    assert pool._worth_mapping(files(gigabyte), 8) == 1
    assert pool._worth_mapping(files(*[1000] * 1000), 8) == 0
