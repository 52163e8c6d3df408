"""Which commands a RUN line runs: variables, directories and conditions followed as far as the text alone tells them.

A command is taken to succeed. A condition that cannot be told makes what hangs on it uncertain.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from envdoctor.records import dataclass
from envdoctor.sources.shell.conditions import truth
from envdoctor.sources.shell.expansion import Lookup, arguments_of, assigned_of, bounded, fields_of
from envdoctor.sources.shell.lexer import ShellError
from envdoctor.sources.shell.marks import is_known, unknown
from envdoctor.sources.shell.parser import parse_shell
from envdoctor.sources.shell.text import Argument, Heredoc, Text
from envdoctor.sources.shell.tree import Case, For, Function, Group, If, Node, Not, Redirect, Sequence, Simple, While, Word
from envdoctor.sources.shell.wrappers import RUNNERS, unwrapped

_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ash"))
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_MOST_STEPS = 4000
_DEEPEST = 8
_MOST_STARS = 3


@dataclass(frozen=True, slots=True)
class Call:
    """One command as it is run; ``arguments`` begin with the program.

    ``environment`` is the Python environment that was activated before it: a directory, or the name of a conda one.
    ``written`` are the files that it writes its output to; ``stdin`` is the text it is given.
    """

    arguments: tuple[Argument, ...]
    line: int
    directory: str
    environment: str | None
    certain: bool
    value: Lookup
    written: tuple[str, ...] = ()
    stdin: Heredoc | None = None

    @property
    def program(self) -> str:
        return posixpath.basename(self.arguments[0].text)


class _StoppedError(Exception):
    """The script ends here."""


class Shell:
    """Runs scripts in thought; ``handle`` is told each command."""

    def __init__(self, value: Lookup, directory: str, handle: Callable[[Call], None], environment: str | None = None) -> None:
        self.outer, self.directory, self.handle, self.environment = value, directory, handle, environment
        self.local: dict[str, str] = {}
        self.functions: dict[str, Node] = {}
        self.certain, self.asking = True, False
        self.steps, self.depth = 0, 0
        self.problems: list[tuple[int, str]] = []

    def script(self, text: Text, heredocs: tuple[Heredoc, ...] = ()) -> None:
        parsed = parse_shell(text, heredocs)
        self._contained(parsed.body)
        if parsed.problem is not None:
            self.problems.append((parsed.problem.line, f"not understood as shell from here: {parsed.problem.why}"))

    def words(self, words: tuple[str, ...], line: int) -> None:
        """Run the JSON form of a command."""
        if words:
            self._dispatch(tuple(Argument(word, line) for word in words), (), None, line)

    def _contained(self, body: Sequence) -> None:
        try:
            self._sequence(body)
        except _StoppedError:
            pass
        except ShellError as error:
            self.problems.append((error.line, error.why))

    def value(self, name: str) -> str | None:
        if name in self.local:
            return self.local[name]
        return self.directory if name == "PWD" else self.outer(name)

    # What follows answers whether a command succeeds: None where the text does not tell.

    def _sequence(self, sequence: Sequence) -> bool | None:
        status: bool | None = True
        certain = self.certain
        for before, node in sequence.items:
            if (before == "&&" and status is False) or (before == "||" and status is True):
                continue
            self.certain = certain and not (before in ("&&", "||") and status is None)
            outcome = self._node(node)
            self.certain = certain
            status = outcome if before not in ("&&", "||") or status is not None else None
        return status

    def _node(self, node: Node) -> bool | None:
        if isinstance(node, Simple):
            return self._simple(node)
        if isinstance(node, Sequence):
            return self._sequence(node)
        if isinstance(node, Not):
            status = self._node(node.node)
            return None if status is None else not status
        if isinstance(node, If):
            return self._if(node)
        if isinstance(node, For):
            return self._for(node)
        if isinstance(node, While):
            return self._while(node)
        if isinstance(node, Case):
            return self._case(node)
        if isinstance(node, Function):
            self.functions[node.name] = node.body
            return True
        return self._group(node)

    def _maybe(self, body: Sequence) -> None:
        """Run what may not be run: what it does is uncertain, and so is what it sets."""
        certain, before = self.certain, dict(self.local)
        directory, environment = self.directory, self.environment
        self.certain = False
        self._sequence(body)
        self.certain = certain
        for name, value in self.local.items():
            if before.get(name, self.outer(name)) != value:
                self.local[name] = unknown(name)
        if self.directory != directory:
            self.directory = unknown("PWD")
        self.environment = environment

    def _if(self, node: If) -> bool | None:
        for number, (condition, body) in enumerate(node.branches):
            status = self._asked(condition)
            if status is True:
                self._sequence(body)
                return True
            if status is None:
                for _, other in node.branches[number:]:
                    self._maybe(other)
                if node.otherwise is not None:
                    self._maybe(node.otherwise)
                return True
        if node.otherwise is not None:
            self._sequence(node.otherwise)
        return True

    def _asked(self, condition: Sequence) -> bool | None:
        """Run commands for their status: of what is neither a test nor a constant nobody knows it."""
        asking, self.asking = self.asking, True
        status = self._sequence(condition)
        self.asking = asking
        return status

    def _for(self, node: For) -> bool | None:
        words = [field for word in node.words or () for field in fields_of(word.raw, self.value)]
        if node.words is None or not all(map(is_known, words)):
            self.local[node.name] = unknown(node.name)
            self._sequence(node.body)
            return True
        for word in words:
            self.local[node.name] = word
            self._sequence(node.body)
        return True

    def _while(self, node: While) -> bool | None:
        self._asked(node.condition)
        self._maybe(node.body)
        return True

    def _case(self, node: Case) -> bool | None:
        subject = self._text(node.word)
        for patterns, body in node.clauses:
            texts = [self._text(pattern) for pattern in patterns]
            if not is_known(subject) or not all(map(is_known, texts)) or any(text.count("*") > _MOST_STARS for text in texts):
                self._maybe(body)
            elif any(fnmatchcase(subject, text) for text in texts):
                self._sequence(body)
                return True
        return True

    def _group(self, node: Group) -> bool | None:
        if not node.subshell:
            return self._sequence(node.body)
        kept = dict(self.local), self.directory, self.environment
        try:
            return self._sequence(node.body)
        except _StoppedError:
            return None
        finally:
            self.local, self.directory, self.environment = kept

    def _simple(self, node: Simple) -> bool | None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise ShellError(node.line, "more commands than are followed")
        values = {name: self._assigned(name, more, word) for name, more, word in node.assignments}
        arguments = tuple(argument for word in node.words for argument in arguments_of(word.raw, word.line, self.value))
        if not arguments:
            self.local.update(values)
            return True
        kept = dict(self.local)
        self.local.update(values)
        try:
            return self._dispatch(arguments, node.redirects, node, arguments[0].line)
        finally:
            for name in values:
                if name in kept:
                    self.local[name] = kept[name]
                else:
                    self.local.pop(name, None)

    def _assigned(self, name: str, more: bool, word: Word) -> str:
        if word.raw.startswith("("):
            return unknown(name)
        text = (self.value(name) or "") + self._text(word) if more else self._text(word)
        kept = bounded(text)
        return unknown(name) if kept is None else kept

    def _text(self, word: Word) -> str:
        return assigned_of(word.raw, self.value)

    def _dispatch(self, arguments: tuple[Argument, ...], redirects: tuple[Redirect, ...], node: Simple | None, line: int) -> bool | None:
        arguments, values = unwrapped(arguments)
        kept = dict(self.local)
        self.local.update(values)
        try:
            return self._command(arguments, redirects, node, line)
        finally:
            for name in values:
                if name in kept:
                    self.local[name] = kept[name]
                else:
                    self.local.pop(name, None)

    def _command(self, arguments: tuple[Argument, ...], redirects: tuple[Redirect, ...], node: Simple | None, line: int) -> bool | None:
        if not arguments:
            return True
        program = posixpath.basename(arguments[0].text)
        texts = [argument.text for argument in arguments]
        if texts[0].startswith("(("):
            return None
        if program in ("[", "[[", "test"):
            return truth([text for text in texts[1:] if text not in ("]", "]]")], patterns=program == "[[")
        if program in ("true", ":", "false"):
            return program != "false"
        if program in ("exit", "return") and self.certain:
            raise _StoppedError
        if program in ("which", "type", "hash", "grep", "egrep", "-v", "-V"):
            return None
        if program in self.functions and self.depth < _DEEPEST:
            self.depth += 1
            status = self._node(self.functions[program])
            self.depth -= 1
            return status
        if self._built_in(program, texts):
            return True
        if program in _SHELLS and self._nested(arguments, redirects):
            return True
        if texts[1:2] == ["run"] and program in RUNNERS and self.depth < _DEEPEST:
            return self._in_environment(arguments, redirects, node, line)
        self._tell(arguments, redirects, line)
        return None if self.asking else True

    def _in_environment(
        self, arguments: tuple[Argument, ...], redirects: tuple[Redirect, ...], node: Simple | None, line: int
    ) -> bool | None:
        """``conda run -n NAME COMMAND``, and what uv and poetry have of the kind."""
        kept, rest = self.environment, arguments[2:]
        while rest and rest[0].text.startswith("-"):
            name, equals, value = rest[0].text.partition("=")
            valued = name in RUNNERS[posixpath.basename(arguments[0].text)]
            if name in ("-n", "--name", "-p", "--prefix") and valued:
                self.environment = value if equals else rest[1].text if len(rest) > 1 else kept
            rest = rest[2:] if valued and not equals else rest[1:]
        self.depth += 1
        status = self._dispatch(rest, redirects, node, line) if rest else True
        self.depth -= 1
        self.environment = kept
        return status

    def _tell(self, arguments: tuple[Argument, ...], redirects: tuple[Redirect, ...], line: int) -> None:
        written = tuple(
            self._path(self._text(redirect.target))
            for redirect in redirects
            if redirect.target is not None and redirect.operator in (">", ">>", ">|", "&>", "&>>")
        )
        stdin = next((redirect.heredoc for redirect in redirects if redirect.heredoc is not None), None)
        if arguments[0].text.endswith("xargs"):
            rest = arguments[1:]
            while rest and rest[0].text.startswith("-"):
                rest = rest[2:] if rest[0].text in ("-n", "-L", "-I", "-P", "-d", "-a") else rest[1:]
            arguments = (*rest, Argument(unknown("what xargs reads"), line)) if rest else arguments
        values = dict(self.local)

        def value(name: str) -> str | None:
            return values[name] if name in values else self.outer(name)

        self.handle(Call(arguments, line, self.directory, self.environment, self.certain, value, written, stdin))

    def _path(self, text: str) -> str:
        return posixpath.normpath(posixpath.join(self.directory, text))

    def _nested(self, arguments: tuple[Argument, ...], redirects: tuple[Redirect, ...]) -> bool:
        """``bash -c TEXT``, and a shell that reads a heredoc."""
        if self.depth >= _DEEPEST:
            return False
        text: Text | None = None
        for number, argument in enumerate(arguments[1:], start=1):
            if argument.text.startswith("-") and not argument.text.startswith("--") and "c" in argument.text:
                if number + 1 < len(arguments):
                    following = arguments[number + 1]
                    text = Text(following.text, (0,), (following.line,))
                break
        else:
            if not any(not argument.text.startswith("-") for argument in arguments[1:]):
                text = next((redirect.heredoc.body for redirect in redirects if redirect.heredoc is not None), None)
        if text is None:
            return False
        self.depth += 1
        kept = dict(self.local), self.directory, self.environment
        parsed = parse_shell(text)
        try:
            self._sequence(parsed.body)
        except _StoppedError:
            pass
        finally:
            self.depth -= 1
            self.local, self.directory, self.environment = kept
        if parsed.problem is not None:
            self.problems.append((parsed.problem.line, f"not understood as shell from here: {parsed.problem.why}"))
        return True

    def _built_in(self, program: str, texts: list[str]) -> bool:
        if program in ("cd", "pushd"):
            target = texts[1] if len(texts) > 1 else (self.value("HOME") or "/root")
            target = (self.value("HOME") or "/root") + target[1:] if target.startswith("~") else target
            self.directory = self._path(target) if is_known(target) and target != "-" else unknown("PWD")
        elif program == "popd":
            self.directory = unknown("PWD")
        elif program in ("export", "declare", "local", "readonly", "typeset"):
            for text in texts[1:]:
                assigned = _VARIABLE.fullmatch(text)
                if assigned:
                    self.local[assigned[1]] = assigned[2]
        elif program == "unset":
            for name in texts[1:]:
                self.local[name] = ""
        elif program in ("source", "."):
            self._activate(texts[1:])
        elif program in ("conda", "mamba", "micromamba") and texts[1:2] == ["activate"]:
            self.environment = texts[2] if len(texts) > 2 else "base"
        elif program == "deactivate" or (program == "conda" and texts[1:2] == ["deactivate"]):
            self.environment = None
        elif program == "eval" and all(map(is_known, texts)) and self.depth < _DEEPEST:
            self.depth += 1
            self._sequence(parse_shell(Text(" ".join(texts[1:]), (0,), (0,))).body)
            self.depth -= 1
        else:
            return program in ("set", "shopt", "trap", "umask", "ulimit", "wait", "sleep", "eval", "read", "shift")
        return True

    def _activate(self, texts: list[str]) -> None:
        if not texts:
            return
        script = texts[0]
        if posixpath.basename(script) == "activate":
            if len(texts) > 1:
                self.environment = texts[1]
            elif "/" in script:
                self.environment = self._path(posixpath.dirname(posixpath.dirname(script)))
