"""What is kept of conditions from one situation to the next is what they come to: compared with the functions themselves."""

from __future__ import annotations

import random
from functools import lru_cache

import pytest

from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Outcomes, diagnose
from envdoctor.engine.likelihood import speaks, weigh
from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.values import parse_value
from envdoctor.remedies.search import Problem, find_remedy
from envdoctor.rules.conditions import Condition, judged
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import release_texts
from tests.examples import examples

PACKAGES = ("torch", "transformers", "peft", "accelerate", "numpy", "bitsandbytes", "deepspeed", "trl", "datasets", "tokenizers")
VALUES: dict[str, tuple[object, ...]] = {
    "plan.method": ("lora", "qlora", "full", "dpo"),
    "plan.fp16": (True, False),
    "plan.bf16": (True, False),
    "plan.batch_size": (1, 2, True),
    "plan.quant": ("4bit", "none", "gptq", "some day"),
    "plan.attn": ("sdpa", "eager", "flash_attention_2"),
    "plan.distributed": ("none", "zero3"),
    "model.type": ("glm", "llama", "chatglm"),
    "model.dtype": ("float16", "bfloat16"),
    "gpu.compute_capability": ("7.5", "9.0"),
    "python": ("3.10.12", "3.12"),
    "os": ("linux", "windows"),
}


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    return tuple(load_rulebook().rules)


def situation(dice: random.Random) -> Facts:
    facts: dict[str, FactValue] = {}
    for package in dice.sample(PACKAGES, dice.randint(0, 6)):
        release = dice.choice(release_texts(package))
        text = dice.choice(("{}", "=={}", ">={}", "<{}", "")).format(release)
        value: object = False if dice.random() < 0.1 else text
        facts[f"packages.{package}"] = parse_value(f"packages.{package}", value)
    for name in dice.sample(sorted(VALUES), dice.randint(0, 5)):
        facts[name] = parse_value(name, dice.choice(VALUES[name]))
    found = Facts({name: Fact(name, value, Origin(f"line {dice.randint(1, 9)}")) for name, value in facts.items()}, dice.random() < 0.3)
    return derive(found)


def test_every_answer_is_that_of_the_function_of_its_name() -> None:
    kept = Outcomes(release_texts)
    dice = random.Random(6)
    told = 0
    for _ in range(100):
        facts = situation(dice)
        view = kept.of(facts)
        for rule in dice.sample(rules(), 120):
            condition: Condition | None = rule.condition
            if condition is None:
                continue
            outcome, lacking = judged(condition, facts, release_texts)
            assert view.judged(condition) == (outcome, lacking), rule.id
            if outcome is None:
                said = speaks(condition, facts, release_texts, lacking)
                assert view.speaks(condition, lacking) is said, rule.id
                if said:
                    told += 1
                    assert view.weigh(condition, lacking) == weigh(condition, facts, release_texts, lacking), rule.id
    assert told > 100


@pytest.mark.hypothesis  # its dice are its own, but as with any law there are more examples where there is more time
def test_a_situation_is_judged_alike_whatever_was_judged_before() -> None:
    kept = Outcomes(release_texts)
    dice = random.Random(7)
    found = 0
    for _ in range(examples(150)):
        facts = situation(dice)
        alone = diagnose(facts, rules(), release_texts)
        assert diagnose(facts, rules(), release_texts, outcomes=kept) == alone
        remedies = [find_remedy(Problem(facts, rules(), (), release_texts, outcomes), alone.findings) for outcomes in (None, kept)]
        assert remedies[0] == remedies[1]
        found += len(alone.findings)
    assert found > examples(100)


def test_values_that_python_takes_for_one_are_told_apart() -> None:
    kept = Outcomes(release_texts)
    for value in (True, 1, 1.0, False, 0):
        facts = Facts({"plan.batch_size": Fact("plan.batch_size", value, Origin("x"))})
        for rule in rules():
            if rule.condition is not None:
                assert kept.of(facts).judged(rule.condition) == judged(rule.condition, facts, release_texts)
