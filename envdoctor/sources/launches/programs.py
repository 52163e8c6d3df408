"""Which commands of a script launch a run, and what each is told: program, options, flags, environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Listed
from dataclasses import dataclass, field
from typing import Literal

from envdoctor.sources.launches.variables import Piece, Variables, piece_of
from envdoctor.sources.shell.lexer import ASSIGNMENT
from envdoctor.sources.shell.marks import without_marks
from envdoctor.sources.shell.parser import parse_shell
from envdoctor.sources.shell.text import Argument, Text, whole_text
from envdoctor.sources.shell.tree import Case, For, Function, If, Node, Not, Sequence, Simple, While, Word

Starter = Literal["python", "torchrun", "deepspeed", "accelerate"]

_WRAPPERS = frozenset(
    ("sudo", "env", "nohup", "srun", "exec", "numactl", "mpirun", "mpiexec", "stdbuf", "command", "nice", "uv", "poetry", "pipenv",
     "conda", "mamba", "micromamba", "setsid", "taskset")
)  # fmt: skip
TOOLS = frozenset(("swift", "megatron", "llamafactory-cli", "lmf", "axolotl", "trl", "tune"))
_PROGRAMS = TOOLS | {"torchrun", "accelerate", "deepspeed"}
_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_DECLARES = frozenset(("export", "declare", "local", "readonly", "typeset"))
_FORGETFUL = frozenset(("read", "mapfile", "readarray", "unset", "getopts"))
_TESTS = re.compile(r"(?:\[|\[\[|test)$|\(\(")
_SHELLS = frozenset(("bash", "sh"))
_MOST_NESTED = 2

# Options of launchers that stand alone; all others take the next word.
_ALONE: Mapping[str, frozenset[str]] = {
    "python": frozenset(("u", "O", "OO", "B", "E", "s", "S", "I", "i", "q", "v")),
    "torchrun": frozenset(("standalone", "no_python", "use_env", "run_path", "m", "module")),
    "deepspeed": frozenset(
        ("no_python", "module", "no_local_rank", "no_ssh", "no_ssh_check", "force_multi", "bind_cores_to_rank", "save_pid",
         "elastic_training")
    ),
    "accelerate": frozenset(
        ("cpu", "multi_gpu", "tpu", "ipex", "use_deepspeed", "use_fsdp", "use_megatron_lm", "use_xpu", "use_tpu", "use_parallelism_config",
         "debug", "quiet", "q", "module", "m", "no_python", "same_network", "enable_cpu_affinity", "dynamo_use_fullgraph",
         "dynamo_use_dynamic", "dynamo_use_regional_compilation", "tpu_cluster", "no_tpu_cluster", "tpu_use_sudo", "downcast_bf16")
    ),
}  # fmt: skip
_MODULES = {
    "torch.distributed.launch": "torchrun",
    "torch.distributed.run": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}


@dataclass(frozen=True, slots=True)
class Launch:
    """One command that starts a run.

    ``tool`` is the program or script that reads ``arguments``; ``starters`` are what starts it on many
    GPUs, outermost first, with the options that they were given.
    """

    line: int
    tool: str
    arguments: tuple[Piece, ...]
    starters: tuple[tuple[str, Mapping[str, Piece]], ...] = ()
    environment: Mapping[str, Piece] = field(default_factory=dict)
    module: bool = False


@dataclass(frozen=True, slots=True)
class Install:
    """The words after ``pip install`` on one line of a script, options included; ``certain`` as that of a command."""

    arguments: tuple[str, ...]
    line: int
    certain: bool = True


@dataclass(slots=True)
class Script:
    """What a script does, in order: launches, installations, and the environment that it exports."""

    launches: list[Launch] = field(default_factory=list)
    installs: list[Install] = field(default_factory=list)
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
            _run(self.script, list(map(piece_of, arguments)), environment, node.line, certain)


def _text_to_run(arguments: list[Argument]) -> Text | None:
    """What ``eval`` and ``bash -c`` run, as far as it is known."""
    name = arguments[0].text.rpartition("/")[2]
    if name == "eval" and len(arguments) > 1:
        return whole_text(" ".join(argument.text for argument in arguments[1:]), arguments[0].line)
    if name in _SHELLS and len(arguments) > 2 and arguments[1].text in ("-c", "-lc", "-xc"):
        return whole_text(arguments[2].text, arguments[2].line)
    return None


def _reads_commands(arguments: list[Argument]) -> bool:
    """Whether a program runs what it is given to read: ``bash <<EOF``."""
    return arguments[0].text.rpartition("/")[2] in _SHELLS and all(argument.text.startswith("-") for argument in arguments[1:])


def _run(script: Script, pieces: Listed[Piece], environment: dict[str, Piece], line: int, certain: bool) -> None:
    while pieces and _ASSIGNS.match(pieces[0].text):
        # After `env`, or where a variable held an assignment.
        name, _, value = pieces[0].text.partition("=")
        environment[name] = Piece(value, pieces[0].line, pieces[0].known)
        pieces = pieces[1:]
    if not pieces:
        return
    name = pieces[0].text.rpartition("/")[2]
    if name in _WRAPPERS and not _installs(pieces):
        start = next((number for number, piece in enumerate(pieces) if number and _is_program(piece.text)), None)
        for piece in pieces[1:start] if start else ():
            if _ASSIGNS.match(piece.text):
                variable, _, value = piece.text.partition("=")
                environment[variable] = Piece(value, piece.line, piece.known)
        pieces = pieces[start:] if start else ()
        if not pieces:
            return
    installed = _installs(pieces)
    if installed is not None:
        script.installs.append(Install(tuple(piece.text for piece in installed if piece.known), line, certain))
        return
    launch = _launch(pieces, {**script.environment, **environment}, line)
    if launch is not None:
        script.launches.append(launch)


def _is_program(text: str) -> bool:
    return text.rpartition("/")[2] in _PROGRAMS or _PYTHON.fullmatch(text) is not None


def _installs(pieces: Listed[Piece]) -> Listed[Piece] | None:
    words = [piece.text for piece in pieces[:6]]
    if not words:
        return None
    if re.fullmatch(r"(?:.*/)?pip[0-9.]*", words[0]) and "install" in words[1:3]:
        return pieces[words.index("install") + 1 :]
    if _PYTHON.fullmatch(words[0]) and words[1:4] == ["-m", "pip", "install"]:
        return pieces[4:]
    return pieces[3:] if words[:3] == ["uv", "pip", "install"] else None


def _launch(pieces: Listed[Piece], environment: Mapping[str, Piece], line: int) -> Launch | None:
    """Peel the starters off a command: ``accelerate launch ... torchrun ... script.py --flags``."""
    starters: list[tuple[str, Mapping[str, Piece]]] = []
    rest = list(pieces)
    module = False
    while rest and len(starters) < 4:
        text = rest[0].text
        name = text.rpartition("/")[2]
        if _PYTHON.fullmatch(text):
            kind = "python"
        elif name in ("torchrun", "deepspeed"):
            kind = name
        elif name == "accelerate" and len(rest) > 1 and rest[1].text == "launch":
            kind, rest = name, rest[1:]
        elif module and text in _MODULES:
            kind = _MODULES[text]
        else:
            break
        options, rest = _options(kind, rest[1:])
        if kind != "python":
            starters.append((kind, options))
        module = "m" in options or "module" in options
    if not rest or not (rest[0].known or starters):
        return None
    tool = rest[0].text
    runs = bool(starters) or tool.endswith(".py") or module or tool.rpartition("/")[2] in _PROGRAMS
    return Launch(line, tool, tuple(rest[1:]), tuple(starters), environment, module) if runs else None


def _options(kind: str, rest: Listed[Piece]) -> tuple[dict[str, Piece], list[Piece]]:
    """A launcher's own options, by their names with underscores, and the words from its script on."""
    found: dict[str, Piece] = {}
    at = 0
    while at < len(rest) and rest[at].text.startswith("-") and rest[at].text != "-":
        piece = rest[at]
        name, equals, value = piece.text.lstrip("-").partition("=")
        name = name.replace("-", "_")
        at += 1
        if equals:
            found[name] = Piece(value, piece.line, piece.known)
        elif name in _ALONE[kind]:
            found[name] = Piece("True", piece.line)
            if kind == "python" and name == "i":
                break
        elif kind == "python" and name == "m":
            found[name] = Piece("True", piece.line)
        elif kind == "python" and name == "c":
            return found, []
        elif at < len(rest):
            found[name] = Piece(rest[at].text, piece.line, rest[at].known)
            at += 1
    return found, list(rest[at:])


