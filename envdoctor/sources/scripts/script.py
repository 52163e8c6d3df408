"""A training script or notebook: facts of the plan that its syntax tree shows."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Skip
from envdoctor.facts.vocabulary import WHOLE
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.sources.model.class_tree import Function
from envdoctor.sources.scripts.adapters import read_adapters
from envdoctor.sources.scripts.alone import shows_all
from envdoctor.sources.scripts.arguments import ASKED_OF_ARGUMENTS, read_arguments
from envdoctor.sources.scripts.claims import Claims
from envdoctor.sources.scripts.commands import read_commands
from envdoctor.sources.scripts.devices import read_devices
from envdoctor.sources.scripts.given import Given
from envdoctor.sources.scripts.handed_on import add_handed_on
from envdoctor.sources.scripts.launched import with_launched
from envdoctor.sources.scripts.loading import ASKED_OF_LOADS, OF_QUANTIZING, read_loading
from envdoctor.sources.scripts.named_models import read_other_names
from envdoctor.sources.scripts.notebook import read_cells
from envdoctor.sources.scripts.order import read_order
from envdoctor.sources.scripts.outline import outline
from envdoctor.sources.scripts.pipelines import read_pipelines
from envdoctor.sources.scripts.reading import Reading
from envdoctor.sources.scripts.shell import collect_installs
from envdoctor.sources.scripts.source import Piece, Source, read_pieces
from envdoctor.sources.scripts.steps import read_given_optimizers, read_steps
from envdoctor.sources.scripts.trainers import find_training, loads_unquantized, read_method, read_resumption, read_trainers
from envdoctor.sources.scripts.trees import hand_on
from envdoctor.sources.scripts.uses import read_uses
from envdoctor.sources.scripts.values import Evaluator
from envdoctor.syntax.walking import walk

if TYPE_CHECKING:
    from envdoctor.world.installation import Installation

SCRIPT_LIMIT = 4 * 2**20
# Notebooks carry the pictures that they drew.
NOTEBOOK_LIMIT = 32 * 2**20


def collect_script(path: Path, installation: Installation | None = None) -> Collected:
    """What a script or notebook says of the run, with file and line; nothing of it is executed.

    A value that is no constant states nothing; where it matters, or where two calls contradict each other, a skip says so with
    its lines. Defaults of the command line are stated with an origin ``default of --name in FILE``. Python of another release
    than ours is a skip, of a notebook each cell by itself. Markers in a notebook's ``pip install`` are judged for the installation.

    Raises:
        EnvdoctorError: unreadable, no UTF-8, or a notebook that is no JSON, with line and column.
    """
    return read_script(path, installation)[0]


def read_script(path: Path, installation: Installation | None = None, given: Given | None = None) -> tuple[Collected, tuple[str, ...]]:
    """What ``collect_script`` collects, and the other files that were looked for, whether they are there or not.

    Raises:
        EnvdoctorError: as ``collect_script`` does.
    """
    source = open_source(path)
    if isinstance(source, Skip):
        return Collected(skips=(source,)), ()
    installs = collect_installs(source, installation)
    found, looked_for = _read(source, given)
    found = with_launched(found, source) if source.shell else found
    hand_on(source)
    defects, skips = (*found.defects, *installs.defects), (*found.skips, *installs.skips)
    return Collected((*found.facts, *installs.facts), defects, skips, wanted=installs.wanted), looked_for


def open_source(path: Path) -> Source | Skip:
    """The Python of a script or notebook; a skip for JSON that is no notebook.

    Raises:
        EnvdoctorError: unreadable, no UTF-8, or a notebook that is no JSON, with line and column.
    """
    place = plain(str(path), 4096)
    notebook = path.suffix.lower() == ".ipynb"
    try:
        data = read_bounded(path, NOTEBOOK_LIMIT if notebook else SCRIPT_LIMIT)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected="a Python script or a notebook", next_step="check the path") from None
    if notebook:
        pieces = read_cells(data, place)
        if pieces is None:
            return Skip(place, "JSON without cells: no notebook", lost=True)
    else:
        pieces = [Piece(_decoded(data, place))]
    return read_pieces(str(path), pieces)


def _decoded(data: bytes, place: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise EnvdoctorError(
            f"{place}, line {line}, column {column}",
            found=f"the byte 0x{data[error.start]:02x}, which is no UTF-8",
            expected="Python in UTF-8",
            next_step="save the file as UTF-8",
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def functions_not_called(source: Source) -> frozenset[str]:
    """The module's functions that a script with an entry of its own never mentions again, in whatever way."""
    text = source.text
    if source.cut or "Fire()" in text or "globals()" in text:
        return frozenset()
    names = [item.name for item in source.body if isinstance(item, Function) and not item.decorator_list]
    mentions = Counter(re.findall(r"\w+", text)) if names else Counter()
    unused = frozenset(name for name in names if mentions[name] == 1)
    return unused if unused and ("__main__" in text or _calls_own(source, frozenset(names) - unused)) else frozenset()


def _calls_own(source: Source, names: frozenset[str]) -> bool:
    """Whether the module itself, outside its definitions, has one of its functions run: a module that others import does not."""
    statements = [item for item in source.body if isinstance(item, (ast.Expr, ast.Assign, ast.With, ast.For, ast.Try)) and names]
    calls = (node.func for item in statements for node in walk(item) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id in names for called in calls)


def _read(source: Source, given: Given | None = None) -> tuple[Collected, tuple[str, ...]]:
    found = outline(source.body, functions_not_called(source))
    evaluator = Evaluator(found, given)
    claims = Claims(source)
    reading = Reading(source, found, evaluator, claims)
    reading.find_calls()
    add_handed_on(reading)
    read_commands(reading)
    find_training(reading)
    loads = read_loading(reading)
    read_adapters(reading)
    read_arguments(reading)
    read_order(reading, loads)
    trainers = read_trainers(reading)
    answers = read_pipelines(reading, [*loads, *trainers])
    read_other_names(reading)
    read_resumption(reading)
    read_given_optimizers(reading, trainers)
    read_devices(reading)
    loops = read_steps(reading, has_trainer=bool(trainers))
    fits = [call for package in ("lightning", "pytorch_lightning") for call in reading.named(package, "Trainer", "Fabric")]
    if loops or (fits and not trainers):
        claims.state("plan.trainer", "own", next(reading.methods("backward")).line if loops else fits[0].line)
    read_method(reading, trainers, [*loads, *answers], trains_itself=loops)
    if not source.cut and (trainers or loops or (loads and "plan.method" in claims.claims)):
        claims.default(WHOLE, True, "default of a script that was read to its end")
        # What another module decides cannot be read here.
        if not loads and loads_unquantized(reading, trainers):
            for fact in OF_QUANTIZING:
                claims.state(fact, False, trainers[0].line, trainers[0].scope)
            claims.leave_open(ASKED_OF_LOADS - {*OF_QUANTIZING, "plan.quant"})
        elif not loads:
            claims.leave_open(ASKED_OF_LOADS)
        if trainers and "plan.arguments" not in claims.claims:
            claims.leave_open(ASKED_OF_ARGUMENTS)
    read_uses(reading)
    if shows_all(reading):
        claims.state("plan.script", True, 1)
        if "plan.trainer" not in claims.claims and [claim.value for claim in claims.claims.get("plan.method", ())] == ["inference"]:
            claims.default("plan.trainer", "none", "default of a script that answers and trains nothing")
    if evaluator.tired:
        claims.skips.append(Skip(plain(source.path, 4096), "expressions too many or too large: what was not reached is unknown"))
    found.release()
    return claims.collected(), tuple(claims.looked_for)
