"""Quotes and variables, as a Dockerfile and a POSIX shell write them: what a word comes to."""

from __future__ import annotations

import re
from collections.abc import Callable

from envdoctor.sources.shell.marks import is_known, unknown
from envdoctor.sources.shell.parameters import change

Lookup = Callable[[str], "str | None"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(:[-+?=]|[-+?=]|##?|%%?|//?|:|\^\^?|,,?|)")
_INTERESTING = re.compile(r"[\\'\"`${}()]")
_SPECIAL = re.compile(r"[\\'\"`$]")
_ORDINARY = re.compile(r"[^\\'\"`$]+")
_SPACE = re.compile(r"[ \t\r\n]+")
_DEEPEST = 20
_LONGEST_VALUE = 65536


def text_of(raw: str, lookup: Lookup, escape: str = "\\", *, single_quotes: bool = True) -> str:
    """A word with quotes taken off and variables replaced, as Dockerfile instructions have it: never split.

    With ``single_quotes`` False they mean nothing, as in the body of a heredoc.
    """
    if not _SPECIAL.search(raw):
        return raw
    return "".join(_Expansion(raw, lookup, escape, of_shell=False, single_quotes=single_quotes).fields())


def fields_of(raw: str, lookup: Lookup) -> list[str]:
    """The words that a shell makes of one: unquoted values are split at blanks, and vanish where they are empty."""
    return _Expansion(raw, lookup, "\\", of_shell=True).fields() if _SPECIAL.search(raw) else [raw]


def assigned_of(raw: str, lookup: Lookup) -> str:
    """The text that a shell assigns or compares: one word, never split."""
    return "".join(_Expansion(raw, lookup, "\\", of_shell=True, split=False).fields())


class _Expansion:
    """One pass over one word."""

    def __init__(
        self, raw: str, lookup: Lookup, escape: str, *, of_shell: bool, split: bool = True, depth: int = 0, single_quotes: bool = True
    ) -> None:
        self.raw, self.lookup, self.escape, self.depth = raw, lookup, escape, depth
        self.of_shell, self.split, self.single_quotes = of_shell, split, single_quotes
        self.done: list[str] = []
        self.parts: list[str] = []
        self.open = False

    def fields(self) -> list[str]:
        at, double, end = 0, False, len(self.raw)
        while at < end:
            run = _ORDINARY.match(self.raw, at)
            if run:
                self._add(run[0])
                at = run.end()
                continue
            character = self.raw[at]
            if character == self.escape:
                at = self._escaped(at, double)
            elif character == "'" and not double and self.single_quotes:
                close = self.raw.find("'", at + 1)
                close = end if close < 0 else close
                self._add(self.raw[at + 1 : close])
                at = close + 1
            elif character == '"' and self.single_quotes:
                double, self.open, at = not double, True, at + 1
            elif character == "$":
                value, end_of = self._variable(at)
                whole = any(quote in self.raw[at:end_of] for quote in "\"'")
                at = end_of
                if double or whole or not (self.of_shell and self.split):
                    self._add(value)
                else:
                    self._split(value)
            elif character == "`" and self.of_shell:
                close = self.raw.find("`", at + 1)
                close = end if close < 0 else close
                self._add(unknown(f"({self.raw[at + 1 : close]})"))
                at = close + 1
            else:
                self._add(character)
                at += 1
        if self.open or not (self.of_shell and self.split):
            self.done.append("".join(self.parts))
        return self.done

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.open = True

    def _split(self, value: str) -> None:
        pieces = _SPACE.split(value)
        for number, piece in enumerate(pieces):
            if number and self.open:
                self.done.append("".join(self.parts))
                self.parts, self.open = [], False
            if piece:
                self._add(piece)

    def _escaped(self, at: int, quoted: bool) -> int:
        following = self.raw[at + 1 : at + 2]
        if following == "\n":
            return at + 2
        if quoted and following not in ('"', "$", "`", self.escape):
            self._add(self.escape + following)
        else:
            self._add(following or self.escape)
        return at + 2

    def _variable(self, at: int) -> tuple[str, int]:
        """The value of what begins with the dollar sign at ``at``, and where the rest goes on."""
        following = self.raw[at + 1 : at + 2]
        if following == "{":
            close = closing(self.raw, at + 1)
            if close is None:
                return unknown(self.raw[at + 1 :]), len(self.raw)
            return self._braced(self.raw[at + 2 : close]), close + 1
        if following == "(" and self.of_shell:
            close = closing(self.raw, at + 1)
            end = len(self.raw) if close is None else close + 1
            return unknown(self.raw[at + 1 : end]), end
        name = _NAME.match(self.raw, at + 1)
        if name:
            return self._value(name[0]), name.end()
        if self.of_shell and following and following in "@*#?$!-0123456789":
            return unknown(following), at + 2
        return "$", at + 1

    def _value(self, name: str) -> str:
        value = self.lookup(name)
        return unknown(name) if value is None else value

    def _braced(self, inner: str) -> str:
        found = _BRACED.match(inner)
        if found is None or self.depth >= _DEEPEST or len(inner) > _LONGEST_VALUE:
            return unknown(f"{{{inner}}}")
        name, operator, rest = found[1], found[2], inner[found.end() :]
        value = self.lookup(name)
        if not operator:
            return unknown(name) if rest or value is None else value
        kind = operator[-1]
        if kind in "-=":
            missing = not value if operator.startswith(":") else value is None
            return self._word(rest) if missing else value or ""
        if kind == "+":
            there = bool(value) if operator.startswith(":") else value is not None
            return self._word(rest) if there else ""
        if value is None:
            return unknown(name)
        if kind == "?":
            return value
        changed = change(value, operator, self._word(rest)) if is_known(value) else None
        return unknown(f"{{{inner}}}") if changed is None else changed

    def _word(self, raw: str) -> str:
        nested = _Expansion(raw, self.lookup, self.escape, of_shell=self.of_shell, split=False, depth=self.depth + 1)
        text = "".join(nested.fields())
        return text if len(text) <= _LONGEST_VALUE else unknown("too long")


def bounded(value: str) -> str | None:
    """A value that a variable may hold; None for one that grew beyond all reason."""
    return value if len(value) <= _LONGEST_VALUE else None


def closing(text: str, at: int) -> int | None:
    """Where the brace or parenthesis that opens at ``at`` is closed again; None where it is not."""
    opener = text[at]
    closer = {"{": "}", "(": ")"}[opener]
    depth, position, double = 0, at, False
    while True:
        found = _INTERESTING.search(text, position)
        if found is None:
            return None
        character, position = found[0], found.end()
        if character == "\\":
            position += 1
        elif character == '"':
            double = not double
        elif character == "'" and not double:
            position = text.find("'", position) + 1
            if not position:
                return None
        elif character == opener:
            depth += 1
        elif character == closer:
            depth -= 1
            if not depth:
                return position - 1
