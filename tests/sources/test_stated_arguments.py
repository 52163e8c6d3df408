"""Settings that a facts file states by the names of trainer arguments, and a run that only quantizes."""

from __future__ import annotations

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


def test_a_quantization_trains_nothing() -> None:
    assert stated('[plan]\nmethod = "quantize"\n') == {"plan.method": "inference"}


def test_a_release_of_rocm_is_none_of_cuda() -> None:
    collected = collect_facts_text(b'cuda = "ROCm 7.12"\n', "facts.toml")
    assert [str(fact.value) for fact in collected.facts if fact.name == "accelerator"] == ["rocm"]
    assert [skip.what for skip in collected.skips] == ["cuda = ROCm 7.12"]
