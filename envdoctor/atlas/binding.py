"""A package of the atlas in the form that is looked up: a directory, and compressed blocks of the text behind it.

``envdoctor-atlas 3``, four bytes with the length of the compressed directory, the directory, the blocks. The directory is the head of
the volume, an empty line, and for every block its place, its length and the names of the chunks in it. A block is a stream of zlib, or
one of LZMA, which begins otherwise: larger, some tenths less, and read some times slower. Entries have their lines in chunks of their
own.
"""

from __future__ import annotations

import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache

from envdoctor.atlas.numbered import PAGE, number_lines, written
from envdoctor.atlas.volume import DamagedAtlasError, Volume

MAGIC = b"envdoctor-atlas 3\n"
_BLOCK, _SOLID_BLOCK, _DENSE_BLOCK = 96 * 1024, 768 * 1024, 1024 * 1024
# With which every stream of zlib of the usual window begins, and none of LZMA2.
_ZLIB = b"\x78"
# With longer matches than the preset's: 312 packages are 17.8 MB with it and 19.1 without, for 10 seconds more of one core where the wheel
# is built, which is to stay under 25 MB.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 4, "mf": lzma.MF_BT4, "nice_len": 160, "depth": 48}]
_LARGEST = 64 * 2**20
_CHUNK = re.compile(r"(?m)^(?=(?:module|entry|takes|lines\d+) )")
SLOW, CLOSE, SOLID, FAST = "slow", "close", "solid", "fast"
"""How a package is packed: as small as can be, small in small blocks, small in its inner modules, or all of it to be read at once."""


def bind(texts: Iterable[str], packing: str = FAST) -> bytes:
    """The bytes of a package, from the texts of its contents and takes."""
    head = ""
    chunks: list[tuple[str, str]] = []
    for text in texts:
        first, *parts = _CHUNK.split(text)
        head = head or first
        chunks += [(_name(part), part if part.endswith("\n") else part + "\n") for part in parts]
    blocks: list[tuple[list[str], bytes]] = []
    for dense, most, some in _sorted(_numbered(chunks), packing):
        waiting: list[tuple[str, str]] = []
        size = 0
        for name, part in some:
            waiting.append((name, part))
            size += len(part)
            if size >= most:
                blocks.append(_packed(waiting, dense=dense))
                waiting, size = [], 0
        if waiting:
            blocks.append(_packed(waiting, dense=dense))
    lines, at = [], 0
    for names, data in blocks:
        lines.append(f"{at} {len(data)} {' '.join(names)} ")
        at += len(data)
    directory = zlib.compress((head.rstrip("\n") + "\n\n" + "\n".join(lines) + "\n").encode(), 6)
    return MAGIC + len(directory).to_bytes(4, "big") + directory + b"".join(data for _, data in blocks)


