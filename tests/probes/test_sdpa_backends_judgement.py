"""What ``sdpa-backends`` runs for a plan and makes of a measurement: without torch and without a GPU."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.probes import sdpa_backends
from tests.probes.gpu_facts import H100, ON_H100, anything, bent, situations, stated, with_gpu

PARAMS: dict[str, Any] = {
    "dtype": "bfloat16",
    "masks": ["none", "padding", "additive", "masked rows", "negative scores"],
    "lengths": [192, 256],
    "disabled": [],
    "assumed": [],
}
NAMES = ("output", "query_gradient", "key_gradient", "value_gradient")
KERNELS = ("default", "flash", "efficient", "math", "cudnn")
ON = f"{ON_H100} in bfloat16"


def trial(mask: str, length: int, kernel: str, *, message: str | None = None, difference: Any = 0.004, **nonfinite: int) -> dict[str, Any]:
    place = {"mask": mask, "length": length, "kernel": kernel}
    if message is not None:
        return place | {"refused": "No available kernel" in message, "error": {"type": "RuntimeError", "message": message}}
    counts = {name: nonfinite.get(name, 0) for name in NAMES}
    return place | {"refused": False, "error": None, "nonfinite": counts, "difference": dict.fromkeys(NAMES, difference)}


def measured(*changed: dict[str, Any], without: tuple[str, int] | None = None) -> dict[str, Any]:
    """A healthy measurement in which some trials are others; flash refuses every mask, as it does."""
    trials = {}
    for mask in PARAMS["masks"]:
        for length in PARAMS["lengths"]:
            for kernel in KERNELS:
                refusal = "No available kernel. Aborting execution." if kernel == "flash" and mask != "none" else None
                trials[mask, length, kernel] = trial(mask, length, kernel, message=refusal)
    trials |= {(each["mask"], each["length"], each["kernel"]): each for each in changed}
    return {"gpu": H100, "enabled": ["cudnn"], "trials": [each for key, each in trials.items() if key[:2] != without]}


CUDNN = [trial("negative scores", 192, kernel, query_gradient=45056) for kernel in ("default", "cudnn")]
MASKED_ROWS = [
    trial("masked rows", 192, kernel, output=4096, query_gradient=4096, key_gradient=9, value_gradient=9) for kernel in ("default", "math")
]
NO_PLAN = "cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph."


@pytest.mark.parametrize(
    ("seen", "ruling", "reason"),
    [
        (measured(), "refuted", f"torch's choice of kernel gives finite numbers with and without masks {ON}"),
        (
            measured(*CUDNN),
            "confirmed",
            f"mask: negative scores, 192 tokens {ON}: 45056 numbers of the query gradient are not finite, where the math kernel is well;"
            " so does cudnn chosen by hand",
        ),
        (
            measured(trial("padding", 256, "default", output=3, key_gradient=5)),
            "confirmed",
            f"mask: padding, 256 tokens {ON}: 3 numbers of the output and 5 numbers of the key gradient are not finite,"
            " where the math kernel is well",
        ),
        (
            measured(trial("padding", 192, "default", message=NO_PLAN)),
            "confirmed",
            f"mask: padding, 192 tokens {ON}: torch finds no kernel: {NO_PLAN}, where the math kernel is well",
        ),
        (
            measured(CUDNN[1]),
            "refuted",
            f"torch's choice of kernel gives finite numbers with and without masks {ON} (forced by hand, cudnn does not)",
        ),
        # torch before 2.5 gives NaN for a row that sees nothing, with every kernel.
        (measured(*MASKED_ROWS), "refuted", f"torch's choice of kernel gives finite numbers with and without masks {ON}"),
        (
            measured(trial("additive", 256, "default", difference=0.9)),
            "inconclusive",
            f"mask: additive, 256 tokens: the output differs from float32 by 0.9 of its norm {ON}, which is another fault",
        ),
        # With equal scores the gradient of the queries is a difference of equal numbers.
        (
            measured(trial("negative scores", 256, "default", difference=30.0)),
            "refuted",
            f"torch's choice of kernel gives finite numbers with and without masks {ON}",
        ),
        (
            measured(trial("padding", 192, "default", message="CUDA out of memory.")),
            "inconclusive",
            f"mask: padding, 192 tokens: CUDA out of memory. {ON}, which is another fault",
        ),
        (
            measured(trial("padding", 192, "math", message="CUDA out of memory.")),
            "inconclusive",
            f"mask: padding, 192 tokens: the math kernel failed: CUDA out of memory. {ON}, which is another fault",
        ),
        (
            measured(without=("negative scores", 256)),
            "inconclusive",
            f"mask: negative scores, 256 tokens: not computed {ON}, which is another fault",
        ),
        ({"no_gpu": "torch 2.13.0+cpu is built without CUDA"}, "inconclusive", "no GPU: torch 2.13.0+cpu is built without CUDA"),
    ],
)
def test_judgement(seen: dict[str, Any], ruling: str, reason: str) -> None:
    assert sdpa_backends.judge(seen, PARAMS) == (ruling, reason)


def test_the_cures_that_are_tried() -> None:
    off, longer = sdpa_backends.PROBE.variations(PARAMS)
    assert off.params == PARAMS | {"disabled": ["cudnn"]}
    assert longer.params == PARAMS | {"lengths": [256]}
    assert sdpa_backends.judge(measured(*CUDNN), longer.params)[0] == "refuted"
    assert sdpa_backends.judge(measured(CUDNN[1]), off.params)[0] == "refuted"


@given(
    st.lists(
        st.builds(
            lambda mask, length, kernel, count: trial(mask, length, kernel, output=count),
            st.sampled_from(PARAMS["masks"]),
            st.sampled_from(PARAMS["lengths"]),
            st.sampled_from(KERNELS),
            st.integers(0, 3),
        ),
        max_size=8,
    )
)
def test_laws_of_the_judgement(changed: list[dict[str, Any]]) -> None:
    """Confirmed says that torch's choice is not finite somewhere where the math kernel is."""
    seen = measured(*changed)
    counts = {(each["mask"], each["length"], each["kernel"]): each.get("nonfinite", {}).get("output", 0) for each in seen["trials"]}
    worse = any(
        counts[mask, length, "default"] and not counts[mask, length, "math"] for mask in PARAMS["masks"] for length in PARAMS["lengths"]
    )
    assert sdpa_backends.judge(seen, PARAMS)[0] == ("confirmed" if worse else "refuted")


