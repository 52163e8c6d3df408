"""When the functions of a package changed, as it is looked up: the text of ``survey.bodies``, compressed whole."""

from __future__ import annotations

import lzma

from envdoctor.atlas.volume import DamagedAtlasError

MAGIC = b"envdoctor-changes 1\n"
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 4, "pb": 0}]
_LARGEST = 32 * 2**20


def bind_changes(text: str) -> bytes:
    """The bytes of a package's text."""
    return MAGIC + lzma.compress(text.encode(), lzma.FORMAT_XZ, lzma.CHECK_CRC32, filters=_FILTERS)


class Changes:
    """The changes of a package's functions, of their text."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def unpack(cls, data: bytes, place: str) -> Changes:
        """Those that ``bind_changes`` made bytes of.

        Raises:
            DamagedAtlasError: the bytes are none of these.
        """
        packed = lzma.LZMADecompressor(lzma.FORMAT_XZ)
        try:
            text = packed.decompress(data[len(MAGIC) :], _LARGEST).decode()
        except (lzma.LZMAError, UnicodeDecodeError):
            text = ""
        if not (data.startswith(MAGIC) and packed.eof):
            raise DamagedAtlasError(
                place, found="changes of functions that cannot be read", expected="what envdoctor wrote",
                next_step="install envdoctor again",
            )  # fmt: skip
        return cls(text)

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that were read, oldest first."""
        start = self._text.find("\nread ") + 6
        return tuple(self._text[start : self._text.find("\n", start)].split())

    def of(self, module: str, function: str) -> dict[str, tuple[str, ...]]:
        """The functions and methods of a module with this last name, and the releases in which each is another than in the one before;
        none for one that never changed."""
        start = self._text.find(f"\nin {module}\n")
        if start < 0:
            return {}
        end = self._text.find("\nin ", start + 1)
        found = {}
        for line in self._text[start + 1 : end if end > 0 else None].split("\n")[1:]:
            name, _, releases = line.partition(" ")
            if name.rpartition(".")[2] == function:
                found[name] = tuple(releases.split())
        return found
