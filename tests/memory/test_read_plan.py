"""From facts as people state them to a plan: what was not understood, or does not go together, is said and never silently no."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envdoctor.memory import optimizer
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import Assumption
from envdoctor.memory.plan import Plan
from envdoctor.memory.situation import planned
from envdoctor.memory.undecided import undecided
from tests.memory.models import LLAMA_2_13B, stated
from tests.memory.test_advice import STACK

PLAN: Mapping[str, object] = {"plan.method": "lora", "plan.load_dtype": "bfloat16", "plan.batch_size": 1, "plan.seq_len": 512}


def read(facts: Mapping[str, object], config: Mapping[str, object] = LLAMA_2_13B) -> tuple[Plan, dict[str, Assumption]]:
    one = planned(stated({**STACK, **PLAN, **facts}), read_architecture(config))
    return one.plan, {assumption.fact: assumption for assumption in one.assumptions}


@pytest.mark.parametrize(
    ("fact", "words", "taken"),
    [
        ("plan.method", "bitfit", "lora"),
        ("plan.quant", "bnb of some kind", "none"),
        ("plan.distributed", "megatron", "none"),
        ("plan.bf16", "perhaps", False),
        ("plan.offload", "to the moon", "none"),
        ("plan.packing", "neatly", False),
    ],
)
def test_words_that_are_not_understood_are_named_beside_what_is_counted(fact: str, words: str, taken: object) -> None:
    _, assumed = read({fact: words})
    assert assumed[fact].assumed == taken
    assert words in assumed[fact].why


@pytest.mark.parametrize(
    ("facts", "quant", "said"),
    [
        ({"model.quant_method": "gptq", "plan.method": "qlora"}, "gptq", False),
        ({"model.quant_method": "awq", "plan.quant": "4bit"}, "awq", False),
        ({"model.quant_method": "bitsandbytes"}, "4bit", True),
        ({"model.quant_method": "compressed-tensors"}, "none", True),
        ({"plan.method": "qlora", "plan.quant": "none"}, "4bit", True),
        ({"plan.method": "qlora", "plan.quant": "8bit"}, "8bit", False),
        ({"plan.load_in_8bit": True}, "8bit", False),
        ({}, "none", False),
    ],
)
def test_a_checkpoint_keeps_the_form_that_it_is_stored_in(facts: Mapping[str, object], quant: str, said: bool) -> None:
    plan, assumed = read(facts)
    assert plan.quant == quant
    assert ("plan.quant" in assumed) == said


@pytest.mark.parametrize(
    ("facts", "way"),
    [
        ({"plan.offload": "optimizer"}, ("zero2", "optimizer")),
        ({"plan.offload": "both"}, ("zero3", "both")),
        ({"plan.offload": "both", "gpu.count": 2}, ("zero3", "both")),
        ({"plan.offload": "both", "plan.distributed": "ddp", "gpu.count": 2}, ("ddp", "none")),
        ({"plan.offload": "both", "plan.distributed": "fsdp", "gpu.count": 2}, ("fsdp", "both")),
        ({"plan.offload": "both", "plan.method": "inference"}, ("none", "both")),
    ],
)
def test_what_is_moved_to_the_cpu_is_moved_by_something(facts: Mapping[str, object], way: tuple[str, str]) -> None:
    plan, assumed = read(facts)
    assert (plan.sharding, plan.offload) == way
    told = {name: one.assumed for name, one in assumed.items() if name in ("plan.distributed", "plan.offload")}
    assert all(told.get(name, value) == value for name, value in (("plan.distributed", way[0]), ("plan.offload", way[1])))
    if way[0] != facts.get("plan.distributed", "none"):
        assert told["plan.distributed"] == way[0]
    if way[1] != facts["plan.offload"]:
        assert told["plan.offload"] == way[1]


def test_shares_of_a_number_of_gpus_that_nobody_stated_say_of_how_many() -> None:
    assert read({"plan.distributed": "zero3"})[1]["gpu.count"].assumed == 1
    assert "gpu.count" not in read({"plan.distributed": "zero3", "gpu.count": 8})[1]
    assert "gpu.count" not in read({"plan.distributed": "ddp"})[1]


def test_the_modules_of_torchtune_are_those_of_the_same_layers() -> None:
    own = {"plan.trainer": "torchtune", "plan.lora_targets": ("q_proj", "output_proj", "w1", "w2", "w3")}
    adapter = read(own)[0].adapter
    assert adapter is not None
    assert adapter.targets == ("q_proj", "o_proj", "gate_proj", "down_proj", "up_proj")


def test_virtual_tokens_are_assumed_aloud() -> None:
    plan, assumed = read({"plan.method": "p-tuning"})
    assert assumed["plan.virtual_tokens"].assumed == plan.prompt == 20
    plan, assumed = read({"plan.method": "p-tuning", "plan.virtual_tokens": 128})
    assert plan.prompt == 128
    assert "plan.virtual_tokens" not in assumed


@pytest.mark.parametrize(("trainer", "whose"), [("llamafactory", "LLaMA-Factory"), ("ms-swift", "ms-swift")])
def test_trainers_that_checkpoint_by_themselves_are_taken_at_that(trainer: str, whose: str) -> None:
    plan, assumed = read({"plan.trainer": trainer})
    assert plan.checkpointing
    assert assumed["plan.gradient_checkpointing"] == Assumption("plan.gradient_checkpointing", True, f"default of {whose}")


def test_gemma_2_takes_sdpa_by_itself_from_4_48_on() -> None:
    gemma = {**LLAMA_2_13B, "model_type": "gemma2"}
    taken = [read({"packages.transformers": f"=={release}"}, gemma)[0].attention for release in ("4.47.1", "4.48.0")]
    assert taken == ["eager", "sdpa"]


@pytest.mark.parametrize(
    ("facts", "float32"),
    [
        ({"plan.method": "qlora", "packages.peft": "==0.10.0"}, True),
        ({"plan.method": "qlora", "plan.autocast_adapter_dtype": False}, True),
        ({"packages.peft": "==0.10.0"}, False),
        ({"plan.autocast_adapter_dtype": False}, False),
        # FSDP shares 4-bit weights out as numbers of 16 bits, which adapters take the dtype of.
        ({"plan.method": "qlora", "packages.peft": "==0.10.0", "plan.distributed": "fsdp", "gpu.count": 2}, False),
        # Low-rank layers of its own.
        ({"plan.method": "qlora", "plan.autocast_adapter_dtype": False, "plan.trainer": "torchtune"}, False),
    ],
)
def test_adapters_are_float32_beside_weights_of_integers(facts: Mapping[str, object], float32: bool) -> None:
    plan, _ = read(facts)
    assert plan.adapter is not None
    assert plan.adapter.float32 is float32


@pytest.mark.parametrize(
    ("words", "same"),
    [
        ("AdamW8bit", "adamw_8bit"),
        ("bitsandbytes.optim.PagedAdamW32bit", "paged_adamw_32bit"),
        ("8-bit AdamW", "adamw_8bit"),
        ("torch.optim.AdamW(fused=True)", "adamw_torch_fused"),
        ("torch.optim.AdamW(fused=False)", "adamw_torch"),
        ("DeepSpeedCPUAdam", "deepspeed_adamw"),
        ("FusedAdam", "deepspeed_adamw"),
        ("ao_adamw_4bit", "adamw_torch_4bit"),
        ("paged lion 8bit", "paged_lion_8bit"),
        ("SGD with momentum", "sgd_momentum"),
        ("galore_adamw", "galore_adamw"),
        ("Adam-mini", "adam_mini"),
        ("prodigyopt.Prodigy", "prodigy"),
        ("came_pytorch.CAME", "came"),
        ("hybrid of muon and adamw", "muon"),
        ("dist_muon", "muon"),
        ("apex FusedAdam", "adamw_apex_fused"),
        ("HybridAdam", "deepspeed_adamw"),
        ("DecoupledAdamW", "adamw_torch"),
        ("AdamWFp8", "adamw_8bit"),
        ("AdamW, lr 1e-4", "adamw_torch"),
        ("sgd with momentum 0.9", "sgd_momentum"),
    ],
)
def test_an_optimizer_is_known_by_whatever_it_is_called(words: str, same: str) -> None:
    assert optimizer.find(words) == optimizer.find(same) is not None


@pytest.mark.parametrize(
    "words", ["shampoo", "distributed_fused_adam", "adamw of our own", "galore_adamw8bit_per_layer", "AdamW bf16 states", ""]
)
def test_an_optimizer_of_another_kind_is_not_taken_for_one_that_is_known(words: str) -> None:
    assert optimizer.find(words) is None


def test_releases_of_2023_are_ruled_out_by_what_is_stated_beside_transformers() -> None:
    """bitsandbytes 0.43.2 of 2024 leaves the run no transformers of May 2023, which took more."""

    def high(**more: str) -> float:
        stack = {name: release for name, release in STACK.items() if name != "packages.transformers"}
        facts = {**stack, **PLAN, "plan.method": "qlora", **{f"packages.{name}": release for name, release in more.items()}}
        situation = planned(stated(facts), read_architecture(LLAMA_2_13B))
        found = [one.allocated.high for one in undecided(situation, situation.estimate()) if one.fact == "packages.transformers"]
        return max(found, default=0.0)

    assert high(torch="==2.0.1", peft="==0.4.0") > 0
    assert high(torch="==2.0.1", peft="==0.4.0", bitsandbytes="==0.43.2") == 0


@pytest.mark.parametrize(
    ("facts", "checkpointing", "dropout", "liger", "fused"),
    [
        ({"plan.trainer": "Unsloth"}, True, 0.0, True, False),
        ({"plan.trainer": "Unsloth", "packages.unsloth": "==2024.8"}, True, 0.0, False, True),
        ({"plan.trainer": "trl", "plan.code_uses": ["unsloth.FastLanguageModel.from_pretrained"]}, True, 0.0, True, False),
        ({"plan.trainer": "llamafactory", "plan.code_uses": ["unsloth"]}, True, 0.0, True, False),
        ({"plan.trainer": "trl", "plan.code_uses": ["unsloth"], "packages.trl": "==0.15.2"}, False, 0.05, False, False),
        ({"plan.trainer": "unsloth", "packages.unsloth": "==2026.1.1"}, True, 0.0, True, False),
        ({"plan.trainer": "unsloth", "plan.fused_loss": "none", "plan.gradient_checkpointing": False}, False, 0.0, False, False),
        ({"plan.trainer": "trl"}, False, 0.05, False, False),
    ],
)
def test_unsloth_has_defaults_of_its_own(
    facts: Mapping[str, object], checkpointing: bool, dropout: float, liger: bool, fused: bool
) -> None:
    plan, _ = read(facts)
    assert plan.adapter is not None
    assert (plan.checkpointing, plan.adapter.dropout, plan.liger, plan.fused_loss) == (checkpointing, dropout, liger, fused)


def test_mixed_precision_of_float16_trains_float32_weights() -> None:
    """A gradient scaler refuses gradients of float16; DeepSpeed scales the loss itself, and adapters are float32 anyway."""
    facts = {"plan.method": "full", "plan.fp16": True, "model.config_dtype": "float16", "plan.trainer": "own"}
    assert planned(stated(facts), read_architecture(LLAMA_2_13B)).plan.load_dtype == "float32"
    assert planned(stated({**facts, "plan.load_dtype": "float16"}), read_architecture(LLAMA_2_13B)).plan.load_dtype == "float16"
    under_zero = planned(stated({**facts, "plan.distributed": "zero2", "gpu.count": 2}), read_architecture(LLAMA_2_13B)).plan
    assert (under_zero.load_dtype, under_zero.autocast) == ("float16", None)
    assert planned(stated({**facts, "plan.method": "lora"}), read_architecture(LLAMA_2_13B)).plan.load_dtype == "float16"


def test_an_encoder_whose_config_names_no_dtype_is_float32() -> None:
    config = {"model_type": "roberta", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16}
    encoder = read_architecture({**config, "vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1})
    assert planned(stated({"plan.method": "full"}), encoder).plan.load_dtype == "float32"
    assert planned(stated({"plan.method": "full", "model.config_dtype": "bfloat16"}), encoder).plan.load_dtype == "bfloat16"
    assert planned(stated({"plan.method": "full"}), read_architecture(LLAMA_2_13B)).plan.load_dtype == "bfloat16"