def flags(arguments: Listed[Piece]) -> tuple[dict[str, list[Piece]], dict[str, int], list[Piece]]:
    """``--name value ...``, ``--name=value`` and ``--name``: the values and the line of each, and the words before the first flag.

    A word that is not known and stands where a flag may stand is under the name ``""``.
    """
    values: dict[str, list[Piece]] = {}
    lines: dict[str, int] = {}
    before: list[Piece] = []
    name: str | None = None
    for piece in arguments:
        if not piece.known and piece.text.startswith(("$@", "$*", "${@", "${*")):
            values.setdefault("", []).append(piece)
            continue
        if piece.text.startswith("--") and len(piece.text) > 2:
            name, equals, value = piece.text[2:].partition("=")
            values[name] = [Piece(value, piece.line, piece.known)] if equals else []
            lines[name] = piece.line
            if equals:
                name = None
        elif name is not None:
            values[name].append(piece)
        elif (piece.known and not piece.text.startswith("-")) or piece.text.endswith((".yaml", ".yml", ".json")):
            before.append(piece)
        elif not piece.known:
            values.setdefault("", []).append(piece)
    return values, lines, before


def each_option(directives: Listed[Piece]) -> Iterator[tuple[str, str, int]]:
    """The options of ``#SBATCH`` lines: name, value, line."""
    for directive in directives:
        name, equals, value = directive.text.lstrip("-").partition("=")
        if not equals:
            name, _, value = name.partition(" ")
        yield name.strip(), value.strip().strip("\"'"), directive.line
