"""Which commands of a script launch a run, and what each is told: program, options, flags, environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from envdoctor.records import dataclass, field
from envdoctor.sources.launches.variables import Piece
from envdoctor.sources.shell.wrappers import RUNNERS, WRAPPERS

Starter = Literal["python", "torchrun", "deepspeed", "accelerate"]

_WRAPPERS = frozenset(WRAPPERS) | frozenset(RUNNERS) | {"srun", "numactl", "mpirun", "mpiexec", "setsid", "taskset"}
TOOLS = frozenset(("swift", "megatron", "llamafactory-cli", "lmf", "axolotl", "trl", "tune", "vllm"))
_PROGRAMS = TOOLS | {"torchrun", "accelerate", "deepspeed"}
_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_ASSIGNS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")

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


def find_launch(pieces: Sequence[Piece], exported: Mapping[str, Piece], line: int) -> Launch | None:
    """The run that a command starts, behind whatever starts it (``env A=1``, ``srun``, ``uv run``); None where it starts none."""
    environment = dict(exported)
    while pieces and _ASSIGNS.match(pieces[0].text):
        # After `env`, or where a variable held an assignment.
        _set(environment, pieces[0])
        pieces = pieces[1:]
    if pieces and pieces[0].text.rpartition("/")[2] in _WRAPPERS:
        start = next((number for number, piece in enumerate(pieces) if number and _is_program(piece.text)), None)
        for piece in pieces[1:start] if start else ():
            if _ASSIGNS.match(piece.text):
                _set(environment, piece)
        pieces = pieces[start:] if start else ()
    return _launch(pieces, environment, line) if pieces else None


def _set(environment: dict[str, Piece], piece: Piece) -> None:
    name, _, value = piece.text.partition("=")
    environment[name] = Piece(value, piece.line, piece.known)


def _is_program(text: str) -> bool:
    return text.rpartition("/")[2] in _PROGRAMS or _PYTHON.fullmatch(text) is not None


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
