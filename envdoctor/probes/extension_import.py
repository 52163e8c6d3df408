"""``extension-import``: do the compiled extensions beside torch load, and does one operation of each run?

A binary that was built for another torch misses symbols, one built for CUDA misses libraries beside a CPU build of torch, one built for
another processor ends in an illegal instruction. Some packages hide the loader's words: torchvision says only that
``operator torchvision::nms does not exist``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Absent
from envdoctor.probes.probe import CHILDREN, Probe
from envdoctor.probes.verdict import Ruling, Verdict
from envdoctor.records import replace

Judgement: TypeAlias = "tuple[Ruling, str]"
# What one package showed: ``loaded`` is one whose import was all that could be tried.
Level: TypeAlias = Literal["confirmed", "inconclusive", "loaded", "refuted"]

NAME = "extension-import"
EXTENSIONS = (
    "torchvision",
    "torchaudio",
    "torchtext",
    "bitsandbytes",
    "triton",
    "xformers",
    "flash-attn",
    "deepspeed",
    "apex",
    "auto-gptq",
    "autoawq-kernels",
)
_LEVELS: tuple[Level, ...] = ("confirmed", "inconclusive", "loaded", "refuted")
SECONDS, SECONDS_EACH = 240.0, 60.0

# What loaders say of a binary that does not fit the libraries, the C library or the GPU that it meets.
_FAULTS = (
    "undefined symbol",
    "symbol not found",
    "cannot open shared object file",
    "library not loaded",
    "dll load failed",
    "could not load this library",
    "' not found (required by",
    "operator torchvision::nms does not exist",
    "couldn't load custom c++ ops",
    "no kernel image is available for execution",
    "configured cuda binary not found",
    # deepspeed compares what its operations were built with itself.
    "ops were compiled and installed with a different version",
)
# The driver's own libraries: a CUDA build on a machine without a GPU misses them, which is no fault of the build.
_OF_THE_DRIVER = ("libcuda.so", "libnvidia-ml.so", "nvcuda.dll")
_CRASHES = {-4: "illegal instruction", -11: "segmentation fault", -7: "bus error"}


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """The packages to try: those that are stated, or that nobody said are absent."""
    names = [name for name in EXTENSIONS if not isinstance(facts.value(f"packages.{name}"), Absent)]
    if isinstance(facts.value("packages.torch"), Absent):
        return "torch is not installed: nothing to load extensions into"
    if not names:
        return f"none is installed of {', '.join(EXTENSIONS)}"
    return {"extensions": names, "seconds": SECONDS, "seconds_each": SECONDS_EACH}


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows of all packages together. Pure; anything unexpected in it is inconclusive."""
    return concerning(measured, EXTENSIONS)


def concerning(measured: Mapping[str, object], packages: Collection[str]) -> Judgement:
    """The same for some packages only: a fault of one says nothing of another."""
    extensions = measured.get("extensions")
    if not isinstance(extensions, Mapping):
        return "inconclusive", "the child did not say what it imported"
    told = {str(name): _one(value) for name, value in extensions.items() if name in packages}
    if not told:
        asked = ", ".join(name for name in EXTENSIONS if name in packages)
        return "inconclusive", f"not installed, not tested: {asked}" if asked else "no extension of torch was asked for"
    worst = min((found for found, _ in told.values()), key=_LEVELS.index)
    order = sorted(told, key=lambda name: _LEVELS.index(told[name][0]))
    reason = "; ".join(f"{name}{_release(measured, name)} {told[name][1]}" for name in order)
    if worst == "loaded":
        # Beside an operation that ran, one that no CPU can run is no doubt.
        return ("refuted" if any(found == "refuted" for found, _ in told.values()) else "inconclusive"), reason
    return worst, reason


def about(verdict: Verdict, packages: Collection[str], symptoms: Collection[str]) -> Verdict:
    """Of the finding's own packages: a flash-attn that is broken says nothing of torchvision."""
    ruling, reason = concerning(verdict.measured, packages)
    return replace(verdict, verdict=ruling, reason=reason)


def _release(measured: Mapping[str, object], name: str) -> str:
    versions = measured.get("versions")
    release = versions.get(name) if isinstance(versions, Mapping) else None
    return f" {release}" if isinstance(release, str) else ""


def _one(value: object) -> tuple[Level, str]:
    """How far one package came, in words."""
    told = value if isinstance(value, Mapping) else {}
    stage, error, status = told.get("stage"), told.get("error"), told.get("status")
    if stage not in ("import", "operation", "done"):
        return "inconclusive", f"was not tried: torch itself does not import{_said(error)}"
    doing = "on import" if stage == "import" else "in its operation"
    if told.get("timed_out") is True:
        return "inconclusive", f"did not end in time {doing}"
    if isinstance(error, Mapping):
        return _failed(error, doing, told.get("device"))
    if error is not None or isinstance(status, bool) or not isinstance(status, int):
        return "inconclusive", "was not measured"
    if status in _CRASHES:
        return "confirmed", f"crashed {doing}: {_CRASHES[status]}"
    if status != 0 or stage != "done":
        return "inconclusive", f"ended with status {status} {doing}"
    if not isinstance(told.get("operation"), str):
        return "loaded", f"imports; nothing of it was run: {told.get('why') or 'for no reason given'}"
    return "refuted", f"imports and {told['operation']} runs on {told.get('device')}"


def _failed(error: Mapping[str, object], doing: str, device: object) -> Judgement:
    message = str(error.get("message", ""))
    lower = message.lower()
    if device != "cuda" and any(library in lower for library in _OF_THE_DRIVER):
        return "inconclusive", f"needs the GPU's driver, which is not here{_said(error)}"
    if any(fault in lower for fault in _FAULTS):
        return "confirmed", f"fails {doing}{_said(error)}"
    return "inconclusive", f"fails {doing}, but not as a binary that does not fit{_said(error)}"


def _said(error: object) -> str:
    if not isinstance(error, Mapping):
        return ""
    message = " ".join(str(error.get("message", "")).split())
    first, *_, last = [*message.split(" <- "), ""] if " <- " not in message else message.split(" <- ")
    short = first if len(first) <= 200 else f"{first[:200]} ..."
    return f": {error.get('type', 'an error')}: {short}" + (f" <- {last[:300]}" if last else "")


PROBE = Probe(
    name=NAME,
    shows="whether the compiled extensions beside torch load (undefined symbols, missing libraries, illegal instructions) and run",
    needs=("torch", "one of torchvision, torchaudio, bitsandbytes, triton, xformers, flash-attn, deepspeed, apex, ..."),
    cost="3 to 10 s for each extension that is installed, nearly all of it imports",
    script=CHILDREN / "extension_import.py",
    parameters=parameters,
    judge=judge,
    about=about,
    timeout=300.0,
    memory_bytes=16 << 30,
)
