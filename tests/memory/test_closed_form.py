"""The closed form: published figures to the percent, and laws that hold whatever the model and the plan are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import GIB, Estimate
from envdoctor.memory.plan import Adapter, Plan, Sharding, Stack

MISTRAL: Mapping[str, object] = {
    "model_type": "mistral",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 32000,
}
SMALL: Mapping[str, object] = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "intermediate_size": 1408,
    "vocab_size": 32000,
}
ALL = ("q_proj", "k_proj", "v_proj", "o_proj")
LORA = Plan(
    "adapter",
    "bfloat16",
    None,
    4,
    4096,
    Adapter(16, ALL),
    checkpointing=True,
    attention="flash_attention_2",
    stack=Stack("2.4.1", "4.48.1", "0.13.2"),
)


def of(config: Mapping[str, object], plan: Plan) -> Estimate:
    return estimate(read_architecture(config), plan)


# max_memory_allocated of Mistral-7B on an A100 80GB, in GiB: scripts/benchmarks/refs of foundation-model-stack/fms-acceleration @876e2ed.
@pytest.mark.parametrize(
    ("plan", "measured"),
    [
        (LORA, 24.871),
        (replace(LORA, rows=8), 36.082),
        (replace(LORA, method="full", adapter=None), 67.460),
        (replace(LORA, method="full", adapter=None, rows=8), 67.461),
    ],
    ids=["lora-4", "lora-8", "full-4", "full-8"],
)
def test_mistral_7b_as_measured_on_an_a100(plan: Plan, measured: float) -> None:
    assert of(MISTRAL, plan).allocated.expected / GIB == pytest.approx(measured, rel=0.005)


def test_the_release_of_transformers_moves_the_same_plan() -> None:
    newer = replace(LORA, stack=replace(LORA.stack, transformers="4.57.1"))
    older = replace(LORA, stack=replace(LORA.stack, transformers="4.45.2"))
    expected = [of(MISTRAL, plan).allocated.expected / GIB for plan in (older, LORA, newer)]
    # The 16-bit logits beside their float32 copies from 4.48 on for Mistral; no shifted copy from 4.49 on.
    assert expected == pytest.approx([23.88, 24.86, 23.76], abs=0.02)


def test_every_term_of_the_peak_is_told() -> None:
    found = of(MISTRAL, LORA)
    assert found.peak.name == "loss"
    assert {term: round(value / GIB, 2) for term, value in found.peak.terms.items()} == {
        "weights": 13.49,
        "adapters": 0.05,
        "optimizer": 0.1,
        "other": 0.01,
        "activations": 4.0,
        "logits": 7.21,
    }
    assert [moment.name for moment in found.moments] == [
        "loading",
        "loss",
        "backward of the loss",
        "backward of the last layer",
        "backward of the first layer",
        "backward of the embeddings",
        "optimizer step",
    ]


plans = st.builds(
    Plan,
    method=st.sampled_from(["full", "adapter", "prompt", "inference"]),
    load_dtype=st.sampled_from(["float32", "float16", "bfloat16"]),
    autocast=st.sampled_from([None, "bfloat16"]),
    rows=st.integers(1, 16),
    tokens=st.integers(1, 4096),
    adapter=st.builds(Adapter, rank=st.integers(1, 64), targets=st.just(ALL), float32=st.booleans(), dropout=st.sampled_from([0.0, 0.1])),
    quant=st.sampled_from(["none", "4bit", "8bit", "gptq"]),
    upcast=st.booleans(),
    prompt=st.integers(0, 8),
    accumulation=st.integers(1, 4),
    checkpointing=st.booleans(),
    optimizer=st.sampled_from(["adamw_torch", "adamw_torch_fused", "adamw_8bit", "adafactor", "sgd", "galore_adamw"]),
    attention=st.sampled_from(["eager", "sdpa", "flash_attention_2"]),
    sharding=st.sampled_from(["none", "ddp", "zero1", "zero2", "zero3", "fsdp", "device_map"]),
    gpus=st.integers(1, 8),
    offload=st.sampled_from(["none", "optimizer", "parameters", "both"]),
    mask=st.booleans(),
    liger=st.booleans(),
    stack=st.builds(Stack, transformers=st.sampled_from(["", "4.45.2", "4.48.1", "4.57.1"])),
)


@given(plans)
def test_ranges_are_ordered_and_terms_are_never_negative(plan: Plan) -> None:
    found = of(SMALL, plan)
    assert 0 < found.allocated.low <= found.allocated.expected <= found.allocated.high
    assert found.reserved.low <= found.reserved.expected <= found.reserved.high
    assert found.allocated.expected <= found.reserved.expected
    assert found.allocated.expected == max(moment.total for moment in found.moments)
    assert all(value > 0 for moment in found.moments for value in moment.terms.values())


@given(plans, st.integers(1, 4), st.integers(1, 1024))
def test_more_rows_or_tokens_never_need_less(plan: Plan, rows: int, tokens: int) -> None:
    more = replace(plan, rows=plan.rows + rows, tokens=plan.tokens + tokens)
    assert of(SMALL, more).allocated.expected >= of(SMALL, plan).allocated.expected


@given(plans)
def test_what_saves_memory_never_needs_more(plan: Plan) -> None:
    needed = of(SMALL, plan).allocated.expected
    plain = of(SMALL, replace(plan, checkpointing=False)).allocated.expected
    # One layer's boundaries and its recomputation are beside each other: never more than a layer above keeping everything.
    assert of(SMALL, replace(plan, checkpointing=True)).allocated.expected <= plain * 1.2
    plain_sgd, adam = (of(SMALL, replace(plan, optimizer=name)).allocated.expected for name in ("sgd", "adamw_torch"))
    assert plain_sgd <= adam
    eager, fused = (of(SMALL, replace(plan, attention=way, mask=False)).allocated.expected for way in ("eager", "flash_attention_2"))
    assert fused <= eager
    assert needed > 0


@given(plans, st.sampled_from(["zero1", "zero2", "zero3", "device_map"]))
def test_more_gpus_never_need_more_on_each(plan: Plan, sharding: Sharding) -> None:
    shared = replace(plan, sharding=sharding)
    assert of(SMALL, replace(shared, gpus=8)).allocated.expected <= of(SMALL, replace(shared, gpus=2)).allocated.expected * (1 + 1e-9)
