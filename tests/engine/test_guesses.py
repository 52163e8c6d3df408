"""Rules that wait for more than one thing, where a file leaves packages open and an installer would fill some of them in."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.engine.diagnosis import Finding, diagnose
from envdoctor.engine.likely_install import taken
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.records import replace
from envdoctor.rules.rule import Rule
from envdoctor.world.releases import known_until, release_texts
from tests.remedies.universe import rule


def found(facts: Mapping[str, object], page: Rule) -> tuple[Finding, ...]:
    """What is found where a requirements file states these facts, with what an installer took on a day in 2024."""
    said = {name: Fact(name, parse_value(name, raw), Origin("a file", "requirements.txt", 1)) for name, raw in facts.items()}
    with known_until("2024-06-15"):
        whole = taken(Facts(said))
        return diagnose(Facts(said), [page], release_texts, taken=whole).findings


def test_a_package_that_nothing_brings_is_waited_for_as_if_nothing_were_taken() -> None:
    page = rule("flash", {"packages": ["transformers >=4.40, <4.45", "flash-attn >=2.5"]})
    (one,) = found({"packages.transformers": "4.41.2", "plan.attn": "flash_attention_2"}, page)
    assert (one.status, one.missing, one.detail) == ("possible", ("packages.flash-attn",), "")


def test_a_rule_that_waits_for_the_plan_too_names_the_release_that_it_is_about() -> None:
    page = rule("tokenizers", {"packages": ["transformers >=4.40, <4.45", "tokenizers >=0.19"], "plan": {"fp16": True}})
    (one,) = found({"packages.transformers": "4.41.2"}, page)
    assert (one.status, one.newest) == ("possible", True)
    assert one.detail == "left open: tokenizers 0.19.1 (taken for transformers on 2024-06-15)"
    assert [(reason.fact, str(reason.value)) for reason in one.because] == [
        ("packages.transformers", "4.41.2"),
        ("packages.tokenizers", "0.19.1"),
    ]


def test_a_note_is_not_told_of_what_an_installer_would_take() -> None:
    condition = {"packages": ["transformers >=4.40, <4.45", "tokenizers >=0.19"], "plan": {"fp16": True}}
    assert found({"packages.transformers": "4.41.2"}, replace(rule("slow", condition), severity="note")) == ()


def test_a_guess_does_not_stand_on_another_guess() -> None:
    page = rule("both", {"packages": ["transformers >=4.40, <4.45", "tokenizers >=0.19", "flash-attn >=2.5"]})
    assert found({"packages.transformers": "4.41.2", "plan.attn": "flash_attention_2"}, page) == ()
