"""Edits of a JSON text by the places of its members: a value set, a member added; all other bytes stay."""

from __future__ import annotations

import json
import re

from envdoctor.edits.draft import Draft
from envdoctor.edits.specifier import RefusedError
from envdoctor.records import dataclass, field

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(slots=True)
class Member:
    """A member of an object: where its key begins and its value begins and ends; ``members`` are those of a value that is an object."""

    key: str
    start: int
    value: int
    end: int = 0
    members: list[Member] | None = None


@dataclass(slots=True)
class _Open:
    members: list[Member] | None
    owner: Member | None
    key: str = ""
    at: int = 0
    waits: bool = field(default=False)


def json_members(text: str) -> list[Member]:
    """The members of the outermost object of a JSON text; none of any other. The text is JSON: this is not checked."""
    root: list[Member] = []
    stack: list[_Open] = []
    for token in _TOKEN.finditer(text):
        word, above = token[0], stack[-1] if stack else None
        if word == ":" and above is not None:
            above.waits = True
        elif word == "," and above is not None:
            above.waits = False
        elif word in "}]" and above is not None:
            stack.pop()
            if above.owner is not None:
                above.owner.end = token.end()
        elif above is not None and above.members is not None and not above.waits:
            above.key, above.at = word, token.start()
        else:
            member = None
            if above is not None and above.members is not None:
                member = Member(_text(above.key), above.at, token.start(), token.end())
                above.members.append(member)
            if word in ("{", "["):
                inner: list[Member] | None = None
                if word == "{":
                    inner = root if above is None else []
                if member is not None:
                    member.members = inner
                stack.append(_Open(inner, member))
    return root


def _text(key: str) -> str:
    try:
        return str(json.loads(key))
    except ValueError:
        return key


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
    match = _TOKEN.match(text, start)
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


__all__ = ["Member", "add_member", "json_members", "member", "set_value"]
