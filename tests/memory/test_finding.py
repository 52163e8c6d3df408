"""The finding of ``check``: only where a plan cannot fit whatever nobody has stated."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.checks import CHECK_IDS
from envdoctor.checks.hit import Hit
from envdoctor.facts import Fact, Origin
from envdoctor.memory.config import read_architecture
from envdoctor.memory.estimate import GIB
from envdoctor.memory.finding import RULE, exceeding
from envdoctor.memory.fits import usable_memory, verdict
from envdoctor.memory.situation import planned
from envdoctor.rulebook import load_rulebook
from tests.memory.models import CHATGLM3_6B, GLM_4_9B, LLAMA_2_13B, QWEN_HALF_B, stated
from tests.memory.test_advice import PLANS, STACK

DDP_13B: Mapping[str, object] = {
    **STACK,
    "plan.method": "lora",
    "plan.quant": "none",
    "plan.load_dtype": "float16",
    "plan.distributed": "ddp",
    "gpu.name": "RTX 3090",
    "gpu.count": 3,
}


def hits(values: Mapping[str, object], config: Mapping[str, object] = LLAMA_2_13B) -> tuple[Hit, ...]:
    return exceeding(stated(values), config)


def test_replicas_of_13b_on_cards_of_24_gib_are_found() -> None:
    (hit,) = hits(DDP_13B)
    assert (hit.rule, hit.outcome, hit.rule in CHECK_IDS) == (RULE, True, True)
    assert "weights 24.2 GiB" in hit.detail
    assert "torch may use 23.6 GiB of RTX 3090" in hit.detail
    assert hit.plan
    book = load_rulebook(())
    assert set(hit.unless) <= {rule.id for rule in book.rules}  # they say the same, and why


@pytest.mark.parametrize(
    "change",
    [
        {"plan.method": None},
        {"plan.method": "something of my own"},
        {"plan.quant": None},  # it may be quantized
        {"plan.load_dtype": "float16", "plan.distributed": None},  # it may be shared out
        {"plan.distributed": None, "gpu.count": None},
        {"gpu.name": None},
        {"gpu.name": "RTX 3060"},  # sold with 8 and with 12
        {"gpu.name": "A100 80GB"},
        {"plan.quant": "4bit"},
        {"plan.distributed": "zero3"},
        {"accelerator": "cpu"},
        {"plan.method": "inference"},
    ],
)
def test_nothing_is_held_against_a_plan_that_nobody_stated(change: Mapping[str, object]) -> None:
    values = {name: value for name, value in {**DDP_13B, **change}.items() if value is not None}
    assert hits(values) == ()


def test_a_config_that_tells_no_sizes_is_no_finding() -> None:
    assert hits(DDP_13B, {"model_type": "llama"}) == ()
    assert hits(DDP_13B, {}) == ()
    assert hits(DDP_13B, {**LLAMA_2_13B, "model_type": "never-heard-of"}) == ()


def test_training_whole_13b_on_one_card_is_found_where_nothing_can_be_moved_off_it() -> None:
    full = {**STACK, "plan.method": "full", "gpu.name": "A100 80GB", "gpu.count": 1, "plan.load_dtype": "bfloat16"}
    assert hits({**full, "plan.distributed": "none", "plan.optimizer": "adamw_torch"})
    assert hits({**full, "plan.optimizer": "adamw_torch"}) == ()  # DeepSpeed may hold it in the memory of the CPU


CARDS = st.sampled_from(("RTX 3090", "T4", "A100 80GB", "RTX 4060", "H200"))


@given(st.sampled_from((LLAMA_2_13B, GLM_4_9B, QWEN_HALF_B, CHATGLM3_6B)), PLANS, CARDS, st.data())
def test_a_finding_is_a_no_of_fit_whatever_is_stated_beside(
    config: Mapping[str, object], plan: Mapping[str, object], card: str, data: st.DataObject
) -> None:
    whole = {**STACK, **plan, "gpu.name": card}
    named = sorted(plan)
    kept = data.draw(st.sets(st.sampled_from(named)))
    part = {name: value for name, value in whole.items() if name not in named or name in kept}
    if not hits(part, config):
        return
    facts = stated(part).with_facts(Fact(name, fact.value, Origin("--set")) for name, fact in stated(whole).items())
    situation = planned(facts, read_architecture(config))
    memory = usable_memory(situation.facts)
    assert memory is not None
    assert verdict(situation.estimate(), memory).fits == "no", f"{memory / GIB:.1f} GiB"
