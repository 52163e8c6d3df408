"""The targets of a request as read, and the situations that they make: together, each by itself, or by the choices that they offer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts.fact import Collected, Defect, Skip
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.sources.situation import states_packages

if TYPE_CHECKING:
    from envdoctor.sources.targets import Target
    from envdoctor.world.installation import Installation

# The kinds of targets that say which packages are there: beside one, the installed stack is not asked.
DECLARING = ("requirements", "lock", "image")


def read_targets(texts: Sequence[str], installation: Installation | None, *, tolerant: bool) -> list[Target]:
    """The targets as read; with ``tolerant`` one that cannot be used is a finding and hides no other.

    Raises:
        EnvdoctorError: a target that cannot be used; with ``tolerant`` only where none can be, with what is wrong with each.
    """
    from envdoctor.sources.targets import Target, read_target

    if not tolerant:
        return [read_target(text, installation) for text in texts]
    targets: list[Target] = []
    errors: list[EnvdoctorError] = []
    for text in texts:
        try:
            targets.append(read_target(text, installation))
        except EnvdoctorError as error:
            errors += getattr(error, "errors", (error,))
            detail = f"{error.place}: found {error.found}; expected {error.expected}"
            line = re.search(r", line (\d{1,9})\b", error.place)
            defect = Defect("input-unreadable", detail, text, int(line[1]) if line else None)
            targets.append(Target(text, "requirements", Collected(defects=(defect,))))
    if len(errors) >= len(texts) and all(target.collected.defects and not target.collected.facts for target in targets):
        raise SeveralErrors(errors)
    return targets


def resolve_targets(targets: Sequence[Target], installation: Installation | None, day: str | None, *, apart: bool) -> list[Target]:
    """The targets with every choice of them resolved by itself: two that exclude each other never meet.

    Unless they are ``apart``, what one target declares narrows the releases that another may take: they are installed together.

    Raises:
        EnvdoctorError: nothing is declared, no uv, or no index that answers.
    """
    from envdoctor.sources.declared.declarations import Variant
    from envdoctor.uv.resolution import resolved
    from envdoctor.world.installation import Installation

    if not any(target.kind in DECLARING for target in targets):
        raise EnvdoctorError(
            "--resolve", found="no target that declares packages", expected="requirements or a manifest", next_step="name one as TARGET"
        )
    where = installation or Installation()
    found = []
    for target in targets:
        if target.kind == "lock":  # is a resolution
            found.append(target)
            continue
        beside = () if apart else tuple(line for other in targets if other is not target for line in other.collected.wanted)
        base, *rest = (
            resolved(one, _judged_for(one, where), day=day, beside=beside)
            for one in (target.collected, *(variant.collected for variant in target.others))
        )
        others = tuple(Variant(variant.label, one) for variant, one in zip(target.others, rest, strict=True))
        found.append(replace(target, collected=base, others=others))
    return found


def _judged_for(stated: Collected, installation: Installation) -> Installation:
    """The installation under the Python that a manifest asks for or an image has, unless one was named."""
    python = next((fact.value for fact in stated.facts if fact.name == "python"), None)
    if isinstance(python, Ranged):
        return installation.admitted_by(python.text)
    named = "python_version" in installation.stated or not isinstance(python, Exact)
    return installation if named else installation.with_python(str(python))


def with_emptiness(target: Target) -> Collected:
    """What a target says; one that declares nothing at all is said to."""
    found = target.collected
    if target.kind not in DECLARING or found.facts or found.defects or found.skips:
        return found
    return replace(found, skips=(Skip(target.text, "declares no package"),))


def declares(target: Target) -> bool:
    """Whether a target says which packages are there; a notebook or a launcher does where it installs some."""
    return target.kind in DECLARING or states_packages(target.collected)


def group_targets(targets: Sequence[Target]) -> Iterator[tuple[Target, ...]]:
    """Every file by itself, with the models that all of them are about."""
    models = tuple(target for target in targets if target.kind == "model")
    files = [target for target in targets if target.kind != "model"]
    yield from ((target, *models) for target in files)
    if not files:
        yield models


def list_choices(targets: Sequence[Target]) -> Iterator[tuple[str, tuple[Target, ...]]]:
    """What is always there, then each choice that one of the targets offers.

    Where packages are declared in choices alone, only the choices are situations.
    """
    several = sum(target.kind in DECLARING for target in targets) > 1
    choosing = any(states_packages(variant.collected) for target in targets for variant in target.others)
    if not choosing or any(states_packages(target.collected) for target in targets):
        yield "", tuple(targets)
    for place, target in enumerate(targets):
        for variant in target.others:
            label = f"{target.text}, {variant.label}" if several else variant.label
            yield label, (*targets[:place], replace(target, collected=variant.collected, others=()), *targets[place + 1 :])
