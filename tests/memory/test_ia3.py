"""IA3: a vector for each module in the place of low-rank matrices."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.fact import FactValue
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import GIB, Estimate
from envdoctor.memory.situation import Planned, planned
from envdoctor.memory.targets import parameters_of
from tests.memory.models import stated

QWEN_3B = {
    "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 2048, "intermediate_size": 11008, "num_hidden_layers": 36,
    "num_attention_heads": 16, "num_key_value_heads": 2, "vocab_size": 151936, "tie_word_embeddings": True, "hidden_act": "silu",
}  # fmt: skip
GEMMA_2B = {
    "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
    "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 256000, "tie_word_embeddings": True,
    "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "sliding_window": 4096,
}  # fmt: skip
RUN: Mapping[str, FactValue] = {
    "plan.method": "ia3", "plan.trainer": "transformers", "plan.seq_len": 1024, "plan.batch_size": 1, "plan.gradient_accumulation": 16,
    "plan.gradient_checkpointing": False, "plan.fp16": True, "plan.load_dtype": "float16", "plan.attn": "sdpa", "plan.packing": False,
    "plan.padding": True,
    "plan.lora_targets": ("k_proj", "v_proj", "down_proj"), "packages.torch": "==2.8.0", "packages.transformers": "==4.57.1",
    "packages.peft": "==0.17.1",
}  # fmt: skip


def situation(config: Mapping[str, object], **changed: FactValue) -> Planned:
    facts = {**RUN, **{f"plan.{name}": value for name, value in changed.items()}}
    return planned(stated(facts), read_architecture(config))


def estimate(config: Mapping[str, object], **changed: FactValue) -> Estimate:
    return situation(config, **changed).estimate()


def test_published_peaks() -> None:
    """aliciamj613/dsaa-peft-handoff, results/main_summary_144.csv: 1,024 padded tokens, releases not told."""
    for config, measured in ((GEMMA_2B, 12.115), (QWEN_3B, 12.712)):
        assert abs(estimate(config).allocated.expected / GIB / measured - 1) < 0.02


def test_what_is_trained_is_one_vector_for_each_module() -> None:
    """The last product's input is scaled, of the others what comes out: what print_trainable_parameters of these two runs said."""
    for config, trained in ((GEMMA_2B, 292_864), (QWEN_3B, 414_720)):
        found = situation(config)
        assert found.plan.adapter is not None
        assert parameters_of(found.architecture, found.plan.adapter) == trained


def test_there_is_no_rank_and_no_dropout_to_assume() -> None:
    assumed = {one.fact for one in situation(QWEN_3B).assumptions}
    assert not assumed & {"plan.method", "plan.lora_r", "plan.lora_dropout"}


def test_targets_that_nobody_states_are_keys_values_and_the_last_product() -> None:
    adapter = situation(QWEN_3B, lora_targets=()).plan.adapter
    assert adapter is not None
    assert adapter.targets == ("k_proj", "v_proj", "down_proj")


def test_a_frozen_product_behind_a_scaled_input_keeps_nothing_under_checkpointing() -> None:
    assert estimate(QWEN_3B, gradient_checkpointing=True).allocated.expected < 0.75 * estimate(QWEN_3B).allocated.expected
