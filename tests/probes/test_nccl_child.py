"""The child of ``nccl`` with a torch that only looks like one: ranks that agree, hang, fail and crash."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from envdoctor.probes.nccl import PROBE, judge
from envdoctor.probes.runner import run_child

PARAMS = {"seconds": 2.0, "most_gpus": 8, "environment": {}}
TORCH = """
import os
from types import SimpleNamespace
__version__ = '2.0.0'
version = SimpleNamespace(hip=None)
cuda = SimpleNamespace(
    is_available=lambda: GPUS > 0, device_count=lambda: GPUS, set_device=lambda rank: None, synchronize=lambda: None,
    nccl=SimpleNamespace(version=lambda: (2, 21, 5)))
class Values:
    def __init__(self, value): self.value = value
    def min(self): return self.value
    def max(self): return self.value
def full(shape, value, device): return Values(value)
"""
DISTRIBUTED = """
import os, sys, time
is_available = is_nccl_available = lambda: True
def init_process_group(backend, init_method, rank, world_size, timeout):
    assert backend == 'nccl' and init_method.startswith('file:///')
    global RANK, WORLD
    RANK, WORLD = rank, world_size
def all_reduce(values):
    values.value = WORLD * (WORLD + 1) / 2
    REDUCE
"""


def torch(directory: Path, gpus: int, reduce: str) -> Path:
    """A directory with such a torch."""
    package = directory / "torch"
    package.mkdir()
    (package / "__init__.py").write_text(f"GPUS = {gpus}\n{TORCH}")
    (package / "distributed.py").write_text(DISTRIBUTED.replace("REDUCE", reduce))
    return directory


@pytest.mark.large
@pytest.mark.parametrize(
    ("gpus", "reduce", "ruling", "reason"),
    [
        (2, "", "refuted", "2 of 2 GPUs, NCCL (2, 21, 5): the all-reduce comes back with the right sum on every rank"),
        (1, "", "inconclusive", "1 of 1 GPUs, NCCL (2, 21, 5): NCCL starts and reduces on it; the ways between GPUs need two"),
        (0, "", "inconclusive", "no GPU"),
        (
            2,
            "if RANK: raise RuntimeError('NCCL error: unhandled system error')\n    time.sleep(600)",
            "confirmed",
            "2 of 2 GPUs, NCCL (2, 21, 5): rank 1 fails while reducing: RuntimeError: NCCL error: unhandled system error",
        ),
        (2, "values.value -= RANK", "confirmed", "2 of 2 GPUs, NCCL (2, 21, 5): rank 1 has a wrong sum: 2.0 to 2.0 instead of 3.0"),
        (
            2,
            "if RANK: os.abort()",
            "inconclusive",
            "2 of 2 GPUs, NCCL (2, 21, 5): a rank ended without a result (done, reducing)",
        ),
        (
            2,
            "if os.environ.get('NCCL_P2P_DISABLE') != '1': time.sleep(600)",
            "confirmed",
            "2 of 2 GPUs, NCCL (2, 21, 5): the all-reduce hangs: after SECONDS rank 0, 1 still waits",
        ),
    ],
)
def test_what_ranks_do_is_judged(tmp_path: Path, gpus: int, reduce: str, ruling: str, reason: str) -> None:
    environ = {**os.environ, "PYTHONPATH": str(torch(tmp_path, gpus, reduce))}

    def run(environment: dict[str, str]) -> tuple[str, str]:
        params = {**PARAMS, "environment": environment}
        outcome = run_child(Path(sys.executable), PROBE.script, params, timeout=30.0, memory_bytes=None, environ=environ)
        assert outcome.measured is not None, outcome
        return judge(outcome.measured, params)

    found, words = run({})
    assert (found, re.sub(r"after [12]\.\d s", "after SECONDS", words)) == (ruling, reason)
    if "P2P" in reduce:
        assert run({"NCCL_P2P_DISABLE": "1"})[0] == "refuted"


def test_a_path_without_the_scripts_own_directory_stays_whole(tmp_path: Path) -> None:
    """With PYTHONSAFEPATH the first entry of the path is the patient's own."""
    environ = {**os.environ, "PYTHONPATH": str(torch(tmp_path, 2, "")), "PYTHONSAFEPATH": "1"}
    outcome = run_child(Path(sys.executable), PROBE.script, PARAMS, timeout=30.0, memory_bytes=None, environ=environ)
    assert outcome.measured is not None, outcome
    assert judge(outcome.measured, PARAMS)[0] == "refuted"
