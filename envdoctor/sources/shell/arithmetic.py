"""Sums of whole numbers and variables, as ``$((...))`` and ``expr`` compute them."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from envdoctor.records import dataclass

_TOKEN = re.compile(r"\s*(?:([0-9]{1,12})|\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?|\\?([-+*/%()]))")
_SIGNS: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_LONGEST = 100


def total(text: str, number: Callable[[str], str]) -> int | None:
    """What a sum comes to; ``number`` gives the text of a variable. None where it is not known, or no such sum."""
    if len(text) > _LONGEST:
        return None
    tokens: list[str] = []
    at = 0
    while at < len(text.rstrip()):
        found = _TOKEN.match(text, at)
        if found is None:
            return None
        digits, name, sign = found.groups()
        if name is not None:
            digits = number(name)
            if not digits.isascii() or not digits.isdigit() or len(digits) > 12:
                return None
        tokens.append(digits or sign)
        at = found.end()
    return _Sum(tokens).total()


@dataclass(slots=True)
class _Sum:
    tokens: list[str]
    at: int = 0

    def total(self) -> int | None:
        value = self._terms()
        return value if self.at == len(self.tokens) else None

    def _next(self, *signs: str) -> str | None:
        if self.at < len(self.tokens) and self.tokens[self.at] in signs:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def _terms(self) -> int | None:
        value = self._factors()
        while value is not None and (sign := self._next("+", "-")):
            other = self._factors()
            value = None if other is None else _SIGNS[sign](value, other)
        return value

    def _factors(self) -> int | None:
        value = self._atom()
        while value is not None and (sign := self._next("*", "/", "%")):
            other = self._atom()
            if other is None or (sign != "*" and other <= 0) or value < 0:
                return None
            value = value * other if sign == "*" else value // other if sign == "/" else value % other
        return value

    def _atom(self) -> int | None:
        if self._next("("):
            value = self._terms()
            return value if self._next(")") else None
        if self.at < len(self.tokens) and self.tokens[self.at].isdigit():
            self.at += 1
            return int(self.tokens[self.at - 1])
        return None
