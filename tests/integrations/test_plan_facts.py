"""Facts of a run, from objects shaped as transformers, peft and torch shape theirs."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

import pytest

from envdoctor.facts.vocabulary import term
from envdoctor.integrations.doctor import toml
from envdoctor.integrations.plan_facts import plan_facts
from envdoctor.sources.plans.settings import Settings
from envdoctor.sources.plans.trainer import TRL
from envdoctor.sources.plans.training_arguments import SETTINGS
from envdoctor.sources.stated.statements import collect_facts_text


class Strategy(enum.Enum):
    NO = "no"
    STEPS = "steps"


class Mode(enum.Enum):
    NOT_PARALLEL = "not_parallel"
    DISTRIBUTED = "distributed"


class Parameter:
    def __init__(self, dtype: str, elements: int, trained: bool) -> None:
        self.dtype, self.elements, self.requires_grad = f"torch.{dtype}", elements, trained

    def numel(self) -> int:
        return self.elements


class Model:
    def __init__(self, *parameters: Parameter, **fields: Any) -> None:
        self.kept = parameters
        self.config = SimpleNamespace(model_type="llama", _attn_implementation="sdpa", use_cache=True, _name_or_path="org/model")
        vars(self).update(fields)

    def parameters(self) -> tuple[Parameter, ...]:
        return self.kept


ARGUMENTS: dict[str, Any] = {
    "fp16": False,
    "bf16": True,
    "per_device_train_batch_size": 2,
    "per_device_eval_batch_size": 4,
    "gradient_accumulation_steps": 8,
    "gradient_checkpointing": True,
    "gradient_checkpointing_kwargs": {"use_reentrant": False},
    "optim": SimpleNamespace(value="adamw_torch_fused"),
    "adam_epsilon": 1e-8,
    "learning_rate": 2e-4,
    "max_grad_norm": 1.0,
    "eval_strategy": Strategy.STEPS,
    "save_strategy": Strategy.NO,
    "deepspeed": None,
    "neftune_noise_alpha": 5,
    "parallel_mode": Mode.NOT_PARALLEL,
    "device": SimpleNamespace(type="cuda"),
}
LORA = SimpleNamespace(
    peft_type=SimpleNamespace(value="LORA"), r=8, lora_alpha=16, target_modules={"v_proj", "q_proj"}, modules_to_save=None, use_dora=False
)
BASE, ADAPTER = Parameter("float16", 1000, False), Parameter("float32", 10, True)


def told(model: Any = None, **changed: Any) -> dict[str, Any]:
    return plan_facts(SimpleNamespace(**{**ARGUMENTS, **changed}), model)


def test_what_the_arguments_tell() -> None:
    assert told() == {
        "plan.fp16": False,
        "plan.bf16": True,
        "plan.batch_size": 2,
        "plan.eval_batch_size": 4,
        "plan.gradient_accumulation": 8,
        "plan.gradient_checkpointing": True,
        "plan.gradient_checkpointing_kwargs": True,
        "plan.use_reentrant": False,
        "plan.optimizer": "adamw_torch_fused",
        "plan.optimizer_eps": 1e-8,
        "plan.learning_rate": 2e-4,
        "plan.max_grad_norm": 1.0,
        "plan.neftune": True,
        "plan.deepspeed": False,
        "plan.evaluate": True,
        "plan.save": False,
        "plan.distributed": "none",
        "accelerator": "cuda",
        "plan.trainer": "transformers",
        "plan.resume": False,
    }


def test_what_an_adapter_tells() -> None:
    found = told(Model(BASE, ADAPTER, peft_config={"default": LORA}, active_adapter="default"))
    assert {name: value for name, value in found.items() if name.startswith("model.") or name not in told()} == {
        "model.type": "llama",
        "model.id": "org/model",
        "plan.attn": "sdpa",
        "plan.use_cache": True,
        "plan.quant": "none",
        "plan.load_dtype": "float16",
        "plan.method": "lora",
        "plan.lora_r": 8,
        "plan.lora_alpha": 16.0,
        "plan.lora_targets": ["q_proj", "v_proj"],
        "plan.modules_to_save": [],
    }


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (Model(Parameter("bfloat16", 9, True)), {"plan.method": "full", "plan.load_dtype": "bfloat16"}),
        (Model(Parameter("float32", 9, True), Parameter("float32", 9, False)), {"plan.method": "freeze", "plan.load_dtype": "float32"}),
        (Model(BASE, ADAPTER, peft_config={"a": LORA}, is_loaded_in_4bit=True), {"plan.method": "qlora", "plan.quant": "4bit"}),
        (Model(BASE, ADAPTER, peft_config={"a": LORA}, is_loaded_in_8bit=True), {"plan.method": "lora", "plan.quant": "8bit"}),
        (Model(BASE, ADAPTER, peft_config={"a": SimpleNamespace(**{**vars(LORA), "use_dora": True})}), {"plan.method": "dora"}),
        (Model(BASE, ADAPTER, peft_config={"a": SimpleNamespace(peft_type="PREFIX_TUNING")}), {"plan.method": "prefix-tuning"}),
        (
            Model(BASE, ADAPTER, peft_config={"a": SimpleNamespace(peft_type="IA3", target_modules={"k_proj"})}),
            {"plan.method": "ia3", "plan.lora_targets": ["k_proj"]},
        ),
        (Model(BASE, ADAPTER, peft_config={"a": SimpleNamespace(peft_type="LOHA")}), {"plan.method": None}),
        (Model(ADAPTER, config=SimpleNamespace(quantization_config={"quant_method": "gptq"})), {"plan.quant": "gptq"}),
        (Model(ADAPTER, config=SimpleNamespace(quantization_config={"quant_method": "new"})), {"plan.quant": None}),
        (Model(ADAPTER, hf_device_map={"a": 0, "b": 1}), {"plan.distributed": "device_map"}),
        (object(), {"plan.method": None, "plan.load_dtype": None, "model.type": None}),
    ],
)
def test_what_a_model_tells(model: Any, expected: dict[str, Any]) -> None:
    found = told(model)
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"parallel_mode": Mode.DISTRIBUTED}, "ddp"),
        ({"parallel_mode": Mode.DISTRIBUTED, "fsdp": ["full_shard"]}, "fsdp"),
        ({"parallel_mode": Mode.DISTRIBUTED, "deepspeed_plugin": SimpleNamespace(zero_stage=3)}, "zero3"),
        ({"parallel_mode": None}, None),
    ],
)
def test_how_ranks_share_the_work(changed: dict[str, Any], expected: str | None) -> None:
    assert told(**changed).get("plan.distributed") == expected


def test_the_optimizer_at_hand_goes_before_the_one_asked_for() -> None:
    kind = type("AdamW", (), {"__module__": "torch.optim.adamw"})
    inner = kind()
    inner.param_groups = [{"eps": 1e-6, "fused": None}]
    found = plan_facts(SimpleNamespace(**ARGUMENTS), optimizer=SimpleNamespace(optimizer=inner))
    assert (found["plan.optimizer"], found["plan.optimizer_eps"]) == ("adamw_torch", 1e-6)


def test_a_local_model_is_read_where_it_lies(tmp_path: Any) -> None:
    model = Model(BASE)
    model.config._name_or_path = str(tmp_path)
    assert told(model)["model.path"] == str(tmp_path)


def test_the_doctor_understands_every_fact() -> None:
    facts = told(Model(BASE, ADAPTER, peft_config={"default": LORA}, active_adapter="default"))
    assert all(term(name) for name in facts)
    collected = collect_facts_text(toml({**facts, "model.id": 'odd "name"\\\n\x7f\U0001f600'}), "<stdin>")
    assert not collected.defects
    read = {fact.name: fact.value for fact in collected.facts}
    assert set(read) == set(facts)
    assert read["plan.method"] == "lora"
    assert read["plan.lora_targets"] == ("q_proj", "v_proj")
    assert read["plan.optimizer_eps"] == 1e-8


def test_a_setting_says_the_same_fact_to_the_callback_and_to_the_reader_of_plans() -> None:
    """The callback runs in the training, with nothing else of envdoctor, and cannot ask the table."""
    told = [
        (fact, {name: value for name, value in plan_facts(SimpleNamespace(**{keys[0]: sample})).items() if name in facts}, sample)
        for facts in [{fact for _, fact in Settings({}, SETTINGS, TRL).read()}]
        for keys, fact in Settings({}, SETTINGS, TRL).read()
        for sample in (True, 4, 0.5, "adamw_torch")
    ]
    assert [(fact, said) for fact, said, sample in told if said not in ({}, {fact: sample})] == []
    assert len({fact for fact, said, _ in told if said}) == 15
