"""Packages that were compiled for numpy 1, beside numpy 2."""

from __future__ import annotations

import pytest

from envdoctor.checks.built_for_numpy import built_for_numpy
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.world.built_for_numpy import built_for_numpy as table
from envdoctor.world.releases import release_texts


def told(*unused: str, **packages: str) -> list[tuple[str, tuple[tuple[str, str], ...], str]]:
    facts = [Fact(f"packages.{name}", parse_value(f"packages.{name}", text), Origin("test")) for name, text in packages.items()]
    idle = [Fact(NOT_LOADED, unused, Origin("train.py"))] if unused else []
    return [(hit.headline, hit.pins, hit.witness) for hit in built_for_numpy(Facts().with_facts([*facts, *idle]))]


def test_what_fits_numpy_1_alone_is_told_with_both_ways_out() -> None:
    assert told(numpy="2.0.2", spacy="3.7.5") == [
        ("spacy 3.7.5 was compiled for numpy 1, not for 2.0.2", (("spacy", ">=3.8.2"), ("numpy", "<2")), "import spacy")
    ]


@pytest.mark.parametrize(
    "packages",
    [
        {"numpy": "1.26.4", "spacy": "3.7.5"},
        {"numpy": "2.0.2", "spacy": "3.8.2"},
        {"numpy": ">=2", "spacy": "3.7.5"},
        {"numpy": "2.0.2", "spacy": "<3.8"},
        {"spacy": "3.7.5"},
        # Only a source archive: it is compiled against the numpy that its builder takes.
        {"numpy": "2.0.2", "hdbscan": "0.8.33"},
    ],
)
def test_what_fits_or_may_fit_is_let_be(packages: dict[str, str]) -> None:
    assert told(**packages) == []


def test_what_a_script_does_not_load_is_let_be() -> None:
    assert told("spacy", numpy="2.0.2", spacy="3.7.5") == []


def test_the_releases_of_the_table_exist() -> None:
    for name, row in table().items():
        assert {row.first, row.last} <= set(release_texts(name)), name
