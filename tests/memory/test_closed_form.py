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
from envdoctor.memory.parameters import parameters
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
        "other": 0.02,
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


BIGCODE: Mapping[str, object] = {
    "model_type": "gpt_bigcode",
    "n_embd": 2048,
    "n_layer": 24,
    "n_head": 16,
    "n_inner": 8192,
    "n_positions": 2048,
    "vocab_size": 49280,
    "multi_query": True,
}
STARCODER2: Mapping[str, object] = {
    "model_type": "starcoder2",
    "hidden_size": 3072,
    "num_hidden_layers": 30,
    "num_attention_heads": 24,
    "num_key_value_heads": 2,
    "intermediate_size": 12288,
    "vocab_size": 49152,
}
FULL = Plan("full", "bfloat16", None, 4, 1024, optimizer="adafactor", stack=Stack("2.6.0", "4.57.1"))


def released(plan: Plan, transformers: str) -> Plan:
    return replace(plan, stack=replace(plan.stack, transformers=transformers))


# modeling_*.py of the wheels: layers that no checkpoint function is called for.
@pytest.mark.parametrize(
    ("config", "release", "works"),
    [
        (STARCODER2, "4.47.1", True),
        (STARCODER2, "4.48.0", False),
        (STARCODER2, "4.51.3", False),
        (STARCODER2, "4.52.0", True),
        (BIGCODE, "4.53.3", True),
        (BIGCODE, "4.54.0", False),
        (BIGCODE, "4.57.6", False),
        (BIGCODE, "5.0.0", True),
        (MISTRAL, "4.48.1", True),
    ],
)
def test_checkpointing_that_a_release_does_not_do_saves_nothing(config: Mapping[str, object], release: str, works: bool) -> None:
    plan = released(FULL, release)
    saved = of(config, plan).allocated.expected - of(config, replace(plan, checkpointing=True)).allocated.expected
    assert (saved > GIB) is works
    assert works or saved == 0


def activations(config: Mapping[str, object], plan: Plan) -> float:
    return next(moment for moment in of(config, plan).moments if moment.name == "backward of the loss").terms["activations"]


def test_keys_and_values_are_copied_for_every_head_until_transformers_4_54() -> None:
    copied = activations(MISTRAL, released(FULL, "4.53.3")) - activations(MISTRAL, released(FULL, "4.54.0"))
    # 32 heads instead of 8, two bytes, keys and values, 32 layers of 4 x 1024 tokens.
    assert copied == 2 * 2 * (32 - 8) * 128 * 32 * 4096
    masked = replace(FULL, mask=True)
    assert activations(MISTRAL, released(masked, "4.54.0")) > activations(MISTRAL, released(masked, "4.52.4"))


def test_float32_with_shared_keys_falls_back_to_matrices_from_transformers_4_54_on() -> None:
    wide = replace(FULL, load_dtype="float32")
    for longer in (2048, 4096):
        config = {**MISTRAL, "sliding_window": None}
        older, newer = (activations(config, released(replace(wide, tokens=longer), release)) for release in ("4.53.3", "4.54.0"))
        # A float32 for each head and each pair of positions; the output is kept once either way, without its row of sums.
        assert newer - older == pytest.approx(4 * 32 * longer * 32 * 4 * longer, rel=0.01)


def test_the_gradient_of_an_output_layer_comes_after_the_loss_is_let_go() -> None:
    found = of({**MISTRAL, "vocab_size": 131072, "num_hidden_layers": 2}, replace(FULL, checkpointing=True, rows=8))
    loss = next(moment for moment in found.moments if moment.name == "backward of the loss")
    assert "gradients" not in loss.terms
    assert loss.terms["logits"] == pytest.approx(12 * 131072 * 8 * 1024, rel=0.03)


def test_capped_logits_keep_their_tanh() -> None:
    gemma: Mapping[str, object] = {**SMALL, "model_type": "gemma2", "head_dim": 64, "vocab_size": 256000}
    capped, plain = ({**gemma, "final_logit_softcapping": cap, "attn_logit_softcapping": None} for cap in (30.0, None))
    assert of(capped, FULL).allocated.expected - of(plain, FULL).allocated.expected == pytest.approx(2 * 256000 * 4096, rel=1e-6)


def test_adafactor_steps_with_float32_copies_of_the_largest_parameter() -> None:
    short = replace(FULL, rows=1, tokens=16)
    small = read_architecture(SMALL)
    largest = max(small.vocab * small.hidden, *(one.inputs * one.outputs for one in small.linears))

    def step(plan: Plan) -> float:
        return next(moment.total for moment in of(SMALL, plan).moments if moment.name == "optimizer step")

    narrow, wide = (
        step(replace(short, load_dtype=dtype)) - step(replace(short, load_dtype=dtype, optimizer="sgd"))
        for dtype in ("bfloat16", "float32")
    )
    assert narrow == pytest.approx(16 * largest, rel=0.05)
    assert wide == pytest.approx(8 * largest, rel=0.1)
    # Codes of four bits are int64 before two of them go into a byte, beside both moments in float32.
    packed, states = step(replace(short, optimizer="adamw_torch_4bit")), step(replace(short, optimizer="adamw_torch_8bit"))
    halved = 2 * (1 + 4 / 256 - 0.5 - 4 / 128) * parameters(small).total
    assert packed - states == pytest.approx(24 * largest - halved, rel=0.05)
