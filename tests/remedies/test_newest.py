"""The newest release beside the nearest one: only where a fix is open above, and only what nothing speaks against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.checks.hit import Hit
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding, Outcomes
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact
from envdoctor.remedies.candidates import installable, moved
from envdoctor.remedies.cures import Cure, cures
from envdoctor.remedies.newest import NOTE, Newest
from envdoctor.rules.conditions import evaluate
from envdoctor.rules.rule import Fix, Rule
from envdoctor.world.releases import Release
from tests.remedies.universe import UNIVERSE, invented, known, release, rule, stated

Check = Callable[[Facts], tuple[Hit, ...]]

OLD = rule("old", {"packages": ["alpha <1.1"]}, Fix("pin", "", pins={"alpha": ">=1.1"}))


def offered(
    page: Rule,
    facts: Mapping[str, object],
    *others: Rule,
    checks: Sequence[Check] = (),
    pins: tuple[tuple[str, str], ...] = (),
    packages: tuple[str, ...] = (),
    universe: Mapping[str, tuple[Release, ...]] = UNIVERSE,
) -> list[dict[str, str]]:
    """The pins that are offered beside those of the rule's own fixes."""
    situation = stated(facts)
    finding = Finding(page, "matched", "error", pins=pins, packages=packages or page.packages)
    with invented(universe):
        told = cures(finding, situation, known)
        newest = Newest(situation, (page, *others), checks, Outcomes(known))
        found = list(newest.cures(finding, told))
    assert all(cure == Cure("pin", NOTE, cure.pins, {}) for cure in found)
    return [dict(cure.pins) for cure in found]


def against(spec: str, name: str = "harm") -> Rule:
    return rule(name, {"packages": [spec]})


def test_beside_the_nearest_release_the_newest_is_offered() -> None:
    assert offered(OLD, {"packages.alpha": "1.0"}) == [{"alpha": "==2.1"}]


def test_of_a_range_as_well() -> None:
    assert offered(OLD, {"packages.alpha": "<1.1"}) == [{"alpha": "==2.1"}]


def test_a_bounded_fix_has_no_newest_release() -> None:
    page = rule("r", {"packages": ["alpha ==1.2"]}, Fix("pin", "", pins={"alpha": ">=1.0, <1.2"}))
    assert offered(page, {"packages.alpha": "1.2"}) == []


def test_one_open_fix_of_several_is_enough() -> None:
    page = rule("r", {"packages": ["alpha ==1.1"]}, Fix("pin", "", pins={"alpha": "<1.1"}), Fix("pin", "", pins={"alpha": ">=1.2"}))
    assert offered(page, {"packages.alpha": "1.1"}) == [{"alpha": "==2.1"}]


def test_what_is_told_already_is_not_told_twice() -> None:
    page = rule("r", {"packages": ["alpha <2.1"]}, Fix("pin", "", pins={"alpha": ">=2.1"}))
    assert offered(page, {"packages.alpha": "1.0"}) == []


def test_every_package_that_a_fix_moves_alone_has_its_own() -> None:
    page = rule(
        "r", {"packages": ["alpha <1.1", "gamma <3.1"]}, Fix("pin", "", pins={"gamma": ">=3.1"}), Fix("pin", "", pins={"alpha": ">=1.1"})
    )
    assert offered(page, {"packages.alpha": "1.0", "packages.gamma": "3.0"}) == [{"gamma": "==4.0"}, {"alpha": "==2.1"}]


def test_pins_that_go_together_have_none() -> None:
    page = rule("r", {"packages": ["alpha <1.1", "gamma <3.1"]}, Fix("pin", "", pins={"alpha": ">=1.1", "gamma": ">=3.1"}))
    assert offered(page, {"packages.alpha": "1.0", "packages.gamma": "3.0"}) == []


def test_what_a_check_found_to_cure_it_counts_as_a_fix() -> None:
    page = rule("r", None)
    assert offered(page, {"packages.alpha": "1.0"}, pins=(("alpha", ">1.0"),), packages=("alpha",)) == [{"alpha": "==2.1"}]


@pytest.mark.parametrize(("spec", "expected"), [("alpha ==2.1", "2.0"), ("alpha >=2.0", "1.2"), ("alpha >=1.2", None)])
def test_a_release_that_another_rule_accuses_is_passed_over_and_of_the_last_three_only(spec: str, expected: str | None) -> None:
    assert offered(OLD, {"packages.alpha": "1.0"}, against(spec)) == ([{"alpha": f"=={expected}"}] if expected else [])


@pytest.mark.parametrize(
    "page", [replace(against("alpha ==2.1"), severity="note"), replace(against("alpha ==2.1"), withdrawn="it was never true")]
)
def test_what_harms_nobody_speaks_against_nothing(page: Rule) -> None:
    assert offered(OLD, {"packages.alpha": "1.0"}, page) == [{"alpha": "==2.1"}]


def test_a_fault_that_is_there_already_speaks_against_nothing() -> None:
    assert offered(OLD, {"packages.alpha": "1.0", "packages.gamma": "3.0"}, against("gamma <4.0")) == [{"alpha": "==2.1"}]


