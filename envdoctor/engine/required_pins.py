"""What pinned lines leave no choice of: a release that a pinned one requires exactly is installed with it, though no line names it.

``torch==2.6.0`` brings triton 3.2.0 on Linux, ``vllm==0.6.3`` brings torch 2.4.0. What follows from these is as certain as the lines.
"""

from __future__ import annotations

from collections.abc import Iterable

from envdoctor.facts.fact import REQUIRED, Fact, Facts, Origin
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.world.dependencies import dependencies
from envdoctor.world.installation import Installation
from envdoctor.world.releases import release_texts
from envdoctor.world.torch_builds import variant_cuda

_PACKAGE = "packages."
# Where no Python is stated: those that have wheels of most releases.
_PYTHONS = ("3.10", "3.11", "3.12")
# The parts of CUDA, some fifteen a torch: nothing is known of them that torch does not say.
_PARTS = "nvidia-"


def with_required_pins(facts: Facts, installation: Installation, elsewhere: Iterable[str] = ()) -> Facts:
    """The facts with the packages of which the pinned lines of files require one release, in turn; each at the line that brings it.

    ``installation`` is what markers are evaluated for where no fact states it; ``elsewhere`` are packages that come from a URL, a path or
    a repository, of whose release nothing is known. A package of which two releases are required stays as it is.
    """
    if facts.closed:
        return facts
    where = installation.on(facts.text("os"), facts.text("machine"))
    python = facts.value("python")
    pythons = (".".join(python.text.split(".")[:2]),) if isinstance(python, Exact) else _PYTHONS
    wheres = tuple(where.with_python(one) for one in pythons)
    # A build for a CPU or for other accelerators requires another compiler than the index's, or none.
    unknown = frozenset((*elsewhere, *(("triton",) if is_of_another_build(facts) else ())))
    found: dict[str, Fact] = {}
    twice: set[str] = set()
    waiting = [
        fact for name, fact in facts.items() if name.startswith(_PACKAGE) and isinstance(fact.value, Exact) and fact.origin.file is not None
    ]
    while waiting:
        by = waiting.pop()
        for name, version in _required(by.name.removeprefix(_PACKAGE), str(by.value).partition("+")[0], wheres):
            told = f"{_PACKAGE}{name}"
            before = found.get(told)
            if before is not None and str(before.value) != version:
                twice.add(told)
            if before is not None or name in unknown or not _leaves_open(facts, told, version):
                continue
            source = f"{REQUIRED}{by.name.removeprefix(_PACKAGE)} {by.value}"
            found[told] = Fact(told, exact(version), Origin(source, by.origin.file, by.origin.line))
            waiting.append(found[told])
    return facts.with_facts(fact for name, fact in found.items() if name not in twice)


def is_of_another_build(facts: Facts) -> bool:
    """Whether torch is of a build for a CPU or for other accelerators than CUDA, by its label or by the index that it is from."""
    torch, builds = facts.value(f"{_PACKAGE}torch"), facts.value("builds")
    label = torch.text.partition("+")[2] if isinstance(torch, Exact) else ""
    return (bool(label) and variant_cuda(label) is None) or (isinstance(builds, tuple) and any(one.startswith("torch+") for one in builds))


def _leaves_open(facts: Facts, name: str, version: str) -> bool:
    """Whether what is said of a package admits this release, and no other one is said to be there."""
    value = facts.value(name)
    return name not in facts or (isinstance(value, Ranged) and version_condition(value.text).admits(exact(version)))


def _required(name: str, version: str, wheres: tuple[Installation, ...]) -> tuple[tuple[str, str], ...]:
    """The releases that a release requires exactly, in each of these places."""
    needs = dependencies(name, version)
    if not needs:
        return ()
    pins: dict[str, str] = {}
    for one in needs:
        exactly = one.specifier.removeprefix("==")
        pinned = one.specifier.startswith("==") and not {*"*,=<>!~"} & {*exactly} and exactly in release_texts(one.name)
        if pinned and not one.name.startswith(_PARTS) and all(not one.marker or where.holds(one.marker) for where in wheres):
            pins[one.name] = exactly
    return tuple(pins.items())


__all__ = ["is_of_another_build", "with_required_pins"]
