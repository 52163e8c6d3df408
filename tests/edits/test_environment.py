"""Pins in conda's environment files: conda's entries in conda's words, pip's in pip's."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.edits.edit import Edited, Pin
from envdoctor.edits.environment import edit_environment
from envdoctor.errors import EnvdoctorError
from envdoctor.world.installation import Installation
from tests.edits.laws import assert_left_alone, assert_only_named_lines_changed

LINUX = Installation().on("linux", "x86_64").with_python("3.11")


def edited(folder: Path, text: str | bytes, *pins: Pin) -> Edited:
    path = folder / "environment.yml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    [result] = edit_environment(path, pins, LINUX)
    assert_only_named_lines_changed(result)
    if not result.done:
        assert_left_alone(result)
    path.write_bytes(result.after)
    [again] = edit_environment(path, pins, LINUX)
    assert_left_alone(again)
    return result


def after(folder: Path, text: str, *pins: Pin) -> str:
    result = edited(folder, text, *pins)
    assert not result.refused
    return result.after.decode()


ENVIRONMENT = """\
name: tune   # ours
channels: [pytorch, conda-forge]
dependencies:
  - python=3.10
  - pytorch=2.5.0
  - conda-forge::peft==0.5.0  # slow
  - "transformers >=4.30"
  - trl=0.7.1=pyhd8ed1ab_0
  - pip
  - pip:
      - accelerate==0.27.2  # a reason
      - 'peft>=0.5'
      - bitsandbytes; sys_platform == "win32"
