"""What ``nccl`` runs for facts, and what it makes of a measurement: without torch and without a GPU."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Facts
from envdoctor.probes import nccl
from tests.probes.gpu_facts import stated, with_gpu

PARAMS: dict[str, Any] = {"seconds": 60.0, "most_gpus": 8, "environment": {}}


def rank(**changed: object) -> dict[str, Any]:
    return {"stage": "done", "sum": ["3.0", "3.0"], "error": None, "seconds": 0.1, "status": 0, **changed}


def measured(*ranks: dict[str, Any], **changed: object) -> dict[str, Any]:
    whole = {"gpus": 2, "available": True, "expected": 3.0, "ranks": list(ranks), "timed_out": False, "waited": 50.1, "nccl": "(2, 21, 5)"}
    return {"versions": {"torch": "2.6.0+cu124"}, **whole, **changed}


HANGS = rank(stage="reducing", sum=None, status=-9)
BROKEN = rank(
    stage="joining",
    status=1,
    error={"type": "DistBackendError", "message": "NCCL error in: ProcessGroupNCCL.cpp:\n unhandled system error"},
    output="x\nhost:1 [0] transport.cc:1 NCCL WARN Error while creating shared memory segment\n",
)
LOST = rank(stage="reducing", sum=None, status=1, error={"type": "RuntimeError", "message": "Connection reset by peer"})


@pytest.mark.parametrize(
    ("seen", "ruling", "reason"),
    [
        (
            measured(rank(), rank()),
            "refuted",
            "2 of 2 GPUs, NCCL (2, 21, 5): the all-reduce comes back with the right sum on every rank",
        ),
        (
            measured(HANGS, HANGS, timed_out=True),
            "confirmed",
            "2 of 2 GPUs, NCCL (2, 21, 5): the all-reduce hangs: after 50.1 s rank 0, 1 still waits",
        ),
        (
            measured(rank(), HANGS, timed_out=True),
            "confirmed",
            "2 of 2 GPUs, NCCL (2, 21, 5): the all-reduce hangs: after 50.1 s rank 1 still waits",
        ),
        (
            measured(rank(stage="joining", status=-9), HANGS, timed_out=True),
            "inconclusive",
            "2 of 2 GPUs, NCCL (2, 21, 5): not all ranks came to the all-reduce in time (joining, reducing)",
        ),
        *(
            (
                measured(HANGS, HANGS, timed_out=True, waited=waited),
                "inconclusive",
                f"2 of 2 GPUs, NCCL (2, 21, 5): time was up when the all-reduce had hardly begun (rank 0, 1 waited {waited} s)",
            )
            for waited in (1.5, None, "long", True)
        ),
        (
            measured(rank(), rank(sum=["3.0", "2.0"])),
            "confirmed",
            "2 of 2 GPUs, NCCL (2, 21, 5): rank 1 has a wrong sum: 3.0 to 2.0 instead of 3.0",
        ),
        (
            measured(rank(), rank(sum=["nan", "nan"])),
            "confirmed",
            "2 of 2 GPUs, NCCL (2, 21, 5): rank 1 has a wrong sum: nan to nan instead of 3.0",
        ),
        (
            measured(LOST, BROKEN),
            "confirmed",
            "2 of 2 GPUs, NCCL (2, 21, 5): rank 1 fails while joining: DistBackendError: NCCL error in: ProcessGroupNCCL.cpp: unhandled"
            " system error (host:1 [0] transport.cc:1 NCCL WARN Error while creating shared memory segment)",
        ),
        (
            measured(LOST, rank()),
            "inconclusive",
            "2 of 2 GPUs, NCCL (2, 21, 5): rank 0 fails while reducing: RuntimeError: Connection reset by peer",
        ),
        (
            measured(rank(stage="reducing", status=1, error={"type": "E", "message": "NCCL error: Cuda failure 'out of memory'"}), rank()),
            "inconclusive",
            "2 of 2 GPUs, NCCL (2, 21, 5): rank 0 fails while reducing: E: NCCL error: Cuda failure 'out of memory'",
        ),
        (
            measured(rank(stage="reducing", sum=None, status=-11), rank()),
            "inconclusive",
            "2 of 2 GPUs, NCCL (2, 21, 5): a rank ended without a result (reducing, done)",
        ),
        (
            measured(rank(sum=["1.0", "1.0"]), gpus=1, expected=1.0),
            "inconclusive",
            "1 of 1 GPUs, NCCL (2, 21, 5): NCCL starts and reduces on it; the ways between GPUs need two",
        ),
        (measured(gpus=0), "inconclusive", "no GPU"),
        (measured(available=False), "inconclusive", "this torch was built without NCCL"),
        (measured(available=False, rocm=True), "inconclusive", "this torch was built for ROCm: RCCL is not tested"),
        (measured(), "inconclusive", "no rank was measured"),
        ({}, "inconclusive", "the child did not say how many GPUs it sees"),
        (measured(rank(), rank(sum=None)), "inconclusive", "2 of 2 GPUs, NCCL (2, 21, 5): rank 1 did not say its sum"),
        (
            measured(rank(), rank(), expected=None),
            "inconclusive",
            "2 of 2 GPUs, NCCL (2, 21, 5): the child did not say what sum is right",
        ),
    ],
)
def test_judgement(seen: dict[str, Any], ruling: str, reason: str) -> None:
    assert nccl.judge(seen, PARAMS) == (ruling, reason)


text = st.text("ab.\0é☃", max_size=8)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)
ranks = st.lists(st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in rank().items()}), max_size=3)


@given(st.fixed_dictionaries({}, optional={n: anything | st.just(value) for n, value in measured().items()} | {"ranks": ranks | anything}))
def test_any_measurement_gets_a_judgement(seen: dict[str, Any]) -> None:
    ruling, reason = nccl.judge(seen, PARAMS)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Facts(), "no GPU: nvidia-smi lists none on this machine"),
        (stated(accelerator="cpu"), "no GPU: the run computes on cpu"),
        (stated(accelerator="rocm", gpu__count=2), "no GPU: the run computes on rocm"),
        (stated(accelerator="cuda", gpu__count=2), "no GPU: nvidia-smi lists none on this machine"),
        (with_gpu(gpu__count=2), PARAMS),
        (with_gpu(), "one GPU: the ways between GPUs need two"),
    ],
)
def test_without_two_gpus_nothing_is_started(facts: Facts, expected: object) -> None:
    assert nccl.parameters(facts) == expected


def test_ways_between_gpus_are_left_out_one_by_one() -> None:
    assert [variation.params for variation in nccl.variations(PARAMS)] == [
        {"environment": {"NCCL_P2P_DISABLE": "1"}},
        {"environment": {"NCCL_SHM_DISABLE": "1"}},
    ]
    assert nccl.PROBE.gpu
    assert not nccl.PROBE.proven
