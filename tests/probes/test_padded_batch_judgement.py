"""What ``padded-batch`` runs for a plan, and what it makes of a measurement: without torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, NotUnderstood, Origin
from envdoctor.probes import padded_batch
from tests.probes.gpu_facts import anything, bent, situations, stated, with_gpu

PLAIN: dict[str, Any] = {
    "model_type": "llama",
    "stands_for": None,
    "attn": ["eager", "sdpa"],
    "dtypes": ["float32", "bfloat16", "float16"],
    "autocast": None,
    "sides": ["right", "left"],
    "batch": 2,
    "accelerator": None,
    "device": "auto",
    "assumed": ["a Llama"],
}
PARAMS = PLAIN | {"attn": ["sdpa"], "dtypes": ["float32"], "sides": ["left"], "accelerator": "cpu", "device": "cpu", "assumed": []}
ALONE = {"loss": 6.98, "eval_loss": 6.98, "nonfinite_logits": 0, "nonfinite_gradients": 0, "gradient_norm": 11.8}


def arranged(side: str = "left", dtype: str = "float32", control: Any = 0.62, **padded: Any) -> dict[str, Any]:
    same = ALONE | {"logits_difference": 1e-6, "gradient_difference": 2e-6}
    made: dict[str, Any] = {"attn": "sdpa", "dtype": dtype, "side": side, "error": None, "alone": ALONE, "padded": same | padded}
    return made | ({"control": control} if side == "left" else {})


def measured(*arrangements: dict[str, Any], device: str = "cpu") -> dict[str, Any]:
    return {
        "versions": {"python": "3.11.7", "torch": "2.13.0+cpu", "transformers": "4.44.2"},
        "device": device,
        "device_name": "x86_64" if device == "cpu" else "NVIDIA H100 80GB HBM3",
        "arrangements": list(arrangements),
        "unavailable": [],
    }


def failed(message: str, during: str = "a row alone") -> dict[str, Any]:
    error = {"during": during, "type": "RuntimeError", "message": message}
    return {"attn": "sdpa", "dtype": "float16", "side": "left", "error": error}


HEALTHY = "a padded batch computes what its rows compute alone on a CPU: sdpa; float32; padded on the left"


@pytest.mark.parametrize(
    ("seen", "ruling", "reason"),
    [
        (measured(arranged()), "refuted", HEALTHY),
        (
            measured(arranged(loss="nan", eval_loss="nan", nonfinite_logits=4864, nonfinite_gradients=21, logits_difference="nan")),
            "confirmed",
            "sdpa, float32, padded on the left, on a CPU: loss nan, eval loss nan, 4864 logits not finite, 21 gradients not finite;"
            " each row alone is well",
        ),
        (
            measured(arranged("right", nonfinite_gradients=2)),
            "confirmed",
            "sdpa, float32, padded on the right, on a CPU: 2 gradients not finite; each row alone is well",
        ),
        (
            measured(arranged(control=0.0202199, logits_difference=0.0202199, gradient_difference=0.06)),
            "confirmed",
            "sdpa, float32, padded on the left, on a CPU: padding moves the logits of real tokens by 0.02 of their norm"
            " (without any mask: 0.02); each row alone is well",
        ),
        (
            measured(arranged("right", logits_difference=0.3)),
            "confirmed",
            "sdpa, float32, padded on the right, on a CPU: padding moves the logits of real tokens by 0.3 of their norm;"
            " each row alone is well",
        ),
        (
            measured(arranged(eval_loss=8.5)),
            "confirmed",
            "sdpa, float32, padded on the left, on a CPU: the evaluation loss is 8.5 where the rows alone have 6.98;"
            " each row alone is well",
        ),
        (
            measured(arranged(gradient_difference=61.6)),
            "confirmed",
            "sdpa, float32, padded on the left, on a CPU: the gradient differs by 62 of its norm; each row alone is well",
        ),
        # Rounding of half precision, as measured on healthy stacks.
        (
            measured(arranged(dtype="bfloat16", logits_difference=0.0208, gradient_difference=0.0479)),
            "refuted",
            HEALTHY.replace("float32", "bfloat16"),
        ),
        (
            measured(arranged(dtype="bfloat16", gradient_difference=0.5)),
            "inconclusive",
            "sdpa, bfloat16, padded on the left: the gradient differs by 0.5 of its norm",
        ),
        (
            measured(arranged(control=0.0)),
            "inconclusive",
            "sdpa, float32, padded on the left: a wrong mask would not be seen: leaving it out moves the logits by 0.0 of their norm",
        ),
        (
            measured(arranged() | {"alone": ALONE | {"loss": "nan"}}),
            "inconclusive",
            "sdpa, float32, padded on the left: a row alone is not finite either (loss nan), which is another fault than padding",
        ),
        (
            measured(arranged(), failed("\"LayerNormKernelImpl\" not implemented for 'Half'")),
            "inconclusive",
            "sdpa, float16, padded on the left: not testable on this CPU (a row alone: \"LayerNormKernelImpl\" not implemented for 'Half')",
        ),
        (
            measured(failed("No available kernel.\nAborting execution.", "the padded batch")),
            "inconclusive",
            "sdpa, float16, padded on the left: the padded batch failed: RuntimeError: No available kernel. Aborting execution.",
        ),
        (
            measured(arranged(), failed("boom"), arranged("right", eval_loss="inf")),
            "confirmed",
            "sdpa, float32, padded on the right, on a CPU: eval loss inf; each row alone is well",
        ),
        (
            measured() | {"unavailable": ["transformers 4.44.2 has no sdpa for mamba"]},
            "inconclusive",
            "transformers 4.44.2 has no sdpa for mamba",
        ),
        (measured(arranged() | {"padded": None}), "inconclusive", "sdpa, float32, padded on the left: no padded batch was measured"),
        (
            measured(arranged(loss=None)),
            "inconclusive",
            "sdpa, float32, padded on the left: numbers are missing (loss None)",
        ),
        ({}, "inconclusive", "the child measured nothing"),
    ],
)
def test_judgement(seen: dict[str, Any], ruling: str, reason: str) -> None:
    assert padded_batch.judge(seen, PARAMS) == (ruling, reason)


def test_a_cpu_says_nothing_of_the_kernels_of_a_gpu() -> None:
    """The fault of torch 2.5.0 does not show on a CPU: healthy there is no answer for a run on a GPU."""
    for accelerator, words in (("cuda", "cuda"), (None, "an accelerator that is not known")):
        params = PARAMS | {"accelerator": accelerator}
        assert padded_batch.judge(measured(arranged()), params) == (
            "inconclusive",
            f"{HEALTHY}; but the run computes on {words}, whose kernels were not run",
        )
        assert padded_batch.judge(measured(arranged(loss="nan")), params)[0] == "confirmed"
        on_gpu = padded_batch.judge(measured(arranged(), device="cuda"), params)
        assert on_gpu == ("refuted", HEALTHY.replace("a CPU", "NVIDIA H100 80GB HBM3"))


def test_a_llama_says_little_of_another_model() -> None:
    ruling, reason = padded_batch.judge(measured(arranged()), PARAMS | {"stands_for": "chatglm"})
    assert (ruling, reason) == ("inconclusive", f"{HEALTHY}; but it was a Llama, standing for chatglm")
    assert padded_batch.judge(measured(arranged(loss="nan")), PARAMS | {"stands_for": "chatglm"})[0] == "confirmed"


def test_one_row_a_batch_as_the_cure() -> None:
    only = arranged() | {"padded": None}
    assert padded_batch.judge(measured(only), PARAMS | {"batch": 1}) == (
        "refuted",
        "a batch of one row has no padding, and stays finite on a CPU",
    )
    assert padded_batch.judge(measured(only | {"alone": ALONE | {"eval_loss": "inf"}}), PARAMS | {"batch": 1})[0] == "inconclusive"


def test_what_was_assumed_is_said() -> None:
    assert padded_batch.judge(measured(arranged()), PARAMS | {"assumed": ["a Llama"]})[1] == f"{HEALTHY} (assumed: a Llama)"


@given(
    bent(measured(arranged(), arranged("right"))),
    st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in PARAMS.items()}),
)
def test_any_measurement_gets_a_judgement(seen: Any, params: dict[str, Any]) -> None:
    ruling, reason = padded_batch.judge(seen if isinstance(seen, dict) else {}, params)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


numbers = st.floats(0, 1) | st.sampled_from(["nan", "inf"])


@given(side=st.sampled_from(["left", "right"]), loss=numbers, logits=numbers, gradients=numbers, bad=st.integers(0, 2), control=numbers)
def test_laws_of_the_judgement(side: str, loss: Any, logits: Any, gradients: Any, bad: int, control: Any) -> None:
    each = arranged(side, control=control, eval_loss=loss, logits_difference=logits, gradient_difference=gradients, nonfinite_gradients=bad)
    ruling, _ = padded_batch.judge(measured(each), PARAMS)
    finite = not isinstance(loss, str) and not bad
    if not finite:
        assert ruling == "confirmed"
    elif ruling == "refuted":
        assert abs(loss - 6.98) < 0.01
        assert gradients <= 0.01


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Facts(), PLAIN),
        (
            stated(
                model__type="glm",
                plan__attn="sdpa",
                plan__load_dtype="bfloat16",
                plan__padding_side="left",
                plan__padding=True,
                accelerator="cpu",
            ),
            PARAMS | {"model_type": "glm", "dtypes": ["bfloat16"]},
        ),
        (
            stated(model__type="qwen2", plan__load_dtype="float32", plan__bf16=True),
            PLAIN | {"model_type": "qwen2", "dtypes": ["float32"], "autocast": "bfloat16", "assumed": []},
        ),
        (
            stated(model__type="llama", plan__load_dtype="bfloat16", plan__bf16=True, accelerator="cuda"),
            PLAIN | {"dtypes": ["bfloat16"], "accelerator": "cuda", "assumed": []},
        ),
        (
            stated(model__type="llama", plan__load_dtype="auto", model__config_dtype="float16", plan__attn="auto"),
            PLAIN | {"dtypes": ["float16"], "assumed": []},
        ),
        (stated(model__type="chatglm"), PLAIN | {"stands_for": "chatglm", "assumed": []}),
        (stated(model__type="llama", model__remote_code=True), PLAIN | {"stands_for": "llama", "assumed": []}),
        (with_gpu(model__type="llama", plan__attn="flash_attention_2"),
         PLAIN | {"attn": ["flash_attention_2"], "dtypes": ["bfloat16", "float16"], "accelerator": "cuda", "assumed": []}),
        (with_gpu(model__type="llama", plan__attn="flash_attention_2", plan__load_dtype="float32"),
         "flash_attention_2 does not compute in float32, in which the weights are loaded"),
        (with_gpu(model__type="llama", plan__attn="flash_attention_2", plan__load_dtype="float32", plan__bf16=True),
         PLAIN | {"attn": ["flash_attention_2"], "dtypes": ["float32"], "autocast": "bfloat16", "accelerator": "cuda", "assumed": []}),
        (stated(plan__attn="flash_attention_2"), "flash_attention_2 runs on a GPU only: no GPU: nvidia-smi lists none on this machine"),
        (stated(plan__attn="flex_attention"), "plan.attn is flex_attention: only eager, sdpa, flash_attention_2 are tested"),
        (stated(plan__padding=False), "plan.padding is false: no batch is padded"),
        (stated(plan__load_dtype="int8"), "the weights are loaded as int8: only float32, bfloat16, float16 are tested"),
        (stated(plan__load_dtype=NotUnderstood("flote")), "the weights are loaded as flote: only float32, bfloat16, float16 are tested"),
    ],
)  # fmt: skip
def test_what_is_run_for_a_plan(facts: Facts, expected: object) -> None:
    assert padded_batch.parameters(facts) == expected


@given(situations)
def test_any_situation_gets_parameters_or_a_reason(named: dict[str, FactValue]) -> None:
    found = padded_batch.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in named.items()))
    assert found
    assert isinstance(found, str) or set(found) == set(PLAIN)


def test_each_cure_changes_one_thing() -> None:
    tried = list(padded_batch.PROBE.variations(PARAMS))
    assert [(each.words, dict(each.plan)) for each in tried] == [
        ("attention: eager", {"plan.attn": "eager"}),
        ("one row a batch", {"plan.batch_size": 1, "plan.padding": False}),
        ("padding on the right", {"plan.padding_side": "right"}),
        ("weights loaded as bfloat16", {"plan.load_dtype": "bfloat16"}),
        ("weights loaded as float16", {"plan.load_dtype": "float16"}),
    ]
    for each in tried:
        assert len([name for name in PARAMS if each.params[name] != PARAMS[name]]) == 1


def test_a_cure_is_measured_where_the_fault_was_though_the_run_is_elsewhere() -> None:
    """A fault of Python code shows on the CPU of a machine whose run has a GPU; what cures it there is no verdict on the GPU's kernels."""
    params = PARAMS | {"accelerator": "cuda", "device": "auto"}
    assert padded_batch.judge(measured(arranged(logits_difference=0.4)), params)[0] == "confirmed"
    assert padded_batch.judge(measured(arranged("right")), params)[0] == "inconclusive"
    right = next(dict(each.params) for each in padded_batch.variations(params) if each.words == "padding on the right")
    assert padded_batch.judge(measured(arranged("right")), right)[0] == "refuted"


@pytest.mark.parametrize(
    ("computed_in", "ruling", "reason"),
    [
        ("float16", "refuted", HEALTHY),
        (
            "float32",
            "inconclusive",
            "sdpa, float32, padded on the left: autocast to float16 computed in float32 on a CPU",
        ),
        (None, "inconclusive", "sdpa, float32, padded on the left: autocast to float16 computed in None on a CPU"),
    ],
)
def test_autocast_that_a_torch_leaves_out_shows_nothing(computed_in: object, ruling: str, reason: str) -> None:
    params = PARAMS | {"autocast": "float16"}
    assert padded_batch.judge(measured(arranged() | {"autocast": computed_in}), params) == (ruling, reason)
