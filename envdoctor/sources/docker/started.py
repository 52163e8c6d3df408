"""What an image runs when nobody names another command: its ENTRYPOINT with its CMD, read as the line of a launcher.

https://docs.docker.com/reference/dockerfile/#understand-how-cmd-and-entrypoint-interact: the words of CMD follow an ENTRYPOINT of words; an
ENTRYPOINT of text takes none; and an ENTRYPOINT that a stage sets takes the CMD away that it had from the stage or image before.

Whoever starts the image may name another command: what a plan, a script or a launcher says that is named beside the Dockerfile replaces it.
"""

from __future__ import annotations

import os.path
import re
import shlex
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import STARTED, Collected, Fact, Origin, Skip
from envdoctor.facts.vocabulary import ADDING_UP
from envdoctor.records import replace
from envdoctor.sources.docker.parse import Instruction
from envdoctor.sources.docker.stage import Stage
from envdoctor.sources.launches.launcher import add_surroundings, agreed, is_launcher, read_launcher
from envdoctor.sources.launches.script import read_script
from envdoctor.sources.launches.settings import told_by
from envdoctor.sources.launches.started import ReadScript, is_one_run
from envdoctor.sources.shell.marks import is_known

# A name of a file that a command may hand on: what it starts, or the plan.
_FILE = re.compile(r"(?<![\w./~$}{@:=-])(?:/|\./|\.\./)*[\w.-]+(?:/[\w.-]+)*\.(?:py|sh|bash|ya?ml|json)(?![\w./-])", re.ASCII)
# Where a file of the image lies that is not of the build context: nowhere here.
_OF_THE_IMAGE = "image:"
_CHANGES_DIRECTORY = re.compile(r"(?:^|[;&|(\s])(?:cd|pushd)\s")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|z|da)?sh")
_MOST_VARIABLES = 200


def with_started(image: Collected, stage: Stage, dockerfile: Path, read: ReadScript | None) -> Collected:
    """What an image holds, with the facts of the run that it starts; ``read`` reads Python scripts. What the image sets itself stays."""
    started = _started(stage, dockerfile, read)
    set_before = {fact.name for fact in image.facts if fact.name not in ADDING_UP}
    more = tuple(_marked(fact, dockerfile) for fact in started.facts if fact.name not in set_before)
    return replace(image, facts=(*image.facts, *more), skips=(*image.skips, *started.skips))


def _marked(fact: Fact, dockerfile: Path) -> Fact:
    places = tuple(Origin(f"{STARTED}{dockerfile}", one.file, one.line) for one in fact.places)
    source = fact.origin.source if fact.origin.source.startswith("default of") else f"{STARTED}{dockerfile}"
    return replace(fact, origin=Origin(source, fact.origin.file, fact.origin.line), places=places)


def _started(stage: Stage, dockerfile: Path, read: ReadScript | None) -> Collected:
    """The facts of the launches of the command, or of the launcher that it starts; nothing where neither is known."""
    text, line = _command(stage)
    if not text:
        return Collected()
    found = _launcher(text, stage, read)
    if found is not None:
        return found
    exported = "".join(f"export {name}={shlex.quote(value)}; " for name, value in _variables(stage))
    # The lines that are told are those of the Dockerfile.
    script = read_script("\n" * (line - 1) + exported + _here(text.replace("\n", " "), stage, dockerfile))
    alone = is_one_run(dockerfile, script.launches, read)
    told = [(launch, told_by(dockerfile, launch, read, alone=alone)) for launch in script.launches]
    skips: list[Skip] = []
    facts = agreed(str(dockerfile), told, skips)
    if script.commands or facts:
        add_surroundings(dockerfile, script, facts)
    return Collected(tuple(facts.values()), skips=tuple(dict.fromkeys([*(skip for _, found in told for skip in found.skips), *skips])))


def _command(stage: Stage) -> tuple[str, int]:
    """What is run, as a line of a shell, and the line of the instruction; an empty text where the Dockerfile names nothing."""
    entry, command = stage.entrypoint, stage.command
    if entry is None and stage.entered_by and command is not None and command.words is not None:
        return f"{shlex.join(stage.entered_by)} {_text(command)}", command.line
    if entry is None:
        return (_text(command), command.line) if command is not None else ("", 0)
    if entry.words is not None and command is not None and command.words is not None:
        return f"{_text(entry)} {_text(command)}", command.line
    return _text(entry), entry.line


def _text(instruction: Instruction) -> str:
    return instruction.body.text.strip() if instruction.words is None else shlex.join(instruction.words)


def _variables(stage: Stage) -> list[tuple[str, str]]:
    return [(name, value) for name, value in stage.variables.items() if name.isidentifier() and is_known(value)][:_MOST_VARIABLES]


def _launcher(text: str, stage: Stage, read: ReadScript | None) -> Collected | None:
    """What the shell script says that is started, where it lies in the build context; None where something else is started."""
    words = text.split()
    named = words[1] if len(words) > 1 and _SHELL.fullmatch(words[0]) else words[0]
    lies = stage.files.find(stage.path(named)) if _FILE.fullmatch(named) else ""
    if not isinstance(lies, Path) or not is_launcher(lies):
        return None
    try:
        return Collected(read_launcher(lies, read).collected.facts)
    except EnvdoctorError:
        return None


def _here(text: str, stage: Stage, dockerfile: Path) -> str:
    """The command with the files of the build context at the paths that they have beside the Dockerfile."""
    moved = _CHANGES_DIRECTORY.search(text) is not None

    def place(match: re.Match[str]) -> str:
        named = match[0]
        lies = "" if moved and not named.startswith("/") else stage.files.find(stage.path(named))
        if isinstance(lies, Path):
            return os.path.relpath(lies, dockerfile.parent)
        return _OF_THE_IMAGE + (named if moved else stage.path(named))

    return _FILE.sub(place, text)
