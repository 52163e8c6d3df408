"""Conditions: Kleene's laws, what a missing fact does, and what an author is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, NotUnderstood, Origin
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.rules.conditions import (
    All,
    AnyOf,
    Condition,
    InvalidConditionError,
    Not,
    PackageIs,
    accused,
    deciding,
    evaluate,
    holds,
    judged,
    leaves,
    missing,
    parse_condition,
)
from tests.strategies import COMPARISONS, STATEMENTS, conditions, facts_of, known, situated, statements

KEYS = ["packages", "any", "all", "not", "plan", "method", "batch_size", "python", "gpu"]
Situation: TypeAlias = "tuple[Condition, Mapping[str, object]]"
_ORDER = {False: 0, None: 1, True: 2}


def _by_truth(outcomes: list[bool | None], pick: type[All] | type[AnyOf]) -> bool | None:
    choose = min if pick is All else max
    return choose(outcomes, key=lambda outcome: _ORDER[outcome])


@given(st.lists(conditions, min_size=1, max_size=4), statements, st.booleans())
def test_and_is_the_least_or_the_greatest_and_not_the_opposite(parts: list[Condition], stated: Mapping[str, object], closed: bool) -> None:
    facts = facts_of(stated, closed=closed)
    outcomes = [evaluate(part, facts, known) for part in parts]
    assert evaluate(All(tuple(parts)), facts, known) is _by_truth(outcomes, All)
    assert evaluate(AnyOf(tuple(parts)), facts, known) is _by_truth(outcomes, AnyOf)
    for part, outcome in zip(parts, outcomes, strict=True):
        assert evaluate(Not(part), facts, known) is (None if outcome is None else not outcome)


@pytest.mark.parametrize("first", [True, False, None])
@pytest.mark.parametrize("second", [True, False, None])
def test_every_pair_of_outcomes(first: bool | None, second: bool | None) -> None:
    said = {"plan.fp16": first, "plan.bf16": second}
    facts = facts_of({name: outcome for name, outcome in said.items() if outcome is not None})
    one, other = (parse_condition({"plan": {name: True}}) for name in ("fp16", "bf16"))
    assert evaluate(All((one, other)), facts, known) is _by_truth([first, second], All)
    assert evaluate(AnyOf((one, other)), facts, known) is _by_truth([first, second], AnyOf)
    assert evaluate(Not(All((one, other))), facts, known) is _by_truth([_opposite(first), _opposite(second)], AnyOf)
    for condition in (All((one, other)), AnyOf((one, other)), Not(All((one, other))), Not(one)):
        outcome = evaluate(condition, facts, known)
        lacking = () if outcome is not None else tuple(name for name, said in said.items() if said is None and name in names_of(condition))
        assert judged(condition, facts, known) == (outcome, lacking)


def names_of(condition: Condition) -> set[str]:
    return {leaf.fact for leaf in leaves(condition)}


def _opposite(outcome: bool | None) -> bool | None:
    return None if outcome is None else not outcome


@given(situated(), st.data())
def test_learning_a_fact_never_overturns_a_decided_outcome(situation: Situation, data: st.DataObject) -> None:
    condition, stated = situation
    forgotten = data.draw(st.sets(st.sampled_from(sorted(stated)))) if stated else set()
    fewer = evaluate(condition, facts_of({name: raw for name, raw in stated.items() if name not in forgotten}), known)
    if fewer is not None:
        assert evaluate(condition, facts_of(stated), known) is fewer


@given(situated(), st.data())
def test_in_a_closed_stack_learning_what_is_no_package_never_overturns(situation: Situation, data: st.DataObject) -> None:
    condition, stated = situation
    others = sorted(name for name in stated if not name.startswith("packages."))
    forgotten = data.draw(st.sets(st.sampled_from(others))) if others else set()
    fewer = evaluate(condition, facts_of({name: raw for name, raw in stated.items() if name not in forgotten}, closed=True), known)
    if fewer is not None:
        assert evaluate(condition, facts_of(stated, closed=True), known) is fewer


@given(situated(), st.data())
def test_a_narrower_fact_never_overturns_a_decided_outcome(situation: Situation, data: st.DataObject) -> None:
    """A range becomes a release that it admits, a text that was not understood becomes one that is."""
    condition, stated = situation
    narrower = {name: data.draw(st.sampled_from(_narrower(name, raw))) for name, raw in stated.items()}
    before = evaluate(condition, facts_of(stated), known)
    if before is not None:
        assert evaluate(condition, facts_of(narrower), known) is before


def _narrower(name: str, raw: object) -> list[object]:
    value = facts_of({name: raw})[name].value
    understood = [other for other in STATEMENTS[name] if not isinstance(facts_of({name: other})[name].value, NotUnderstood)]
    if isinstance(value, NotUnderstood):
        return understood
    if value == "auto":
        return [other for other in understood if other != "auto"]
    if isinstance(value, Ranged):
        admitted = version_condition(value.text)
        points = [
            other for other in understood if isinstance(point := facts_of({name: other})[name].value, Exact) and admitted.admits(point)
        ]
        return points or [raw]
    return [raw]


@given(situated())
def test_what_is_missing_decides_once_it_is_known(situation: Situation) -> None:
    condition, stated = situation
    names = missing(condition, facts_of(stated), known)
    assert len(names) == len(set(names))
    assert bool(names) == (evaluate(condition, facts_of(stated), known) is None)
    exact: dict[str, object] = {
        "packages.alpha": "1.1", "packages.beta": "0.2", "python": "3.10.12", "gpu.compute_capability": "8.0", "gpu.memory_gib": 24,
        "model.type": "llama", "plan.batch_size": 2, "plan.fp16": False, "plan.load_dtype": "float16", "plan.lora_targets": ["q_proj"],
        "plan.method": "lora",
    }  # fmt: skip
    learned = {**stated, **{name: exact[name] for name in names}}
    assert evaluate(condition, facts_of(learned), known) is not None


@given(situated(), st.booleans())
def test_the_reasons_told_are_true_and_suffice(situation: Situation, closed: bool) -> None:
    """Every comparison told has the outcome told, and a situation of those facts alone decides the same."""
    condition, stated = situation
    facts = facts_of(stated, closed=closed)
    reasons = deciding(condition, facts, known)
    for leaf, text in reasons:
        assert holds(leaf, facts, known) is (not text.startswith("not "))
        assert text.removeprefix("not ") == leaf.text()
    if evaluate(condition, facts, known):
        told = Facts({leaf.fact: facts[leaf.fact] for leaf, _ in reasons if leaf.fact in facts}, closed)
        assert evaluate(condition, told, known) is True


def test_a_negation_tells_only_what_made_it_hold() -> None:
    condition = parse_condition({"not": {"packages": ["alpha <1.0"], "plan": {"method": "lora"}}})
    told = deciding(condition, facts_of({"packages.alpha": "1.1", "plan.method": "lora"}), known)
    assert [(leaf.fact, text) for leaf, text in told] == [("packages.alpha", "not <1.0")]
    assert deciding(condition, facts_of({"plan.method": "lora"}), known) == ()


def test_of_an_alternative_only_what_holds_is_told() -> None:
    condition = parse_condition({"any": [{"plan": {"fp16": True}}, {"plan": {"batch_size": ">1"}}, {"model": {"type": "llama"}}]})
    told = deciding(condition, facts_of({"plan.fp16": False, "plan.batch_size": 4}), known)
    assert [(leaf.fact, text) for leaf, text in told] == [("plan.batch_size", ">1")]
    condition = parse_condition({"any": [{"plan": {"fp16": True, "batch_size": ">8"}}, {"model": {"type": "llama"}}]})
    told = deciding(condition, facts_of({"plan.fp16": True, "plan.batch_size": 4, "model.type": "llama"}), known)
    assert [(leaf.fact, text) for leaf, text in told] == [("model.type", "llama")]


def test_a_package_that_a_closed_stack_does_not_list_is_absent() -> None:
    installed, old = parse_condition({"packages": ["beta"]}), parse_condition({"packages": ["beta <0.2"]})
    for condition in (installed, old):
        assert evaluate(condition, facts_of({}), known) is None
        assert evaluate(condition, facts_of({}, closed=True), known) is False
        assert evaluate(condition, facts_of({"packages.beta": False}), known) is False
        assert evaluate(Not(condition), facts_of({}, closed=True), known) is True
    assert evaluate(parse_condition({"plan": {"method": "lora"}}), facts_of({}, closed=True), known) is None
    assert missing(installed, facts_of({}), known) == ("packages.beta",)
    assert missing(installed, facts_of({}, closed=True), known) == ()


@pytest.mark.parametrize("table", COMPARISONS, ids=str)
def test_what_is_not_understood_never_decides(table: Mapping[str, object]) -> None:
    condition = parse_condition(table)
    (leaf,) = leaves(condition)
    facts = Facts({leaf.fact: facts_of({"plan.fp16": "maybe"})["plan.fp16"]})
    assert evaluate(condition, facts, known) is None
    assert missing(condition, facts, known) == (leaf.fact,)


def test_auto_asks_and_does_not_answer() -> None:
    facts = facts_of({"plan.load_dtype": "auto"})
    assert evaluate(parse_condition({"plan": {"load_dtype": "float16"}}), facts, known) is None
    with pytest.raises(InvalidConditionError, match=r"plan.load_dtype: found 'auto'"):
        parse_condition({"plan": {"load_dtype": ["auto", "float16"]}})


@pytest.mark.parametrize(("asked", "outcome"), [(">=3.9", True), ("<3.10", False), (">=3.12", None), ("3.11.7", None)])
def test_a_version_stated_as_a_range_decides_what_all_of_it_decides(asked: str, outcome: bool | None) -> None:
    assert evaluate(parse_condition({"python": asked}), facts_of({"python": ">=3.10"}), known) is outcome


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        (">=4", [False, True, True]), (">4", [False, False, True]), ("<=4", [True, True, False]), ("<4", [True, False, False]),
        ("==4", [False, True, False]), ("!=4", [True, False, True]), (">2, <8", [True, True, False]), (4, [False, True, False]),
        ([4, 8], [False, True, True]),
    ],
    ids=str,
)  # fmt: skip
def test_every_comparison_of_numbers_on_both_sides_of_its_bound(asked: object, held: list[bool]) -> None:
    condition = parse_condition({"plan": {"batch_size": asked}})
    assert [evaluate(condition, facts_of({"plan.batch_size": number}), known) for number in (3, 4, 8)] == held


@pytest.mark.parametrize("value", [True, False, "4", ("4",)])
def test_what_is_no_number_decides_no_comparison_of_numbers(value: FactValue) -> None:
    facts = Facts({"plan.batch_size": Fact("plan.batch_size", value, Origin("a reader"))})
    assert evaluate(parse_condition({"plan": {"batch_size": ">=1"}}), facts, known) is None


def test_a_number_with_a_fraction_is_compared_too() -> None:
    condition = parse_condition({"plan": {"learning_rate": ">1e-4"}})
    assert [evaluate(condition, facts_of({"plan.learning_rate": rate}), known) for rate in (1e-4, 2e-4)] == [False, True]


def test_of_a_list_one_value_is_enough() -> None:
    condition = parse_condition({"plan": {"lora_targets": ["q_proj", "v_proj"]}})
    outcomes = [
        evaluate(condition, facts_of({"plan.lora_targets": targets}), known)
        for targets in (["q_proj"], ["k_proj", "v_proj"], ["k_proj"], [])
    ]
    assert outcomes == [True, True, False, False]


def test_a_range_of_a_package_decides_what_all_of_it_decides() -> None:
    facts = facts_of({"packages.alpha": ">=1.0"})
    asked = (">=0.9", "<1.0", ">=1.1")
    assert [evaluate(parse_condition({"packages": [f"alpha {text}"]}), facts, known) for text in asked] == [True, False, None]


def test_every_comparison_is_told_as_it_was_written() -> None:
    condition = parse_condition(
        {
            "packages": ["alpha >=1.0, <2"],
            "gpu": {"compute_capability": ["8.0", ">=9.0"]},
            "plan": {"batch_size": ">1, <=8", "method": ["lora", "dora"], "fp16": True},
            "model": {"type": ["llama", "qwen*"]},
        }
    )
    assert [leaf.text() for leaf in leaves(condition)] == [
        ">=1.0,<2", "==8.0 || >=9.0", ">1, <=8", "lora or dora", "true", "llama or qwen*",
    ]  # fmt: skip


def test_lists_of_values_are_alternatives_and_keys_hold_together() -> None:
    condition = parse_condition({"packages": ["alpha >=1.0", "beta"], "plan": {"method": ["lora", "dora"], "batch_size": ">1, <=8"}})
    stated = {"packages.alpha": "1.1", "packages.beta": "0.2", "plan.method": "dora", "plan.batch_size": 8}
    assert evaluate(condition, facts_of(stated), known) is True
    for name, other in (("packages.alpha", "0.9"), ("packages.beta", False), ("plan.method", "full"), ("plan.batch_size", 9)):
        assert evaluate(condition, facts_of({**stated, name: other}), known) is False


@pytest.mark.parametrize(
    ("pattern", "text", "held"),
    [
        ("chatglm", "ChatGLM", True),
        ("chatglm", "chatglm2", False),
        ("zai-org/*", "ZAI-org/glm-4-9b", True),
        ("*glm*hf", "zai-org/glm-4-9b-chat-hf", True),
        ("*hf*glm", "zai-org/glm-4-9b-chat-hf", False),
        ("*glm*glm", "zai-org/glm-4", False),
        ("*glm*glm", "glm-edge/glm", True),
        (["llama", "qwen*"], "codellama", False),
        (["llama", "qwen*"], "qwen2_moe", True),
    ],
)
def test_texts_are_equal_or_contain_the_pieces_between_stars(pattern: object, text: str, held: bool) -> None:
    facts = facts_of({"model.id": text})
    assert evaluate(parse_condition({"model": {"id": pattern}}), facts, known) is held


def test_two_spellings_of_a_value_are_one_and_a_pattern_stays_as_it_is() -> None:
    condition = parse_condition({"plan": {"optimizer": ["AdamW", "adamw_torch", "*AdamW*8bit"]}})
    (leaf,) = leaves(condition)
    assert leaf.text() == "adamw_torch or *AdamW*8bit"
    outcomes = [
        evaluate(condition, facts_of({"plan.optimizer": name}), known) for name in ("adamw_torch", "paged_adamw_8bit", "adamw_torch_fused")
    ]
    assert outcomes == [True, True, False]


def test_a_bare_package_name_means_that_it_is_installed() -> None:
    condition = parse_condition({"packages": ["Flash_Attn"]})
    assert isinstance(condition, PackageIs)
    assert (condition.fact, condition.text()) == ("packages.flash-attn", "installed")
    assert evaluate(condition, facts_of({"packages.flash-attn": "2.7.0.post2"}), known) is True


def test_what_a_condition_accuses_is_not_what_it_denies() -> None:
    condition = parse_condition({"packages": ["alpha"], "not": {"packages": ["beta"]}, "any": [{"plan": {"fp16": True}}]})
    assert [leaf.fact for leaf in accused(condition)] == ["packages.alpha", "plan.fp16"]
    assert [leaf.fact for leaf in leaves(condition)] == ["packages.alpha", "packages.beta", "plan.fp16"]


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({}, ["an empty condition"]),
        ({"plan": {}}, ["an empty condition"]),
        ({"plan": {"metod": "lora"}}, ["'plan.metod'", "perhaps 'plan.method'"]),
        ({"optimiser": "adamw"}, ["'optimiser'", "expected one of the vocabulary"]),
        ({"plan": {"method": "loraa"}}, ["plan.method", "'loraa'", "lora, qlora, dora"]),
        ({"plan": {"method": ["lora", "loraa"]}}, ["plan.method", "'loraa'"]),
        ({"plan": {"method": []}}, ["plan.method", "an empty list"]),
        ({"plan": {"fp16": "maybe"}}, ["plan.fp16", "'maybe'", "expected bool"]),
        ({"plan": {"load_dtype": "float17"}}, ["plan.load_dtype", "'float17'", "float32, float16"]),
        ({"plan": {"batch_size": "many"}}, ["plan.batch_size", "'many'", '">1"']),
        ({"plan": {"batch_size": ">e"}}, ["plan.batch_size", "'>e'"]),
        ({"plan": {"batch_size": ">1,"}}, ["plan.batch_size", "'>1,'"]),
        ({"plan": {"batch_size": ">1e999"}}, ["plan.batch_size"]),
        ({"plan": {"batch_size": True}}, ["plan.batch_size", "True", "expected a number"]),
        ({"plan": {"learning_rate": [1e-4, True]}}, ["plan.learning_rate", "True", "expected a number"]),
        ({"plan": {"batch_size": [1, ">4"]}}, ["plan.batch_size", "'>4'"]),
        ({"model": {"type": 3}}, ["model.type", "3", "expected a text"]),
        ({"model": {"type": ""}}, ["model.type", "expected a text"]),
        ({"python": "three"}, ["python", "'three'", "expected a version or a range"]),
        ({"python": 3.1}, ["python", "3.1", "in quotes"]),
        ({"packages": "alpha >=1"}, ["packages", "expected a list of requirement strings"]),
        ({"packages": []}, ["packages", "[]"]),
        ({"packages": ["alpha", 3]}, ["packages", "3", "expected a list of requirement strings"]),
        ({"packages": ["alpha>=1"]}, ["packages", "'alpha>=1'", "a name, a space and a version range"]),
        ({"packages": ["alpha 1.0"]}, ["packages", "'alpha 1.0'"]),
        ({"packages": ["alpha >=1.0 ||"]}, ["packages", "'alpha >=1.0 ||'"]),
        ({"packages": ["alpha >=banana"]}, ["packages", "'alpha >=banana'"]),
        ({"packages": {"alpha": ">=1"}}, ["packages", "expected a list of requirement strings"]),
        ({"packages.alpha": ">=1"}, ["packages.alpha", "expected packages, a list of requirements"]),
        ({"any": {"plan": {"fp16": True}}}, ["any", "expected a list of tables"]),
        ({"any": []}, ["any", "expected a list of tables"]),
        ({"all": [1]}, ["all", "expected a list of tables"]),
        ({"any": [{}]}, ["an empty condition"]),
        ({"not": ["alpha"]}, ["not", "expected a table"]),
        ({"not": {}}, ["an empty condition"]),
        ({"not": {"any": [{"plan": {"methd": "lora"}}]}}, ["'plan.methd'", "perhaps 'plan.method'"]),
    ],
    ids=str,
)
def test_an_author_is_told_the_part_and_what_was_expected(table: Mapping[str, object], told: list[str]) -> None:
    with pytest.raises(InvalidConditionError) as error:
        parse_condition(table)
    for words in told:
        assert words in str(error.value)


@given(st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner, max_size=3),
    ),
    max_leaves=12,
).filter(lambda value: isinstance(value, dict)))  # fmt: skip
def test_any_table_is_a_condition_or_an_error_with_a_message(table: Mapping[str, object]) -> None:
    told = ""
    try:
        outcome = evaluate(parse_condition(table), facts_of({}), known)
    except InvalidConditionError as error:
        told, outcome = str(error), None
    assert outcome is None
    assert told == "" or "expected" in told


@pytest.mark.parametrize(
    ("python", "wanted", "held"),
    [
        ("3.12", ">=3.12.4", None),
        ("3.12", "<3.12.4", None),
        ("3.12", ">=3.12", True),
        ("3.12", ">=3.10, <3.13", True),
        ("3.11", ">=3.12.4", False),
        ("3.12.5", ">=3.12.4", True),
    ],
)
def test_a_python_that_is_told_without_its_last_number_is_any_of_its_releases(python: str, wanted: str, held: bool | None) -> None:
    assert evaluate(parse_condition({"python": wanted}), facts_of({"python": python}), known) is held
