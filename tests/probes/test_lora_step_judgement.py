"""What ``lora-step`` runs for a plan, and what it makes of a measurement: without torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, NotUnderstood, Origin
from envdoctor.facts.versions import exact
from envdoctor.facts.vocabulary import TERMS
from envdoctor.probes import lora_step

BAD: dict[str, Any] = {
    "versions": {"torch": "2.13.0+cpu", "transformers": "4.46.3", "peft": "0.11.1"},
    "trainable_dtypes": {"float16": 8},
    "optimizer": "adamw_torch",
    "losses": [4.863442, "nan", "nan"],
    "nonfinite_trainable": [8, 8],
    "nonzero_gradients": [4, 8],
    "skipped_steps": 0,
    "error": None,
}
GOOD: dict[str, Any] = BAD | {"trainable_dtypes": {"float32": 8}, "losses": [4.863442, 4.855525, 4.847449], "nonfinite_trainable": [0, 0]}
MIXED = BAD | {"trainable_dtypes": {"float32": 8, "float16": 1}}
PARAMS: dict[str, Any] = {"steps": 2}


def facts(**values: FactValue) -> Facts:
    return Facts().with_facts(
        Fact("plan." + name if "__" not in name else name.replace("__", ".", 1), value, Origin("test")) for name, value in values.items()
    )


def failed(message: str, *, kind: str = "RuntimeError", during: str = "forward", **changed: object) -> dict[str, Any]:
    error = {"step": 1, "during": during, "type": kind, "message": message}
    return BAD | {"losses": [], "nonfinite_trainable": [], "nonzero_gradients": [], "error": error} | changed


@pytest.mark.parametrize(
    ("measured", "ruling", "reason"),
    [
        (
            BAD,
            "confirmed",
            "trainable parameters are float16; after step 1 with adamw_torch 8 of 8 trainable tensors are not finite and the loss is nan",
        ),
        (
            BAD | {"losses": [4.8, 4.7, "nan"], "nonfinite_trainable": [0, 3]},
            "confirmed",
            "trainable parameters are float16; after step 2 with adamw_torch 3 of 8 trainable tensors are not finite and the loss is nan",
        ),
        (
            MIXED | {"losses": [4.8, 4.7, 4.6], "nonfinite_trainable": [1, 1]},
            "confirmed",
            "trainable parameters are float16 and float32; after step 1 with adamw_torch 1 of 9 trainable tensors are not finite"
            " and the loss is 4.7",
        ),
        (
            failed("Attempting to unscale FP16 gradients.", kind="ValueError", during="unscaling the gradients"),
            "confirmed",
            "trainable parameters are float16; the gradient scaler refuses them: Attempting to unscale FP16 gradients.",
        ),
        (
            GOOD,
            "refuted",
            "trainable parameters are float32; losses and trainable parameters stay finite through 2 steps with adamw_torch",
        ),
        (
            GOOD | {"trainable_dtypes": {"float16": 8}, "optimizer": "adamw_torch_fused"},
            "refuted",
            "trainable parameters are float16; losses and trainable parameters stay finite through 2 steps with adamw_torch_fused",
        ),
        (
            GOOD | {"trainable_dtypes": {"bfloat16": 8}},
            "refuted",
            "trainable parameters are bfloat16; losses and trainable parameters stay finite through 2 steps with adamw_torch",
        ),
        (
            BAD | {"trainable_dtypes": {"float32": 8}},
            "inconclusive",
            "after step 1 with adamw_torch 8 of 8 trainable tensors are not finite and the loss is nan,"
            " but trainable parameters are float32: another fault than float16 adapters",
        ),
        (
            BAD | {"losses": ["nan", "nan", "nan"]},
            "inconclusive",
            "the loss was not finite before any step, which is another fault; trainable parameters are float16",
        ),
        (
            GOOD | {"nonzero_gradients": [4, 0]},
            "inconclusive",
            "trainable parameters are float32, but a step changed nothing: its gradients were zero or it was skipped",
        ),
        (
            GOOD | {"skipped_steps": 1},
            "inconclusive",
            "trainable parameters are float32, but a step changed nothing: its gradients were zero or it was skipped",
        ),
        (
            GOOD | {"losses": [4.8, 4.7], "nonfinite_trainable": [0], "nonzero_gradients": [4]},
            "inconclusive",
            "trainable parameters are float32, but 1 of 2 steps were measured",
        ),
        (GOOD | {"losses": [4.8]}, "inconclusive", "trainable parameters are float32, but no whole step was measured"),
        (BAD | {"nonfinite_trainable": []}, "inconclusive", "trainable parameters are float16, but no whole step was measured"),
        (BAD | {"nonfinite_trainable": [True, True]}, "inconclusive", "trainable parameters are float16, but no whole step was measured"),
        ({}, "inconclusive", "the child did not say what dtype the trainable parameters have"),
        (BAD | {"trainable_dtypes": {}}, "inconclusive", "the child did not say what dtype the trainable parameters have"),
        (BAD | {"trainable_dtypes": ["float16"]}, "inconclusive", "the child did not say what dtype the trainable parameters have"),
        (
            failed("CUDA driver\ninitialization failed"),
            "inconclusive",
            "forward failed: RuntimeError: CUDA driver initialization failed; trainable parameters are float16",
        ),
        (
            failed("Attempting to unscale FP16 gradients.", kind="ValueError", trainable_dtypes={"float32": 8}),
            "inconclusive",
            "forward failed: ValueError: Attempting to unscale FP16 gradients.; trainable parameters are float32",
        ),
        (BAD | {"error": "boom"}, "inconclusive", "a step failed: an error: ; trainable parameters are float16"),
    ],
)
def test_judgement(measured: dict[str, Any], ruling: str, reason: str) -> None:
    assert lora_step.judge(measured, PARAMS) == (ruling, reason)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "message",
    [
        "\"addmm_impl_cpu_\" not implemented for 'Half'",
        "\"LayerNormKernelImpl\" not implemented for 'Half'",
        "Unexpected floating ScalarType in at::autocast::prioritize",
        "mixed dtype (CPU): expect parameter to have scalar type of Float",
        "Expected attn_mask dtype to be bool or to match query dtype, but got attn_mask.dtype: c10::Half",
        "module 'torch.amp' has no attribute 'GradScaler'",
        "`fused=True` requires all the params to be floating point Tensors of supported devices: ['cuda', 'xpu'].",
    ],
)
def test_what_a_cpu_cannot_compute_is_not_the_disease(dtype: str, message: str) -> None:
    """The wordings are those of torch 2.1 and 2.2."""
    ruling, reason = lora_step.judge(failed(message, trainable_dtypes={dtype: 8}), PARAMS)
    assert ruling == "inconclusive"
    assert reason == f"not testable on this CPU (forward: {message}); trainable parameters are {dtype}"


def test_what_was_assumed_is_said() -> None:
    assert lora_step.judge(GOOD, PARAMS | {"assumed": ["LoRA", "a float16 base"]})[1].endswith(" (assumed: LoRA, a float16 base)")


text = st.text("ab.\0é☃\u202e", max_size=8)
anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)


@given(
    measured=st.fixed_dictionaries({}, optional={name: anything | st.just(value) for name, value in BAD.items()}),
    params=st.fixed_dictionaries({}, optional={"steps": anything, "assumed": anything}),
)
def test_any_measurement_gets_a_judgement(measured: dict[str, Any], params: dict[str, Any]) -> None:
    ruling, reason = lora_step.judge(measured, params)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


@given(
    losses=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(["nan", "inf", "-inf"]), max_size=4),
    nonfinite=st.lists(st.integers(0, 8), max_size=3),
    nonzero=st.lists(st.integers(0, 8), max_size=3),
    dtypes=st.dictionaries(st.sampled_from(["float16", "bfloat16", "float32"]), st.integers(1, 8), min_size=1),
)
def test_laws_of_the_judgement(losses: list[Any], nonfinite: list[int], nonzero: list[int], dtypes: dict[str, int]) -> None:
    measured = BAD | {"losses": losses, "nonfinite_trainable": nonfinite, "nonzero_gradients": nonzero, "trainable_dtypes": dtypes}
    ruling, _ = lora_step.judge(measured, PARAMS)
    seen = any(isinstance(loss, str) for loss in losses) or any(nonfinite)
    if ruling == "confirmed":
        assert seen
        assert "float16" in dtypes
    if ruling == "refuted":
        assert not seen
        assert all(nonzero)
        assert len(nonfinite) == 2


PLAIN = {
    "dtype": "float16",
    "method": "lora",
    "autocast_adapter_dtype": None,
    "modules_to_save": [],
    "optimizer": None,
    "eps": 1e-8,
    "grad_scaler": False,
    "bfloat16": True,
    "steps": 2,
    "assumed": ["LoRA", "a float16 base"],
}
STATED = PLAIN | {"assumed": []}
LORA: dict[str, FactValue] = {"method": "lora", "load_dtype": "float16"}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (facts(), PLAIN),
        (facts(**LORA), STATED),
        (facts(**LORA | {"method": "dora"}), STATED | {"method": "dora"}),
        (facts(**LORA, fp16=True), STATED | {"grad_scaler": True}),
        (facts(**LORA, gpu__compute_capability=exact("7.5")), STATED | {"bfloat16": False}),
        (facts(**LORA, gpu__compute_capability=exact("8.6")), STATED),
        (facts(**LORA, bf16=True), STATED | {"assumed": ["bfloat16 autocast left out, which a CPU does not do over this base"]}),
        (facts(**LORA, autocast_adapter_dtype=False), STATED | {"autocast_adapter_dtype": False}),
        (facts(**LORA, optimizer="adamw_torch_fused", optimizer_eps=1e-6), STATED | {"optimizer": "adamw_torch_fused", "eps": 1e-6}),
        (facts(**LORA, optimizer="adamw"), STATED | {"optimizer": "adamw_torch"}),
        (
            facts(**LORA, modules_to_save=("transformer.embedding.word_embeddings", "output_layer", "lm_head")),
            STATED | {"modules_to_save": ["embed_tokens", "lm_head"]},
        ),
        (facts(method="lora", load_dtype="auto", model__config_dtype="bfloat16"), STATED | {"dtype": "bfloat16"}),
        (facts(method="lora", load_dtype="auto", model__dtype="float32"), STATED | {"dtype": "float32"}),
        (facts(method="lora"), STATED | {"assumed": ["a float16 base"]}),
        (facts(**LORA | {"method": "dpo"}, lora_r=8), STATED),
        (facts(**LORA | {"method": "dpo"}), "plan.method is dpo: no LoRA adapter is trained"),
        (facts(**LORA | {"method": "full"}), "plan.method is full: no LoRA adapter is trained"),
        (facts(**LORA | {"method": NotUnderstood("lorra")}), "plan.method is lorra: no LoRA adapter is trained"),
        (facts(**LORA | {"method": "qlora"}), "plan.method is qlora: no LoRA adapter is trained"),
        (facts(**LORA, quant="4bit"), "the base is quantized (4bit): a CPU cannot show that step"),
        (facts(**LORA, load_in_8bit=True), "the base is quantized (bitsandbytes): a CPU cannot show that step"),
        (facts(**LORA, quant="none"), STATED),
        (facts(**LORA | {"load_dtype": "int8"}), "the weights are loaded as int8: only float16, bfloat16, float32 are tested"),
        (
            facts(**LORA, optimizer="paged_adamw_8bit"),
            "plan.optimizer is paged_adamw_8bit: only adafactor, adamw_torch, adamw_torch_fused, sgd are tested on a CPU",
        ),
        (facts(**LORA, modules_to_save=("score",)), "plan.modules_to_save names score, which the tiny model does not have"),
    ],
)
def test_what_is_run_for_a_plan(stated: Facts, expected: object) -> None:
    assert lora_step.parameters(stated) == expected


values: st.SearchStrategy[FactValue] = (
    st.booleans() | st.integers() | st.floats() | text | st.lists(text, max_size=3).map(tuple) | st.just(NotUnderstood("?"))
)


@given(st.dictionaries(st.sampled_from([term.name for term in TERMS if term.name.startswith(("plan.", "model."))]), values, max_size=6))
def test_any_plan_gets_parameters_or_a_reason(stated: dict[str, FactValue]) -> None:
    found = lora_step.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in stated.items()))
    assert found
    assert isinstance(found, str) or set(found) == set(PLAIN)


@pytest.mark.parametrize(
    ("params", "tried"),
    [
        (
            PLAIN,
            [
                ({"dtype": "bfloat16"}, {"plan.load_dtype": "bfloat16"}),
                ({"dtype": "float32"}, {"plan.load_dtype": "float32"}),
                ({"eps": 1e-6}, {"plan.optimizer_eps": 1e-6}),
            ],
        ),
        (
            PLAIN | {"grad_scaler": True, "eps": 1e-6},
            [
                ({"dtype": "bfloat16", "grad_scaler": False}, {"plan.load_dtype": "bfloat16", "plan.fp16": False}),
                ({"dtype": "float32"}, {"plan.load_dtype": "float32"}),
            ],
        ),
        (PLAIN | {"bfloat16": False, "eps": 1e-6}, [({"dtype": "float32"}, {"plan.load_dtype": "float32"})]),
        (PLAIN | {"dtype": "bfloat16", "eps": 1e-6}, []),
        ({}, []),
    ],
)
def test_a_cure_is_what_was_run_and_nothing_beside_it(params: dict[str, Any], tried: list[tuple[object, object]]) -> None:
    """bf16=True is no part of it: a CPU has no autocast over a bfloat16 base."""
    assert [(dict(each.params), dict(each.plan)) for each in lora_step.variations(params)] == tried