def _numbered(chunks: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The chunks with the lines of all entries in pages, and their numbers in the entries."""
    entries = [(name, part.split("\n")) for name, part in chunks if name.startswith("@") and not name.startswith("@@")]
    table = number_lines([line for line in lines[1:] if line] for _, lines in entries)
    numbers = {line: number for number, line in enumerate(table)}
    pages = [
        (f"@@lines{at // PAGE}", f"lines{at // PAGE} \n" + "\n".join(table[at : at + PAGE]) + "\n") for at in range(0, len(table), PAGE)
    ]
    told = [(name, f"{lines[0]}\n{written(sorted(numbers[line] for line in lines[1:] if line))}\n") for name, lines in entries]
    return [*(one for one in chunks if one[0].startswith("@@") or not one[0].startswith("@")), *pages, *told]


def _sorted(chunks: list[tuple[str, str]], packing: str) -> Iterator[tuple[bool, int, list[tuple[str, str]]]]:
    """The chunks in their kinds of blocks: whether dense, of which size, and which."""
    if packing not in (SOLID, CLOSE):
        yield packing == SLOW, _DENSE_BLOCK if packing == SLOW else _BLOCK, chunks
        return
    inner = [one for one in chunks if not one[0].startswith("@") and one[0].count(".") > 1]
    yield packing == CLOSE, _BLOCK, [one for one in chunks if one[0].startswith("@") or one[0].count(".") <= 1]
    yield True, _SOLID_BLOCK, inner


def _name(part: str) -> str:
    """The name of a chunk: a module; ``@`` and the imports for an entry, ``@takes``."""
    kind, rest = part.split("\n", 1)[0].split(" ", 1)
    if kind == "module":
        return rest.split(" ", 1)[0]
    return " ".join(f"@{word}" for word in rest.split(" ")) if kind == "entry" else f"@@{kind}"


def _packed(chunks: list[tuple[str, str]], *, dense: bool) -> tuple[list[str], bytes]:
    text = "".join(part for _, part in chunks).encode()
    return [name for name, _ in chunks], lzma.compress(text, lzma.FORMAT_RAW, filters=_FILTERS) if dense else zlib.compress(text, 6)


class Bound:
    """A package that was bound.

    Raises:
        DamagedAtlasError: the bytes are not what ``bind`` made.
    """

    def __init__(self, data: bytes, place: str) -> None:
        self._place = place
        start = len(MAGIC) + 4
        length = int.from_bytes(data[len(MAGIC) : start], "big")
        if not data.startswith(MAGIC) or len(data) < start + length:
            raise self._damaged("another beginning")
        try:
            text = _inflate(data[start : start + length]).decode()
        except (zlib.error, UnicodeDecodeError, ValueError) as error:
            raise self._damaged(str(error)) from None
        self._data, self._start = data, start + length
        head, _, self._directory = text.partition("\n\n")
        self.volume = Volume(head, self.chunk)
        self._block = lru_cache(maxsize=256)(self._read)

    def _damaged(self, what: str) -> DamagedAtlasError:
        return DamagedAtlasError(
            self._place, found=f"a part of the atlas that cannot be read ({what})", expected="what envdoctor wrote",
            next_step="install envdoctor again, or delete the file where it is in the cache directory",
        )  # fmt: skip

    def names(self) -> list[str]:
        """The chunks."""
        return [name for line in self._directory.splitlines() for name in line.split(" ")[2:] if name]

    def chunk(self, name: str) -> str | None:
        """A chunk by its name; None where there is none."""
        at = self._directory.find(f" {name} ")
        if at < 0:
            return None
        line = self._directory[self._directory.rfind("\n", 0, at) + 1 : at + 1]
        place, length, _ = line.split(" ", 2)
        block = self._block(int(place), int(length))
        if name.startswith("@@"):
            start = 0 if block.startswith(f"{name[2:]} ") else block.find(f"\n{name[2:]} ") + 1 or -1
        elif name.startswith("@"):
            start = _entry_in(block, name[1:])
        else:
            start = 0 if block.startswith(f"module {name} ") else block.find(f"\nmodule {name} ") + 1
        if start < 0:
            raise self._damaged(f"{name} is not where it should be")
        end = _CHUNK.search(block, start + 1)
        return block[start : len(block) if end is None else end.start()]

    def modules(self, having: str, *, keep: bool = True) -> Iterator[tuple[str, str]]:
        """The modules in whose text a word stands, with their text, each block opened once, and ``keep`` says whether for longer."""
        read = self._block if keep else self._read
        for line in self._directory.splitlines():
            place, _, rest = line.strip().partition(" ")
            block = read(int(place), int(rest.partition(" ")[0])) if rest else ""
            if having in block:
                for text in _CHUNK.split(block):
                    if having in text and text.startswith("module "):
                        yield text[7:].partition("\n")[0].partition(" ")[0], text

    def _read(self, place: int, length: int) -> str:
        try:
            data = self._data[self._start + place : self._start + place + length]
            return (_inflate(data) if data.startswith(_ZLIB) else _unpack_dense(data)).decode()
        except (zlib.error, lzma.LZMAError, UnicodeDecodeError, ValueError) as error:
            raise self._damaged(str(error)) from None


def _entry_in(block: str, name: str) -> int:
    """Where the entry begins whose first line has a name among its words; -1 where none does."""
    for end in " \n":
        at = block.find(f" {name}{end}")
        while at >= 0:
            start = block.rfind("\n", 0, at) + 1
            if block.startswith("entry ", start):
                return start
            at = block.find(f" {name}{end}", at + 1)
    return -1


def _inflate(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    found = stream.decompress(data, _LARGEST)
    if not stream.eof:
        raise ValueError("cut off, or larger than any")
    return found


def _unpack_dense(data: bytes) -> bytes:
    stream = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS)
    found = stream.decompress(data, _LARGEST)
    if not stream.eof:
        raise ValueError("cut off, or larger than any")
    return found
