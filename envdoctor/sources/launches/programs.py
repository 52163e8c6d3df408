"""Which commands of a script launch a run, and what each is told: program, options, flags, environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from envdoctor.sources.launches.shell import Scanner, Word, commands
from envdoctor.sources.launches.variables import Piece, Variables

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
    _read(script, text, 1, Variables(), nested=0)
    return script


def _read(script: Script, text: str, line: int, variables: Variables, nested: int) -> None:
    scanner = Scanner(text, line)
    for command in commands(scanner):
        words = command.words
        if words[0].literal in ("for", "select", "read", "mapfile", "unset", "getopts"):
            for word in words[1:]:
                if (name := word.literal) is not None and name.isidentifier():
                    variables.forget(name)
                if words[0].literal in ("for", "select"):
                    break
            continue
        count = 0
        while count < len(words) and _is_assignment(words[count]):
            count += 1
        if count == len(words):
            for word in words:
                _keep(script, variables, variables.assign(word, command.certain), word.line)
            continue
        if words[count].literal in _DECLARES:
            for word in words[count + 1 :]:
                if _is_assignment(word):
                    _export(script, variables, variables.assign(word, command.certain), word.line)
                elif (name := word.literal) is not None and name.isidentifier():
                    _export(script, variables, name, word.line)
            continue
        environment = dict(variables.given(word) for word in words[:count])
        pieces = [piece for word in words[count:] for piece in variables.expand(word)]
        if not pieces:
            continue
        if nested < 2 and (again := _text_to_run(pieces)) is not None:
            _read(script, again.text, again.line, variables, nested + 1)
            continue
        _run(script, pieces, environment, command.line, command.certain)
    script.notes += scanner.notes


def _is_assignment(word: Word) -> bool:
    return bool(word.parts) and word.parts[0].kind == "text" and _ASSIGNS.match(word.parts[0].text) is not None


def _piece(variables: Variables, name: str, line: int) -> Piece:
    value = variables.values.get(name)
    return Piece(f"${name}", line, known=False) if value is None else Piece(" ".join(value.items), line, value.known)


def _export(script: Script, variables: Variables, name: str, line: int) -> None:
    script.environment[name] = _piece(variables, name, line)


def _keep(script: Script, variables: Variables, name: str, line: int) -> None:
    """A variable that is exported stays so when it is set again."""
    if name in script.environment:
        _export(script, variables, name, line)


def _text_to_run(pieces: Sequence[Piece]) -> Piece | None:
    """What ``eval`` and ``bash -c`` run, where it is known."""
    name = pieces[0].text.rpartition("/")[2]
    if name == "eval" and len(pieces) > 1:
        return Piece(" ".join(piece.text if piece.known else "''" for piece in pieces[1:]), pieces[0].line)
    if name in ("bash", "sh") and len(pieces) > 2 and pieces[1].text in ("-c", "-lc", "-xc") and pieces[2].known:
        return pieces[2]
    return None


def _run(script: Script, pieces: Sequence[Piece], environment: dict[str, Piece], line: int, certain: bool) -> None:
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


def _installs(pieces: Sequence[Piece]) -> Sequence[Piece] | None:
    words = [piece.text for piece in pieces[:6]]
    if not words:
        return None
    if re.fullmatch(r"(?:.*/)?pip[0-9.]*", words[0]) and "install" in words[1:3]:
        return pieces[words.index("install") + 1 :]
    if _PYTHON.fullmatch(words[0]) and words[1:4] == ["-m", "pip", "install"]:
        return pieces[4:]
    return pieces[3:] if words[:3] == ["uv", "pip", "install"] else None


def _launch(pieces: Sequence[Piece], environment: Mapping[str, Piece], line: int) -> Launch | None:
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


def _options(kind: str, rest: Sequence[Piece]) -> tuple[dict[str, Piece], list[Piece]]:
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


def flags(arguments: Sequence[Piece]) -> tuple[dict[str, list[Piece]], dict[str, int], list[Piece]]:
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


def each_option(directives: Sequence[Piece]) -> Iterator[tuple[str, str, int]]:
    """The options of ``#SBATCH`` lines: name, value, line."""
    for directive in directives:
        name, equals, value = directive.text.lstrip("-").partition("=")
        if not equals:
            name, _, value = name.partition(" ")
        yield name.strip(), value.strip().strip("\"'"), directive.line
