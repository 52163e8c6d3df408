"""From options to situations: which sources are asked, and which are not.

Targets given together describe one situation. Where one offers a choice (an extra, a stage, a fork of a lock), each choice is a
situation of its own beside the first; with ``--each`` every file is.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.defaults import derive
from envdoctor.errors import EnvdoctorError
from envdoctor.facts import Collected, Defect, Fact, Facts, Skip
from envdoctor.releases import use_day
from envdoctor.sources.situation import Situation, merge, model_path, states_packages
from envdoctor.sources.statements import collect_facts_file, collect_facts_text, collect_settings
from envdoctor.versions import Exact

if TYPE_CHECKING:
    from envdoctor.checks.hit import Hit
    from envdoctor.sources.adapter import Adapter
    from envdoctor.sources.installation import Installation
    from envdoctor.sources.interpreter import Installed
    from envdoctor.sources.snapshot import Snapshot
    from envdoctor.sources.targets import Target

# The kinds of targets that say which packages are there: beside one, the installed stack is not asked.
DECLARING = ("requirements", "lock", "image")


@dataclass(frozen=True, slots=True)
class Gathered:
    """One situation as read. ``facts`` has the stated and read ones, ``derived`` also what follows from them.

    ``hits`` and ``notes`` are what the files of its ``snapshots`` and ``adapters`` show, once they were examined.
    ``label`` says which choice of its targets it is; empty for what is always there.
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

    @property
    def facts(self) -> Facts:
        return self.situation.facts


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
    machine: Collected | None = getattr(options, "machine", None)
    if machine is not None:
        # What is said of the target machine is as good as said by hand; --set goes last.
        settings = Collected((*machine.facts, *settings.facts), skips=(*machine.skips, *settings.skips))
    asked = options.python is not None or getattr(options, "root", None) is not None
    named = None if not asked or states_packages(stated) else _installed(options, log, optional=False)
    installation = _installation(named, stated, settings)
    each = choices and getattr(options, "each", False)
    day = getattr(options, "as_of", None)
    if day is not None:
        use_day(day)
    targets = [_target(text, installation, tolerant=each and len(options.targets) > 1) for text in options.targets]
    model = model_path(stated, place)
    if model is not None:
        targets.append(_target(str(model), installation))
    if getattr(options, "resolve", False):
        targets = [_resolved(target, installation, day) for target in targets]
    found: _Stack | None = named
    for group in _groups(targets) if each else (tuple(targets),):
        for label, chosen in _choices(group) if choices else (("", group),):
            stack = found
            by_target = any(states_packages(target.collected) for target in chosen) or (log is not None and states_packages(log))
            elsewhere = log is not None and options.facts is not None
            if states_packages(stated):
                stack = _Stack(f"packages stated in {options.facts}", None, _interpreter(options.python))
            elif stack is None and by_target:
                stack = _Stack(_declared(chosen, log))
            elif stack is None and elsewhere:
                stack = _Stack(_declared((), log))
            elif stack is None:
                found = stack = _installed(options, log, optional=bool(targets) or bool(options.settings) or log is not None)
                if found.installed is None and log is not None:
                    stack = replace(found, label=_declared((), log))
            yield _gathered(options, stack, chosen, stated, settings, log, label, lenient=each)


def _gathered(
    options: argparse.Namespace,
    stack: _Stack,
    targets: Sequence[Target],
    stated: Collected,
    settings: Collected,
    log: Collected | None,
    label: str,
    *,
    lenient: bool,
) -> Gathered:
    parts: list[tuple[str, Collected]] = [(target.kind, target.collected) for target in targets]
    parts += [*stack.parts, ("log", log or Collected()), ("facts file", stated), ("--set", settings)]
    closed = stack.installed is not None or stated.closed or any(target.collected.closed for target in targets)
    situation = merge(parts, closed=closed, may_be_empty=log is not None or lenient or any(target.recognised for target in targets))
    others = [target.text for target in targets if target.kind not in DECLARING]
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
    )


def _declared(targets: Sequence[Target], log: Collected | None) -> str:
    """What the report calls a stack that nobody installed here."""
    told = [target.text for target in targets if target.kind in DECLARING]
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

    A file that declares packages in its choices alone says nothing by itself: then only the choices are situations.
    """
    several = sum(target.kind in DECLARING for target in targets) > 1
    says_nothing = any(target.others and not target.collected.facts for target in targets)
    if not says_nothing:
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


def _installation(stack: _Stack | None, stated: Collected, settings: Collected) -> Installation | None:
    """What markers are evaluated for, where anybody says so; a reader that has no markers needs none."""
    said: dict[str, Fact] = {}
    for found in (*(part for _, part in (stack.parts if stack else ())), stated, settings):
        said |= {fact.name: fact for fact in found.facts if fact.name in ("python", "os", "machine")}
    if not said:
        return None
    from envdoctor.sources.installation import Installation

    installation = Installation().on(_text(said.get("os")), _text(said.get("machine")))
    python = said.get("python")
    return installation.with_python(python.value.text) if python is not None and isinstance(python.value, Exact) else installation


def _text(fact: Fact | None) -> str | None:
    return fact.value if fact is not None and isinstance(fact.value, str) else None


def _target(text: str, installation: Installation | None, *, tolerant: bool = False) -> Target:
    """A target as read; of many files, one that cannot be used is a finding and hides no other."""
    from envdoctor.sources.targets import Target, read_target

    try:
        return read_target(text, installation)
    except EnvdoctorError as error:
        if not tolerant:
            raise
        detail = f"{error.place}: found {error.found}; expected {error.expected}"
        return Target(text, "requirements", Collected(defects=(Defect("input-unreadable", detail, text),)))


def _resolved(target: Target, installation: Installation | None, day: str | None) -> Target:
    """A target with every choice of it resolved by itself: two that exclude each other never meet."""
    from envdoctor.sources.declarations import Variant
    from envdoctor.sources.installation import Installation
    from envdoctor.sources.resolution import resolved

    if not target.collected.wanted and not any(variant.collected.wanted for variant in target.others):
        return target
    where = installation or Installation()
    others = tuple(Variant(one.label, resolved(one.collected, where, day=day)) for one in target.others)
    return replace(target, collected=resolved(target.collected, where, day=day), others=others)


def _interpreter(python: str | None) -> Path | None:
    if python is None:
        return None
    from envdoctor.sources.patient import find_patient

    return find_patient(python, os.environ).interpreter


def _installed(options: argparse.Namespace, log: Collected | None, *, optional: bool) -> _Stack:
    """The installed stack and the hardware. Without ``--python`` and beside a target, no environment is no error."""
    from envdoctor.sources.hardware import collect_hardware
    from envdoctor.sources.interpreter import facts, scan
    from envdoctor.sources.patient import find_patient

    python = options.python
    if getattr(options, "root", None) is not None:
        from envdoctor.sources.root_filesystem import scan_root

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
