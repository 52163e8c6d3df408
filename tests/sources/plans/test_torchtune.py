"""Configurations of torchtune's recipes."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import FactValue
from tests.sources.plans.reading import collect, lines, skips, stated


def test_a_qlora_recipe(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        """
        output_dir: /tmp/out
        tokenizer:
          _component_: torchtune.models.llama3.llama3_tokenizer
          max_seq_len: 4096
        model:
          _component_: torchtune.models.llama3_1.qlora_llama3_1_8b
          lora_attn_modules: ['q_proj', 'v_proj']
          apply_lora_to_mlp: True
          lora_rank: 8
          lora_alpha: 16
        dataset:
          _component_: torchtune.datasets.alpaca_dataset
          packed: True
        batch_size: 2
        optimizer:
          _component_: torch.optim.AdamW
          fused: True
          lr: 3e-4
        gradient_accumulation_steps: 8
        clip_grad_norm: null
        compile: False
        metric_logger:
          log_dir: ${output_dir}/logs
        dtype: bf16
        enable_activation_checkpointing: True
        """,
    )
    assert stated(found) == {
        "plan.seq_len": 4096,
        "plan.method": "qlora",
        "plan.quant": "torchao",
        "plan.lora_targets": ("q_proj", "v_proj", "w1", "w2", "w3"),
        "plan.lora_r": 8,
        "plan.lora_alpha": 16.0,
        "plan.packing": True,
        "plan.batch_size": 2,
        "plan.optimizer": "adamw_torch_fused",
        "plan.learning_rate": 3e-4,
        "plan.gradient_accumulation": 8,
        "plan.compile": False,
        "plan.load_dtype": "bfloat16",
        "plan.gradient_checkpointing": True,
        "plan.trainer": "torchtune",
    }
    assert (lines(found)["plan.seq_len"], lines(found)["plan.method"], lines(found)["plan.lora_r"]) == (5, 7, 10)
    assert skips(found) == []


@pytest.mark.parametrize(
    ("model", "rest", "expected"),
    [
        ("m.lora_llama3_8b", "", {"plan.method": "lora", "plan.quant": None}),
        ("m.lora_llama3_8b\n  use_dora: true", "", {"plan.method": "dora"}),
        ("m.lora_llama3_8b\n  quantize_base: true", "", {"plan.method": "qlora", "plan.quant": "torchao"}),
        ("m.llama3_8b", "", {"plan.method": "full"}),
        ("m.llama3_8b", "loss:\n  _component_: torchtune.rlhf.loss.DPOLoss\n", {"plan.method": "dpo"}),
        ("m.llama3_8b", "fsdp_cpu_offload: true\n", {"plan.distributed": "fsdp", "plan.offload": "both"}),
        ("m.llama3_8b", "compile:\n  model: true\n", {"plan.compile": True}),
        ("m.llama3_8b", "optimizer_in_bwd: True\n", {"plan.optimizer_in_backward": True}),
        ("m.llama3_8b", "batch_size: ${bs}\n", {"plan.method": "full"}),
    ],
)
def test_one_component(tmp_path: Path, model: str, rest: str, expected: dict[str, FactValue | None]) -> None:
    optimizer = "optimizer:\n  _component_: bitsandbytes.optim.PagedAdamW8bit\n"
    found = stated(collect(tmp_path, f"model:\n  _component_: {model}\n{optimizer}{rest}"))
    assert {name: found.get(name) for name in expected} == expected
    assert found["plan.optimizer"] == "paged_adamw_8bit"


def test_a_configuration_that_generates(tmp_path: Path) -> None:
    found = collect(tmp_path, "model:\n  _component_: m.llama2_7b\ndtype: bf16\nmax_new_tokens: 300\n")
    assert stated(found) == {"plan.method": "inference", "plan.load_dtype": "bfloat16", "plan.trainer": "torchtune"}
