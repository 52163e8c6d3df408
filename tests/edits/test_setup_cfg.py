"""Pins in a setup.cfg."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.edits.edit import Edited, Pin
from envdoctor.edits.setup_cfg import edit_setup_cfg
from envdoctor.errors import EnvdoctorError
from envdoctor.world.installation import Installation
from tests.edits.laws import assert_left_alone, assert_only_named_lines_changed

LINUX = Installation().on("linux", "x86_64").with_python("3.11")
SETUP = """\
# ours
[metadata]
name = tuner

[options]
python_requires = >=3.8
install_requires =
    torch >= 2.1  # the fast one
    peft[x]>=0.5
    other; sys_platform == "win32"
    ours @ git+https://example.org/ours

[options.extras_require]
train = deepspeed; peft==0.5.0
more =
    trl==0.7.1
    datasets
"""


def edited(folder: Path, text: str | bytes, *pins: Pin) -> Edited:
    path = folder / "setup.cfg"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    [result] = edit_setup_cfg(path, pins, LINUX)
    assert_only_named_lines_changed(result)
    path.write_bytes(result.after)
    [again] = edit_setup_cfg(path, pins, LINUX)
    assert_left_alone(again)
    return result


@pytest.mark.parametrize(
    ("pin", "changes"),
    [
        (Pin("torch", "==2.4.1"), {"torch >= 2.1": "torch == 2.4.1"}),
        (Pin("torch", "<2.5"), {"torch >= 2.1": "torch >= 2.1,<2.5"}),
        (Pin("peft", "==0.12.0"), {"peft[x]>=0.5": "peft[x]==0.12.0", "peft==0.5.0": "peft==0.12.0"}),
        (Pin("trl", ""), {"    trl==0.7.1\n": ""}),
        (Pin("ours", ""), {"    ours @ git+https://example.org/ours\n": ""}),
        (Pin("accelerate", "==1.0"), {"org/ours\n": "org/ours\n    accelerate==1.0\n"}),
        (Pin("python", "<3.12"), {">=3.8": ">=3.8,<3.12"}),
        (Pin("python", ">=3.9,<3.12"), {">=3.8": ">=3.9,<3.12"}),
        (Pin("absent", ""), {}),
    ],
)
def test_an_entry_is_changed_in_its_own_words(tmp_path: Path, pin: Pin, changes: dict[str, str]) -> None:
    expected = SETUP
    for old, new in changes.items():
        assert old in expected
        expected = expected.replace(old, new)
    for newline in ("\n", "\r\n"):
        result = edited(tmp_path, SETUP.replace("\n", newline), pin)
        assert not result.refused
        assert result.after.decode() == expected.replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "pin", "why"),
    [
        (SETUP, Pin("ours", "==1"), "line 11"),
        (SETUP, Pin("other", "==1"), "line 10: other is stated for other platforms"),
        (SETUP, Pin("deepspeed", ""), "line 14"),
        (SETUP, Pin("trl", "<0.5"), "line 16"),
        (SETUP, Pin("python", ""), "Python itself"),
        (SETUP, Pin("torch", "==2.4.1+cu118", index="https://example.org"), "names no index"),
        ("[options]\ninstall_requires = file: requirements.txt\n", Pin("peft", "==1"), "no list"),
        ("[metadata]\nname = x\n", Pin("peft", "==1"), "no list"),
        ("[metadata]\nname = x\n", Pin("python", "<3.12"), "no python_requires"),
    ],
)
def test_what_cannot_be_given_is_refused_with_its_reason(tmp_path: Path, text: str, pin: Pin, why: str) -> None:
    result = edited(tmp_path, text, pin)
    assert_left_alone(result)
    [refusal] = result.refused
    assert why in refusal.why


@pytest.mark.parametrize("data", [b"a = 1\n", b"[options]\na = \xff\n"])
def test_what_is_no_ini_file_is_an_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "setup.cfg"
    path.write_bytes(data)
    with pytest.raises(EnvdoctorError):
        edit_setup_cfg(path, [Pin("peft", "==1")], LINUX)


ROWS = st.lists(
    st.sampled_from(["peft", "peft>=0.5", "torch ==2 # why", "torch[x]>1,<9", "# a comment", "", "%(more)s", "a; python_version>'3'"]),
    max_size=5,
)


@given(
    rows=ROWS,
    extra=ROWS,
    newline=st.sampled_from(["\n", "\r\n"]),
    pin=st.builds(Pin, st.sampled_from(["peft", "torch", "a"]), st.sampled_from(["==0.7", "<2", ""])),
)
def test_whatever_is_written_only_the_named_lines_change(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str], extra: list[str], newline: str, pin: Pin
) -> None:
    text = "\n".join(["[options]", "install_requires =", *(f"  {row}" for row in rows), "x = 1", "[options.extras_require]", "e ="])
    text = "\n".join([text, *(f"\t{row}" for row in extra), ""])
    edited(tmp_path_factory.mktemp("s"), text.replace("\n", newline), pin)
