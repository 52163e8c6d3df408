"""What the script that mends a folder notices, and what it leaves."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.edits.edit import Edited
from envdoctor.edits.write import unified

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "fix_folder.py"


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fix_folder", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["fix_folder"] = module
    spec.loader.exec_module(module)
    return module


script = loaded()

lines = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"-- c\n", b"++ d\n", b"\n", b"@@ -1 +1 @@\n"]), max_size=20)
ends = st.sampled_from([b"", b"last", b"\\ No newline at end of file"])


@given(lines, lines, ends, ends)
def test_a_diff_names_all_that_changed(before: list[bytes], after: list[bytes], end: bytes, other: bytes) -> None:
    old, new = b"".join(before) + end, b"".join(after) + other
    assert script.unnamed(old, new, unified(Edited(Path("a"), old, new))) == ""


def test_a_change_that_no_diff_names_is_noticed() -> None:
    before, after = b"a\nb\nc\nd\n", b"a\nB\nc\nd\n"
    diff = unified(Edited(Path("a"), before, after))
    assert script.unnamed(before, after, diff) == ""
    assert script.unnamed(before, b"a\nB\nc\nD\n", diff) == "line 4 changed, and the diff does not say so"
    assert script.unnamed(before, b"a\nB\nc\n", diff) == "1 lines came or went, and the diff does not say so"
    assert script.unnamed(before, b"a\nB\r\nc\nd\r\n", diff) == "line 4 changed, and the diff does not say so"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    directory = tmp_path / "files"
    (directory / "deep").mkdir(parents=True)
    (directory / "requirements.txt").write_bytes(b"-r deep/requirements.txt\r\npeft==0.6.0  # here\r\n")
    (directory / "deep" / "requirements.txt").write_bytes(b"torch\n")
    (directory / "notes.md").write_bytes(b"peft==0.6.0\n")
    return directory


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(found: dict[str, tuple[bytes, bytes, str]]) -> Callable[[Path], object]:
    """A fixer that writes files beside the one that it is given, and says of each what is put in its mouth."""

    def fixer(path: Path) -> object:
        diffs = {}
        for name, (before, after, told) in found.items():
            other = path.parent / name
            other.write_bytes(after)
            if told:
                diffs[str(other)] = unified(Edited(other, before, after)) if told == "true" else told
        return script.Run(diffs)

    return fixer


def states(folder: Path, fixer: Callable[[Path], object]) -> dict[str, tuple[str, tuple[str, ...]]]:
    return {one.name: (one.state, one.violations) for one in script.outcomes(folder, fixer)}


def test_a_folder_is_mended_in_a_copy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(folder)
    assert script.main([str(folder), "--bump", "--show"]) == 0
    assert contents(folder) == before
    shown = capsys.readouterr().out
    assert "-peft==0.6.0  # here\r\n+peft==" in shown
    assert "files              2" in shown
    assert "changed            2" in shown


def test_what_says_nothing_wrong_is_left(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "requirements.txt").write_bytes(b"no-such-package-that-a-rule-knows==1\n")
    (folder / "deep" / "requirements.txt").write_bytes(b"# nothing\n")
    assert script.main([str(folder)]) == 0
    assert "unchanged          2" in capsys.readouterr().out


def test_a_file_that_changed_without_a_word_is_a_violation(folder: Path) -> None:
    found = states(folder, run({"notes.md": (b"", b"gone", "")}))
    assert found["requirements.txt"] == ("violation", ("notes.md changed, and no diff says so",))
    assert found["deep/requirements.txt"] == ("violation", ("deep/notes.md changed, and no diff says so",))


def test_a_diff_that_says_less_or_more_than_was_written_is_a_violation(folder: Path) -> None:
    before = b"-r deep/requirements.txt\r\npeft==0.6.0  # here\r\n"
    less = unified(Edited(Path("a"), before, before.replace(b"0.6", b"0.7")))
    found = states(folder, run({"requirements.txt": (before, before.replace(b"0.6", b"0.7").replace(b"-r", b" -r"), less)}))
    assert found["requirements.txt"] == ("violation", ("requirements.txt: line 1 changed, and the diff does not say so",))
    found = states(folder, run({"requirements.txt": (before, before, less)}))
    assert found["requirements.txt"] == ("violation", ("requirements.txt: a diff of what was not written",))


def test_a_file_that_no_longer_parses_is_a_violation(folder: Path) -> None:
    before = b"-r deep/requirements.txt\r\npeft==0.6.0  # here\r\n"
    found = states(folder, run({"requirements.txt": (before, before + b"peft=\r\n", "true")}))
    assert found["requirements.txt"] == ("violation", ("more lines are no requirements than before",))


def test_an_internal_error_and_an_empty_folder_fail(folder: Path, tmp_path: Path) -> None:
    found = states(folder, lambda _: script.Run({}, broken="ZeroDivisionError"))
    assert set(found.values()) == {("violation", ("ZeroDivisionError",))}
    (tmp_path / "empty").mkdir()
    assert script.main([str(tmp_path / "empty")]) == 1


def test_reasons_are_counted(folder: Path) -> None:
    shown = script.table(script.outcomes(folder, lambda path: script.Run({}, ("line 3: peft is taken from a URL",))))
    assert "refused            2" in shown
    assert "     2  peft is taken from a URL" in shown
