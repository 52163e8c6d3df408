"""What a plan leaves out: the default of what runs it, never against a statement, and nothing where frameworks or releases differ."""

from __future__ import annotations

import pytest

from envdoctor.engine.defaults import derive
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from tests.each import each
from tests.engine.test_defaults import derived, stated


def whole(**facts: object) -> Facts:
    return stated(plan__whole=True, **facts)


def test_nothing_follows_from_a_plan_that_may_ask_for_more() -> None:
    assert "plan.quant" not in derive(stated(plan__method="lora"))
    assert "plan.quant" not in derive(stated(plan__method="lora", plan__whole=False))
    assert derived(whole(plan__method="lora"), "plan.quant") == "none"


def test_a_default_says_whose_it_is() -> None:
    found = derive(whole(plan__trainer="transformers"))
    assert found["plan.quant"].origin == Origin("default of from_pretrained")
    assert found["plan.batch_size"].origin == Origin("default of TrainingArguments")
    assert found["plan.vllm"].origin == Origin("default of transformers")


@each(
    ("name", "stated_as"),
    [("plan.quant", "4bit"), ("plan.vllm", True), ("plan.batch_size", 2), ("plan.fp16", True), ("plan.packing", True)],
)
def test_what_is_stated_stays(name: str, stated_as: object) -> None:
    facts = whole(plan__trainer="transformers").with_facts([Fact(name, parse_value(name, stated_as), Origin("--set"))])
    assert derive(facts)[name].origin == Origin("--set")


def test_what_a_script_decides_and_does_not_show_stays_unknown() -> None:
    facts = whole(plan__trainer="transformers", plan__unclear=["plan.quant", "plan.fp16"])
    found = derive(facts)
    assert "plan.quant" not in found
    assert "plan.fp16" not in found
    assert found.value("plan.bf16") is False


@each(
    "facts",
    [
        {"model__id": "org/model-int4"},
        {"model__id": "cpatonn/Qwen3-30B-A3B-Instruct-2507-AWQ-4bit"},
        {"model__id": "neuralmagic/Llama-3-8B-FP8"},
        {"model__type": "gpt_oss"},
        {"model__quant_method": "compressed-tensors"},
        {"packages__bitsandbytes": "0.43.1"},
    ],
)
def test_weights_that_may_be_quantized(facts: dict[str, object]) -> None:
    assert derived(whole(plan__method="lora", **facts), "plan.quant") is None


@each(
    "pair",
    [
        ("TheBloke/Llama-2-7B-GPTQ", "gptq"),
        ("hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4", "awq"),
        ("pytorch/Qwen3-8B-INT4", "torchao"),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", "4bit"),
    ],
)
def test_a_name_that_says_how_the_weights_are_stored(pair: tuple[str, str]) -> None:
    name, stored = pair
    assert derived(whole(plan__method="lora", model__id=name), "plan.quant") == stored
    assert derived(whole(plan__unclear=["plan.quant"], model__id=name), "plan.quant") == stored


@each("name", ["meta-llama/Llama-2-7b-hf", "org/point4-7b", "internlm/internlm2-chat-7b", "org/print8"])
def test_weights_that_are_not(name: str) -> None:
    assert derived(whole(plan__method="lora", model__id=name), "plan.quant") == "none"


def test_frameworks_differ_in_mixed_precision() -> None:
    assert derived(whole(plan__method="lora"), "plan.fp16") is None
    assert derived(whole(plan__method="lora", plan__trainer="transformers"), "plan.fp16") == "false"
    assert derived(whole(plan__method="lora", plan__trainer="own"), "plan.fp16") is None


@pytest.mark.parametrize(
    ("trl", "bf16", "checkpointing"),
    [
        ("0.18.2", "false", "false"),
        ("0.19.0", "true", "false"),
        ("0.21.0", "true", "false"),
        ("0.22.0", "true", "true"),
        (">=0.12,<0.19", "false", "false"),
        (">=0.18", None, None),
        (">=0.22", "true", "true"),
        (None, None, None),
    ],
)
def test_releases_of_trl_differ(trl: str | None, bf16: str | None, checkpointing: str | None) -> None:
    facts = whole(plan__trainer="trl", plan__method="dpo", **({"packages__trl": trl} if trl else {}))
    assert derived(facts, "plan.bf16") == bf16
    assert derived(facts, "plan.gradient_checkpointing") == checkpointing


def test_a_float16_run_of_trl_is_no_bfloat16_run() -> None:
    assert derived(whole(plan__trainer="trl", plan__fp16=True, packages__trl="0.22.0"), "plan.bf16") is None


