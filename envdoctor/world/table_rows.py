"""The packages of a table, each read where somebody asks for it: there are a thousand, and a run is about fifty."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

# As refreshing writes them: a package begins a line of two spaces, and what it has stands deeper.
_BEGINS = b'\n  "'
_ENDS = b"}\n }\n}"
_DECODER = json.JSONDecoder()


class Rows(Mapping[str, Mapping[str, object]]):
    """Packages by normalised name, in the form in which tables are written.

    What is asked for and is no JSON raises ``ValueError``; a table of the user's is held against its checksum before.
    """

    def __init__(self, blocks: list[bytes]) -> None:
        self._blocks = {block[: block.index(b'"')].decode(): block for block in blocks}
        self._read: dict[str, Mapping[str, object]] = {}

    def __getitem__(self, name: str) -> Mapping[str, object]:
        found = self._read.get(name)
        if found is None:
            block = self._blocks[name].decode()
            entry, _ = _DECODER.raw_decode(block, block.index("{"))
            found = self._read[name] = entry
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._blocks)

    def __len__(self) -> int:
        return len(self._blocks)


def split_table(data: bytes) -> tuple[dict[str, object], Rows] | None:
    """What stands before the packages of a table, and the packages; None of a table that is written in some other form."""
    head, *blocks = data.split(_BEGINS)
    if not blocks or not data.rstrip().endswith(_ENDS) or not all(b'": {' in block for block in blocks):
        return None
    try:
        content = json.loads(head + b"}}")
    except ValueError:
        return None
    return (content, Rows(blocks)) if isinstance(content, dict) and content.get("packages") == {} else None
