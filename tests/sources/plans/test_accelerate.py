"""What ``accelerate config`` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import FactValue, NotUnderstood
from tests.sources.plans.reading import collect, lines, stated


def test_zero_3(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        """
        compute_environment: LOCAL_MACHINE
        deepspeed_config:
          gradient_accumulation_steps: 1
          offload_optimizer_device: cpu
          offload_param_device: none
          zero3_init_flag: true
          zero_stage: 3
        distributed_type: DEEPSPEED
        dynamo_config:
          dynamo_backend: INDUCTOR
        mixed_precision: bf16
        num_machines: 1
        num_processes: 8
        use_cpu: false
        """,
    )
    told = stated(found)
    assert "accelerate:deepspeed_config" in str(told.pop("plan.keys"))
    assert told == {
        "plan.deepspeed": True,
        "plan.distributed": "zero3",
        "plan.offload": "optimizer",
        "plan.compile": True,
        "plan.bf16": True,
        "gpu.count": 8,
    }
    assert (lines(found)["plan.distributed"], lines(found)["plan.offload"], lines(found)["plan.compile"]) == (8, 5, 11)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("distributed_type: 'NO'\nmixed_precision: 'no'", {"plan.distributed": "none", "plan.fp16": None, "plan.bf16": None}),
        ("distributed_type: MULTI_GPU\nnum_processes: 4", {"plan.distributed": "ddp", "gpu.count": 4}),
        ("distributed_type: MULTI_CPU\nnum_processes: 4", {"plan.distributed": "ddp", "accelerator": "cpu", "gpu.count": None}),
        ("distributed_type: MEGATRON_LM\nnum_processes: -1", {"plan.distributed": "megatron", "gpu.count": None}),
        ("distributed_type: MEGATRON_LM\nmegatron_lm_config:\n  megatron_lm_tp_degree: 2\n  megatron_lm_pp_degree: 4",
         {"plan.tensor_parallel": 2, "plan.pipeline_parallel": 4}),
        ("distributed_type: FSDP\nfsdp_config:\n  fsdp_offload_params: true\n  fsdp_activation_checkpointing: true",
         {"plan.distributed": "fsdp", "plan.offload": "both", "plan.gradient_checkpointing": True}),
        ("distributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2", {"plan.distributed": "fsdp", "plan.fsdp_version": 2}),
        ("distributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 9", {"plan.distributed": NotUnderstood("ZeRO stage 9")}),
        ("distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json", {"plan.distributed": "zero1"}),
        ("distributed_type: DEEPSPEED", {"plan.deepspeed": True, "plan.distributed": None}),
        ("distributed_type: 'NO'\nmixed_precision: fp16\nuse_cpu: true", {"plan.fp16": True, "accelerator": "cpu"}),
        # accelerate launch starts these kinds on their GPUs, whatever use_cpu says.
        ("distributed_type: MULTI_GPU\nuse_cpu: true", {"plan.distributed": "ddp", "accelerator": None}),
        ("distributed_type: DEEPSPEED\nuse_cpu: true", {"plan.deepspeed": True, "accelerator": None}),
        ("distributed_type: MULTI_GPU\ndynamo_backend: 'NO'", {"plan.compile": None}),
        ("distributed_type: ${KIND}", {"plan.distributed": NotUnderstood("${KIND}")}),
    ],
)  # fmt: skip
def test_one_setting(tmp_path: Path, text: str, expected: dict[str, FactValue | None]) -> None:
    (tmp_path / "ds.json").write_text('{"zero_optimization": {"stage": 1}}')
    found = stated(collect(tmp_path, f"compute_environment: LOCAL_MACHINE\n{text}\n"))
    assert {name: found.get(name) for name in expected} == expected


@pytest.mark.parametrize("flag", ["false", "'false'", "False"])
def test_a_model_that_zero_3_does_not_divide_as_it_is_made(tmp_path: Path, flag: str) -> None:
    text = (
        f"compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config: {{zero_stage: 3, zero3_init_flag: {flag}}}\n"
    )
    assert stated(collect(tmp_path, text))["plan.zero_init"] is False


def test_the_layers_that_fsdp_is_told_to_wrap(tmp_path: Path) -> None:
    found = collect(
        tmp_path,
        """
        distributed_type: FSDP
        fsdp_config:
          fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
          fsdp_transformer_layer_cls_to_wrap: BartEncoderLayer,BartDecoderLayer
        """,
    )
    assert stated(found)["plan.fsdp_layers"] == ("BartEncoderLayer", "BartDecoderLayer")
    assert stated(found)["plan.fsdp_wrap"] == "named"
