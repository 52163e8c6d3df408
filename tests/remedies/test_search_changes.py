"""What a remedy says of its changes, and what it moves, adds and removes beside the package that a finding accuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from envdoctor.checks import FACT_CHECKS
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import Finding, diagnose
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import exact
from envdoctor.remedies import search
from envdoctor.remedies.remedy import Change, Remedy
from envdoctor.remedies.search import MOST_REMEDIES, Problem, find_remedies, find_remedy
from envdoctor.remedies.verdicts import _DECIDES
from envdoctor.rules.rule import Fix, Rule
from envdoctor.world.dependencies import Dependency
from envdoctor.world.releases import Release, known_until, release_texts, releases
from tests.remedies.universe import rule, stated


def real(facts: Facts | Mapping[str, object], *rules: Rule, closed: bool = False) -> tuple[Remedy, ...]:
    """All remedies over the releases that the package index has and what they require."""
    situation = facts if isinstance(facts, Facts) else stated(facts, closed=closed)
    pages = (*rules, *(rule(name, None) for name in ("requirements-contradict", "requirement-unsatisfiable", "requirement-refuses-python")))
    whole = derive(situation)
    hits = [hit for check in FACT_CHECKS for hit in check(whole) if hit.rule in {page.id for page in pages}]
    findings = diagnose(whole, pages, release_texts, hits=hits).findings
    return find_remedies(Problem(situation, pages, FACT_CHECKS, release_texts), findings)


def declared(facts: Mapping[str, object]) -> Facts:
    """As a requirements file states them, line by line."""
    file = "requirements.txt"
    return Facts({name: Fact(name, parse_value(name, raw), Origin(file, file, line)) for line, (name, raw) in enumerate(facts.items(), 1)})


def small(
    facts: Mapping[str, object],
    *rules: Rule,
    days: Mapping[str, Sequence[str]] | None = None,
    requires: Mapping[tuple[str, str], Sequence[Dependency]] | None = None,
    closed: bool = False,
) -> tuple[Remedy, ...]:
    """All remedies where alpha, beta and gamma have releases 1.0 to 1.4 and nothing else exists."""
    texts = ("1.0", "1.1", "1.2", "1.3", "1.4")
    usual = ("2024-01-01", "2024-01-11", "2024-01-21", "2024-01-31", "2024-02-10")
    listed = {
        name: tuple(Release(text, day, False, None, True) for text, day in zip(texts, (days or {}).get(name, usual), strict=False))
        for name in ("alpha", "beta", "gamma")
    }

    def known(package: str) -> tuple[str, ...]:
        return tuple(one.version for one in listed.get(package, ()))

    asked = requires or {}
    situation = stated(facts, closed=closed)
    problem = Problem(
        situation, rules, (), known, releases=lambda name: listed.get(name, ()), requires=lambda name, version: asked.get((name, version))
    )
    return find_remedies(problem, diagnose(derive(situation), rules, known).findings)


# --- torch and what goes with it ---


def test_torchvision_and_torchaudio_move_with_torch_and_are_one_change() -> None:
    old = rule("old", {"packages": ["torch <2.6"]})
    also = rule("also", {"packages": ["torch <2.6", "peft <0.12"]})
    facts = {"packages.torch": "2.4.1", "packages.torchvision": "0.19.1", "packages.torchaudio": "2.4.1", "packages.peft": "0.11.1"}
    first = real({**facts, "python": "3.11.4"}, old, also, closed=True)[0]
    assert first.pins == {"torch": "==2.6.0", "torchvision": "==0.21.0", "torchaudio": "==2.6.0"}
    assert [(one.package, one.before, one.clears, one.reason) for one in first.changes] == [
        ("torch", "2.4.1", ("also", "old"), "the nearest release that also does not accuse"),
        ("torchvision", "0.19.1", (), "goes with torch 2.6.0"),
        ("torchaudio", "2.4.1", (), "goes with torch 2.6.0"),
    ]


def test_the_label_of_the_build_is_kept_by_all_of_them() -> None:
    bad = rule("bad", {"packages": ["torch ==2.5.0"]})
    facts = {"packages.torch": "2.5.0+cu118", "packages.torchvision": "0.20.0+cu118", "packages.torchaudio": "2.5.0+cu118"}
    assert real(facts, bad)[0].pins == {"torch": "==2.5.1+cu118", "torchvision": "==0.20.1+cu118", "torchaudio": "==2.5.1+cu118"}


def test_the_other_build_of_the_same_release_is_the_nearest_and_torchvision_is_of_that_build() -> None:
    page = rule("nvidia-driver-older-than-torch-cuda", None)
    machine = {"driver": "470.57", "gpu.name": "A100", "os": "linux", "python": "3.10.12"}
    facts = {"packages.torch": "2.5.0", "packages.torchvision": "0.20.0", **machine}
    first = real(facts, page, rule("torch-wheel-lacks-gpu-kernels", None), closed=True)[0]
    assert first.pins == {"torch": "==2.5.0+cu118", "torchvision": "==0.20.0+cu118"}
    assert (first.steps, first.days) == (0, 0)


@pytest.mark.parametrize("range_", ["", ">=0.20", ">=0.20,<0.21"])
def test_a_torchvision_whose_release_is_open_is_not_pinned_beside_another_build_of_torch(range_: str) -> None:
    page = rule("nvidia-driver-older-than-torch-cuda", None)
    machine = {"driver": "470.57", "gpu.name": "A100", "os": "linux", "python": "3.10.12"}
    first = real({"packages.torch": "2.5.0", "packages.torchvision": range_, **machine}, page)[0]
    assert first.pins == {"torch": "==2.5.0+cu118"}


def test_the_build_of_torch_is_taken_before_torch_moves() -> None:
    other = rule("other-build", {"packages": ["torch ===2.9.0+cpu", "torchvision ===0.24.0"]})
    facts = {"packages.torch": "2.9.0+cpu", "packages.torchvision": "0.24.0", "os": "linux", "machine": "x86_64", "python": "3.11.4"}
    assert real(facts, other, closed=True)[0].pins == {"torchvision": "==0.24.0+cpu"}


def test_a_torchaudio_that_names_no_torch_is_not_left_above_a_torch_that_goes_down() -> None:
    new = rule("new", {"packages": ["torch >=2.10"]})
    facts = {"packages.torch": "2.11.0", "packages.torchaudio": "2.11.0", "python": "3.11.4"}
    assert real(facts, new)[0].pins == {"torch": "==2.9.1", "torchaudio": "==2.9.1"}


# --- what releases require of each other ---


def test_a_pin_that_another_package_refuses_takes_that_one_along_or_is_not_made() -> None:
    bad = rule("bad", {"packages": ["transformers ==4.44.2"]})
    facts = {"packages.transformers": "4.44.2", "packages.tokenizers": "0.19.1"}
    for closed in (False, True):
        assert real(facts, bad, closed=closed)[0].pins == {"transformers": "==4.44.1"}
    too_old = rule("old", {"packages": ["transformers <4.45"]})
    first = real(facts, too_old, closed=True)[0]
    assert first.pins == {"transformers": "==4.45.0", "tokenizers": "==0.20.0"}
    assert [(one.package, one.clears, one.reason) for one in first.changes] == [
        ("tokenizers", (), "transformers 4.45.0 requires tokenizers<0.21,>=0.20"),
        ("transformers", ("old",), "the nearest release that old does not accuse"),
    ]


def test_packages_that_are_at_odds_already_do_not_hinder_a_cure_of_others() -> None:
    bad = rule("bad", {"packages": ["alpha ==1.0"]})
    requires = {("beta", "1.0"): [Dependency("gamma", ">=1.2")]}
    facts = {"packages.alpha": "1.0", "packages.beta": "1.0", "packages.gamma": "1.0"}
    assert small(facts, bad, requires=requires)[0].pins == {"alpha": "==1.1"}


def test_of_a_range_a_pin_leaves_a_release() -> None:
    bad = rule("bad", {"packages": ["alpha <1.2"]})
    requires = {("alpha", "1.2"): [Dependency("beta", ">=1.3")], ("alpha", "1.3"): [Dependency("beta", ">=1.2")]}
    assert small({"packages.alpha": "1.0", "packages.beta": "<1.3"}, bad, requires=requires)[0].pins == {"alpha": "==1.3"}


def test_two_pins_do_not_require_what_no_release_of_a_third_package_is() -> None:
    bad = rule("bad", {"packages": ["alpha <1.2"]})
    requires = {
        ("alpha", "1.2"): [Dependency("gamma", "<1.2")],
        ("alpha", "1.3"): [Dependency("gamma", "<1.4")],
        ("beta", "1.0"): [Dependency("gamma", ">=1.3")],
    }
    assert small({"packages.alpha": "1.0", "packages.beta": "1.0"}, bad, requires=requires)[0].pins == {"alpha": "==1.3"}


def test_declared_pins_that_contradict_are_brought_together() -> None:
    facts = declared({"packages.transformers": "==4.40.0", "packages.tokenizers": "==0.20.0"})
    found = real(facts)
    assert found[0].clears == ("requirements-contradict",)
    assert found[0].pins == {"tokenizers": "==0.19.1"}
    assert found[0].changes == (
        Change("tokenizers", "0.20.0", "==0.19.1", ("requirements-contradict",), "transformers 4.40.0 requires tokenizers<0.20,>=0.19"),
    )
    assert {"transformers": "==4.45.0"} in [dict(one.pins) for one in found]


def test_a_contradiction_that_nothing_clears_is_left_and_the_rest_is_cured() -> None:
    """What would clear it is accused by other rules; torch has nothing to do with it."""
    declares = {"packages.transformers": "==4.40.0", "packages.tokenizers": "==0.13.3", "packages.torch": "==2.5.0"}
    closed = (rule("new", {"packages": ["tokenizers >=0.14"]}), rule("old", {"packages": ["transformers <4.34"]}))
    bad = rule("bad", {"packages": ["torch ==2.5.0"]})
    with known_until("2025-06-15"):
        (first, *_), (free, *_) = real(declared(declares), bad, *closed), real(declared(declares), bad)
    assert (dict(first.pins), first.clears, first.unfixable) == ({"torch": "==2.5.1"}, ("bad",), ("requirements-contradict",))
    assert (dict(free.pins), free.unfixable) == ({"tokenizers": "==0.19.0", "torch": "==2.5.1"}, ())
    assert free.clears == ("bad", "requirements-contradict")


def test_a_release_that_never_existed_gives_way_to_the_nearest_one() -> None:
    found = real(declared({"packages.peft": "==0.11.7"}))
    assert found[0].pins in ({"peft": "==0.12.0"}, {"peft": "==0.11.1"})
    assert found[0].clears == ("requirement-unsatisfiable",)


def test_what_an_installed_release_requires_is_installed_or_it_is_moved() -> None:
    unmet = replace(rule("declared-requirement-unmet", None), title="unmet")
    missing = rule("declared-requirement-missing", None)
    facts = stated({"packages.transformers": "4.44.2", "packages.tokenizers": "0.15.0", "python": "3.11.4"}, closed=True)
    findings = (
        Finding(unmet, "matched", "error", packages=("transformers", "tokenizers"), pins=(("tokenizers", ">=0.19,<0.20"),)),
        Finding(missing, "matched", "error", packages=("transformers", "safetensors"), pins=(("safetensors", ">=0.4.1"),)),
    )
    found = find_remedy(Problem(facts, (unmet, missing), FACT_CHECKS, release_texts), findings)
    assert found.clears == ("declared-requirement-missing", "declared-requirement-unmet")
    assert found.pins["tokenizers"] == "==0.19.0"
    added = next(one for one in found.changes if one.package == "safetensors")
    assert added.before == ""
    assert added.clears == ("declared-requirement-missing",)


def test_a_defect_without_releases_that_cure_it_is_left() -> None:
    page = rule("snapshot-json-invalid", None)
    problem = Problem(stated({"packages.peft": "0.11.0"}), [page], FACT_CHECKS, release_texts)
    assert find_remedies(problem, [Finding(page, "matched", "error", packages=("peft",))]) == ()


# --- to add and to remove ---


def test_a_package_that_is_not_there_is_added_where_a_fix_pins_it() -> None:
    needs = rule("needs", {"packages": ["alpha"], "not": {"packages": ["beta >=1.1"]}}, Fix("pin", "brings it", pins={"beta": ">=1.1"}))
    found = small({"packages.alpha": "1.2"}, needs, closed=True)
    assert found[0].pins == {"beta": "==1.2"}, "the newest of the days of what is there"
    assert found[0].changes == (Change("beta", "", "==1.2", ("needs",), "brings it"),)
    silent = replace(needs, fixes=())
    assert small({"packages.alpha": "1.2"}, silent, closed=True) == ()


def test_a_package_is_removed_where_the_rule_says_so_and_no_pin_cures() -> None:
    there = rule("there", {"packages": ["delta"]}, Fix("code", "", text="pip uninstall delta"))
    first = small({"packages.delta": "0.1", "packages.alpha": "1.0"}, there)[0]
    assert (dict(first.pins), first.removes, first.clears) == ({}, ("delta",), ("there",))
    assert first.changes == (Change("delta", "0.1", "", ("there",), "there needs it to be there"),)
    also = rule("also", {"packages": ["alpha", "beta <1.2"]}, Fix("code", "", text="pip uninstall alpha"))
    by_pin = small({"packages.alpha": "1.0", "packages.beta": "1.0"}, also)
    assert by_pin[0].pins == {"beta": "==1.2"}
    assert by_pin[0].removes == ()


def test_a_package_that_another_one_requires_is_not_removed() -> None:
    there = rule("there", {"packages": ["alpha"]}, Fix("code", "", text="pip uninstall alpha"))
    requires = {("beta", text): [Dependency("alpha", ">=1.0")] for text in ("1.0", "1.1", "1.2", "1.3", "1.4")}
    assert small({"packages.alpha": "1.0"}, there)[0].removes == ("alpha",)
    assert small({"packages.alpha": "1.0", "packages.beta": "1.0"}, there, requires=requires) == ()


# --- which of several ---


def test_of_as_many_steps_what_goes_forward_comes_first_and_then_days_decide() -> None:
    bad = rule("bad", {"packages": ["alpha ==1.1"]})
    days = {"alpha": ("2024-01-01", "2024-01-11", "2024-03-01")}
    found = small({"packages.alpha": "1.1"}, bad, days=days)
    assert [(dict(one.pins), one.steps, one.days) for one in found] == [({"alpha": "==1.2"}, 1, 50), ({"alpha": "==1.0"}, 1, 10)]
    both = rule("both", {"packages": ["alpha ==1.1", "beta ==1.1"]})
    even = small({"packages.alpha": "1.1", "packages.beta": "1.1"}, both, days=days)
    assert [dict(one.pins) for one in even[:2]] == [{"beta": "==1.2"}, {"alpha": "==1.2"}]


def test_what_a_release_requires_moves_before_the_release_that_requires_it() -> None:
    """As an installer would have it: what is declared holds, though the one that declares it were nearer to a cure."""
    requires = {("alpha", text): [Dependency("beta", ">=1.2")] for text in ("1.1", "1.2", "1.3", "1.4")}
    bad = rule("bad", {"packages": ["alpha >=1.1", "beta <1.2"]})
    found = small({"packages.alpha": "1.1", "packages.beta": "1.0"}, bad, requires=requires)
    assert [dict(one.pins) for one in found[:2]] == [{"beta": "==1.2"}, {"alpha": "==1.0"}]
    assert small({"packages.alpha": "1.1", "packages.beta": "1.0"}, bad)[0].pins == {"alpha": "==1.0"}


def test_remedies_are_few_and_no_two_are_one() -> None:
    names = ("alpha", "beta", "gamma")
    rules = [rule(f"r{place}", {"packages": [f"{name} ==1.{place}" for name in names]}) for place in range(5)]
    found = small({f"packages.{name}": "1.2" for name in ("alpha", "beta", "gamma")}, *rules)
    assert 1 < len(found) <= MOST_REMEDIES
    assert len({tuple(sorted(one.pins.items())) for one in found}) == len(found)
    assert all(len(one.pins) == 1 for one in found)
    assert {frozenset(one.pins) for one in found} == {frozenset((name,)) for name in ("alpha", "beta", "gamma")}


def test_an_error_is_cleared_before_two_warnings() -> None:
    error = rule("error", {"packages": ["alpha >=1.1"]})
    warnings = [replace(rule(f"w{number}", {"packages": ["alpha <1.2"]}), severity="warning") for number in (1, 2)]
    first = small({"packages.alpha": "1.1"}, error, *warnings)[0]
    assert (dict(first.pins), first.clears, first.unfixable) == ({"alpha": "==1.0"}, ("error",), ("w1", "w2"))


def test_a_pin_does_not_go_below_what_the_fix_of_a_finding_that_stays_requires() -> None:
    stays = rule("stays", {"packages": ["alpha"]}, Fix("pin", "", pins={"alpha": ">=1.1"}))
    bad = rule("bad", {"packages": ["alpha ==1.1"]})
    days = {"alpha": ("2024-01-10", "2024-01-11", "2024-05-01")}
    known = small({"packages.alpha": "1.1"}, bad, stays, days=days)
    assert [one.pins for one in known] == [{"alpha": "==1.2"}]
    assert {"alpha": "==1.0"} in [one.pins for one in small({"packages.alpha": "1.1"}, bad, days=days)]


def test_the_note_of_the_fix_that_names_the_release_is_the_reason() -> None:
    fixes = Fix("pin", "too far", pins={"alpha": ">=1.4"}), Fix("pin", "mended", pins={"alpha": ">=1.2"})
    bad = rule("bad", {"packages": ["alpha <1.2"]}, *fixes)
    assert small({"packages.alpha": "1.1"}, bad)[0].changes == (Change("alpha", "1.1", "==1.2", ("bad",), "mended"),)


# --- what is never proposed ---


def test_neither_withdrawn_releases_nor_later_ones_than_the_day_asked_about() -> None:
    bad = rule("bad", {"packages": ["transformers <=4.40.0"]})
    facts = {"packages.transformers": "4.40.0"}
    assert any(one.yanked for one in releases("transformers"))
    with known_until("2024-05-15"):
        found = real(facts, bad)
        days = {one.version: one.date for one in releases("transformers") if not one.yanked}
        for one in found:
            assert (days[one.pins["transformers"].removeprefix("==")] or "") <= "2024-05-15"
    with known_until("2024-04-20"):
        assert real(facts, bad) == ()


# --- the ground on which nothing is missed ---


def test_a_search_that_was_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [rule(name, {"packages": [f"{name} <1.2"]}) for name in ("alpha", "beta", "gamma")]
    facts = {f"packages.{name}": "1.0" for name in ("alpha", "beta", "gamma")}
    whole = small(facts, *rules)[0]
    assert whole.proof == ""
    monkeypatch.setattr(search, "_MOST_AT_FIRST", 1)
    monkeypatch.setattr(search, "_MOST_TOGETHER", 1)
    cut = small(facts, *rules)
    assert [one.proof for one in cut] == [search.CUT_SHORT]
    assert cut[0].pins == whole.pins


@pytest.mark.parametrize("package", ["torch", "transformers", "peft", "accelerate", "bitsandbytes", "numpy"])
def test_the_defaults_that_a_release_decides_are_known(package: str) -> None:
    """A default that turned on another package, or another one of its facts, would be missed by the search."""
    glm = {"model.type": "glm", "model.dtype": "bfloat16"}, {"model.type": "chatglm", "model.dtype": "float16"}
    for model in ({}, {"model.type": "llama"}, *glm):
        facts = stated(
            {
                "packages.torch": "2.4.1+cu118", "packages.transformers": "4.44.2", "packages.peft": "0.12.0", "plan.method": "lora",
                "plan.load_dtype_argument": "none", **model,
            }
        )  # fmt: skip
        seen: dict[str, set[str]] = {}
        for text in release_texts(package)[::3]:
            after = derive(facts.with_facts([Fact(f"packages.{package}", exact(text), Origin("pin"))]))
            for name, fact in after.items():
                if not name.startswith("packages."):
                    seen.setdefault(name, set()).add(str(fact.value))
            for name in seen.keys() - set(after):
                seen[name].add("nothing")
        assert {name for name, some in seen.items() if len(some) > 1} <= _DECIDES.get(package, frozenset())


def test_of_changes_as_near_the_one_that_a_fix_names_is_first() -> None:
    bad = {"packages": ["alpha ==1.1", "beta ==1.1"]}
    facts = {"packages.alpha": "1.1", "packages.beta": "1.1"}

    def first(*fixes: Fix) -> dict[str, str]:
        return dict(small(facts, rule("conflict", bad, *fixes))[0].pins)

    assert first() == {"alpha": "==1.2"}
    assert first(Fix("pin", "", pins={"beta": ">=1.2"})) == {"beta": "==1.2"}
    assert first(Fix("pin", "", pins={"beta": "<1.0 || >= 1.2"})) == {"alpha": "==1.2"}  # a fix is known by what it names first
    assert first(Fix("pin", "", pins={"beta": ">1.1"})) == {"alpha": "==1.2"}


def test_a_package_goes_where_no_release_cures_whatever_a_fix_names() -> None:
    fixes = (Fix("code", "", text="pip uninstall alpha"), Fix("pin", "", pins={"alpha": ">=1.2"}))
    (one, *_) = small({"packages.alpha": "1.1"}, rule("gone", {"packages": ["alpha"]}, *fixes))
    assert (dict(one.pins), one.removes, one.clears) == ({}, ("alpha",), ("gone",))


def test_what_would_go_back_years_stays_where_several_neighbours_can_move_instead() -> None:
    bad = rule("bad", {"packages": ["alpha <1.1", "gamma >=1.4"]})
    requires = {("alpha", text): [Dependency("beta", ">=1.1")] for text in ("1.1", "1.2", "1.3", "1.4")}
    facts = {"packages.alpha": "1.0", "packages.beta": "1.0", "packages.gamma": "1.4"}
    near = {"gamma": ("2024-01-01", "2024-01-11", "2024-01-21", "2024-01-31", "2025-06-01")}
    far = {"gamma": ("2019-01-01", "2019-02-01", "2019-03-01", "2021-02-01", "2023-06-01")}
    assert small(facts, bad, days=near, requires=requires)[0].pins == {"gamma": "==1.3"}
    assert small(facts, bad, days=far, requires=requires)[0].pins == {"alpha": "==1.1", "beta": "==1.1"}


# --- what a release loads ---


@pytest.mark.parametrize(("release", "pins"), [("1.2", {"alpha": "==1.1", "beta": "==1.3"}), ("1.1", {"alpha": "==1.1"})])
def test_a_release_that_begins_to_make_a_trainer_brings_what_only_a_trainer_meets(release: str, pins: dict[str, str]) -> None:
    old = rule("old", {"packages": ["alpha >1.1"]})
    trains = rule("trains", {"packages": ["beta <1.3"], "loads": ["trainer-made"]})
    facts = {
        "packages.alpha": "1.3",
        "packages.beta": "1.2",
        "not_loaded": ("trainer-made", "trainer-run"),
        "loaded_with": (f"trainer-made: alpha <{release}",),
    }
    assert small(facts, old, trains)[0].pins == pins
