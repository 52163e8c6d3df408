"""What can still be read of a script that was cut, or pasted in part: the statements that are whole, each where it stands.

A statement that the cut runs through is left out; a call that it runs through keeps the arguments before the cut, and a ``**`` for those
behind it. A block whose head was cut away stands under a head of ours; what hangs on an ``else`` or an ``except`` without its ``if`` or
``try`` counts as tried, since nobody knows what guards it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from envdoctor.records import dataclass
from envdoctor.syntax.parsing import NoPythonError, parse_python

_MOST_LINES = 5000
_MOST_ATTEMPTS = 12
# A statement that is not closed where this many lines have followed is none.
_LONGEST = 400
# Lines that are read in all, those that are read again counted again: a file of nothing but brackets has millions.
_MOST_READ = 100_000
# Of a file of another language, or of Python 2, single lines are Python 3 by chance.
_LEAST_SHARE = 0.8
_PYTHON_2 = re.compile(r"^\s*(print\s+[\"'\w%]|exec\s+[\"'\w]|except\s+[\w.]+\s*,\s*\w+\s*:|raise\s+\w+\s*,\s)", re.M)
_HEAD = re.compile(r"(?:async\s+)?(if|elif|else|for|while|try|except|finally|with|def|class|match|case)\b")
_BEGINS = re.compile(r"\s*(?:def|class|import|from|if|for|while|with|try|return|async|@)\b|\s*@\w")
_STRING_OR_BRACKET = re.compile(r"'''|\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|#[^\n]*|[()\[\]{}]")
# Which heads may follow which, at the same indentation.
_AFTER = {
    "elif": ("if", "elif"),
    "else": ("if", "elif", "for", "while", "except"),
    "except": ("try", "except"),
    "finally": ("try", "except", "else"),
}
_REST = "**_cut_away"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The tree of what is whole, its lines as in the file, and the lines that were left out."""

    tree: ast.Module
    lost: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    """A statement, or the head of a block, from a line of the file on."""

    line: int
    lines: tuple[str, ...]
    indent: int
    head: str


def read_excerpt(text: str) -> Excerpt | None:
    """The statements that are whole in a text that is no Python as it stands; None where too little of it is."""
    lines = text.expandtabs().split("\n")
    if len(lines) > _MOST_LINES or _PYTHON_2.search(text):
        return None
    lost: list[int] = []
    rows = list(_rows(lines, lost))
    written = sum(1 for line in lines if line.strip() and not line.lstrip().startswith("#"))
    for _ in range(_MOST_ATTEMPTS):
        if not rows or sum(len(row.lines) for row in rows) < _LEAST_SHARE * written:
            return None
        laid = _Layout()
        for row in rows:
            laid.add(row)
        laid.end(rows[-1].line)
        try:
            tree = parse_python("\n".join(laid.lines))
        except NoPythonError as error:
            at = laid.places[min(error.line or len(laid.places), len(laid.places)) - 1]
            culprit = next((row for row in reversed(rows) if row.line <= at), None)
            if culprit is None:
                return None
            rows.remove(culprit)
            lost.append(culprit.line)
            continue
        _put_back(tree, laid.places)
        return Excerpt(tree, tuple(sorted(set(lost))))
    return None


def _put_back(tree: ast.Module, places: list[int]) -> None:
    for node in ast.walk(tree):
        line, end = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
        if isinstance(line, int):
            node.lineno = places[line - 1]  # type: ignore[attr-defined]
        if isinstance(end, int):
            node.end_lineno = places[end - 1]  # type: ignore[attr-defined]


def _rows(lines: list[str], lost: list[int]) -> Iterator[_Row]:
    """The statements of a text that are Python by themselves."""
    number, read = 0, 0
    while number < len(lines) and read < _MOST_READ:
        if not lines[number].strip() or lines[number].lstrip().startswith("#"):
            number += 1
            continue
        end, whole = _end(lines, number)
        piece = tuple(lines[number:end])
        read += len(piece) * (1 if whole else _MOST_ATTEMPTS)
        if not whole:
            piece, end = _closed(piece), number + len(piece)
        bare = piece[0].lstrip() if piece else ""
        found = _HEAD.match(bare)
        head = found[1] if found else ""
        if piece and _stands(piece, head):
            ends = piece[-1].rstrip().endswith(":") or re.search(r":\s*(#.*)?$", piece[-1]) is not None
            yield _Row(number + 1, piece, len(piece[0]) - len(bare), head if ends else "")
            number = end
        else:
            lost.append(number + 1)
            number += 1


def _end(lines: list[str], first: int) -> tuple[int, bool]:
    """The line behind the statement that begins on a line, and whether its brackets and strings are closed there."""
    depth, quote, number = 0, "", first
    while number < min(len(lines), first + _LONGEST):
        line = lines[number]
        if number > first and not quote and depth and _BEGINS.match(line) and not line[:1].isspace():
            return number, False
        depth, quote = _scanned(line, depth, quote)
        number += 1
        if not quote and depth <= 0 and not line.rstrip().endswith("\\"):
            return number, True
    return number, False


