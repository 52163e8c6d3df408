"""JSON files of unknown origin, read within bounds."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from envdoctor.files.text import plain
from envdoctor.records import dataclass

CONFIG_LIMIT = 16 * 2**20
PARSED_LIMIT = 224 * 2**20
"""Bytes of memory that a JSON text of unknown origin may take once parsed, by the bound of ``parsed_bytes``."""
_BOM = b"\xef\xbb\xbf"


class UnreadableError(Exception):
    """A file that cannot be read, or will not be; the text says why."""


class JsonError(Exception):
    """Text that is no JSON. ``line`` and ``column`` count from 1."""

    def __init__(self, line: int, column: int, found: str, expected: str) -> None:
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected
        super().__init__(f"line {line}, column {column}: found {found}; expected {expected}")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed JSON text. ``byte_order_mark`` says that it began with one, which Python's json refuses."""

    value: object
    text: str
    byte_order_mark: bool = False

    def line_of(self, key: str) -> int | None:
        return line_of_key(self.text, key)


def read_bounded(path: str | Path, limit: int = CONFIG_LIMIT) -> bytes:
    """The bytes of a regular file of at most ``limit`` bytes.

    Raises:
        UnreadableError: no such file, no permission, not a regular file, or larger than the limit.
    """
    try:
        # Without O_NONBLOCK a named pipe would be waited for, before fstat could tell what it is.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        raise UnreadableError(_reason(error)) from None
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise UnreadableError("a directory")
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError("not a regular file")
        if status.st_size > limit:
            raise UnreadableError(f"{status.st_size} bytes, more than the {limit} that are read")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise UnreadableError(_reason(error)) from None
    finally:
        os.close(descriptor)
    if len(data) > limit:
        raise UnreadableError(f"more than the {limit} bytes that are read")
    return data


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "a name that no file can have"


def parsed_bytes(raw: bytes) -> int:
    """A bound on the bytes of memory that a JSON text and what Python's json makes of it take together.

    What CPython 3.10 to 3.13 (64 bits) takes for empty and filled containers, strings and numbers, never less; about twice
    the truth for the header of a model.
    """
    if len(raw) < 2**20:
        return 40 * len(raw) + 4096
    wide = 1 if raw.isascii() else 4
    strings = 4 if wide == 4 or b"\\u" in raw else 1
    pairs, objects = raw.count(b":"), raw.count(b"{")
    containers = 64 * (objects + raw.count(b"[")) + 190 * min(objects, pairs) + 110 * pairs
    return 4096 + (1 + wide + strings) * len(raw) + containers + 25 * raw.count(b'"') + 33 * raw.count(b",")


def parse_json(data: bytes, memory: int | None = PARSED_LIMIT) -> Document:
    """Parse UTF-8 JSON as Python's json does: NaN is a number, the last of equal keys wins.

    ``memory`` bounds the bytes that it may take by ``parsed_bytes``; None where the caller has seen to that.

    Raises:
        JsonError: not UTF-8, not JSON, nested deeper than the interpreter follows, a number of more
            digits than it converts, or more than the memory it may take.
    """
    if memory is not None and len(data) * 40 > memory and (needed := parsed_bytes(data)) > memory:
        raise JsonError(1, 1, f"JSON that may take {needed >> 20} MiB once parsed", f"one that takes at most {memory >> 20} MiB")
    marked = data.startswith(_BOM)
    body = data[len(_BOM) :] if marked else data
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        column = error.start - body.rfind(b"\n", 0, error.start)
        raise JsonError(line, column, f"the byte 0x{body[error.start]:02x}, which is no UTF-8", "JSON in UTF-8") from None
    try:
        return Document(json.loads(text), text, marked)
    except json.JSONDecodeError as error:
        raise _json_error(error, text) from None
    except ValueError:
        raise JsonError(1, 1, "a number of more than 4300 digits", "numbers that can be converted") from None
    except RecursionError:
        raise JsonError(1, 1, "lists or objects nested too deeply", "a document that a JSON parser can follow") from None


_MESSAGES = (
    ("Unterminated string", "a string that does not end"),
    ("Extra data", "more text after the end of the value"),
    ("Invalid control character", "a control character inside a string"),
    ("Invalid \\", "an escape that JSON does not have"),
    ("Illegal trailing comma", "a comma after the last item"),
)


def _json_error(error: json.JSONDecodeError, text: str) -> JsonError:
    message = error.msg
    if not text.strip():
        return JsonError(error.lineno, error.colno, "an empty file", "JSON")
    if text.lstrip()[:1] == "<":
        return JsonError(1, 1, "a page of HTML or XML", "JSON")
    if not message.startswith("Expecting "):
        found = next((found for start, found in _MESSAGES if message.startswith(start)), message.lower())
        return JsonError(error.lineno, error.colno, plain(found), "JSON")
    found = repr(text[error.pos]) if error.pos < len(text) else "the end of the file"
    return JsonError(error.lineno, error.colno, plain(found), message.removeprefix("Expecting "))


def line_of_key(text: str, key: str) -> int | None:
    """The line, from 1, on which a key of a JSON object stands; None for one written with escapes.

    Of several the one with the least indentation, so that a key of the outermost object is found
    before the same key of a nested one; of equals the last, which is the one that counts.
    """
    quoted = f'"{key}"'
    best: tuple[int, int] | None = None
    position = text.find(quoted)
    while position >= 0:
        end = position + len(quoted)
        if text[end : end + 16].lstrip()[:1] == ":":
            indentation = position - text.rfind("\n", 0, position)
            if best is None or indentation <= best[0]:
                best = (indentation, position)
        position = text.find(quoted, end)
    return None if best is None else text.count("\n", 0, best[1]) + 1
