"""What a plan asks for and nobody installed: only where absence is known, and only of who loads it."""

from __future__ import annotations

import pytest

from envdoctor.checks.asked_for import FRAMEWORK, PACKAGE, asked_for
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.records import replace

STACK = {"packages.torch": "2.5.0", "packages.transformers": "4.46.3", "packages.accelerate": "1.0.1", "packages.peft": "0.13.2"}


def situation(**plan: object) -> Facts:
    names = {**STACK, **{name.replace("__", "."): value for name, value in plan.items()}}
    return Facts({name: Fact(name, parse_value(name, value), Origin("freeze.txt")) for name, value in names.items()}, closed=True)


def missing(facts: Facts) -> dict[str, str]:
    return {hit.packages[0]: hit.rule for hit in asked_for(facts)}


@pytest.mark.parametrize(
    ("plan", "package"),
    [
        ({"plan__quant": "4bit"}, "bitsandbytes"),
        ({"plan__quant": "8bit", "plan__trainer": "transformers"}, "bitsandbytes"),
        ({"plan__optimizer": "paged_adamw_8bit"}, "bitsandbytes"),
        ({"plan__optimizer": "galore_adamw", "plan__trainer": "transformers"}, "galore-torch"),
        ({"plan__report_to": ["wandb"], "plan__trainer": "transformers"}, "wandb"),
        ({"plan__report_to": ["none", "mlflow"], "plan__trainer": "transformers"}, "mlflow"),
        ({"plan__report_to": ["tensorboard"], "plan__trainer": "transformers"}, "tensorboard"),
        ({"plan__deepspeed": True}, "deepspeed"),
        ({"plan__distributed": "zero3"}, "deepspeed"),
        ({"plan__liger": True, "plan__trainer": "transformers"}, "liger-kernel"),
        ({"plan__vllm": True, "plan__trainer": "trl", "packages__trl": "0.19.1"}, "vllm"),
        ({"plan__method": "lora", "plan__trainer": "transformers", "packages__peft": False}, "peft"),
    ],
)
def test_a_package_that_is_asked_for(plan: dict[str, object], package: str) -> None:
    assert missing(situation(**plan)) == {package: PACKAGE}
    there = {f"packages__{package}": "99.0"}
    assert missing(situation(**{**plan, **there})) == {}


@pytest.mark.parametrize(
    ("trainer", "package"),
    [("llamafactory", "llamafactory"), ("ms-swift", "ms-swift"), ("axolotl", "axolotl"), ("torchtune", "torchtune"), ("trl", "trl")],
)
def test_a_framework(trainer: str, package: str) -> None:
    assert missing(situation(plan__trainer=trainer)) == {package: FRAMEWORK}


@pytest.mark.parametrize(
    "plan",
    [
        {"plan__quant": "4bit", "plan__trainer": "torchtune", "packages__torchtune": "0.4.0"},
        {"plan__quant": "gptq"},
        {"plan__quant": "4bit", "model__type": "chatglm"},
        {"plan__optimizer": "adamw_torch"},
        {"plan__report_to": ["wandb"], "plan__trainer": "own"},
        {"plan__report_to": ["all"], "plan__trainer": "transformers"},
        {"plan__report_to": ["tensorboard"], "plan__trainer": "transformers", "packages__tensorboardx": "2.6"},
        {"plan__deepspeed": False},
        {"plan__vllm": True, "plan__trainer": "ms-swift", "packages__ms-swift": "3.6.0"},
        {"plan__trainer": "llamafactory", "packages__llmtuner": "0.6.0"},
    ],
)
def test_nothing_is_missing_of_what_nobody_loads(plan: dict[str, object]) -> None:
    assert missing(situation(**plan)) == {}


def test_what_is_not_listed_is_unknown_where_the_list_is_not_whole() -> None:
    facts = situation(plan__quant="4bit", plan__trainer="llamafactory")
    assert set(missing(facts)) == {"bitsandbytes", "llamafactory"}
    assert missing(replace(facts, closed=False)) == {}


def test_an_environment_without_torch_is_not_the_one_of_the_plan() -> None:
    facts = situation(plan__quant="4bit", plan__trainer="transformers")
    assert missing(facts.without("packages.torch")) == {}


def test_the_cure_is_the_newest_release_that_goes_with_the_rest() -> None:
    (hit,) = asked_for(situation(plan__vllm=True, plan__trainer="trl", packages__trl="0.19.1", packages__torch="2.5.1"))
    assert hit.pins == (("vllm", "==0.7.0"),)
