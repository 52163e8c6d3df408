"""Findings: what is told of a situation, with which reasons and in which order."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envdoctor.checks.hit import Hit
from envdoctor.engine.diagnosis import Because, Diagnosis, Location, diagnose
from envdoctor.facts.fact import Defect, Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.rules.conditions import parse_condition
from envdoctor.rules.rule import Confidence, Rule, Severity
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import release_texts


def rule(
    name: str,
    affected: Mapping[str, object] | None,
    *,
    severity: Severity = "error",
    confidence: Confidence = "cited",
    error_when: Mapping[str, object] | None = None,
    packages: tuple[str, ...] = (),
    withdrawn: str | None = None,
) -> Rule:
    return Rule(
        id=name,
        title="A title",
        severity=severity,
        effect="crash",
        confidence=confidence,
        details="Why.",
        condition=None if affected is None else parse_condition(affected),
        error_when=None if error_when is None else parse_condition(error_when),
        packages=packages,
        withdrawn=withdrawn,
    )


def stated(facts: Mapping[str, object], *, closed: bool = False) -> Facts:
    """Facts of a file, one a line in the order given."""
    numbered = enumerate(facts.items(), start=1)
    return Facts({name: Fact(name, parse_value(name, raw), Origin("req.txt", "req.txt", line)) for line, (name, raw) in numbered}, closed)


def told(facts: Mapping[str, object], *rules: Rule, closed: bool = False) -> list[tuple[str, str, tuple[str, ...]]]:
    found = diagnose(stated(facts, closed=closed), rules, release_texts)
    return [(finding.rule.id, finding.status, finding.missing) for finding in found.findings]


SDPA = rule("sdpa", {"packages": ["torch ==2.5.0"], "plan": {"attn": "sdpa", "padding": True}}, packages=("torch",))


def test_a_rule_that_holds_is_matched_with_its_reasons_and_its_line() -> None:
    facts = stated({"plan.attn": "SDPA", "packages.torch": "2.5.0+cu118", "plan.padding": True})
    (finding,) = diagnose(facts, [SDPA], release_texts).findings
    assert (finding.status, finding.severity, finding.missing, finding.packages) == ("matched", "error", (), ("torch",))
    assert finding.because == (
        Because("packages.torch", "2.5.0+cu118", "==2.5.0", "req.txt", "req.txt", 2),
        Because("plan.attn", "sdpa", "sdpa", "req.txt", "req.txt", 1),
        Because("plan.padding", "true", "true", "req.txt", "req.txt", 3),
    )
    assert finding.location == Location("req.txt", 2)


def test_the_line_of_a_package_goes_before_that_of_a_plan() -> None:
    found = rule("x", {"plan": {"fp16": True}, "packages": ["torch ==2.5.0"]})
    (finding,) = diagnose(stated({"plan.fp16": True, "packages.torch": "2.5.0"}), [found], release_texts).findings
    assert finding.location == Location("req.txt", 2)
    assert finding.because[0].fact == "plan.fp16"


def test_a_rule_that_waits_for_a_fact_is_possible_and_says_for_which() -> None:
    assert told({"packages.torch": "2.5.0", "plan.attn": "sdpa"}, SDPA) == [("sdpa", "possible", ("plan.padding",))]
    assert told({"packages.torch": ">=2.4", "plan.attn": "sdpa", "plan.padding": True}, SDPA) == []
    both = rule("both", {"packages": ["torch ==2.5.0"], "plan": {"fp16": True, "method": "full"}})
    assert told({"packages.torch": "2.5.0"}, both) == [("both", "possible", ("plan.fp16", "plan.method"))]


def test_a_rule_that_fails_is_not_told() -> None:
    assert told({"packages.torch": "2.5.1"}, SDPA) == []
    assert told({"packages.torch": "2.5.0", "plan.attn": "eager"}, SDPA) == []
    assert told({}, SDPA, closed=True) == []


def test_a_rule_says_nothing_while_no_version_that_it_accuses_is_there() -> None:
    assert told({"plan.attn": "sdpa", "plan.padding": True}, SDPA) == []
    denied = rule("denied", {"packages": ["peft <0.12"], "not": {"packages": ["torch >=2.8"], "plan": {"fp16": True}}})
    assert told({"packages.torch": "2.9.0", "plan.fp16": False}, denied) == []
    assert told({"packages.torch": "2.9.0", "packages.peft": "0.11.0"}, denied) == [("denied", "possible", ("plan.fp16",))]


def test_a_rule_about_a_model_says_nothing_while_no_model_is_known() -> None:
    about_model = rule("model", {"packages": ["transformers <4.46"], "model": {"type": "glm"}})
    other = rule("other", {"packages": ["transformers <4.46"], "model": {"type": "chatglm", "remote_code": True}})
    assert told({"packages.transformers": "4.40.0"}, about_model, other) == []
    assert told({"packages.transformers": "4.40.0", "model.type": "chatglm"}, about_model, other) == [
        ("other", "possible", ("model.remote_code",))
    ]


def test_a_rule_about_no_version_says_nothing_while_it_waits_for_the_plan() -> None:
    plan = rule("plan", {"plan": {"fp16": True}, "gpu": {"vendor": "nvidia"}})
    assert told({"plan.fp16": True, "gpu.vendor": "nvidia"}, plan) == [("plan", "matched", ())]
    assert told({"plan.fp16": True}, plan) == [("plan", "possible", ("gpu.vendor",))]
    assert told({"gpu.vendor": "nvidia"}, plan) == []
    assert told({"packages.torch": "2.5.0"}, plan) == []


def test_a_withdrawn_rule_and_a_rule_of_code_are_not_matched() -> None:
    assert told({"packages.torch": "2.5.0"}, rule("gone", {"packages": ["torch"]}, withdrawn="was wrong"), rule("code", None)) == []


@pytest.mark.parametrize(("capability", "severity"), [("9.0", "error"), ("8.0", "warning"), (None, "warning")])
def test_the_severity_rises_where_the_rule_says_so(capability: str | None, severity: str) -> None:
    found = rule("x", {"packages": ["torch ==2.5.0"]}, severity="warning", error_when={"gpu": {"compute_capability": ">=9.0"}})
    facts = {"packages.torch": "2.5.0", **({"gpu.compute_capability": capability} if capability else {})}
    (finding,) = diagnose(stated(facts), [found], release_texts).findings
    assert finding.severity == severity


@pytest.mark.parametrize(("present", "severity"), [(None, "error"), (["peft"], "error"), (["torch"], "warning")])
def test_a_package_of_which_nothing_says_that_it_is_installed_is_not(present: list[str] | None, severity: str) -> None:
    found = rule("x", {"packages": ["torch ==2.5.0"]}, severity="warning", error_when={"not": {"present": ["torch"]}})
    facts = {"packages.torch": "2.5.0", **({"present": present} if present else {})}
    (finding,) = diagnose(stated(facts), [found], release_texts).findings
    assert finding.severity == severity


def test_the_worst_and_surest_comes_first_in_any_order_of_the_rules() -> None:
    facts = {"packages.torch": "2.5.0", "packages.peft": "0.11.0", "plan.method": "lora"}
    rules = [
        rule("note", {"packages": ["torch"]}, severity="note"),
        rule("possible-error", {"packages": ["torch ==2.5.0"], "plan": {"fp16": True}}),
        rule("warning", {"packages": ["torch"]}, severity="warning"),
        rule("error-b", {"packages": ["torch"]}),
        rule("error-a", {"packages": ["torch"]}),
        rule("error-specific", {"packages": ["torch >=2", "peft"], "plan": {"method": "lora"}}),
        rule("error-reproduced", {"packages": ["torch"]}, confidence="reproduced"),
    ]
    expected = ["error-specific", "error-reproduced", "error-a", "error-b", "warning", "note", "possible-error"]
    for order in (rules, rules[::-1]):
        assert [name for name, _, _ in told(facts, *order)] == expected


def test_what_two_stated_releases_do_together_comes_before_what_one_of_them_does() -> None:
    one = rule("one", {"packages": ["peft ==0.11.0"], "plan": {"fp16": True}})
    two = rule("two", {"packages": ["peft <0.13", "torch >=2"], "plan": {"fp16": True}})
    facts = {"packages.torch": "2.5.0", "packages.peft": "0.11.0"}
    assert [name for name, _, _ in told(facts, one, two)] == ["two", "one"]
    # Two conditions on one package are one release.
    twice = rule("twice", {"packages": ["peft <0.13"], "not": {"packages": ["peft <0.5"]}, "plan": {"fp16": True}})
    assert [name for name, _, _ in told(facts, twice, one)] == ["one", "twice"]


def test_what_is_waited_for_is_counted_even_where_no_finding_is_told() -> None:
    rules = [
        rule(f"r{number}", {"packages": [f"{package} >=0.1"], "plan": {"fp16": True}})
        for number, package in enumerate(["torch", "torch", "peft"])
    ]
    found = diagnose(stated({"packages.torch": "2.5.0"}), rules, release_texts)
    assert found.waiting == (("plan.fp16", 3), ("packages.peft", 1))
    assert [finding.rule.id for finding in found.findings] == ["r0", "r1"]


def test_a_hit_of_a_check_becomes_a_finding_of_its_rule() -> None:
    facts = stated({"packages.torch": "2.5.0+cu118", "driver": "470.10"})
    hits = [
        Hit(
            "driver",
            True,
            because=(("driver", "older than 520"), ("gpu.name", "unknown")),
            detail="too old",
            packages=("torch",),
            pins=(("torch", "<2"),),
        ),
        Hit("kernels", None, missing=("cuda",)),
        Hit("nothing", False),
    ]
    pages = [rule("driver", None), rule("kernels", None, packages=("torch",)), rule("nothing", None)]
    sure, unsure = diagnose(facts, pages, release_texts, hits=hits).findings
    assert (sure.rule.id, sure.status, sure.detail, sure.packages, sure.pins) == (
        "driver",
        "matched",
        "too old",
        ("torch",),
        (("torch", "<2"),),
    )
    assert sure.because == (Because("driver", "470.10", "older than 520", "req.txt", "req.txt", 2),)
    assert sure.location == Location("req.txt", 2)
    assert (unsure.rule.id, unsure.status, unsure.missing, unsure.packages) == ("kernels", "possible", ("cuda",), ("torch",))


def test_a_rule_without_pins_takes_those_that_a_check_of_the_same_packages_computed() -> None:
    facts = stated({"packages.torchcodec": "0.8.1", "packages.torch": "2.8.0"})
    hits = [Hit("built", True, packages=("torchcodec", "torch"), pins=(("torchcodec", ">=0.6,<0.8"),), yields=True)]
    in_words = rule("pair", {"packages": ["torchcodec >=0.8, <0.10", "torch <2.9"]}, packages=("torch", "torchcodec"))
    (found,) = diagnose(facts, [in_words, rule("built", None)], release_texts, hits=hits).findings
    assert (found.rule.id, found.pins) == ("pair", (("torchcodec", ">=0.6,<0.8"),))
    (other,) = diagnose(
        facts, [rule("one", {"packages": ["torch <2.9"]}, packages=("torch",)), rule("built", None)], release_texts
    ).findings
    assert other.pins == ()


def test_a_defect_of_a_source_becomes_a_finding_at_its_line() -> None:
    defects = [Defect("bad-line", "torch==>2: no requirement", "req.txt", 7, ("torch",)), Defect("bad-file", "unreadable")]
    placed, unplaced = diagnose(
        Facts(), [rule("bad-line", None), rule("bad-file", None, severity="note")], release_texts, defects=defects
    ).findings
    assert (placed.status, placed.detail, placed.location, placed.packages) == (
        "matched",
        "torch==>2: no requirement",
        Location("req.txt", 7),
        ("torch",),
    )
    assert (unplaced.severity, unplaced.location) == ("note", None)


def test_nothing_known_and_no_rules_are_no_findings() -> None:
    assert diagnose(Facts(), [], release_texts) == Diagnosis((), ())
    assert diagnose(Facts(), [SDPA], release_texts).findings == ()


def test_what_no_script_shows_is_not_used() -> None:
    """Without a script, a rule that excuses a use holds as if nothing was used."""
    denies = rule("excused", {"packages": ["peft <0.12"], "not": {"calls": ["unsloth"]}})
    stated = Fact("packages.peft", parse_value("packages.peft", "0.11.1"), Origin("test"))

    def told(*uses: tuple[str, ...]) -> list[tuple[str, str]]:
        facts = Facts().with_facts([stated, *(Fact("plan.code_uses", one, Origin("train.py")) for one in uses)])
        return [(finding.rule.id, finding.status) for finding in diagnose(facts, [denies], release_texts).findings]

    assert told() == [("excused", "matched")]
    assert told(("trl.SFTTrainer",)) == [("excused", "matched")]
    assert told(("unsloth.FastLanguageModel",)) == []


def test_a_package_that_an_import_misses_is_not_told_again_for_being_declared() -> None:
    missing, imported = "declared-requirement-missing", "import-needs-package"
    hits = [
        Hit(missing, True, packages=("peft", "torch")),
        Hit(missing, True, packages=("peft", "psutil")),
        Hit(imported, True, packages=("peft", "torch")),
    ]
    book = load_rulebook()
    found = diagnose(Facts(), [one for one in book.rules if one.id in (missing, imported)], release_texts, hits=hits).findings
    assert sorted((one.rule.id, one.packages[1]) for one in found) == [(missing, "psutil"), (imported, "torch")]


def test_a_use_is_told_by_itself_and_at_its_own_line() -> None:
    waits = rule("waits", {"calls": ["trl.SFTTrainer(packing)"]})
    places = tuple(Origin("train.py", "train.py", line) for line in (3, 9, 7))
    uses = ("trl.SFTTrainer", "trl.SFTTrainer(packing=False)", "trl.SFTTrainer(packing=True)")
    facts = Facts().with_facts([Fact("plan.code_uses", uses, places[0], places)])
    (finding,) = diagnose(facts, [waits], release_texts).findings
    assert finding.location == Location("train.py", 7)
    assert finding.because[0].value == "trl.SFTTrainer(packing=False), trl.SFTTrainer(packing=True)"
