"""A release that was not read, between two of which one breaks: its own declaration decides on which side it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envdoctor.atlas import leaning
from envdoctor.atlas.stack import Stack
from envdoctor.checks.atlas import hits_of
from envdoctor.checks.hit import Hit
from envdoctor.world.dependencies import Dependency
from tests.atlas.wheels import atlas_of

PACKAGES = {
    "acme": {
        "1.0": {"acme/__init__.py": "class Old: pass\n"},
        "2.0": {"acme/__init__.py": "class New: pass\n"},
    },
    "patched": {
        "1.26.4": {"patched/__init__.py": "nan = NaN = float('nan')\n"},
        "2.0.2": {"patched/__init__.py": "nan = float('nan')\n"},
    },
    "array": {"1.0": {"array/__init__.py": "import patched\ndef fill(value=patched.NaN): pass\n"}},
    "user": {
        "1.0.9": {"user/__init__.py": "from acme import Old\n"},
        "1.1.9": {"user/__init__.py": "from acme import New\n"},
    },
    "parted": {
        "1.0.9": {"parted/__init__.py": "", "parted/agents.py": "import os\n"},
        "1.1.9": {"parted/__init__.py": "", "parted/agents.py": "from acme import New\n"},
    },
    "loose": {
        "1.0.9": {"loose/__init__.py": "import acme\n"},
        "1.1.9": {"loose/__init__.py": "import acme\ndef late(): from acme import New\n"},
    },
}


@pytest.fixture(scope="module", autouse=True)
def _atlas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with atlas_of(tmp_path_factory.mktemp("between"), PACKAGES):
        yield


def _told(monkeypatch: pytest.MonkeyPatch, specifier: str, **releases: str) -> tuple[Hit, ...]:
    """What is told of releases that all require this of acme."""
    wanted = (Dependency("acme", specifier),) if specifier else ()
    monkeypatch.setattr(leaning, "dependencies", lambda package, release: wanted if package != "acme" else ())
    from envdoctor.checks import breaking_pairs

    breaking_pairs.remembered_hits.cache_clear()
    return hits_of(Stack(releases), ())


def test_what_it_declares_says_on_which_side_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    (hit,) = _told(monkeypatch, ">=2.0", user="1.1.2", acme="1.0")
    assert (hit.rule, hit.edge, hit.pins) == ("import-breaks", "user:acme.New", (("acme", ">=2.0"),))
    assert "user 1.1.2 was judged by the releases beside it, and requires acme>=2.0" in hit.detail


@pytest.mark.parametrize(
    ("specifier", "user", "acme"), [(">=1.0", "1.1.2", "1.0"), ("", "1.1.2", "1.0"), (">=1.0", "1.1.2", "2.0"), (">=2.0", "1.1.2", "2.0")]
)
def test_without_a_declaration_against_it_nothing_is_told(monkeypatch: pytest.MonkeyPatch, specifier: str, user: str, acme: str) -> None:
    assert _told(monkeypatch, specifier, user=user, acme=acme) == ()


@pytest.mark.parametrize(
    ("patched", "told"), [("2.0.0", ["array:patched.NaN"]), ("2.0.2", ["array:patched.NaN"]), ("1.26.9", []), ("1.27", [])]
)
def test_a_release_of_a_minor_that_was_read_offers_what_that_one_does(
    monkeypatch: pytest.MonkeyPatch, patched: str, told: list[str]
) -> None:
    assert [hit.edge for hit in _told(monkeypatch, "", array="1.0", patched=patched)] == told


def test_before_the_first_that_was_read_one_of_its_minor_stands_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (hit,) = _told(monkeypatch, "<2.0", user="1.0.3", acme="2.0")
    assert (hit.edge, hit.pins) == ("user:acme.Old", (("acme", "<2.0"),))
    assert _told(monkeypatch, "<2.0", user="0.9", acme="2.0") == ()


def test_where_neither_side_breaks_an_unmet_declaration_is_no_break(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _told(monkeypatch, ">=2.0", loose="1.1.2", acme="1.0") == ()


def test_a_part_of_it_is_reached_where_both_releases_beside_it_reach_it() -> None:
    """langchain 1.3.15, whose 1.3.18 takes a name of langchain-core that 1.2.18 does not ask for, is imported."""
    parts = (("parted", "parted:agents"),)
    assert [hit.edge for hit in hits_of(Stack({"parted": "1.1.9", "acme": "1.0"}), parts)] == ["parted:acme.New"]
    assert hits_of(Stack({"parted": "1.1.2", "acme": "1.0"}), parts) == ()
