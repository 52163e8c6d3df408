"""What a tokenizer's files say of single tokens: the id of a text, and whether a text is a token at all.

No tokenizer is built. The vocabularies are searched as bytes, which takes milliseconds where parsing them takes tenths of a second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from envdoctor.records import dataclass, field
from envdoctor.sources.model.model_directory import ModelDirectory, is_lfs_pointer
from envdoctor.sources.model.snapshot import Snapshot

_VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt")
_VOCABULARY_LIMIT = 64 * 2**20
_PROCESSOR = re.compile(rb'"post_processor"\s*:\s*(?=\{)')
_ADDED = re.compile(rb'"added_tokens"\s*:\s*(?=\[)')
_HEAD = 2**20
_MOST_ID = 2**31
# Gemma has some 6,000 added tokens; nothing is said of a tokenizer that has ten times as many.
_MOST_ADDED = 60_000
_ROLES = ("bos_token", "eos_token", "pad_token", "unk_token")


@dataclass(slots=True)
class TokenTable:
    """``added`` are the ids of the added tokens by their text; a text of two ids is in none of them.

    ``roles`` are the texts of bos_token, eos_token, pad_token and unk_token, None where a file says null; a role that
    no file names, or that two files name differently, is missing. ``declared`` are the texts that any file calls special;
    ``uncertain`` says that there may be more tokens than the files tell.
    """

    directory: ModelDirectory
    added: Mapping[str, int]
    roles: Mapping[str, str | None]
    declared: frozenset[str]
    uncertain: bool
    _vocabularies: tuple[bytes, ...] | None = field(default=None)
    _head: Mapping[str, int] | None = field(default=None)

    def id_of(self, text: str | None) -> int | None:
        """The id of an added token, or None where the files do not tell it."""
        if text is None:
            return None
        known = self.added.get(text)
        return known if known is not None else self._added_in_head().get(text)

    def all_added(self) -> Mapping[str, int]:
        """The added tokens; transformers 5 saves them in tokenizer.json alone."""
        return self.added or self._added_in_head()

    def first_added(self) -> str | None:
        """The token that tokenizer.json puts before every text: the template of its post-processor, which stands before the vocabulary."""
        path = self.directory.locate("tokenizer.json") if "tokenizer.json" in self.directory.names else None
        found = None if path is None else _after(path, _PROCESSOR)
        steps = found.get("processors", [found]) if isinstance(found, dict) else []
        for step in steps if isinstance(steps, list) else []:
            single = step.get("single") if isinstance(step, dict) else None
            first = single[0] if isinstance(single, list) and single else None
            token = first.get("SpecialToken") if isinstance(first, dict) else None
            if isinstance(token, dict) and isinstance(token.get("id"), str):
                return str(token["id"])
        return None

    def role_id(self, role: str) -> int | None:
        return self.id_of(self.roles.get(role))

    def lacks(self, text: str) -> bool:
        """Whether the files prove that a text is no single token.

        It is in no list of added tokens, and in none of the vocabularies, all of which were read. Code of the
        snapshot may add tokens (``uncertain``): nothing is proven then.
        """
        if self.uncertain or text in self.added or text in self.declared:
            return False
        spellings = {text.encode(), json.dumps(text)[1:-1].encode()}
        vocabularies = self._read_vocabularies()
        if not vocabularies or any(escape in data for data in vocabularies for escape in (b"\\u003c", b"\\u003C")):
            return False
        return not any(spelling in data for data in vocabularies for spelling in spellings)

    def _read_vocabularies(self) -> tuple[bytes, ...]:
        """The bytes of every vocabulary, or none at all where one of them is there and could not be read."""
        if self._vocabularies is None:
            names = [name for name in sorted(self.directory.names) if name in _VOCABULARIES or name.endswith((".model", ".tiktoken"))]
            read = [None if name.endswith(".tiktoken") else self._read(name) for name in names]
            self._vocabularies = tuple(data for data in read if data is not None) if None not in read else ()
        return self._vocabularies

    def _read(self, name: str) -> bytes | None:
        skips = self.directory.skips
        data = self.directory.read(name, _VOCABULARY_LIMIT)
        if data is None and skips and skips[-1] in skips[:-1]:
            skips.pop()
        return None if data is not None and is_lfs_pointer(data) else data

    def _added_in_head(self) -> Mapping[str, int]:
        """The added tokens of tokenizer.json, which stand before its vocabulary."""
        if self._head is None:
            path = self.directory.locate("tokenizer.json") if "tokenizer.json" in self.directory.names else None
            self._head = {} if path is None else _added_tokens(path)
        return self._head


def read_tokens(snapshot: Snapshot) -> TokenTable:
    """The tokens that tokenizer_config.json, special_tokens_map.json and added_tokens.json name."""
    config, special = snapshot.table("tokenizer_config.json"), snapshot.table("special_tokens_map.json")
    listed, more = _items(config.get("added_tokens_decoder")), _items(snapshot.table("added_tokens.json"))
    too_many = len(listed) + len(more) > _MOST_ADDED
    pairs = [] if too_many else [*((text_of(entry), _id(key)) for key, entry in listed), *((text, _id(number)) for text, number in more)]
    declared = {text for table in (config, special) for key, value in table.items() if key.endswith(_DECLARING) for text in _texts(value)}
    return TokenTable(
        snapshot.directory,
        _without_contradictions(pairs),
        _roles(config, special),
        frozenset(declared),
        too_many or bool(config.get("auto_map")) or _has_tokenizer(snapshot.table("config.json").get("auto_map")),
    )


_DECLARING = ("_token", "special_tokens")


def _has_tokenizer(auto_map: object) -> bool:
    return isinstance(auto_map, dict) and "AutoTokenizer" in auto_map


def text_of(entry: object) -> str | None:
    """A token's text, which the files give as it is or inside a table."""
    if isinstance(entry, dict):
        entry = entry.get("content")
    return entry if isinstance(entry, str) else None