@given(
    bent(measured() | {"trials": [trial("none", 192, "default"), trial("none", 192, "math")]}),
    st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in PARAMS.items()}),
)
def test_any_measurement_gets_a_judgement(seen: Any, params: dict[str, Any]) -> None:
    ruling, reason = sdpa_backends.judge(seen if isinstance(seen, dict) else {}, params)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (with_gpu(plan__attn="sdpa", plan__load_dtype="bfloat16"), PARAMS),
        (with_gpu(plan__load_dtype="auto", model__config_dtype="float16"), PARAMS | {"dtype": "float16"}),
        (with_gpu(plan__load_dtype="float32", plan__bf16=True), PARAMS),
        (with_gpu(plan__load_dtype="float32"), PARAMS | {"dtype": "float32"}),
        (with_gpu(), PARAMS | {"assumed": ["bfloat16"]}),
        (with_gpu(plan__attn="eager"), "plan.attn is eager: torch's own attention is not used"),
        (with_gpu(plan__load_dtype="int8"), "the weights are loaded as int8: only float16, bfloat16, float32 are tested"),
        (stated(plan__attn="sdpa", accelerator="cuda"), "no GPU: nvidia-smi lists none on this machine"),
    ],
)
def test_what_is_run_for_a_plan(facts: Facts, expected: object) -> None:
    assert sdpa_backends.parameters(facts) == expected


@given(situations)
def test_any_situation_gets_parameters_or_a_reason(named: dict[str, FactValue]) -> None:
    assert sdpa_backends.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in named.items()))
