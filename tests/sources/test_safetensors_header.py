"""Headers of safetensors files, with the safetensors library as the oracle."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import SafetensorError
from safetensors import deserialize as _deserialize

from envdoctor.files.json_file import parsed_bytes
from envdoctor.sources.model.safetensors_header import (
    BITS,
    Header,
    InvalidHeaderError,
    TooLargeError,
    TruncatedError,
    header_of,
    read_header,
    spans_of,
)


def deserialize(file: bytes) -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = _deserialize(file)  # type: ignore[no-untyped-call]
    return found


def packed(header: object, data: bytes = b"", length: int | None = None) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def tensor(dtype: object = "U8", shape: object = (1,), offsets: object = (0, 1), **more: object) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


def read(file: bytes) -> Header | str:
    try:
        return read_header(io.BytesIO(file), len(file))
    except (TruncatedError, InvalidHeaderError) as error:
        return f"{type(error).__name__}: {error}"


def accepted(file: bytes) -> bool:
    try:
        deserialize(file)
    except SafetensorError:
        return False
    return True


def agrees(file: bytes) -> None:
    assert isinstance(read(file), Header) == accepted(file), read(file)


def test_names_and_elements_by_dtype_of_a_file() -> None:
    file = packed(
        {
            "__metadata__": {"format": "pt"},
            "embed": tensor("F16", [6, 4], [0, 48]),
            "norm": tensor("F32", [4], [48, 64]),
            "scalar": tensor("F16", [], [64, 66]),
        },
        bytes(66),
    )
    found = read(file)
    assert isinstance(found, Header)
    assert found.tensors.keys() == {"embed", "norm", "scalar"}
    assert found.elements == {"F16": 25, "F32": 4}


def test_every_dtype_of_the_library_is_known() -> None:
    for dtype, bits in BITS.items():
        assert accepted(packed({"a": tensor(dtype, [8], [0, bits])}, bytes(bits))), dtype
    for dtype in ("U4", "C128", "F6", "f16", ""):
        file = packed({"a": tensor(dtype, [8], [0, 8])}, bytes(8))
        assert not accepted(file)
        assert "is no dtype of safetensors" in str(read(file))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (b"", "TruncatedError: 0 bytes, too few for the length of a header"),
        (b"\0" * 7, "TruncatedError: 7 bytes, too few for the length of a header"),
        (packed(b""), "states a header of 0 bytes"),
        (packed(b"{}", length=2**63), "states a header of 9223372036854775808 bytes, more than the 100000000"),
        (b"<!DOCTYPE html><title>502</title>", "the file begins like a text"),
        (packed(b"{}", length=100), "states a header of 100 bytes, more than the file has (10)"),
        (packed(b"[]"), "no JSON object"),
        (packed(b"{}\0"), "no JSON"),
        (packed({"a": tensor(offsets=(0, 2), shape=(2,))}, b"x"), "its tensors need 2 bytes and 1 are there: 1 are missing"),
        (packed({"a": tensor()}, b"xyz"), "2 bytes after the last tensor belong to none"),
        (packed({"a": tensor(offsets=(1, 2))}, b"xx"), "a leaves a hole of 1 bytes before it"),
        (packed({"a": tensor(shape=(2,), offsets=(0, 2)), "b": tensor(offsets=(1, 2))}, b"xx"), "b overlaps the tensor before it"),
        (packed({"a": tensor(shape=(3,))}, b"x"), "a: U8 of shape [3] is not 1 bytes"),
        (packed({"a": {"dtype": "U8", "shape": [1]}}, b"x"), "a has no data_offsets"),
        (packed({"a": None}), "a is described by no JSON object"),
        (packed({"__metadata__": {"n": 1}}), "__metadata__ is no table of texts"),
        (packed({"a": tensor(shape=(2**63, 4, 0), offsets=(0, 0))}), "its shape overflows 64 bits"),
        (packed({"a\x1b[31m": None}), "a\\x1b[31m is described"),
    ],
)
def test_what_is_wrong_is_said(file: bytes, said: str) -> None:
    assert said in str(read(file))
    assert not accepted(file)


@pytest.mark.parametrize(
    "header",
    [
        b'{"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"__metadata__":{},"__metadata__":{},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"U8","shape":[9],"data_offsets":[5,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":NaN}}',
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":"\\ud800"}}',
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[-0,1]}}',
        b'{"layers.-0":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"\\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"\\ud83d\\ude00":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"U8","shape":[1e0],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}}',
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":"01"}}',
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":{"0":0,"1":1}}}',
        b'{"a":{"dtype":"U8","shape":[18446744073709551616,0],"data_offsets":[0,1]}}',
        b'\xef\xbb\xbf{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b' {"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}  ',
        b'{"a\tb":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b'{"\xff":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
    ],
)
def test_odd_json_is_read_as_the_library_reads_it(header: bytes) -> None:
    agrees(packed(header, b"x"))


def test_deep_nesting_is_no_crash() -> None:
    assert "InvalidHeaderError" in str(read(packed(b'{"a":' + b"[" * 200_000)))


names = st.text(st.characters(codec="utf-8"), max_size=6)
lengths = st.integers(0, 5) | st.sampled_from([2**31, 2**63, 2**64 - 1, 2**64, -1])


@st.composite
def consistent(draw: st.DrawFn) -> tuple[dict[str, dict[str, Any]], bytes]:
    """Tensors that lie one behind the other, each as long as it should be."""
    header: dict[str, dict[str, Any]] = {}
    position = 0
    for name in draw(st.lists(names.filter(lambda text: text != "__metadata__"), unique=True, max_size=5)):
        dtype = draw(st.sampled_from(sorted(BITS)))
        shape = draw(st.lists(st.integers(0, 4), max_size=3))
        count = 1
        for length in shape:
            count *= length
        if count * BITS[dtype] % 8:
            shape, count = [*shape, 4], count * 4
        size = count * BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [position, position + size]}
        position += size
    shuffled = draw(st.permutations(list(header)))
    return {name: header[name] for name in shuffled}, bytes(position)


@given(consistent())
def test_what_the_library_reads_is_read(made: tuple[dict[str, dict[str, Any]], bytes]) -> None:
    header, data = made
    file = packed(header, data)
    found = read(file)
    assert isinstance(found, Header)
    assert {name: info["dtype"] for name, info in deserialize(file)} == {name: header[name]["dtype"] for name in found.tensors}


@given(consistent(), st.data())
def test_a_damaged_file_is_judged_as_the_library_judges_it(made: tuple[dict[str, dict[str, Any]], bytes], draw: st.DataObject) -> None:
    header, data = made
    if header:
        name = draw.draw(st.sampled_from(sorted(header)))
        key = draw.draw(st.sampled_from(["dtype", "shape", "data_offsets", "absent", "extra"]))
        if key == "absent":
            header[name].pop(draw.draw(st.sampled_from(["dtype", "shape", "data_offsets"])))
        elif key == "dtype":
            header[name]["dtype"] = draw.draw(st.sampled_from([*BITS, "U4", 3, None, ""]))
        elif key == "shape":
            header[name]["shape"] = draw.draw(st.lists(lengths, max_size=3))
        elif key == "data_offsets":
            header[name]["data_offsets"] = draw.draw(st.lists(st.integers(0, 20) | lengths, max_size=3))
        else:
            header[name]["more"] = draw.draw(st.none() | st.integers() | st.lists(st.booleans()))
    cut = draw.draw(st.integers(-2, 2))
    agrees(packed(header, data[:cut] if cut < 0 else data + bytes(cut)))


@given(st.binary(max_size=80))
def test_any_bytes_are_judged_as_the_library_judges_them(raw: bytes) -> None:
    agrees(raw)
    agrees(packed(raw))


def test_a_sparse_file_is_read_by_its_header_alone(tmp_path: Path) -> None:
    size = 2**40
    path = tmp_path / "model.safetensors"
    with path.open("wb") as stream:
        stream.write(packed({"a": tensor("BF16", [2**20, 2**19], [0, size])}))
        stream.truncate(stream.tell() + size)
    assert header_of(path).elements == {"BF16": 2**39}


def test_shapes_are_those_of_the_library() -> None:
    file = packed({"a": tensor("F32", [2, 3], [0, 24]), "b": tensor("BF16", [], [24, 26])}, bytes(26))
    found = read(file)
    assert isinstance(found, Header)
    assert {name: (told.dtype, list(told.shape)) for name, told in found.tensors.items()} == {
        name: (info["dtype"], info["shape"]) for name, info in deserialize(file)
    }


@given(consistent())
def test_the_order_of_the_header_does_not_matter(made: tuple[dict[str, dict[str, Any]], bytes]) -> None:
    header, data = made
    ordered = dict(sorted(header.items(), key=lambda item: item[1]["data_offsets"]))
    assert read(packed(ordered, data)) == read(packed(dict(reversed(ordered.items())), data))


def test_names_that_stand_twice_are_kept() -> None:
    entry = b'{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
    found = read(packed(b'{"a":' + entry + b',"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},"a":' + entry + b"}", b"x"))
    assert isinstance(found, Header)
    assert found.repeated == ("a",)
    assert sorted(found.tensors) == ["a", "b"]
    healthy = read(packed({"a": tensor(), "b": tensor(offsets=(1, 2))}, b"xx"))
    assert isinstance(healthy, Header)
    assert healthy.repeated == ()


def test_where_tensors_lie(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(packed({"b": tensor(offsets=(1, 3), shape=(2,)), "a": tensor()}, b"xyz"))
    spans = spans_of(path, ["a", "b", "c"])
    assert {name: path.read_bytes()[begin:end] for name, (begin, end) in spans.items()} == {"a": b"x", "b": b"yz"}


def test_a_header_is_read_in_the_memory_that_it_is_given() -> None:
    file = packed({f"model.layers.{number}.weight": tensor(offsets=(number, number + 1)) for number in range(2000)}, bytes(2000))
    needed = next(memory for memory in range(0, 2**26, 2**14) if not too_large(file, memory))
    assert too_large(file, needed - 2**14)
    assert len(file) < needed < 60 * len(file)
    with pytest.raises(TooLargeError, match="is more than is read"):
        read_header(io.BytesIO(file), len(file), 1000)


def too_large(file: bytes, memory: int) -> bool:
    try:
        read_header(io.BytesIO(file), len(file), memory)
    except TooLargeError:
        return True
    return False


@pytest.mark.large
@pytest.mark.parametrize(
    "piece",
    [
        b"[],", b"{},", b"0,", b"12345,", b"1e9,", b'"",', b'"ab",', '"\N{LATIN SMALL LETTER E WITH ACUTE}",'.encode(),
        '"\N{GRINNING FACE}a",'.encode(), b'"\\ud83d\\ude00aaaaaaaaaaaaaa",', b'{"a":0},', b'{"a":0,"b":0,"c":0,"d":0,"e":0,"f":0},',
        b"[0],", b"[[]],", b'[{"a":[]}],', b"123456789012345678901234567890,", b"true,", b" ",
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [2**16, 2**18 + 2**16])
def test_no_json_takes_more_memory_than_is_reckoned(piece: bytes, size: int) -> None:
    raw = b"[" + piece * (size // len(piece)) + b"0]"
    tracemalloc.start()
    try:
        text = bytes(bytearray(raw)).decode()
        tree = json.loads(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(tree, list)
    assert peak < parsed_bytes(raw)


@given(st.lists(st.sampled_from(["\\ud83d", "\\ude00", "\\uD83D", "\\\\", "a", "\\u0061", "\\n", "\\udfff"]), max_size=6))
def test_halves_of_pairs_are_refused_as_the_library_does(parts: list[str]) -> None:
    agrees(packed(f'{{"{"".join(parts)}":{{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}}}'.encode(), b"x"))
