"""What an undecided rule says of a situation, by how few runs have what it is about."""

from __future__ import annotations

import pytest

from envdoctor.engine.likelihood import speaks, weigh
from envdoctor.rules.conditions import judged, parse_condition
from envdoctor.world.releases import release_texts
from tests.remedies.universe import stated


@pytest.mark.parametrize(
    ("package", "version", "says"),
    [
        ("deepspeed", "0.15.4", True),
        ("trl", "0.12.0", True),
        ("torch", "2.5.0", False),  # every run of transformers has it
        ("transformers", "4.46.0", False),
        ("pandas", "2.2.3", False),  # many other packages bring it
        ("scipy", "1.14.1", False),
    ],
)
def test_that_a_package_is_there_says_something_where_few_runs_have_it(package: str, version: str, says: bool) -> None:
    condition = parse_condition({"packages": [package], "plan": {"fp16": True}})
    facts = stated({f"packages.{package}": version})
    outcome, lacking = judged(condition, facts, release_texts)
    assert (outcome, lacking) == (None, ("plan.fp16",))
    assert speaks(condition, facts, release_texts, lacking) is says


@pytest.mark.parametrize(
    ("condition", "beside", "told"),
    [
        ({"gpu": {"count": ">1"}}, {}, True),
        ({"accelerator": "mps"}, {}, False),
        ({"accelerator": "mps"}, {"plan.code_uses": ["torch.backends.mps.is_available"]}, True),
        ({"plan": {"distributed": "dp"}}, {}, False),
        ({"plan": {"distributed": "dp"}}, {"gpu.count": 2}, True),
    ],
)
def test_what_no_file_says_of_the_machine_leaves_a_rule_open(condition: dict[str, object], beside: dict[str, object], told: bool) -> None:
    parsed = parse_condition({"packages": ["torch ==2.8.0"], **condition})
    facts = stated({"packages.torch": "==2.8.0", **beside})
    outcome, lacking = judged(parsed, facts, release_texts)
    weight = weigh(parsed, facts, release_texts, lacking)
    assert outcome is None
    assert (weight.likely and not weight.blind) is told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("huihui-ai/Qwen3-8B-abliterated", True),
        ("somebody/Hermes-3-Qwen3-8B", True),
        ("somebody/Qwen3-Embedding-0.6B", True),  # copied under its own name
        ("bartowski/Qwen3-8B-GGUF", False),  # nothing that transformers loads
        ("somebody/gemma-2-9b-it-SimPO", False),
        ("somebody/a-model", False),
    ],
)
def test_a_model_that_is_called_after_another_one_most_likely_is_one(name: str, told: bool) -> None:
    parsed = parse_condition({"packages": ["transformers <4.51.0"], "model": {"type": "qwen3"}})
    facts = stated({"packages.transformers": "==4.50.0", "model.id": name})
    outcome, lacking = judged(parsed, facts, release_texts)
    assert (outcome, lacking) == (None, ("model.type",))
    assert (speaks(parsed, facts, release_texts, lacking) and weigh(parsed, facts, release_texts, lacking).likely) is told


@pytest.mark.parametrize(
    ("torch", "more", "told"),
    [("==2.2.0", {}, True), ("==2.2.0+cpu", {}, False), ("==2.0.1", {}, False), ("==2.2.0", {"os": "windows"}, False)],
)
def test_a_torch_without_a_label_has_the_cuda_of_the_package_index(torch: str, more: dict[str, object], told: bool) -> None:
    parsed = parse_condition({"packages": ["onnxruntime-gpu <1.19"], "cuda": ">=12, <13"})
    facts = stated({"packages.onnxruntime-gpu": "==1.17.1", "packages.torch": torch, **more})
    outcome, lacking = judged(parsed, facts, release_texts)
    weight = weigh(parsed, facts, release_texts, lacking)
    assert outcome is None
    assert (weight.likely and not weight.blind) is told
