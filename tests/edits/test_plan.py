"""Facts written into plan files: the dialect's own setting, read back, and every other byte what it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.edits.edit import Edited, Set, Setting
from envdoctor.edits.plan import edit_plan
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import FactValue
from envdoctor.sources.plans.plan import collect_plan
from envdoctor.sources.stated.stated_value import stated_value
from tests.edits.laws import assert_left_alone, assert_only_named_lines_changed

DERIVED = {"plan.arguments", "plan.keys", "plan.refused_arguments",
           "plan.load_dtype", "plan.quantization_config", "plan.gradient_checkpointing_kwargs",
           "plan.eval_batch_size", "plan.offload"}  # fmt: skip


def facts(path: Path) -> dict[str, FactValue]:
    return {fact.name: fact.value for fact in collect_plan(path).facts}


def edited(path: Path, text: str | bytes, *settings: Set) -> Edited:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = facts(path)
    [result] = edit_plan(path, settings)
    assert_only_named_lines_changed(result)
    if not result.done:
        assert_left_alone(result)
    path.write_bytes(result.after)
    now = facts(path)
    for wish in result.done:
        assert isinstance(wish, Set)
        said = stated_value(wish.fact, list(wish.value) if isinstance(wish.value, tuple) else wish.value)
        assert now.get(wish.fact, "none" if wish.fact == "plan.quant" else None) == said
    changed = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
    assert changed <= DERIVED | {wish.fact for wish in settings}
    [again] = edit_plan(path, settings)
    assert_left_alone(again)
    assert {refusal.wish for refusal in result.refused} | set(result.done) == set(settings)
    return result


def after(path: Path, text: str, *settings: Set) -> str:
    result = edited(path, text, *settings)
    assert not result.refused
    return result.after.decode()


LLAMA_FACTORY = """\
### model
model_name_or_path: org/base  # ours
trust_remote_code: true

### method
stage: sft
finetuning_type: lora
lora_rank: 8
lora_target: all

### train
cutoff_len: 2048
per_device_train_batch_size: 1
learning_rate: 1.0e-4
fp16: true   # not every GPU
flash_attn: fa2
dataset: d
template: t
"""
AXOLOTL = """\
base_model: org/base
load_in_4bit: True
adapter: qlora
sequence_len: 4096
sample_packing: true
micro_batch_size: 2
optimizer: adamw_bnb_8bit
learning_rate: 0.0002
bf16: auto
flash_attention: true
val_set_size: 0
"""
SWIFT = """\
model: org/base
train_type: lora
torch_dtype: float16
attn_impl: flash_attn
max_length: 1024
gradient_checkpointing: true
dataset: [a, b]
"""
TORCHTUNE = """\
tokenizer:
  _component_: torchtune.models.llama3.llama3_tokenizer
  path: /tmp/t
  max_seq_len: null
model:
  _component_: torchtune.models.llama3.lora_llama3_8b
  lora_rank: 8
optimizer:
  _component_: torch.optim.AdamW
  lr: 3e-4
batch_size: 2
dtype: bf16
compile: False  # slower at first
"""
ARGUMENTS = """\
output_dir: out
per_device_train_batch_size: 4
learning_rate: 2e-5
fp16: true
gradient_checkpointing: true
save_strategy: epoch
eval_strategy: steps
"""
TRL = """\
model_name_or_path: org/base
torch_dtype: float16
use_peft: true
lora_r: 16
lora_target_modules: [q_proj, v_proj]
max_length: 512
output_dir: out
per_device_train_batch_size: 4
bf16: false
load_in_4bit: true
"""
DEMO = """\
data_config:
  train_file: train.json
max_input_length: 128
max_output_length: 128
training_args:
    output_dir: ./out
    per_device_train_batch_size: 1
    predict_with_generate: true
peft_config:
    peft_type: LORA
    r: 8
"""
ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: DEEPSPEED
deepspeed_config:
  zero_stage: 3
  offload_optimizer_device: cpu
mixed_precision: fp16
num_processes: 8
"""
DEEPSPEED = """\
{
    "train_micro_batch_size_per_gpu": "auto",
    "fp16": {
        "enabled": "auto",
        "loss_scale": 0
    },
    "zero_optimization": { "stage": 3, "offload_param": { "device": "cpu" } }
}
"""


