"""A torch beside which transformers loads no pickled weights."""

from __future__ import annotations

import pytest

from envdoctor.checks.pickles_refused import pickles_refused
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value


def told(torch: str, transformers: str, *, closed: bool = False, **others: str) -> list[tuple[tuple[str, str], ...]]:
    texts = {
        "packages.torch": torch,
        "packages.transformers": transformers,
        **{name.replace("__", "."): text for name, text in others.items()},
    }
    facts = [Fact(name, parse_value(name, text), Origin("test")) for name, text in texts.items()]
    return [hit.pins for hit in pickles_refused(Facts(closed=closed).with_facts(facts))]


@pytest.mark.parametrize(("torch", "transformers"), [("2.5.1", "5.9.0"), ("2.5.1+cu121", "4.52.3")])
def test_both_ways_out_are_named(torch: str, transformers: str) -> None:
    assert told(torch, transformers) == [(("torch", ">=2.6"), ("transformers", "<4.52"))]


@pytest.mark.parametrize(("torch", "transformers"), [("2.6.0", "5.9.0"), ("2.5.1", "4.51.3"), (">=2.5", "5.9.0")])
def test_what_loads_them_or_may_is_let_be(torch: str, transformers: str) -> None:
    assert told(torch, transformers) == []


def test_where_the_format_is_stated_a_rule_decides() -> None:
    assert told("2.5.1", "5.9.0", model__weights_format="safetensors") == []


def test_an_environment_is_not_asked_what_it_might_load() -> None:
    assert told("2.5.1", "5.9.0", closed=True) == []
