"""The targets of a request as read, and the situations that they make: together, each by itself, or by the choices that they offer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.app.ahead import reading_ahead
from envdoctor.app.project_folder import is_project, read_project_folder
from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts.fact import Collected, Defect, Skip
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.records import replace
from envdoctor.sources.situation import states_packages

if TYPE_CHECKING:
    from envdoctor.sources.targets import Target
    from envdoctor.world.installation import Installation

# The kinds of targets that say which packages are there: beside one, the installed stack is not asked.
DECLARING = ("requirements", "lock", "image")


def read_targets(
    texts: Sequence[str], installation: Installation | None, *, tolerant: bool, each: bool, beside: bool = False
) -> list[Target]:
    """The targets as read; where ``tolerant``, one that cannot be used hides no other, nor what is stated ``beside`` them.

    With ``each``, a file that declares packages and cannot be used is a finding of its own; another one was perhaps not meant for us.

    Raises:
        EnvdoctorError: no target can be used and nothing is stated beside them, with what is wrong with each.
    """
    with reading_ahead(texts, installation):
        return _read_targets(texts, installation, tolerant=tolerant, each=each, beside=beside)


def _read_targets(texts: Sequence[str], installation: Installation | None, *, tolerant: bool, each: bool, beside: bool) -> list[Target]:
    from envdoctor.sources.targets import Target, is_named_for_us, read_target

    targets: list[Target] = []
    errors: list[EnvdoctorError] = []
    failed = 0
    for text in texts:
        try:
            if is_project(text):
                targets += read_project_folder(text, installation)
                continue
            target = read_target(text, installation)
        except EnvdoctorError as error:
            if not tolerant:
                raise
            if each and os.path.isfile(text) and not is_named_for_us(text):
                targets.append(Target(text, "plan", Collected(skips=(Skip(text, f"found {error.found}"),))))
                continue
            failed += 1
            errors += getattr(error, "errors", (error,))
            targets.append(Target(text, "requirements", _say_unusable(text, error, each=each)))
            continue
        targets.append(_forgive(target) if each and target.kind not in DECLARING else target)
    if texts and failed == len(texts) and not beside:
        raise errors[0] if len(errors) == 1 else SeveralErrors(errors)
    return targets


def _say_unusable(text: str, error: EnvdoctorError, *, each: bool) -> Collected:
    detail = f"{error.place}: found {error.found}; expected {error.expected}"
    if not each or not os.path.isfile(text):
        return Collected(skips=(Skip(text, detail.removeprefix(f"{text}: "), lost=True),))
    line = re.search(r", line (\d{1,9})\b", error.place)
    return Collected(defects=(Defect("input-unreadable", detail, text, int(line[1]) if line else None),))


def _forgive(target: Target) -> Target:
    """A file among many that is no plan or script that is read was perhaps not meant for us."""
    skips = tuple(replace(skip, lost=False) for skip in target.collected.skips)
    return replace(target, collected=replace(target.collected, skips=skips))


def resolve_targets(targets: Sequence[Target], installation: Installation | None, day: str | None, *, apart: bool) -> list[Target]:
    """The targets with every choice of them resolved by itself: two that exclude each other never meet.

    Unless they are ``apart``, what one target declares narrows the releases that another may take: they are installed together.

    Raises:
        EnvdoctorError: nothing is declared, no uv, or no index that answers.
    """
    from envdoctor.sources.declared.variant import Variant
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


def say_emptiness(target: Target) -> Collected:
    """What a target says; where it says nothing of packages or of a run, that is said."""
    found = target.collected
    if found.defects or found.skips or target.others or target.folder:
        return found
    if target.kind in DECLARING and not states_packages(found):
        return replace(found, skips=(Skip(target.text, "declares no package"),))
    if target.kind == "script" and not found.facts:
        return replace(found, skips=(Skip(target.text, "says nothing of a training run"),))
    return found


def find_model_of(targets: Sequence[Target]) -> Path | None:
    """The one model directory that plans and scripts among the targets name, where no model is a target itself."""
    if any(target.kind == "model" for target in targets):
        return None
    facts = (fact for target in targets for fact in target.collected.facts if fact.name == "model.path")
    found = {fact.value for fact in facts if isinstance(fact.value, str)}
    return Path(found.pop()) if len(found) == 1 else None


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
