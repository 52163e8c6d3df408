"""Caps that later releases name: where an old one names no end, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from envdoctor.checks import caps
from envdoctor.checks.caps import cautious
from envdoctor.checks.declared_together import declared_together
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import exact, version_condition
from envdoctor.world.dependencies import Dependency, dependencies, versions
from envdoctor.world.releases import known_until, release_texts

Table = Mapping[str, tuple[str, ...]]
"""What the releases of ``tool`` require, oldest first; ``lib ; marker``."""


def _dependency(text: str) -> Dependency:
    requirement = Requirement(text)
    return Dependency(requirement.name, str(requirement.specifier), str(requirement.marker or ""))


@contextmanager
def invented(table: Table) -> Iterator[None]:
    """Within, ``tool`` is the only package whose requirements are known, and ``lib`` has the releases 1.0 to 5.0."""

    def required(name: str, version: str, *, unbound: bool = False) -> tuple[Dependency, ...] | None:
        if name != "tool" or version not in table:
            return None
        every = tuple(map(_dependency, table[version]))
        return every if unbound else tuple(one for one in every if one.specifier)

    caps._cautious.cache_clear()
    caps._caps.cache_clear()
    lib = tuple(f"{number}.0" for number in range(1, 6))
    with (
        patch.object(caps, "dependencies", required),
        patch.object(caps, "versions", lambda name: tuple(table)),
        patch.object(caps, "release_texts", lambda name: lib if name == "lib" else ()),
    ):
        yield
    caps._cautious.cache_clear()
    caps._caps.cache_clear()


def learned(table: Table, version: str = "1.0") -> list[str] | None:
    """What is added to what a release says itself."""
    with invented(table):
        found = cautious("tool", version)
    if found is None:
        return None
    own = [_dependency(text) for text in table[version]]
    return [f"{one.name}{one.specifier}" + (f"; {one.marker}" if one.marker else "") for one in found if one not in own]


def test_scipy_learned_that_it_does_not_run_with_every_later_numpy() -> None:
    assert dependencies("scipy", "1.6.1") == (Dependency("numpy", ">=1.16.5"),)
    assert cautious("scipy", "1.6.1") == (Dependency("numpy", ">=1.16.5"), Dependency("numpy", "<1.23.0"))
    assert cautious("scipy", "1.7.3") == dependencies("scipy", "1.7.3") == (Dependency("numpy", "<1.23.0,>=1.16.5"),)


def test_what_is_compiled_against_one_torch_says_how_far_the_release_before_it_may_go() -> None:
    asked = [one.specifier for one in cautious("vllm", "0.2.5") or () if one.name == "torch"]
    assert asked == [">=2.1.1", "<=2.1.2"]


def test_a_release_that_is_not_in_the_table_is_not_known_to_require_anything() -> None:
    assert cautious("scipy", "99.0") is None
    assert cautious("nobody-has-this", "1.0") is None


@pytest.mark.parametrize(
    ("own", "later", "added"),
    [
        (("lib>=1",), ("lib>=1,<3",), ["lib<3"]),
        (("lib",), ("lib<3",), ["lib<3"]),
        (("lib>=1",), ("lib<=3,>=2",), ["lib<=3"]),
        (("lib>=1,!=2.0",), ("lib!=2.0,<3",), ["lib<3"]),
        # It names an end itself.
        (("lib<5",), ("lib<3",), []),
        (("lib==2.0",), ("lib<3",), []),
        (("lib~=2.0",), ("lib<3",), []),
        # It does not need it at all.
        ((), ("lib<3",), []),
        # No cap: a floor, and what belongs to just that release.
        (("lib>=1",), ("lib>=3",), []),
        (("lib>=1",), ("lib!=3.0",), []),
        (("lib>=1",), ("lib==3.0",), []),
        (("lib>=1",), ("lib~=3.0",), []),
        # The next release went back to an older line.
        (("lib>=4",), ("lib<3",), []),
        # Under the marker of the later one.
        (("lib>=1",), ('lib<3; python_version < "3.9"',), ['lib<3; python_version < "3.9"']),
    ],
)
def test_what_the_next_release_adds(own: tuple[str, ...], later: tuple[str, ...], added: list[str]) -> None:
    assert learned({"1.0": own, "1.1": later}) == added


def test_the_nearest_later_release_with_a_cap_is_asked_and_never_an_earlier_one() -> None:
    table = {"0.9": ("lib<2",), "1.0": ("lib>=1",), "1.1": ("lib>=2",), "1.2": ("lib<4",), "1.3": ("lib<5",)}
    assert learned(table) == ["lib<4"]
    assert learned(table, "1.1") == ["lib<4"]
    assert learned(table, "1.3") == []
    assert learned({"0.9": ("lib<2",), "1.0": ("lib>=1",)}) == []


def test_each_package_has_the_nearest_cap_of_its_own() -> None:
    assert learned({"1.0": ("lib>=1", "other>=1"), "1.1": ("lib<4", "other>=1"), "1.2": ("lib<5", "other<2")}) == ["lib<4", "other<2"]


def test_releases_of_a_later_day_have_taught_nothing_yet() -> None:
    """scipy names an end to numpy since 1.6.2, of March 2021."""
    with known_until("2021-03-01"):
        assert cautious("scipy", "1.6.1") == dependencies("scipy", "1.6.1")
    assert cautious("scipy", "1.6.1") != dependencies("scipy", "1.6.1")


def test_a_file_is_judged_by_what_its_releases_say_and_not_by_caps() -> None:
    pins = {"scipy": "1.6.1", "numpy": "1.26.4"}
    facts = Facts().with_facts(
        Fact(f"packages.{name}", parse_value(f"packages.{name}", pin), Origin("requirements.txt", "requirements.txt", line))
        for line, (name, pin) in enumerate(pins.items(), 1)
    )
    assert declared_together(facts) == ()


def test_a_release_that_is_proposed_is_judged_by_caps() -> None:
    """scipy 1.6.1 admits numpy 1.26 by its words; it is not among the releases to move to."""
    pins = {"scipy": "1.7.3", "numpy": "1.26.4"}
    facts = Facts().with_facts(
        Fact(f"packages.{name}", parse_value(f"packages.{name}", pin), Origin("requirements.txt", "requirements.txt", line))
        for line, (name, pin) in enumerate(pins.items(), 1)
    )
    (hit,) = declared_together(facts)
    offered = version_condition(dict(hit.pins)["scipy"])
    assert not offered.admits(exact("1.6.1"))
    assert offered.admits(exact("1.11.4"))


NAMES = ("transformers", "scipy", "datasets", "peft", "gradio", "vllm", "unsloth", "llamafactory", "accelerate", "deepspeed")


@given(name=st.sampled_from(NAMES), data=st.data())
def test_caps_only_narrow_and_leave_something(name: str, data: st.DataObject) -> None:
    version = data.draw(st.sampled_from(versions(name)))
    own, found = dependencies(name, version), cautious(name, version)
    assert own is not None
    assert found is not None
    assert found[: len(own)] == own
    needed = {one.name for one in dependencies(name, version, unbound=True) or ()}
    for one in found[len(own) :]:
        mine = [other.specifier for other in own if other.name == one.name]
        assert one.name in needed
        assert one.specifier.startswith("<")
        assert not any(clause.strip()[:1] in "<~" or clause.strip()[:2] == "==" for text in mine for clause in text.split(","))
        known = release_texts(one.name)
        assert satisfiable(",".join((*mine, one.specifier)), known)
        later = versions(name)[versions(name).index(version) + 1 :]
        # What is compiled says by its pin until when a torch was known.
        said = (one.specifier, f"={one.specifier[1:]}") if one.name == "torch" else (one.specifier,)
        asked = [other.specifier for text in later for other in dependencies(name, text) or () if other.name == one.name]
        assert any(told in other for told in said for other in asked)
