"""From options to situations: which sources are asked, and which are not.

Targets given together describe one situation. Where one offers a choice (an extra, a stage, a fork of a lock), each choice is a
situation of its own beside the first; with ``--each`` every file is.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.engine.defaults import derive
from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts.fact import Collected, Defect, Facts, Skip
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.sources.situation import Situation, merge, model_path, states_packages
from envdoctor.sources.stated.statements import collect_facts_file, collect_facts_text, collect_settings

if TYPE_CHECKING:
    from envdoctor.checks.hit import Hit
    from envdoctor.sources.machine.interpreter import Installed
    from envdoctor.sources.model.adapter import Adapter
    from envdoctor.sources.model.snapshot import Snapshot
    from envdoctor.sources.targets import Target
    from envdoctor.world.installation import Installation

# The kinds of targets that say which packages are there: beside one, the installed stack is not asked.
DECLARING = ("requirements", "lock", "image")
_OF_MARKERS = ("python", "os", "machine")


@dataclass(frozen=True, slots=True)
class Gathered:
    """One situation as read. ``facts`` has the stated and read ones, ``derived`` also what follows from them.

    ``hits`` and ``notes`` are what the files of its ``snapshots`` and ``adapters`` show, once they were examined.
    ``label`` says which choice of its targets it is; empty for what is always there. ``installation`` is what markers were
    evaluated for, where anybody said.
    """

    patient: str
    interpreter: Path | None
    situation: Situation
    derived: Facts
    installed: Installed | None
    has_plan: bool
    trust: bool = False
    snapshots: tuple[Snapshot, ...] = ()
    adapters: tuple[Adapter, ...] = ()
    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()
    label: str = ""
    targets: tuple[Target, ...] = ()
    installation: Installation | None = None

    @property
    def facts(self) -> Facts:
        return self.situation.facts

    @property
    def constraints(self) -> tuple[str, ...]:
        """Requirements that narrow what is installed and install nothing."""
        return tuple(line for target in self.targets for line in target.collected.constraints)

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The packages that are taken from a URL, a path or a repository."""
        wanted = (line for target in self.targets for line in target.collected.wanted)
        return tuple(dict.fromkeys(line.partition(" @ ")[0] for line in wanted if " @ " in line))

    @property
    def projects(self) -> tuple[tuple[str, str], ...]:
        """Name and version of the packages that the manifests among the targets are of."""
        return tuple(dict.fromkeys(target.collected.project for target in self.targets if target.collected.project is not None))

    @property
    def apart(self) -> bool:
        """Whether the declared packages are installed with ``--no-deps``, all of them."""
        declaring = [target.collected for target in self.targets if target.collected.wanted]
        return bool(declaring) and all(one.apart for one in declaring)


@dataclass(frozen=True, slots=True)
class _Stack:
    """The patient: what is installed, where, and what a report calls it."""

    label: str
    installed: Installed | None = None
    interpreter: Path | None = None
    parts: tuple[tuple[str, Collected], ...] = ()


def gather(options: argparse.Namespace, log: Collected | None = None) -> Gathered:
    """The one situation that the options name, without the choices that its targets offer; ``log`` is what a diagnosed log states.

    Stated packages replace the installed stack entirely: then nothing is read from this machine. Packages that
    a target states do so too, unless the patient is named.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    return next(_situations(options, log))


def gather_all(options: argparse.Namespace) -> tuple[Gathered, ...]:
    """Every situation that the options name: the choices that targets offer, and with ``--each`` every file by itself.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    return tuple(_situations(options, None, choices=True))


