"""Suspicions that what the stated releases themselves require rules out: told last."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envdoctor.engine.diagnosis import Finding, diagnose
from envdoctor.rules.rule import Rule
from envdoctor.world.releases import release_texts
from tests.remedies.universe import rule, stated

# transformers 4.42.0 requires tokenizers<0.20,>=0.19 and huggingface-hub<1.0; of torch it names nothing.
WINDOW = rule("window", {"packages": ["transformers >=4.40.0, <4.45.0", "tokenizers <0.19 || >=0.20"]})
HUB = rule("hub", {"packages": ["transformers >=4.40.0, <4.45.0", "huggingface-hub >=1.0"]})
TORCH = rule("torch", {"packages": ["transformers <4.50", "torch >=2.0"]})


def told(facts: Mapping[str, object], *pages: Rule, closed: bool = False) -> tuple[Finding, ...]:
    return diagnose(stated(facts, closed=closed), pages, release_texts).findings


def test_what_an_installer_averts_is_told_last() -> None:
    found = told({"packages.transformers": "4.42.0"}, HUB, TORCH, WINDOW)
    assert [(one.rule.id, one.weight.likely, one.weight.averted) for one in found] == [
        ("torch", True, False),
        ("hub", True, True),
        ("window", True, True),
    ]


def test_without_a_release_that_requires_it_nothing_is_averted() -> None:
    bare = rule("bare", {"packages": ["torch >=2.0", "numpy >=2"]})
    assert [one.weight.averted for one in told({"packages.torch": "2.1.0"}, bare)] == [False]


@pytest.mark.parametrize("tokenizers", ["0.15.2", "0.20.0"])
def test_what_is_stated_all_the_same_is_decided(tokenizers: str) -> None:
    (found,) = told({"packages.transformers": "4.42.0", "packages.tokenizers": tokenizers}, WINDOW)
    assert (found.status, found.weight.averted) == ("matched", False)


def test_it_takes_the_place_of_no_other_guess() -> None:
    guesses = [rule(f"torch-{place}", {"packages": ["transformers <4.50", "torch >=2.0"]}) for place in range(3)]
    assert [one.rule.id for one in told({"packages.transformers": "4.42.0"}, *guesses, WINDOW)] == ["torch-0", "torch-1", "torch-2"]
