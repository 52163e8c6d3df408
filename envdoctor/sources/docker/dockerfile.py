"""A Dockerfile or Containerfile as a target: what the image that it builds would hold.

The last stage is what ships. What other stages install, and nothing of it is copied or built upon, is a choice of its own.
"""

from __future__ import annotations

import re
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Skip
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.sources.declared.variant import Variant
from envdoctor.sources.docker.build import build
from envdoctor.sources.docker.environments import Environment
from envdoctor.sources.docker.parse import Dockerfile, parse_dockerfile
from envdoctor.sources.docker.stage import Stage
from envdoctor.sources.docker.started import with_started
from envdoctor.sources.launches.started import ReadScript
from envdoctor.world.installation import Installation
from envdoctor.world.releases import tracked

_MOST_BYTES = 512 * 2**10
_NAMED = re.compile(r"(?:docker|container)file(?:[._-].+)?|.+\.(?:docker|container)file", re.IGNORECASE)
_OTHER = re.compile(r".*\.(?:md|rst|txt|py|sh|ya?ml|json|toml|j2|jinja2?|tmpl|template|in|html?|dockerignore)", re.IGNORECASE)
_CONDA_RUN = re.compile(r"(?:\S*/)?(?:conda|mamba|micromamba) run .*?(?:-n|--name|-p|--prefix)[ =](\S+)")


def is_dockerfile(path: Path) -> bool:
    """By its name, as docker and editors know it: ``Dockerfile``, ``Containerfile``, ``Dockerfile.gpu``, ``cuda.dockerfile``."""
    return _NAMED.fullmatch(path.name) is not None and _OTHER.fullmatch(path.name) is None


def collect_dockerfile(path: Path, installation: Installation, read: ReadScript | None = None) -> tuple[Variant, ...]:
    """What the image holds that a Dockerfile builds, as the file stands: without ``--build-arg`` and without ``--target``.

    The first variant is the last stage, with the run that it starts; ``read`` reads the Python script of that. Others:
    ``environment NAME``, a second Python environment of it; ``stage NAME``, a stage that installs packages which the rules know and
    that nothing else is built from.

    Raises:
        EnvdoctorError: the file cannot be read, or is no text.
    """
    place = plain(str(path), 4096)
    try:
        data = read_bounded(path, _MOST_BYTES)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected="a Dockerfile", next_step="check the path") from None
    if b"\0" in data:
        raise EnvdoctorError(place, found="bytes that are no UTF-8 text", expected="a Dockerfile in UTF-8", next_step="save it as UTF-8")
    parsed = parse_dockerfile(data.decode("utf-8-sig", "replace"))
    problems = tuple(Skip(f"{place}:{line}", plain(why)) for line, why in parsed.problems)
    if not any(instruction.keyword == "FROM" for instruction in parsed.instructions):
        nothing = Skip(place, "it has no FROM: no image is built")
        return (Variant("", Collected(skips=(*problems, nothing))),)
    stages = build(parsed, path, installation)
    last, others = stages[-1], _others(stages)
    key = _shipped(last, parsed)
    variants = [Variant("", with_started(_collected(last, last.environments[key], problems), last, path, read))]
    variants += [
        Variant(f"environment {name or 'of the system'}", _collected(last, environment, problems))
        for name, environment in last.environments.items()
        if name != key and environment.installed
    ]
    for stage in others:
        chosen = stage.environments[_shipped(stage, None)]
        variants.append(Variant(f"stage {stage.name or stage.number}", _collected(stage, chosen, problems)))
    return tuple(variants)


def _others(stages: list[Stage]) -> list[Stage]:
    """The stages that nothing is built from and that hold installs which the last stage has no part in; none twice."""
    told = {stage.number for stage in _line(stages, stages[-1])} | {stage.number for stage in stages if stage.copied}
    found: list[Stage] = []
    for stage in stages[:-1]:
        new = {one.number for one in _line(stages, stage) if one.installs} - told
        if new and not stage.touched:
            told |= new
            found.append(stage)
    return found


def _line(stages: list[Stage], stage: Stage) -> list[Stage]:
    """A stage and those that it is built from, one after the other."""
    line = [stage]
    while line[-1].parent is not None:
        line.append(stages[line[-1].parent])
    return line


def _shipped(stage: Stage, parsed: Dockerfile | None) -> str:
    """The environment that runs: the one found first, or the only one with anything in it."""
    key = stage.active()
    if parsed is not None:
        for instruction in parsed.instructions:
            if instruction.keyword in ("CMD", "ENTRYPOINT") and instruction.line >= stage.line and instruction.words:
                run = _CONDA_RUN.match(" ".join(instruction.words))
                program = re.fullmatch(r"(.+)/bin/[^/]+", instruction.words[0])
                named = stage.key(run[1]) if run else stage.key(program[1]) if program else ""
                key = named or key
    known = {name for name, environment in stage.environments.items() if environment.installed}
    return known.pop() if key not in known and len(known) == 1 and not _has_tracked(stage.environments[key]) else key


def _has_tracked(environment: Environment) -> bool:
    return not tracked().isdisjoint(environment.packages)


def _collected(stage: Stage, environment: Environment, problems: tuple[Skip, ...]) -> Collected:
    facts = {**stage.facts, **({} if environment.had_torch else stage.toolkit), **environment.facts}
    told = stage.facts.get("accelerator")
    if told is not None and told.value != "cuda":
        facts["accelerator"] = told
    skips = dict.fromkeys((*problems, *stage.skips, *environment.skips))
    wanted = [environment.wanted.get(name) or _asked(name, fact) for name, fact in environment.packages.items()]
    return Collected(
        (*facts.values(), *environment.packages.values()),
        tuple(dict.fromkeys(environment.defects)),
        tuple(skips),
        wanted=tuple(filter(None, wanted)),
    )


def _asked(name: str, fact: Fact) -> str:
    """What an installer would be asked for, to have what an image brings; nothing for a build that no index has."""
    if isinstance(fact.value, Exact):
        return f"{name}=={fact.value.text}" if fact.value.key is not None else ""
    return f"{name}{fact.value.text}" if isinstance(fact.value, Ranged) else ""