def _situations(options: argparse.Namespace, log: Collected | None, *, choices: bool = False) -> Iterator[Gathered]:
    stated, place = _stated(options.facts)
    settings = collect_settings(options.settings)
    machine = _machine(options)
    root = getattr(options, "root", None)
    if root is not None and states_packages(stated):
        raise EnvdoctorError(
            f"--root {root}", found=f"packages stated in {options.facts} as well", expected="one of both", next_step="leave one out"
        )
    asked = options.python is not None or root is not None
    named = None if not asked or states_packages(stated) else _installed(options, log, optional=False)
    by_hand = (("facts file", stated), *machine, ("--set", settings))
    installation = _installation(named, by_hand)
    each = choices and getattr(options, "each", False)
    texts = list(dict.fromkeys(options.targets))
    targets = _targets(texts, installation, tolerant=each and len(texts) > 1)
    model = model_path(stated, place)
    if model is not None:
        targets.append(_target(str(model), installation))
    if getattr(options, "resolve", False):
        targets = _resolved(targets, installation, getattr(options, "as_of", None), apart=each)
    here: _Stack | None = None
    for group in _groups(targets) if each else (tuple(targets),):
        for label, chosen in _choices(group) if choices else (("", group),):
            by_target = any(map(_declares, chosen)) or (log is not None and states_packages(log))
            elsewhere = log is not None and options.facts is not None
            if states_packages(stated):
                stack = _Stack(f"packages stated in {options.facts}", None, _interpreter(options.python))
            elif named is not None:
                stack = named
            elif by_target:
                stack = _Stack(_declared(chosen, log))
            elif elsewhere:
                stack = _Stack(_declared((), log))
            else:
                # Asked for once: where many plans are checked, each is about the same environment.
                here = here or _installed(options, log, optional=bool(targets) or bool(options.settings) or log is not None)
                stack = replace(here, label=_declared((), log)) if here.installed is None and log is not None else here
            found = _gathered(options, stack, chosen, (("log", log or Collected()), *by_hand), label, lenient=each or log is not None)
            yield replace(found, installation=installation)


def _gathered(
    options: argparse.Namespace,
    stack: _Stack,
    targets: Sequence[Target],
    stated: Sequence[tuple[str, Collected]],
    label: str,
    *,
    lenient: bool,
) -> Gathered:
    parts: list[tuple[str, Collected]] = [(target.kind, _worded(target)) for target in targets]
    parts += [*stack.parts, *stated]
    closed = stack.installed is not None or any(found.closed for _, found in stated) or any(target.collected.closed for target in targets)
    known = any(target.recognised or target.kind in DECLARING for target in targets)
    situation = merge(parts, closed=closed, may_be_empty=lenient or known)
    others = [target.text for target in targets if not _declares(target)]
    return Gathered(
        patient=", ".join([stack.label, *others]),
        interpreter=stack.interpreter,
        situation=situation,
        derived=derive(situation.facts),
        installed=stack.installed,
        has_plan=any(name.startswith("plan.") for name in situation.facts),
        trust=getattr(options, "trust_remote_code", False),
        snapshots=tuple(target.snapshot for target in targets if target.snapshot is not None),
        adapters=tuple(target.adapter for target in targets if target.adapter is not None),
        label=label,
        targets=tuple(targets),
    )


def _worded(target: Target) -> Collected:
    """What a target says; one that declares nothing at all is said to."""
    found = target.collected
    if target.kind not in DECLARING or found.facts or found.defects or found.skips:
        return found
    return replace(found, skips=(Skip(target.text, "declares no package"),))


def _declares(target: Target) -> bool:
    """Whether a target says which packages are there; a notebook or a launcher does where it installs some."""
    return target.kind in DECLARING or states_packages(target.collected)


def _declared(targets: Sequence[Target], log: Collected | None) -> str:
    """What the report calls a stack that nobody installed here."""
    told = [target.text for target in targets if _declares(target)]
    if told:
        return f"packages of {', '.join(told)}"
    return "the environment that the log states" if log is not None and states_packages(log) else "an environment that is not known"


def _groups(targets: Sequence[Target]) -> Iterator[tuple[Target, ...]]:
    """Every file by itself, with the models that all of them are about."""
    models = tuple(target for target in targets if target.kind == "model")
    files = [target for target in targets if target.kind != "model"]
    yield from ((target, *models) for target in files)
    if not files:
        yield models


def _choices(targets: Sequence[Target]) -> Iterator[tuple[str, tuple[Target, ...]]]:
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


def _stated(facts: str | None) -> tuple[Collected, Path | None]:
    if facts is None:
        return Collected(), None
    if facts == "-":
        return collect_facts_text(sys.stdin.buffer.read(), "<stdin>"), None
    return collect_facts_file(Path(facts)), Path(facts).parent