def _scanned(line: str, depth: int, quote: str) -> tuple[int, str]:
    place = 0
    while place < len(line):
        if quote:
            close = line.find(quote, place)
            if close < 0:
                return depth, quote
            place, quote = close + 3, ""
            continue
        token = _STRING_OR_BRACKET.search(line, place)
        if token is None:
            break
        place, found = token.end(), token[0]
        if found in ("'''", '"""'):
            quote = found
        elif found in "([{":
            depth += 1
        elif found in ")]}":
            depth -= 1
    return depth, quote


def _stands(piece: tuple[str, ...], head: str) -> bool:
    """Whether a statement, or the head of a block, is Python by itself."""
    text = "\n".join((piece[0].lstrip(), *piece[1:]))
    body = f"{text}\n pass"
    forms = {
        "elif": f"if 1: pass\n{body}",
        "else": f"if 1: pass\n{body}",
        "except": f"try: pass\n{body}",
        "finally": f"try: pass\n{body}",
        "try": f"{body}\nfinally: pass",
        "case": f"match 1:\n {text.replace(chr(10), chr(10) + ' ')}\n  pass",
        "match": f"{text}\n case _: pass",
    }
    ways = [forms.get(head, body), text] if head else [text, f"{text}\ndef f(): pass"] if text.startswith("@") else [text]
    return any(map(_parses, ways))


def _parses(text: str) -> bool:
    try:
        parse_python(text)
    except NoPythonError:
        return False
    return True


def _closed(piece: tuple[str, ...]) -> tuple[str, ...]:
    """A call that a cut runs through, closed behind its last whole argument; nothing where it cannot be."""
    for kept in range(len(piece), max(len(piece) - _MOST_ATTEMPTS, 0), -1):
        part, brackets = piece[:kept], _open_brackets("\n".join(piece[:kept]))
        if brackets is None or not brackets:
            continue
        last = part[-1].split("#")[0].rstrip().rstrip(",")
        comma = "" if last.endswith("(") else ", "
        closing = "".join({"(": ")", "[": "]", "{": "}"}[one] for one in reversed(brackets))
        for behind in (f"{comma}{_REST}", "") if brackets[-1] == "(" else ("",):
            head = ": pass" if re.match(r"(async\s+)?(def|class)\b", part[0].lstrip()) else ""
            made = (*part[:-1], f"{last}{behind}{closing}{head}")
            if _parses("\n".join((made[0].lstrip(), *made[1:]))):
                return made
    return ()


def _open_brackets(text: str) -> list[str] | None:
    opened: list[str] = []
    for token in _STRING_OR_BRACKET.finditer(text):
        if token[0] in ("'''", '"""'):
            return None
        if token[0] in "([{":
            opened.append(token[0])
        elif token[0] in ")]}":
            if not opened:
                return None
            opened.pop()
    return opened


@dataclass(slots=True)
class _Block:
    """An open block: its indentation, and the head in it that a next one may hang on."""

    indent: int
    head: str = ""


class _Layout:
    """Statements under heads that every indentation has; ``places`` are the lines of the file that its lines are from."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[int] = []
        self._open = [_Block(0)]
        self._owed: _Row | None = None

    def add(self, row: _Row) -> None:
        """Put a statement into the block that its indentation names, or begin one for it."""
        self._fill(row.indent)
        self._leave(row.indent, row.head, row.line)
        if row.indent > self._open[-1].indent:
            self._write("if 1:", self._open[-1].indent, row.line)
            self._open[-1].head = ""
            self._open.append(_Block(row.indent))
        head, first = row.head, row.lines[0]
        if head in _AFTER and self._open[-1].head not in _AFTER[head]:
            head, first = ("if", first.replace("elif", "if  ", 1)) if head == "elif" else ("try", " " * row.indent + "try:")
        for offset, line in enumerate((first, *row.lines[1:])):
            self._write(line, 0, row.line + offset)
        self._open[-1].head = head
        self._owed = row if head else None

    def end(self, line: int) -> None:
        """Close what is open."""
        self._fill(0)
        self._leave(0, "", line)

    def _write(self, text: str, indent: int, line: int) -> None:
        self.lines.append(" " * indent + text)
        self.places.append(line)

    def _fill(self, indent: int) -> None:
        """A head has a body: the statement that follows, where that stands deeper."""
        head, self._owed = self._owed, None
        if head is not None and indent > head.indent:
            self._open.append(_Block(indent))
        elif head is not None:
            self._write("pass", head.indent + 1, head.line)

    def _leave(self, indent: int, head: str, line: int) -> None:
        while True:
            block = self._open[-1]
            if block.head == "try" and not (block.indent == indent and head in ("except", "finally")):
                self._write("except Exception: pass", block.indent, line)
                block.head = ""
            if block.indent <= indent or len(self._open) == 1:
                return
            self._open.pop()
