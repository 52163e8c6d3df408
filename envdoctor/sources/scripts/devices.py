"""The device that a script names: Apple's, which no build of torch and no GPU's name tells."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.records import replace
from envdoctor.sources.scripts.kinds import Known
from envdoctor.sources.scripts.reading import Call, Reading

_MPS = "mps"
_LIGHTNING = ("lightning", "pytorch_lightning")


def read_devices(reading: Reading) -> None:
    """State the accelerator where everything that a script moves, it moves to ``mps``."""
    moves = list(_moves(reading))
    named = [(call, known) for call, known in moves if known is not None and isinstance(known.value, str) and known.value != "cpu"]
    if named and all(known.value == _MPS and not known.default and call.sure for call, known in named):
        call, known = named[0]
        reading.claims.say("accelerator", Known(_MPS, known.default, known.line), call.line, call.scope)


def _moves(reading: Reading) -> Iterator[tuple[Call, Known | None]]:
    for call in reading.methods("to"):
        yield call, reading.value(call, "device", 0)
    for call in (*reading.named("torch", "device"), *reading.named("torch", "set_default_device")):
        yield call, reading.value(call, "type" if call.last == "device" else "device", 0)
    for package in _LIGHTNING:
        for call in reading.named(package, "Trainer", "Fabric"):
            known = reading.value(call, "accelerator", 0 if call.last == "Fabric" else None)
            # What it is called there: "gpu", "auto" and a class say nothing of whose it is.
            yield call, known if known is not None and known.value in (_MPS, "cpu", "cuda") else None
    for call in reading.calls:
        if call.last == "pipeline" and "device" in call.keywords:
            yield call, reading.value(call, "device")
        if call.last == "from_pretrained" and "device_map" in call.keywords:
            yield call, reading.value(call, "device_map")
        if call.last.endswith("TrainingArguments") and "use_mps_device" in call.keywords:
            asked = reading.value(call, "use_mps_device")
            yield call, replace(asked, value=_MPS) if asked is not None and asked.value is True else None


__all__ = ["read_devices"]
