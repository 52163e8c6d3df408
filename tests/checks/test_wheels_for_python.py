"""Releases that come as wheels alone, under a Python for which there is none."""

from __future__ import annotations

import pytest

from envdoctor.checks.wheels_for_python import wheels_for_python
from envdoctor.facts.fact import Fact, Facts, FactValue, Origin
from envdoctor.facts.values import parse_value
from envdoctor.world.wheel_pythons import wheels_of


def told(python: str, system: str, packages: dict[str, str], *, source: str = "test", closed: bool = False) -> list[tuple[str, object]]:
    texts = {f"packages.{name}": text for name, text in packages.items()} | {"python": python}
    facts = [Fact(name, parse_value(name, text), Origin(source)) for name, text in texts.items()]
    facts += [Fact("os", system, Origin("test"))] if system else []
    return [(hit.headline, hit.pins) for hit in wheels_for_python(Facts(closed=closed).with_facts(facts))]


@pytest.mark.parametrize(
    ("python", "system", "package", "release", "headline", "pin"),
    [
        ("3.12", "linux", "tensorflow", "2.11.0", "tensorflow 2.11.0 has no wheel for Python 3.12 on Linux", ">=2.16.1"),
        ("3.12", "", "tensorflow", "2.11.0", "tensorflow 2.11.0 has no wheel for Python 3.12", ">=2.16.1"),
        ("3.13.1", "linux", "onnxruntime", "1.16.3", "onnxruntime 1.16.3 has no wheel for Python 3.13.1 on Linux", ">=1.20.0"),
        ("3.11", "windows", "torch", "1.13.1+cu117", "torch 1.13.1+cu117 has no wheel for Python 3.11 on Windows", ">=2.0.0"),
        ("3.13", "macos", "decord", "0.6.0", "decord 0.6.0 has no wheel for Python 3.13 on macOS", ""),
    ],
)
def test_the_nearest_release_with_a_wheel_is_the_way_out(
    python: str, system: str, package: str, release: str, headline: str, pin: str
) -> None:
    assert told(python, system, {package: release}) == [(headline, ((package, pin),) if pin else ())]


@pytest.mark.parametrize(
    ("python", "system", "packages"),
    [
        ("3.10", "linux", {"tensorflow": "2.11.0"}),
        # For Linux there is one.
        ("3.11", "linux", {"torch": "1.13.1"}),
        ("3.11", "", {"torch": "1.13.1"}),
        # The wheels of Linux and Windows are for every Python 3.
        ("3.13", "linux", {"decord": "0.6.0"}),
        # A source archive is built.
        ("3.13", "linux", {"sentencepiece": "0.1.99"}),
        # Some Python that the range admits has one.
        (">=3.8", "linux", {"tensorflow": "2.11.0"}),
        # A build of somebody's own; a release that the table does not know; one that Requires-Python refuses, which is told elsewhere.
        ("3.12", "linux", {"tensorflow": "2.11.0+nv23.3"}),
        ("3.14", "linux", {"tensorflow": "2.99.0"}),
        ("3.7", "linux", {"ray": "2.9.0"}),
        ("3.12", "freebsd", {"tensorflow": "2.11.0"}),
    ],
)
def test_what_an_installer_finds_is_let_be(python: str, system: str, packages: dict[str, str]) -> None:
    assert told(python, system, packages) == []


def test_what_is_there_came_from_somewhere() -> None:
    assert told("3.12", "linux", {"tensorflow": "2.11.0"}, source="installed in /env") == []
    assert told("3.12", "linux", {"tensorflow": "2.11.0"}, closed=True) == []


def test_what_conda_brings_is_no_matter_of_wheels() -> None:
    values: dict[str, FactValue] = {
        "packages.onnxruntime": parse_value("packages.onnxruntime", "1.16.3"), "python": parse_value("python", "3.13"),
        "present": ("onnxruntime",),
    }  # fmt: skip
    assert wheels_for_python(Facts().with_facts(Fact(name, value, Origin("environment.yml")) for name, value in values.items())) == ()


def test_a_range_is_refused_where_none_of_its_pythons_has_a_wheel() -> None:
    assert told(">=3.12", "linux", {"tensorflow": "2.11.0"})


def test_abi3_wheels_suit_all_that_follow() -> None:
    wheels = wheels_of("faiss-cpu", "1.13.1")
    assert wheels is not None
    assert wheels.suit(15, "linux")
    assert not wheels.suit(9, "linux")
    assert (wheels.newest("linux"), wheels.newest("windows")) == (None, 14)
