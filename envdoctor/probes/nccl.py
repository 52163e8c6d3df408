"""``nccl``: does an all-reduce over the visible GPUs come back, with the right sum?

Cards that cannot reach each other directly, an IOMMU between them, a container without shared memory, an NCCL of another CUDA: each
lets a distributed run hang or stop at its first collective operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import is_finite
from envdoctor.probes.on_gpu import no_gpu
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.verdict import Ruling

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "nccl"
SECONDS = 60.0
MOST_GPUS = 8
# The time is counted from the start of the ranks: this share of it the last that came must have waited in the all-reduce.
_HANGS = 1 / 3

# What NCCL, and torch in its name, say when a collective operation fails.
_FAULTS = (
    "nccl error",
    "ncclsystemerror",
    "ncclinternalerror",
    "ncclunhandledcudaerror",
    "ncclremoteerror",
    "ncclinvalidusage",
    "unhandled system error",
    "unhandled cuda error",
    "undefined symbol: nccl",
)
_NO_MEMORY = ("out of memory", "cannot allocate memory")


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """How many GPUs take part at most; or that there are not two."""
    missing = no_gpu(facts)
    if missing is not None:
        return missing
    if facts.value("gpu.count") == 1:
        return "one GPU: the ways between GPUs need two"
    return {"seconds": SECONDS, "most_gpus": MOST_GPUS, "environment": {}}


def variations(params: Mapping[str, object]) -> Iterator[Variation]:
    """Ways between GPUs that can be left out; they are variables of the environment, so that no plan fact says them."""
    yield Variation("NCCL_P2P_DISABLE=1", {"environment": {"NCCL_P2P_DISABLE": "1"}})
    yield Variation("NCCL_SHM_DISABLE=1", {"environment": {"NCCL_SHM_DISABLE": "1"}})


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    gpus = measured.get("gpus")
    if isinstance(gpus, bool) or not isinstance(gpus, int):
        return "inconclusive", "the child did not say how many GPUs it sees"
    if gpus < 1:
        return "inconclusive", "no GPU"
    if measured.get("rocm") is True:
        return "inconclusive", "this torch was built for ROCm: RCCL is not tested"
    if measured.get("available") is not True:
        return "inconclusive", "this torch was built without NCCL"
    told = measured.get("ranks")
    ranks = [rank for rank in told if isinstance(rank, Mapping)] if isinstance(told, (list, tuple)) else []
    if not ranks:
        return "inconclusive", "no rank was measured"
    reason = f"{len(ranks)} of {gpus} GPUs, NCCL {measured.get('nccl') or 'of an unknown release'}"
    failures = [failure for number, rank in enumerate(ranks) if (failure := _failure(number, rank)) is not None]
    if failures:
        # A rank that lost another one fails too, in other words.
        ruling, said = min(failures, key=lambda failure: failure[0] != "confirmed")
        return ruling, f"{reason}: {said}"
    stages = [rank.get("stage") for rank in ranks]
    if measured.get("timed_out") is True:
        if all(stage in ("reducing", "done") for stage in stages) and "reducing" in stages and len(ranks) > 1:
            waiting = ", ".join(str(number) for number, stage in enumerate(stages) if stage == "reducing")
            waited, limit = measured.get("waited"), params.get("seconds")
            if not is_finite(waited) or not is_finite(limit) or waited < _HANGS * limit:
                return "inconclusive", f"{reason}: time was up when the all-reduce had hardly begun (rank {waiting} waited {waited} s)"
            return "confirmed", f"{reason}: the all-reduce hangs: after {waited} s rank {waiting} still waits"
        return "inconclusive", f"{reason}: not all ranks came to the all-reduce in time ({', '.join(map(str, stages))})"
    if any(stage != "done" for stage in stages):
        return "inconclusive", f"{reason}: a rank ended without a result ({', '.join(map(str, stages))})"
    return _sums(measured, ranks, reason)


def _sums(measured: Mapping[str, object], ranks: list[Mapping[str, object]], reason: str) -> Judgement:
    expected = measured.get("expected")
    if not is_finite(expected):
        return "inconclusive", f"{reason}: the child did not say what sum is right"
    for number, rank in enumerate(ranks):
        ends = rank.get("sum")
        if not isinstance(ends, (list, tuple)) or len(ends) != 2:
            return "inconclusive", f"{reason}: rank {number} did not say its sum"
        if any(str(end) != str(float(expected)) for end in ends):
            return "confirmed", f"{reason}: rank {number} has a wrong sum: {ends[0]} to {ends[1]} instead of {float(expected)}"
    if len(ranks) == 1:
        return "inconclusive", f"{reason}: NCCL starts and reduces on it; the ways between GPUs need two"
    return "refuted", f"{reason}: the all-reduce comes back with the right sum on every rank"


def _failure(number: int, rank: Mapping[str, object]) -> Judgement | None:
    """What one rank says of its own failure, None where it did not fail."""
    error = rank.get("error")
    if not isinstance(error, Mapping):
        return None if error is None else ("inconclusive", f"rank {number} was not measured")
    message = " ".join(str(error.get("message", "")).split())
    output = str(rank.get("output", ""))
    lower = f"{message} {output}".lower()
    said = f"rank {number} fails while {rank.get('stage')}: {error.get('type', 'an error')}: {message[:300]}"
    warned = next((line for line in reversed(output.splitlines()) if "NCCL WARN" in line), "")
    said += f" ({' '.join(warned.split())[:200]})" if warned else ""
    if any(text in lower for text in _NO_MEMORY):
        return "inconclusive", said
    if any(text in lower for text in _FAULTS):
        return "confirmed", said
    return "inconclusive", said


PROBE = Probe(
    name=NAME,
    shows="whether an all-reduce over the visible GPUs comes back, with the right sum",
    needs=("torch", "two GPUs"),
    cost="10 to 20 s, and 60 s where it hangs",
    script=CHILDREN / "nccl.py",
    parameters=parameters,
    judge=judge,
    variations=variations,
    timeout=120.0,
    memory_bytes=64 << 30,
    gpu=True,
    proven=False,
)
