"""A model_type and a tokenizer class that the release does not know: what is certain, what is possible, what is left alone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from envdoctor.checks.architectures import (
    CHECKS,
    CLASSES_WITH_A_RULE,
    TYPES_WITH_A_RULE,
    model_type_unknown_to_transformers,
    tokenizer_class_unknown_to_transformers,
)
from envdoctor.checks.hit import Hit
from envdoctor.engine.defaults import derive
from envdoctor.engine.diagnosis import diagnose
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import exact, version_condition
from envdoctor.files.toml import read_toml
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.sources.model.snapshot_facts import collect_snapshot
from envdoctor.world.architectures import oldest, span_of
from envdoctor.world.releases import release_texts
from tests.each import each

RULES = Path(__file__).parent.parent.parent / "rules"
TABLE = json.loads((RULES.parent / "envdoctor" / "data" / "model_types.json").read_text(encoding="utf-8"))
RELEASES = release_texts("transformers")


def situation(transformers: object = None, **stated: object) -> Facts:
    """Facts as a person states them."""
    raw = {"packages.transformers": transformers} | {name.replace("__", "."): value for name, value in stated.items()}
    return Facts().with_facts(Fact(name, parse_value(name, value), Origin("test")) for name, value in raw.items() if value is not None)


def native(transformers: object, model_type: str, **stated: object) -> Facts:
    return situation(transformers, model__type=model_type, model__remote_code=False, **stated)


def tokenizer(transformers: object, name: str, **stated: object) -> Facts:
    return situation(transformers, model__tokenizer_class=name, **({"model__remote_code": False} | stated))


def outcomes(hits: tuple[Hit, ...]) -> list[tuple[bool | None, tuple[str, ...]]]:
    return [(hit.outcome, hit.missing) for hit in hits]


def test_a_type_that_a_later_release_brought() -> None:
    assert model_type_unknown_to_transformers(native("4.47.1", "modernbert")) == (
        Hit(
            rule="model-type-unknown-to-transformers",
            outcome=True,
            because=(
                ("model.type", "known to transformers from 4.48.0 on"),
                ("packages.transformers", "before 4.48.0"),
                ("model.remote_code", "none for it"),
            ),
            detail="transformers 4.47.1 does not know model_type modernbert, which is known to transformers from 4.48.0 on",
            packages=("transformers",),
            pins=(("transformers", ">=4.48.0"),),
        ),
    )


def test_a_type_that_left() -> None:
    hit = model_type_unknown_to_transformers(native("5.3.0", "nezha"))[0]
    assert hit.because[:2] == (
        ("model.type", "known to transformers from 4.21.0 to before 5.0.0"),
        ("packages.transformers", "5.0.0 or later"),
    )
    assert hit.pins == (("transformers", ">=4.21.0,<5.0.0"),)
    hit = model_type_unknown_to_transformers(native("5.3.0", "transfo-xl"))[0]
    assert hit.because[0] == ("model.type", "known to transformers before 5.0.0")
    assert hit.pins == (("transformers", f">={oldest()},<5.0.0"),)


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (native("4.27.4", "llama"), [(True, ())]),
        (native("4.28.0", "llama"), []),
        (situation("4.27.4", model__type="llama"), [(None, ("model.remote_code",))]),
        (situation("4.27.4", model__type="llama", model__remote_code=True), []),
        (situation("4.27.4", model__type="llama", model__remote_code="perhaps"), [(None, ("model.remote_code",))]),
        (native(">=4.30,<4.48", "modernbert"), [(True, ())]),
        (native(">=4.30", "modernbert"), [(None, ("packages.transformers",))]),
        (situation(">=4.30", model__type="modernbert"), [(None, ("packages.transformers", "model.remote_code"))]),
        (native(">=4.48", "modernbert"), []),
        (native("*", "modernbert"), []),
        (native("4.48.0.dev0", "modernbert"), []),
        (native("4.47.0.dev0", "modernbert"), [(True, ())]),
        (native("4.47.1+corp", "modernbert"), [(True, ())]),
        (native("9.0", "modernbert"), []),
        (native("4.10.0", "bert"), []),
        (native("<4.15", "bert"), []),
        (native(False, "modernbert"), []),
        (native(None, "modernbert"), []),
        (native("a fork", "modernbert"), []),
        (native("4.30.0", "chatglm"), []),  # no release's
        (native("4.30.0", "my-own-type"), []),
        (native("4.45.2", "glm"), []),  # transformers-lacks-glm tells it
        (native("4.30.0", "modernbert", model__weights_format="gguf"), []),
        (situation("4.30.0"), []),
        # LLaVA's own package registers its type with AutoConfig.
        (native("4.31.0", "llava"), [(None, ("packages.llava",))]),
        (native("4.31.0", "llava", packages__llava="1.1.3"), []),
        (native("4.31.0", "llava", packages__llava=False), [(True, ())]),
        # vLLM 0.11 has a configuration of its own for OLMo 3; who loads decides.
        (native("4.56.2", "olmo3", packages__vllm="0.11.0"), [(None, ("plan.method",))]),
        (native("4.56.2", "olmo3", packages__vllm="0.11.0", plan__method="inference"), []),
        (native("4.56.2", "olmo3", packages__vllm="0.11.0", plan__code_uses=("vllm.LLM",)), []),
        (native("4.56.2", "olmo3", packages__vllm="0.11.0", plan__code_uses=("transformers.AutoModel",)), [(True, ())]),
        (native("4.56.2", "olmo3", packages__vllm="0.11.0", plan__method="lora"), [(True, ())]),
        (native("4.56.2", "olmo3", packages__vllm="0.10.2", plan__method="inference"), [(True, ())]),
    ],
)
def test_model_types(facts: Facts, found: list[tuple[bool | None, tuple[str, ...]]]) -> None:
    assert outcomes(model_type_unknown_to_transformers(facts)) == found


def test_a_closed_scan_without_the_llava_package() -> None:
    facts = Facts(native("4.31.0", "llava").by_name, closed=True)
    assert outcomes(model_type_unknown_to_transformers(facts)) == [(True, ())]


def test_a_tokenizer_class_that_a_later_release_brought() -> None:
    assert tokenizer_class_unknown_to_transformers(tokenizer("4.36.2", "Qwen2Tokenizer")) == (
        Hit(
            rule="tokenizer-class-unknown-to-transformers",
            outcome=True,
            because=(
                ("model.tokenizer_class", "a class of transformers from 4.37.0 on"),
                ("packages.transformers", "before 4.37.0"),
                ("model.remote_code", "none for it"),
            ),
            detail="AutoTokenizer of transformers 4.36.2 does not know tokenizer_class Qwen2Tokenizer, "
            "a class of transformers from 4.37.0 on",
            packages=("transformers",),
            pins=(("transformers", ">=4.37.0"),),
        ),
    )


def test_a_tokenizer_class_of_lost_code() -> None:
    hit = tokenizer_class_unknown_to_transformers(tokenizer("4.41.2", "QWenTokenizer"))[0]
    assert hit.detail == "AutoTokenizer of transformers 4.41.2 does not know tokenizer_class QWenTokenizer, a class of no release"
    assert hit.pins == ()


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (tokenizer("4.37.0", "Qwen2Tokenizer"), []),
        (tokenizer("4.36.2", "Qwen2TokenizerFast"), [(True, ())]),
        (tokenizer("4.36.2", "GPTNeoXTokenizer"), []),  # its Fast twin does
        (tokenizer("4.20.0", "PreTrainedTokenizerFast"), []),
        (tokenizer("4.57.6", "Siglip2Tokenizer"), [(True, ())]),  # 5.1.0 has it
        (tokenizer("5.0.0", "Siglip2Tokenizer"), []),  # takes another
        (tokenizer("5.0.0rc1", "Siglip2Tokenizer"), []),
        (tokenizer("5.0.0", "QWenTokenizer"), []),
        (tokenizer("4.57.6", "TokenizersBackend"), []),  # tokenizers-backend-class-needs-transformers-5 tells it
        (tokenizer("4.57.6", "LLaMATokenizer"), []),  # llama-tokenizer-class-misspelled tells it
        (tokenizer("4.41.2", "QWenTokenizer", model__remote_code=True), []),
        (tokenizer("4.41.2", "QWenTokenizer", model__remote_code=None), [(None, ("model.remote_code",))]),
        (tokenizer("4.41.2", "QWenTokenizer", plan__tokenize=False), []),
        (tokenizer("4.10.0", "OldTokenizer"), []),  # before the table
        (tokenizer("4.10.0", "Qwen2Tokenizer"), [(True, ())]),
        (tokenizer(">=4.36", "Qwen2Tokenizer"), [(None, ("packages.transformers",))]),
        (tokenizer(">=4.36,<4.37", "Qwen2Tokenizer"), [(True, ())]),
        (tokenizer("*", "Qwen2Tokenizer"), []),
        (tokenizer(None, "Qwen2Tokenizer"), []),
        (situation("4.41.2"), []),
        # The type of the model is lacking too: told once.
        (tokenizer("4.36.2", "Qwen2Tokenizer", model__type="qwen2"), []),
        (tokenizer("4.36.2", "Qwen2Tokenizer", model__type="llama"), [(True, ())]),
    ],
)
def test_tokenizer_classes(facts: Facts, found: list[tuple[bool | None, tuple[str, ...]]]) -> None:
    assert outcomes(tokenizer_class_unknown_to_transformers(facts)) == found


@pytest.mark.parametrize(("own", "found"), [(True, []), (False, [(True, ())])])
def test_code_of_the_tokenizer_itself_decides(own: bool, found: list[tuple[bool | None, tuple[str, ...]]]) -> None:
    facts = tokenizer("4.36.2", "Qwen2Tokenizer", model__remote_code=not own)
    facts = facts.with_facts([Fact("model.tokenizer_remote_code", own, Origin("test"))])
    assert outcomes(tokenizer_class_unknown_to_transformers(facts)) == found


CHECKED = sorted(set(TABLE["model_types"]) - TYPES_WITH_A_RULE - {"llava"})
BY_ROW = {tuple(TABLE["model_types"][name]): name for name in CHECKED}


def accuses(model_type: str, releases: Iterable[str]) -> list[bool]:
    """Whether the check is certain of a model of this type, native, with each of the releases."""
    stated = [Fact("model.type", model_type, Origin("test")), Fact("model.remote_code", False, Origin("test"))]
    found = []
    for release in releases:
        facts = Facts().with_facts([*stated, Fact("packages.transformers", exact(release), Origin("test"))])
        hits = outcomes(model_type_unknown_to_transformers(facts))
        assert hits in ([], [(True, ())])
        found.append(bool(hits))
    return found


@pytest.mark.large
@each("row", sorted(BY_ROW), ids=BY_ROW.get)
def test_of_every_release_those_without_a_type_are_accused_and_no_other(row: tuple[str, ...]) -> None:
    bounds = [Version(text) for text in row]
    knows = [sum(Version(release) >= bound for bound in bounds) % 2 == 1 for release in RELEASES]
    may_know = [row[0] == oldest() and Version(release) < bounds[0] for release in RELEASES]
    expected = [not (known or maybe) for known, maybe in zip(knows, may_know, strict=True)]
    assert accuses(BY_ROW[row], RELEASES) == expected


def test_every_type_is_accused_just_before_it_came_and_from_where_it_left() -> None:
    for name in CHECKED:
        for place, edge in enumerate(TABLE["model_types"][name]):
            before = RELEASES[RELEASES.index(edge) - 1]
            assert accuses(name, (before, edge)) == ([edge != oldest(), False] if place % 2 == 0 else [False, True]), name


NAMES = st.sampled_from([*sorted(TABLE["model_types"]), "chatglm", "unheard-of"])
CLASSES = st.sampled_from([*sorted(TABLE["tokenizers"]), "ChatGLMTokenizer", "UnheardOfTokenizer"])
POINTS = st.sampled_from(RELEASES)
VALUES = POINTS | st.tuples(POINTS, POINTS).map(lambda pair: f">={pair[0]},<{pair[1]}") | POINTS.map(lambda text: f">={text}")


@given(NAMES, CLASSES, VALUES, st.sampled_from((True, False, None)))
def test_every_pin_cures_and_every_range_holds_what_its_releases_hold(
    model_type: str, name: str, transformers: str, remote_code: bool | None
) -> None:
    facts = situation(transformers, model__type=model_type, model__tokenizer_class=name, model__remote_code=remote_code)
    for check in CHECKS:
        for hit in check(facts):
            assert hit.outcome is not False
            assert (hit.outcome is None) is bool(hit.missing)
            for _, pin in hit.pins:
                cures = [release for release in RELEASES if version_condition(pin).admits(exact(release))]
                assert cures
                for release in (cures[0], cures[-1]):
                    there = facts.with_facts([Fact("packages.transformers", exact(release), Origin("test"))])
                    assert [again for again in check(there) if again.rule == hit.rule] == []


def test_what_is_learned_never_overturns_what_is_certain() -> None:
    certain = {"model__remote_code": False}
    for first, second in pairwise([{}, certain, {**certain, "plan__tokenize": True}]):
        for check in CHECKS:
            facts = {"model__type": "llama", "model__tokenizer_class": "Qwen2Tokenizer"}
            before = outcomes(check(situation("4.27.4", **facts, **first)))
            after = outcomes(check(situation("4.27.4", **facts, **second)))
            assert before == after or before[0][0] is None


def test_types_with_a_rule_are_those_of_the_rules_and_the_bounds_agree() -> None:
    found = set()
    for path in RULES.glob("transformers/transformers-lacks-*.toml"):
        table = read_toml(path)
        affected = table["affected"]
        assert isinstance(affected, dict)
        names = affected["model"]["type"]
        for name in [names] if isinstance(names, str) else names:
            spans = span_of(name)
            assert spans is not None
            assert affected["packages"] == [f"transformers <{spans[0].first}"], path
            found.add(name)
    assert found == TYPES_WITH_A_RULE


def test_classes_with_a_rule_have_one() -> None:
    rule = read_toml(RULES / "frameworks" / "tokenizers-backend-class-needs-transformers-5.toml")
    affected = rule["affected"]
    assert isinstance(affected, dict)
    assert {affected["model"]["tokenizer_class"]} == CLASSES_WITH_A_RULE


# --- real snapshots ------------------------------------------------------------------------------


def told(path: Path, transformers: str) -> list[tuple[str, str]]:
    """What rules and these checks say of a snapshot whose type or tokenizer the release may not know."""
    collected = collect_snapshot(path)
    release = Fact("packages.transformers", exact(transformers), Origin("test"))
    facts = derive(Facts().with_facts((*collected.facts, release)))
    pages = load_rulebook().rules
    hits = [hit for check in CHECKS for hit in check(facts)]
    findings = diagnose(facts, pages, release_texts, hits=hits).findings
    return [(one.rule.id, one.status) for one in findings if "unknown-to-transformers" in one.rule.id or "lacks" in one.rule.id]


@pytest.mark.parametrize(
    ("transformers", "expected"),
    [("4.45.2", [("transformers-lacks-glm", "matched")]), ("4.46.0", []), ("5.23.0", [])],
)
def test_glm_4_in_the_native_format(fixtures: Path, transformers: str, expected: list[tuple[str, str]]) -> None:
    assert told(fixtures / "glm-4-9b-chat-hf", transformers) == expected


@pytest.mark.parametrize("transformers", ["4.30.2", "4.41.2", "5.23.0"])
def test_chatglm_runs_its_own_code(fixtures: Path, transformers: str) -> None:
    assert told(fixtures / "chatglm3-6b", transformers) == []


def test_a_healthy_llama(fixtures: Path) -> None:
    assert told(fixtures / "llama-2-7b-hf", "4.31.0") == []


def test_a_type_that_a_script_registers() -> None:
    registers = ["transformers.AutoConfig.register"]
    assert model_type_unknown_to_transformers(native("4.47.1", "modernbert", plan__code_uses=registers)) == ()


@pytest.mark.parametrize(
    ("transformers", "expected"),
    [
        ("4.47.1", [("model-type-unknown-to-transformers", "matched")]),
        ("4.48.0", []),
    ],
)
def test_a_type_without_a_rule(tmp_path: Path, transformers: str, expected: list[tuple[str, str]]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "modernbert", "architectures": ["ModernBertForMaskedLM"]}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    assert told(tmp_path, transformers) == expected


@pytest.mark.parametrize(
    ("transformers", "expected"),
    [
        ("4.36.2", [("tokenizer-class-unknown-to-transformers", "matched")]),
        ("4.37.0", []),
    ],
)
def test_a_llama_with_the_tokenizer_of_another(tmp_path: Path, transformers: str, expected: list[tuple[str, str]]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "Qwen2Tokenizer"}))
    assert told(tmp_path, transformers) == expected
