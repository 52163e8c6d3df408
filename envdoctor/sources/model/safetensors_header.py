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
import re
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, BinaryIO, NamedTuple

from envdoctor.files.json_file import parsed_bytes
from envdoctor.files.text import plain
from envdoctor.records import dataclass

MAX_HEADER = 100_000_000
MEMORY = 208 * 2**20
"""Bytes of memory that the headers of one snapshot, parsed, may take at any time, by the bound of ``parsed_bytes``."""

_MOST = 2**64 - 1

BITS = {
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
    "I32": 32, "U32": 32, "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64,
}  # fmt: skip


class HeaderError(Exception):
    """A header that is not read; the message says why."""


class TruncatedError(HeaderError):
    """The file ends before its tensors do."""


class InvalidHeaderError(HeaderError):
    """The header cannot be read, or contradicts itself or the file's size."""


class TooLargeError(HeaderError):
    """A header that would take more memory than it is given; whether it is sound is not known."""


class Tensor(NamedTuple):
    """One tensor as its header describes it: the dtype in safetensors' own spelling, the length of each dimension."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """What one file holds.

    ``elements`` counts the elements of all its tensors by dtype; ``length`` is the header's, in bytes. ``repeated`` are names that
    stand in it more than once: the last one counts, for safetensors too.
    """

    tensors: Mapping[str, Tensor]
    elements: Mapping[str, int]
    length: int
    repeated: tuple[str, ...] = ()


def read_header(stream: BinaryIO, size: int, memory: int = MEMORY) -> Header:
    """The header of a file of ``size`` bytes, in at most ``memory`` bytes.

    Raises:
        TruncatedError, InvalidHeaderError, TooLargeError, OSError
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
    if length > memory // 3:
        raise TooLargeError(f"its header of {length} bytes is more than is read")
    raw = stream.read(length)
    if len(raw) < length:
        raise TruncatedError(f"it ends inside its header of {length} bytes")
    if parsed_bytes(raw) > memory:
        raise TooLargeError(f"its header of {length} bytes would take too much memory")
    tree, repeated = _parse(raw)
    del raw
    tensors, elements, end = _tensors(tree)
    held = size - 8 - length
    if end > held:
        raise TruncatedError(f"its tensors need {end} bytes and {held} are there: {end - held} are missing")
    if end < held:
        raise InvalidHeaderError(f"{held - end} bytes after the last tensor belong to none")
    return Header(tensors, elements, length, repeated)


def header_of(path: str | os.PathLike[str], memory: int = MEMORY) -> Header:
    """As ``read_header``, of a file on disk."""
    with open(path, "rb") as stream:
        return read_header(stream, os.fstat(stream.fileno()).st_size, memory)


def spans_of(path: str | os.PathLike[str], names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Where the data of tensors lie in a file, in bytes from its start; of those names that it holds, as long as its header is sound.

    Raises:
        TruncatedError, InvalidHeaderError, TooLargeError, OSError
    """
    with open(path, "rb") as stream:
        start = 8 + read_header(stream, os.fstat(stream.fileno()).st_size).length
        stream.seek(8)
        tree, _ = _parse(stream.read(start - 8))
    spans = {name: tree[name]["data_offsets"] for name in names if name in tree}
    return {name: (start + begin, start + end) for name, (begin, end) in spans.items()}


def _parse(raw: bytes) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The tensors by name, as the JSON has them, and the names that it has more than once."""
    repeated: tuple[str, ...] = ()
    try:
        text = raw.decode("utf-8")
        tree = json.loads(text, parse_constant=_refuse)
        if _has_half_a_pair(raw):
            raise InvalidHeaderError("its header is no JSON: half of a surrogate pair, which no UTF-8 text has")
        if text.count('"dtype"') != len(tree) - ("__metadata__" in tree) or text.count('"__metadata__"') > 1 or "-0" in text:
            strict = _NoFieldTwice()
            tree = None
            tree = json.loads(text, object_pairs_hook=strict, parse_int=_no_negative_zero, parse_constant=_refuse)
            repeated = strict.repeated
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
    return tree, repeated


def _has_half_a_pair(raw: bytes) -> bool:
    """Whether an escape of a JSON text stands for half of a surrogate pair: Python lets it pass, safetensors does not."""
    if b"\\" not in raw or (b"\\ud" not in raw and b"\\uD" not in raw):
        return False
    awaited = -1
    for escape in re.finditer(rb"\\(?:u([0-9a-fA-F]{4})|.)", raw, re.DOTALL):
        code = int(escape[1], 16) if escape[1] else 0
        if awaited >= 0 or 0xDC00 <= code < 0xE000:
            if awaited != escape.start() or not 0xDC00 <= code < 0xE000:
                return True
            awaited = -1
        elif 0xD800 <= code < 0xDC00:
            awaited = escape.end()
    return awaited >= 0


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _no_negative_zero(digits: str) -> int:
    if digits == "-0":
        raise ValueError("-0 is no whole number to safetensors")
    return int(digits)


_FIELDS = frozenset(("dtype", "shape", "data_offsets"))


class _NoFieldTwice:
    """Builds objects and refuses a field that stands twice; ``repeated`` are the names that stood twice in the last, outermost one."""

    def __init__(self) -> None:
        self.repeated: tuple[str, ...] = ()

    def __call__(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        table = dict(pairs)
        if len(table) == len(pairs):
            self.repeated = ()
            return table
        self.repeated = tuple(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        twice = next((name for name in self.repeated if name in _FIELDS or name == "__metadata__"), None)
        if twice is not None:
            raise ValueError(f"{twice} stands twice")
        return table


_WHOLE = frozenset((int,))


class _IrregularError(Exception):
    """A header that is not as writers make it: each tensor at the end of the one before."""


def _tensors(tree: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, int], int]:
    """The tensors, their elements by dtype, and the end of the last in bytes from the first.

    Raises:
        InvalidHeaderError
    """
    try:
        return _in_order(tree)
    except (_IrregularError, KeyError, TypeError, ValueError):
        end, elements = _check(tree)
        return {name: Tensor(info["dtype"], tuple(info["shape"])) for name, info in tree.items()}, elements, end


def _in_order(tree: Mapping[str, Any]) -> tuple[dict[str, Tensor], dict[str, int], int]:
    """As ``_check`` and in a fifth of its time: each shape is examined once, and the tensors must lie in the order of the header."""
    tensors: dict[str, Tensor] = {}
    elements: dict[str, int] = {}
    known: dict[tuple[object, ...], tuple[Tensor, int, int]] = {}
    position = 0
    for name, info in tree.items():
        dtype, shape = info["dtype"], info["shape"]
        begin, end = info["data_offsets"]
        # 1.0 and true are equal to 1, and no lengths.
        if type(shape) is not list or type(begin) is not int or type(end) is not int or not {*map(type, shape)} <= _WHOLE:
            raise _IrregularError
        key = (dtype, *shape)
        found = known.get(key)
        if found is None:
            count = _elements(name, shape)
            found = known[key] = (Tensor(dtype, tuple(shape)), count, count * BITS[dtype])
        tensor, count, bits = found
        if begin != position or (end - begin) * 8 != bits or end > _MOST:
            raise _IrregularError
        tensors[name] = tensor
        elements[dtype] = elements.get(dtype, 0) + count
        position = end
    return tensors, elements, position


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
