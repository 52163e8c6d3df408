"""Pins in a Pipfile."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.edits.edit import Edited, Pin
from envdoctor.edits.pipfile import edit_pipfile
from envdoctor.errors import EnvdoctorError
from envdoctor.world.installation import Installation
from tests.edits.laws import assert_left_alone, assert_only_named_lines_changed

LINUX = Installation().on("linux", "x86_64")
PIPFILE = """\
[[source]]
url = "https://pypi.org/simple"
name = "pypi"

[packages]
torch = "*"   # any
peft = ">=0.5"
trl = {version = "==0.7.1", extras = ["x"], markers = "sys_platform == 'linux'"}
ours = {path = "."}
other = {version = "==1", sys_platform = "== 'win32'"}

[dev-packages]
peft = "0.5.0"

[requires]
python_version = "3.10"
"""


def edited(folder: Path, text: str, *pins: Pin) -> Edited:
    path = folder / "Pipfile"
    path.write_text(text, encoding="utf-8", newline="")
    [result] = edit_pipfile(path, pins, LINUX)
    assert_only_named_lines_changed(result)
    path.write_bytes(result.after)
    [again] = edit_pipfile(path, pins, LINUX)
    assert_left_alone(again)
    return result


@pytest.mark.parametrize(
    ("pin", "changes"),
    [
        (Pin("torch", "==2.4.1"), {'"*"': '"==2.4.1"'}),
        (Pin("peft", "==0.12.0"), {'">=0.5"': '"==0.12.0"', '"0.5.0"': '"0.12.0"'}),
        (Pin("trl", "==0.9.6"), {"==0.7.1": "==0.9.6"}),
        (Pin("trl", "<1"), {}),
        (Pin("ours", ""), {'ours = {path = "."}\n': ""}),
        (Pin("datasets", "==2.1"), {"== 'win32'\"}\n": '== \'win32\'"}\ndatasets = "==2.1"\n'}),
        (Pin("python", "==3.11.*"), {'"3.10"': '"3.11"'}),
    ],
)
def test_an_entry_is_changed_in_its_own_words(tmp_path: Path, pin: Pin, changes: dict[str, str]) -> None:
    expected = PIPFILE
    for old, new in changes.items():
        assert old in expected
        expected = expected.replace(old, new)
    for newline in ("\n", "\r\n"):
        result = edited(tmp_path, PIPFILE.replace("\n", newline), pin)
        assert not result.refused
        assert result.after.decode() == expected.replace("\n", newline)


@pytest.mark.parametrize(
    ("pin", "why"),
    [
        (Pin("ours", "==1"), "line 9"),
        (Pin("other", "==2"), "line 10: other is stated for other platforms"),
        (Pin("trl", "<0.5"), "line 8"),
        (Pin("python", ">=3.8"), "one Python"),
        (Pin("torch", "==2.4.1+cu118", index="https://example.org/cu118"), "[[source]]"),
    ],
)
def test_what_cannot_be_given_is_refused_with_its_reason(tmp_path: Path, pin: Pin, why: str) -> None:
    result = edited(tmp_path, PIPFILE, pin)
    assert_left_alone(result)
    [refusal] = result.refused
    assert why in refusal.why


def test_a_build_is_taken_where_its_source_is_named(tmp_path: Path) -> None:
    result = edited(tmp_path, PIPFILE, Pin("torch", "==2.4.1+cu118", index="https://pypi.org/simple/"))
    assert b'torch = "==2.4.1+cu118"   # any' in result.after


def test_what_is_no_toml_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "Pipfile"
    path.write_bytes(b"[packages\n")
    with pytest.raises(EnvdoctorError):
        edit_pipfile(path, [Pin("peft", "==1")], LINUX)
