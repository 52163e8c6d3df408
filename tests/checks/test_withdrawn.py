"""Releases that their maintainers took back."""

from __future__ import annotations

import pytest

from envdoctor.checks.withdrawn import withdrawn
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import parse_package


def _said(package: str, version: str) -> list[tuple[str, str]]:
    name = f"packages.{package}"
    hits = withdrawn(Facts({name: Fact(name, parse_package(version), Origin("stated"))}))
    return [(hit.headline, hit.detail) for hit in hits]


def test_a_pin_on_a_yanked_release_is_told_with_the_reason_that_the_index_gives() -> None:
    assert _said("transformers", "==4.57.0") == [
        ("transformers 4.57.0 was yanked by its maintainers", 'with the reason "Error in the setup causing installation issues"')
    ]


def test_where_no_reason_was_given_none_is_made_up() -> None:
    assert _said("transformers", "==4.52.0") == [("transformers 4.52.0 was yanked by its maintainers", "with no reason given")]


@pytest.mark.parametrize("version", ["==4.57.1", ">=4.57.0", "==4.57.0+cu118", "==4.5", "==9.9.9", "<4.57.1,>=4.57.0"])
def test_other_releases_ranges_and_builds_of_ones_own_are_let_be(version: str) -> None:
    assert _said("transformers", version) == []
