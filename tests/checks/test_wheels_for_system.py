"""Releases that have wheels for Linux and none for the stated system."""

from __future__ import annotations

import pytest

from envdoctor.checks.wheels_for_system import wheels_for_system
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value


def told(system: str, name: str, text: str, **more: object) -> list[tuple[str, object]]:
    values = {f"packages.{name}": text, "os": system, **more}
    facts = Facts().with_facts(Fact(one, parse_value(one, value), Origin("test")) for one, value in values.items())
    return [(hit.headline, hit.pins) for hit in wheels_for_system(facts)]


@pytest.mark.parametrize(
    ("system", "name", "text", "headline", "pin"),
    [
        ("windows", "uvloop", "==0.17.0", "uvloop 0.17.0 has no wheel for Windows: its source refuses it", ""),
        ("windows", "uvloop", ">=0.15", "uvloop 0.23.0 has no wheel for Windows: its source refuses it", ""),
        ("windows", "nvidia-nccl-cu12", "==2.18.1", "nvidia-nccl-cu12 2.18.1 has no wheel for Windows", ""),
        ("macos", "tensorflow-io", "==0.23.0", None, ""),
        ("windows", "tensorflow-text", "==2.13.0", "tensorflow-text 2.13.0 has no wheel for Windows", "<=2.10.0"),
        ("macos", "nvidia-nccl-cu11", "==2.14.3", "nvidia-nccl-cu11 2.14.3 has no wheel for macOS", ""),
        ("windows", "rasterio", "==1.2.10", "rasterio 1.2.10 has no wheel for Windows: it is compiled", ">=1.3"),
        ("linux", "uvloop", "==0.17.0", None, ""),
        # A system of which the index knows nothing; a package whose Windows builds are on another index; one with wheels for both.
        ("freebsd", "uvloop", "==0.17.0", None, ""),
        ("windows", "torch", "==1.4.0", None, ""),
        ("windows", "xformers", "==0.0.29", None, ""),
        ("windows", "numpy", "==1.26.4", None, ""),
        ("windows", "tensorflow-text", ">=2.8", None, ""),
    ],
)
def test_a_release_without_a_wheel_for_the_system_is_told_whatever_the_python(
    system: str, name: str, text: str, headline: str | None, pin: str
) -> None:
    found = told(system, name, text)
    assert [one for one, _ in found] == ([headline] if headline else [])
    assert all(pin in str(pins) for _, pins in found)


def test_what_is_there_and_what_a_stated_python_shows_is_not_told_again() -> None:
    assert told("windows", "uvloop", "==0.17.0", present=("uvloop",)) == []
    assert told("windows", "tensorflow-text", "==2.13.0", python="3.10") == []
