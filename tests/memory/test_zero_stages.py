"""What DeepSpeed's stages hold beside the shares that they are named after, against peaks that were read from CUDA's allocator.

Full fine-tuning of Llama-3-8B with deepspeed 0.14.2 (gpjt/fine-tune-2024-04, gpjt/liger-kernels-batch-size-memory-testing;
benchmarks/unseen/memory-3.json).
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envdoctor.memory.estimate import GIB
from tests.memory.test_shared_out import situation

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "hidden_act": "silu", "tie_word_embeddings": False,
}  # fmt: skip
PLAN: Mapping[str, object] = {
    "packages__torch": "==2.2.2", "packages__transformers": "==4.40.0", "plan__bf16": False, "plan__fp16": True, "plan__batch_size": 1,
    "plan__seq_len": 512, "plan__optimizer": "deepspeed_adamw", "plan__distributed": "zero3", "gpu__count": 8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("more", "measured"),
    [
        # A step of ZeRO-3: the float32 and the flattened copy of the gradients, of 10^9 elements at most.
        ({}, 21.5176),
        ({"gpu__count": 4}, 36.4961),
        # Not checkpointed, of a model that was made before DeepSpeed's configuration was known: all gathered weights stay.
        ({"plan__gradient_checkpointing": False, "plan__seq_len": 441, "plan__zero_init": False}, 36.5234),
        ({"plan__gradient_checkpointing": False, "plan__seq_len": 2048, "plan__batch_size": 2, "plan__zero_init": False}, 62.6758),
        # ZeRO-2 with its optimizer on the CPU: the look for an overflow in the gradient of the embeddings.
        ({"plan__distributed": "zero2", "plan__offload": "optimizer", "plan__seq_len": 401}, 23.4785),
    ],
)
def test_the_peak_is_the_one_that_was_measured(more: Mapping[str, object], measured: float) -> None:
    assert situation(LLAMA, **{**PLAN, **more}).estimate().peak.total / GIB == pytest.approx(measured, rel=0.02)


def test_where_nobody_says_how_the_model_was_made_the_range_reaches_to_the_weights_that_may_stay() -> None:
    plain = {**PLAN, "plan__gradient_checkpointing": False, "plan__seq_len": 441}
    inside, outside, unsaid = (
        situation(LLAMA, **plain, **more).estimate() for more in ({"plan__zero_init": True}, {"plan__zero_init": False}, {})
    )
    assert unsaid.allocated.expected == inside.allocated.expected < outside.allocated.expected
    assert inside.allocated.high < outside.allocated.expected < unsaid.allocated.high


def test_the_range_holds_gradients_that_are_on_their_way() -> None:
    found = situation(LLAMA, **{**PLAN, "plan__batch_size": 2}).estimate().allocated
    assert found.expected < 25.8623 * GIB < found.high


def test_one_gpu_gathers_nothing() -> None:
    alone = situation(LLAMA, **{**PLAN, "gpu__count": 1, "plan__gradient_checkpointing": False, "plan__zero_init": False}).estimate()
    assert all(moment.terms["weights"] == alone.moments[0].terms["weights"] for moment in alone.moments)


def test_what_is_gathered_and_reduced_in_other_streams_stays_in_the_cache() -> None:
    made = situation(LLAMA, **PLAN).estimate()
    assert made.reserved.expected - made.allocated.expected > 6 * GIB
