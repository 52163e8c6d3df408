"""Where every member of the objects of a JSON text stands: for the lines that findings name, and for edits that move nothing else."""

from __future__ import annotations

import json
import re
from bisect import bisect_right

from envdoctor.records import dataclass

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


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
    waits: bool = False


def json_members(text: str) -> list[Member]:
    """The members of the outermost object of a JSON text; none of any other. The text is JSON: this is not checked."""
    root: list[Member] = []
    stack: list[_Open] = []
    for token in TOKEN.finditer(text):
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
    if "\\" not in key:
        return key[1:-1]
    try:
        return str(json.loads(key))
    except ValueError:
        return key


def key_lines(text: str, depth: int, most: int | None = None) -> dict[tuple[str, ...], int]:
    """The line, from 1, of every key of the objects of a JSON text, by its path; of two of one name the last, which counts.

    Objects in lists have no path. No path is longer than ``depth``, and none is told after ``most`` of them.
    """
    newlines = [match.start() for match in re.finditer("\n", text)]
    found: dict[tuple[str, ...], int] = {}

    def below(members: list[Member], path: tuple[str, ...]) -> None:
        for member in members:
            if most is not None and len(found) >= most:
                return
            inner = (*path, member.key)
            found[inner] = bisect_right(newlines, member.start) + 1
            if member.members and len(inner) < depth:
                below(member.members, inner)

    below(json_members(text), ())
    return found
