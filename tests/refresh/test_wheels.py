"""What a wheel on an index requires, and how it is written down."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.requirements import Requirement

from envdoctor.refresh.index import NoAnswerError
from envdoctor.refresh.pages import File
from envdoctor.refresh.wheels import UnreadableError, kept, requirements
from tests.refresh.package_index import PackageIndex, wheel_bytes

REQUIRES = ["numpy>=1.17", "torch>=1.13.0", "transformers", 'deepspeed ; extra == "deepspeed"']
KEPT = ["numpy>=1.17", "torch>=1.13.0", "transformers", "[deepspeed] deepspeed"]


def a_file(index: PackageIndex, data: bytes, *, metadata: bool = False) -> File:
    address = index.put("peft", "0.14.0", data=data)
    return File("peft-0.14.0-py3-none-any.whl", address=f"{address}#sha256=00", metadata=metadata)


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("files", [0, 3, 2000])
def test_the_metadata_is_read_out_of_the_wheel_where_it_lies(ranges: bool, files: int) -> None:
    """The directory of 2,000 files is larger than the part that is asked for first."""
    index = PackageIndex(ranges=ranges)
    data = wheel_bytes("peft", "0.14.0", REQUIRES, files=files)
    assert requirements(a_file(index, data), index.get) == KEPT
    assert len(index.asked) <= (3 if ranges else 1)


def test_a_large_wheel_is_not_downloaded() -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("torch/lib.so", bytes(40 * 2**20))
        archive.writestr("peft-0.14.0.dist-info/METADATA", "Name: peft\nRequires-Dist: numpy>=1.17\n\n")
    index, sent = PackageIndex(), 0

    def get(address: str, headers: dict[str, str], most: int) -> object:
        nonlocal sent
        answer = index.get(address, headers, most)
        sent += len(answer.data)
        return answer

    assert requirements(a_file(index, stream.getvalue()), get) == ["numpy>=1.17"]  # type: ignore[arg-type]
    assert sent < 100_000


def test_metadata_that_lies_beside_a_wheel_is_taken_from_there() -> None:
    index = PackageIndex()
    file = a_file(index, b"not looked at", metadata=True)
    address = file.address.partition("#")[0]
    index.files[f"{address}.metadata"] = b"Name: peft\nRequires-Dist: numpy>=1.17\n\n"
    assert requirements(file, index.get) == ["numpy>=1.17"]
    assert index.asked == [f"{address}.metadata"]


def test_metadata_that_was_promised_and_is_not_there() -> None:
    index = PackageIndex()
    assert requirements(a_file(index, wheel_bytes("peft", "0.14.0", REQUIRES), metadata=True), index.get) == KEPT


def test_an_index_that_does_not_answer_is_not_a_wheel_that_cannot_be_read() -> None:
    index = PackageIndex()
    file = a_file(index, wheel_bytes("peft", "0.14.0"))
    index.broken.add(file.address.partition("#")[0])
    with pytest.raises(NoAnswerError, match="503"):
        requirements(file, index.get)


def without_metadata() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("deep/peft-0.14.0.dist-info/METADATA", "Requires-Dist: numpy>=1.17\n")
    return stream.getvalue()


def squeezed() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("peft-0.14.0.dist-info/METADATA", "Requires-Dist: numpy>=1.17\n")
    return stream.getvalue()


@pytest.mark.parametrize(
    "data",
    [squeezed(), b"", b"PK", b"<html>", bytes(100), wheel_bytes("peft", "0.14.0")[:-30], b"PK\5\6" + b"\xff" * 18, without_metadata()],
    ids=[
        "a compression that no wheel has",
        "nothing",
        "its first bytes",
        "a page",
        "zeros",
        "its end cut off",
        "an end that says too much",
        "another's metadata",
    ],
)
def test_what_is_no_wheel(data: bytes) -> None:
    index = PackageIndex()
    with pytest.raises(UnreadableError):
        requirements(a_file(index, data), index.get)


WHOLE = wheel_bytes("peft", "0.14.0", ["numpy>=1.17"], files=2)


@given(at=st.integers(0, len(WHOLE) - 1), value=st.integers(0, 255), cut=st.integers(0, len(WHOLE)))
def test_a_damaged_wheel_is_read_or_refused(at: int, value: int, cut: int) -> None:
    for data in (WHOLE[:at] + bytes([value]) + WHOLE[at + 1 :], WHOLE[:cut], WHOLE[cut:]):
        index = PackageIndex()
        try:
            found = requirements(a_file(index, data), index.get)
        except UnreadableError:
            continue
        assert all(isinstance(line, str) for line in found)


def test_a_server_that_gives_other_parts_than_it_is_asked_for() -> None:
    index = PackageIndex()
    file = a_file(index, wheel_bytes("peft", "0.14.0", REQUIRES, files=2000))

    def get(address: str, headers: dict[str, str], most: int) -> object:
        answer = index.get(address, headers, most)
        return answer if headers["Range"].startswith("bytes=-") else type(answer)(answer.data[:-1], answer.whole)

    with pytest.raises(UnreadableError, match="other parts"):
        requirements(file, get)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tokenizers<0.20,>=0.19", ["tokenizers<0.20,>=0.19"]),
        ("Huggingface_Hub >=0.23.0", ["huggingface-hub>=0.23.0"]),
        ("fsspec[HTTP,gs]>=2023.1.0,<=2024.6.1", ["fsspec[gs,http]<=2024.6.1,>=2023.1.0"]),
        ("triton==3.1.0 ; sys_platform == 'linux'", ['triton==3.1.0 ; sys_platform == "linux"']),
        ("filelock", ["filelock"]),
        ("datasets!=2.5.0 ; extra == 'agents'", ["[agents] datasets!=2.5.0"]),
        ("datasets ; extra == 'Some_Thing'", ["[some-thing] datasets"]),
        ("pytest ; extra == 'dev'", []),
        ("pytest ; extra == 'dev-torch'", []),
        ("numpy ; python_version < '3.9' and extra == 'torch'", ['[torch] numpy ; python_version < "3.9"']),
        ("numpy ; extra == 'torch' and python_version < '3.9'", ['[torch] numpy ; python_version < "3.9"']),
        ("numpy ; extra == 'a' or extra == 'b'", ["[a] numpy", "[b] numpy"]),
        (
            "numpy ; (sys_platform == 'linux' or sys_platform == 'darwin') and (extra == 'a' or extra == 'b')",
            [
                '[a] numpy ; (sys_platform == "linux" or sys_platform == "darwin")',
                '[b] numpy ; (sys_platform == "linux" or sys_platform == "darwin")',
            ],
        ),
        ("numpy ; extra == 'a' or sys_platform == 'linux'", []),
        ("numpy ; extra != 'a'", []),
        ("torch @ https://files.example/torch.whl", []),
        ("no requirement at all", []),
        ("", []),
    ],
)
def test_how_a_requirement_is_kept(line: str, expected: list[str]) -> None:
    assert kept([line, line]) == expected


ATOMS = st.sampled_from(['sys_platform == "linux"', 'python_version < "3.9"', 'extra == "torch"', 'extra == "onnx"'])
MARKERS = st.recursive(ATOMS, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner), max_leaves=4)


@given(marker=MARKERS)
def test_what_is_kept_holds_exactly_where_the_requirement_does(marker: str) -> None:
    lines = kept([f"numpy ; {marker}"])
    if not lines:
        return
    for platform in ("linux", "win32"):
        for python in ("3.8", "3.11"):
            for extra in ("", "torch", "onnx"):
                place = {"sys_platform": platform, "python_version": python, "extra": extra}
                told = Marker(marker).evaluate(place) if marker else True
                rest = [line.partition("] ")[2] if line.startswith("[") else line for line in lines if _of(line) in ("", extra)]
                markers = [Requirement(line).marker for line in rest]
                assert told == any(one is None or one.evaluate(place) for one in markers)


def _of(line: str) -> str:
    return line[1:].partition("]")[0] if line.startswith("[") else ""
