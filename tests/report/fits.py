"""Fit reports made by hand: a LoRA run of a 9B model with long rows, and what becomes of it."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.facts.fact import Skip
from envdoctor.lengths.values import Cost, LengthAdvice, Lengths, LongRow, Saving, TokenizerUsed
from envdoctor.memory.advice import Advice
from envdoctor.memory.budget import usable_of
from envdoctor.memory.estimate import GIB, Assumption, Estimate, Moment, Range, Term
from envdoctor.memory.fits import verdict
from envdoctor.memory.plan import Adapter, Plan, Stack
from envdoctor.report.fit import FitReport

HOSTILE = "evil\x1b[2J<script>alert(1)</script>&'\"\u202e"
PLAN = Plan("adapter", "bfloat16", None, 1, 6001, Adapter(8, ("q_proj", "k_proj", "v_proj")), stack=Stack("2.5.0", "4.48.0", "0.13.2"))


def gib(low: float, expected: float, high: float) -> Range:
    return Range(low * GIB, expected * GIB, high * GIB)


def moment(name: str, **terms: float) -> Moment:
    known: dict[str, Term] = {
        "weights": "weights", "adapters": "adapters", "gradients": "gradients", "optimizer": "optimizer",
        "activations": "activations", "logits": "logits", "other": "other",
    }  # fmt: skip
    return Moment(name, {known[term]: count * GIB for term, count in terms.items()})


ESTIMATE = Estimate(
    "closed-form",
    (
        moment("loading", weights=17.5, other=0.25),
        moment("loss", weights=17.5, adapters=0.02, optimizer=0.04, activations=47.5, logits=10.25, other=0.25),
        moment("backward", weights=17.5, adapters=0.02, gradients=0.02, optimizer=0.04, activations=46.5, logits=6.5, other=0.25),
        moment("optimizer step", weights=17.5, adapters=0.02, gradients=0.02, optimizer=0.04, other=0.25),
    ),
    gib(71.5, 75.56, 79.25),
    gib(75.5, 80.0, 90.5),
    gib(0.5, 0.9, 1.3),
    notes=("The shapes are those of the longest row.",),
)


def report(card: float | None = 80.0, *, name: str = "NVIDIA H800") -> FitReport:
    memory = None if card is None else usable_of(card) * GIB
    return FitReport(
        version="0.1.0",
        model="zai-org/glm-4-9b-chat-hf",
        plan=PLAN,
        stack="torch 2.5.0, transformers 4.48.0, peft 0.13.2",
        gpu=name,
        estimate=ESTIMATE,
        verdict=verdict(ESTIMATE, memory),
        assumptions=(Assumption("plan.optimizer", "adamw_torch", "default of transformers 4.48.0"),),
    )


def too_much() -> FitReport:
    """The same on a card of 24 GiB, with everything that a report can say."""
    return replace(
        report(24.0, name="RTX 3090"),
        plan=replace(PLAN, gpus=3, sharding="ddp"),
        advice=(
            Advice(
                {"plan.gradient_checkpointing": True, "plan.method": "qlora", "plan.quant": "4bit"},
                gib(19.5, 21.4, 22.5),
                "tight",
                "about 20 to 30 % slower: activations are computed twice; base weights in 4 bits; speed not measured",
            ),
            Advice({"gpu.memory_gib": 96}, ESTIMATE.allocated, "yes", "a larger card, such as RTX PRO 6000 Blackwell"),
        ),
        useless=("a second GPU under ZeRO-3: still 66.8 GiB on each",),
        notes=("config.json does not state tie_word_embeddings",),
        skipped=(Skip("plan.yaml", "an unknown dialect"),),
        refused="transformers is not installed",
        lengths=LENGTHS,
        length_advice=ON_LENGTHS,
    )


LENGTHS = Lengths(
    data="train.jsonl",
    rows=12000,
    histogram=((200, 6000), (900, 5400), (2000, 480), (6001, 120)),
    tokens=7_740_120,
    longest=6001,
    longest_rows=(LongRow(6001, 17),),
    form="messages",
    joined="the turns",
    template="the snapshot's chat template",
    tokenizer=TokenizerUsed("tokenizers 0.22.1", "tokenizer.json", "/venv/bin/python", True),
    refused=3,
    reasons=(("no field messages", 3),),
    notes=("some trainers end each text with one more token, which is not counted",),
)
_NOW = Cost("random", 12000, 7_740_120, 10_000_000.0, 12000, 6001, 6001)
ON_LENGTHS = LengthAdvice(
    1, None, _NOW, None, 200, 900, 2000, (Saving("filter-p99", "leave out the longest 1 % of the rows", "", _NOW, 0.2, 0.67),)
)
