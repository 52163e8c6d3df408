"""A shell script as commands of words, with the line of each word; nothing is run.

shlex loses what this needs: whether ``$X`` stood in single quotes, where in a continued command a word
stands, and that ``$(expr 16 / $N)`` is one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

_BLANK = " \t"
_ENDS = frozenset(" \t\n;&|<>()")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SPECIAL = re.compile(r'["\\$`]')
# The longest first.
_OPERATORS = ("<<<", "<<-", "&>>", "<<", ">>", "&&", "||", ";;", "|&", ">&", "<&", "&>", ">|", "<>", ";", "&", "|", "<", ">", "(", ")")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word: literal text, or what stands for text: a variable, a command's output, a sum."""

    kind: Literal["text", "variable", "command", "sum"]
    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """One word. ``items`` are the words of an array, ``NAME=(a b)``; None for any other word."""

    parts: tuple[Part, ...]
    line: int
    items: tuple[Word, ...] | None = None

    @property
    def literal(self) -> str | None:
        """The word where nothing in it is to be expanded."""
        return "".join(part.text for part in self.parts) if all(part.kind == "text" for part in self.parts) else None


@dataclass(frozen=True, slots=True)
class Operator:
    """``glued`` says that it follows a word without a blank, as in ``2>&1``."""

    text: str
    line: int
    glued: bool = False


