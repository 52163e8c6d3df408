"""The grammar of a Dockerfile, as docs.docker.com/reference/dockerfile and BuildKit's parser have it.

Every instruction with its line: parser directives, comments, continuation lines with comments and blank lines
between them, heredocs, flags, the JSON form.
"""

from __future__ import annotations

import json
import re

from envdoctor.records import dataclass
from envdoctor.sources.shell.marks import without_marks
from envdoctor.sources.shell.text import Heredoc, Text

_KEYWORDS = "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR"
INSTRUCTIONS = frozenset(_KEYWORDS.split())
_WITH_HEREDOCS = frozenset(("ADD", "COPY", "RUN"))
_WITH_FLAGS = frozenset(("ADD", "COPY", "FROM", "HEALTHCHECK", "RUN"))
_WITH_JSON = frozenset(("ADD", "CMD", "COPY", "ENTRYPOINT", "RUN", "SHELL", "VOLUME"))
_DIRECTIVE = re.compile(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(\S.*)")
_KEYWORD = re.compile(r"[ \t]*(\S+)[ \t]*")
_FLAG = re.compile(r"--([A-Za-z0-9][A-Za-z0-9.-]*)(?:=((?:\"[^\"]*\"|'[^']*'|\\.|[^\s\"'\\])*))?(?:[ \t]+|$)")
_HEREDOC = re.compile(r"(?:^|(?<=\s))[0-9]*<<(-?)(\"[^\"<>\n]+\"|'[^'<>\n]+'|[^\s<\"']+)(?=\s|$)")
_QUOTED = re.compile(r"\"(?:\\.|[^\"\\])*\"|'[^']*'|\\.", re.DOTALL)
_MOST_HEREDOCS = 50


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction. ``body`` is what follows its flags; ``words`` is its JSON form, where it has that."""

    keyword: str
    line: int
    flags: tuple[tuple[str, str], ...]
    body: Text
    words: tuple[str, ...] | None = None
    heredocs: tuple[Heredoc, ...] = ()

    def flag(self, name: str) -> str | None:
        return next((value for known, value in self.flags if known == name), None)


@dataclass(frozen=True, slots=True)
class Dockerfile:
    """All instructions in order, and what could not be read: lines and reasons."""

    instructions: tuple[Instruction, ...]
    problems: tuple[tuple[int, str], ...] = ()
    escape: str = "\\"
    syntax: str | None = None


def parse_dockerfile(text: str) -> Dockerfile:
    """Read a Dockerfile; whatever is no instruction is told with its line and does not hide the rest."""
    lines = [line.removesuffix("\r") for line in without_marks(text.removeprefix("\ufeff")).split("\n")]
    directives, start = _directives(lines)
    escape = directives.get("escape", "\\")
    reader = _Reader(lines, start, escape if escape in ("\\", "`") else "\\")
    return reader.read(directives.get("syntax"))


def _directives(lines: list[str]) -> tuple[dict[str, str], int]:
    """The parser directives: comments of a form, on top, before anything else; a name counts once."""
    found: dict[str, str] = {}
    for number, line in enumerate(lines):
        match = _DIRECTIVE.fullmatch(line.strip())
        if match is None or match[1].lower() in found:
            return found, number
        found[match[1].lower()] = match[2]
    return found, len(lines)


class _Reader:
    def __init__(self, lines: list[str], start: int, escape: str) -> None:
        self.lines, self.at, self.escape = lines, start, escape
        self.problems: list[tuple[int, str]] = []

    def read(self, syntax: str | None) -> Dockerfile:
        instructions: list[Instruction] = []
        while (text := self._logical()) is not None:
            instruction = self._instruction(text)
            if instruction is not None:
                instructions.append(instruction)
        return Dockerfile(tuple(instructions), tuple(self.problems), self.escape, syntax)

    def _logical(self) -> Text | None:
        """The next line with those that continue it; comments and blank lines between them are nothing."""
        parts: list[str] = []
        starts: list[int] = []
        numbers: list[int] = []
        length = 0
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            bare = line.lstrip(" \t")
            if not bare.strip() or bare.startswith("#"):
                continue
            stripped = line.rstrip(" \t")
            continued = stripped.endswith(self.escape) and not stripped.endswith(self.escape * 2)
            piece = stripped[:-1] if continued else line
            parts.append(piece)
            starts.append(length)
            numbers.append(self.at)
            length += len(piece)
            if not continued:
                break
        return Text("".join(parts), tuple(starts), tuple(numbers)) if parts else None

    def _instruction(self, text: Text) -> Instruction | None:
        word = _KEYWORD.match(text.text)
        if word is None:
            return None
        keyword, line, body = word[1].upper(), text.line_at(word.start(1)), text.after(word.end())
        if keyword not in INSTRUCTIONS:
            self.problems.append((line, f"{word[1]!r} is no instruction of a Dockerfile"))
            return None
        inner, _, rest = body.text.partition(" ")
        carries = keyword in _WITH_HEREDOCS or (keyword == "ONBUILD" and inner.upper() in _WITH_HEREDOCS and bool(rest))
        heredocs = self._heredocs(body, line) if carries else ()
        flags: list[tuple[str, str]] = []
        if keyword in _WITH_FLAGS:
            at = 0
            while (flag := _FLAG.match(body.text, at)) is not None:
                flags.append((flag[1], flag[2] or ""))
                at = flag.end()
            body = body.after(at)
        words = _json_words(body.text) if keyword in _WITH_JSON else None
        return Instruction(keyword, line, tuple(flags), body, words, heredocs)

    def _heredocs(self, body: Text, line: int) -> tuple[Heredoc, ...]:
        if "<<" not in body.text:
            return ()
        outside = _QUOTED.sub(lambda quoted: quoted[0] if "<<" not in quoted[0] else " " * len(quoted[0]), body.text)
        found: list[Heredoc] = []
        for match in list(_HEREDOC.finditer(outside))[:_MOST_HEREDOCS]:
            quoted = match[2][0] in "\"'"
            found.append(self._heredoc(match[2][1:-1] if quoted else match[2], not quoted, bool(match[1]), line))
        return tuple(found)

    def _heredoc(self, name: str, expand: bool, dedent: bool, line: int) -> Heredoc:
        first, parts, starts, length = self.at, [], [], 0
        while self.at < len(self.lines):
            raw = self.lines[self.at].lstrip("\t") if dedent else self.lines[self.at]
            self.at += 1
            if raw == name:
                break
            parts.append(raw + "\n")
            starts.append(length)
            length += len(raw) + 1
        else:
            self.problems.append((line, f"the heredoc {name!r} is never ended"))
        numbers = tuple(range(first + 1, first + 1 + len(parts)))
        return Heredoc(name, expand, Text("".join(parts), tuple(starts) or (0,), numbers or (first + 1,)))


def _json_words(text: str) -> tuple[str, ...] | None:
    """The words of the JSON form; None for the shell form, and for what only looks like JSON, as docker has it."""
    stripped = text.strip()
    if not stripped.startswith("["):
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        return None
    return tuple(value)