def _machine(options: argparse.Namespace) -> tuple[tuple[str, Collected], ...]:
    """What is said of the machine that the run is meant for: by the project, or on the command line."""
    told: Collected | None = getattr(options, "machine", None)
    return () if told is None else (("--target" if options.profile is not None else "profile", told),)


def _installation(stack: _Stack | None, stated: Sequence[tuple[str, Collected]]) -> Installation | None:
    """What markers are evaluated for, where anybody says so; a reader that has no markers needs none."""
    parts = [*(stack.parts if stack else ()), *stated]
    about = [(rank, replace(found, facts=tuple(f for f in found.facts if f.name in _OF_MARKERS), skips=())) for rank, found in parts]
    said = merge(about, closed=False, may_be_empty=True).facts
    if not said:
        return None
    from envdoctor.world.installation import Installation

    python = said.value("python")
    installation = Installation().on(said.text("os"), said.text("machine"))
    return installation.with_python(python.text) if isinstance(python, Exact) else installation


def _targets(texts: Sequence[str], installation: Installation | None, *, tolerant: bool) -> list[Target]:
    """The targets as read; with ``tolerant`` one that cannot be used is a finding and hides no other.

    Raises:
        EnvdoctorError: a target that cannot be used; with ``tolerant`` only where none can be, with what is wrong with each.
    """
    from envdoctor.sources.targets import Target

    if not tolerant:
        return [_target(text, installation) for text in texts]
    targets: list[Target] = []
    errors: list[EnvdoctorError] = []
    for text in texts:
        try:
            targets.append(_target(text, installation))
        except EnvdoctorError as error:
            errors += getattr(error, "errors", (error,))
            detail = f"{error.place}: found {error.found}; expected {error.expected}"
            line = re.search(r", line (\d{1,9})\b", error.place)
            defect = Defect("input-unreadable", detail, text, int(line[1]) if line else None)
            targets.append(Target(text, "requirements", Collected(defects=(defect,))))
    if len(errors) >= len(texts) and all(target.collected.defects and not target.collected.facts for target in targets):
        raise SeveralErrors(errors)
    return targets


def _target(text: str, installation: Installation | None) -> Target:
    from envdoctor.sources.targets import read_target

    return read_target(text, installation)


def _resolved(targets: Sequence[Target], installation: Installation | None, day: str | None, *, apart: bool) -> list[Target]:
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


def _interpreter(python: str | None) -> Path | None:
    if python is None:
        return None
    from envdoctor.sources.machine.patient import find_patient

    return find_patient(python, os.environ).interpreter


def _installed(options: argparse.Namespace, log: Collected | None, *, optional: bool) -> _Stack:
    """The installed stack and the hardware. Without ``--python`` and beside a target, no environment is no error."""
    from envdoctor.sources.machine.hardware import collect_hardware
    from envdoctor.sources.machine.interpreter import facts, scan
    from envdoctor.sources.machine.patient import find_patient

    python = options.python
    if getattr(options, "root", None) is not None:
        from envdoctor.sources.machine.root_filesystem import scan_root

        image = scan_root(Path(options.root), python)
        label = f"{image.label} (Python {image.python}, {len(image.distributions)} packages)"
        return _Stack(label, image, None, (("installed", facts(image, f"the image {options.root}")),))
    try:
        patient = find_patient(python, os.environ)
        installed = scan(patient)
    except EnvdoctorError as error:
        if python is not None or not optional:
            raise
        return _Stack("no environment", parts=(("installed", Collected(skips=(Skip("the installed stack", error.found),))),))
    if log is not None and python is None and not {"torch", "transformers"} & {one.name for one in installed.distributions}:
        why = f"{patient.label} has neither torch nor transformers: it is not the environment of this log"
        return _Stack("no environment", parts=(("installed", Collected(skips=(Skip("the installed stack", why),))),))
    label = f"{patient.label} (Python {installed.python or 'unknown'}, {len(installed.distributions)} packages)"
    found = facts(installed)
    if getattr(options, "machine", None) is not None:
        return _Stack(label, installed, patient.interpreter, (("installed", found),))
    return _Stack(label, installed, patient.interpreter, (("hardware", collect_hardware()), ("installed", found)))
