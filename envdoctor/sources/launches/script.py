"""What the commands of a script do, in order: launches, installations, and the environment that they are given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Sequence as Listed

from envdoctor.facts.uses import command_use
from envdoctor.records import dataclass, field
from envdoctor.sources.installers.request import Request, read_request
from envdoctor.sources.installers.wanted import list_wanted
from envdoctor.sources.launches.programs import Launch, find_launch
from envdoctor.sources.launches.variables import Piece, Variables, piece_of
from envdoctor.sources.shell.lexer import ASSIGNMENT
from envdoctor.sources.shell.marks import without_marks
from envdoctor.sources.shell.parser import parse_shell
from envdoctor.sources.shell.text import Argument, Text, whole_text
from envdoctor.sources.shell.tree import Case, For, Function, If, Node, Not, Sequence, Simple, While, Word
from envdoctor.sources.shell.wrappers import unwrapped

_DECLARES = frozenset(("export", "declare", "local", "readonly", "typeset"))
_FORGETFUL = frozenset(("read", "mapfile", "readarray", "unset", "getopts"))
_TESTS = re.compile(r"(?:\[|\[\[|test)$|\(\(")
_PYTHONS = ("python", "python3")
# Scripts that libraries bring along, and of which rules ask.
_SCRIPTS = ("zero_to_fp32.py",)
_SHELLS = frozenset(("bash", "sh"))
_VERSION = re.compile(r"=[0-9]\S*|[0-9]+\.[0-9]\S*")
_MOST_NESTED = 2


@dataclass(frozen=True, slots=True)
class Install:
    """What pip or uv is asked for on a line of a script. ``certain`` is false where it may not be reached.

    ``unquoted`` are versions that the shell takes for files, as in ``pip install peft>=0.10``.
    """

    request: Request
    line: int
    certain: bool = True
    unquoted: tuple[str, ...] = ()


@dataclass(slots=True)
class Script:
    """What a script does, in order: launches, installations, other commands that rules ask about, and the environment that it exports."""

    launches: list[Launch] = field(default_factory=list)
    installs: list[Install] = field(default_factory=list)
    of_conda: list[Install] = field(default_factory=list)
    commands: list[Piece] = field(default_factory=list)
    environment: dict[str, Piece] = field(default_factory=dict)
    directives: list[Piece] = field(default_factory=list)
    notes: list[tuple[int, str]] = field(default_factory=list)


def read_script(text: str) -> Script:
    """The launches of a shell script, as far as its words can be made out without running it."""
    script = Script()
    for number, row in enumerate(text.split("\n"), 1):
        if row.startswith("#SBATCH"):
            script.directives.append(Piece(row.removeprefix("#SBATCH").partition(" #")[0].strip(), number))
    _Reader(script, Variables()).read(whole_text(without_marks(text)))
    return script


@dataclass(slots=True)
class _Reader:
    """Goes through all commands of a script, whatever decides whether they run; ``nested`` counts the scripts around it."""

    script: Script
    variables: Variables
    nested: int = 0

    def read(self, text: Text) -> None:
        parsed = parse_shell(text)
        self._node(parsed.body, certain=True)
        if parsed.problem is not None:
            self.script.notes.append((parsed.problem.line, f"not understood as shell from here: {parsed.problem.why}"))

    def _node(self, node: Node, *, certain: bool) -> None:
        if isinstance(node, Simple):
            self._simple(node, certain)
        elif isinstance(node, Sequence):
            self._sequence(node, certain)
        elif isinstance(node, Not):
            self._node(node.node, certain=certain)
        elif isinstance(node, If):
            for condition, body in node.branches:
                self._node(condition, certain=certain)
                self._node(body, certain=False)
            if node.otherwise is not None:
                self._node(node.otherwise, certain=False)
        elif isinstance(node, For):
            self.variables.forget(node.name)
            self._node(node.body, certain=False)
        elif isinstance(node, While):
            self._node(node.condition, certain=certain)
            self._node(node.body, certain=False)
        elif isinstance(node, Case):
            for _, body in node.clauses:
                self._node(body, certain=False)
        elif isinstance(node, Function):
            self._node(node.body, certain=False)
        elif node.subshell:
            kept, exported = self.variables, dict(self.script.environment)
            self.variables = kept.copy()
            self._node(node.body, certain=certain)
            self.variables, self.script.environment = kept, exported
        else:
            self._node(node.body, certain=certain)

    def _sequence(self, sequence: Sequence, certain: bool) -> None:
        """A command behind ``||``, or behind a test and ``&&``, may not be reached; others are taken to succeed."""
        decided = False
        for before, node in sequence.items:
            decided = before in ("&&", "||") and (decided or before == "||")
            self._node(node, certain=certain and not decided)
            decided = decided or (isinstance(node, Simple) and bool(node.words) and _TESTS.match(node.words[0].raw) is not None)

    def _simple(self, node: Simple, certain: bool) -> None:
        if not node.words:
            for name, adds, word in node.assignments:
                self.variables.assign(name, word, adds=adds, certain=certain)
                self._keep(name, word.line)
            return
        first = node.words[0].raw
        if first in _FORGETFUL:
            for word in node.words[1:]:
                if word.raw.isidentifier():
                    self.variables.forget(word.raw)
        elif first in _DECLARES:
            for word in node.words[1:]:
                self._declare(word, certain)
        else:
            environment = {name: self.variables.given(word) for name, _, word in node.assignments}
            arguments = [argument for word in node.words for argument in self.variables.expand(word)]
            self._command(node, arguments, environment, certain)

    def _declare(self, word: Word, certain: bool) -> None:
        found = ASSIGNMENT.match(word.raw)
        if found is not None:
            value = Word(word.raw[found.end() :], word.line)
            self.variables.assign(found[1], value, adds=bool(found[2]), certain=certain)
            self.script.environment[found[1]] = self.variables.held(found[1], word.line)
        elif word.raw.isidentifier():
            self.script.environment[word.raw] = self.variables.held(word.raw, word.line)

    def _keep(self, name: str, line: int) -> None:
        """A variable that is exported stays so when it is set again."""
        if name in self.script.environment:
            self.script.environment[name] = self.variables.held(name, line)

    def _command(self, node: Simple, arguments: list[Argument], environment: dict[str, Piece], certain: bool) -> None:
        if not arguments:
            return
        text = _text_to_run(arguments)
        for heredoc in (redirect.heredoc for redirect in node.redirects if redirect.heredoc is not None):
            if text is None and _reads_commands(arguments):
                text = heredoc.body
            else:
                self.script.notes.append((heredoc.body.lines[0], "a here-document is not read"))
        if text is not None and self.nested < _MOST_NESTED:
            self.nested += 1
            self.read(text)
            self.nested -= 1
        else:
            self._run(node, tuple(arguments), environment, certain)

    def _run(self, node: Simple, arguments: tuple[Argument, ...], environment: dict[str, Piece], certain: bool) -> None:
        wrapped, _ = unwrapped(arguments)
        request = read_request(wrapped) if wrapped else None
        if request is not None and next(list_wanted(request), None) is not None:
            self.script.installs.append(Install(request, node.line, certain, tuple(_unquoted(node))))
            return
        if request is not None and request.tool == "conda" and request.action in ("install", "create"):
            self.script.of_conda.append(Install(request, node.line, certain))
            return
        program = wrapped[0].text.rpartition("/")[2] if wrapped else ""
        used = command_use([argument.text for argument in wrapped])
        if used is not None:
            self.script.commands.append(Piece(used, node.line))
        asked = wrapped[1].text.rpartition("/")[2] if len(wrapped) > 1 and program in _PYTHONS else ""
        if asked in _SCRIPTS:
            self.script.commands.append(Piece(f"python {asked}", node.line))
        launch = find_launch(list(map(piece_of, arguments)), {**self.script.environment, **environment}, node.line)
        if launch is not None:
            self.script.launches.append(launch)


def _text_to_run(arguments: list[Argument]) -> Text | None:
    """What ``eval`` and ``bash -c`` run, as far as it is known."""
    name = arguments[0].text.rpartition("/")[2]
    if name == "eval" and len(arguments) > 1:
        return whole_text(" ".join(argument.text for argument in arguments[1:]), arguments[0].line)
    if name in _SHELLS and len(arguments) > 2 and arguments[1].text in ("-c", "-lc", "-xc"):
        return whole_text(arguments[2].text, arguments[2].line)
    return None


def _unquoted(node: Simple) -> Iterator[str]:
    """The redirections of a command that were meant for versions."""
    for redirect in node.redirects:
        if redirect.target is not None and redirect.operator in ("<", ">") and _VERSION.fullmatch(redirect.target.raw):
            yield f"{redirect.operator}{redirect.target.raw}"


def _reads_commands(arguments: list[Argument]) -> bool:
    """Whether a program runs what it is given to read: ``bash <<EOF``."""
    return arguments[0].text.rpartition("/")[2] in _SHELLS and all(argument.text.startswith("-") for argument in arguments[1:])


def each_option(directives: Listed[Piece]) -> Iterator[tuple[str, str, int]]:
    """The options of ``#SBATCH`` lines: name, value, line."""
    for directive in directives:
        name, equals, value = directive.text.lstrip("-").partition("=")
        if not equals:
            name, _, value = name.partition(" ")
        yield name.strip(), value.strip().strip("\"'"), directive.line