@dataclass(slots=True)
class Scanner:
    """Reads the words of one script. ``notes`` are lines, from 1, and what could not be made out there."""

    text: str
    line: int = 1
    at: int = 0
    notes: list[tuple[int, str]] = field(default_factory=list)
    _here: list[tuple[str, bool]] = field(default_factory=list)
    _in_array: bool = False

    def tokens(self) -> Iterator[Word | Operator]:
        while self.at < len(self.text):
            character = self.text[self.at]
            if character in _BLANK:
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self._skip(2)
            elif character == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif character == "\n":
                yield Operator("\n", self.line)
                self._skip(1)
                self._here_documents()
            elif character in _ENDS:
                yield from self._operator()
            else:
                yield self._word()

    def _skip(self, count: int) -> str:
        passed = self.text[self.at : self.at + count]
        self.line += passed.count("\n")
        self.at += count
        return passed

    def _operator(self) -> Iterator[Word | Operator]:
        line = self.line
        if self.text.startswith(("<(", ">("), self.at):
            self.at += 1
            yield Word((Part("command", self._balanced("(", ")")),), line)
            return
        found = next(operator for operator in _OPERATORS if self.text.startswith(operator, self.at))
        glued = self.at > 0 and self.text[self.at - 1] not in _ENDS
        self.at += len(found)
        yield Operator(found, line, glued)
        if found in ("<<", "<<-"):
            while self.at < len(self.text) and self.text[self.at] in _BLANK:
                self.at += 1
            word = self._word() if self.at < len(self.text) and self.text[self.at] not in _ENDS else Word((), line)
            self._here.append(("".join(part.text for part in word.parts), found == "<<-"))
            yield word

    def _here_documents(self) -> None:
        """Pass over the documents that the line just ended has announced."""
        while self._here:
            delimiter, tabs = self._here.pop(0)
            self.notes.append((self.line, "a here-document is not read"))
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                row = self.text[self.at :] if end < 0 else self.text[self.at : end]
                self._skip(len(row) + (end >= 0))
                if (row.lstrip("\t") if tabs else row) == delimiter:
                    break

    def _word(self) -> Word:
        line, parts = self.line, list[Part]()
        plain: list[str] = []

        def literal(text: str, quoted: bool = False) -> None:
            if quoted or plain or text:
                plain.append(text)

        def close() -> None:
            if plain:
                parts.append(Part("text", "".join(plain)))
                plain.clear()

        while self.at < len(self.text):
            character = self.text[self.at]
            if character == "(" and not parts and not self._in_array and _ASSIGNS.fullmatch("".join(plain)):
                close()
                return Word(tuple(parts), line, tuple(self._array()))
            if character in _ENDS:
                break
            if character == "\\":
                passed = self._skip(2)
                literal("" if passed == "\\\n" else passed[1:])
            elif character == "'":
                literal(self._single(), quoted=True)
            elif character == '"':
                plain.append("")
                for part in self._double():
                    if part.kind == "text":
                        plain.append(part.text)
                    else:
                        close()
                        parts.append(part)
            elif character in "$`":
                part = self._dollar(quoted=False)
                if part.kind == "text":
                    literal(part.text)
                else:
                    close()
                    parts.append(part)
            else:
                plain.append(character)
                self.at += 1
        close()
        return Word(tuple(parts), line)

    def _array(self) -> Iterator[Word]:
        self.at += 1
        self._in_array = True
        for token in self.tokens():
            if isinstance(token, Word):
                yield token
            elif token.text == ")":
                break
        self._in_array = False

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            return self._unended("a quote that does not end")
        return self._skip(end + 1 - self.at)[1:-1]

    def _unended(self, what: str) -> str:
        self.notes.append((self.line, what))
        return self._skip(len(self.text) - self.at)[1:]

    def _double(self) -> Iterator[Part]:
        start = self.line
        self.at += 1
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return
            if character == "\\":
                passed = self._skip(2)
                yield Part("text", passed[1:] if passed[1:] in ("$", "`", '"', "\\") else "" if passed == "\\\n" else passed)
            elif character in "$`":
                yield self._dollar(quoted=True)
            else:
                end = _SPECIAL.search(self.text, self.at)
                yield Part("text", self._skip((end.start() if end else len(self.text)) - self.at))
        self.notes.append((start, "a quote that does not end"))

    def _dollar(self, quoted: bool) -> Part:
        """What stands at ``$`` or a backtick."""
        text, at = self.text, self.at
        if text[at] == "`":
            end = text.find("`", at + 1)
            return Part("command", self._unended("a command that does not end") if end < 0 else self._skip(end + 1 - at)[1:-1], quoted)
        if text.startswith("$((", at):
            self.at += 1
            inner = self._balanced("(", ")")
            return Part("sum", inner.removeprefix("(").removesuffix(")"), quoted)
        if text.startswith("$(", at):
            self.at += 1
            return Part("command", self._balanced("(", ")"), quoted)
        if text.startswith("${", at):
            self.at += 1
            return Part("variable", self._balanced("{", "}"), quoted)
        if text.startswith("$'", at) and not quoted:
            self.at += 1
            return Part("text", self._single())
        name = _NAME.match(text, at + 1)
        if name:
            self.at = name.end()
            return Part("variable", name.group(), quoted)
        if text[at + 1 : at + 2] and text[at + 1] in "0123456789@*#?$!-":
            self.at += 2
            return Part("variable", text[at + 1], quoted)
        self.at += 1
        return Part("text", "$")

    def _balanced(self, opening: str, closing: str) -> str:
        """The text between a bracket and the one that closes it, past quotes and brackets in between."""
        depth, at = 0, self.at
        while at < len(self.text):
            character = self.text[at]
            if character == "\\":
                at += 1
            elif character == "'" and opening == "(":
                end = self.text.find("'", at + 1)
                at = end if end >= 0 else at
            elif character == opening:
                depth += 1
            elif character == closing:
                depth -= 1
                if depth == 0:
                    return self._skip(at + 1 - self.at)[1:-1]
            at += 1
        return self._unended("a bracket that does not close")


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command. ``certain`` is false inside if, loops, case and functions: it may not be reached."""

    words: tuple[Word, ...]
    line: int
    certain: bool


_OPENING = frozenset(("if", "for", "while", "until", "case", "select", "{"))
_CLOSING = frozenset(("fi", "done", "esac", "}"))
_BETWEEN = frozenset(("then", "else", "elif", "do", "!", "time"))
_REDIRECTIONS = frozenset((">", ">>", "<", "<>", ">&", "<&", "&>", "&>>", ">|", "<<<", "<<", "<<-"))


def commands(scanner: Scanner) -> Iterator[Command]:
    """The simple commands of a script, one after the other, whatever decides whether they run."""
    words: list[Word] = []
    nested: list[str] = []
    redirected = False
    for token in scanner.tokens():
        if isinstance(token, Word):
            if redirected:
                redirected = False
            else:
                words.append(token)
            continue
        if token.text in _REDIRECTIONS:
            redirected = True
            if token.glued and len(words) > 1 and (words[-1].literal or "").isdigit():
                words.pop()
            continue
        redirected = False
        yield from _command(words, nested)
        words = []
        if token.text == "(":
            nested.append("(")
        elif token.text == ")" and nested and nested[-1] == "(":
            nested.pop()
    yield from _command(words, nested)


def _command(words: list[Word], nested: list[str]) -> Iterator[Command]:
    for number, word in enumerate(words):
        first = word.literal
        if first in _OPENING:
            nested.append(first)
            if first in ("for", "case", "select"):
                yield Command(tuple(words[number:]), word.line, certain=False)
                return
        elif first in _CLOSING:
            if nested:
                nested.pop()
        elif first == "function":
            return
        elif first not in _BETWEEN:
            yield Command(tuple(words[number:]), word.line, certain=not nested)
            return
