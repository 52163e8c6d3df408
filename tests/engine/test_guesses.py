"""Rules that wait for more than one thing, where a file leaves packages open and an installer would fill some of them in."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.engine.diagnosis import Finding, diagnose
from envdoctor.engine.likely_install import taken
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.vocabulary import TRAINING
from envdoctor.records import replace
from envdoctor.rules.rule import Rule
from envdoctor.world.releases import known_until, release_texts
from tests.remedies.universe import rule


def found(facts: Mapping[str, object], page: Rule) -> tuple[Finding, ...]:
    """What is found where a requirements file states these facts, with what an installer took on a day in 2024."""
    said = {name: Fact(name, parse_value(name, raw), Origin("a file", "requirements.txt", 1)) for name, raw in facts.items()}
    with known_until("2024-06-15"):
        whole = taken(Facts(said))
        return diagnose(Facts(said), [page], release_texts, taken=whole).findings


def test_a_package_that_nothing_brings_is_waited_for_as_if_nothing_were_taken() -> None:
    page = rule("flash", {"packages": ["transformers >=4.40, <4.45", "flash-attn >=2.5"]})
    (one,) = found({"packages.transformers": "4.41.2", "plan.attn": "flash_attention_2"}, page)
    assert (one.status, one.missing, one.detail) == ("possible", ("packages.flash-attn",), "")


def test_a_rule_that_waits_for_the_plan_too_names_the_release_that_it_is_about() -> None:
    page = rule("tokenizers", {"packages": ["transformers >=4.40, <4.45", "tokenizers >=0.19"], "plan": {"fp16": True}})
    (one,) = found({"packages.transformers": "4.41.2"}, page)
    assert (one.status, one.newest) == ("possible", True)
    assert one.detail == "left open: tokenizers 0.19.1 (taken for transformers on 2024-06-15)"
    assert [(reason.fact, str(reason.value)) for reason in one.because] == [
        ("packages.transformers", "4.41.2"),
        ("packages.tokenizers", "0.19.1"),
    ]


def test_a_note_is_not_told_of_what_an_installer_would_take() -> None:
    condition = {"packages": ["transformers >=4.40, <4.45", "tokenizers >=0.19"], "plan": {"fp16": True}}
    assert found({"packages.transformers": "4.41.2"}, replace(rule("slow", condition), severity="note")) == ()


def test_a_guess_does_not_stand_on_another_guess() -> None:
    page = rule("both", {"packages": ["transformers >=4.40, <4.45", "tokenizers >=0.19", "flash-attn >=2.5"]})
    assert found({"packages.transformers": "4.41.2", "plan.attn": "flash_attention_2"}, page) == ()


def test_an_alternative_about_a_package_that_nothing_brings_leaves_the_others_to_tell() -> None:
    ways = [{"plan": {"report_to": ["tensorboard"]}}, {"packages": ["flash-attn <3"], "plan": {"attn": "flash_attention_2"}}]
    page = rule("logs", {"packages": ["transformers >=4.40, <4.45", "tokenizers >=0.19"], "any": ways})
    (one,) = found({"packages.transformers": ">=4.40"}, page)
    assert (one.status, one.hidden, one.missing) == (
        "possible",
        False,
        ("packages.transformers", "packages.tokenizers", "plan.report_to"),
    )


def test_that_a_package_is_absent_is_no_guess_of_an_alternative() -> None:
    page = rule("lacks", {"packages": ["transformers >=4.40, <4.45"], "plan": {"quant": "gptq"}, "not": {"packages": ["optimum"]}})
    assert not any(one.newest and not one.because for one in found({"packages.transformers": ">=4.40"}, page))


PAIR = {"packages": ["datasets <2.21", "numpy >=2"], "calls": ["?.with_format(0|type=numpy)"]}


def test_two_pins_at_odds_are_told_where_no_script_was_read() -> None:
    (one,) = found({"packages.datasets": "2.20.0", "packages.numpy": "2.0.0"}, rule("copies", PAIR))
    assert (one.status, one.hidden, one.missing) == ("possible", False, ("plan.code_uses",))


def test_two_pins_at_odds_are_not_told_of_a_script_that_makes_no_such_call() -> None:
    said = {"packages.datasets": "2.20.0", "packages.numpy": "2.0.0"}
    assert found({**said, "plan.code_uses": ["datasets.load_dataset"]}, rule("copies", PAIR)) == ()


def test_one_old_pin_alone_says_nothing_of_what_a_script_may_call() -> None:
    assert found({"packages.datasets": "2.20.0"}, rule("alone", {**PAIR, "packages": ["datasets <2.21"]})) == ()
    assert found({"packages.datasets": "2.20.0", "packages.numpy": ">=1"}, rule("open", PAIR)) == ()


def test_hidden_guesses_take_the_place_of_none_that_is_shown() -> None:
    said = {
        name: Fact(name, parse_value(name, raw), Origin("a file", "requirements.txt", 1))
        for name, raw in {"packages.transformers": "4.41.2"}.items()
    }
    hidden = [rule(f"a{number}", {"packages": ["transformers ==4.41.2", "accelerate"], "plan": {"fp16": True}}) for number in range(3)]
    shown = rule("z", {"packages": ["transformers >=4.40, <4.45", "tokenizers >=0.19"], "plan": {"fp16": True}})
    with known_until("2024-06-15"):
        told = diagnose(Facts(said), [*hidden, shown], release_texts, taken=taken(Facts(said))).findings
    assert [one.rule.id for one in told if not one.hidden] == ["z"]
    assert any(one.hidden for one in told)


def test_two_packages_that_do_not_go_together_are_told_of_where_nobody_trains_anything() -> None:
    spared = {"any": [{"plan": {"method": sorted(TRAINING)}}, {"plan": {"script": True}}, {"calls": ["transformers.Trainer"]}]}
    page = rule("client", {"packages": ["openai <1.55.3", "httpx >=0.28"], "any": [{"calls": ["openai"]}, {"not": spared}]})
    pair = {"packages.openai": "1.54.0", "packages.httpx": "0.28.0"}
    (one,) = found(pair, page)
    assert (one.status, one.missing) == ("matched", ())
    (training,) = found({**pair, "plan.method": "lora"}, page)
    assert (training.status, training.missing) == ("possible", ("plan.code_uses",))
    (undecided,) = found({**pair, "plan.batch_size": 4}, page)
    assert undecided.status == "possible"


def test_a_rule_that_asks_for_one_method_still_waits_for_it() -> None:
    spared = {"any": [{"plan": {"method": ["lora", "full"]}}, {"plan": {"script": True}}]}
    page = rule("serves", {"packages": ["vllm <0.10"], "not": spared})
    (one,) = found({"packages.vllm": "0.9.0"}, page)
    assert (one.status, one.missing) == ("possible", ("plan.method",))


def test_what_spares_the_attention_of_torch_needs_no_plan_either() -> None:
    own = {"packages": ["transformers >=4.55"], "plan": {"attn": ["eager", "sdpa", "flex_attention"]}}
    page = rule("wheels", {"packages": ["flash-attn <2.8.3", "torch >=2.6"], "all": [{"not": own}, {"any": [{"plan": {"script": False}}]}]})
    pair = {"packages.flash-attn": "2.8.2", "packages.torch": "2.6.0"}
    assert [one.status for one in found(pair, page)] == ["matched"]
    assert found({**pair, "packages.transformers": "4.56.0", "plan.attn": "sdpa"}, page) == ()
    assert [one.status for one in found({**pair, "plan.method": "lora"}, page)] == ["possible"]
