"""``EnvDoctorCallback``: a doctor beside transformers' Trainer.

Before the first step the environment, the model and the plan are checked; from then on loss, gradient norm and memory are watched, and a
run that has come to nothing is stopped, with the diagnosis.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from envdoctor.integrations import doctor as doctors
from envdoctor.integrations.plan_facts import plan_facts
from envdoctor.integrations.watch import LossWatch, MemoryWatch, Symptom, Told

# The doctor's own tests import this without transformers; a transformers that is there and broken shall say so.
try:
    TrainerCallback: Any = importlib.import_module("transformers").TrainerCallback
except ModuleNotFoundError as missing:
    if missing.name != "transformers":
        raise
    TrainerCallback = object

LOG = logging.getLogger("envdoctor")
_CHOICES = ("stop", "warn", "off")
_LOGS_KEPT = 50


class UnfitEnvironmentError(RuntimeError):
    """The check before the first step found errors. ``findings`` has them."""

    def __init__(self, findings: tuple[doctors.Finding, ...]) -> None:
        self.findings = findings
        told = "\n".join(str(finding) for finding in findings)
        super().__init__(f"envdoctor found {len(findings)} error(s) before the first step\n{told}")


@dataclass(frozen=True)
class Diagnosis:
    """What was seen in a run, and the rules that explain it, the likeliest first."""

    symptom: Symptom
    findings: tuple[doctors.Finding, ...]

    def __str__(self) -> str:
        cause = "\n".join(str(finding) for finding in self.findings[:3]) or "no rule explains it"
        return f"step {self.symptom.step}: {self.symptom.words}\n{cause}"


class EnvDoctorCallback(TrainerCallback):  # type: ignore[misc]
    """Checks before the first step, then watches the run.

    ``before`` and ``during`` are ``stop``, ``warn`` or ``off``: before the first step ``stop`` raises UnfitEnvironmentError, later it sets
    ``control.should_training_stop``. ``doctor`` is the envdoctor program, or its command as a list; left out, it is a module of this
    interpreter or on the PATH. ``facts`` are added to those that the run itself tells. ``patience`` is how many logs in a row must tell
    of NaN or zero gradients; memory must rise ``rises`` times without being released, by ``growth_gib`` in all. ``seconds`` is how long
    the doctor may take. What was found is in ``findings`` and ``diagnoses``.
    """

    def __init__(
        self,
        before: str = "stop",
        during: str = "stop",
        doctor: doctors.Doctor = None,
        facts: Mapping[str, Any] | None = None,
        patience: int = 3,
        rises: int = 6,
        growth_gib: float = 1.0,
        seconds: float = 60.0,
    ) -> None:
        for name, value in (("before", before), ("during", during)):
            if value not in _CHOICES:
                raise ValueError(f"{name} is {value!r}, expected one of {', '.join(_CHOICES)}")
        if patience < 1 or rises < 1 or growth_gib <= 0 or seconds <= 0:
            raise ValueError("patience and rises are at least 1, growth_gib and seconds above 0")
        self.before, self.during = before, during
        self.doctor, self.stated, self.seconds = doctor, dict(facts or {}), seconds
        self.patience, self.rises, self.growth = patience, rises, int(growth_gib * 2**30)
        self._begin(fp16=False)

    def _begin(self, fp16: bool) -> None:
        self.facts: dict[str, Any] = dict(self.stated)
        self.findings: tuple[doctors.Finding, ...] = ()
        self.diagnoses: list[Diagnosis] = []
        self.losses = LossWatch(self.patience, fp16)
        self.memory = MemoryWatch(self.rises, self.growth)
        self.told = Told()
        self.logs: list[str] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, optimizer: Any = None, **others: Any) -> None:
        """Check the environment under the plan that the arguments, the model and the optimizer tell.

        Raises:
            UnfitEnvironmentError: there are errors, and ``before`` is ``stop``.
        """
        self._begin(fp16=getattr(args, "fp16", False) is True)
        tokenizer = others.get("processing_class") or others.get("tokenizer")
        self.facts = {**plan_facts(args, model, optimizer, tokenizer, resumed=getattr(state, "global_step", 0) > 0), **self.stated}
        if self.before == "off" or not _speaks(state):
            return
        try:
            self.findings = doctors.check(self.doctor, self.facts, self.seconds)
        except doctors.DoctorError as error:
            LOG.warning("envdoctor could not check this environment: %s", error)
            return
        errors = tuple(finding for finding in self.findings if finding.severity == "error")
        for finding in self.findings:
            if finding.severity == "warning" or (errors and self.before == "warn" and finding in errors):
                LOG.warning("envdoctor: %s", finding)
        if errors and self.before == "stop":
            raise UnfitEnvironmentError(errors)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **others: Any) -> None:
        """Watch what was logged, and the memory."""
        if self.during == "off" or logs is None:
            return
        self.logs = [*self.logs, repr(dict(logs))][-_LOGS_KEPT:]
        self._react(self.losses.logged(state.global_step, logs), state, control)
        self._react(self.memory.sampled(state.global_step, memory_in_use()), state, control, alike=_alone(args))

    def on_evaluate(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """Watch the memory: evaluation is where predictions are kept."""
        if self.during != "off":
            self._react(self.memory.sampled(state.global_step, memory_in_use()), state, control, alike=_alone(args))

    def _react(self, symptom: Symptom | None, state: Any, control: Any, alike: bool = True) -> None:
        """Stop or warn; ``alike`` says that every process of the run sees the same and stops with this one."""
        if symptom is None:
            return
        stops = self.during == "stop" and alike
        if stops:
            control.should_training_stop = True
        if not self.told.is_new(symptom) or not _speaks(state):
            return
        findings: tuple[doctors.Finding, ...] = ()
        try:
            findings = doctors.diagnose(self.doctor, self.facts, "\n".join(self.logs) + "\n", self.seconds)
        except doctors.DoctorError as error:
            LOG.warning("envdoctor could not diagnose this run: %s", error)
        diagnosis = Diagnosis(symptom, findings)
        self.diagnoses.append(diagnosis)
        LOG.warning("envdoctor %s: %s", "stops this run" if stops else "warns", diagnosis)


def memory_in_use() -> int | None:
    """Bytes that tensors hold on the GPU of this process, else bytes of this process in memory; None where the system does not tell."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if cuda is not None and cuda.is_available() and cuda.is_initialized():
        return int(cuda.memory_allocated())
    try:
        with open("/proc/self/statm", encoding="ascii") as stream:
            return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _speaks(state: Any) -> bool:
    return getattr(state, "is_world_process_zero", True) is not False


def _alone(args: Any) -> bool:
    """Memory differs between the processes of a run: one that stops alone would leave the others waiting for it."""
    return not getattr(args, "world_size", 1) > 1
