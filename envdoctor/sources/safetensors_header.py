"""The header of a safetensors file: names, dtypes and shapes, never the data.

The file is an unsigned 64-bit little-endian length, that many bytes of JSON, and the tensors' bytes
(https://huggingface.co/docs/safetensors/index#format). What safetensors 0.8.0 refuses is refused here, and what
it reads is read, but for shapes of JSON that no writer makes: a tensor described by a list instead of an object
is refused here, and nesting of more than 128 levels inside a field that nobody reads is not.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

from envdoctor.sources.jsonfile import plain

MAX_HEADER = 100_000_000
_MOST = 2**64 - 1

BITS = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


class TruncatedError(Exception):
    """The file ends before its tensors do."""


class InvalidHeaderError(Exception):
    """The header cannot be read, or contradicts itself or the file's size."""


class Tensor(NamedTuple):
    """One tensor as its header describes it: the dtype in safetensors' own spelling, the length of each dimension."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """What one file holds. ``elements`` counts the elements of all its tensors by dtype; ``length`` is the header's, in bytes."""

    tensors: Mapping[str, Tensor]
    elements: Mapping[str, int]
    length: int


def read_header(stream: BinaryIO, size: int) -> Header:
    """The header of a file of ``size`` bytes.

    Raises:
        TruncatedError, InvalidHeaderError, OSError
    """
    start = stream.read(8)
    if len(start) < 8:
        raise TruncatedError(f"{size} bytes, too few for the length of a header")
    (length,) = struct.unpack("<Q", start)
    if length > MAX_HEADER:
        page = ": the file begins like a text" if start.isascii() and start.decode("ascii").isprintable() else ""
        raise InvalidHeaderError(f"it states a header of {length} bytes, more than the {MAX_HEADER} that safetensors reads{page}")
    if length == 0:
        raise InvalidHeaderError("it states a header of 0 bytes: it begins with zeros, like a file that was reserved and never written")
    if length + 8 > size:
        raise InvalidHeaderError(f"it states a header of {length} bytes, more than the file has ({size})")
    raw = stream.read(length)
    if len(raw) < length:
        raise TruncatedError(f"it ends inside its header of {length} bytes")
    tensors = _parse(raw)
    end, elements = _check(tensors)
    held = size - 8 - length
    if end > held:
        raise TruncatedError(f"its tensors need {end} bytes and {held} are there: {end - held} are missing")
    if end < held:
        raise InvalidHeaderError(f"{held - end} bytes after the last tensor belong to none")
    return Header({name: Tensor(info["dtype"], tuple(info["shape"])) for name, info in tensors.items()}, elements, length)


def header_of(path: str | os.PathLike[str]) -> Header:
    """As ``read_header``, of a file on disk."""
    with open(path, "rb") as stream:
        return read_header(stream, os.fstat(stream.fileno()).st_size)


def _parse(raw: bytes) -> dict[str, Any]:
    """The tensors by name, as the JSON has them."""
    try:
        text = raw.decode("utf-8")
        tree = json.loads(text, parse_constant=_refuse)
        if b"\\u" in raw:
            # Python lets half of a surrogate pair pass; no UTF-8 text has one.
            json.dumps(tree, ensure_ascii=False).encode("utf-8")
        if text.count('"dtype"') != len(tree) - ("__metadata__" in tree) or text.count('"__metadata__"') > 1 or "-0" in text:
            json.loads(text, object_pairs_hook=_no_field_twice, parse_int=_no_negative_zero)
    except RecursionError:
        raise InvalidHeaderError("its header is nested too deeply") from None
    except ValueError as error:
        raise InvalidHeaderError(f"its header is no JSON: {plain(str(error))}") from None
    except TypeError:
        raise InvalidHeaderError("its header is no JSON object") from None
    if not isinstance(tree, dict):
        raise InvalidHeaderError("its header is no JSON object")
    metadata = tree.pop("__metadata__", None)
    if metadata is not None and not (isinstance(metadata, dict) and all(type(value) is str for value in metadata.values())):
        raise InvalidHeaderError("__metadata__ is no table of texts")
    return tree


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _no_negative_zero(digits: str) -> int:
    if digits == "-0":
        raise ValueError("-0 is no whole number to safetensors")
    return int(digits)


_FIELDS = frozenset(("dtype", "shape", "data_offsets"))


def _no_field_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = Counter(name for name, _ in pairs)
    twice = next((name for name, count in names.items() if count > 1 and (name in _FIELDS or name == "__metadata__")), None)
    if twice is not None:
        raise ValueError(f"{twice} stands twice")
    return dict(pairs)


def _check(tensors: Mapping[str, Any]) -> tuple[int, dict[str, int]]:
    """The end of the last tensor in bytes from the first, and elements by dtype.

    Tensors must follow each other without holes or overlaps, each as long as its shape and dtype say.
    """
    spans: list[tuple[int, int, str]] = []
    elements: dict[str, int] = {}
    for name, info in tensors.items():
        try:
            dtype, shape = info["dtype"], info["shape"]
            begin, end = info["data_offsets"]
            bits = BITS[dtype]
        except (KeyError, TypeError, ValueError):
            raise _unreadable(name, info) from None
        count = _elements(name, shape)
        if type(begin) is not int or type(end) is not int or not 0 <= begin <= _MOST or not 0 <= end <= _MOST:
            raise InvalidHeaderError(f"{plain(name)}: data_offsets are no two numbers of bytes")
        if (end - begin) * 8 != count * bits:
            raise InvalidHeaderError(f"{plain(name)}: {plain(str(dtype))} of shape {plain(str(shape))} is not {end - begin} bytes")
        spans.append((begin, end, name))
        elements[dtype] = elements.get(dtype, 0) + count
    spans.sort()
    position = 0
    for begin, end, name in spans:
        if begin != position:
            kind = "overlaps the tensor before it" if begin < position else f"leaves a hole of {begin - position} bytes before it"
            raise InvalidHeaderError(f"{plain(name)} {kind}")
        position = end
    return position, elements


def _elements(name: str, shape: object) -> int:
    if type(shape) is not list or len(shape) > 1024:
        raise InvalidHeaderError(f"{plain(name)}: its shape is no list of lengths")
    for length in shape:
        if type(length) is not int or not 0 <= length <= _MOST:
            raise InvalidHeaderError(f"{plain(name)}: its shape is no list of lengths")
    count = math.prod(shape)
    if count > _MOST or (count == 0 and _overflows(shape)):
        raise InvalidHeaderError(f"{plain(name)}: its shape overflows 64 bits")
    return count


def _overflows(shape: list[int]) -> bool:
    """Whether the product passes 64 bits before it meets a zero: safetensors multiplies from the left."""
    product = 1
    for length in shape:
        product *= length
        if product > _MOST:
            return True
    return False


def _unreadable(name: str, info: object) -> InvalidHeaderError:
    if not isinstance(info, dict):
        return InvalidHeaderError(f"{plain(name)} is described by no JSON object")
    missing = [field for field in ("dtype", "shape", "data_offsets") if field not in info]
    if missing:
        return InvalidHeaderError(f"{plain(name)} has no {' and no '.join(missing)}")
    if not isinstance(info["dtype"], str) or info["dtype"] not in BITS:
        return InvalidHeaderError(f"{plain(name)}: {plain(repr(info['dtype']))} is no dtype of safetensors")
    return InvalidHeaderError(f"{plain(name)}: data_offsets are no two numbers of bytes")