@pytest.mark.parametrize(
    ("text", "fact", "value", "old", "new"),
    [
        (LLAMA_FACTORY, "bf16", True, "fp16: true   # not every GPU\n", "fp16: true   # not every GPU\nbf16: true\n"),
        (LLAMA_FACTORY, "fp16", False, "fp16: true   #", "fp16: false   #"),
        (LLAMA_FACTORY, "attn", "sdpa", "flash_attn: fa2", "flash_attn: sdpa"),
        (LLAMA_FACTORY, "attn", "eager", "flash_attn: fa2", "flash_attn: disabled"),
        (LLAMA_FACTORY, "quant", "8bit", "template: t\n", "template: t\nquantization_bit: 8\n"),
        (LLAMA_FACTORY, "seq_len", 512, "cutoff_len: 2048", "cutoff_len: 512"),
        (LLAMA_FACTORY, "lora_r", 4, "lora_rank: 8", "lora_rank: 4"),
        (LLAMA_FACTORY, "lora_alpha", 16.0, "lora_rank: 8\n", "lora_rank: 8\nlora_alpha: 16\n"),
        (LLAMA_FACTORY, "lora_targets", ("q_proj", "v_proj"), "lora_target: all", "lora_target: q_proj,v_proj"),
        (LLAMA_FACTORY, "gradient_checkpointing", False, "template: t\n", "template: t\ndisable_gradient_checkpointing: true\n"),
        (LLAMA_FACTORY, "trust_remote_code", False, "remote_code: true", "remote_code: false"),
        (LLAMA_FACTORY, "learning_rate", 1e-5, "1.0e-4", "1.0e-05"),
        (AXOLOTL, "bf16", True, "bf16: auto", "bf16: true"),
        (AXOLOTL, "attn", "sdpa", "flash_attention: true", "flash_attention: false\nsdp_attention: true"),
        (AXOLOTL, "quant", "none", "load_in_4bit: True", "load_in_4bit: False"),
        (AXOLOTL, "packing", False, "sample_packing: true", "sample_packing: false"),
        (AXOLOTL, "optimizer", "adamw_torch", "adamw_bnb_8bit", "adamw_torch"),
        (AXOLOTL, "use_reentrant", False, "val_set_size: 0\n", "val_set_size: 0\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n"),
        (SWIFT, "attn", "sdpa", "attn_impl: flash_attn", "attn_impl: sdpa"),
        (SWIFT, "batch_size", 2, "dataset: [a, b]\n", "dataset: [a, b]\nper_device_train_batch_size: 2\n"),
        (TORCHTUNE, "load_dtype", "float32", "dtype: bf16", "dtype: fp32"),
        (TORCHTUNE, "seq_len", 128, "max_seq_len: null", "max_seq_len: 128"),
        (TORCHTUNE, "optimizer_eps", 1e-6, "  lr: 3e-4\n", "  lr: 3e-4\n  eps: 1.0e-06\n"),
        (TORCHTUNE, "compile", True, "compile: False", "compile: True"),
        (ARGUMENTS, "bf16", True, "fp16: true\n", "fp16: true\nbf16: true\n"),
        (ARGUMENTS, "save", False, "save_strategy: epoch", 'save_strategy: "no"'),
        (ARGUMENTS, "evaluate", False, "eval_strategy: steps", 'eval_strategy: "no"'),
        (ARGUMENTS, "max_grad_norm", 0.5, "learning_rate: 2e-5\n", "learning_rate: 2e-5\nmax_grad_norm: 0.5\n"),
        (TRL, "load_dtype", "bfloat16", "torch_dtype: float16", "torch_dtype: bfloat16"),
        (TRL, "attn", "eager", "load_in_4bit: true\n", "load_in_4bit: true\nattn_implementation: eager\n"),
        (TRL, "lora_targets", ("all-linear",), "[q_proj, v_proj]", "[all-linear]"),
        (TRL, "quant", "8bit", "load_in_4bit: true", "load_in_4bit: false\nload_in_8bit: true"),
        (DEMO, "bf16", True, "    predict_with_generate: true\n", "    predict_with_generate: true\n    bf16: true\n"),
        (DEMO, "lora_r", 16, "    r: 8", "    r: 16"),
        (ACCELERATE, "distributed", "zero2", "zero_stage: 3", "zero_stage: 2"),
        (ACCELERATE, "offload", "none", "offload_optimizer_device: cpu", "offload_optimizer_device: none"),
    ],
)
def test_a_fact_is_said_in_the_dialects_own_words(tmp_path: Path, text: str, fact: str, value: Setting, old: str, new: str) -> None:
    assert text.count(old) == 1
    path = tmp_path / "plan.yaml"
    wish = Set(f"plan.{fact}", value)
    assert after(path, text, wish) == text.replace(old, new)
    crlf = edited(path, text.replace("\n", "\r\n"), wish)
    assert crlf.after.decode() == text.replace(old, new).replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("fact", "value", "old", "new"),
    [
        ("fp16", False, '"enabled": "auto"', '"enabled": false'),
        ("bf16", True, '"loss_scale": 0\n    },', '"loss_scale": 0\n    },\n    "bf16": {\n        "enabled": true\n    },'),
        ("batch_size", 2, '"auto",\n    "fp16"', '2,\n    "fp16"'),
        ("distributed", "zero2", '"stage": 3', '"stage": 2'),
        ("offload", "none", '"device": "cpu"', '"device": "none"'),
        ("gradient_accumulation", 4, '_gpu": "auto",', '_gpu": "auto",\n    "gradient_accumulation_steps": 4,'),
    ],
)
def test_json_keeps_its_form(tmp_path: Path, fact: str, value: Setting, old: str, new: str) -> None:
    path = tmp_path / "ds.json"
    for newline in ("\n", "\r\n"):
        text = DEEPSPEED.replace("\n", newline)
        assert after(path, text, Set(f"plan.{fact}", value)) == text.replace(old.replace("\n", newline), new.replace("\n", newline))


