"""Plans of ms-swift, of both generations."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import FactValue, NotUnderstood
from tests.sources.plans.reading import collect, defaults, lines, stated


def test_release_4(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        """
        model: some-org/some-7b
        tuner_type: lora
        target_modules: all-linear
        torch_dtype: bfloat16
        attn_impl: flash_attn
        quant_method: bnb
        quant_bits: 4
        max_length: 2048
        gradient_accumulation_steps: 8
        learning_rate: 1e-4
        deepspeed: zero2_offload
        """,
    )
    assert stated(found) == {
        "model.id": "some-org/some-7b",
        "plan.method": "lora",
        "plan.lora_targets": ("all-linear",),
        "plan.load_dtype": "bfloat16",
        "plan.bf16": True,
        "plan.fp16": False,
        "plan.attn": "flash_attention_2",
        "plan.quant": "4bit",
        "plan.quantization_config": True,
        "plan.seq_len": 2048,
        "plan.gradient_accumulation": 8,
        "plan.learning_rate": 1e-4,
        "plan.deepspeed": True,
        "plan.distributed": "zero2",
        "plan.offload": "optimizer",
        "plan.trainer": "ms-swift",
    }
    origin = "default of ms-swift"
    assert defaults(found) == {
        "plan.batch_size": (1, origin),
        "plan.lora_r": (8, origin),
        "plan.lora_alpha": (32.0, origin),
        "plan.trust_remote_code": (True, origin),
    }
    assert lines(found)["plan.bf16"] == 5


def test_release_2(tmp_path: Path) -> None:
    found = stated(
        collect(
            tmp_path,
            """
            model_id_or_path: some-org/some-7b
            sft_type: lora
            dtype: fp16
            lora_rank: 4
            lora_target_modules: [ALL]
            quantization_bit: 8
            use_flash_attn: true
            batch_size: 2
            deepspeed: default-zero3
            """,
        )
    )
    assert found == {
        "model.id": "some-org/some-7b",
        "plan.method": "lora",
        "plan.fp16": True,
        "plan.bf16": False,
        "plan.lora_r": 4,
        "plan.lora_targets": ("ALL",),
        "plan.quant": "8bit",
        "plan.quantization_config": True,
        "plan.attn": "flash_attention_2",
        "plan.batch_size": 2,
        "plan.deepspeed": True,
        "plan.distributed": "zero3",
        "plan.offload": "none",
        "plan.trainer": "ms-swift",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tuner_type: full", {"plan.method": "full", "plan.lora_r": None}),
        ("tuner_type: full\nlisa_activated_layers: 2", {"plan.method": "freeze"}),
        ("tuner_type: full\nfreeze_parameters_ratio: 0.8", {"plan.method": "freeze"}),
        ("tuner_type: full\nfreeze_parameters_ratio: 0.0\nfreeze_llm: false", {"plan.method": "full"}),
        ("tuner_type: full\nuse_galore: true", {"plan.method": "full", "plan.optimizer": "galore_adamw"}),
        ("tuner_type: full\nrlhf_type: dpo", {"plan.method": "dpo"}),
        ("tuner_type: lora\nrlhf_type: dpo", {"plan.method": "lora"}),
        ("tuner_type: lora\nuse_dora: true", {"plan.method": "dora"}),
        ("tuner_type: adalora", {"plan.method": NotUnderstood("adalora")}),
        ("tuner_type: ${TUNER}", {"plan.method": NotUnderstood("${TUNER}")}),
        ("tuner_type: lora\nquant_bits: 4", {"plan.quant": None}),
        ("sft_type: lora\nquantization_bit: 0", {"plan.quant": None}),
        ("sft_type: lora\nquant_method: gptq", {"plan.quant": "gptq", "plan.quantization_config": None}),
        ("tuner_type: lora\ntorch_dtype: float32", {"plan.fp16": True, "plan.bf16": False}),
        ("tuner_type: lora\ntorch_dtype: float16\nfp16: false", {"plan.fp16": False}),
        ("tuner_type: lora\neval_strategy: no\nsave_strategy: steps", {"plan.evaluate": False, "plan.save": True}),
        ("tuner_type: lora\nrecompute_granularity: full\nmicro_batch_size: 4",
         {"plan.distributed": "megatron", "plan.gradient_checkpointing": True, "plan.batch_size": 4}),
        ("tuner_type: full\nrecompute_granularity: selective\ntensor_model_parallel_size: 2\npipeline_model_parallel_size: 4",
         {"plan.gradient_checkpointing": False, "plan.tensor_parallel": 2, "plan.pipeline_parallel": 4}),
        ("rlhf_type: grpo\nmoe_grouped_gemm: true\ntrain:\n  tuner_type: full", {"plan.method": "grpo", "plan.distributed": "megatron"}),
    ],
)  # fmt: skip
def test_one_setting(tmp_path: Path, text: str, expected: dict[str, FactValue | None]) -> None:
    found = stated(collect(tmp_path, f"model: x\ndataset: y\n{text}\n"))
    assert {name: found.get(name) for name in expected} == expected


def test_what_only_the_trainers_of_a_ray_run_are_told_has_its_line(tmp_path: Path) -> None:
    found = collect(tmp_path, "rlhf_type: grpo\nmodel: x\ntrain:\n  tuner_type: lora\n  lora_rank: 4\n")
    assert (stated(found)["plan.lora_r"], lines(found)["plan.lora_r"]) == (4, 5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model_type: qwen-7b-chat", {"model.type": "qwen", "model.remote_code": None}),
        ("model_type: chatglm3-6b", {"model.type": "chatglm", "model.family": "chatglm3"}),
        ("model: /data/Qwen2.5-7B-Instruct-AWQ", {"model.type": "qwen2", "model.quant_method": "awq", "model.remote_code": False}),
        # a model that is named counts, and the types of later releases are families
        ("model_type: qwen-7b-chat\nmodel_id_or_path: some/thing", {"model.type": None, "model.id": "some/thing"}),
        ("model_type: qwen2_5", {"model.type": None}),
        ("sequence_parallel_size: 4", {"plan.context_parallel": 4}),
    ],
)
def test_what_the_name_of_a_model_says(tmp_path: Path, text: str, told: dict[str, FactValue | None]) -> None:
    found = stated(collect(tmp_path, f"train_type: lora\nsplit_dataset_ratio: 0.1\nswift_version: 3\n{text}\n"))
    assert {name: found.get(name) for name in told} == told
