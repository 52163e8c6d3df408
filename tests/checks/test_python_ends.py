"""Releases that a Python cannot import, although their metadata admits it."""

from __future__ import annotations

import pytest

from envdoctor.checks.python_ends import imports_that_end
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value


def told(python: str, packages: dict[str, str], **more: object) -> list[tuple[str, object, str]]:
    texts = {f"packages.{name}": text for name, text in packages.items()} | {"python": python}
    facts = [Fact(name, parse_value(name, text), Origin("test")) for name, text in texts.items()]
    facts += [Fact(name, value, Origin("test")) for name, value in more.items()]  # type: ignore[arg-type]
    return [(hit.headline, hit.pins, hit.advice) for hit in imports_that_end(Facts().with_facts(facts))]


@pytest.mark.parametrize(
    ("python", "package", "release", "pins", "advice"),
    [
        # Run with Python 3.11: 0.6.12 ends, 0.6.13 does not; hydra-core 1.0.7 and 1.2.0 end, 1.3.0 does not.
        ("3.11.4", "timm", "0.6.12", (("timm", ">=0.6.13"),), ""),
        ("3.12", "hydra-core", "1.0.7", (("hydra-core", ">=1.3.0"),), ""),
        # Run: with Python 3.12 setuptools 66.0.0 ends and 66.1.0 does not; with Python 3.13 fire 0.6.0 and 0.7.0.
        ("3.12.1", "setuptools", "66.0.0", (("setuptools", ">=66.1.0"),), ""),
        ("3.13", "fire", "0.6.0", (("fire", ">=0.7.0"),), ""),
        # No later release of it mends that.
        ("3.11", "fairseq", "0.12.2", (), "run it with Python 3.10"),
        (">=3.11", "fairseq", "0.12.2", (), "run it with Python 3.10"),
    ],
)
def test_a_later_release_or_an_older_python(python: str, package: str, release: str, pins: object, advice: str) -> None:
    plain = python.removesuffix(".*")
    assert told(python, {package: release}) == [(f"{package} {release} cannot be imported with Python {plain}", pins, advice)]


@pytest.mark.parametrize(
    ("python", "packages"),
    [
        ("3.10.12", {"timm": "0.6.12"}),
        ("3.11", {"timm": "0.6.13"}),
        ("3.12", {"setuptools": "66.1.0"}),
        ("3.12", {"fire": "0.6.0"}),
        ("3.11", {"timm": "0.5.4"}),
        (">=3.8", {"timm": "0.6.12"}),
        ("3.11", {"timm": ">=0.6"}),
        ("3.11", {"hydra-core": "1.3.2"}),
        ("3.11", {"no-such-package": "1.0"}),
    ],
)
def test_what_goes_on_is_let_be(python: str, packages: dict[str, str]) -> None:
    assert told(python, packages) == []


def test_what_nobody_loads_is_let_be() -> None:
    assert told("3.11", {"timm": "0.6.12"}, not_loaded=("timm",)) == []
    assert told("3.11", {"timm": "0.6.12"}, not_loaded=("fairseq",)) != []


def test_setuptools_in_a_complete_list_is_loaded_by_nobody() -> None:
    values = {"packages.setuptools": "65.7.0", "packages.timm": "0.6.12", "python": "3.12.1"}
    facts = Facts(closed=True).with_facts([Fact(name, parse_value(name, text), Origin("test")) for name, text in values.items()])
    assert [hit.edge for hit in imports_that_end(facts)] == ["timm"]
    named = Facts().with_facts([Fact(name, parse_value(name, text), Origin("test")) for name, text in values.items()])
    assert [hit.edge for hit in imports_that_end(named)] == ["setuptools", "timm"]