def test_json_on_one_line_stays_on_one_line(tmp_path: Path) -> None:
    text = '{"output_dir": "x", "per_device_train_batch_size":1, "fp16": true }'
    assert after(tmp_path / "a.json", text, Set("plan.bf16", True)) == text.replace('"fp16": true', '"fp16": true, "bf16": true')
    assert after(tmp_path / "a.json", text, Set("plan.batch_size", 4)) == text.replace(":1", ":4")


def test_a_flow_mapping_stays_one(tmp_path: Path) -> None:
    text = "{output_dir: x, per_device_train_batch_size: 1, fp16: true}\n"
    assert after(tmp_path / "a.yaml", text, Set("plan.bf16", True)) == text.replace("fp16: true", "fp16: true, bf16: true")
    wish = Set("plan.use_reentrant", False)
    assert "gradient_checkpointing_kwargs: {use_reentrant: false}" in after(tmp_path / "a.yaml", text, wish)


@pytest.mark.parametrize(
    ("text", "fact", "value", "old", "new", "moves"),
    [
        (ACCELERATE, "bf16", True, "mixed_precision: fp16", "mixed_precision: bf16", {"plan.bf16", "plan.fp16"}),
        (SWIFT, "load_dtype", "bfloat16", "torch_dtype: float16", "torch_dtype: bfloat16", {"plan.bf16", "plan.fp16", "plan.load_dtype"}),
    ],
)
def test_one_setting_may_say_several_facts(
    tmp_path: Path, text: str, fact: str, value: Setting, old: str, new: str, moves: set[str]
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    before = facts(path)
    [result] = edit_plan(path, [Set(f"plan.{fact}", value)])
    assert result.after.decode() == text.replace(old, new)
    path.write_bytes(result.after)
    now = facts(path)
    assert {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)} == moves


def test_several_wishes_are_all_said(tmp_path: Path) -> None:
    result = edited(tmp_path / "a.yaml", LLAMA_FACTORY, Set("plan.bf16", True), Set("plan.fp16", False), Set("plan.padding_side", "left"))
    assert result.done == (Set("plan.bf16", True), Set("plan.fp16", False))
    assert [refusal.wish for refusal in result.refused] == [Set("plan.padding_side", "left")]
    assert b"fp16: false   # not every GPU\nbf16: true\n" in result.after


