"""What ``${NAME%.*}`` and its kin make of a value."""

from __future__ import annotations

import re
from fnmatch import translate

from envdoctor.sources.shell.marks import is_known

_SUBSTRING = re.compile(r"\s*([0-9]{1,4})(?:\s*:\s*([0-9]{1,4}))?\s*")
_LONGEST_MATCHED = 256
_MOST_STARS = 3


def change(value: str, operator: str, word: str) -> str | None:
    """A value with a part taken off, replaced or cut out; None where that is beyond us."""
    if operator in ("^", "^^", ",", ",,"):
        case = str.upper if operator[0] == "^" else str.lower
        return None if word else case(value) if len(operator) == 2 else case(value[:1]) + value[1:]
    if operator == ":":
        cut = _SUBSTRING.fullmatch(word)
        return None if cut is None else value[int(cut[1]) :][: int(cut[2]) if cut[2] else None]
    if len(value) > _LONGEST_MATCHED or len(word) > _LONGEST_MATCHED or not is_known(word) or word.count("*") > _MOST_STARS:
        return None
    if operator in ("/", "//"):
        pattern, _, replacement = word.partition("/")
        if any(character in pattern for character in "*?["):
            return None
        return value.replace(pattern, replacement, 1 if operator == "/" else -1) if pattern else value
    matches = re.compile(translate(word)).match
    lengths = range(len(value) + 1)
    if operator in ("#", "##"):
        fitting = [value[n:] for n in lengths if matches(value[:n])]
    else:
        fitting = [value[: len(value) - n] for n in lengths if matches(value[len(value) - n :])]
    if not fitting:
        return value
    return fitting[0] if len(operator) == 1 else fitting[-1]
