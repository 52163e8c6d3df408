"""Quotes and variables, as a Dockerfile and a POSIX shell write them: what a word comes to."""

from __future__ import annotations

import re
from collections.abc import Callable

from envdoctor.records import dataclass
from envdoctor.sources.shell.arithmetic import total
from envdoctor.sources.shell.brackets import closing
from envdoctor.sources.shell.marks import MARKED, OPENING, is_known, unknown
from envdoctor.sources.shell.parameters import change
from envdoctor.sources.shell.text import Argument

Lookup = Callable[[str], "str | None"]
Items = tuple[Argument, ...]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]{1,4}|[@*])(?:\[([@*]|[0-9]{1,4})\])?(:[-+?=]|[-+?=]|##?|%%?|//?|:|\^\^?|,,?|)")
_SPECIAL = re.compile(r"[\\'\"`$]")
_ORDINARY = re.compile(rf"(?:[^\\'\"`${OPENING}]+|{MARKED})+")
_SPACE = re.compile(r"[ \t\r\n]+")
# A $'...', in which a backslash has a meaning of its own.
ANSI_QUOTED = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ANSI = re.compile(r"\\(.)", re.DOTALL)
_ANSI_MEANS = {"n": "\n", "t": "\t", "r": "\r"}
_DEEPEST = 20
_LONGEST_VALUE = 65536


def _nothing(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Scope:
    """What the variables of a script hold when one of its words is expanded.

    ``variable`` gives the items of one, a single one where it is no array, and None where it is not set; an item without a line stands
    where the word stands. ``output`` gives what a command prints, where that can be told. ``called`` says that whoever starts the
    script may set what the script itself does not: then ``${1:-x}`` is x, as its author has it, and of ``${1:+x}`` nothing is known.
    """

    variable: Callable[[str], Items | None]
    output: Lookup = _nothing
    called: bool = False


def _scope(lookup: Scope | Lookup) -> Scope:
    if isinstance(lookup, Scope):
        return lookup

    def variable(name: str) -> Items | None:
        value = lookup(name)
        return None if value is None else (Argument(value, 0),)

    return Scope(variable)


def text_of(raw: str, lookup: Scope | Lookup, escape: str = "\\", *, single_quotes: bool = True) -> str:
    """A word with quotes taken off and variables replaced, as Dockerfile instructions have it: never split.

    With ``single_quotes`` False they mean nothing, as in the body of a heredoc.
    """
    if not _SPECIAL.search(raw):
        return raw
    return _Expansion(raw, _scope(lookup), escape, of_shell=False, split=False, single_quotes=single_quotes).text()


def fields_of(raw: str, lookup: Scope | Lookup) -> list[str]:
    """The words that a shell makes of one: unquoted values are split at blanks, and vanish where they are empty."""
    plain = _SPECIAL.search(raw) is None and not raw.startswith(("<(", ">("))
    return [raw] if plain else [argument.text for argument in arguments_of(raw, 0, lookup)]


def arguments_of(raw: str, line: int, lookup: Scope | Lookup) -> list[Argument]:
    """The words that a shell makes of one, each with the line that it was written on: its own, or that of the array that held it."""
    if raw.startswith(("<(", ">(")):
        return [Argument(unknown(raw[1:]), line)]
    return _Expansion(raw, _scope(lookup), "\\", of_shell=True, line=line).fields() if _SPECIAL.search(raw) else [Argument(raw, line)]


def assigned_of(raw: str, lookup: Scope | Lookup) -> str:
    """The text that a shell assigns or compares: one word, never split."""
    return _Expansion(raw, _scope(lookup), "\\", of_shell=True, split=False).text()


class _Expansion:
    """One pass over one word."""

    def __init__(
        self,
        raw: str,
        scope: Scope,
        escape: str,
        *,
        of_shell: bool,
        split: bool = True,
        depth: int = 0,
        single_quotes: bool = True,
        line: int = 0,
    ) -> None:
        self.raw, self.scope, self.escape, self.depth = raw, scope, escape, depth
        self.of_shell, self.split, self.single_quotes = of_shell, split, single_quotes
        self.line = line
        self.done: list[Argument] = []
        self.parts: list[str] = []
        # Whether a field has begun, and whether the quotes at hand hold an array without items, which makes no field.
        self.open, self.empty = False, False

    def text(self) -> str:
        return "".join(argument.text for argument in self.fields())

    def fields(self) -> list[Argument]:
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
                self.open, self.empty = self.open or (double and not self.empty), False
                double, at = not double, at + 1
            elif character == "$" and not double and self.of_shell and (quoted := ANSI_QUOTED.match(self.raw, at)):
                self._add(_ANSI.sub(lambda found: _ANSI_MEANS.get(found[1], found[1]), quoted[1]))
                at = quoted.end()
            elif character == "$":
                items, each, end_of = self._variable(at, double)
                self._put(items, each=each, quoted=double or any(quote in self.raw[at:end_of] for quote in "\"'"))
                at = end_of
            elif character == "`" and self.of_shell:
                close = self.raw.find("`", at + 1)
                close = end if close < 0 else close
                self._add(self._output(self.raw[at + 1 : close]))
                at = close + 1
            else:
                self._add(character)
                at += 1
        if self.open or double or not self.split:
            self._close()
        return self.done

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.open = True

    def _close(self) -> None:
        self.done.append(Argument("".join(self.parts), self.line))
        self.parts, self.open = [], False

    def _put(self, items: Items, *, each: bool, quoted: bool) -> None:
        """Add a value: as it is, every item a field of its own, or split at blanks."""
        if not self.split or (quoted and not each):
            self._add(_joined(items))
        elif quoted:
            self.empty = not items
            for number, item in enumerate(items):
                if number:
                    self._close()
                self.line = item.line or self.line
                self._add(item.text)
        else:
            self._split(items)

    def _split(self, items: Items) -> None:
        pieces = [Argument(piece, item.line) for item in items for piece in _SPACE.split(item.text)]
        many = sum(bool(piece.text) for piece in pieces) > 1
        for number, piece in enumerate(pieces):
            if number and self.open:
                self._close()
            if piece.text:
                self.line = (piece.line if many else 0) or self.line
                self._add(piece.text)

    def _escaped(self, at: int, quoted: bool) -> int:
        following = self.raw[at + 1 : at + 2]
        if following == "\n":
            return at + 2
        if quoted and following not in ('"', "$", "`", self.escape):
            self._add(self.escape + following)
        else:
            self._add(following or self.escape)
        return at + 2

    def _variable(self, at: int, quoted: bool) -> tuple[Items, bool, int]:
        """The items of what begins with the dollar sign at ``at``, whether they are words of their own, and where the rest goes on."""
        following = self.raw[at + 1 : at + 2]
        if following == "{":
            close = closing(self.raw, at + 1, quoted=quoted)
            if close is None:
                return _one(unknown(self.raw[at + 1 :])), False, len(self.raw)
            return *self._braced(self.raw[at + 2 : close]), close + 1
        if following == "(" and self.of_shell:
            close = closing(self.raw, at + 1, quoted=quoted)
            end = len(self.raw) if close is None else close + 1
            return _one(self._output(self.raw[at + 2 : end - 1]) if close else unknown(self.raw[at + 1 :])), False, end
        name = _NAME.match(self.raw, at + 1)
        if name:
            return self._value(name[0]), False, name.end()
        if self.of_shell and following and following in "@*#?$!-0123456789":
            return _one(unknown(following)), False, at + 2
        return _one("$"), False, at + 1

    def _value(self, name: str) -> Items:
        items = self.scope.variable(name)
        return _one(unknown(name)) if items is None else items

    def _output(self, command: str) -> str:
        """What a command prints; a sum is what it comes to."""
        bare = command.strip()
        summed = bare[1:-1] if command.startswith("(") and bare.endswith(")") else bare[5:] if bare.startswith("expr ") else None
        found = None if summed is None else total(summed, lambda name: _joined(self._value(name)))
        if found is not None:
            return str(found)
        printed = self.scope.output(command)
        return unknown(f"({command})") if printed is None else printed

    def _braced(self, inner: str) -> tuple[Items, bool]:
        found = _BRACED.match(inner)
        untold = _one(unknown(f"{{{inner}}}"))
        if found is None or self.depth >= _DEEPEST or len(inner) > _LONGEST_VALUE:
            return untold, False
        name, index, operator, rest = found[1], found[2], found[3], inner[found.end() :]
        if not (name[0].isalpha() or name[0] == "_" or self.scope.called):
            return untold, False
        items = self.scope.variable(name)
        if index is not None and (items is None or _joined(items) == unknown(name)):
            return untold, False
        if index is not None and items is not None and index.isdigit() and is_known(_joined(items)):
            items = items[int(index) : int(index) + 1]
        if not operator:
            return (untold if rest else self._value(name) if items is None else items), index == "@"
        value = None if items is None else _joined(items)
        if items is not None and value and operator[-1] in "-=":
            return items, index == "@"
        return _one(self._operated(inner, name, value, operator, rest)), False

    def _operated(self, inner: str, name: str, value: str | None, operator: str, rest: str) -> str:
        kind = operator[-1]
        if kind in "-=":
            missing = not value if operator.startswith(":") else value is None
            return self._word(rest) if missing else value or ""
        if kind == "+":
            if self.scope.called and (value is None or not is_known(value)):
                return unknown(f"{{{inner}}}")
            there = bool(value) if operator.startswith(":") else value is not None
            return self._word(rest) if there else ""
        if kind == "?":
            return unknown(name) if value is None else value
        if value is None:
            return unknown(f"{{{inner}}}")
        changed = change(value, operator, self._word(rest)) if is_known(value) else None
        return unknown(f"{{{inner}}}") if changed is None else changed

    def _word(self, raw: str) -> str:
        text = _Expansion(raw, self.scope, self.escape, of_shell=self.of_shell, split=False, depth=self.depth + 1).text()
        return text if len(text) <= _LONGEST_VALUE else unknown("too long")


def _one(text: str) -> Items:
    return (Argument(text, 0),)


def _joined(items: Items) -> str:
    return items[0].text if len(items) == 1 else " ".join(item.text for item in items)


def bounded(value: str) -> str | None:
    """A value that a variable may hold; None for one that grew beyond all reason."""
    return value if len(value) <= _LONGEST_VALUE else None
