"""Facts from a shell launcher: what the commands of a script tell the runs that they start. Nothing is run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Skip
from envdoctor.facts.same_uses import list_same
from envdoctor.facts.united import unite
from envdoctor.facts.uses import ALLOCATOR, DIRECTORIES, SECRETS, SOME, SWITCHES
from envdoctor.facts.vocabulary import ADDING_UP
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.records import dataclass, replace
from envdoctor.sources.launches.programs import Launch
from envdoctor.sources.launches.script import Install, Script, each_option, read_script
from envdoctor.sources.launches.settings import Told, told_by
from envdoctor.sources.launches.started import ReadScript, is_one_run
from envdoctor.sources.plans.plan_file import PlanFile
from envdoctor.sources.plans.reader import Reader

if TYPE_CHECKING:
    from envdoctor.world.installation import Installation

# Launchers are a page or two; so large a one takes a few seconds.
_LIMIT = 2**18
_SUFFIXES = (".sh", ".bash", ".slurm", ".sbatch", ".zsh", ".ksh")
_SHELLS = (b"sh", b"bash", b"zsh", b"ksh", b"dash")
_MOST_LAUNCHES = 64
# It sets variables of its own for the run.
_BY_ACCELERATE = "$ accelerate launch"
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@dataclass(frozen=True, slots=True)
class Launcher:
    """What a launcher says of the run, and what it installs before."""

    collected: Collected
    installs: tuple[Install, ...] = ()
    of_conda: tuple[Install, ...] = ()


def is_launcher(path: Path) -> bool:
    """Whether a file is a shell script: by its name, else by its first line."""
    if path.suffix.lower() in _SUFFIXES:
        return True
    if path.suffix:
        return False
    try:
        with path.open("rb") as stream:
            first = stream.read(128).split(b"\n")[0]
    except (OSError, ValueError):
        return False
    words = first.removeprefix(b"#!").replace(b"/", b" ").split()
    return first.startswith(b"#!") and any(word in _SHELLS for word in words)


def collect_launcher(path: Path, installation: Installation | None = None, read: ReadScript | None = None) -> Collected:
    """The facts of ``read_launcher``, with the packages that it installs before the run."""
    launcher = read_launcher(path, read)
    if not launcher.installs and not launcher.of_conda:
        return launcher.collected
    from envdoctor.sources.declared.declarations import Declarations
    from envdoctor.sources.declared.requirement_line import declare
    from envdoctor.sources.installers.wanted import list_wanted
    from envdoctor.world.installation import Installation

    place = plain(str(path), 4096)
    declared = Declarations(installation or Installation())
    if launcher.of_conda:
        from envdoctor.sources.launches.conda import state_conda

        state_conda(path, launcher.of_conda, launcher.installs, declared)
    for install in launcher.installs:
        for text in install.unquoted:
            declared.skip(f"{place}:{install.line}", f"pip install ...{text}: without quotes the shell takes {text[0]} for a redirection")
        for text, line, why in list_wanted(install.request):
            if why:
                declared.skip(f"{place}:{line}", f"pip install {text}: {why}")
            elif not install.certain:
                declared.skip(f"{place}:{line}", f"pip install {text}: under a condition, in a loop or in a function")
            else:
                declare(text, place, line, declared)
    found = declared.collected()
    told = launcher.collected
    return replace(
        told,
        facts=(*told.facts, *found.facts),
        defects=(*told.defects, *found.defects),
        skips=(*told.skips, *found.skips),
        wanted=found.wanted,
    )


def read_launcher(path: Path, read: ReadScript | None = None) -> Launcher:
    """What a shell script tells the runs that it starts, with the line of each flag; ``read`` reads the Python scripts among them.

    Where several commands contradict each other in a fact, the fact is left out and a skip names their lines.

    Raises:
        EnvdoctorError: the file cannot be read, or is no text.
    """
    place = plain(str(path), 4096)
    script = read_script(_text(path))
    skips = [Skip(f"{place}:{line}", why) for line, why in script.notes[:20]]
    launches = script.launches[:_MOST_LAUNCHES]
    if len(script.launches) > _MOST_LAUNCHES:
        skips.append(Skip(place, f"{len(script.launches)} commands that start a run: the first {_MOST_LAUNCHES} are read"))
    alone = is_one_run(path, launches, read)
    told = [(launch, told_by(path, launch, read, alone=alone)) for launch in launches]
    said = [(launch, found) for launch, found in told if found.facts or found.skips]
    facts = agreed(place, said, skips)
    for _, found in said:
        skips += [skip for skip in found.skips if skip not in skips]
    add_surroundings(path, script, facts)
    if not facts and not skips and not script.installs and not script.of_conda:
        skips.append(Skip(place, "no command in it starts a training run that is known"))
    return Launcher(Collected(tuple(facts.values()), skips=tuple(skips)), tuple(script.installs), tuple(script.of_conda))


def _text(path: Path) -> str:
    place = plain(str(path))
    expected = "a shell script"
    try:
        data = read_bounded(path, _LIMIT)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected=expected, next_step="check the path") from None
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise EnvdoctorError(f"{place}, line {line}", found="a NUL byte: no text", expected=expected, next_step="check the file")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def agreed(place: str, said: Sequence[tuple[Launch, Told]], skips: list[Skip]) -> dict[str, Fact]:
    """The facts in which all launches agree; what only one of them says holds."""
    facts: dict[str, Fact] = {}
    by: dict[str, Launch] = {}
    disputed: dict[tuple[int, int], list[str]] = {}
    lost: set[str] = set()
    for launch, found in said:
        for name, fact in found.facts.items():
            before = facts.get(name)
            if before is None:
                facts[name], by[name] = fact, launch
            elif name in ADDING_UP:
                facts[name] = unite((before, fact))
            elif before.value != fact.value:
                disputed.setdefault((by[name].line, launch.line), []).append(name.removeprefix("plan."))
                lost.add(name)
    for (one, other), names in disputed.items():
        listed = ", ".join(sorted(set(names)))
        why = f"the commands on lines {one} and {other} differ in {listed}: give the one that is meant with --set"
        skips.append(Skip(f"{place}:{other}", plain(why, 400)))
    return {name: fact for name, fact in facts.items() if name not in lost}


def add_surroundings(path: Path, script: Script, facts: dict[str, Fact]) -> None:
    """Add what holds for all commands of a script to the facts of its launches, which have their say first."""
    for fact in _surroundings(path, script, facts):
        before = facts.get(fact.name)
        if before is not None and fact.name == "plan.code_uses":
            facts[fact.name] = unite((before, fact))
        else:
            facts.setdefault(fact.name, fact)


def _surroundings(path: Path, script: Script, facts: dict[str, Fact]) -> list[Fact]:
    """What holds for all commands: the environment that is exported, and what SLURM is asked for."""
    found: list[Fact] = []
    environment = dict(script.environment)
    for launch in script.launches:
        environment.update(launch.environment)
    for name in _OFFLINE:
        piece = environment.get(name)
        if piece is not None and piece.known and piece.text.strip().upper() in ("1", "ON", "YES", "TRUE"):
            found += _say(path, "plan.offline", True, piece.line)
    asked = [(name, environment[name]) for name in ALLOCATOR if name in environment]
    grown = [(name, piece.line) for name, piece in asked if piece.known and "expandable_segments:true" in piece.text.lower()]
    variables = [(f"env:{name}=expandable_segments:True", line) for name, line in grown]
    switched = [(name, environment[name]) for name in SWITCHES if name in environment]
    variables += [(f"env:{name}={piece.text.strip()}", piece.line) for name, piece in switched if piece.known]
    placed = [(name, environment[name]) for name in DIRECTORIES if name in environment and environment[name].text]
    variables += [(f"env:{name}={piece.text.strip() if piece.known else SOME}", piece.line) for name, piece in placed]
    variables += [(f"env:{name}", environment[name].line) for name in SECRETS if name in environment]
    variables += [(f"$ {piece.text}", piece.line) for piece in script.commands]
    by_accelerate = [launch.line for launch in script.launches if any(kind == "accelerate" for kind, _ in launch.starters)]
    variables += [(_BY_ACCELERATE, line) for line in by_accelerate[:1]]
    if variables:
        uses = [same for use, _ in variables for same in list_same(use)]
        found += _say(path, "plan.code_uses", uses, variables[0][1])
    count, nodes, line = None, 1, 0
    for option, value, at in each_option(script.directives):
        last = value.rpartition(":")[2]
        if option in ("nodes", "N") and _is_small(value):
            nodes = int(value)
        elif option in ("gpus-per-node", "gpus", "G", "gres") and (option != "gres" or value.startswith("gpu")) and _is_small(last):
            count, line = (int(last), option in ("gpus", "G")), at
    if count is not None and script.launches and "gpu.count" not in facts:
        found += _say(path, "gpu.count", count[0] if count[1] else count[0] * nodes, line)
    return found


def _is_small(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 5


def _say(path: Path, name: str, value: object, line: int) -> list[Fact]:
    reader = Reader(path, PlanFile({}, "", {("here",): line}))
    reader.say(name, value, "here")
    return list(reader.facts.values())