@pytest.mark.parametrize(
    ("text", "fact", "value", "why"),
    [
        (LLAMA_FACTORY, "padding_side", "right", "no setting for plan.padding_side"),
        (LLAMA_FACTORY, "load_dtype", "bfloat16", "no setting for plan.load_dtype"),
        (LLAMA_FACTORY, "attn", "flex_attention", "has no flex_attention"),
        (ARGUMENTS, "attn", "sdpa", "no setting"),
        (ARGUMENTS.replace("epoch", "'no'"), "save", True, "how often is the plan's to say"),
        (ARGUMENTS, "neftune", True, "no setting"),
        (AXOLOTL, "load_dtype", "bfloat16", "no setting for plan.load_dtype"),
        (AXOLOTL, "offload", "none", "change the DeepSpeed or FSDP configuration"),
        (ACCELERATE, "bf16", False, "the trainer decides"),
        (ACCELERATE, "distributed", "ddp", "no stage of ZeRO"),
        ("a: 1\nb: 2\n", "bf16", True, "not a plan"),
        ("- 1\n", "bf16", True, "not a plan"),
        (ARGUMENTS.replace("fp16: true", "fp16: &x true\nz: *x"), "fp16", False, "anchor"),
        (ARGUMENTS.replace("fp16: true", "z: &x true\nfp16: *x"), "fp16", False, "alias"),
        (ARGUMENTS.replace("fp16: true", "fp16: true\nfp16: true"), "fp16", False, "twice"),
        (ARGUMENTS.replace("fp16: true", "fp16: ${HALF}"), "fp16", False, "set when the run starts"),
        (ARGUMENTS.replace("fp16: true", "fp16: !env HALF"), "fp16", False, "tag"),
        (ARGUMENTS.replace("optim", "x") + "optim: >\n  sgd\n", "optimizer", "adamw_torch", "one line"),
    ],
)
def test_what_cannot_be_said_is_refused_with_its_reason(tmp_path: Path, text: str, fact: str, value: Setting, why: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    [result] = edit_plan(path, [Set(f"plan.{fact}", value)])
    assert_left_alone(result)
    [refusal] = result.refused
    assert why in refusal.why


@pytest.mark.parametrize(
    ("fact", "value", "old", "new"),
    [
        ("resume", False, "resume_from_checkpoint: out/checkpoint-500", "resume_from_checkpoint: false"),
        ("neftune", False, "neftune_noise_alpha: 5", "neftune_noise_alpha: null"),
    ],
)
def test_what_has_many_values_is_turned_off_and_never_on(tmp_path: Path, fact: str, value: Setting, old: str, new: str) -> None:
    text = f"{ARGUMENTS}{old}\n"
    path = tmp_path / "plan.yaml"
    assert after(path, text, Set(f"plan.{fact}", value)) == text.replace(old, new)
    path.write_text(text.replace(old, new), encoding="utf-8")
    [result] = edit_plan(path, [Set(f"plan.{fact}", True)])
    assert_left_alone(result)
    assert "set it by hand" in result.refused[0].why


def test_what_would_change_with_it_is_to_be_wished_as_well(tmp_path: Path) -> None:
    text = AXOLOTL.replace("bf16: auto", "bf16: false\nfp16: true")
    alone = edited(tmp_path / "a.yaml", text, Set("plan.bf16", True))
    assert [refusal.why for refusal in alone.refused] == ["plan.fp16 would change with it, which is to be wished for as well"]
    both = edited(tmp_path / "a.yaml", text, Set("plan.bf16", True), Set("plan.fp16", False))
    assert both.after.decode() == text.replace("bf16: false", "bf16: true")


def test_wishes_that_contradict_each_other_leave_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(ARGUMENTS, encoding="utf-8")
    [result] = edit_plan(path, [Set("plan.bf16", True), Set("plan.bf16", False)])
    assert_left_alone(result)
    assert len(result.refused) >= 1


def test_a_merged_setting_is_overridden_where_the_plan_is(tmp_path: Path) -> None:
    text = "base: &b\n  fp16: true\n  predict_with_generate: true\ntraining_args:\n  <<: *b\n  output_dir: x\n"
    assert after(tmp_path / "a.yaml", text, Set("plan.fp16", False)) == f"{text}  fp16: false\n"


def test_of_several_documents_the_plan_is_changed(tmp_path: Path) -> None:
    text = f"a: 1\n---\n{ARGUMENTS}---\nfp16: true\n"
    path = tmp_path / "a.yaml"
    assert after(path, text, Set("plan.fp16", False)) == text.replace("fp16: true", "fp16: false", 1)


def test_code_is_named_by_its_line_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "from transformers import TrainingArguments, Trainer\n\n"
        "args = TrainingArguments('out',\n    fp16=True)\nTrainer(args=args).train()\n",
        encoding="utf-8",
    )
    [result] = edit_plan(path, [Set("plan.fp16", False), Set("plan.bf16", True)])
    assert_left_alone(result)
    assert result.refused[0].why.startswith("code: change it by hand on line")
    assert result.refused[0].why.endswith("so that plan.fp16 is false")


