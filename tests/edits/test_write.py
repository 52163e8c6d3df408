"""Diffs that patch takes, and files that are replaced together or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.edits.edit import Edited
from envdoctor.edits.write import replace, unified
from envdoctor.errors import EnvdoctorError

PATCH = shutil.which("patch")


def edited(path: Path, after: bytes, before: bytes | None = None) -> Edited:
    return Edited(path, path.read_bytes() if before is None else before, after)


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


# Diffs.


def test_a_diff_is_as_diff_writes_it() -> None:
    one = Edited(Path("requirements.txt"), b"torch\npeft==0.11.1\ntrl", b"torch\npeft==0.12.0\ntrl\nnumpy<2")
    assert unified(one) == (
        "--- requirements.txt\n+++ requirements.txt\n@@ -1,3 +1,4 @@\n torch\n-peft==0.11.1\n-trl\n\\ No newline at end of file\n"
        "+peft==0.12.0\n+trl\n+numpy<2\n\\ No newline at end of file\n"
    )


def test_a_file_that_is_not_changed_has_no_diff() -> None:
    assert unified(Edited(Path("a"), b"torch\n", b"torch\n")) == ""


def test_a_diff_never_obeys_the_file() -> None:
    one = Edited(Path("re\x1b[31mq.txt"), b"# \x1b[2J\xff \xe2\x80\xae\npeft\rx\n", b"# \x1b[2J\xff \xe2\x80\xae\npeft==1\rx\n")
    assert unified(one) == (
        "--- re\\x1b[31mq.txt\n+++ re\\x1b[31mq.txt\n@@ -1,2 +1,2 @@\n # \\x1b[2J\\xff \\u202e\n-peft\\rx\n+peft==1\\rx\n"
    )


def test_a_diff_of_utf_16_is_text() -> None:
    before, after = ("\ufeff" + text for text in ("peft\r\n", "peft==1\r\n"))
    shown = unified(Edited(Path("a"), before.encode("utf-16-le"), after.encode("utf-16-le")))
    assert shown == "--- a\n+++ a\n@@ -1 +1 @@\n-\ufeffpeft\r\n+\ufeffpeft==1\r\n"


lines = st.lists(
    st.sampled_from(["torch\n", "peft==1\r\n", "\n", "# \u4e2d\u3000\u6587\n", "  x\t\n", "-- a\n", "++ b\n", "\\ c\n"]), max_size=30
)
ends = st.sampled_from(["", "last", "\u00e9"])


@pytest.mark.skipif(PATCH is None, reason="the program patch is not installed")
@given(st.sampled_from(["", "\ufeff"]), lines, lines, ends, ends, st.sampled_from(["a.txt", "a b.txt"]))
def test_patch_makes_the_file_of_a_diff(
    tmp_path_factory: pytest.TempPathFactory, mark: str, before: list[str], after: list[str], end: str, other: str, name: str
) -> None:
    directory = tmp_path_factory.mktemp("patched")
    old, new = ((mark + "".join(text) + last).encode() for text, last in ((before, end), (after, other)))
    (directory / name).write_bytes(old)
    diff = unified(Edited(Path(name), old, new))
    assert PATCH is not None
    done = subprocess.run([PATCH, "-p0", "-E", "-s", "--binary"], input=diff.encode(), cwd=directory, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout, diff)
    path = directory / name
    assert (path.read_bytes() if path.exists() else b"") == new
    shutil.rmtree(directory)


# Replacing.


def test_all_files_are_replaced_with_their_modes(tmp_path: Path) -> None:
    one, two, same = tmp_path / "one", tmp_path / "two", tmp_path / "same"
    for path, mode in ((one, 0o640), (two, 0o755), (same, 0o600)):
        path.write_bytes(b"before")
        path.chmod(mode)
    untouched = same.stat()
    answer = replace([edited(one, b"1"), edited(two, b"2"), edited(same, b"before")], lambda: "checked")
    assert answer == "checked"
    assert files(tmp_path) == {"one": b"1", "two": b"2", "same": b"before"}
    assert [path.stat().st_mode & 0o777 for path in (one, two)] == [0o640, 0o755]
    assert (same.stat().st_ino, same.stat().st_mtime_ns) == (untouched.st_ino, untouched.st_mtime_ns)


def test_the_recheck_sees_the_new_files(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(b"before")
    assert replace([edited(path, b"after")], path.read_bytes) == b"after"


def refuses() -> bool:
    return False


def fails() -> bool:
    raise ValueError("the check broke")


def interrupted() -> bool:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("recheck", "error"), [(refuses, None), (fails, ValueError), (interrupted, KeyboardInterrupt)])
def test_everything_is_put_back_unless_the_recheck_agrees(
    tmp_path: Path, recheck: Callable[[], bool], error: type[BaseException] | None
) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        path.write_bytes(path.name.encode())
    before = [(path.stat().st_ino, path.stat().st_mtime_ns) for path in paths]
    work = [edited(path, b"after") for path in paths]
    if error is None:
        assert replace(work, recheck) is False
    else:
        with pytest.raises(error):
            replace(work, recheck)
    assert files(tmp_path) == {"one": b"one", "two": b"two"}
    assert [(path.stat().st_ino, path.stat().st_mtime_ns) for path in paths] == before


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "base.txt", tmp_path / "requirements.txt"
    real.write_bytes(b"before")
    link.symlink_to(real)
    assert replace([edited(link, b"after")], lambda: True)
    assert link.is_symlink()
    assert real.read_bytes() == b"after"
    assert sorted(os.listdir(tmp_path)) == ["real", "requirements.txt"]


def test_one_file_by_two_names_is_written_once(tmp_path: Path) -> None:
    real, link = tmp_path / "base.txt", tmp_path / "requirements.txt"
    real.write_bytes(b"before")
    link.symlink_to(real)
    assert replace([edited(link, b"after"), edited(real, b"after")], lambda: True)
    with pytest.raises(EnvdoctorError, match="do not agree"):
        replace([edited(link, b"one"), edited(real, b"two")], lambda: True)
    assert real.read_bytes() == b"after"


def never() -> bool:
    raise AssertionError("nothing was to be written")


def test_a_file_changed_meanwhile_is_left_and_so_are_the_others(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"one")
    two.write_bytes(b"other")
    with pytest.raises(EnvdoctorError, match="changed meanwhile"):
        replace([edited(one, b"after"), edited(two, b"after", before=b"two")], never)
    assert files(tmp_path) == {"one": b"one", "two": b"other"}


@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_may_not_be_written_is_refused(tmp_path: Path, what: str) -> None:
    directory = tmp_path / "project"
    directory.mkdir()
    path = directory / "requirements.txt"
    path.write_bytes(b"before")
    work = [edited(path, b"after")]
    locked = path if what == "file" else directory
    mode = locked.stat().st_mode
    locked.chmod(mode & ~0o222)
    try:
        with pytest.raises(EnvdoctorError, match=f"a {what} that may not be written"):
            replace(work, never)
    finally:
        locked.chmod(mode)
    assert files(directory) == {"requirements.txt": b"before"}


def test_a_file_that_is_gone_or_a_pipe_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path / "none", tmp_path):
        with pytest.raises(EnvdoctorError):
            replace([edited(path, b"after", before=b"before")], never)


def test_what_somebody_wrote_during_the_recheck_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(b"before")

    def another_writer() -> bool:
        path.write_bytes(b"mine")
        return False

    with pytest.raises(EnvdoctorError, match="put it back by hand"):
        replace([edited(path, b"after")], another_writer)
    assert files(tmp_path) == {"requirements.txt": b"mine"}


def test_nothing_to_write_is_checked_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(b"before")
    assert replace([edited(path, b"before")], lambda: 7) == 7


def test_a_long_name_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("\u4e2d" * 80 + ".txt")
    path.write_bytes(b"before")
    assert replace([edited(path, b"after")], lambda: True)
    assert files(tmp_path) == {path.name: b"after"}


def no_links(source: str, target: str) -> None:
    raise OSError(95, "Operation not supported")


def test_a_file_system_without_hard_links_is_put_back_by_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "requirements.txt"
    path.write_bytes(b"before")
    path.chmod(0o640)
    assert replace([edited(path, b"after")], refuses) is False
    assert files(tmp_path) == {"requirements.txt": b"before"}
    assert path.stat().st_mode & 0o777 == 0o640
    assert replace([edited(path, b"after")], lambda: True)
    assert files(tmp_path) == {"requirements.txt": b"after"}


@pytest.mark.parametrize("what", ["replace", "mkstemp"])
def test_an_error_at_the_second_file_leaves_the_first_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    paths = [tmp_path / "one", tmp_path / "two"]
    for path in paths:
        path.write_bytes(path.name.encode())
    work = [edited(path, b"after") for path in paths]
    module = os if what == "replace" else tempfile
    real = getattr(module, what)
    calls = iter(range(10))

    def full(*given: object, **named: object) -> object:
        if next(calls) == 1:
            raise OSError(28, "No space left on device")
        return real(*given, **named)

    monkeypatch.setattr(module, what, full)
    with pytest.raises(EnvdoctorError, match="No space left on device"):
        replace(work, never)
    assert files(tmp_path) == {"one": b"one", "two": b"two"}


def test_a_file_changed_while_others_are_written_stops_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"one")
    two.write_bytes(b"two")
    real = os.replace

    def meanwhile(source: str, target: str) -> None:
        real(source, target)
        two.write_bytes(b"mine")

    work = [edited(one, b"after"), edited(two, b"after")]
    monkeypatch.setattr(os, "replace", meanwhile)
    with pytest.raises(EnvdoctorError, match="changed meanwhile"):
        replace(work, never)
    assert files(tmp_path) == {"one": b"one", "two": b"mine"}
