"""The fixes of one finding: exact pins that clear it, plan facts, prose, and nothing that is satisfied already."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.engine.diagnosis import Finding
from envdoctor.remedies.cures import Cure, cures
from envdoctor.rules.rule import Fix, Rule
from tests.remedies.universe import invented, known, rule, stated


def found(
    page: Rule, facts: Mapping[str, object], *, pins: tuple[tuple[str, str], ...] = (), plan: tuple[tuple[str, object], ...] = ()
) -> tuple[Cure, ...]:
    with invented():
        return cures(Finding(page, "matched", "error", pins=pins, plan=plan), stated(facts), known)


def test_every_fix_is_told_in_the_rules_own_order() -> None:
    page = rule(
        "r",
        {"packages": ["alpha >=1.1, <2.0"]},
        Fix("plan", "safe", plan={"plan.load_dtype": "bfloat16"}),
        Fix("pin", "later", pins={"alpha": ">=2.0"}),
        Fix("pin", "", pins={"alpha": "<1.1"}),
        Fix("code", "by hand", text="cast to float32"),
    )
    assert found(page, {"packages.alpha": "1.2"}) == (
        Cure("plan", "safe", {}, {"plan.load_dtype": "bfloat16"}),
        Cure("pin", "later", {"alpha": "==2.0"}, {}),
        Cure("pin", "any of alpha <1.1", {"alpha": "==1.0"}, {}),
        Cure("code", "by hand", {}, {}, "cast to float32"),
    )


def test_two_ranges_with_one_nearest_release_are_one_cure() -> None:
    page = rule("r", {"packages": ["alpha <2.0"]}, Fix("pin", "a", pins={"alpha": ">=2.0"}), Fix("pin", "b", pins={"alpha": ">=1.2"}))
    assert found(page, {"packages.alpha": "1.1"}) == (Cure("pin", "a", {"alpha": "==2.0"}, {}),)


def test_a_release_under_which_the_rule_still_matches_is_passed_over() -> None:
    page = rule("r", {"packages": ["alpha !=2.1"]}, Fix("pin", "a", pins={"alpha": ">=1.2"}))
    assert found(page, {"packages.alpha": "1.1"}) == (Cure("pin", "a", {"alpha": "==2.1"}, {}),)


def test_a_pin_that_the_situation_satisfies_already_is_none() -> None:
    page = rule("r", {"packages": ["alpha"], "plan": {"fp16": True}}, Fix("pin", "a", pins={"alpha": ">=1.2"}))
    assert found(page, {"packages.alpha": "2.0", "plan.fp16": True}) == ()


def test_a_pin_that_does_not_clear_the_finding_is_none() -> None:
    page = rule("r", {"packages": ["alpha"]}, Fix("pin", "a", pins={"alpha": ">=1.2"}))
    assert found(page, {"packages.alpha": "1.1"}) == ()


def test_pins_that_go_together_are_judged_together() -> None:
    either = {"any": [{"packages": ["alpha <2.0"]}, {"packages": ["beta <0.4"]}]}
    page = rule("r", either, Fix("pin", "both", pins={"alpha": ">=2.0", "beta": ">=0.4"}))
    assert found(page, {"packages.alpha": "1.1", "packages.beta": "0.1"}) == (Cure("pin", "both", {"alpha": "==2.0", "beta": "==0.4"}, {}),)


def test_of_pins_that_go_together_only_those_needed_are_moved() -> None:
    page = rule("r", {"packages": ["alpha <2.0", "beta"]}, Fix("pin", "both", pins={"alpha": ">=2.0", "beta": ">=0.2"}))
    assert found(page, {"packages.alpha": "1.1", "packages.beta": "0.2"}) == (Cure("pin", "both", {"alpha": "==2.0"}, {}),)


def test_a_package_without_known_releases_is_told_as_a_range() -> None:
    page = rule("r", {"packages": ["alpha"]}, Fix("pin", "why", pins={"delta": ">=3"}))
    assert found(page, {"packages.alpha": "1.1"}) == (Cure("code", "why", {}, {}, "install delta >=3"),)


def test_neither_a_withdrawn_release_nor_one_for_another_python_is_proposed() -> None:
    page = rule("r", {"packages": ["beta <0.3"]}, Fix("pin", "a", pins={"beta": ">=0.3"}))
    assert found(page, {"packages.beta": "0.2", "python": "3.10"}) == (Cure("pin", "a", {"beta": "==0.4"}, {}),)
    late = rule("r", {"packages": ["beta <0.5"]}, Fix("pin", "a", pins={"beta": ">=0.5"}))
    assert found(late, {"packages.beta": "0.2", "python": "3.11.2"}) == (Cure("pin", "a", {"beta": "==0.5"}, {}),)
    assert found(late, {"packages.beta": "0.2", "python": "3.10"}) == (
        Cure("code", "a", {}, {}, "install beta >=0.5, under Python >=3.11"),
    )


def test_a_range_is_pinned_to_a_release_of_it_that_cures() -> None:
    page = rule("r", {"packages": ["alpha <1.2"]}, Fix("pin", "a", pins={"alpha": ">=1.2"}))
    assert found(page, {"packages.alpha": ">=1.0"}) == (Cure("pin", "a", {"alpha": "==1.2"}, {}),)


def test_what_a_check_found_stands_before_and_instead_of_the_rules_own_pins() -> None:
    page = rule("r", None, Fix("pin", "own", pins={"alpha": ">=2.0"}), Fix("code", "", text="or by hand"))
    told = found(page, {"packages.alpha": "1.1"}, pins=(("alpha", ">=1.2"), ("alpha", "==1.0")), plan=(("plan.bf16", False),))
    assert told == (
        Cure("pin", "any of alpha >=1.2", {"alpha": "==1.2"}, {}),
        Cure("pin", "any of alpha ==1.0", {"alpha": "==1.0"}, {}),
        Cure("plan", "", {}, {"plan.bf16": False}),
        Cure("code", "", {}, {}, "or by hand"),
    )


def test_a_build_that_a_check_names_is_pinned_as_it_is() -> None:
    page = rule("r", None)
    assert found(page, {"packages.torch": "2.5.0"}, pins=(("torch", "==2.5.0+cu118"),)) == (
        Cure("pin", "", {"torch": "==2.5.0+cu118"}, {}),
    )
