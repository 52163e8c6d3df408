"""From options to a situation: which sources are asked, and which are not."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.defaults import derive
from envdoctor.errors import EnvdoctorError
from envdoctor.facts import Collected, Facts, Skip
from envdoctor.sources.situation import Situation, merge, model_path, states_packages
from envdoctor.sources.statements import collect_facts_file, collect_facts_text, collect_settings

if TYPE_CHECKING:
    from envdoctor.checks.hit import Hit
    from envdoctor.sources.adapter import Adapter
    from envdoctor.sources.interpreter import Installed
    from envdoctor.sources.snapshot import Snapshot
    from envdoctor.sources.targets import Target


@dataclass(frozen=True, slots=True)
class Gathered:
    """One situation as read. ``facts`` has the stated and read ones, ``derived`` also what follows from them.

    ``hits`` and ``notes`` are what the files of its ``snapshots`` and ``adapters`` show, once they were examined.
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

    @property
    def facts(self) -> Facts:
        return self.situation.facts


def gather(options: argparse.Namespace, log: Collected | None = None) -> Gathered:
    """Read all that the options name; ``log`` is what a diagnosed log states of its own environment.

    Stated packages replace the installed stack entirely: then nothing is read from this machine. Packages that
    a target states do so too, unless the patient is named.

    Raises:
        EnvdoctorError: anything that cannot be used at all.
    """
    stated, place = _stated(options.facts)
    settings = collect_settings(options.settings)
    targets = [_target(text) for text in options.targets]
    model = model_path(stated, place)
    if model is not None:
        targets.append(_target(str(model)))
    parts: list[tuple[str, Collected]] = [(target.kind, target.collected) for target in targets]
    by_hand = states_packages(stated)
    by_target = any(states_packages(target.collected) for target in targets) or (log is not None and states_packages(log))
    elsewhere = log is not None and options.facts is not None
    installed, interpreter = None, None
    if not by_hand and (options.python is not None or not (by_target or elsewhere)):
        installed, interpreter, label, read = _installed(
            options.python, bool(targets) or bool(options.settings) or log is not None, log is not None
        )
        parts += read
    elif options.python is not None:
        interpreter = _interpreter(options.python)
    if by_hand:
        label = f"packages stated in {options.facts}"
    elif installed is None and log is not None:
        label = "the environment that the log states" if states_packages(log) else "an environment that is not known"
    elif installed is None and by_target:
        label = f"packages of {', '.join(t.text for t in targets if t.kind == 'requirements')}"
    elif installed is None:
        label = "no environment"
    parts += [("log", log or Collected()), ("facts file", stated), ("--set", settings)]
    situation = merge(parts, closed=installed is not None or stated.closed, may_be_empty=log is not None)
    others = [target.text for target in targets if target.kind != "requirements"]
    return Gathered(
        patient=", ".join([label, *others]),
        interpreter=interpreter,
        situation=situation,
        derived=derive(situation.facts),
        installed=installed,
        has_plan=any(name.startswith("plan.") for name in situation.facts),
        trust=getattr(options, "trust_remote_code", False),
        snapshots=tuple(target.snapshot for target in targets if target.snapshot is not None),
        adapters=tuple(target.adapter for target in targets if target.adapter is not None),
    )


def _stated(facts: str | None) -> tuple[Collected, Path | None]:
    if facts is None:
        return Collected(), None
    if facts == "-":
        return collect_facts_text(sys.stdin.buffer.read(), "<stdin>"), None
    return collect_facts_file(Path(facts)), Path(facts).parent


def _target(text: str) -> Target:
    from envdoctor.sources.targets import read_target

    return read_target(text)


def _interpreter(python: str) -> Path | None:
    from envdoctor.sources.patient import find_patient

    return find_patient(python, os.environ).interpreter


def _installed(python: str | None, optional: bool, of_log: bool) -> tuple[Installed | None, Path | None, str, list[tuple[str, Collected]]]:
    """The installed stack and the hardware. Without ``--python`` and beside a target, no environment is no error."""
    from envdoctor.sources.hardware import collect_hardware
    from envdoctor.sources.interpreter import facts, scan
    from envdoctor.sources.patient import find_patient

    try:
        patient = find_patient(python, os.environ)
        installed = scan(patient)
    except EnvdoctorError as error:
        if python is not None or not optional:
            raise
        return None, None, "no environment", [("installed", Collected(skips=(Skip("the installed stack", error.found),)))]
    if of_log and python is None and not {"torch", "transformers"} & {distribution.name for distribution in installed.distributions}:
        why = f"{patient.label} has neither torch nor transformers: it is not the environment of this log"
        return None, None, "no environment", [("installed", Collected(skips=(Skip("the installed stack", why),)))]
    label = f"{patient.label} (Python {installed.python or 'unknown'}, {len(installed.distributions)} packages)"
    return installed, patient.interpreter, label, [("hardware", collect_hardware()), ("installed", facts(installed))]