@pytest.mark.parametrize("data", [b"{", b"\xff: 1\n", b"", b"a: [\n", b"[" * 3000, b"a: " + b"{" * 300, b"\x00"])
@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_what_cannot_be_read_is_an_error(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(EnvdoctorError, match=name):
        edit_plan(path, [Set("plan.bf16", True)])


SETTINGS: dict[str, st.SearchStrategy[object]] = {
    "per_device_train_batch_size": st.integers(1, 64),
    "gradient_accumulation_steps": st.integers(1, 64),
    "fp16": st.booleans(),
    "bf16": st.booleans(),
    "optim": st.sampled_from(["adamw_torch", "sgd"]),
    "learning_rate": st.sampled_from([1e-4, 2e-05, 1]),
    "gradient_checkpointing": st.booleans(),
    "save_strategy": st.sampled_from(["epoch", "no", "steps"]),
    "logging_dir": st.sampled_from(["a b", "x: y", "true", "é", "#1", "", "\U0001f600"]),
    "report_to": st.just(["a", "b"]),
    "gradient_checkpointing_kwargs": st.just({"use_reentrant": True}),
}
WISHES = st.builds(
    lambda row: Set(f"plan.{row[0]}", row[1]),
    st.sampled_from(
        [
            ("fp16", True),
            ("bf16", True),
            ("bf16", False),
            ("batch_size", 3),
            ("optimizer", "adafactor"),
            ("optimizer_eps", 1e-6),
            ("learning_rate", 1e-05),
            ("gradient_checkpointing", False),
            ("save", False),
            ("use_reentrant", False),
            ("max_grad_norm", 0.3),
            ("compile", True),
            ("tf32", True),
        ]
    ),
)


@st.composite
def plans(draw: st.DrawFn) -> dict[str, object]:
    names = draw(st.permutations(sorted(SETTINGS)))[: draw(st.integers(0, 8))]
    return {"output_dir": "out", "per_device_eval_batch_size": 1, **{name: draw(SETTINGS[name]) for name in names}}


@given(
    plan=plans(),
    wishes=st.lists(WISHES, min_size=1, max_size=3, unique_by=lambda wish: wish.fact),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
)
def test_any_json_plan_keeps_what_was_not_wished(
    tmp_path_factory: pytest.TempPathFactory, plan: dict[str, object], wishes: list[Set], indent: int | str | None
) -> None:
    result = edited(tmp_path_factory.mktemp("j") / "plan.json", json.dumps(plan, indent=indent, ensure_ascii=False), *wishes)
    assert not result.refused
    now = json.loads(result.after)
    assert (now["output_dir"], now["per_device_eval_batch_size"]) == ("out", 1)
    assert now.get("logging_dir") == plan.get("logging_dir")


@given(
    plan=plans(),
    wishes=st.lists(WISHES, min_size=1, max_size=3, unique_by=lambda wish: wish.fact),
    flow=st.sampled_from([None, False]),
    sort=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]),
    comment=st.sampled_from(["", "# head\n", "---\n"]),
)
def test_any_yaml_plan_keeps_what_was_not_wished(
    tmp_path_factory: pytest.TempPathFactory,
    plan: dict[str, object],
    wishes: list[Set],
    flow: bool | None,
    sort: bool,
    newline: str,
    comment: str,
) -> None:
    import yaml

    text = comment + yaml.safe_dump(plan, default_flow_style=flow, sort_keys=sort, allow_unicode=True)
    result = edited(tmp_path_factory.mktemp("y") / "plan.yaml", text.replace("\n", newline), *wishes)
    assert not result.refused
    now = yaml.safe_load(result.after)
    assert now.get("logging_dir") == plan.get("logging_dir")
    assert now["output_dir"] == "out"
