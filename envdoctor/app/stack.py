"""The environment that is examined: what is installed in it, and on which hardware it is to run."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.app.request import Request
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Skip
from envdoctor.records import dataclass

if TYPE_CHECKING:
    from envdoctor.sources.machine.interpreter import Installed


@dataclass(frozen=True, slots=True)
class Stack:
    """The patient: what is installed, where, and what a report calls it."""

    label: str
    installed: Installed | None = None
    interpreter: Path | None = None
    parts: tuple[tuple[str, Collected], ...] = ()


def find_interpreter(python: str | None) -> Path | None:
    """The interpreter that was named, to run probes with; None where none was.

    Raises:
        EnvdoctorError: no environment is there.
    """
    if python is None:
        return None
    from envdoctor.sources.machine.patient import find_patient

    return find_patient(python, os.environ).interpreter


_OF_A_MACHINE = frozenset(("gpu.name", "gpu.compute_capability", "gpu.memory_gib", "os", "cuda", "driver", "python"))

_STATED = "that was stated"


def read_stack(request: Request, log: Collected | None, *, optional: bool, stated: Iterable[Fact] = ()) -> Stack:
    """The installed stack and the hardware. With ``optional`` no environment is no error, unless one was named; ``log`` is what a
    diagnosed log states, ``stated`` what a facts file does: where that is about a machine or a run, it need not be this one.

    Raises:
        EnvdoctorError: no environment is there, or it cannot be read.
    """
    from envdoctor.sources.machine.hardware import collect_hardware
    from envdoctor.sources.machine.interpreter import facts, scan
    from envdoctor.sources.machine.patient import find_patient

    python = request.python
    if request.root is not None:
        from envdoctor.sources.machine.root_filesystem import scan_root

        image = scan_root(Path(request.root), python)
        label = f"{image.label} (Python {image.python}, {_packages(len(image.distributions))})"
        return Stack(label, image, None, (("installed", facts(image, f"the image {request.root}")),))
    try:
        patient = find_patient(python, os.environ)
        installed = scan(patient)
    except EnvdoctorError as error:
        if python is not None or not optional:
            raise
        return Stack("no environment", parts=(("installed", Collected(skips=(Skip("the installed stack", error.found),))),))
    trains = bool({"torch", "transformers"} & {one.name for one in installed.distributions})
    elsewhere = "of this log" if log is not None else "of that machine" if request.machine is not None and optional else _whose(stated)
    if elsewhere and python is None and not trains:
        why = f"{patient.label} has neither torch nor transformers: it is not the environment {elsewhere}"
        label = f"packages stated by {'--against' if request.against else '--set'}" if elsewhere == _STATED else "no environment"
        return Stack(label, parts=(("installed", Collected(skips=(Skip("the installed stack", why),))),))
    lacking = "" if trains else ", neither torch nor transformers"
    label = f"{patient.label} (Python {installed.python or 'unknown'}, {_packages(len(installed.distributions))}{lacking})"
    found = facts(installed)
    if request.machine is not None:
        return Stack(label, installed, patient.interpreter, (("installed", found),))
    return Stack(label, installed, patient.interpreter, (("hardware", collect_hardware()), ("installed", found)))


def _whose(stated: Iterable[Fact]) -> str:
    """What stated facts are of: a machine, or a run, neither of which need be this one, or of what is installed here."""
    names = {fact.name for fact in stated}
    if names & {"packages.torch", "packages.transformers"}:
        return _STATED
    if any(name in _OF_A_MACHINE for name in names):
        return "of that machine"
    return "of that run" if any(name.startswith(("plan.", "model.")) for name in names) else ""


def _packages(count: int) -> str:
    return f"{count} package{'' if count == 1 else 's'}"
