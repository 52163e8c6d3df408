"""Pins in requirements files: what is wished changes, and no other byte does."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from envdoctor.edits.edit import Edited, Pin
from envdoctor.edits.requirements import edit_requirements
from envdoctor.errors import EnvdoctorError
from envdoctor.world.installation import Installation

LINUX = Installation().on("linux", "x86_64").with_python("3.10")
PEFT = Pin("peft", "==0.12.0")
ONE, TWO = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def edit(directory: Path, text: str | bytes, *pins: Pin, **others: str) -> tuple[Edited, ...]:
    path = directory / "requirements.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for name, content in others.items():
        (directory / f"{name}.txt").write_bytes(content.encode())
    return edit_requirements(path, pins, LINUX)


def after(directory: Path, text: str, *pins: Pin, **others: str) -> str:
    found = edit(directory, text, *pins, **others)
    assert not [one for file in found for one in file.refused]
    return found[0].after.decode()


@pytest.mark.parametrize(
    ("line", "wished"),
    [
        ("peft==0.11.1", "peft==0.12.0"),
        ("peft == 0.11.1", "peft == 0.12.0"),
        ("peft", "peft==0.12.0"),
        ("  peft  # the adapters", "  peft==0.12.0  # the adapters"),
        ("peft>=0.4,<0.12 # both", "peft==0.12.0 # both"),
        ("peft~=0.11", "peft==0.12.0"),
        ("peft==0.*", "peft==0.12.0"),
        ("peft===0.11.1", "peft==0.12.0"),
        ("PEFT [dev, x] (==0.6)", "PEFT [dev, x] (==0.12.0)"),
        ("peft ( >= 0.6 , < 1 ) ; python_version > '3'", "peft ( == 0.12.0 ) ; python_version > '3'"),
        ("peft;python_version>'3'", "peft==0.12.0;python_version>'3'"),
        ("peft[dev]>=0.6 ; sys_platform == 'linux' # x", "peft[dev]==0.12.0 ; sys_platform == 'linux' # x"),
        ("peft>=0.6, \\\n    <1  # two", "peft==0.12.0  # two"),
        ("peft \\\n    >=0.6", "peft \\\n    ==0.12.0"),
        ("peft==\\\n0.11.1", "peft==\\\n0.12.0"),
        ('peft==0.6 --config-settings="--build option=1"', 'peft==0.12.0 --config-settings="--build option=1"'),
        ("peft=0.6", "peft==0.12.0"),
        ("peft>=0.*", "peft==0.12.0"),
        ("peft\uff1d\uff1d0.6", "peft==0.12.0"),
        ("peft==0.6; # nothing after", "peft==0.12.0; # nothing after"),
    ],
)
def test_a_pin_replaces_the_version_and_nothing_else(tmp_path: Path, line: str, wished: str) -> None:
    text = f"# before\ntorch==2.1\n{line}\n\ntrl  \n"
    assert after(tmp_path, text, PEFT) == text.replace(line, wished)


@pytest.mark.parametrize(
    "line", ["peft==0.12.0", "peft == 0.12.0", "peft==0.12", "peft===0.12.0", "Peft (==0.12.0) ; python_version > '3'"]
)
def test_what_says_so_already_is_left(tmp_path: Path, line: str) -> None:
    (found,) = edit(tmp_path, line, PEFT)
    assert (found.after, found.done, found.refused, found.lines) == (found.before, (PEFT,), (), ())


@pytest.mark.parametrize(
    ("line", "bound", "wished"),
    [
        ("transformers>=4.28.0", "<5", "transformers>=4.28.0,<5"),
        ("transformers", "<5", "transformers<5"),
        ("transformers[torch] >= 4.28, != 4.30 # x", "<5", "transformers[torch] >= 4.28, != 4.30, <5 # x"),
        ("transformers>=4.28,<6", "<5", "transformers>=4.28,<5"),
        ("transformers>=4.28, \\\n  <6", "<5", "transformers>=4.28, \\\n  <5"),
        ("transformers>=4.28, \\\n  !=4.30", "<5", "transformers>=4.28, \\\n  !=4.30, <5"),
        ("transformers (>=4.28)", "<5", "transformers (>=4.28,<5)"),
        ("transformers<=5.1,>4", ">=4.40,<5", "transformers<5,>=4.40"),
        ("transformers>=4.28", "!=4.40.0", "transformers>=4.28,!=4.40.0"),
        ("transformers>=4.28,", "<5", "transformers>=4.28,<5"),
    ],
)
def test_a_bound_is_added_to_what_stands_there(tmp_path: Path, line: str, bound: str, wished: str) -> None:
    assert after(tmp_path, f"a\n{line}\nb\n", Pin("transformers", bound)) == f"a\n{wished}\nb\n"


@pytest.mark.parametrize("line", ["transformers==4.40.0", "transformers~=4.28", "transformers<4.50", "transformers==4.*", "transformers<5"])
def test_a_bound_that_follows_already_changes_nothing(tmp_path: Path, line: str) -> None:
    assert after(tmp_path, line, Pin("transformers", "<5")) == line


@pytest.mark.parametrize("line", ["transformers==5.1", "transformers>=5", "transformers>=4.*", "transformers=4"])
def test_a_bound_that_cannot_be_added_is_refused(tmp_path: Path, line: str) -> None:
    (found,) = edit(tmp_path, line, Pin("transformers", "<5"))
    assert found.after == found.before
    assert [refusal.wish for refusal in found.refused] == [Pin("transformers", "<5")]
    assert "line 1" in found.refused[0].why


def test_a_package_is_taken_out_with_its_lines(tmp_path: Path) -> None:
    text = f"torch\npeft==0.6 \\\n  --hash={ONE} # x\n# kept\ntrl --hash={ONE}\n"
    assert after(tmp_path, text, Pin("Peft", "")) == f"torch\n# kept\ntrl --hash={ONE}\n"
    assert edit(tmp_path, text, Pin("Peft", ""))[0].lines == (2, 3)
    assert after(tmp_path, "torch\n", Pin("peft", "")) == "torch\n"
    assert after(tmp_path, "torch\npeft", Pin("peft", "")) == "torch\n"


@pytest.mark.parametrize(
    ("text", "wished"),
    [
        ("torch\n", "torch\npeft==0.12.0\n"),
        ("torch", "torch\npeft==0.12.0"),
        ("", "peft==0.12.0\n"),
        ("torch\r\n", "torch\r\npeft==0.12.0\r\n"),
        ("torch\r\ntrl", "torch\r\ntrl\r\npeft==0.12.0"),
        ("torch\rtrl\r", "torch\rtrl\rpeft==0.12.0\r"),
        ("torch\ntrl \\\n", "torch\ntrl \\\n\npeft==0.12.0\n"),
        ("torch\ntrl \\", "torch\ntrl \\\n\npeft==0.12.0"),
        ("torch\n# no line goes on \\", "torch\n# no line goes on \\\npeft==0.12.0"),
        ("torch\n\n\n", "torch\n\n\npeft==0.12.0\n"),
    ],
)
def test_a_package_that_is_stated_nowhere_gets_a_line_at_the_end(tmp_path: Path, text: str, wished: str) -> None:
    assert after(tmp_path, text, PEFT) == wished


def test_several_are_added_in_order_with_their_index(tmp_path: Path) -> None:
    torch = Pin("torch", "==2.4.1+cu118", index="https://download.pytorch.org/whl/cu118")
    assert after(tmp_path, "trl\n", PEFT, torch, Pin("numpy", "<2")) == (
        "trl\npeft==0.12.0\n--extra-index-url https://download.pytorch.org/whl/cu118\ntorch==2.4.1+cu118\nnumpy<2\n"
    )


def test_statements_for_another_platform_are_left_alone(tmp_path: Path) -> None:
    text = "peft==0.5 ; sys_platform == 'win32'\npeft==0.6 ; sys_platform == 'linux'\npeft>=0.3\n"
    assert after(tmp_path, text, PEFT) == "peft==0.5 ; sys_platform == 'win32'\npeft==0.12.0 ; sys_platform == 'linux'\npeft==0.12.0\n"


def test_a_line_that_would_contradict_another_platform_is_not_added(tmp_path: Path) -> None:
    (found,) = edit(tmp_path, "peft==0.5 ; sys_platform == 'win32'\n", PEFT)
    assert (found.after, len(found.refused)) == (found.before, 1)
    assert "another platform" in found.refused[0].why
    assert after(tmp_path, "peft>=0.5 ; sys_platform == 'win32'\n", PEFT).endswith("\npeft==0.12.0\n")


@pytest.mark.parametrize(
    "line",
    [
        "peft @ https://example.org/peft.zip",
        "peft@git+https://github.com/huggingface/peft.git@main ; python_version > '3'",
        "git+https://github.com/huggingface/peft",
        "git+https://github.com/huggingface/peft.git@v0.6.0#egg=peft",
        "-e git+https://github.com/x/y#egg=peft",
        "./wheels/peft-0.6.0-py3-none-any.whl",
        "https://example.org/peft-0.6.0-py3-none-any.whl",
    ],
)
def test_what_is_taken_from_a_url_is_refused(tmp_path: Path, line: str) -> None:
    for pin in (PEFT, Pin("peft", "<1"), Pin("peft", "")):
        (found,) = edit(tmp_path, f"torch\n{line}\n", pin)
        assert found.after == found.before
        assert [refusal.why for refusal in found.refused] == ["line 2: peft is taken from a URL"]


def test_variables_are_refused_and_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PEFT_VERSION", "0.6.0")
    monkeypatch.delenv("NONE_SUCH", raising=False)
    for line in ("peft==${PEFT_VERSION}", "peft==${NONE_SUCH}"):
        (found,) = edit(tmp_path, line, PEFT)
        assert found.after == found.before
        assert "${" in found.refused[0].why
    monkeypatch.setenv("PEFT_VERSION", "0.12.0")
    assert after(tmp_path, "peft==${PEFT_VERSION}", PEFT) == "peft==${PEFT_VERSION}"


def test_two_wishes_for_one_package_are_not_mixed(tmp_path: Path) -> None:
    (found,) = edit(tmp_path, "peft\n", PEFT, Pin("Peft", "<1"))
    assert found.after == b"peft==0.12.0\n"
    assert [refusal.wish.package for refusal in found.refused if isinstance(refusal.wish, Pin)] == ["Peft"]


# Files in files.


def test_includes_and_constraints_are_edited_as_well(tmp_path: Path) -> None:
    found = edit(
        tmp_path,
        "-r base.txt\n-c limits.txt\n-r none.txt\n--requirement=https://example.org/x.txt\ntorch\n",
        PEFT,
        Pin("accelerate", "==1.0.0"),
        Pin("tokenizers", "==0.20.0"),
        base="-r requirements.txt\n-c limits.txt\npeft>=0.4  # here\r\n",
        limits="peft==0.11.1\naccelerate<2\ntokenizers<0.20\n",
    )
    assert {one.path.name: one.after.decode() for one in found} == {
        "requirements.txt": "-r base.txt\n-c limits.txt\n-r none.txt\n--requirement=https://example.org/x.txt\ntorch\n"
        "accelerate==1.0.0\ntokenizers==0.20.0\n",
        "base.txt": "-r requirements.txt\n-c limits.txt\npeft==0.12.0  # here\r\n",
        "limits.txt": "peft==0.12.0\naccelerate<2\ntokenizers==0.20.0\n",
    }
    assert {one.path.name: one.lines for one in found} == {"requirements.txt": (5,), "base.txt": (3,), "limits.txt": (1, 3)}


def test_a_bound_that_a_constraint_contradicts_is_refused_everywhere(tmp_path: Path) -> None:
    found = edit(tmp_path, "-c limits.txt\ntransformers\n", Pin("transformers", "<5"), limits="transformers==5.1\n")
    assert all(one.after == one.before for one in found)
    assert [(one.path.name, len(one.refused)) for one in found] == [("requirements.txt", 0), ("limits.txt", 1)]


def test_a_link_written_as_text_is_followed_and_not_edited(tmp_path: Path) -> None:
    found = edit(tmp_path, "base.txt", PEFT, Pin("trl", "==0.9"), base="peft==0.6\n")
    assert [(one.path.name, one.after) for one in found] == [("requirements.txt", b"base.txt"), ("base.txt", b"peft==0.12.0\ntrl==0.9\n")]


@pytest.mark.parametrize("data", [None, b"# coding: none-such\npeft\n"])
def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "requirements.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(EnvdoctorError):
        edit_requirements(path, [PEFT], LINUX)


# Hashes and indexes.

HASHED = f"torch==2.1.0 \\\n    --hash={ONE}\npeft==0.6.0 \\\n    --hash={ONE} \\\n    --hash={TWO}\n    # via -r in\n"


def test_hashes_are_replaced_with_the_pin(tmp_path: Path) -> None:
    new = tuple("sha256:" + character * 64 for character in "cde")
    assert after(tmp_path, HASHED, Pin("peft", "==0.12.0", hashes=new)) == (
        f"torch==2.1.0 \\\n    --hash={ONE}\npeft==0.12.0 \\\n    --hash={new[0]} \\\n    --hash={new[1]} \\\n"
        f"    --hash={new[2]}\n    # via -r in\n"
    )
    assert after(tmp_path, HASHED, Pin("torch", "==2.4.1", hashes=new[:2])).startswith(
        f"torch==2.4.1 \\\n    --hash={new[0]} \\\n    --hash={new[1]}\npeft==0.6.0"
    )
    assert after(tmp_path, f"peft==0.6 --hash={ONE}\r\n", Pin("peft", "==0.12.0", hashes=new[:1])) == f"peft==0.12.0 --hash={new[0]}\r\n"
    assert after(tmp_path, f"peft==0.6 --hash {ONE}\r\n", Pin("peft", "==0.12.0", hashes=new[:2])) == (
        f"peft==0.12.0 --hash={new[0]} \\\r\n    --hash={new[1]}\r\n"
    )


@pytest.mark.parametrize(
    ("text", "pin"),
    [
        (HASHED, PEFT),
        (HASHED, Pin("peft", "<0.6")),
        (HASHED, Pin("trl", "==0.9")),
        (HASHED, Pin("trl", "==0.9", hashes=(ONE,))),
        (f"peft==0.6\ntorch==2.1 --hash={ONE}\n", Pin("peft", "==0.12.0", hashes=(ONE,))),
        ("--require-hashes\npeft==0.6\n", Pin("peft", "==0.12.0", hashes=(ONE,))),
        (f"peft==0.6 --hash={ONE} --config-settings=a=b --hash={TWO}\n", Pin("peft", "==0.12.0", hashes=(ONE,))),
    ],
)
def test_a_pin_that_pip_would_refuse_for_its_hashes_is_refused(tmp_path: Path, text: str, pin: Pin) -> None:
    (found,) = edit(tmp_path, text, pin)
    assert found.after == found.before
    assert [refusal.wish for refusal in found.refused] == [pin]


def test_a_bound_that_follows_is_no_matter_of_hashes(tmp_path: Path) -> None:
    assert after(tmp_path, HASHED, Pin("peft", "<0.7")) == HASHED


INDEX = "https://download.pytorch.org/whl/cu118"
TORCH = Pin("torch", "==2.4.1+cu118", index=INDEX)


def test_an_index_is_named_before_what_needs_it(tmp_path: Path) -> None:
    assert (
        after(tmp_path, "peft\ntorch==2.1.0+cu118\ntorch>2\n", TORCH)
        == f"peft\n--extra-index-url {INDEX}\ntorch==2.4.1+cu118\ntorch==2.4.1+cu118\n"
    )
    both = (TORCH, Pin("torchvision", "==0.19.1+cu118", index=INDEX))
    assert after(tmp_path, "torch\r\ntorchvision", *both) == f"--extra-index-url {INDEX}\r\ntorch==2.4.1+cu118\r\ntorchvision==0.19.1+cu118"


@pytest.mark.parametrize("option", [f"--extra-index-url {INDEX}/", f"-i {INDEX}", f"-f{INDEX}", f"--index-url={INDEX}"])
def test_an_index_that_is_there_is_not_named_again(tmp_path: Path, option: str) -> None:
    assert after(tmp_path, f"{option}\ntorch\n", TORCH) == f"{option}\ntorch==2.4.1+cu118\n"
    assert after(tmp_path, "-r base.txt\ntorch\n", TORCH, base=f"{option}\n") == "-r base.txt\ntorch==2.4.1+cu118\n"


def test_an_index_that_would_not_be_asked_is_refused(tmp_path: Path) -> None:
    (found,) = edit(tmp_path, "--no-index\ntorch\n", TORCH)
    assert found.after == found.before
    assert "--no-index" in found.refused[0].why


# Bytes.


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (b"", "utf-16-le"),
        (b"", "utf-8"),
    ],
)
def test_the_encoding_is_kept(tmp_path: Path, mark: bytes, encoding: str) -> None:
    text = "torch  # \u4e2d\u6587 \u2713\r\npeft==0.6  # here\r\n"
    (found,) = edit(tmp_path, mark + text.encode(encoding), PEFT, Pin("trl", "==0.9"))
    assert found.after == mark + (text.replace("0.6", "0.12.0") + "trl==0.9\r\n").encode(encoding)


def test_a_coding_line_counts_and_bytes_of_no_encoding_are_kept(tmp_path: Path) -> None:
    for text in (b"# coding: latin-1\ntorch # caf\xe9\npeft==0.6 # \xff\n", b"torch # caf\xe9\npeft==0.6 # \xff\n"):
        (found,) = edit(tmp_path, text, PEFT)
        assert found.after == text.replace(b"0.6", b"0.12.0")


def test_a_line_that_would_push_the_coding_line_down_is_refused(tmp_path: Path) -> None:
    text = b"torch  # first\n# coding: latin-1\n# \xe9\n"
    (found,) = edit(tmp_path, text, TORCH)
    assert found.after == found.before
    assert [refusal.why for refusal in found.refused] == ["the file would not be read back as wished"]


def test_mixed_line_ends_are_kept(tmp_path: Path) -> None:
    text = "torch\r\npeft==0.6\rtrl\n\x0caccelerate\u2028numpy"
    (found,) = edit(tmp_path, text, PEFT, Pin("numpy", "<2"))
    assert found.after.decode() == text.replace("0.6", "0.12.0") + "<2"


def test_damaged_text_in_a_version_is_replaced_with_it(tmp_path: Path) -> None:
    (found,) = edit(tmp_path, b"torch\npeft==0.\xff\n", PEFT)
    assert found.after == b"torch\npeft==0.12.0\n"


@pytest.mark.large
def test_too_many_lines_are_refused(tmp_path: Path) -> None:
    (found,) = edit(tmp_path, "a\n" * 20_001 + "peft\n", PEFT)
    assert found.after == found.before
    assert len(found.refused) == 1


def test_a_package_that_is_only_held_is_moved_and_not_added(tmp_path: Path) -> None:
    held = Pin("hub", "==0.23.0", added=False)
    first, second = edit(tmp_path, "-c cons.txt\npeft==0.6\n", held, cons="hub==0.20.3  # held\n")
    assert (first.after, second.after) == (first.before, b"hub==0.23.0  # held\n")
    [alone] = edit(tmp_path, "peft==0.6\n", held)
    assert (alone.after, alone.refused) == (alone.before, ())
