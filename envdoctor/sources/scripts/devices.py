"""The device that a script names: Apple's, which no build of torch and no GPU's name tells."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.sources.scripts.kinds import Known
from envdoctor.sources.scripts.reading import Call, Reading

_MPS = "mps"


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
    for call in reading.named("torch", "device"):
        yield call, reading.value(call, "type", 0)
    for call in reading.calls:
        if call.last == "pipeline" and "device" in call.keywords:
            yield call, reading.value(call, "device")
        if call.last == "from_pretrained" and "device_map" in call.keywords:
            yield call, reading.value(call, "device_map")


__all__ = ["read_devices"]
