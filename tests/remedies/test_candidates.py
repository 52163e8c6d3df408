"""Which releases a pin may name, and which of them is the nearest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envdoctor.facts.versions import Ranged, exact, version_condition
from envdoctor.remedies.candidates import distances, installable, moved, nearest_first, pinned
from envdoctor.world.releases import Release, known_until, releases
from envdoctor.world.wheel_pythons import SYSTEMS, wheels_of
from tests.remedies.universe import invented, release, stated

KNOWN = tuple(map(exact, ("1.0", "1.1", "1.2", "2.0", "2.1")))


def order(package: str, spec: str, facts: dict[str, object]) -> list[str]:
    return [one.text for one in nearest_first(package, version_condition(spec), stated(facts))]


def test_withdrawn_releases_are_never_proposed() -> None:
    yanked = {one.version for one in releases("transformers") if one.yanked}
    assert yanked
    assert not yanked & {one.text for one in installable("transformers", stated({}))}


@pytest.mark.parametrize("python", ["3.8.18", "3.9", "3.10.12", "3.12.0", "3.13.0rc1"])
def test_releases_for_another_python_are_never_proposed(python: str) -> None:
    offered = {one.text for one in installable("torch", stated({"python": python}))}
    patch = python if python.count(".") > 1 else f"{python}.99"
    for one in releases("torch"):
        runs = one.requires_python is None or SpecifierSet(one.requires_python).contains(Version(patch), prereleases=True)
        wheels = wheels_of("torch", one.version)
        built = wheels is None or any(wheels.suit(int(python.split(".")[1]), system) for system in SYSTEMS)
        assert (one.version in offered) == (runs and built and not one.yanked), one


def test_releases_without_a_wheel_for_the_python_are_never_proposed() -> None:
    """triton has no source archive, and xformers before 0.0.13 nothing but one that wants a compiler for CUDA."""
    assert "1.1.1" not in {one.text for one in installable("triton", stated({"python": "3.11"}))}
    assert "1.1.1" in {one.text for one in installable("triton", stated({"python": "3.9"}))}
    assert "0.0.12" not in {one.text for one in installable("xformers", stated({}))}


@pytest.mark.parametrize(
    ("package", "facts", "offered"),
    [
        ("torchcodec", {"os": "windows"}, False),
        ("torchcodec", {"os": "linux"}, True),
        ("torchcodec", {}, True),
        ("torchcodec", {"os": "windows", "machine": "aarch64"}, True),
        ("torchcodec", {"os": "linux", "python": "3.14"}, False),
    ],
)
def test_a_release_without_a_wheel_for_the_stated_system_or_python_is_never_proposed(
    package: str, facts: dict[str, object], offered: bool
) -> None:
    assert ("0.5" in {one.text for one in installable(package, stated(facts))}) is offered


def test_a_python_told_by_its_minor_release_is_its_last_patch_release() -> None:
    with invented({"alpha": (release("1.0", python=">=3.10.4"), release("1.1", python=">=3.11"))}):
        assert [one.text for one in installable("alpha", stated({"python": "3.10"}))] == ["1.0"]
        assert [one.text for one in installable("alpha", stated({"python": "3.10.2"}))] == []
        assert [one.text for one in installable("alpha", stated({"python": "unknown"}))] == ["1.0", "1.1"]
        assert [one.text for one in installable("alpha", stated({"python": ">=3.10"}))] == ["1.0", "1.1"]


def test_a_package_without_known_releases_has_no_candidates() -> None:
    assert installable("no-such-package", stated({})) == ()
    assert order("no-such-package", ">=1", {}) == []


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ("1.1", [1, 0, 1, 2, 3]),
        ("1.1+cu118", [1, 0, 1, 2, 3]),
        ("1.1.5", [2, 1, 0, 1, 2]),
        ("0.1", [0, 1, 2, 3, 4]),
        ("9", [5, 4, 3, 2, 1]),
        ("2.0.dev1", [3, 2, 1, 0, 1]),
    ],
)
def test_distance_counts_releases(current: str, expected: list[int]) -> None:
    assert distances(exact(current), KNOWN) == expected


def test_of_a_range_the_newest_release_in_it_is_the_nearest() -> None:
    assert distances(Ranged(">=1.1,<2.1"), KNOWN) == [10, 4, 3, 2, 6]
    assert distances(None, KNOWN) == [5, 4, 3, 2, 1]


def test_the_nearest_comes_first_and_of_two_as_near_the_later() -> None:
    with invented():
        assert order("alpha", "", {"packages.alpha": "1.2"}) == ["1.2", "2.0", "1.1", "2.1", "1.0"]
        assert order("alpha", "!=1.2", {"packages.alpha": "1.2"}) == ["2.0", "1.1", "2.1", "1.0"]
        assert order("alpha", "<1.2", {"packages.alpha": "2.1"}) == ["1.1", "1.0"]
        assert order("beta", ">=0.2", {"packages.beta": "0.1", "python": "3.10"}) == ["0.2", "0.4"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (">=1.2", ["1.2", "2.0", "2.1"]),
        ("!=1.2", ["2.0", "2.1", "1.1", "1.0"]),
        ("<1.2", ["1.1", "1.0"]),
        ("<3", ["2.1", "2.0", "1.2", "1.1", "1.0"]),
        ("<1.1 || >=2.0", ["2.0", "2.1", "1.0"]),
        ("<1.1 || >=1.2,<2.1", ["2.0", "1.2", "1.0"]),
        (">=1.1,<1.2 || >=9", ["1.1"]),
        (">=9", []),
    ],
)
def test_without_a_current_version_the_first_that_cures_else_the_last(spec: str, expected: list[str]) -> None:
    with invented():
        assert order("alpha", spec, {}) == expected


@pytest.mark.parametrize(
    ("asked", "spec", "expected"),
    [
        (">=1.1,<2.0", "!=1.2", ["1.1", "2.0", "2.1", "1.0"]),
        (">=1.1,<2.0", "<1.1 || >=2.1", ["2.1", "1.0"]),
        (">=1.2", "<2.1", ["2.0", "1.2", "1.1", "1.0"]),
        ("<1.2", "<1.1 || >=2.0", ["1.0", "2.0", "2.1"]),
        ("<2.0", ">=1.1", ["1.1", "1.2", "2.0", "2.1"]),
    ],
)
def test_what_a_stated_range_admits_comes_before_everything_else(asked: str, spec: str, expected: list[str]) -> None:
    with invented():
        assert order("alpha", spec, {"packages.alpha": asked}) == expected


def test_an_end_of_the_list_opens_no_fix() -> None:
    """On a past day, and on an old Python, every release is below a bound: the highest is meant, and not one of another era."""
    assert order("numpy", "<2", {"python": "3.8.16"})[0] == "1.24.4"
    with known_until("2023-12-19"):
        assert order("transformers", "<4.37", {})[0] == "4.36.2"
        assert order("transformers", "<4.36", {"packages.transformers": ">=4.36.1"})[0] == "4.35.2"


@pytest.mark.parametrize("package", ["transformers", "datasets"])
def test_a_first_release_of_somebody_elses_is_no_candidate(package: str) -> None:
    first, second = (one.version for one in releases(package)[:2])
    offered = order(package, "", {f"packages.{package}": first})
    assert first not in offered
    assert offered[0] == second


def test_a_first_release_that_stands_alone_for_years_is_of_another_project() -> None:
    late = Release("1.0", "2020-01-01", yanked=False, requires_python=None, wheel=True)
    for day, kept in (("2016-01-01", []), ("2018-06-01", ["0.1"]), (None, ["0.1"])):
        with invented({"alpha": (replace(late, version="0.1", date=day), late)}):
            assert [one.text for one in installable("alpha", stated({}))] == [*kept, "1.0"]
    with invented({"alpha": (late,)}):
        assert [one.text for one in installable("alpha", stated({}))] == ["1.0"]


@given(
    st.sampled_from([one.version for one in releases("peft")]), st.sampled_from([">=0.12", "<0.7", ">=0.6,<0.9 || ==0.15.0", "!=0.11.1"])
)
def test_what_is_offered_is_what_fits_in_order_of_distance(current: str, spec: str) -> None:
    facts = stated({"packages.peft": current})
    offered = nearest_first("peft", version_condition(spec), facts)
    everything = installable("peft", facts)
    assert set(offered) == {one for one in everything if version_condition(spec).admits(one)}
    texts = [one.text for one in everything]
    steps = [abs(texts.index(one.text) - sum(Version(text) < Version(current) for text in texts)) for one in offered]
    assert steps == sorted(steps)


@pytest.mark.parametrize(
    ("package", "current", "target", "pin"),
    [
        ("torch", "2.5.0+cu118", "2.5.1", "==2.5.1+cu118"),
        ("torch", "2.5.0+cu121", "2.4.1", "==2.4.1+cu121"),
        ("torch", "2.5.0+cu118", "2.13.0", "==2.13.0"),
        ("torch", "2.5.0+cpu", "2.5.1", "==2.5.1+cpu"),
        ("torch", "2.5.0", "2.5.1", "==2.5.1"),
        ("torch", "2.5.0+nv24.10", "2.5.1", "==2.5.1"),
        ("torch", ">=2.5", "2.5.1", "==2.5.1"),
        ("peft", "0.11.0+local", "0.12.0", "==0.12.0"),
    ],
)
def test_the_build_of_torch_is_kept_where_the_release_has_it(package: str, current: str, target: str, pin: str) -> None:
    assert pinned(package, exact(target), stated({f"packages.{package}": current})) == pin


def test_moving_torch_forgets_the_cuda_of_the_build_before() -> None:
    facts = stated({"packages.torch": "2.5.0+cu118", "packages.peft": "0.11.0", "cuda": "11.8", "plan.method": "lora"})
    after = moved(facts, {"torch": exact("2.5.1")})
    assert after.value("packages.torch") == exact("2.5.1+cu118")
    assert "cuda" not in after
    assert moved(facts, {"peft": exact("0.12.0")}).value("cuda") == exact("11.8")
    assert facts.value("packages.torch") == exact("2.5.0+cu118")


@pytest.mark.parametrize(
    ("package", "torch", "pin"),
    [
        ("torchvision", "2.5.1", "==0.20.1+cu118"),
        ("torchvision", "2.13.0", "==0.20.1"),
        ("torchvision", None, "==0.20.1+cu118"),
        ("peft", "2.5.1", "==0.20.1"),
    ],
)
def test_torchvision_is_of_the_build_of_the_torch_that_it_goes_with(package: str, torch: str | None, pin: str) -> None:
    facts = stated({"packages.torch": "2.5.0+cu118", f"packages.{package}": "0.19.0+cu118"})
    assert pinned(package, exact("0.20.1"), facts, None if torch is None else exact(torch)) == pin


def test_a_build_that_is_named_is_pinned_as_it_is() -> None:
    assert pinned("torch", exact("2.5.0+cu121"), stated({"packages.torch": "2.5.0+cu118"})) == "==2.5.0+cu121"


def test_a_package_that_goes_is_known_to_be_absent() -> None:
    after = moved(stated({"packages.alpha": "1.0", "packages.beta": "0.1"}), {"beta": exact("0.2")}, ["alpha"])
    assert after.lacks("alpha")
    assert after.value("packages.beta") == exact("0.2")


def test_other_lists_of_releases_are_asked_where_they_are_given() -> None:
    listed = (release("1.0"), release("1.1", yanked=True), release("1.2", python=">=3.11"))
    assert [one.text for one in installable("peft", stated({"python": "3.10"}), lambda name: listed)] == ["1.0"]
    assert [one.text for one in installable("peft", stated({}), lambda name: listed)] == ["1.0", "1.2"]
