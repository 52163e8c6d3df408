"""Where brackets of a shell are closed, past quotes, comments and brackets in between."""

from __future__ import annotations

import re

_INTERESTING = re.compile(r"[\\'\"$#}()]")


def closing(text: str, at: int, *, quoted: bool = False) -> int | None:
    """Where the brace or parenthesis that opens at ``at`` is closed again; None where it is not.

    ``quoted`` says that it stands in double quotes, where a single one means nothing to ``${...}``.
    """
    opened = ['"', text[at]] if quoted else [text[at]]
    outside, position = len(opened) - 1, at + 1
    while found := _INTERESTING.search(text, position):
        character, position, inner = found[0], found.end(), opened[-1]
        if character == "\\":
            position += 1
        elif character == "$":
            if text.startswith(("{", "("), position):
                opened.append(text[position])
                position += 1
        elif character == '"':
            if inner == '"':
                opened.pop()
            else:
                opened.append(character)
        elif inner == '"':
            continue
        elif character == "'":
            if inner == "(" or opened[-2:-1] != ['"']:
                position = text.find("'", position) + 1
                if not position:
                    return None
        elif character == "#":
            if inner == "(" and text[position - 2] in " \t\n":
                end = text.find("\n", position)
                if end < 0:
                    return None
                position = end
        elif character == "(" and inner == "(":
            opened.append(character)
        elif (inner, character) in (("(", ")"), ("{", "}")):
            opened.pop()
            if len(opened) == outside:
                return position - 1
    return None
