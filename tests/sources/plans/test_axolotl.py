"""Plans of axolotl."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import FactValue, NotUnderstood
from tests.sources.plans.reading import collect, defaults, lines, skips, stated

QLORA = """
    base_model: some-org/some-8b
    trust_remote_code: true
    load_in_8bit: false
    load_in_4bit: true
    datasets:
      - path: rows.jsonl
        type: alpaca
    val_set_size: 0.05
    adapter: qlora
    lora_r: 32
    lora_alpha: 16
    lora_target_modules: [q_proj]
    lora_target_linear: true
    lora_modules_to_save: [embed_tokens, lm_head]
    sequence_len: 4096
    sample_packing: true
    pad_to_sequence_len: true
    gradient_accumulation_steps: 4
    micro_batch_size: 2
    optimizer: paged_adamw_32bit
    learning_rate: 0.0002
    bf16: auto
    tf32: false
    gradient_checkpointing: true
    gradient_checkpointing_kwargs:
      use_reentrant: false
    flash_attention: true
    evals_per_epoch: 4
    deepspeed: deepspeed_configs/zero3_bf16_cpuoffload_all.json
"""


def test_a_qlora_run(tmp_path: Path) -> None:
    found = collect(tmp_path, QLORA)
    assert stated(found) == {
        "model.id": "some-org/some-8b",
        "plan.trust_remote_code": True,
        "plan.quant": "4bit",
        "plan.quantization_config": True,
        "plan.evaluate": True,
        "plan.method": "qlora",
        "plan.lora_r": 32,
        "plan.lora_alpha": 16.0,
        "plan.lora_targets": ("q_proj", "all-linear"),
        "plan.modules_to_save": ("embed_tokens", "lm_head"),
        "plan.seq_len": 4096,
        "plan.packing": True,
        "plan.gradient_accumulation": 4,
        "plan.batch_size": 2,
        "plan.optimizer": "paged_adamw_32bit",
        "plan.learning_rate": 0.0002,
        "plan.tf32": False,
        "plan.gradient_checkpointing": True,
        "plan.gradient_checkpointing_kwargs": True,
        "plan.use_reentrant": False,
        "plan.attn": "flash_attention_2",
        "plan.deepspeed": True,
        "plan.distributed": "zero3",
        "plan.offload": "both",
        "plan.trainer": "axolotl",
    }
    assert defaults(found) == {"plan.save": (True, "default of axolotl"), "plan.eval_batch_size": (2, "default of axolotl")}
    assert (lines(found)["plan.method"], lines(found)["plan.use_reentrant"], lines(found)["plan.quant"]) == (10, 27, 5)
    assert skips(found) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("adapter: lora\npeft_use_dora: true", {"plan.method": "dora"}),
        ("adapter: lora\npeft_use_rslora: true", {"plan.method": "rslora"}),
        ("adapter: llama-adapter", {"plan.method": NotUnderstood("llama-adapter")}),
        ("adapter:", {"plan.method": "full"}),
        ("rl: dpo", {"plan.method": "dpo"}),
        ("adapter: lora\nrl: dpo", {"plan.method": "lora"}),
        ("rl: simpo", {"plan.method": None}),
        ("pretraining_dataset: x", {"plan.method": "pretrain"}),
        ("unfrozen_parameters: [lm_head]", {"plan.method": "freeze"}),
        ("adapter: lora\nlora_target_modules: 'layers\\.[0-9]+\\.(q|k)_proj'", {"plan.lora_targets": (r"layers\.[0-9]+\.(q|k)_proj",)}),
        ("bf16: true", {"plan.bf16": True, "plan.load_dtype": "bfloat16", "plan.fp16": None}),
        ("bf16: true\nfp16: true", {"plan.bf16": True, "plan.fp16": False, "plan.load_dtype": "bfloat16"}),
        ("bf16: false\nfp16: true", {"plan.bf16": False, "plan.fp16": True, "plan.load_dtype": "float16"}),
        ("bf16: false\nfp16: false", {"plan.load_dtype": "float32"}),
        ("bf16: false\nfp16: false\nload_in_8bit: true", {"plan.load_dtype": "float16", "plan.quant": "8bit"}),
        ("bf16: false\nfp16: ${FP16}", {"plan.load_dtype": None, "plan.fp16": NotUnderstood("${FP16}")}),
        ("bf16: auto", {"plan.bf16": None, "plan.load_dtype": None}),
        ("fp16: true", {"plan.fp16": True, "plan.load_dtype": None}),
        ("bf16: full", {"plan.bf16": None, "plan.load_dtype": "bfloat16"}),
        ("attn_implementation: sdpa\nflash_attention: true", {"plan.attn": "sdpa"}),
        ("sdp_attention: true", {"plan.attn": "sdpa"}),
        ("xformers_attention: true\nflash_attention:", {"plan.attn": "xformers"}),
        ("flash_attention: false", {"plan.attn": None}),
        ("gradient_checkpointing: offload", {"plan.gradient_checkpointing": True, "plan.activation_offload": True}),
        ("gradient_checkpointing: true\nactivation_offloading: legacy",
         {"plan.gradient_checkpointing": True, "plan.activation_offload": True}),
        ("gradient_checkpointing: true\nactivation_offloading: hidden_states", {"plan.activation_offload": True}),
        ("torch_compile: auto", {"plan.compile": None}),
        ("val_set_size: 0\neval_steps: 10", {"plan.evaluate": False}),
        ("val_set_size: 0.1", {"plan.evaluate": None}),
        ("val_set_size: 0.1\neval_strategy: epoch", {"plan.evaluate": True}),
        ("val_set_size: 0.1\neval_strategy: no", {"plan.evaluate": False}),
        ("save_strategy: no", {"plan.save": False}),
        ("auto_resume_from_checkpoints: true", {"plan.resume": True}),
        ("liger_rope: true", {"plan.liger": True}),
        ("adapter: lora\nlora_mlp_kernel: true\nlora_o_kernel: false", {"plan.lora_kernels": ("mlp",)}),
        ("adapter: lora\nlora_o_kernel: false", {"plan.lora_kernels": ()}),
        ("adapter: lora", {"plan.lora_kernels": None}),
        ("adapter: qlora\nload_in_4bit: true\nquantize_moe_experts: true", {"plan.quant": "4bit", "plan.quantize_experts": True}),
        ("plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin", {"plan.fused_loss": "linear_cross_entropy"}),
        ("plugins:\n  - axolotl.integrations.liger.LigerPlugin", {"plan.fused_loss": None}),
        ("fsdp: [full_shard, auto_wrap, offload]", {"plan.distributed": "fsdp", "plan.offload": "both"}),
        ("fsdp_config:\n  offload_params: true\n  activation_checkpointing: true",
         {"plan.distributed": "fsdp", "plan.offload": "both", "plan.gradient_checkpointing": True}),
        ("fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\ncontext_parallel_size: 4\ntensor_parallel_size: 1",
         {"plan.fsdp_version": 2, "plan.context_parallel": 4, "plan.tensor_parallel": None}),
        ("sequence_parallel_degree: 2", {"plan.context_parallel": 2}),
    ],
)  # fmt: skip
def test_one_setting(tmp_path: Path, text: str, expected: dict[str, FactValue | None]) -> None:
    found = stated(collect(tmp_path, f"base_model: x\nsequence_len: 8\n{text}\n"))
    assert {name: found.get(name) for name in expected} == expected


def test_a_deepspeed_configuration_beside_the_plan_is_the_one_that_counts(tmp_path: Path) -> None:
    (tmp_path / "deepspeed_configs").mkdir()
    (tmp_path / "deepspeed_configs" / "zero3.json").write_text('{"zero_optimization": {"stage": 2}}')
    text = "base_model: x\nsequence_len: 8\ndeepspeed: deepspeed_configs/zero3.json\n"
    assert stated(collect(tmp_path, text))["plan.distributed"] == "zero2"