def _texts(value: object) -> list[str]:
    entries = value if isinstance(value, list) else value.values() if isinstance(value, dict) and "content" not in value else [value]
    return [text for text in map(text_of, entries) if text is not None]


def _items(value: object) -> list[tuple[str, object]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def _id(value: object) -> int | None:
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdecimal() and len(value) <= 10 else None
    return value if type(value) is int and 0 <= value < _MOST_ID else None


def _without_contradictions(pairs: list[tuple[str | None, int | None]]) -> dict[str, int]:
    found: dict[str, int] = {}
    twice: set[str] = set()
    for text, number in pairs:
        if text is None or number is None:
            continue
        if found.setdefault(text, number) != number:
            twice.add(text)
    return {text: number for text, number in found.items() if text not in twice}


def _roles(config: Mapping[str, object], special: Mapping[str, object]) -> dict[str, str | None]:
    roles: dict[str, str | None] = {}
    for role in _ROLES:
        said = {text_of(table[role]) for table in (config, special) if role in table}
        named = said - {None}
        if len(named) == 1:
            roles[role] = named.pop()
        elif said == {None}:
            roles[role] = None
    return roles


def _added_tokens(path: str) -> dict[str, int]:
    """The list of added tokens at the head of a tokenizer.json, which may be tens of megabytes long."""
    tokens = _after(path, _ADDED)
    if not isinstance(tokens, list):
        return {}
    return _without_contradictions([(text_of(token), _id(token.get("id"))) for token in tokens if isinstance(token, dict)])


def _after(path: str, key: re.Pattern[bytes]) -> object:
    """The value behind a key at the head of a file; None where it is not there whole."""
    try:
        with open(path, "rb") as stream:
            head = stream.read(_HEAD)
    except OSError:
        return None
    start = key.search(head)
    if start is None:
        return None
    try:
        return json.JSONDecoder().raw_decode(head[start.end() :].decode("utf-8", "replace"))[0]
    except (ValueError, RecursionError):
        return None
