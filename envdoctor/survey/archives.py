"""The files of a release, read where they lie on the index: of a wheel its directory and the members that are asked for, and no more."""

from __future__ import annotations

import io
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Protocol

from envdoctor.files.parts import Parts
from envdoctor.records import dataclass

Part = Callable[[int, int], bytes]
"""The bytes of a file from a place up to another one."""

# A wheel may carry what it installs into site-packages in a folder of its own.
_DATA = re.compile(r"^[^/]+\.data/(?:purelib|platlib)/")
_TAIL = 256 * 1024
_MOST_DIRECTORY = 32 * 2**20
_LONGEST_MEMBER = 8 * 2**20
_GAP = 128 * 1024
_BLOCK = 8 * 2**20
_MOST_SDIST = 300 * 2**20


class NotAnArchiveError(Exception):
    """The file is no wheel and no source archive that can be read; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file of a release: its path in site-packages, the checksum of its content (CRC-32),
    its size (bytes), its place in the archive."""

    path: str
    crc: int
    size: int
    place: int = 0
    packed: int = 0
    method: int = 0


class Archive(Protocol):
    """The files of a release, and their content."""

    @property
    def members(self) -> Sequence[Member]:
        """The files."""

    def read(self, wanted: Sequence[Member]) -> Iterator[tuple[Member, bytes]]:
        """The content of members, in the order of the archive."""


class Wheel:
    """A wheel of which parts can be asked for; ``size`` is the whole of it in bytes.

    Raises:
        NotAnArchiveError: it has no directory that can be read.
    """

    def __init__(self, part: Part, size: int) -> None:
        self._part = part
        tail = _Window(part, size, _TAIL)
        try:
            with zipfile.ZipFile(tail) as archive:
                self.members = [
                    Member(
                        _DATA.sub("", info.filename), info.CRC, info.file_size, info.header_offset, info.compress_size, info.compress_type
                    )
                    for info in archive.infolist()
                    if not info.is_dir() and info.file_size <= _LONGEST_MEMBER
                ]
        except (
            zipfile.BadZipFile,
            zlib.error,
            struct.error,
            EOFError,
            OverflowError,
            ValueError,
            RuntimeError,
            NotImplementedError,
        ) as error:
            raise NotAnArchiveError(f"no wheel: {error}") from error

    def read(self, wanted: Sequence[Member]) -> Iterator[tuple[Member, bytes]]:
        for block in _blocks(wanted):
            start, end = block[0].place, max(one.place + one.packed + 30 + 2 * len(one.path.encode()) + 512 for one in block)
            data = self._part(start, end)
            for one in block:
                at = one.place - start
                names, extra = struct.unpack_from("<HH", data, at + 26) if len(data) >= at + 30 else (0, 0)
                begin = at + 30 + names + extra
                raw = data[begin : begin + one.packed]
                if len(raw) < one.packed:
                    raw = self._part(start + begin, start + begin + one.packed)
                with suppress(zlib.error):
                    content = zlib.decompressobj(-15).decompress(raw, _LONGEST_MEMBER) if one.method == zipfile.ZIP_DEFLATED else raw
                    if len(content) == one.size:
                        yield one, content


def _blocks(wanted: Sequence[Member]) -> Iterator[list[Member]]:
    """Members that lie near each other, to be asked for at once."""
    block: list[Member] = []
    for one in sorted(wanted, key=lambda member: member.place):
        if block and (one.place - (block[-1].place + block[-1].packed) > _GAP or one.place + one.packed - block[0].place > _BLOCK):
            yield block
            block = []
        block.append(one)
    if block:
        yield block


class _Window(Parts):
    """The end of a file: what lies before it is asked for when it is read."""

    def __init__(self, part: Part, size: int, tail: int) -> None:
        super().__init__(size)
        self._part = part
        self._start = max(size - tail, 0)
        self._data = part(self._start, size)

    def read(self, size: int | None = -1) -> bytes:
        end = self.end_of(size)
        if self.at < self._start:
            if self.size - self.at > _MOST_DIRECTORY:
                raise zipfile.BadZipFile("its directory is larger than any")
            self._data = self._part(self.at, self._start) + self._data
            self._start = self.at
        data = self._data[self.at - self._start : end - self._start]
        self.at = max(self.at, end)
        return data


class Sdist:
    """A source archive: the packages in it, wherever they lie, as an installation would have them.

    Raises:
        NotAnArchiveError: it cannot be read.
    """

    def __init__(self, data: bytes, tops: Sequence[str] = ()) -> None:
        self._contents: dict[str, bytes] = {}
        try:
            if data[:2] == b"PK":
                with zipfile.ZipFile(io.BytesIO(data)) as bundle:
                    found = [(info.filename, bundle.read(info)) for info in bundle.infolist() if info.filename.endswith((".py", ".pyi"))]
            else:
                with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as tar:
                    found = [
                        (item.name, stream.read())
                        for item in tar
                        if item.isfile() and item.name.endswith((".py", ".pyi")) and item.size < _LONGEST_MEMBER
                        for stream in [tar.extractfile(item)]
                        if stream is not None
                    ]
        except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
            raise NotAnArchiveError(f"no source archive: {error}") from error
        packages = {name.rpartition("/")[0] for name, _ in found if name.endswith("/__init__.py")}
        for name, content in found:
            folders = name.split("/")[1:]
            for depth in range(len(folders)):
                if name.split("/")[0] + "".join(f"/{part}" for part in folders[: depth + 1]) in packages:
                    path = "/".join(folders[depth:])
                    if not tops or folders[depth] in tops:
                        self._contents.setdefault(path, content)
                    break
        self.members = [Member(path, zlib.crc32(content), len(content)) for path, content in self._contents.items()]

    def read(self, wanted: Sequence[Member]) -> Iterator[tuple[Member, bytes]]:
        for one in wanted:
            yield one, self._contents[one.path]
