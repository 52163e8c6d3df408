"""Facts of training plans."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, FactValue, NotUnderstood
from envdoctor.facts.vocabulary import term
from envdoctor.sources.plans.plan import collect_plan
from envdoctor.sources.plans.training_arguments import DEFAULTS, FIELDS
from tests.examples import examples

FINETUNE_DEMO = """
    data_config:
      train_file: train.json
      val_file: dev.json
    max_input_length: 256
    max_output_length: 512
    training_args:
      output_dir: ./output
      learning_rate: 5e-5
      per_device_train_batch_size: 4
      per_device_eval_batch_size: 16
      evaluation_strategy: steps
      predict_with_generate: true
      generation_config:
        max_new_tokens: 512
      # deepspeed: ds_zero_2.json
    peft_config:
      peft_type: LORA
      task_type: CAUSAL_LM
      r: 8
      lora_alpha: 32
      target_modules: [query_key_value]
"""


def collect(path: Path, text: str, name: str = "plan.yaml") -> Collected:
    path.mkdir(parents=True, exist_ok=True)
    (path / name).write_text(textwrap.dedent(text))
    return collect_plan(path / name)


def facts(found: Collected) -> dict[str, Fact]:
    return {fact.name.removeprefix("plan."): fact for fact in found.facts}


def values(found: Collected) -> dict[str, FactValue]:
    return {name: fact.value for name, fact in facts(found).items()}


def arguments(path: Path, text: str) -> dict[str, FactValue]:
    """Facts of a plan of TrainingArguments with one more line or two."""
    return values(collect(path, f"output_dir: out\nlearning_rate: 1e-4\n{textwrap.dedent(text)}"))


def stated(found: Collected) -> dict[str, FactValue]:
    """What the file itself says, without defaults."""
    return {name: fact.value for name, fact in facts(found).items() if fact.origin.file is not None}


# --- TrainingArguments


def test_the_plan_of_the_fixtures_says_the_same_in_both_forms(fixtures: Path) -> None:
    yaml, json_ = (collect_plan(fixtures / "plans" / f"chatglm3-lora.{suffix}") for suffix in ("yaml", "json"))
    assert values(yaml) == values(json_)
    assert stated(yaml) == {
        "batch_size": 1,
        "gradient_accumulation": 1,
        "gradient_checkpointing": False,
        "fp16": False,
        "bf16": False,
        "optimizer": "adamw_torch",
        "optimizer_eps": 1e-8,
        "learning_rate": 5e-5,
        "max_grad_norm": 1.0,
        "remove_unused_columns": False,
        "save": True,
        "method": "lora",
        "lora_r": 8,
        "lora_alpha": 32.0,
        "lora_dropout": 0.1,
        "lora_targets": ("query_key_value",),
        "trainer": "transformers",
        "report_to": (),
        "arguments": (
            "adam_epsilon", "bf16", "dataloader_num_workers", "fp16", "gradient_accumulation_steps", "gradient_checkpointing",
            "learning_rate", "logging_steps", "lr_scheduler_type", "max_grad_norm", "max_steps", "optim", "output_dir",
            "per_device_train_batch_size", "remove_unused_columns", "report_to", "save_steps", "save_strategy", "seed", "warmup_steps",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", ["chatglm3-lora.yaml", "chatglm3-lora.json", "chatglm3-lora-gc.yaml"])
def test_facts_carry_the_line_they_stand_on(fixtures: Path, name: str) -> None:
    path = fixtures / "plans" / name
    lines = path.read_text().splitlines()
    keys = {"batch_size": "per_device_train_batch_size", "optimizer": "optim", "method": "peft_type", "lora_r": "r", "fp16": "fp16"}
    found = facts(collect_plan(path))
    for fact, key in keys.items():
        line = found[fact].origin.line
        assert line is not None
        assert lines[line - 1].strip().lstrip('"').startswith(key)


def test_what_is_left_out_has_the_default_of_training_arguments(tmp_path: Path) -> None:
    found = facts(collect(tmp_path, "per_device_train_batch_size: 2\n"))
    defaults = {name.removeprefix("plan."): value for name, value in DEFAULTS}
    for name, value in defaults.items():
        if name != "batch_size":
            assert (found[name].value, found[name].origin.source) == (value, "default of TrainingArguments")
    assert found["batch_size"].origin.line == 1
    assert {"optimizer", "optimizer_eps", "load_dtype", "quant", "attn"}.isdisjoint(found)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("bf16: yes", "bf16", True),
        ("bf16: perhaps", "bf16", NotUnderstood("perhaps")),
        ("fp16:", "fp16", False),
        ("tf32: true", "tf32", True),
        ("per_device_train_batch_size: 0x10", "batch_size", 16),
        ("per_device_train_batch_size: two", "batch_size", NotUnderstood("two")),
        ("per_device_train_batch_size: [1, 2]", "batch_size", NotUnderstood("[1, 2]")),
        ("per_device_train_batch_size: 0x" + "f" * 5000, "batch_size", NotUnderstood("a number too large")),
        ("learning_rate: 5e-5", "learning_rate", 5e-5),
        ("learning_rate: .inf", "learning_rate", NotUnderstood("a number too large")),
        ("adam_epsilon: 1e-6", "optimizer_eps", 1e-6),
        ("optim: adamw_torch_fused", "optimizer", "adamw_torch_fused"),
        ("gradient_checkpointing: true", "gradient_checkpointing", True),
        ("activation_checkpointing: true", "gradient_checkpointing", True),
        ("gradient_checkpointing_kwargs: {use_reentrant: false}", "use_reentrant", False),
        ("gradient_checkpointing_kwargs: {use_reentrant: false}", "gradient_checkpointing_kwargs", True),
        ("eval_strategy: steps", "evaluate", True),
        ("eval_strategy: no", "evaluate", False),
        ("evaluation_strategy: 'no'", "evaluate", False),
        ("evaluation_strategy: epoch", "evaluate", True),
        ("save_strategy: no", "save", False),
        ("resume_from_checkpoint: ./checkpoint-500", "resume", True),
        ("resume_from_checkpoint: false", "resume", False),
        ("resume_from_checkpoint: 'False'", "resume", False),
        ("neftune_noise_alpha: 5", "neftune", True),
        ("torch_compile_backend: inductor", "compile", True),
        ("use_liger_kernel: true", "liger", True),
        ("use_cpu: true", "accelerator", "cpu"),
        ("no_cuda: true", "accelerator", "cpu"),
        ("use_cpu: false", "accelerator", None),
        ("fsdp: full_shard auto_wrap", "distributed", "fsdp"),
        ("fsdp: full_shard auto_wrap", "offload", "none"),
        ("fsdp: [full_shard, offload]", "offload", "both"),
        ("fsdp: ''", "distributed", None),
        ("fsdp: false", "distributed", None),
        ("peft_config: {peft_type: LORA, use_dora: true, modules_to_save: [lm_head]}", "method", "dora"),
        ("peft_config: {peft_type: LORA, use_rslora: true}", "method", "rslora"),
        ("peft_config: {peft_type: LORA, modules_to_save: [lm_head]}", "modules_to_save", ("lm_head",)),
        ("peft_config: {peft_type: lora, target_modules: all-linear}", "lora_targets", ("all-linear",)),
        ("peft_config: {peft_type: P_TUNING}", "method", "p-tuning"),
        ("peft_config: {peft_type: PROMPT_TUNING}", "method", "prompt-tuning"),
        ("peft_config: {peft_type: LOHA}", "method", NotUnderstood("loha")),
        ("peft_config: {r: 8}", "method", None),
        ('run_name: "a\\e[31m"\noptim: "adam\\e[31m"', "optimizer", "adam\\x1b[31m"),
    ],
)
def test_one_setting(tmp_path: Path, text: str, name: str, expected: FactValue | None) -> None:
    assert arguments(tmp_path, text).get(name) == expected


def test_only_fields_of_training_arguments_are_arguments(tmp_path: Path) -> None:
    found = arguments(tmp_path, "model_name_or_path: x\nevaluation_strategy: no\n")
    assert found["arguments"] == ("evaluation_strategy", "learning_rate", "output_dir")
    assert "evaluation_strategy" in FIELDS
    assert "eval_strategy" in FIELDS


def test_every_fact_is_of_the_vocabulary(tmp_path: Path) -> None:
    for fact in collect(tmp_path, FINETUNE_DEMO).facts:
        assert term(fact.name) is not None


# --- finetune_demo


def test_the_finetune_demo_of_chatglm3(tmp_path: Path) -> None:
    found = collect(tmp_path, FINETUNE_DEMO)
    assert stated(found) == {
        "batch_size": 4,
        "eval_batch_size": 16,
        "learning_rate": 5e-5,
        "evaluate": True,
        "predict_with_generate": True,
        "seq_len": 769,
        "method": "lora",
        "lora_r": 8,
        "lora_alpha": 32.0,
        "lora_targets": ("query_key_value",),
        "trainer": "transformers",
        "arguments": (
            "evaluation_strategy", "generation_config", "learning_rate", "output_dir", "per_device_eval_batch_size",
            "per_device_train_batch_size", "predict_with_generate",
        ),
    }  # fmt: skip
    assert facts(found)["batch_size"].origin.line == 10
    assert found.skips == ()


def test_without_a_validation_file_nothing_is_evaluated(tmp_path: Path) -> None:
    assert values(collect(tmp_path, FINETUNE_DEMO.replace("val_file: dev.json", "num_proc: 4")))["evaluate"] is False


def test_prefix_tuning_and_all_weights(tmp_path: Path) -> None:
    head, _, _ = textwrap.dedent(FINETUNE_DEMO).partition("peft_config:")
    assert values(collect(tmp_path, head))["method"] == "full"
    prefix = values(collect(tmp_path, f"{head}peft_config:\n  peft_type: PREFIX_TUNING\n  num_virtual_tokens: 128\n"))
    assert prefix["method"] == "prefix-tuning"
    assert "lora_r" not in prefix


def test_an_argument_that_no_release_knows_is_listed(tmp_path: Path) -> None:
    found = collect(tmp_path, FINETUNE_DEMO.replace("evaluation_strategy", "evaluation_stratagem"))
    assert "evaluation_stratagem" in str(values(found)["arguments"])


# --- DeepSpeed


@pytest.mark.parametrize(
    ("zero", "distributed", "offload"),
    [
        ({"stage": 0}, "ddp", "none"),
        ({"stage": 2}, "zero2", "none"),
        ({"stage": 2, "offload_optimizer": {"device": "cpu"}}, "zero2", "optimizer"),
        ({"stage": 3, "offload_optimizer": {"device": "none"}, "offload_param": {"device": "nvme"}}, "zero3", "parameters"),
        ({"stage": 3, "offload_optimizer": {}, "offload_param": {}}, "zero3", "both"),
        ({}, "ddp", "none"),
        ({"stage": "auto"}, NotUnderstood("ZeRO stage auto"), "none"),
        ({"stage": 7}, NotUnderstood("ZeRO stage 7"), "none"),
    ],
)
def test_the_stage_of_deepspeed(tmp_path: Path, zero: dict[str, object], distributed: FactValue, offload: str) -> None:
    config = {"train_micro_batch_size_per_gpu": "auto", "zero_optimization": zero}
    (tmp_path / "ds.json").write_text(json.dumps(config))
    by_name = arguments(tmp_path, "deepspeed: ds.json")
    inline = arguments(tmp_path, f"deepspeed: {json.dumps(config)}")
    alone = values(collect_plan(tmp_path / "ds.json"))
    for found in (by_name, inline, alone):
        assert (found["deepspeed"], found["distributed"], found["offload"]) == (True, distributed, offload)
    assert "batch_size" not in alone


def test_the_stage_is_located_in_the_file_that_says_it(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "ds.json").write_text('{\n "bf16": {"enabled": "auto"},\n "zero_optimization": {\n  "stage": 3\n }\n}')
    found = facts(collect(tmp_path / "configs", "output_dir: out\noptim: sgd\ndeepspeed: configs/ds.json\n"))
    assert found["distributed"].value == "zero3"
    assert found["distributed"].origin.file is not None
    assert found["distributed"].origin.file.endswith("configs/ds.json")
    assert found["distributed"].origin.line == 4


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("ds_zero_3.json", "zero3"),
        ("examples/deepspeed/ds_z2_config.json", "zero2"),
        ("zero2_offload.json", "zero2"),
        ("scripts/zero3.json", "zero3"),
        ("stage1.json", "zero1"),
        ("ds_config.json", None),
        ("zero2_or_zero3.json", None),
        ("ds_v2.json", None),
    ],
)
def test_a_deepspeed_configuration_that_is_not_there_is_a_skip_and_its_name_says_the_stage(
    tmp_path: Path, name: str, stage: str | None
) -> None:
    found = collect(tmp_path, f"output_dir: out\noptim: sgd\ndeepspeed: {name}\n")
    assert values(found)["deepspeed"] is True
    assert values(found).get("distributed") == stage
    assert "offload" not in values(found)
    assert [(skip.what, skip.why) for skip in found.skips] == [
        (name, "the DeepSpeed configuration that the plan names was not found beside it")
    ]


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_a_deepspeed_configuration_that_cannot_be_read_is_a_skip(tmp_path: Path, content: str) -> None:
    (tmp_path / "ds.json").write_text(content)
    found = collect(tmp_path, "output_dir: out\noptim: sgd\ndeepspeed: ds.json\n")
    assert values(found)["deepspeed"] is True
    assert [skip.what for skip in found.skips] == ["ds.json"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [({"optimizer": {"type": "AdamW"}}, True), ({"scheduler": {"type": "WarmupLR"}}, True), ({"optimizer": None}, False)],
)
def test_a_deepspeed_configuration_with_an_optimizer_of_its_own(tmp_path: Path, content: dict[str, object], expected: bool) -> None:
    (tmp_path / "ds.json").write_text(json.dumps({"zero_optimization": {"stage": 3}, **content}))
    assert values(collect(tmp_path, "output_dir: out\noptim: sgd\ndeepspeed: ds.json\n"))["deepspeed_optimizer"] is expected


def test_a_deepspeed_configuration_by_itself(tmp_path: Path) -> None:
    text = json.dumps({"zero_optimization": {"stage": 1}, "bf16": {"enabled": True}, "fp16": {"enabled": "auto"}, "gradient_clipping": 1.0})
    assert values(collect(tmp_path, text, "ds.json")) == {
        "deepspeed": True,
        "deepspeed_optimizer": False,
        "deepspeed_fused_adam": False,
        "distributed": "zero1",
        "offload": "none",
        "bf16": True,
        "max_grad_norm": 1.0,
    }


# --- other tools


def test_llama_factory(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        """
        model_name_or_path: meta-llama/Meta-Llama-3-8B-Instruct
        quantization_bit: 4
        stage: sft
        do_train: true
        finetuning_type: lora
        lora_target: q_proj,v_proj
        lora_rank: 16
        dataset: identity
        template: llama3
        cutoff_len: 2048
        flash_attn: fa2
        per_device_train_batch_size: 1
        gradient_accumulation_steps: 8
        bf16: true
        """,
    )
    expected = {
        "method": "lora", "quant": "4bit", "quantization_config": True, "lora_targets": ("q_proj", "v_proj"), "lora_r": 16, "seq_len": 2048,
        "attn": "flash_attention_2", "batch_size": 1, "gradient_accumulation": 8, "bf16": True, "gradient_checkpointing": True,
        "trainer": "llamafactory",
    }  # fmt: skip
    assert expected.items() <= values(found).items()
    assert facts(found)["gradient_checkpointing"].origin.source == "default of LLaMA-Factory"


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("finetuning_type: full\nstage: pt", "method", "pretrain"),
        ("finetuning_type: full", "method", "full"),
        ("finetuning_type: freeze", "method", "freeze"),
        ("finetuning_type: full\nuse_badam: true", "method", "freeze"),
        ("finetuning_type: full\nuse_badam: false", "method", "full"),
        ("finetuning_type: full\nuse_galore: true\ngalore_layerwise: true", "optimizer", "galore_adamw_layerwise"),
        ("finetuning_type: full\nuse_apollo: true\noptim: adamw_torch", "optimizer", "apollo_adamw"),
        ("finetuning_type: full\nuse_galore: false", "optimizer", None),
        ("finetuning_type: oft", "method", NotUnderstood("oft")),
        ("finetuning_type: lora\nuse_dora: true", "method", "dora"),
        ("finetuning_type: lora", "lora_r", 8),
        ("finetuning_type: lora\nflash_attn: auto", "attn", None),
        ("finetuning_type: lora\nflash_attn: disabled", "attn", "eager"),
        ("finetuning_type: lora\nquantization_bit: 8\nquantization_method: hqq", "quant", "hqq"),
        ("finetuning_type: lora\ndisable_gradient_checkpointing: true", "gradient_checkpointing", False),
        ("finetuning_type: lora\npacking: true", "packing", True),
        ("finetuning_type: lora\nneat_packing: true", "packing", True),
        ("finetuning_type: lora\nstage: sft", "packing", False),
        ("finetuning_type: lora\nstage: pt", "packing", None),
        ("stage: sft\ntemplate: glm4", "method", "lora"),
    ],
)
def test_one_setting_of_llama_factory(tmp_path: Path, text: str, name: str, expected: FactValue | None) -> None:
    assert values(collect(tmp_path, text)).get(name) == expected


def test_trl(tmp_path: Path) -> None:
    found = values(
        collect(
            tmp_path,
            """
            model_name_or_path: mistralai/Mistral-7B-v0.1
            torch_dtype: float16
            attn_implementation: flash_attention_2
            load_in_4bit: true
            use_peft: true
            lora_r: 16
            lora_alpha: 16
            lora_target_modules:
            - q_proj
            - k_proj
            bf16: true
            max_seq_length: 2048
            output_dir: out
            """,
        )
    )
    expected = {
        "load_dtype": "float16", "attn": "flash_attention_2", "quant": "4bit", "quantization_config": True, "method": "lora", "lora_r": 16,
        "lora_alpha": 16.0, "lora_targets": ("q_proj", "k_proj"), "bf16": True, "seq_len": 2048, "trainer": "trl",
    }  # fmt: skip
    assert expected.items() <= found.items()
    # load_in_4bit of TRL's ModelConfig becomes a quantization_config; from_pretrained is not given the keyword.
    assert "load_in_4bit" not in found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("tokenizer:\n  _component_: torchtune.x\noutput_dir: x\n", "a configuration of torchtune that neither trains nor generates"),
        ("seed: 1\nlearning_rate: 0.1\nepoch: 3\n", "settings of no known training tool"),
        ("a: 1\n", "settings of no known training tool"),
        ("- a\n- b\n", "no mapping of settings: not a training plan"),
        ("just words\n", "no mapping of settings: not a training plan"),
        ("1: 2\nnull: 3\n", "settings of no known training tool"),
    ],
)
def test_an_unknown_dialect_is_a_skip(tmp_path: Path, text: str, why: str) -> None:
    found = collect(tmp_path, text)
    assert found.facts == ()
    assert [(skip.what, skip.why) for skip in found.skips] == [(str(tmp_path / "plan.yaml"), why)]


# --- what cannot be read


@pytest.mark.parametrize(
    ("text", "place", "found"),
    [
        ("a: 1\n b: 2\n", "line 2, column 3", "mapping values are not allowed"),
        ("a: [1,\n", "line 2, column 1", "did not find expected"),
        ("a: 1\n\tb: 2\n", "line 2", "a tab character that violates indentation"),
        ("a: *b\n", "line 1", "undefined alias"),
        ("a: \0\n", "line 1", "control characters|special characters"),
    ],
)
def test_yaml_that_cannot_be_read_names_the_place(tmp_path: Path, text: str, place: str, found: str) -> None:
    with pytest.raises(EnvdoctorError) as caught:
        collect(tmp_path, text)
    assert caught.value.place.startswith(f"{tmp_path / 'plan.yaml'}, {place}")
    assert any(part in caught.value.found for part in found.split("|")), caught.value.found


def test_json_that_cannot_be_read_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError) as caught:
        collect(tmp_path, '{\n "fp16": true.\n}', "plan.json")
    assert caught.value.place == f"{tmp_path / 'plan.json'}, line 2, column 14"
    assert (caught.value.found, caught.value.expected) == ("'.'", "',' delimiter")


@pytest.mark.parametrize("name", ["plan.yaml", "plan.json"])
@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "an empty file"),
        (b" \n", "an empty file"),
        (b"a: \xff", "the byte 0xff, which is no UTF-8"),
        (b"[" * 50_000, "nested too deeply"),
    ],
)
def test_files_that_are_no_plan_in_either_form(tmp_path: Path, name: str, content: bytes, found: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(EnvdoctorError, match=found):
        collect_plan(tmp_path / name)


def test_a_file_of_comments(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match="nothing but comments"):
        collect(tmp_path, "# later\n")


def test_a_plan_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match="No such file or directory"):
        collect_plan(tmp_path / "absent.yaml")
    with pytest.raises(EnvdoctorError, match="a directory"):
        collect_plan(tmp_path)
    with (tmp_path / "large.yaml").open("wb") as stream:
        stream.truncate(2**20 + 1)
    with pytest.raises(EnvdoctorError, match="1048577 bytes, more than the 1048576 that are read"):
        collect_plan(tmp_path / "large.yaml")


def test_aliases_that_multiply_are_not_expanded(tmp_path: Path) -> None:
    laughs = "\n".join(f"k{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    found = collect(tmp_path, f"k0: &a0 [lol]\n{laughs}\n")
    assert [skip.why for skip in found.skips] == ["settings of no known training tool"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["no", "steps", "ds.json"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
plans = st.dictionaries(
    st.sampled_from(sorted(FIELDS)) | st.sampled_from(["peft_config", "finetuning_type", "quantization_bit", "use_peft", "load_in_4bit"]),
    json_values,
    max_size=8,
)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plans | st.fixed_dictionaries({"training_args": plans, "peft_config": json_values, "max_input_length": json_values}))
def test_any_settings_are_read_and_mean_the_same_in_both_forms(tmp_path: Path, plan: dict[str, object]) -> None:
    text = json.dumps(plan)
    found = collect(tmp_path, text, "plan.json")
    for fact in found.facts:
        assert term(fact.name) is not None
        assert str(fact.value).isprintable()
    plain = all(character.isascii() and character.isprintable() for character in text) and not any(
        word in text for word in ("\\u", "NaN", "Infinity", "e", "\\\\")
    )
    if plain:
        # JSON without escapes and exponents is YAML.
        assert [(fact.name, fact.value) for fact in collect(tmp_path, text).facts] == [(fact.name, fact.value) for fact in found.facts]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60) | st.text("{}[]:,-?&*!#|>'\"%@` \n\tab1.e", max_size=40).map(str.encode))
def test_any_bytes_are_a_plan_a_skip_or_an_error(tmp_path: Path, content: bytes) -> None:
    for name in ("plan.yaml", "plan.json"):
        (tmp_path / name).write_bytes(content)
        try:
            found = collect_plan(tmp_path / name)
            said = bool(found.facts or found.skips)
        except EnvdoctorError as error:
            said = str(tmp_path / name) in error.place
        assert said


def test_what_decides_the_memory_of_qlora_is_read(tmp_path: Path) -> None:
    plan = tmp_path / "train_qlora.yaml"
    plan.write_text(
        "model_name_or_path: m\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 16\nlora_dropout: 0.05\n"
        "quantization_bit: 4\ndouble_quantization: false\nenable_liger_kernel: true\noutput_dir: out\n",
        encoding="utf-8",
    )
    found = values(collect_plan(plan))
    assert (found["lora_dropout"], found["double_quant"], found["liger"]) == (0.05, False, True)


def test_llama_factory_says_what_its_stage_trains_and_in_which_dtype(tmp_path: Path) -> None:
    plan = tmp_path / "dpo.yaml"
    text = "model_name_or_path: m\nstage: {}\ndo_train: true\nfinetuning_type: {}\npure_bf16: true\nbf16: true\noutput_dir: out\n"
    plan.write_text(text.format("dpo", "full") + "pref_loss: orpo\n", encoding="utf-8")
    found = values(collect_plan(plan))
    assert (found["objective"], found["load_dtype"], found["bf16"]) == ("orpo", "bfloat16", False)
    plan.write_text(text.format("rm", "freeze") + "freeze_trainable_layers: -4\n", encoding="utf-8")
    found = values(collect_plan(plan))
    assert (found["objective"], found["trained_layers"]) == ("reward", 4)
