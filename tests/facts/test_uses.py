"""Patterns of uses: what each form of them means, and what is kept of a use that some of them mean."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.old_spellings import OLD, as_before
from envdoctor.facts.uses import _is_text, is_meant, is_pattern, narrow
from envdoctor.facts.values import parse_value
from envdoctor.rules.calls import keep_awaited, list_awaited

MEANT = (
    ("trl.SFTTrainer", "trl.trainer.sft_trainer.SFTTrainer", True),
    ("trl.SFTTrainer", "trl.experimental.sft.SFTTrainer", False),
    ("trl.SFTTrainer", "mine.SFTTrainer", False),
    ("trl.SFTTrainer", "trl.SFTTrainer(packing)", False),
    ("trl.SFTTrainer(packing)", "trl.trainer.SFTTrainer(model, packing=True)", True),
    ("trl.SFTTrainer(packing)", "trl.SFTTrainer(model)", False),
    ("transformers.a.f", "transformers.a.f", True),
    ("transformers.a.f", "transformers.f", False),
    ("transformers.a.*", "transformers.a.b.f", True),
    ("transformers.a.*", "transformers.x.a.f", False),
    ("trl", "trl.trainer.SFTTrainer", True),
    ("trl", "trlx.SFTTrainer", False),
    ("SFTTrainer(packing)", "trl.SFTTrainer(packing=True)", True),
    ("trl.SFTTrainer(packing)", "SFTTrainer(packing)", True),
    ("trl.PPOTrainer.step", "PPOTrainer.step", True),
    ("peft.LoraConfig(bias=all)", "peft.LoraConfig(r=8, bias=all)", True),
    ("peft.LoraConfig(bias=all)", "peft.LoraConfig(bias=none)", False),
    ("peft.LoraConfig(bias=all)", "peft.LoraConfig(bias)", False),
    ("a.f(x=*)", "a.f(x=1)", True),
    ("a.f(x=*)", "a.f(x=None)", False),
    ("a.f(x=*)", "a.f(x=...)", False),
    ("a.f(x=...|*)", "a.f(x=...)", True),
    ("a.f(0|path=*.py)", "a.f(0=data/x.py)", True),
    ("a.f(0|path=*.py)", "a.f(path=x.json)", False),
    ("a.f(!x)", "a.f(y)", True),
    ("a.f(!x)", "a.f(x=1)", False),
    ("a.f(!x)", "a.f(y, **)", False),
    ("t.T(args=tr.TA)", "t.T(args=tr.training_args.TA)", True),
    ("t.T(args=tr.TA)", "t.T(args=other.TA)", False),
    ("?.save(x)", "?.save(x=1)", True),
    ("?.save(x)", "torch.save(x=1)", False),
    ("def a.*T.f(!n)", "def a.T.f(self, m)", True),
    ("def a.*T.f(!n)", "a.T.f(self, m)", False),
    ("env:A", "env:A=1", True),
    ("env:A=1|on", "env:A=ON", True),
    ("env:A=1|on", "env:A=0", False),
    ("env:A=*b:true*", "env:A=c,b:True", True),
    ("$ swift sft", "$ swift sft", True),
    ("$ swift", "$ swift sft", True),
    ("$ swift s", "$ swift sft", False),
    ("?.a = peft.f", "?.a = peft.utils.f", True),
    ("?.a = peft.f", "?.b = peft.f", False),
)


@pytest.mark.parametrize(("pattern", "use", "meant"), MEANT)
def test_what_a_pattern_means(pattern: str, use: str, meant: bool) -> None:
    assert is_meant(pattern, use) is meant


def test_a_package_is_no_method_of_its_name() -> None:
    assert not is_meant("trl.SFTTrainer.evaluate", "evaluate")
    assert not is_meant("llama_index.llms.openai", "openai")


@pytest.mark.parametrize("text", ["SFTTrainer(packing)", "", "trl.", "trl.SFTTrainer(", "trl.SFT Trainer", "trl.f(a b)", "env:", "$ "])
def test_what_has_no_package_is_no_pattern(text: str) -> None:
    assert not is_pattern(text)


def test_every_pattern_of_the_rules_has_the_form() -> None:
    assert [pattern for pattern in list_awaited() if not is_pattern(pattern)] == []


@given(st.lists(st.sampled_from([pattern for pattern, _, _ in MEANT]), unique=True), st.sampled_from([use for _, use, _ in MEANT]))
def test_what_is_kept_of_a_use_means_what_the_use_does(patterns: list[str], use: str) -> None:
    kept = narrow(use, patterns)
    assert (kept is None) is not any(is_meant(pattern, use) for pattern in patterns)
    if kept is not None:
        assert [is_meant(pattern, kept) for pattern in patterns] == [is_meant(pattern, use) for pattern in patterns]


@given(st.lists(st.sampled_from([pattern for pattern, _, _ in MEANT]), unique=True))
def test_of_a_script_is_kept_what_some_pattern_means(patterns: list[str]) -> None:
    uses = tuple(dict.fromkeys(use for _, use, _ in MEANT))
    origin = Origin("train.py", "train.py", 1)
    facts = Facts().with_facts([Fact("plan.code_uses", uses, origin, (origin,) * len(uses))])
    kept = keep_awaited(facts, tuple(patterns)).value("plan.code_uses") or ()
    assert kept == tuple(sorted({told for use in uses if (told := narrow(use, patterns)) is not None}))


def test_old_spellings_in_facts_are_read_as_what_they_meant() -> None:
    assert parse_value("plan.code_uses", ["resume_download", "SFTTrainer(packing)"]) == (
        "huggingface_hub.hf_hub_download(resume_download)",
        "SFTTrainer(packing)",
    )
    assert parse_value("plan.code_uses", "trl.SFTTrainer(model, packing), $ swift sft") == ("trl.SFTTrainer(model, packing)", "$ swift sft")


@pytest.mark.parametrize(
    ("now", "before"),
    [
        ("trl.SFTTrainer(packing) or trl.SFTTrainer(max_seq_length)", "SFTTrainer(packing) or SFTTrainer(max_seq_length)"),
        ("trl.PPOTrainer.step", "PPOTrainer.step"),
        ("transformers.AdamW", "transformers.AdamW"),
        ("datasets.load_metric", "load_metric or datasets.load_metric"),
        ("not env:HF_HOME", "not HF_HOME"),
        *((" or ".join(patterns), old) for old, (_, patterns) in OLD.items() if "find_pruneable" not in old),
    ],
)
def test_a_baseline_knows_a_condition_by_its_old_words(now: str, before: str) -> None:
    assert as_before(now) == before


_FORMS = st.text(alphabet="ab*|.", max_size=9)


@given(_FORMS, st.text(alphabet="ab.\n", max_size=9))
def test_a_form_means_what_the_regular_expression_of_it_does(form: str, text: str) -> None:
    expected = re.compile("|".join(".*".join(map(re.escape, one.split("*"))) for one in form.split("|")), re.DOTALL)
    assert _is_text(form, text) is (expected.fullmatch(text) is not None)