def test_a_joint_harm_with_what_stays_is_seen() -> None:
    joint = rule("joint", {"packages": ["alpha >=2.1", "gamma <4.0"]})
    assert offered(OLD, {"packages.alpha": "1.0", "packages.gamma": "3.0"}, joint) == [{"alpha": "==2.0"}]
    assert offered(OLD, {"packages.alpha": "1.0", "packages.gamma": "4.0"}, joint) == [{"alpha": "==2.1"}]


def test_a_release_under_which_the_finding_stays_possible_is_none() -> None:
    """The fix names a release that the rule itself is still about, but for a fact that nobody stated."""
    page = rule("r", {"packages": ["alpha !=2.0"], "plan": {"fp16": True}}, Fix("pin", "", pins={"alpha": ">=1.2"}))
    assert offered(page, {"packages.alpha": "1.0"}) == [{"alpha": "==2.0"}]


def clash(facts: Facts) -> tuple[Hit, ...]:
    """gamma 3.0 goes with no alpha from 2 on, and never with beta 0.1."""
    alpha, beta = facts.value("packages.alpha"), facts.value("packages.beta")
    found = [Hit("clash", True, packages=("gamma", "alpha"))] if isinstance(alpha, Exact) and alpha.text.startswith("2.") else []
    return (*found, *([Hit("clash", True, packages=("gamma", "beta"))] if beta == exact("0.1") else []))


def test_what_a_check_finds_speaks_against_a_release() -> None:
    assert offered(OLD, {"packages.alpha": "1.0"}, checks=(clash,)) == [{"alpha": "==1.2"}]


def test_a_hit_about_other_packages_is_another_one() -> None:
    facts = {"packages.alpha": "1.0", "packages.beta": "0.1"}
    assert offered(OLD, facts, checks=(clash,)) == [{"alpha": "==1.2"}]
    page = rule("clash", None)
    told = offered(page, {"packages.alpha": "2.0", "packages.beta": "0.1"}, checks=(clash,), pins=(("beta", ">0.1"),), packages=("beta",))
    assert told == [{"beta": "==0.5"}]


def test_what_is_merely_possible_to_a_check_speaks_against_nothing() -> None:
    def perhaps(facts: Facts) -> tuple[Hit, ...]:
        return (Hit("perhaps", None, packages=("alpha",)),)

    assert offered(OLD, {"packages.alpha": "1.0"}, checks=(perhaps,)) == [{"alpha": "==2.1"}]


def test_neither_a_withdrawn_release_nor_one_for_another_python_is_the_newest() -> None:
    page = rule("r", {"packages": ["beta <0.2"]}, Fix("pin", "", pins={"beta": ">=0.2"}))
    assert offered(page, {"packages.beta": "0.1", "python": "3.10"}) == [{"beta": "==0.4"}]
    withdrawn = {"beta": (release("0.1"), release("0.2"), release("0.3"), release("0.4", yanked=True))}
    assert offered(page, {"packages.beta": "0.1"}, universe=withdrawn) == [{"beta": "==0.3"}]


def test_the_build_of_torch_is_kept() -> None:
    builds = {"torch": tuple(map(release, ("2.4.0", "2.4.1", "2.5.0", "2.5.1")))}
    page = rule("r", {"packages": ["torch <2.4.1"]}, Fix("pin", "", pins={"torch": ">=2.4.1"}))
    assert offered(page, {"packages.torch": "2.4.0+cu118"}, universe=builds) == [{"torch": "==2.5.1+cu118"}]


def test_a_package_without_known_releases_has_no_newest() -> None:
    page = rule("r", {"packages": ["delta <3"]}, Fix("pin", "", pins={"delta": ">=3"}))
    assert offered(page, {"packages.delta": "2.0"}) == []


SPECS = st.sampled_from(["", "<1.1", "==1.1", ">=1.2", ">=2.0", "!=2.1", "==2.1", ">=1.1,<2.0"])


@given(accused=SPECS, fix=SPECS, others=st.lists(SPECS, max_size=3), current=st.sampled_from(["1.0", "1.1", "1.2", "2.0", "2.1"]))
def test_what_is_offered_cures_and_brings_nothing_and_no_newer_of_the_last_three_does(
    accused: str, fix: str, others: list[str], current: str
) -> None:
    page = rule("r", {"packages": [f"alpha {accused}".strip()]}, Fix("pin", "", pins={"alpha": fix or ">=0"}))
    pages = [page, *(against(f"alpha {spec}".strip(), f"other-{place}") for place, spec in enumerate(others))]
    situation = stated({"packages.alpha": current})
    told = offered(page, {"packages.alpha": current}, *pages[1:])

    def held(facts: Facts) -> set[str]:
        return {one.id for one in pages if one.condition is not None and evaluate(one.condition, derive(facts), known)}

    with invented():
        last = installable("alpha", situation)[-3:]
        fits = {one.text: held(moved(situation, {"alpha": one})) for one in last}
    for pins in told:
        release_ = pins["alpha"].removeprefix("==")
        assert "r" not in fits[release_] <= held(situation)
        newer = [text for text in fits if text > release_]
        wanted = rule("w", {"packages": [f"alpha {fix or '>=0'}"]}).condition
        assert wanted is not None
        for text in newer:
            admitted = evaluate(wanted, stated({"packages.alpha": text}), known)
            assert not admitted or "r" in fits[text] or not fits[text] <= held(situation)
