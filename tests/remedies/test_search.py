"""The smallest set of pins: exact against trying everything, and never a pin that brings another harm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from envdoctor.checks import FACT_CHECKS
from envdoctor.checks.hit import Hit
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding, diagnose
from envdoctor.engine.likelihood import speaks, weigh
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import Exact
from envdoctor.remedies.candidates import installable, moved
from envdoctor.remedies.remedy import Remedy
from envdoctor.remedies.search import Problem, find_remedy
from envdoctor.rules.conditions import Known, evaluate, missing, parse_condition
from envdoctor.rules.rule import Rule, named_packages
from envdoctor.world.releases import release_texts
from tests.examples import examples
from tests.remedies.universe import UNIVERSE, invented, known, rule, stated

Told = tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]
Check = Callable[[Facts], tuple[Hit, ...]]


def findings(facts: Facts, rules: Sequence[Rule], checks: Sequence[Check] = (), releases: Known = known) -> tuple[Finding, ...]:
    whole = derive(facts)
    return diagnose(whole, rules, releases, hits=[hit for check in checks for hit in check(whole)]).findings


def remedy(facts: Mapping[str, object], *rules: Rule) -> Remedy:
    """What is proposed where only the invented releases exist."""
    situation = stated(facts)
    with invented():
        return find_remedy(Problem(situation, rules, (), known), findings(situation, rules))


def real(facts: Mapping[str, object], *rules: Rule, checks: Sequence[Check] = ()) -> Remedy:
    """The same over the releases that the package index has."""
    situation = stated(facts)
    return find_remedy(Problem(situation, rules, checks, release_texts), findings(situation, rules, checks, release_texts))


def told(result: Remedy) -> Told:
    """The pins, what they clear, and what they do not."""
    return dict(result.pins), result.clears, result.unfixable


# --- against trying everything ---

ATOMS: tuple[Mapping[str, object], ...] = (
    {"packages": ["alpha <1.2"]},
    {"packages": ["alpha >=1.1, <2.1"]},
    {"packages": ["alpha >=2.0"]},
    {"packages": ["alpha ==1.1"]},
    {"packages": ["alpha"]},
    {"packages": ["beta <0.4"]},
    {"packages": ["beta >=0.2"]},
    {"packages": ["beta ==0.2 || >=0.5"]},
    {"packages": ["gamma <4"]},
    {"packages": ["gamma >=3.1"]},
    {"plan": {"fp16": True}},
    {"gpu": {"vendor": "nvidia"}},
    {"plan": {"method": "lora"}},
    {"not": {"packages": ["alpha >=1.2"]}},
    {"not": {"packages": ["gamma ==3.1"]}},
)
conditions = st.one_of(
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=3).map(lambda parts: {"all": list(parts)}),
    st.lists(st.sampled_from(ATOMS), min_size=2, max_size=2).map(lambda parts: {"any": list(parts)}),
)
situations = st.fixed_dictionaries(
    {
        "packages.alpha": st.sampled_from(["1.0", "1.1", "1.1+cu118", "1.2", "2.0", "2.1", "1.3.dev0"]),
        "packages.beta": st.sampled_from(["0.1", "0.2", "0.3", "0.4"]),
        "packages.gamma": st.sampled_from(["3.0", "3.1", "4.0"]),
    },
    optional={
        "plan.fp16": st.booleans(),
        "plan.method": st.sampled_from(["lora", "full"]),
        "python": st.sampled_from(["3.10.1", "3.11.1"]),
    },
)


def made(tables: Sequence[Mapping[str, object]]) -> list[Rule]:
    """Rules that accuse all packages that they name, as parsed ones do."""
    rules = []
    for number, table in enumerate(tables):
        condition = parse_condition(table)
        rules.append(replace(rule(f"r{number}", None), condition=condition, packages=tuple(dict.fromkeys(named_packages(condition)))))
    return rules


Cost = tuple[int, int, int]


def everything(
    situation: Facts, rules: Sequence[Rule], *, strict: bool = True
) -> dict[frozenset[tuple[str, str]], tuple[Cost, frozenset[str]]]:
    """Every set of pins that brings nothing, with its cost (findings left, packages moved, steps) and what it clears.

    Where none clears anything, sets that bring what is merely possible count too.
    """
    before = _told(situation, rules, strict=strict)
    matched = {name for name, status in before.items() if status == "matched"}
    found: dict[frozenset[tuple[str, str]], tuple[Cost, frozenset[str]]] = {}
    for size in range(len(UNIVERSE) + 1):
        for group in combinations(UNIVERSE, size):
            for picked in product(*(installable(name, situation) for name in group)):
                chosen = dict(zip(group, picked, strict=True))
                if any(
                    one.key == value.key for name, one in chosen.items() if isinstance(value := situation.value(f"packages.{name}"), Exact)
                ):
                    continue
                after = situation.with_facts(Fact(f"packages.{name}", one, Origin("pin")) for name, one in chosen.items())
                told = _told(after, rules, strict=strict)
                if any(name not in before or (status == "matched" and before[name] != "matched") for name, status in told.items()):
                    continue
                cleared = frozenset(
                    one.id for one in rules if one.id in matched and one.condition and evaluate(one.condition, after, known) is False
                )
                steps = sum(_steps(situation, name, one) for name, one in chosen.items())
                pins = frozenset((name, f"=={one.text}") for name, one in chosen.items())
                found[pins] = (len(matched) - len(cleared), size, steps), cleared
    if strict and matched and not any(cleared for _, cleared in found.values()):
        return everything(situation, rules, strict=False)
    return found


def _told(situation: Facts, rules: Sequence[Rule], *, strict: bool) -> dict[str, str]:
    """Every rule that holds, and every one that may hold and has something to say."""
    found = {}
    for one in rules:
        assert one.condition is not None
        outcome = evaluate(one.condition, situation, known)
        if outcome:
            found[one.id] = "matched"
        elif outcome is None and strict:
            lacking = missing(one.condition, situation, known)
            waits = any(name.startswith("packages.") for name in lacking)
            if not waits and speaks(one.condition, situation, known, lacking) and weigh(one.condition, situation, known, lacking).likely:
                found[one.id] = "possible"
    return found


def _steps(situation: Facts, package: str, release: Exact) -> int:
    offered = [Version(one.text) for one in installable(package, situation)]
    current = situation.value(f"packages.{package}")
    assert isinstance(current, Exact)
    public = Version(current.text.partition("+")[0])
    return abs(offered.index(Version(release.text)) - sum(one < public for one in offered))


@settings(max_examples=examples(250))
@given(situations, st.lists(conditions, min_size=1, max_size=5))
def test_no_set_of_pins_is_better(facts: Mapping[str, object], tables: Sequence[Mapping[str, object]]) -> None:
    rules = made(tables)
    situation = stated(facts)
    with invented():
        told = findings(situation, rules)
        result = find_remedy(Problem(situation, rules, (), known), told)
        possible = everything(situation, rules)
    matched = {finding.rule.id for finding in told if finding.status == "matched"}
    chosen = frozenset(result.pins.items())
    assert chosen in possible, "it brings something, or names a release that is not to be had"
    cost, cleared = possible[chosen]
    assert cost == min(cost for cost, _ in possible.values())
    assert set(result.clears) == cleared
    assert set(result.unfixable) == matched - cleared


# --- what a user would notice ---


def test_one_pin_that_clears_two_findings_is_preferred_to_two() -> None:
    both = rule("both", {"packages": ["alpha <1.2", "beta <0.4"]}), rule("one", {"packages": ["alpha <2.0"]})
    result = remedy({"packages.alpha": "1.1", "packages.beta": "0.2"}, *both)
    assert told(result) == ({"alpha": "==2.0"}, ("both", "one"), ())


def test_of_two_releases_as_near_the_later_is_taken() -> None:
    assert remedy({"packages.alpha": "1.1"}, rule("r", {"packages": ["alpha ==1.1"]})).pins == {"alpha": "==1.2"}
    assert remedy({"packages.alpha": "1.2"}, rule("r", {"packages": ["alpha ==1.2"]}), rule("s", {"packages": ["alpha ==1.0"]})).pins == {
        "alpha": "==2.0"
    }


def test_a_release_that_brings_another_harm_is_passed_over() -> None:
    bad = rule("bad", {"packages": ["alpha ==1.1"]})
    worse = rule("worse", {"packages": ["alpha ==1.2"]})
    assert remedy({"packages.alpha": "1.1"}, bad, worse).pins == {"alpha": "==1.0"}


def test_a_release_under_which_another_rule_becomes_possible_is_passed_over() -> None:
    bad = rule("bad", {"packages": ["alpha ==1.1"]})
    maybe = rule("maybe", {"packages": ["alpha >=1.2"], "plan": {"fp16": True}})
    assert remedy({"packages.alpha": "1.1"}, bad, maybe).pins == {"alpha": "==1.0"}
    assert remedy({"packages.alpha": "1.1", "plan.fp16": False}, bad, maybe).pins == {"alpha": "==1.2"}


def test_a_rule_that_would_not_be_told_stands_in_nobodys_way() -> None:
    bad = rule("bad", {"packages": ["alpha ==1.1"]})
    silent = rule("silent", {"packages": ["alpha ==1.2"], "plan": {"fp16": True}, "gpu": {"compute_capability": ">=9.0"}})
    assert remedy({"packages.alpha": "1.1"}, bad, silent).pins == {"alpha": "==1.2"}
    assert remedy({"packages.alpha": "1.1", "gpu.compute_capability": "9.0"}, bad, silent).pins == {"alpha": "==1.0"}


def test_a_release_under_which_a_possible_rule_holds_is_passed_over() -> None:
    bad = rule("bad", {"packages": ["alpha ==1.1"]})
    maybe = rule("maybe", {"any": [{"packages": ["alpha ==1.1"], "plan": {"fp16": True}}, {"packages": ["alpha ==1.2"]}]})
    assert remedy({"packages.alpha": "1.1"}, bad, maybe).pins == {"alpha": "==1.0"}


def test_a_package_that_no_finding_accuses_is_moved_where_a_cure_needs_it() -> None:
    bad = rule("bad", {"packages": ["alpha <2.0"]})
    needs = rule("needs", {"packages": ["alpha >=2.0", "beta <0.4"]})
    result = remedy({"packages.alpha": "1.1", "packages.beta": "0.1"}, bad, needs)
    assert told(result) == ({"alpha": "==2.0", "beta": "==0.4"}, ("bad",), ())


def test_what_no_pin_clears_is_unfixable_and_the_rest_is_cleared() -> None:
    lost = rule("lost", {"packages": ["beta"]})
    bad = rule("bad", {"packages": ["alpha <1.2"]})
    assert told(remedy({"packages.alpha": "1.1", "packages.beta": "0.1"}, lost, bad)) == ({"alpha": "==1.2"}, ("bad",), ("lost",))
    assert told(remedy({"packages.beta": "0.1"}, lost)) == ({}, (), ("lost",))


def test_of_findings_that_exclude_each_other_the_most_are_cleared() -> None:
    low, high = rule("low", {"packages": ["alpha <1.2"]}), rule("high", {"packages": ["alpha >=1.1"]})
    other = rule("other", {"packages": ["alpha >=1.1, <2.0"]})
    assert told(remedy({"packages.alpha": "1.1"}, low, high, other)) == ({"alpha": "==1.0"}, ("high", "other"), ("low",))


def test_many_findings_that_cannot_be_cleared_together_are_cleared_one_by_one() -> None:
    rules = [rule(f"a{number}", {"packages": [f"alpha <{version}"]}) for number, version in enumerate(("1.1", "1.2", "2.0", "2.1"))]
    rules += [
        rule("g", {"packages": ["gamma <4"]}),
        rule("b", {"packages": ["beta <0.2"]}),
        rule("clash", {"packages": ["alpha >=2.1", "gamma >=4"]}),
    ]
    result = remedy({"packages.alpha": "1.0", "packages.beta": "0.1", "packages.gamma": "3.0"}, *rules)
    assert set(result.clears) >= {"a0", "a1", "a2", "b"}
    assert len(result.clears) == 5
    assert len(result.unfixable) == 1


def test_neither_a_withdrawn_release_nor_one_for_another_python_is_named() -> None:
    assert remedy({"packages.beta": "0.2"}, rule("r", {"packages": ["beta <0.3"]})).pins == {"beta": "==0.4"}
    late = rule("late", {"packages": ["beta <0.5"]})
    assert remedy({"packages.beta": "0.2", "python": "3.11.2"}, late).pins == {"beta": "==0.5"}
    assert told(remedy({"packages.beta": "0.2", "python": "3.10.2"}, late)) == ({}, (), ("late",))


def test_a_package_that_is_unknown_absent_or_not_listed_is_not_moved() -> None:
    absent = rule("absent", {"plan": {"fp16": True}, "not": {"packages": ["alpha >=1.2"]}})
    assert told(remedy({"plan.fp16": True, "packages.alpha": False}, absent)) == ({}, (), ("absent",))
    either = rule("either", {"any": [{"packages": ["alpha <1.2"]}, {"plan": {"fp16": True}}]})
    assert told(remedy({"plan.fp16": True}, either)) == ({}, (), ("either",))
    unlisted = rule("unlisted", {"packages": ["delta <2"]})
    assert told(remedy({"packages.delta": "1"}, unlisted)) == ({}, (), ("unlisted",))


def test_notes_and_possible_findings_ask_for_no_pin() -> None:
    note = replace(rule("note", {"packages": ["alpha <1.2"]}), severity="note")
    waits = rule("waits", {"packages": ["alpha <1.2"], "plan": {"fp16": True}})
    assert told(remedy({"packages.alpha": "1.1"}, note, waits)) == ({}, (), ())


def test_a_withdrawn_rule_stands_in_nobodys_way() -> None:
    gone = replace(rule("gone", {"packages": ["alpha >=1.2"]}), withdrawn="was wrong")
    assert remedy({"packages.alpha": "1.1"}, rule("bad", {"packages": ["alpha ==1.1"]}), gone).pins == {"alpha": "==1.2"}


def test_a_range_is_pinned_to_the_newest_release_in_it_and_outside_only_where_none_cures() -> None:
    old = rule("old", {"packages": ["alpha"], "plan": {"fp16": True}, "not": {"packages": ["alpha >=1.2, <2.1"]}})
    assert remedy({"packages.alpha": ">=2.1", "plan.fp16": True}, old).pins == {"alpha": "==2.0"}
    assert remedy({"packages.alpha": "<=1.1", "plan.fp16": True}, old).pins == {"alpha": "==2.0"}


def test_of_a_range_that_only_may_be_harmed_nothing_is_pinned() -> None:
    assert told(remedy({"packages.alpha": ">=1.1"}, rule("bad", {"packages": ["alpha ==1.1"]}))) == ({}, (), ())


def test_a_release_under_which_a_check_finds_something_new_is_passed_over() -> None:
    def new(facts: Facts) -> tuple[Hit, ...]:
        torch = facts.value("packages.torch")
        return (Hit("new", None, packages=("torch",)),) if isinstance(torch, Exact) and (torch.key or ())[:2] == (2, 6) else ()

    bad = rule("bad", {"packages": ["torch >=2.4, <2.6"]})
    assert real({"packages.torch": "2.5.1"}, bad).pins == {"torch": "==2.6.0"}
    assert real({"packages.torch": "2.5.1"}, bad, rule("new", None), checks=(new,)).pins == {"torch": "==2.7.0"}


def test_what_a_check_of_facts_found_is_cleared() -> None:
    pages = [
        rule(name, None) for name in ("torch-wheel-lacks-gpu-kernels", "nvidia-driver-older-than-torch-cuda", "cpu-torch-beside-a-gpu")
    ]
    facts = {"packages.torch": "2.5.0", "gpu.name": "RTX 5090", "python": "3.11.2", "os": "linux", "driver": "580.65"}
    result = real(facts, *pages, checks=FACT_CHECKS)
    assert result.clears == ("torch-wheel-lacks-gpu-kernels",)
    release = next(one for one in installable("torch", stated(facts)) if f"=={one.text}" == result.pins["torch"])
    after = derive(moved(stated(facts), {"torch": release}))
    assert [hit for check in FACT_CHECKS for hit in check(after)] == []


def test_a_defect_of_a_source_is_not_cleared_by_pins() -> None:
    page = rule("defect", None)
    with invented():
        problem = Problem(stated({"packages.alpha": "1.1"}), [page], (), known)
        assert told(find_remedy(problem, [Finding(page, "matched", "error", packages=("alpha",))])) == ({}, (), ("defect",))


def test_the_build_of_torch_is_kept_and_the_next_release_taken() -> None:
    sdpa = rule("sdpa", {"packages": ["torch ==2.5.0"], "plan": {"attn": "sdpa"}})
    result = real({"packages.torch": "2.5.0+cu118", "packages.transformers": "4.48.0", "model.type": "glm", "python": "3.10.12"}, sdpa)
    assert told(result) == ({"torch": "==2.5.1+cu118"}, ("sdpa",), ())


def test_a_default_that_another_package_decides_is_a_way_out() -> None:
    """sdpa is the default of transformers for a model type from some release on: an earlier one clears a rule about sdpa."""
    sdpa = rule("sdpa", {"packages": ["peft"], "plan": {"attn": "sdpa"}})
    facts = {"packages.peft": "0.11.0", "packages.torch": "2.5.0", "packages.transformers": "4.46.0", "model.type": "glm"}
    result = real(facts, sdpa)
    assert set(result.pins) == {"transformers"}
    assert result.clears == ("sdpa",)
    assert told(real({**facts, "plan.attn": "sdpa"}, sdpa)) == ({}, (), ("sdpa",))


def test_a_python_too_old_for_the_cure_leaves_no_pin() -> None:
    old = rule("old", {"packages": ["torch <2.9"]})
    assert told(real({"packages.torch": "2.4.1", "python": "3.8.18"}, old)) == ({}, (), ("old",))
    assert real({"packages.torch": "2.8.0", "python": "3.10.12"}, old).pins == {"torch": "==2.9.0"}


def test_what_was_compiled_for_one_torch_gets_that_torch() -> None:
    """As an installer does that is given both, unless something else was made for the torch that is there."""
    apart = rule("apart", {"packages": ["xformers >=0.0.24", "torch <2.3"]})
    facts = {"packages.xformers": "0.0.26.post1", "packages.torch": "2.1.0", "python": "3.10.12"}
    assert real(facts, apart).pins == {"torch": "==2.3.0"}
    # 0.0.23.post1 is nearer, and requires torch 2.1.2.
    assert real({**facts, "packages.torchvision": "0.16.0"}, apart).pins == {"xformers": "==0.0.22.post7"}
    assert real({**facts, "packages.torchvision": "0.18.0"}, apart).pins == {"torch": "==2.3.0"}