def test_packing_where_nobody_asks_for_it() -> None:
    assert derived(whole(plan__method="lora"), "plan.packing") == "false"
    assert derived(whole(plan__method="pretrain", plan__trainer="llamafactory"), "plan.packing") is None
    assert derived(whole(plan__method="pretrain", packages__llamafactory="0.9.3"), "plan.packing") is None


@each(
    ("facts", "expected"),
    [
        ({"plan__method": "dpo"}, "dpo"),
        ({"plan__method": "lora", "plan__trainer": "trl", "plan__whole": True}, "sft"),
        ({"plan__method": "lora", "plan__trainer": "trl"}, None),
        ({"plan__method": "lora", "plan__whole": True}, None),
    ],
)
def test_what_the_loss_is_of(facts: dict[str, object], expected: str | None) -> None:
    assert derived(stated(**facts), "plan.objective") == expected


@each(("release", "expected"), [("4.28.1", "true"), (">=4.28,<4.29", "true"), ("4.40.0", None), ("5.2.0", None)])
def test_before_4_35_nobody_can_name_the_other_variant_of_checkpointing(release: str, expected: str | None) -> None:
    asked = {"plan__gradient_checkpointing": True, "plan__trainer": "transformers", "packages__transformers": release}
    untold = {"plan__unclear": ("plan.gradient_checkpointing_kwargs",)}
    assert derived(whole(**asked, **untold), "plan.use_reentrant") == expected


@each(("release", "expected"), [("4.51.3", "true"), ("5.0.0", "false")])
def test_the_variant_of_checkpointing_that_nobody_names(release: str, expected: str) -> None:
    asked = {"plan__gradient_checkpointing": True, "plan__trainer": "transformers", "packages__transformers": release}
    assert derived(whole(**asked), "plan.use_reentrant") == expected
    assert derived(whole(**{**asked, "plan__trainer": "trl"}), "plan.use_reentrant") is None
    assert derived(whole(**{**asked, "plan__gradient_checkpointing": False}), "plan.use_reentrant") is None


@pytest.mark.parametrize(
    ("trainer", "transformers", "expected"),
    [
        ("trl", "4.57.6", "1"),
        ("llamafactory", "4.50.0", "1"),
        ("trl", "5.9.0", "1"),
        ("trl", "5.23.0", None),
        ("trl", ">=4", None),
        ("torchtune", "4.57.6", None),
    ],
)  # fmt: skip
def test_the_version_of_fsdp_that_nobody_names(trainer: str, transformers: str, expected: str | None) -> None:
    facts = whole(plan__trainer=trainer, plan__distributed="fsdp", packages__transformers=transformers)
    assert derived(facts, "plan.fsdp_version") == expected


def test_the_version_of_fsdp_that_the_trainer_of_5_10_takes() -> None:
    facts = {"plan__trainer": "trl", "plan__distributed": "fsdp", "packages__transformers": "5.10.1"}
    assert derived(whole(**facts, plan__arguments=("fsdp",)), "plan.fsdp_version") == "2"
    assert derived(whole(**facts, plan__arguments=("bf16",)), "plan.fsdp_version") is None


@pytest.mark.parametrize(
    ("trainer", "transformers", "expected"),
    [("trl", "5.0.0", "false"), ("transformers", "5.23.0", "false"), ("trl", "4.57.6", None), ("torchtune", "5.0.0", None)],
)
def test_the_trainer_of_transformers_5_trains_without_a_cache(trainer: str, transformers: str, expected: str | None) -> None:
    facts = whole(plan__trainer=trainer, packages__transformers=transformers)
    assert derived(facts, "plan.use_cache") == expected
    asked = whole(plan__trainer=trainer, packages__transformers=transformers, plan__use_cache=True)
    assert derived(asked, "plan.use_cache") == "true"


def test_one_gpu_shares_its_work_with_nobody() -> None:
    assert derived(whole(plan__method="lora", gpu__count=1), "plan.distributed") == "none"
    assert derived(whole(plan__method="lora", gpu__count=1), "plan.offload") == "none"
    assert derived(whole(plan__method="lora", gpu__count=2), "plan.distributed") is None


@each(
    ("facts", "expected"),
    [
        ({"plan__trainer": "axolotl", "plan__method": "lora"}, ""),
        ({"plan__trainer": "ms-swift", "plan__method": "lora", "plan__objective": "reward"}, None),
        ({"plan__trainer": "llamafactory", "plan__method": "qlora", "plan__objective": "reward"}, ""),
        ({"plan__trainer": "llamafactory", "plan__method": "full"}, None),
        ({"plan__trainer": "trl", "plan__method": "lora"}, None),
    ],
)
def test_what_is_trained_beside_an_adapter_where_nobody_says(facts: dict[str, object], expected: str | None) -> None:
    assert derived(whole(**facts), "plan.modules_to_save") == expected
