"""Settings that a facts file states by the names of trainer arguments, and a run that only quantizes."""

from __future__ import annotations

import pytest

from envdoctor.facts.fact import FactValue
from envdoctor.sources.stated.statements import collect_facts_text


def stated(text: str) -> dict[str, FactValue]:
    return {fact.name: fact.value for fact in collect_facts_text(text.encode(), "facts.toml").facts}


def test_arguments_of_trainers_are_facts_of_the_plan() -> None:
    text = '[plan]\ntorch_compile = true\nattn_implementation = "sdpa"\nfsdp = "full_shard"\n'
    assert stated(text) == {"plan.compile": True, "plan.attn": "sdpa", "plan.distributed": "fsdp"}


def test_fsdp_may_be_a_switch() -> None:
    assert stated("[plan]\nfsdp = true\n") == {"plan.distributed": "fsdp"}
    assert stated("[plan]\nfsdp = false\n") == {"plan.distributed": "none"}


def test_a_stage_of_deepspeed_says_how_the_work_is_shared() -> None:
    assert stated('[plan]\ndeepspeed = "zero3"\n') == {"plan.distributed": "zero3"}
    assert stated("[plan]\ndeepspeed = 2\n") == {"plan.distributed": "zero2"}
    assert stated("[plan]\ndeepspeed = true\n") == {"plan.deepspeed": True}


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ('precision = "bf16"', {"plan.bf16": True}),
        ('precision = "bf16-mixed"', {"plan.bf16": True}),
        ('precision = "16-true"', {"plan.load_dtype": "float16"}),
        ('precision = "bf16-true"', {"plan.load_dtype": "bfloat16"}),
        ('precision = "bf16-true"\nload_dtype = "float32"', {"plan.load_dtype": "float32"}),
        ('mixed_precision = "fp16"', {"plan.fp16": True}),
        ('precision = "fp32"', {"plan.bf16": False}),
        ('precision = "bf16"\nfp16 = true\nbf16 = false', {"plan.fp16": True, "plan.bf16": False}),
        ('method = "inference"\nprecision = "bf16"', {"plan.method": "inference", "plan.load_dtype": "bfloat16"}),
        ('engine = "deepspeed"\nzero_stage = 3', {"plan.distributed": "zero3"}),
        ('engine = "deepspeed zero2"', {"plan.distributed": "zero2"}),
        ('engine = "fsdp"', {"plan.distributed": "fsdp"}),
        ('quantization = "gptq-4bit"', {"plan.quant": "gptq"}),
        ('quantization = "awq-4bit"', {"plan.quant": "awq"}),
        ('quantization = "bnb-4bit"', {"plan.quant": "4bit"}),
        ('quantization = "bnb.nf4"', {"plan.quant": "4bit"}),
        ("quantization_bit = 8", {"plan.quant": "8bit"}),
        ('bits = 4\nquant = "gptq"', {"plan.quant": "gptq"}),
        ("micro_batch_size = 2\ncutoff_len = 512\nlora_rank = 8", {"plan.batch_size": 2, "plan.seq_len": 512, "plan.lora_r": 8}),
        ("micro_batch_size = 2\nbatch_size = 4", {"plan.batch_size": 4}),
    ],
)
def test_what_people_call_a_setting_is_the_fact(words: str, facts: dict[str, FactValue]) -> None:
    assert stated(f"[plan]\n{words}\n") == facts


def test_a_quantization_trains_nothing() -> None:
    assert stated('[plan]\nmethod = "quantize"\n') == {"plan.method": "inference"}


def test_a_release_of_rocm_is_none_of_cuda() -> None:
    collected = collect_facts_text(b'cuda = "ROCm 7.12"\n', "facts.toml")
    assert [str(fact.value) for fact in collected.facts if fact.name == "accelerator"] == ["rocm"]
    assert [skip.what for skip in collected.skips] == ["cuda = ROCm 7.12"]
