"""The children that need a GPU, run whole with a torch that takes its CPU for one: what they call exists, and what they measure is judged.

``ENVDOCTOR_PROBE_CACHE`` may name a directory in which the environment is kept between runs.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from envdoctor.probes.probe import CHILDREN
from envdoctor.probes.registry import PROBES
from envdoctor.probes.runner import run_child
from tests.probes.gpu_facts import with_gpu
from tests.probes.test_lora_step_real import STACK, build

pytestmark = pytest.mark.probe

SCRIPT = Path(__file__).parent / "pretended_gpu.py"
ON = "on Pretended GPU (capability 8.0)"
NO_IMAGE = "CUDA error: no kernel image is available for execution on the device"


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kept = os.environ.get("ENVDOCTOR_PROBE_CACHE")
    directory = Path(kept).expanduser().absolute() if kept else tmp_path_factory.mktemp("environments")
    return build((*STACK, "peft==0.12.0"), directory)


@pytest.mark.parametrize(
    ("name", "bf16", "faults", "ruling", "reason"),
    [
        ("kernel-image", True, [], "refuted", f"4 kernels of torch ran {ON} and gave the right numbers"),
        (
            "kernel-image",
            True,
            [("softmax", "float32", NO_IMAGE)],
            "confirmed",
            f"softmax gradient {ON}: {NO_IMAGE}; torch was compiled for sm_80",
        ),
        ("triu-bf16", True, [], "refuted", f"triu and tril in bfloat16 and float32 {ON} give the numbers of the CPU"),
        (
            "triu-bf16",
            True,
            [("triu", "bfloat16", "\"triu_tril_cuda_template\" not implemented for 'BFloat16'")],
            "confirmed",
            f"triu in bfloat16 {ON}: \"triu_tril_cuda_template\" not implemented for 'BFloat16'",
        ),
        ("bf16-support", True, [], "refuted", f"bfloat16 is computed {ON}, product and gradient are right (bfloat16 MS, float16 MS)"),
        (
            "bf16-support",
            False,
            [],
            "confirmed",
            f"torch.cuda.is_bf16_supported() is false {ON} (a product: bfloat16 MS, float16 MS)",
        ),
        (
            "bf16-support",
            True,
            [("matmul", "bfloat16", "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx`")],
            "confirmed",
            f"float16 is computed {ON} and bfloat16 is not: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx`",
        ),
        (
            "sdpa-backends",
            True,
            [],
            "refuted",
            f"torch's choice of kernel gives finite numbers with and without masks {ON} in bfloat16 (assumed: bfloat16)",
        ),
        (
            "sdpa-backends",
            True,
            [("scaled_dot_product_attention", "bfloat16", "nan")],
            "confirmed",
            f"mask: padding, 192 tokens {ON} in bfloat16: ",
        ),
    ],
)
def test_a_child_runs_whole(patient: Path, name: str, bf16: bool, faults: list[Any], ruling: str, reason: str) -> None:
    probe = PROBES[name]
    planned = probe.parameters(with_gpu())
    assert not isinstance(planned, str)
    params = dict(planned)
    if name == "sdpa-backends":  # half precision is slow on a CPU
        params |= {"lengths": [192]} | ({"masks": ["padding"]} if faults else {})
    wrapped = {"children": str(CHILDREN), "child": probe.script.stem, "params": params, "faults": faults, "bf16": bf16}
    outcome = run_child(patient, SCRIPT, wrapped, timeout=probe.timeout, memory_bytes=probe.memory_bytes)
    assert outcome.measured is not None, outcome.failure
    found, words = probe.judge(outcome.measured, params)
    words = re.sub(r"\d+\.\d+ ms", "MS", words)
    assert (found, words[: len(reason)]) == (ruling, reason), outcome.measured
    if not faults:
        assert outcome.measured["peak_mib"] == 3.0
