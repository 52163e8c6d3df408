"""The tests of a shell, ``[`` and ``[[``, on texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from envdoctor.sources.shell.marks import is_known

_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_MOST_STARS = 3
_LONGEST_TEST = 100


def truth(words: list[str], *, patterns: bool) -> bool | None:
    """What ``[`` and ``[[`` say of texts that are known; None for questions about files, and for what is not known."""
    if len(words) > _LONGEST_TEST:
        return None
    for joiner, whole in (("||", any), ("-o", any), ("&&", all), ("-a", all)):
        if joiner in words and len(words) > 3:
            at = words.index(joiner)
            parts = (truth(words[:at], patterns=patterns), truth(words[at + 1 :], patterns=patterns))
            decisive = whole is any
            if decisive in parts:
                return decisive
            return None if None in parts else not decisive
    if words[:1] == ["!"]:
        status = truth(words[1:], patterns=patterns)
        return None if status is None else not status
    if not all(map(is_known, words)):
        return None
    if len(words) == 1:
        return bool(words[0])
    if len(words) == 2 and words[0] in ("-n", "-z"):
        return bool(words[1]) is (words[0] == "-n")
    if len(words) == 3:
        return _compared(words[0], words[1], words[2], patterns=patterns)
    return None


def _compared(left: str, operator: str, right: str, *, patterns: bool) -> bool | None:
    if operator in ("=", "==", "!="):
        if patterns and right.count("*") > _MOST_STARS:
            return None
        same = fnmatchcase(left, right) if patterns else left == right
        return same is (operator != "!=")
    if operator in _NUMBERS and _INTEGER.fullmatch(left) and _INTEGER.fullmatch(right):
        return _NUMBERS[operator](int(left), int(right))
    return None