prefix: /opt/tune
"""


@pytest.mark.parametrize(
    ("pin", "changes"),
    [
        (Pin("torch", "==2.6.0"), {"pytorch=2.5.0": "pytorch=2.6.0"}),
        (Pin("torch", "<2.6"), {}),
        (Pin("torch", "<2.5.1"), {}),
        (Pin("python", "<3.10.5"), {"python=3.10": "python>=3.10,<3.10.5"}),
        (Pin("peft", "==0.12.0"), {"peft==0.5.0": "peft==0.12.0", "'peft>=0.5'": "'peft==0.12.0'"}),
        (Pin("transformers", "==4.40.0"), {'"transformers >=4.30"': '"transformers 4.40.0"'}),
        (Pin("transformers", "<5"), {'"transformers >=4.30"': '"transformers >=4.30,<5"'}),
        (Pin("trl", "==0.9.6"), {"trl=0.7.1=pyhd8ed1ab_0": "trl=0.9.6"}),
        (Pin("accelerate", "==0.30.0"), {"accelerate==0.27.2": "accelerate==0.30.0"}),
        (Pin("accelerate", ""), {"      - accelerate==0.27.2  # a reason\n": ""}),
        (Pin("trl", ""), {"  - trl=0.7.1=pyhd8ed1ab_0\n": ""}),
        (
            Pin("datasets", "==2.20.0"),
            {'== "win32"\n': '== "win32"\n      - datasets==2.20.0\n'},
        ),
        (Pin("datasets", ""), {}),
        (Pin("python", "==3.11"), {"python=3.10": "python=3.11"}),
        (Pin("python", ">=3.9,<3.12"), {"python=3.10": "python>=3.9,<3.12"}),
    ],
)
def test_an_entry_is_changed_in_its_own_words(tmp_path: Path, pin: Pin, changes: dict[str, str]) -> None:
    expected = ENVIRONMENT
    for old, new in changes.items():
        assert old in expected
        expected = expected.replace(old, new)
    assert after(tmp_path, ENVIRONMENT, pin) == expected
    crlf = edited(tmp_path, ENVIRONMENT.replace("\n", "\r\n"), pin)
    assert crlf.after.decode() == expected.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "pin", "why"),
    [
        (ENVIRONMENT, Pin("bitsandbytes", "==0.43"), "line 13: bitsandbytes is stated for other"),
        (ENVIRONMENT, Pin("torch", "==2.4.1+cu118"), "no local versions"),
        (ENVIRONMENT, Pin("accelerate", "==1", index="https://example.org/whl"), "--extra-index-url https://example.org/whl"),
        (ENVIRONMENT, Pin("accelerate", "<0.20"), "line 11: it says ==0.27.2"),
        ("dependencies:\n  - pytorch=2.1=py3.10_cuda11.8_0\n  - a\n", Pin("torch", "==2.2"), "a build for a device"),
        ("dependencies:\n  - a\n", Pin("peft", "==1"), "no pip section"),
        ("dependencies:\n  - a\n", Pin("a", ""), "nothing else is in its list"),
        ("dependencies:\n  - pip:\n    - peft\n    - peft==1\n", Pin("peft", ""), "nothing else is in its list"),
        ("dependencies:\n  - pip:\n    - -r more.txt\n", Pin("peft", "==1"), "more.txt"),
        ("dependencies:\n  - pip:\n    - peft @ git+https://example.org/p\n", Pin("peft", "==1"), "line 3"),
        ("x: &a peft=1\ndependencies:\n  - *a\n  - b\n", Pin("peft", "==2"), "alias"),
        ("dependencies:\n  - &a peft=1\n  - *a\n", Pin("peft", "==2"), "anchor"),
        ("dependencies:\n  - >\n    peft=1\n  - b\n", Pin("peft", "==2"), "no value of one line"),
        ("dependencies: {a: 1}\n", Pin("peft", "==2"), "no list"),
        ("dependencies:\n  - a\ndependencies:\n  - peft\n", Pin("peft", "==2"), "twice"),
        ("dependencies:\n{% if a %}\n  - peft\n{% endif %}\n  - b\n", Pin("peft", "==2"), "template"),
        ("name: x  # [win]\ndependencies:\n  - peft=1  # [win]\n  - b\n", Pin("peft", "==2"), "other platforms"),
    ],
)
def test_what_cannot_be_given_is_refused_with_its_reason(tmp_path: Path, text: str, pin: Pin, why: str) -> None:
    result = edited(tmp_path, text, pin)
    assert_left_alone(result)
    [refusal] = result.refused
    assert why in refusal.why


def test_lists_in_brackets_keep_their_form(tmp_path: Path) -> None:
    text = "channels: [a]\ndependencies: [python=3.10, peft=0.5, {pip: [trl>=0.7, 'a']}]\n"
    assert after(tmp_path, text, Pin("peft", "==1.0")) == text.replace("peft=0.5", "peft=1.0")
    assert after(tmp_path, text, Pin("peft", "")) == text.replace("peft=0.5, ", "")
    assert after(tmp_path, text, Pin("trl", "<1")) == text.replace("trl>=0.7", '"trl>=0.7,<1"')
    assert after(tmp_path, text, Pin("b", "==1")) == text.replace("'a'", "'a', 'b==1'")


def test_only_the_first_document_is_changed_and_a_mark_stays(tmp_path: Path) -> None:
    text = "\ufeffdependencies:\n  - peft=1\n---\ndependencies:\n  - peft=1\n"
    assert after(tmp_path, text, Pin("peft", "==2")) == text.replace("peft=1", "peft=2", 1)


@pytest.mark.parametrize("data", [b"dependencies: [\n", b"dependencies:\n\t- a\n", b"", b"a: " + b"[" * 400, b"a: *b\n", b"\x00"])
def test_what_is_no_yaml_is_an_error_with_a_place(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "environment.yml"
    path.write_bytes(data)
    with pytest.raises(EnvdoctorError):
        edit_environment(path, [Pin("peft", "==1")], LINUX)


def test_what_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "environment.yml"
    path.write_bytes(b"name: \xff\ndependencies:\n  - peft\n")
    with pytest.raises(EnvdoctorError, match="line 1"):
        edit_environment(path, [Pin("peft", "==1")], LINUX)


NAMES = st.sampled_from(["peft", "torch", "trl", "pytorch"])
CONDA = st.builds(str.__add__, NAMES, st.sampled_from(["", "=0.5", "==0.5.1", " >=0.4", ">=0.4,<9", "=0.5=py_0", " 0.5 py_0", "=0.5.*"]))
OF_PIP = st.builds(str.__add__, NAMES, st.sampled_from(["", ">=0.5", "==0.5.1", "[x] >= 0.4, < 9", "; python_version > '3'"]))


@st.composite
def environments(draw: st.DrawFn) -> str:
    def row(indent: str, text: str) -> str:
        quote = draw(st.sampled_from(["", '"'])) if "'" not in text else ""
        return f"{indent}- {quote}{text}{quote}{draw(st.sampled_from(['', '  # why', ' ']))}\n"

    indent = draw(st.sampled_from(["", "  "]))
    text = "name: x\ndependencies:\n" + "".join(row(indent, each) for each in draw(st.lists(CONDA, max_size=4)))
    rows = draw(st.lists(OF_PIP, max_size=3))
    text += f"{indent}- pip\n" + (f"{indent}- pip:\n" + "".join(row(f"{indent}  ", each) for each in rows) if rows else "")
    text += draw(st.sampled_from(["", "# end\n", "prefix: /x\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(text=environments(), name=NAMES, specifier=st.sampled_from(["==0.7", "<2", ">=0.45,<4", ""]))
def test_whatever_is_written_only_the_named_lines_change(
    tmp_path_factory: pytest.TempPathFactory, text: str, name: str, specifier: str
) -> None:
    result = edited(tmp_path_factory.mktemp("e"), text, Pin(name.replace("pytorch", "torch"), specifier))
    before, now = yaml.safe_load(result.before), yaml.safe_load(result.after)
    assert {**before, "dependencies": 0} == {**now, "dependencies": 0}
    package = name.replace("pytorch", "torch")

    def others(document: dict[str, list[object]]) -> list[object]:
        rows = [part for row in document["dependencies"] for part in (row["pip"] if isinstance(row, dict) else [row])]
        return [row for row in rows if not str(row).startswith((package, f"py{package}"))]

    assert others(before) == others(now)
