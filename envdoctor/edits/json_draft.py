"""Edits of a JSON text by the places of its members: a value set, a member added; all other bytes stay."""

from __future__ import annotations

import json
import re

from envdoctor.edits.draft import Draft
from envdoctor.edits.edit import RefusedError
from envdoctor.files.json_spans import TOKEN, Member


def member(members: list[Member], key: str) -> Member | None:
    """The member of a name.

    Raises:
        RefusedError: there are two.
    """
    found = [each for each in members if each.key == key]
    if len(found) > 1:
        raise RefusedError(f"{key} stands there twice")
    return found[0] if found else None


def set_value(draft: Draft, place: Member, value: object) -> None:
    draft.replace(place.value, place.end, json.dumps(value, ensure_ascii=False))


def add_member(draft: Draft, members: list[Member], key: str, value: object, after: tuple[str, ...]) -> None:
    """Add a member behind the first of the named ones that is there, else behind the last, spaced as that one is.

    Raises:
        RefusedError: the object is empty.
    """
    if not members:
        raise RefusedError("an empty object; add the setting by hand")
    named = [each for name in after for each in members if each.key == name]
    beside = (named or members[-1:])[0]
    text = draft.text
    gap = re.search(r"\s*\Z", text[: beside.start])
    space = gap[0] if gap else ""
    colon = text[text.index(":", _key_end(text, beside.start)) : beside.value]
    step = _step(space, text, members)
    told = json.dumps(value, ensure_ascii=False, indent=step if isinstance(value, dict) and step else None)
    indent = space.rpartition("\n")[2]
    told = told.replace("\n", f"{draft.newline}{indent}")
    if colon.strip() != ":":
        colon = ": "
    draft.replace(beside.end, beside.end, f",{space}{json.dumps(key)}{colon}{told}")


def _key_end(text: str, start: int) -> int:
    match = TOKEN.match(text, start)
    return match.end() if match else start


def _step(space: str, text: str, members: list[Member]) -> str:
    """By how much members of an object inside are set in further; nothing where members are not one a line."""
    if "\n" not in space:
        return ""
    own = space.rpartition("\n")[2]
    for each in members:
        for inner in each.members or ():
            line = text[text.rfind("\n", 0, inner.start) + 1 : inner.start]
            if not line.strip() and line.startswith(own) and len(line) > len(own):
                return line[len(own) :]
    return own or "  "
