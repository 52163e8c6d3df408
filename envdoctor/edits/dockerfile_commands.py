"""Where the words of a Dockerfile's install commands stand in its text: the same words that the shell splitter makes of it."""

from __future__ import annotations

import json
import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from envdoctor.edits.edit import RefusedError
from envdoctor.records import dataclass, field
from envdoctor.sources.docker.parse import Dockerfile, Instruction
from envdoctor.sources.installers.request import Request, read_request
from envdoctor.sources.shell.expansion import fields_of
from envdoctor.sources.shell.lexer import ASSIGNMENT, CutError, Lexer, ShellError, Token
from envdoctor.sources.shell.text import Argument, Heredoc, Text

_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ash"))
_RESERVED = frozenset(("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "{", "}", "!", "in"))
_TALKS = frozenset(("echo", "printf", ":"))
_ONLY_HEREDOCS = re.compile(r"(?:[0-9]*<<-?\S+\s*)+")
_JSON_STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"")
_UNQUOTED = re.compile(r"[A-Za-z0-9._+=\[\],!~/:@%-]*")
_UNQUOTABLE = frozenset("\"'$`\\")
# What a word can be quoted with, by what it stands in.
_QUOTES = {"": '"', "'": '"', '"': "'", "json": "'"}
_DEEPEST = 3
_MOST_WRAPPERS = 20


@dataclass(frozen=True, slots=True)
class InstallWord:
    """A word of a command: as written, what a shell makes of it, and where it stands in the file.

    ``inside`` is what it is written in: nothing, a quote of the shell's, or ``json``; ``whole`` says that it is a string of the JSON form.
    """

    raw: str
    text: str
    start: int
    end: int
    line: int
    inside: str = ""
    whole: bool = False

    def saying(self, text: str) -> str:
        """Another text as this word would be written, with its own quotes.

        Raises:
            RefusedError: it cannot be quoted here.
        """
        if self.whole:
            return json.dumps(text)
        quote = self.raw[:1]
        if quote in ("'", '"') and self.raw == f"{quote}{self.text}{quote}":
            return f"{quote}{text}{quote}"
        if self.raw == self.text and _UNQUOTED.fullmatch(text):
            return text
        quote = _QUOTES.get(self.inside, "")
        if not _UNQUOTABLE.isdisjoint(text) or not quote:
            raise RefusedError(f"{text} cannot be quoted on line {self.line}")
        return f"{quote}{text}{quote}"


@dataclass(frozen=True, slots=True)
class InstallCommand:
    """A command that installs, with all its words; ``wanted`` are the requirements among them, ``simple`` that no condition is near it."""

    words: tuple[InstallWord, ...]
    wanted: tuple[InstallWord, ...]
    request: Request
    simple: bool

    def before(self, word: InstallWord) -> InstallWord:
        return self.words[self.words.index(word) - 1]

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


@dataclass(slots=True)
class _Reader:
    """Finds the commands of one instruction; ``offset`` maps the text at hand to the file."""

    found: list[InstallCommand] = field(default_factory=list)

    def script(self, text: Text, offset: Callable[[int], int], heredocs: Sequence[Heredoc], inside: str, depth: int) -> None:
        lexer = _PlacedLexer(text, list(heredocs))
        try:
            tokens = lexer.tokens()
        except CutError as cut:
            tokens = cut.tokens
        simple = not any(token.text in _RESERVED or token.text in ("||", "|", "(") for token in tokens)
        words: list[tuple[Token, tuple[int, int]]] = []
        for number, token in enumerate(tokens):
            if token.kind == "word":
                words.append((token, lexer.places[number]))
            elif token.kind in ("operator", "end"):
                self._command(words, offset, inside, simple, depth)
                words = []

    def _command(
        self, tokens: list[tuple[Token, tuple[int, int]]], offset: Callable[[int], int], inside: str, simple: bool, depth: int
    ) -> None:
        while tokens and (tokens[0][0].text in _RESERVED or ASSIGNMENT.match(tokens[0][0].text)):
            tokens = tokens[1:]
        words: list[InstallWord] = []
        places: list[int] = []
        for token, (start, end) in tokens:
            texts = fields_of(token.text, lambda _: None)
            if len(texts) == 1:
                words.append(InstallWord(token.text, texts[0], offset(start), offset(end - 1) + 1, token.line, inside))
                places.append(start)
        self.words(tuple(words), simple=simple)
        shell = next((n for n, word in enumerate(words) if posixpath.basename(word.text) in _SHELLS), None)
        if shell is None or depth >= _DEEPEST:
            return
        for n in range(shell + 1, len(words) - 1):
            if not (words[n].text.startswith("-") and words[n].text.endswith("c")):
                continue
            script = words[n + 1]
            quote, body = script.raw[:1], script.raw[1:-1]
            if script.raw == f"{quote}{body}{quote}" and (quote == "'" or (quote == '"' and body == script.text)):
                self.script(Text(body, (0,), (script.line,)), _shifted(offset, places[n + 1] + 1), (), inside + quote, depth + 1)
            return

    def words(self, words: tuple[InstallWord, ...], *, simple: bool) -> None:
        """Keep what a command installs, behind whatever runs it (``sudo``, ``conda run -n NAME``)."""
        if not words or posixpath.basename(words[0].text) in _TALKS:
            return
        arguments = tuple(Argument(word.text, word.line) for word in words)
        for first in range(min(len(words), _MOST_WRAPPERS)):
            request = read_request(arguments[first:])
            if request is not None:
                if request.tool in ("pip", "uv") and request.action == "install":
                    wanted = {id(one) for one in request.wanted}
                    kept = tuple(word for word, one in zip(words, arguments, strict=True) if id(one) in wanted)
                    self.found.append(InstallCommand(words, kept, request, simple))
                return

    def json(self, instruction: Instruction, offset: Callable[[int], int]) -> None:
        words: list[InstallWord] = []
        for found in _JSON_STRING.finditer(instruction.body.text):
            line = instruction.body.line_at(found.start())
            place = offset(found.start()), offset(found.end() - 1) + 1
            words.append(InstallWord(found[0], json.loads(found[0]), *place, line, "json", whole=True))
        if [word.text for word in words] != list(instruction.words or ()):
            return
        self.words(tuple(words), simple=True)
        for option, script in pairwise(words):
            body = script.raw[1:-1]
            if posixpath.basename(words[0].text) in _SHELLS and option.text in ("-c", "-lc", "-ec", "-xec") and body == script.text:
                self.script(Text(body, (0,), (script.line,)), _shifted(lambda n: n, script.start + 1), (), "json", 1)
                return


class _PlacedLexer(Lexer):
    """The splitter, which remembers where each word stood."""

    def __init__(self, text: Text, heredocs: list[Heredoc]) -> None:
        super().__init__(text, heredocs)
        self.places: dict[int, tuple[int, int]] = {}

    def _next(self) -> None:
        before = len(self.found)
        super()._next()
        if len(self.found) > before and self.found[-1].kind == "word":
            self.places[len(self.found) - 1] = (self.at - len(self.found[-1].text), self.at)


def _shifted(offset: Callable[[int], int], by: int) -> Callable[[int], int]:
    return lambda n: offset(n + by)


def install_commands(text: str, parsed: Dockerfile) -> list[InstallCommand]:
    """All commands of RUN instructions that install with pip or uv, in order."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    reader = _Reader()
    for instruction in parsed.instructions:
        if instruction.keyword != "RUN":
            continue
        offset = _offsets(instruction.body, lines, starts, parsed.escape)
        try:
            if instruction.words is not None:
                reader.json(instruction, offset)
            elif instruction.heredocs and _ONLY_HEREDOCS.fullmatch(instruction.body.text.strip()):
                for heredoc in instruction.heredocs:
                    reader.script(heredoc.body, _offsets(heredoc.body, lines, starts, None), (), "", 0)
            else:
                reader.script(instruction.body, offset, instruction.heredocs, "", 0)
                for heredoc in instruction.heredocs:
                    reader.script(heredoc.body, _offsets(heredoc.body, lines, starts, None), (), "", 0)
        except (ShellError, ValueError):
            continue
    return reader.found


def span_in(instruction: Instruction, text: str, parsed: Dockerfile, start: int, end: int) -> tuple[int, int]:
    """Where a part of an instruction's body stands in the file."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    offset = _offsets(instruction.body, lines, starts, parsed.escape)
    return offset(start), offset(end - 1) + 1


def _offsets(body: Text, lines: list[str], starts: list[int], escape: str | None) -> Callable[[int], int]:
    """From an offset in a joined text to that in the file. Each part is the end of its line, without the sign that continues it.

    ``escape`` is that sign; None for a heredoc, whose parts are whole lines, with their ends.
    """
    places = list(_places(body, lines, starts, escape))

    def offset(at: int) -> int:
        first = max(bisect_right(body.starts, at) - 1, 0)
        return places[first] + at - body.starts[first]

    return offset


def _places(body: Text, lines: list[str], starts: list[int], escape: str | None) -> Iterator[int]:
    for start, end, number in zip(body.starts, (*body.starts[1:], len(body.text)), body.lines, strict=True):
        whole = lines[number - 1].removesuffix("\r")
        if escape is None:
            length = len(whole) + 1
        else:
            bare = whole.rstrip(" \t")
            length = len(bare) - 1 if bare.endswith(escape) and not bare.endswith(escape * 2) else len(whole)
        yield starts[number - 1] + length - (end - start)


__all__ = ["InstallCommand", "InstallWord", "install_commands", "span_in"]
