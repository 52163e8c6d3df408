"""Every probe by name, and how one is run against a patient."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Absent, Exact, Ranged, exact, version_condition
from envdoctor.probes import (
    bf16_support,
    checkpointing,
    extension_import,
    grad_accum,
    kernel_image,
    lora_step,
    nccl,
    numpy_abi,
    padded_batch,
    quantize_4bit,
    quantize_8bit,
    resume,
    same_architecture,
    save_load,
    sdpa_backends,
    tokenizer,
    triu_bf16,
    witness,
)
from envdoctor.probes.probe import Probe
from envdoctor.probes.verdict import Cured, Verdict
from envdoctor.records import replace

PROBES: dict[str, Probe] = {
    module.PROBE.name: module.PROBE
    for module in (
        lora_step, padded_batch, grad_accum, checkpointing, save_load, same_architecture, tokenizer, resume, numpy_abi, extension_import,
        bf16_support, kernel_image, triu_bf16, sdpa_backends, quantize_4bit, quantize_8bit, nccl, witness,
    )
}  # fmt: skip


class _Limits(TypedDict):
    timeout: float
    memory_bytes: int


def probe_named(name: str) -> Probe:
    """The probe of that name.

    Raises:
        EnvdoctorError: there is none.
    """
    if name not in PROBES:
        from envdoctor.facts.suggest import suggest

        expected = f"one of {', '.join(sorted(PROBES))}"
        next_step = suggest(name, PROBES, otherwise="envdoctor probe --list")
        raise EnvdoctorError("probe", found=repr(name), expected=expected, next_step=next_step)
    return PROBES[name]


def run_probe(
    name: str,
    interpreter: Path | None,
    facts: Facts,
    *,
    environ: Mapping[str, str] | None = None,
    vary_seconds: float = 0.0,
    trust: bool = False,
    lines: Mapping[str, Sequence[str]] | None = None,
    told: Callable[[str], None] | None = None,
) -> Verdict:
    """Run one probe in the patient's interpreter; whatever happens there is a verdict.

    ``interpreter`` is None where the situation is only stated and nothing is installed to run. Where the fault is found, one thing
    after the other is changed for ``vary_seconds`` at most, to find what cures it. ``trust`` allows it to execute the snapshot's own code.
    ``lines`` are those of Python that show the findings that are computed, with the packages of each.
    ``told`` hears, while a child runs, what it does; "" until it says so.

    Raises:
        EnvdoctorError: there is no probe of that name.
    """
    probe = probe_named(name)
    asked = {"trust": trust} if probe.remote_code else {"lines": lines or {}} if probe.by_lines else {}
    params = probe.parameters(facts, **asked)
    if isinstance(params, str):
        return Verdict(name, "inconclusive", params)
    if interpreter is None:
        return Verdict(name, "inconclusive", "no interpreter to run it in: the packages are stated, not installed")

    from envdoctor.probes.runner import run_child  # the machinery of processes is loaded only when one is started

    limits = _Limits(timeout=probe.timeout, memory_bytes=probe.memory_bytes)
    outcome = run_child(interpreter, probe.script, params, **limits, environ=environ, told=told)
    if outcome.measured is None:
        return Verdict(name, "inconclusive", outcome.failure or "no result", seconds=outcome.seconds)
    other = _other_stack(outcome.measured.get("versions"), facts)
    if other is not None:
        return Verdict(name, "inconclusive", other, outcome.measured, outcome.seconds)
    ruling, reason = probe.judge(outcome.measured, params)
    found = Verdict(name, ruling, reason, outcome.measured, outcome.seconds)
    if ruling != "confirmed" or vary_seconds <= 0:
        return found
    return _varied(probe, interpreter, params, found, environ, vary_seconds, told)


def _varied(
    probe: Probe,
    interpreter: Path,
    params: Mapping[str, object],
    found: Verdict,
    environ: Mapping[str, str] | None,
    budget: float,
    told: Callable[[str], None] | None,
) -> Verdict:
    """The verdict with what cures the fault: each variation is another child, begun while there is time."""
    from envdoctor.probes.runner import run_child

    seconds, tried, cured = found.seconds, [], []
    for variation in probe.variations(params):
        left = budget - (seconds - found.seconds)
        if left <= 0:
            tried.append({"change": variation.words, "verdict": "not tried: no time was left"})
            continue
        changed = {**params, **variation.params}
        limit = min(probe.timeout, left)
        limits = _Limits(timeout=limit, memory_bytes=probe.memory_bytes)
        outcome = run_child(interpreter, probe.script, changed, **limits, environ=environ, told=_with(variation.words, told))
        seconds += outcome.seconds
        ruling = "inconclusive" if outcome.measured is None else probe.judge(outcome.measured, changed)[0]
        tried.append({"change": variation.words, "verdict": ruling})
        if ruling == "refuted":
            cured.append(Cured(variation.words, variation.plan))
    if not tried:
        return found
    cures = f"; gone with {', or with '.join(one.words for one in cured)} (measured)" if cured else ""
    measured = {**found.measured, "variations": tried}
    return replace(found, reason=found.reason + cures, measured=measured, seconds=round(seconds, 3), cured_by=tuple(cured))


def _with(words: str, told: Callable[[str], None] | None) -> Callable[[str], None] | None:
    return None if told is None else lambda stage: told(f"confirmed, tried with {words}{': ' + stage if stage else ''}")


def _other_stack(versions: object, facts: Facts) -> str | None:
    """Why the verdict would be about another stack than the one stated, or None where it is the same.

    Local version labels are left aside: a CPU build stands for the CUDA build of its release.
    """
    if not isinstance(versions, Mapping):
        return None
    for package, text in versions.items():
        stated = facts.value(f"packages.{package}")
        if isinstance(stated, (Exact, Ranged, Absent)) and not _same(str(text), stated):
            return f"the interpreter has {package} {text}, the situation states {stated}"
    return None


def _same(text: str, stated: Exact | Ranged | Absent) -> bool:
    from packaging.version import Version

    try:
        ran = exact(text.partition("+")[0])
    except ValueError:
        return False
    if isinstance(stated, Absent):
        return False
    if isinstance(stated, Ranged):
        return version_condition(stated.text).admits(ran)
    return Version(stated.text.partition("+")[0]) == Version(ran.text)


def about(verdict: Verdict, packages: Sequence[str], symptoms: Sequence[str]) -> Verdict:
    """A probe's verdict as far as it concerns one finding, by its packages and the error texts of its rule."""
    if verdict.verdict == "inconclusive" or verdict.probe not in PROBES:
        return verdict
    return PROBES[verdict.probe].about(verdict, packages, symptoms)
