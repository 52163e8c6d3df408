"""What the words of a script come to, as far as the script itself says."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from envdoctor.sources.launches.shell import Part, Scanner, Word

_LONGEST = 65_536
_MOST_ITEMS = 1000
# All that one script's words may come to: variables can double with every line.
_BUDGET = 4 * 2**20
_EXPANSION = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9@*])(?:\[([@*]|[0-9]{1,4})\])?(?:(:?[-=?+])(.*))?", re.DOTALL)
# The folder that the script lies in, as scripts find it: dirname "$0", with or without cd ... && pwd.
_OWN_FOLDER = re.compile(
    r"""\s*(?:cd\s+(?:--\s+)?["']?\$\()?\s*dirname\s+(?:--\s+)?["']?\$\{?(?:0|BASH_SOURCE(?:\[0\])?(?::-\$0)?)\}?["']?\s*"""
    r"""(?:\)["']?(?:\s*>\s*/dev/null\s*(?:2>&1)?)?\s*(?:&&|;)\s*pwd(?:\s+-P)?)?\s*"""
)
_SUM_TOKEN = re.compile(r"\s*(?:([0-9]{1,12})|\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?|\\?([-+*/%()]))")


@dataclass(frozen=True, slots=True)
class Piece:
    """A word as the command gets it. ``known`` is false where the text can only be known when the script runs."""

    text: str
    line: int
    known: bool = True


@dataclass(frozen=True, slots=True)
class _Value:
    """``lines`` are those of an array's items, where they are known."""

    items: tuple[str, ...]
    known: bool = True
    line: int = 0
    lines: tuple[int, ...] = ()


@dataclass(slots=True)
class Variables:
    """The variables that a script has set so far."""

    values: dict[str, _Value] = field(default_factory=dict)
    _spent: int = 0

    def assign(self, word: Word, certain: bool) -> str:
        """Carry out ``NAME=value``, ``NAME+=value``, ``NAME=(a b)``, and return the name.

        A second value that may or may not be given leaves the variable unknown.
        """
        name, value = self._assigned(word)
        adds = name.endswith("+")
        name = name.removesuffix("+")
        before = self.values.get(name)
        if adds and before is not None:
            items = (*before.items, *value.items) if word.items is not None else (" ".join(before.items) + value.items[0],)
            at = (*before.lines, *value.lines) if len(before.lines) == len(before.items) else ()
            value = _Value(items, before.known and value.known, before.line, at)
        if not certain and before is not None and before.known and _given_by_caller(value):
            # An option of the script's own: without it the author's value holds.
            value = before
        elif not certain and before is not None and before.items != value.items:
            value = _Value(value.items, known=False, line=word.line)
        short = len(value.items) <= _MOST_ITEMS and sum(map(len, value.items)) < _LONGEST
        self.values[name] = value if short else _Value(("...",), known=False)
        return name

    def _assigned(self, word: Word) -> tuple[str, _Value]:
        name, _, rest = word.parts[0].text.partition("=")
        if word.items is not None:
            pieces = [piece for item in word.items for piece in self.expand(item)]
            at = tuple(piece.line for piece in pieces)
            return name, _Value(tuple(piece.text for piece in pieces), all(piece.known for piece in pieces), word.line, at)
        whole = self._joined((Part("text", rest), *word.parts[1:]), word.line)
        return name, _Value((whole.text,), whole.known, word.line)

    def given(self, word: Word) -> tuple[str, Piece]:
        """The name and value of an assignment for one command only."""
        name, value = self._assigned(word)
        return name.removesuffix("+"), Piece(" ".join(value.items), word.line, value.known)

    def forget(self, name: str) -> None:
        self.values[name] = _Value((f"${name}",), known=False)

    def expand(self, word: Word) -> list[Piece]:
        """The words that one becomes: an unquoted variable is split at blanks, an array gives its items."""
        fields: list[Piece] = []
        text, known, line, begun = "", True, word.line, False
        for part in word.parts:
            value = self._value(part)
            if part.kind == "text":
                text, begun = text + part.text, True
            elif not value.known or (part.quoted and not _is_list(part)):
                text, known, begun = text + " ".join(value.items), known and value.known, True
            else:
                whole = _is_list(part) and part.quoted
                pieces = list(value.items) if whole else " ".join(value.items).split()
                at = value.lines if len(value.lines) == len(pieces) else (value.line,) * len(pieces)
                for number, piece in enumerate(pieces):
                    if number:
                        fields.append(Piece(text, line, known))
                        text, known = "", True
                    if (len(pieces) > 1 or whole) and at[number]:
                        line = at[number]
                    text, begun = text + piece, True
        if begun:
            fields.append(Piece(text, line, known))
        return fields

    def _joined(self, parts: tuple[Part, ...], line: int) -> Piece:
        values = [_Value((part.text,)) if part.kind == "text" else self._value(part) for part in parts]
        return Piece("".join(" ".join(value.items) for value in values), line, all(value.known for value in values))

    def _value(self, part: Part) -> _Value:
        value = self._found(part)
        self._spent += sum(map(len, value.items))
        return _Value(("...",), known=False) if self._spent > _BUDGET else value

    def _found(self, part: Part) -> _Value:
        if part.kind == "text":
            return _Value((part.text,))
        if part.kind == "sum" or (part.kind == "command" and part.text.lstrip().startswith("expr ")):
            total = self._sum(part.text.strip().removeprefix("expr "))
            return _Value((f"$(({part.text.strip()}))"[:200],), known=False) if total is None else _Value((str(total),))
        if part.kind == "command" and _OWN_FOLDER.fullmatch(part.text):
            return _Value((".",))
        if part.kind == "command":
            return _Value((f"$({part.text.strip()})"[:200],), known=False)
        simple = part.text.isidentifier() or len(part.text) == 1
        unknown = _Value((f"${part.text}" if simple else f"${{{part.text}}}"[:200],), known=False)
        found = _EXPANSION.fullmatch(part.text)
        if found is None:
            return unknown
        name, index, action, default = found.groups()
        value = self.values.get(name)
        if value is not None and value.known and index is not None and index.isdigit():
            value = _Value(value.items[int(index) : int(index) + 1], line=value.line)
        given = value is not None and (not value.known or any(value.items))
        if action in (":-", "-", ":=", "=") and not given:
            # What the author falls back on where the caller says nothing.
            return self._default(default)
        if action in (":+", "+"):
            return self._default(default) if given and value is not None and value.known else unknown
        return unknown if value is None else value if value.known else unknown

    def _default(self, text: str) -> _Value:
        if "$" not in text and "`" not in text:
            return _Value((text.strip("\"'"),))
        parts = tuple(part for token in Scanner(text).tokens() if isinstance(token, Word) for part in token.parts)
        if any(part.kind == "variable" and _deep(part.text) for part in parts):
            return _Value((f"${{{text}}}"[:200],), known=False)
        whole = self._joined(parts, 0)
        return _Value((whole.text,), whole.known)

    def _sum(self, text: str) -> int | None:
        """A sum of whole numbers and variables, as ``$((...))`` and ``expr`` compute it."""
        if len(text) > 100:
            return None
        tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            found = _SUM_TOKEN.match(text, at)
            if found is None:
                return None
            number, name, sign = found.groups()
            if name is not None:
                value = self.values.get(name)
                number = "".join(value.items) if value is not None and value.known else ""
                if not number.isascii() or not number.isdigit() or len(number) > 12:
                    return None
            tokens.append(number or sign)
            at = found.end()
        return _Sum(tokens).total()


def _given_by_caller(value: _Value) -> bool:
    return not value.known and re.fullmatch(r"\$(?:[1-9]|\{[1-9]\}|OPTARG|\{OPTARG\})", "".join(value.items)) is not None


def _is_list(part: Part) -> bool:
    return part.kind == "variable" and ("[@]" in part.text or part.text == "@")


def _deep(text: str) -> bool:
    return text.count("${") > 4


_SIGNS: dict[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


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
