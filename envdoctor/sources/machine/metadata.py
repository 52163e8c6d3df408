"""Core metadata as it lies beside an installed package: the headers only, read by hand.

The formats are those of https://packaging.python.org/en/latest/specifications/core-metadata/ and of
the older ``requires.txt`` that setuptools writes into an ``.egg-info``.
"""

from __future__ import annotations

import errno
import os
import stat

from envdoctor.records import dataclass

HEADER_LIMIT = 1 << 20
_CHUNK = 1 << 15
_OPEN = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_WANTED = frozenset((b"name", b"version", b"requires-dist", b"requires-python"))


@dataclass(frozen=True, slots=True)
class Metadata:
    """The headers that matter here; ``undecodable`` names those that are not UTF-8 and are therefore left out."""

    name: str | None = None
    version: str | None = None
    requires: tuple[str, ...] = ()
    requires_python: str | None = None
    undecodable: tuple[str, ...] = ()


def read_bounded(path: str, limit: int, *, headers_only: bool = False) -> tuple[bytes, bool]:
    """At most ``limit`` bytes of a regular file, and whether that was all that was asked for.

    With ``headers_only`` reading stops at the first blank line.

    Raises:
        OSError: it cannot be read, or is no regular file (a pipe would make us wait, a device has no end).
    """
    handle = os.open(path, _OPEN)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        data = b""
        while len(data) < limit:
            chunk = os.read(handle, min(_CHUNK, limit - len(data)))
            if not chunk:
                return data, True
            searched = max(len(data) - 3, 0)
            data += chunk
            if headers_only:
                ends = [end for end in (data.find(b"\n\n", searched), data.find(b"\n\r\n", searched)) if end >= 0]
                if ends:
                    return data[: min(ends)], True
        return data, not os.read(handle, 1)
    finally:
        os.close(handle)


def parse_headers(data: bytes) -> Metadata:
    """The headers of METADATA or PKG-INFO up to the first blank line; anything may be in it, nothing is raised.

    Of a header that may stand once, the first counts. A folded line belongs to the header before it.
    """
    found: dict[bytes, list[bytes]] = {}
    values: list[bytes] | None = None
    for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if line[:1] in (b" ", b"\t"):
            if values:
                values[-1] += b" " + line.strip()
            continue
        key, colon, value = line.partition(b":")
        if not colon:
            if not line.strip():
                break
            values = None
            continue
        key = key.lower()
        values = found.setdefault(key, []) if key in _WANTED else None
        if values is not None:
            values.append(value.strip())
    undecodable: list[str] = []

    def texts(header: bytes, shown: str) -> list[str]:
        decoded = []
        for value in found.get(header, ()):
            try:
                decoded.append(value.decode())
            except UnicodeDecodeError:
                undecodable.append(shown)
        return [text for text in decoded if text]

    name, version, python = texts(b"name", "Name"), texts(b"version", "Version"), texts(b"requires-python", "Requires-Python")
    return Metadata(
        name=name[0] if name else None,
        version=version[0] if version else None,
        requires=tuple(texts(b"requires-dist", "Requires-Dist")),
        requires_python=python[0] if python else None,
        undecodable=tuple(undecodable),
    )


def parse_requires_txt(data: bytes) -> tuple[str, ...]:
    """The lines of an egg's ``requires.txt`` as Requires-Dist lines.

    A section ``[extra:marker]`` says under which extra and marker the lines below it count.
    """
    lines: list[str] = []
    marker = ""
    for raw in data.decode("utf-8", "replace").splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            extra, _, condition = line[1:-1].partition(":")
            parts = [f"({condition})"] if condition else []
            parts += [f'extra == "{extra}"'] if extra else []
            marker = " and ".join(parts)
            continue
        # After a URL a marker needs a space before its semicolon.
        space = " " if "@" in line else ""
        lines.append(f"{line}{space}; {marker}" if marker else line)
    return tuple(lines)
