"""What ``quantize-4bit`` and ``quantize-8bit`` run for a situation, and what they make of a measurement: without a GPU."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.versions import ABSENT
from envdoctor.probes import quantization, quantize_4bit, quantize_8bit
from tests.probes.anything import like

GPU = {"name": "NVIDIA A100-SXM4-80GB", "capability": "8.0"}
ON = "on NVIDIA A100-SXM4-80GB (capability 8.0)"
FOUR: dict[str, Any] = {
    "versions": {"torch": "2.13.0", "bitsandbytes": "0.46.1"},
    "device": "cuda",
    "gpu": GPU,
    "error": None,
    "supported_devices": ["cpu", "cuda"],
    "stored_as": "uint8",
    "stored_bytes": 16384,
    "weights": 32768,
    "nonfinite": 0,
    "forward_error": 0.0909,
    "backward_error": 0.094,
    "adapter_gradients": 2,
}
EIGHT = FOUR | {"stored_as": "int8", "stored_bytes": 32768, "forward_error": 0.0094, "backward_error": 0.0069}
CPU = {name: value for name, value in FOUR.items() if name != "gpu"} | {"device": "cpu"}
PARAMS: dict[str, Any] = {"assumed": []}


def failed(message: str, *, during: str = "quantizing", kind: str = "RuntimeError", **changed: object) -> dict[str, Any]:
    return FOUR | {"error": {"during": during, "type": kind, "message": message}} | changed


@pytest.mark.parametrize(
    ("bits", "measured", "ruling", "reason"),
    [
        (4, FOUR, "refuted", f"{ON} a layer is packed to 4 bits, computes within 30% and passes gradients on"),
        (8, EIGHT, "refuted", f"{ON} a layer is packed to 8 bits, computes within 10% and passes gradients on"),
        (4, CPU, "refuted", "on the CPU a layer is packed to 4 bits, computes within 30% and passes gradients on"),
        (
            4,
            FOUR | {"stored_as": "float16", "stored_bytes": 65536},
            "inconclusive",
            f"{ON} the weights were not packed to 4 bits: 65536 bytes for 32768 weights (float16)",
        ),
        (
            8,
            EIGHT | {"forward_error": 1.4},
            "confirmed",
            f"{ON} the result is 140% away from that of the weights as they were; 8 bits explain 10%",
        ),
        (
            4,
            FOUR | {"backward_error": 0.9},
            "confirmed",
            f"{ON} the input's gradient is 90% away from that of the weights as they were; 4 bits explain 30%",
        ),
        (4, FOUR | {"nonfinite": 3}, "confirmed", f"{ON} 3 values of the result and the input's gradient are not finite"),
        (4, FOUR | {"forward_error": 0.0}, "inconclusive", f"{ON} the result is as exact as if nothing had been quantized"),
        (4, FOUR | {"forward_error": "nan"}, "inconclusive", f"{ON} the result was not compared"),
        (
            4,
            FOUR | {"adapter_gradients": 1},
            "inconclusive",
            f"{ON} the gradients of an adapter beside the layer are zero or not finite: another fault",
        ),
        (4, FOUR | {"nonfinite": None}, "inconclusive", f"{ON} forward and backward were not measured"),
        (
            4,
            failed("No module named 'triton.ops'", during="importing bitsandbytes", kind="ModuleNotFoundError"),
            "confirmed",
            f"{ON} importing bitsandbytes failed: ModuleNotFoundError: No module named 'triton.ops'",
        ),
        (
            8,
            failed("cublasLt ran into an error!", during="forward"),
            "confirmed",
            f"{ON} forward failed: RuntimeError: cublasLt ran into an error!",
        ),
        (
            4,
            failed("'NoneType' object has no attribute 'cget_managed_ptr'", kind="AttributeError"),
            "confirmed",
            f"{ON} quantizing failed: AttributeError: 'NoneType' object has no attribute 'cget_managed_ptr'",
        ),
        (
            4,
            failed("CUDA out of memory. Tried to allocate 2 MiB", kind="OutOfMemoryError"),
            "inconclusive",
            f"{ON} quantizing failed: OutOfMemoryError: CUDA out of memory. Tried to allocate 2 MiB: the memory was full,"
            " which is another matter",
        ),
        (
            4,
            failed("unexpected keyword argument 'compress_statistics'", kind="TypeError"),
            "inconclusive",
            f"{ON} quantizing failed: TypeError: unexpected keyword argument 'compress_statistics'",
        ),
        (
            4,
            CPU
            | {
                "error": {"during": "forward", "type": "AssertionError", "message": ""},
                "supported_devices": None,
                "stored_as": "float16",
            },
            "confirmed",
            "on the CPU forward failed: AssertionError: this bitsandbytes does not name the CPU among its devices,"
            " and left the weights float16",
        ),
        (
            4,
            CPU | {"error": {"during": "forward", "type": "RuntimeError", "message": "undefined symbol: x"}},
            "inconclusive",
            "on the CPU forward failed: RuntimeError: undefined symbol: x",
        ),
        (
            4,
            {"device": "cuda", "error": None, "no_gpu": "torch 2.13.0+cpu is built without CUDA"},
            "inconclusive",
            "no GPU: torch 2.13.0+cpu is built without CUDA",
        ),
        (4, {}, "inconclusive", "no GPU: the child did not say on which it ran"),
    ],
)
def test_judgement(bits: int, measured: dict[str, Any], ruling: str, reason: str) -> None:
    assert quantization.judge(measured, PARAMS, bits=bits) == (ruling, reason)


@given(measured=like(FOUR | {"error": failed("x")["error"], "no_gpu": "why"}), params=like(PARAMS), bits=st.sampled_from([4, 8]))
def test_any_measurement_gets_a_judgement(measured: dict[str, Any], params: dict[str, Any], bits: int) -> None:
    ruling, reason = quantization.judge(measured, params, bits=bits)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


@given(forward=st.floats(0, 3), backward=st.floats(0, 3), nonfinite=st.integers(0, 2), bits=st.sampled_from([4, 8]))
def test_only_what_bits_explain_is_refuted(forward: float, backward: float, nonfinite: int, bits: int) -> None:
    seen = (FOUR if bits == 4 else EIGHT) | {"forward_error": forward, "backward_error": backward, "nonfinite": nonfinite}
    ruling, _ = quantization.judge(seen, PARAMS, bits=bits)
    explained = 0.3 if bits == 4 else 0.1
    assert (ruling == "confirmed") <= bool(nonfinite or max(forward, backward) > explained)
    assert (ruling == "refuted") <= (not nonfinite and 0 < min(forward, backward) <= max(forward, backward) <= explained)


def facts(origin: str, **values: FactValue) -> Facts:
    return Facts().with_facts(Fact(name.replace("__", "."), value, Origin(origin)) for name, value in values.items())


RUN = {"bits": 4, "device": "cuda", "dtype": "float16", "quant_type": "nf4", "assumed": ["computing in float16"]}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (facts("nvidia-smi", accelerator="cuda", gpu__count=1), RUN),
        (
            facts("nvidia-smi", accelerator="cuda", gpu__count=1, plan__load_dtype="bfloat16", plan__quant="4bit"),
            RUN | {"dtype": "bfloat16", "assumed": []},
        ),
        (facts("--set", accelerator="cpu", plan__quant="4bit"), RUN | {"device": "cpu"}),
        (facts("label of torch", accelerator="cpu"), "no GPU: the run computes on cpu, and nothing says that it quantizes"),
        (facts("--set", accelerator="cuda"), "no GPU: nvidia-smi lists none on this machine"),
        (facts("--set"), "no GPU: nvidia-smi lists none on this machine"),
        (facts("--set", accelerator="mps"), "no GPU: the run computes on mps"),
        (facts("--set", plan__quant="8bit"), "plan.quant is 8bit: nothing is quantized to 4 bits by bitsandbytes"),
        (facts("--set", plan__quant="awq"), "plan.quant is awq: nothing is quantized to 4 bits by bitsandbytes"),
        (facts("--set", plan__quant="none"), "plan.quant is none: nothing is quantized to 4 bits by bitsandbytes"),
        (facts("--set", packages__bitsandbytes=ABSENT), "bitsandbytes is not installed"),
    ],
)
def test_what_is_run_for_a_situation(stated: Facts, expected: object) -> None:
    assert quantize_4bit.PROBE.parameters(stated) == expected


def test_each_probe_has_its_bits() -> None:
    here = facts("nvidia-smi", accelerator="cuda", gpu__count=1, plan__quant="8bit")
    assert quantize_8bit.PROBE.parameters(here) == RUN | {"bits": 8}
    assert quantize_8bit.PROBE.judge(FOUR, PARAMS)[0] == "inconclusive"
    assert quantize_4bit.PROBE.judge(EIGHT, PARAMS)[0] == "inconclusive"


def test_each_cure_changes_one_thing_and_is_judged_by_its_own_bits() -> None:
    params = {"bits": 4, "device": "cuda", "dtype": "float16", "quant_type": "nf4", "assumed": []}
    tried = list(quantize_4bit.PROBE.variations(params))
    assert [(each.words, dict(each.plan)) for each in tried] == [
        ("computing in bfloat16", {}),
        ("computing in float32", {}),
        ('bnb_4bit_quant_type="fp4"', {}),
        ("8 bits", {"plan.quant": "8bit"}),
    ]
    for each in tried:
        assert len([name for name in params if each.params[name] != params[name]]) == 1
    assert quantize_4bit.PROBE.judge(EIGHT, tried[-1].params)[0] == "refuted"
    assert quantize_4bit.PROBE.judge(FOUR, tried[-1].params)[0] == "inconclusive"
    assert [each.words for each in quantize_8bit.PROBE.variations({**params, "bits": 8, "dtype": "float32"})][-1] == "4 bits"
