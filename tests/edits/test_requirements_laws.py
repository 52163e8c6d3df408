"""Laws of edited requirements files, on generated files with every oddity and on the project's own."""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from envdoctor.edits.edit import Edited, Pin
from envdoctor.edits.requirements import edit_requirements
from envdoctor.edits.splice import Document, document_of
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.sources.declared.requirements import collect_requirements
from envdoctor.world.installation import Installation

LINUX = Installation().on("linux", "x86_64").with_python("3.10")
ROOT = Path(__file__).parent.parent.parent

names = st.sampled_from(["peft", "Peft", "torch", "huggingface_hub", "Huggingface-Hub", "trl", "numpy"])
extras = st.sampled_from(["", "", "", "[dev]", " [a, b]", "[ x ]"])
versions = st.sampled_from(
    ["", "", "==0.6", " == 0.11.1", ">=0.4",
     ">=0.4,<0.12", "~=0.11", "==0.*", "===0.6", " (>=0.6)", " ( ==0.7 )", "!=0.8", ">=0.3, \\\n  <9",
     " \\\n   ==0.5", "=0.6", ">= 0.*", "\u2265 0.6", "==${NONE_SUCH}", ">0.1,", "<2+x", "==1!0.5", ">=1rc1"]
)  # fmt: skip
markers = st.sampled_from(
    ["", "", "", " ; python_version > '3'", ";sys_platform=='win32'", " ; extra == 'x'", ";",
     " ; sys_platform == 'linux' and \\\n python_version<'4'",
     " ; nonsense", ' ; platform_machine in "x86_64 AMD64"']
)  # fmt: skip
HASH = "--hash=sha256:" + "a" * 64
options = st.sampled_from(["", "", "", "", f" {HASH}", f" \\\n    {HASH} \\\n    {HASH}", ' --config-settings="a=b # c"', " --unknown"])
comments = st.sampled_from(["", "", "", "  # why", " # \u4e2d\u6587", "# no comment", " #", " # \\"])
requirements = st.tuples(names, extras, versions, markers, options, comments).map("".join)
others = st.sampled_from(
    ["", "   ", "# comment", "# goes on \\", "-r base.txt",
     "-c limits.txt", "-r none.txt", "-r requirements.txt", "--pre", "--no-index", "\\",
     "peft @ https://example.org/x.zip", "-e git+https://github.com/x/y#egg=trl",
     "git+https://github.com/huggingface/peft", ".", "./torch", "a b \x1f c",
     "--extra-index-url https://example.org/whl", "--require-hashes", "torch-0.5-py3-none-any.whl", "not a requirement", "\x0c"]
)  # fmt: skip
line_ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r", "\u2028"])
lines = st.tuples(st.one_of(requirements, requirements, others), line_ends).map("".join)
texts = st.tuples(st.lists(lines, max_size=8).map("".join), st.sampled_from(["", "", "trl", "peft \\", "numpy==0.6 # last"])).map("".join)
encodings = st.sampled_from(
    [(b"", "utf-8"), (b"", "utf-8"), (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")]
)
encoded = st.tuples(encodings, texts).map(lambda pair: pair[0][0] + pair[1].encode(pair[0][1]))
damaged = st.tuples(encoded, st.sampled_from([b"", b"", b"# coding: latin-1\ntorch # \xe9\n", b"trl # \xff\n", b"peft==\xfe\n"])).map(
    lambda pair: pair[1] + pair[0]
)
pins = st.lists(
    st.builds(
        Pin,
        st.sampled_from(["peft", "torch", "huggingface-hub", "trl", "numpy"]),
        st.sampled_from(["==0.12.0", "==0.5", "==2.4.1+cu118", "<5", ">=0.4,<0.9", "!=0.6", ""]),
        st.sampled_from(["", "", "https://example.org/whl"]),
        st.sampled_from([(), (), ("sha256:" + "b" * 64,), ("sha256:" + "b" * 64, "sha256:" + "c" * 64)]),
    ),
    max_size=3,
    unique_by=lambda pin: pin.package,
)


def written(directory: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        (directory / name).write_bytes(data)
    return directory / "requirements.txt"


def rest(data: bytes, named: Sequence[int]) -> list[bytes]:
    """The bytes of lines that are not named, by the line ends that Python knows."""
    document = document_of(data, "file")
    kept = (line for number, line in enumerate(document.text.splitlines(keepends=True), start=1) if number not in named)
    return [Document("", document.encoding).encoded(line) for line in kept]


def nothing_else_changed(one: Edited) -> None:
    place = 0
    for line in rest(one.before, one.lines):
        place = one.after.index(line, place) + len(line)
    if not one.lines:
        assert one.after == one.before


def says(path: Path, pin: Pin) -> bool:
    """Whether the reader takes the file to say what is wished; a package that it cannot tell of says nothing else."""
    (variant,) = collect_requirements(path, LINUX)
    value = next((fact.value for fact in variant.collected.facts if fact.name == f"packages.{pin.package}"), None)
    if not pin.specifier:
        return value is None
    if pin.exact:
        return isinstance(value, Exact) and Version(value.text) == Version(pin.specifier[2:])
    return isinstance(value, (Exact, Ranged)) and version_condition(pin.specifier).relation(value) is True


@given(damaged, texts, texts, pins)
def test_only_what_is_named_changes_and_the_file_says_what_was_wished(first: bytes, base: str, limits: str, wishes: list[Pin]) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = written(Path(place), {"requirements.txt": first, "base.txt": base.encode(), "limits.txt": limits.encode()})
        before = {one.path: one.path.read_bytes() for one in edit_requirements(path, [], LINUX)}
        found = edit_requirements(path, wishes, LINUX)
        assert {one.path: one.before for one in found} == before
        assert all(one.path.read_bytes() == one.before for one in found), "editing writes nothing"
        for one in found:
            nothing_else_changed(one)
            one.path.write_bytes(one.after)
        refused = [refusal.wish for one in found for refusal in one.refused]
        done = [pin for pin in wishes if pin not in refused]
        assert all(any(pin in one.done for one in found) for pin in done)
        assert not any(pin in one.done for one in found for pin in refused if isinstance(pin, Pin))
        # Of statements that exclude each other the reader believes the last: a bound is in each of them all the same.
        clashing = {name for defect in collect_requirements(path, LINUX)[0].collected.defects for name in defect.packages}
        for pin in done:
            assert says(path, pin) or (pin.package in clashing and pin.specifier), pin
        again = edit_requirements(path, done, LINUX)
        assert [one.after for one in again] == [one.after for one in found]
        assert [refusal for one in again for refusal in one.refused] == []


@given(damaged)
def test_no_wish_changes_nothing(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        (one, *_) = edit_requirements(written(Path(place), {"requirements.txt": data}), [], LINUX)
    assert (one.after, one.lines, one.done, one.refused) == (data, (), (), ())


OWN = sorted(path for pattern in ("**/*requirements*.txt", "**/*requirements*.in") for path in (ROOT / "tests" / "data").glob(pattern))


@pytest.mark.parametrize("source", OWN, ids=[path.name for path in OWN])
def test_the_projects_own_files_are_edited_line_by_line(tmp_path: Path, source: Path) -> None:
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes())
    stated = {fact.name for fact in collect_requirements(path, LINUX)[0].collected.facts if fact.name.startswith("packages.")}
    assert stated
    wishes = [Pin(name.removeprefix("packages."), "==99.0") for name in sorted(stated)]
    (one,) = edit_requirements(path, wishes, LINUX)
    nothing_else_changed(one)
    path.write_bytes(one.after)
    assert all(says(path, pin) for pin in wishes if pin in one.done)
    assert {*one.done, *(refusal.wish for refusal in one.refused)} == set(wishes)
