"""Whether there is a GPU to run on, told at once."""

from __future__ import annotations

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.probes.on_gpu import gpu_words, no_gpu, ran_without_gpu
from envdoctor.sources.machine.hardware import gpu_facts, parse_smi
from tests.probes.gpu_facts import H100, stated, with_gpu

SMI = parse_smi("NVIDIA A10G, 8.6, 23028, 535.104.05\n")


def machine(environment: dict[str, str]) -> Facts:
    return Facts().with_facts(gpu_facts(SMI, environment).facts)


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        (machine({}), None),
        (machine({"CUDA_VISIBLE_DEVICES": "0"}), None),
        (machine({"CUDA_VISIBLE_DEVICES": ""}), "no GPU: CUDA_VISIBLE_DEVICES hides all of them"),
        (machine({}).with_facts([Fact("gpu.name", "A100", Origin("plan.yaml"))]), None),
        (machine({}).with_facts([Fact("accelerator", "cpu", Origin("plan.yaml"))]), "no GPU: the run computes on cpu"),
        (Facts(), "no GPU: nvidia-smi lists none on this machine"),
        (stated(accelerator="cuda", gpu__name="A100"), "no GPU: nvidia-smi lists none on this machine"),
        (stated(accelerator="mps"), "no GPU: the run computes on mps"),
        (Facts().with_facts([Fact("driver", "535.104.05", Origin("nvidia-smi"))]), "no GPU: nvidia-smi lists none on this machine"),
        (with_gpu(plan__attn="sdpa"), None),
    ],
)
def test_a_gpu_counts_where_nvidia_smi_saw_it(facts: Facts, why: str | None) -> None:
    assert no_gpu(facts) == why


def test_what_a_child_says_of_its_gpu() -> None:
    assert gpu_words({"gpu": H100}) == "NVIDIA H100 80GB HBM3 (capability 9.0)"
    assert ran_without_gpu({"gpu": H100}) is None
    assert ran_without_gpu({"no_gpu": "torch 2.13.0+cpu is built without CUDA"}) == "no GPU: torch 2.13.0+cpu is built without CUDA"
    assert ran_without_gpu({"no_gpu": "Found no NVIDIA driver\non your system."}) == "no GPU: Found no NVIDIA driver on your system."
    assert ran_without_gpu({}) == "no GPU: the child did not say on which it ran"
    assert ran_without_gpu({"gpu": {"name": None}}) == "no GPU: the child did not say on which it ran"
