from __future__ import annotations

import hashlib
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.hashing import mapping, mapping_child
from envdoctor.hashing.digest import Digest, FileChangedError, digest_file, identity
from envdoctor.hashing.mapping import Mapper

WINDOW = mapping_child.WINDOW


def ignore(_: int) -> None:
    pass


def zeros(path: Path, size: int) -> str:
    with path.open("wb") as file:
        file.truncate(size)
    return str(path)


@pytest.fixture
def mapper() -> Iterator[Mapper]:
    one = Mapper()
    yield one
    one.end()


@pytest.mark.large
def test_hashes_file_after_file(mapper: Mapper, tmp_path: Path) -> None:
    for size in (1, 4096, WINDOW, WINDOW + 1, 3 * WINDOW + 77):
        path = zeros(tmp_path / "any name\n\udcff", size)
        reached: list[int] = []
        assert mapper.sha256(path, os.stat(path), reached.append) == hashlib.sha256(bytes(size)).hexdigest()
        assert reached == [*range(WINDOW, size, WINDOW), size]


@given(content=st.binary(max_size=5 * mmap.ALLOCATIONGRANULARITY), pages=st.integers(1, 4))
def test_any_content_in_windows_of_any_size(tmp_path_factory: pytest.TempPathFactory, content: bytes, pages: int) -> None:
    path = tmp_path_factory.getbasetemp() / "content"
    path.write_bytes(content)
    with mock.patch.object(mapping_child, "WINDOW", pages * mmap.ALLOCATIONGRANULARITY):
        found = mapping_child.mapped_sha256(os.fsencode(path), identity(path.stat()), ignore)
    assert found == hashlib.sha256(content).hexdigest()


def test_knows_nothing_of_a_file_in_another_state(mapper: Mapper, tmp_path: Path) -> None:
    path, other = zeros(tmp_path / "file", 10), zeros(tmp_path / "other", 10)
    assert mapper.sha256(path, os.stat(other), ignore) is None
    assert mapper.sha256(str(tmp_path / "absent"), os.stat(path), ignore) is None
    (tmp_path / "link").symlink_to(path)
    assert mapper.sha256(str(tmp_path / "link"), os.stat(path), ignore) is None
    assert mapper.sha256(path, os.stat(path), ignore) == hashlib.sha256(bytes(10)).hexdigest()


def test_a_file_written_between_two_windows_has_no_digest(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(3 * mmap.PAGESIZE))
    os.utime(path, ns=(1, 1))

    def write(_: int) -> None:
        with path.open("r+b") as file:
            file.write(b"other")

    with mock.patch.object(mapping_child, "WINDOW", mmap.PAGESIZE):
        assert mapping_child.mapped_sha256(os.fsencode(path), identity(path.stat()), write) is None


def test_a_file_cut_while_it_is_mapped_harms_nobody(mapper: Mapper, tmp_path: Path) -> None:
    path = zeros(tmp_path / "file", 6 * WINDOW)

    def cut(_: int) -> None:
        os.truncate(path, 1)

    with pytest.raises(FileChangedError, match=f"its size went from {6 * WINDOW} to 1 bytes"):
        digest_file(path, progress=cut, shortcut=mapper.sha256)


@pytest.mark.large
def test_what_the_child_does_not_tell_is_read(mapper: Mapper, tmp_path: Path) -> None:
    """It is killed in the middle, as by SIGBUS; the file is whole, and no byte is told twice."""
    path = zeros(tmp_path / "file", 3 * WINDOW)
    told: list[int] = []

    def kill(count: int) -> None:
        told.append(count)
        mapper.kill()

    expected = Digest(3 * WINDOW, hashlib.sha256(bytes(3 * WINDOW)).hexdigest(), None)
    assert digest_file(path, progress=kill, shortcut=mapper.sha256) == expected
    assert told[0] == WINDOW
    assert sum(told) == 3 * WINDOW
    assert mapper.sha256(path, os.stat(path), ignore) is None


def test_ends_twice_and_leaves_no_process_and_no_open_file() -> None:
    before = os.listdir("/dev/fd")
    mapper = Mapper()
    pid = mapper._pid
    assert pid is not None
    mapper.end()
    mapper.end()
    mapper.kill()
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    assert len(os.listdir("/dev/fd")) == len(before)


@pytest.mark.parametrize("executable", ["", "/opt/app/application", "/nowhere/python3"])
def test_without_a_python_there_is_no_child(monkeypatch: pytest.MonkeyPatch, executable: str) -> None:
    before = os.listdir("/dev/fd")
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(FileNotFoundError):
        Mapper()
    assert len(os.listdir("/dev/fd")) == len(before)


@pytest.mark.parametrize("program", ["print('nonsense')", "print('=short')", "print('=' + 'é' * 64)", "pass", "import os; os.abort()"])
def test_a_child_that_talks_nonsense_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    script = tmp_path / "child.py"
    script.write_text(f"import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1)); input(); {program}")
    monkeypatch.setattr(mapping, "_CHILD", str(script))
    path = zeros(tmp_path / "file", 10)
    mapper = Mapper()
    try:
        assert digest_file(path, shortcut=mapper.sha256).sha256 == hashlib.sha256(bytes(10)).hexdigest()
    finally:
        mapper.end()


def test_the_child_needs_nothing_but_the_standard_library_and_ends_with_its_input() -> None:
    command = [sys.executable, "-I", "-S", mapping_child.__file__]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=60, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_the_child_dies_of_sigbus_without_a_core(tmp_path: Path) -> None:
    """The danger that the child is there for is real, and it leaves nothing behind."""
    path = tmp_path / "file"
    path.write_bytes(bytes(3 * mmap.PAGESIZE))
    program = f"""
import os, runpy, sys
child = runpy.run_path({mapping_child.__file__!r})
child["_leave_no_core"]()
class Cutting:
    def update(self, window):
        os.truncate({str(path)!r}, 0)
        bytes(window)
child["mapped_sha256"].__globals__["hashlib"] = type("", (), {{"sha256": Cutting}})
stat = os.stat({str(path)!r})
child["mapped_sha256"]({os.fsencode(path)!r}, (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns), print)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert -done.returncode == signal.SIGBUS
    assert os.listdir(tmp_path) == ["file"]
