"""Uses that somebody states by hand, against what the stated release has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.checks import stated_uses as checked
from envdoctor.checks.stated_uses import stated_uses
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.versions import exact
from tests.atlas.test_atlas import LIB
from tests.atlas.wheels import atlas_of


@pytest.fixture(autouse=True)
def atlas(tmp_path: Path) -> Iterator[None]:
    with atlas_of(tmp_path, {"acme": LIB}):
        for kept in (checked._owner, checked._missing):
            kept.cache_clear()
        yield
    for kept in (checked._owner, checked._missing):
        kept.cache_clear()


def told(release: str, *uses: str, places: tuple[Origin, ...] = ()) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    facts = [Fact(CODE_USES, uses, Origin("--set"), places=places), Fact("packages.acme", exact(release), Origin("--set"))]
    return [(hit.detail, hit.pins) for hit in stated_uses(Facts({fact.name: fact for fact in facts}))]


def test_a_name_and_an_argument_that_the_release_lacks_are_told() -> None:
    assert told("2.0", "acme.Old", "acme.Kept(a, b=1)") == [
        ("uses acme.Old: gone since 2.0 (acme 2.0)", (("acme", "<2.0"),)),
        ("calls acme.Kept(b): gone since 2.0 (acme 2.0)", (("acme", "<2.0"),)),
    ]
    assert told("2.0", "acme.Old(b=1)") == [("uses acme.Old: gone since 2.0 (acme 2.0)", (("acme", "<2.0"),))]
    assert told("1.1", "acme.Kept(c)") == [("calls acme.Kept(c): there from 2.0 on (acme 1.1)", (("acme", ">=2.0"),))]


@pytest.mark.parametrize(
    "use", ["acme.Old", "acme.Kept(b)", "acme", "acme.*", "acme.Nothing", "other.Old", "?.Old", "def acme.Old", "env:A=1"]
)
def test_what_is_there_or_may_be_is_not(use: str) -> None:
    assert told("1.1", use) == []


def test_what_a_script_shows_is_left_to_its_reader() -> None:
    assert told("2.0", "acme.Old", places=(Origin("train.py", "train.py", 1),)) == []
