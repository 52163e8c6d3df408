"""The tokens of a shell script: words with their quotes, operators, redirections and the heredocs that belong to them."""

from __future__ import annotations

import re

from envdoctor.records import dataclass
from envdoctor.sources.shell.brackets import closing
from envdoctor.sources.shell.expansion import ANSI_QUOTED
from envdoctor.sources.shell.marks import MARKED, OPENING
from envdoctor.sources.shell.text import Heredoc, Text

_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
# To a shell only these are blanks; what else Unicode calls a space is part of a word.
_PLAIN = re.compile(rf"(?:[^ \t\r\n\\'\"`$|&;()<>{OPENING}]+|{MARKED})+")
_OPERATOR = re.compile(r"&&|\|\||;;&?|;&|\|&|[;|&()\n]")
_REDIRECT = re.compile(r"([0-9]*)(<<<|<<-|<<|>>|>\||<>|>&|<&|>|<)|(&>>|&>)")
# ((...)), which is one word to us.
_SUM = re.compile(r"\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)")
_DOUBLE = re.compile(r"[\"\\$`]")
ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")


class ShellError(Exception):
    """Text that is no shell. ``line`` is where it was noticed."""

    def __init__(self, line: int, why: str) -> None:
        self.line, self.why = line, why
        super().__init__(f"line {line}: {why}")


@dataclass(frozen=True, slots=True)
class Token:
    """``kind`` is word, operator, redirect, target or end."""

    kind: str
    text: str
    line: int
    heredoc: Heredoc | None = None


class CutError(Exception):
    """A script that is no shell from some place on; ``tokens`` are those before it."""

    def __init__(self, tokens: list[Token], problem: ShellError) -> None:
        self.tokens, self.problem = tokens, problem
        super().__init__(str(problem))


class Lexer:
    """Reads one script; ``heredocs`` are bodies that lie outside of it, in order."""

    def __init__(self, text: Text, heredocs: list[Heredoc]) -> None:
        self.source, self.text, self.at, self.held = text, text.text, 0, heredocs
        self.found: list[Token] = []
        self.awaited: list[tuple[int, str, bool]] = []

    def tokens(self) -> list[Token]:
        try:
            while self.at < len(self.text):
                self._next()
        except ShellError as error:
            while self.found and self.found[-1].kind != "operator":
                self.found.pop()
            self._end()
            raise CutError(self.found, error) from None
        self._end()
        return self.found

    def _end(self) -> None:
        self.found.append(Token("end", "", self._line()))

    def _line(self) -> int:
        return self.source.line_at(min(self.at, max(len(self.text) - 1, 0)))

    def _next(self) -> None:
        blank = _BLANK.match(self.text, self.at)
        if blank:
            self.at = blank.end()
            return
        if self.text[self.at] == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
            return
        redirect = _REDIRECT.match(self.text, self.at)
        if redirect and not self.text.startswith(("<(", ">("), self.at):
            self.at = redirect.end()
            self._redirect(redirect[2] or redirect[3])
            return
        operator = _OPERATOR.match(self.text, self.at)
        summed = _SUM.match(self.text, self.at) if self.text.startswith("((", self.at) else None
        if summed:
            self.found.append(Token("word", summed[0], self._line()))
            self.at = summed.end()
        elif operator:
            self.found.append(Token("operator", operator[0], self._line()))
            self.at = operator.end()
            if operator[0] == "\n" and self.awaited:
                self._bodies()
        else:
            line, start = self._line(), self.at
            self._word()
            self.found.append(Token("word", self.text[start : self.at], line))

    def _redirect(self, operator: str) -> None:
        line = self._line()
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        start = self.at
        if self.at < len(self.text):
            self._word()
        target = self.text[start : self.at]
        if operator in ("<<", "<<-"):
            if self.held:
                self.found.append(Token("redirect", "<<", line, self.held.pop(0)))
            else:
                self.awaited.append((len(self.found), target, operator == "<<-"))
                self.found.append(Token("redirect", "<<", line))
            return
        self.found.append(Token("redirect", operator, line))
        self.found.append(Token("target", target, line))

    def _bodies(self) -> None:
        for position, delimiter, dedent in self.awaited:
            name = delimiter.replace("'", "").replace('"', "").replace("\\", "")
            parts, starts, lines, length = [], [], [], 0
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                raw, number = self.text[self.at : end], self.source.line_at(self.at)
                self.at = end + 1
                raw = raw.lstrip("\t") if dedent else raw
                if raw.rstrip("\r") == name:
                    break
                parts.append(raw + "\n")
                starts.append(length)
                lines.append(number)
                length += len(raw) + 1
            body = Text("".join(parts), tuple(starts) or (0,), tuple(lines) or (self._line(),))
            token = self.found[position]
            self.found[position] = Token(token.kind, token.text, token.line, Heredoc(name, name == delimiter, body))
        self.awaited = []

    def _word(self) -> None:
        """Move past one word."""
        start = self.at
        while self.at < len(self.text):
            plain = _PLAIN.match(self.text, self.at)
            if plain:
                self.at = plain.end()
                continue
            character = self.text[self.at]
            if character == "\\":
                self.at += 2
            elif character == "'":
                self._past(self.text.find("'", self.at + 1), "a quote ' is never closed")
            elif character == "`":
                self._past(self.text.find("`", self.at + 1), "a ` is never closed")
            elif character == '"':
                self._double()
            elif character == "$" and (quoted := ANSI_QUOTED.match(self.text, self.at)):
                self.at = quoted.end()
            elif character == "$":
                self._dollar()
            elif character in "<>" and self.text.startswith("(", self.at + 1) and self.at == start:
                self._enclosed(self.at + 1)
            elif character == "(" and self.text[start : self.at].endswith("=") and ASSIGNMENT.match(self.text, start):
                self._enclosed(self.at)
            else:
                return

    def _past(self, end: int, why: str) -> None:
        if end < 0:
            raise ShellError(self._line(), why)
        self.at = end + 1

    def _enclosed(self, at: int, *, quoted: bool = False) -> None:
        end = closing(self.text, at, quoted=quoted)
        self._past(-1 if end is None else end, f"a {self.text[at]} is never closed")

    def _dollar(self, *, quoted: bool = False) -> None:
        if self.text.startswith(("{", "("), self.at + 1):
            self._enclosed(self.at + 1, quoted=quoted)
        else:
            self.at += 1

    def _double(self) -> None:
        line = self._line()
        self.at += 1
        while True:
            found = _DOUBLE.search(self.text, self.at)
            if found is None:
                raise ShellError(line, 'a quote " is never closed')
            self.at = found.start()
            if found[0] == '"':
                self.at += 1
                return
            if found[0] == "\\":
                self.at += 2
            elif found[0] == "$":
                self._dollar(quoted=True)
            else:
                self._past(self.text.find("`", self.at + 1), "a ` is never closed")
