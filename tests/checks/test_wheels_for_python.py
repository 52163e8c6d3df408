"""Releases of compiled packages, under a Python for which there is no wheel."""

from __future__ import annotations

import pytest

from envdoctor.checks.wheels_for_python import COMPILED, wheels_for_python
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
        # A release by a shorter spelling than the index has; a package that some ask for in place of tensorflow.
        ("3.12", "", "tensorflow", "2.12", "tensorflow 2.12 has no wheel for Python 3.12", ">=2.16.1"),
        ("3.9", "", "tensorflow-gpu", "2.4", "tensorflow-gpu 2.4 has no wheel for Python 3.9", ">=2.5.0"),
        ("3.12", "", "numba", "0.58.1", "numba 0.58.1 has no wheel for Python 3.12: its source refuses it", ">=0.59.0"),
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
        ("3.13", "linux", {"regex": "2023.5.5"}),
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


@pytest.mark.parametrize(
    ("package", "wanted", "said"),
    [
        ("numpy", "~=1.25.2", "numpy 1.25.2 has no wheel for Python 3.12: it is compiled"),
        ("tokenizers", ">=0.11.1,!=0.11.3,<0.14", "tokenizers 0.13.3 has no wheel for Python 3.12: it is compiled"),
        ("torch", ">=1.13,<2.2", "torch 2.1.2 has no wheel for Python 3.12"),
        ("numpy", ">=1.25.2", None),
        ("numpy", "<1.26.1", None),
        ("numpy", "", None),
    ],
)
def test_a_range_is_told_where_no_release_of_it_has_a_wheel(package: str, wanted: str, said: str | None) -> None:
    assert [headline for headline, _ in told("3.12", "", {package: wanted})] == ([said] if said else [])


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


@pytest.mark.parametrize(
    ("python", "package", "release", "pin"),
    [
        ("3.12", "numpy", "1.24.3", ">=1.26.0"),
        ("3.12", "scikit-learn", "1.2.2", ">=1.3.1"),
        ("3.13", "pandas", "2.0.3", ">=2.2.3"),
        ("3.13", "tiktoken", "0.4.0", ">=0.8.0"),
        ("3.13", "llvmlite", "0.43.0", ">=0.44.0"),
    ],
)
def test_what_is_hard_to_build_is_told_where_its_wheels_end_before_this_python(python: str, package: str, release: str, pin: str) -> None:
    (hit,) = wheels_for_python(
        Facts().with_facts(
            Fact(name, parse_value(name, text), Origin("test")) for name, text in ((f"packages.{package}", release), ("python", python))
        )
    )
    assert (hit.rule, hit.headline) == (COMPILED, f"{package} {release} has no wheel for Python {python}: it is compiled")
    assert hit.pins[0][1].startswith(pin)


@pytest.mark.parametrize(
    ("python", "package", "release"),
    [
        ("3.12", "numpy", "1.26.4"),
        # An older Python than its wheels are for.
        ("3.6", "numpy", "1.26.4"),
        ("3.13", "opencv-python", "4.10.0.84"),
        ("3.14", "requests", "2.25.0"),
    ],
)
def test_what_has_a_wheel_or_is_easily_built_is_let_be(python: str, package: str, release: str) -> None:
    assert told(python, "", {package: release}) == []


@pytest.mark.parametrize(
    ("by", "release", "name", "required", "advice"),
    [
        ("deepspeed", "0.5.10", "triton", "1.0.0", "take deepspeed 0.6.0, or a later one, which requires no triton"),
        ("transformers", "4.9.0", "tensorflow", "2.11.0", "take transformers 4.9.1, or a later one, which requires no tensorflow"),
    ],
)
def test_of_what_another_package_requires_that_one_moves(by: str, release: str, name: str, required: str, advice: str) -> None:
    facts = [
        Fact("python", parse_value("python", "3.12" if name == "tensorflow" else "3.10"), Origin("test")),
        Fact("os", "linux", Origin("test")),
    ]
    facts.append(Fact(f"packages.{by}", parse_value(f"packages.{by}", release), Origin("test")))
    facts.append(Fact(f"packages.{name}", parse_value(f"packages.{name}", required), Origin(f"required by {by} {release}")))
    assert [hit.advice for hit in wheels_for_python(Facts().with_facts(facts)) if hit.packages == (name,)] == [advice]
