"""The fields of a JSON file, each on one line, so that two versions can be compared without the old file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from envdoctor.files.json_file import JsonError, parse_json
from envdoctor.records import dataclass
from envdoctor.snapshot.tensors import short_digest

WHOLE = "*"
"""The name of the digest of all fields together: equal ones mean the same object, however it is laid out."""

MOST_FIELDS = 512
_LONGEST = 240
# Inside a file, an object of more entries is one value, known by its digest; where they are mere texts and numbers (a vocabulary,
# a weight map) there are fewer.
_MOST_KEYS = 300
_MOST_SCALARS = 48
_DEEPEST = 6
# Every value costs some 100 bytes of memory, in a file of which it may be two.
_MOST_VALUES = 1_000_000
# Whole numbers that a float may not hold are compared as they are written.
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs; None where the file of that side has no such field."""

    name: str
    before: str | None
    after: str | None


def fields_of(data: bytes) -> dict[str, str] | None:
    """The fields of a JSON object by their dotted names, values as JSON; None for bytes that are no JSON object, or nested too deeply.

    A value too long to read is a digest with its length. The more fields there are, the fewer levels are told apart.
    """
    if sum(map(data.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        return None
    try:
        value = parse_json(data).value
    except JsonError:
        return None
    try:
        return _outline(value) if isinstance(value, dict) else None
    except RecursionError:  # some releases of Python read deeper than they write
        return None


def _outline(value: dict[str, object]) -> dict[str, str]:
    whole = {WHOLE: f"sha256:{short_digest(json.dumps(value, sort_keys=True).encode())}"}
    for depth in range(_DEEPEST if len(value) <= MOST_FIELDS else 0, 0, -1):
        found: dict[str, str] = dict(whole)
        for name, text in _flat(value, "", depth):
            found[name] = text
            if len(found) > MOST_FIELDS:
                break
        else:
            return found
    return whole


def _flat(value: object, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    inner = _by_id(value)
    if inner is None and isinstance(value, dict) and value and (not prefix or _apart(value)):
        inner = {f".{_key(key)}": item for key, item in value.items()}
    if inner is None or depth == 0:
        yield prefix.removeprefix("."), _told(value)
        return
    for key, item in inner.items():
        yield from _flat(item, prefix + key, depth - 1)


def _apart(value: dict[str, object]) -> bool:
    """Whether the entries of an inner object are worth a line each."""
    if len(value) <= _MOST_SCALARS:
        return True
    return len(value) <= _MOST_KEYS and any(isinstance(item, (dict, list)) for item in value.values())


def _by_id(value: object) -> dict[str, object] | None:
    """The added tokens of tokenizer.json: a list of objects, told apart by their ids."""
    if not isinstance(value, list) or not 0 < len(value) <= _MOST_KEYS:
        return None
    ids = [item.get("id") for item in value if isinstance(item, dict)]
    if len(ids) < len(value) or not all(type(one) is int and abs(one) < 2**63 for one in ids) or len(set(ids)) < len(ids):
        return None
    return {f"[{one}]": item for one, item in zip(ids, value, strict=True)}


def _key(key: str) -> str:
    if key.isidentifier():
        return key
    for special in ("\\", ".", "[", "*"):
        key = key.replace(special, f"\\{special}")
    return key.encode("utf-8", "backslashreplace").decode("utf-8")


def _told(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(value)
        data = text.encode("ascii")
    if len(text) <= _LONGEST:
        return text
    size = f"{len(value)} entries" if isinstance(value, (dict, list)) else f"{len(text)} characters"
    return f"sha256:{short_digest(data)} ({size})"


def compare_fields(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[FieldChange, ...]:
    """What differs, in the order of the names."""
    names = sorted((before.keys() | after.keys()) - {WHOLE})
    return tuple(FieldChange(name, before.get(name), after.get(name)) for name in names if not _equal(before.get(name), after.get(name)))


def _equal(before: str | None, after: str | None) -> bool:
    """Whether two values are the same, numbers by what they count: 1000000.0 and 1000000."""
    if before == after or before is None or after is None:
        return before == after
    return bool(_NUMBER.fullmatch(before) and _NUMBER.fullmatch(after)) and float(before) == float(after)
