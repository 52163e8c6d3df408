"""Which rules have a say comes back as it was found, says the same, and is forgotten when anything that it follows from is another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.checks.hit import Hit
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Sifted, diagnose
from envdoctor.engine.kept import keep, key, recall
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.records import replace
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import release_texts

BOOK = load_rulebook()
SIFTED = Sifted(("sdpa", "tiktoken"), (("plan.attn", 3), ("gpu.capability", 1)))
STACKS = (
    {"packages.torch": "2.5.0", "packages.transformers": "4.46.3", "model.type": "chatglm", "plan.batch_size": 4},
    {"packages.torch": "2.13.0", "packages.transformers": "5.23.0", "packages.peft": "0.17.1", "packages.numpy": "2.4.6"},
    {"packages.transformers": "4.55.3", "packages.huggingface-hub": "0.33.5", "python": "3.11.7"},
)


def installed(stack: dict[str, object]) -> Facts:
    return Facts({name: Fact(name, parse_value(name, raw), Origin("installed in venv")) for name, raw in stack.items()}, closed=True)


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: next(iter(stack.values())))
def test_the_rules_that_have_a_say_say_all_that_all_rules_say(stack: dict[str, object]) -> None:
    facts = derive(installed(stack))
    whole = diagnose(facts, BOOK.rules, release_texts)
    assert len(whole.sifted.telling) < 60
    again = diagnose(facts, BOOK.rules, release_texts, sifted=whole.sifted)
    assert again == whole


def test_what_was_kept_comes_back_the_same(tmp_path: Path) -> None:
    keep(tmp_path, "a", SIFTED)
    assert recall(tmp_path, "a") == SIFTED
    assert recall(tmp_path, "b") is None


def test_what_is_damaged_is_forgotten(tmp_path: Path) -> None:
    keep(tmp_path, "a", SIFTED)
    (place,) = tmp_path.iterdir()
    kept = json.loads(place.read_text())
    damages: list[dict[str, object]] = [{"telling": "sdpa"}, {"telling": [1]}, {"waiting": [["a"]]}, {"waiting": [["a", "3"]]}]
    for damage in damages:
        place.write_text(json.dumps({**kept, **damage}))
        assert recall(tmp_path, "a") is None, damage


def test_another_fact_rule_or_suspicion_is_another_question() -> None:
    facts = installed(STACKS[0])
    torch = facts["packages.torch"]
    asked = [
        key(facts, [], "sha256:1", 9),
        key(facts, [], "sha256:2", 9),
        key(facts, [], "sha256:1", 8),
        key(facts, [Hit("import-breaks", None)], "sha256:1", 9),
        key(facts, [Hit("import-breaks", True)], "sha256:1", 9),
        key(replace(facts, closed=False), [], "sha256:1", 9),
        key(facts.with_facts([replace(torch, value=parse_value("packages.torch", "2.5.1"))]), [], "sha256:1", 9),
        key(facts.with_facts([replace(torch, origin=Origin("stated"))]), [], "sha256:1", 9),
    ]
    assert len(set(asked)) == len(asked)
    assert key(facts, [], "sha256:1", 9) == asked[0]
