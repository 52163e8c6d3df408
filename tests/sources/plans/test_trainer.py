"""Files that use names of TrainingArguments: recipes of TRL, plans of a project's own, and what is no plan at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import FactValue
from envdoctor.files.json_spans import key_lines
from tests.sources.plans.reading import collect, defaults, lines, skips, stated

# Settings of a project's own script, as a QLoRA trainer of many models keeps them.
OWN_QLORA = {
    "output_dir": "output/qlora",
    "model_name_or_path": "internlm/internlm-chat-7b",
    "template_name": "internlm",
    "per_device_train_batch_size": 1,
    "learning_rate": 2e-4,
    "max_seq_length": 1024,
    "lora_rank": 64,
    "lora_alpha": 16,
    "fp16": True,
    "save_strategy": "steps",
    "optim": "paged_adamw_32bit",
}


def test_a_script_of_ones_own_is_neither_trl_nor_full_training(tmp_path: Path) -> None:
    found = stated(collect(tmp_path, json.dumps(OWN_QLORA, indent=4), "qlora.json"))
    assert found["plan.trainer"] == "transformers"
    assert "plan.method" not in found
    assert (found["plan.fp16"], found["plan.batch_size"]) == (True, 1)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("", "full"),  # TRL makes no adapter without use_peft
        ("dataset_name: a/b\n", "full"),
        ("turns_column: talk\n", None),  # a script of its own reads this file
        ("turns_column: talk\nuse_peft: false\n", "full"),
        ("turns_column: talk\nuse_peft: true\n", "lora"),
    ],
)
def test_the_sizes_of_an_adapter_ask_for_one_where_a_script_of_its_own_reads_them(tmp_path: Path, more: str, told: str | None) -> None:
    plan = "per_device_train_batch_size: 2\nmax_length: 512\nattn_implementation: sdpa\nlearning_rate: 1.0e-4\nlora_r: 4\nlora_alpha: 8\n"
    found = collect(tmp_path, plan + more)
    assert {**stated(found), **defaults(found)}.get("plan.method") == told


@pytest.mark.parametrize("way", ["train_mode: qlora", "use_lora: true", "finetune_method: lora", "tuner: lora", "adapter_name: x"])
def test_a_word_of_another_way_to_train_takes_the_default_away(tmp_path: Path, way: str) -> None:
    recipe = "torch_dtype: bfloat16\nattn_implementation: sdpa\nmax_seq_length: 512\nlearning_rate: 1.0e-5\noutput_dir: out\nbf16: true\n"
    assert stated(collect(tmp_path, recipe))["plan.method"] == "full"
    assert "plan.method" not in stated(collect(tmp_path, f"{recipe}{way}\n"))


HOME_MADE = """
defaults: [_self_]
model_name: CausalLM
batch_size: 4
lr: 5e-7
is_bf16: true
precision: bf16
strategy: deepspeed
mode: train
data_path: data
devices: 8
gradient_checkpointing: true
gradient_accumulation_steps: 4
eval_strategy: epoch
optim: paged_adamw_32bit
"""


def test_borrowed_names_bring_no_defaults_along(tmp_path: Path) -> None:
    found = collect(tmp_path, HOME_MADE)
    assert defaults(found) == {}
    assert skips(found) == ["a plan of another tool with some of TrainingArguments' names: what it leaves out is unknown"]
    assert stated(found) == {
        "plan.gradient_checkpointing": True,
        "plan.gradient_accumulation": 4,
        "plan.evaluate": True,
        "plan.optimizer": "paged_adamw_32bit",
    }


@pytest.mark.parametrize("rival", ["lr: 1e-5", "batch_size: 4", "mixed_precision: bf16", "is_bf16: true", "num_epochs: 3"])
def test_another_name_for_what_a_field_says_takes_all_defaults_away(tmp_path: Path, rival: str) -> None:
    plan = "output_dir: out\nlogging_steps: 5\ngradient_checkpointing: true\nsave_strategy: steps\n"
    assert defaults(collect(tmp_path, plan)) != {}
    assert defaults(collect(tmp_path, plan + rival + "\n")) == {}


STATE = {
    "best_metric": None,
    "best_model_checkpoint": None,
    "epoch": 0.5,
    "eval_steps": 500,
    "global_step": 1000,
    "log_history": [{"epoch": 0.1, "learning_rate": 5e-05, "loss": 2.1, "step": 10}],
    "logging_steps": 10,
    "max_steps": 3000,
    "num_train_epochs": 1,
    "save_steps": 500,
    "total_flos": 1.0,
    "train_batch_size": 4,
    "trial_name": None,
}


def test_the_state_of_a_checkpoint_is_no_plan(tmp_path: Path) -> None:
    found = collect(tmp_path, json.dumps(STATE), "trainer_state.json")
    assert found.facts == ()
    assert skips(found) == ["the state of a trainer at a checkpoint, not a plan: not a plan that is read"]


def test_the_configuration_of_a_model_is_no_plan_for_its_switches(tmp_path: Path) -> None:
    model = {"architectures": ["QWenLMHeadModel"], "model_type": "qwen", "bf16": False, "fp16": False, "use_cache": True, "fp32": False}
    found = collect(tmp_path, json.dumps(model), "qwen.json")
    assert found.facts == ()
    assert skips(found) == ["the configuration of a model, not of a run (give the model's directory): not a plan that is read"]


DEEPSPEED = """{
    "fp16": {
        "enabled": false
    },
    "bf16": {
        "enabled": true
    },
    "zero_optimization": {
        "stage": 2,
        "offload_optimizer": {"device": "cpu"},
        "offload_param": {"device": "cpu"}
    },
    "flops_profiler": {
        "enabled": false
    }
}"""


def test_settings_of_one_name_stand_on_their_own_lines_in_json(tmp_path: Path) -> None:
    found = collect(tmp_path, DEEPSPEED, "ds.json")
    assert {name: line for name, line in lines(found).items() if line} == {
        "plan.fp16": 3,
        "plan.bf16": 6,
        "plan.distributed": 9,
        "plan.deepspeed_optimizer": 9,
        "plan.deepspeed_fused_adam": 9,
        "plan.max_grad_norm": 9,
        "plan.offload": 9,
    }


_KEYS = st.sampled_from(("enabled", "fp16", "stage", "a b", "{", "é"))
_SCALARS = st.none() | st.integers() | st.sampled_from(("enabled", '"', "a,b", "}", "[", "\\", "x\ny"))
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=12)


def _paths(value: object, above: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    if not isinstance(value, dict) or len(above) == 3:
        return set()
    return {path for key, inner in value.items() for path in ({(*above, key)} | _paths(inner, (*above, key)))}


@given(st.dictionaries(_KEYS, _VALUES, max_size=5), st.sampled_from((None, 0, 2)))
def test_every_key_of_json_is_found_where_it_stands(settings: dict[str, object], indent: int | None) -> None:
    text = json.dumps(settings, indent=indent, ensure_ascii=False)
    found = key_lines(text, 3)
    assert found.keys() == _paths(settings)
    rows = text.split("\n")
    assert all(f'"{path[-1]}"' in rows[line - 1] for path, line in found.items())
    assert indent is None or len(set(found.values())) == len(found)


@pytest.mark.parametrize(("stage", "offload"), [(0, "optimizer"), (1, "optimizer"), (2, "optimizer"), (3, "both")])
def test_parameters_are_offloaded_by_stage_3_alone(tmp_path: Path, stage: int, offload: FactValue) -> None:
    plan = json.dumps({"zero_optimization": {"stage": stage, "offload_optimizer": {}, "offload_param": {"device": "cpu"}}})
    assert stated(collect(tmp_path, plan, "ds.json"))["plan.offload"] == offload


def test_the_hub_id_of_the_model_is_stated_and_a_path_is_not(tmp_path: Path) -> None:
    plan = "model_name_or_path: {}\noutput_dir: out\nper_device_train_batch_size: 1\n"
    found = collect(tmp_path, plan.format("THUDM/chatglm3-6b"))
    assert stated(found)["model.id"] == "THUDM/chatglm3-6b"
    assert lines(found)["model.id"] == 1
    for local in ("/data/glm", "./glm", "models/local/glm", "glm", "~/m/glm", "${MODEL}", "../a", "a\\b", "models/x", "org/checkpoint-500"):
        assert "model.id" not in stated(collect(tmp_path, plan.format(local))), local
    (tmp_path / "THUDM/chatglm3-6b").mkdir(parents=True)
    assert "model.id" not in stated(collect(tmp_path, plan.format("THUDM/chatglm3-6b")))


@pytest.mark.parametrize(
    ("text", "method", "why"),
    [
        ("adapter_name_or_path: saves/x\ntemplate: qwen\nexport_dir: out\n", None, ["an export of LLaMA-Factory: nothing is trained"]),
        ("adapter_name_or_path: saves/x\ntask: mmlu_test\nn_shot: 5\n", "inference", []),
        ("adapter_name_or_path: saves/x\ntemplate: llama3\ninfer_backend: vllm\n", "inference", []),
        ("stage: sft\ndo_predict: true\ndataset: a\nadapter_name_or_path: saves/x\n", "inference", []),
        ("stage: sft\ndo_train: true\ndataset: a\nadapter_name_or_path: saves/x\n", "lora", []),
        ("stage: sft\ndataset: a\n", "lora", []),
    ],
)
def test_what_llama_factory_does_beside_training(tmp_path: Path, text: str, method: str | None, why: list[str]) -> None:
    found = collect(tmp_path, f"model_name_or_path: org/m-7b\nfinetuning_type: lora\n{text}")
    assert stated(found)["model.id"] == "org/m-7b"
    assert stated(found).get("plan.method") == method
    assert skips(found) == why
    assert bool(defaults(found)) == (method == "lora")


@pytest.mark.parametrize(("backend", "served"), [("vllm", True), ("huggingface", None)])
def test_a_chat_of_llama_factory_answers_by_the_backend_that_it_names(tmp_path: Path, backend: str, served: bool | None) -> None:
    found = collect(tmp_path, f"model_name_or_path: org/m-7b\ntemplate: llama3\ninfer_backend: {backend}\n")
    assert stated(found).get("plan.vllm") is served


def test_a_file_in_groups_is_read_by_a_script_of_its_own_which_may_rename_a_setting(tmp_path: Path) -> None:
    recipe = "per_device_train_batch_size: 1\nevaluation_strategy: steps\nlearning_rate: 5.0e-6\noutput_dir: out\n"
    assert "evaluation_strategy" in str(stated(collect(tmp_path, recipe))["plan.arguments"])
    for taken in ("gradient_checkpointing_kwargs:\n  use_reentrant: false\n", "env:\n  A: b\n", "dataset_mixture:\n  datasets: []\n"):
        assert "plan.arguments" in stated(collect(tmp_path, recipe + taken)), taken
    found = collect(tmp_path, f"{recipe}environment:\n  type: text_to_sql\n")
    assert "plan.arguments" not in stated(found)
    assert stated(found)["plan.batch_size"] == 1
