"""The remedies of an installed stack come back as they were found, and are forgotten when anything that they follow from is another."""

from __future__ import annotations

import json
from pathlib import Path

from envdoctor.engine.diagnosis import Because, Finding
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.records import replace
from envdoctor.remedies.kept import keep, key, recall
from envdoctor.remedies.remedy import Change, Move, Remedy
from envdoctor.rules.rulebook import load_rulebook

REMEDY = Remedy(
    {"peft": "==0.17.1"},
    ("peft-torch-distributed-tensor",),
    ("chatglm-tokenizer-pad-padding-side",),
    "metadata",
    (Change("peft", "0.21.2", "==0.17.1", ("peft-torch-distributed-tensor",), "the nearest one"),),
    ("xformers",),
    (Move("tokenizers", "0.20.3", ""),),
    "what the releases declare agrees",
    "",
    "https://download.pytorch.org/whl/cpu",
    3,
    40,
    in_code=("chatglm-tokenizer-pad-padding-side",),
)
BOOK = load_rulebook()
FACTS = Facts({"packages.peft": Fact("packages.peft", exact("0.21.2"), Origin("installed in venv"))}, closed=True)
GOAL = Finding(BOOK.rules[0], "matched", "error", (Because("packages.peft", "0.21.2", ">=0.18", "installed in venv"),))


def test_what_was_kept_comes_back_the_same(tmp_path: Path) -> None:
    keep(tmp_path, "a", [REMEDY])
    assert recall(tmp_path, "a") == (REMEDY,)
    assert recall(tmp_path, "b") is None


def test_a_row_of_another_kind_is_none(tmp_path: Path) -> None:
    keep(tmp_path, "a", [REMEDY])
    (place,) = tmp_path.glob("verdict-*")
    kept = json.loads(place.read_text())
    for name in kept["remedies"][0]:
        place.write_text(json.dumps({**kept, "remedies": [{**kept["remedies"][0], name: {"x": 1} if name != "pins" else [1]}]}))
        assert recall(tmp_path, "a") is None, name


def test_another_fact_goal_rule_or_closeness_is_another_question() -> None:
    peft = FACTS["packages.peft"]
    asked = [
        key(FACTS, [GOAL], "sha256:1"),
        key(FACTS, [GOAL], "sha256:2"),
        key(FACTS, [], "sha256:1"),
        key(FACTS, [replace(GOAL, pins=(("peft", "==0.17.1"),))], "sha256:1"),
        key(FACTS, [replace(GOAL, rule=BOOK.rules[1])], "sha256:1"),
        key(replace(FACTS, closed=False), [GOAL], "sha256:1"),
        key(FACTS.with_facts([replace(peft, value=exact("0.21.1"))]), [GOAL], "sha256:1"),
        key(FACTS.with_facts([replace(peft, origin=Origin("stated"))]), [GOAL], "sha256:1"),
        key(FACTS.with_facts([Fact("plan.method", "lora", Origin("plan", "a.yaml", 1))]), [GOAL], "sha256:1"),
    ]
    assert len(set(asked)) == len(asked)
    assert key(FACTS, [GOAL], "sha256:1") == asked[0]
