"""Logits that a plain loop holds, float32 beside k-bit preparation, and 16-bit copies of frozen weights."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.memory.closed_form import estimate
from envdoctor.memory.config import read_architecture
from envdoctor.memory.plan import Plan, Stack
from tests.memory.models import QWEN_HALF_B
from tests.memory.test_closed_form import LORA

_QWEN = read_architecture(QWEN_HALF_B)
_PLAN = replace(LORA, autocast="bfloat16", rows=4, tokens=512, checkpointing=True, stack=Stack("2.13.0", "4.57.1", "0.17.1"))
_LOGITS = 151936 * 2 * 4 * 512


def total(plan: Plan, moment: str) -> float:
    return next(one.total for one in estimate(_QWEN, plan).moments if one.name == moment)


def test_kept_outputs_hold_the_logits_of_one_batch_at_every_moment_of_the_step() -> None:
    kept = replace(_PLAN, outputs_kept=True)
    for moment in ("loss", "backward of the loss", "backward of the first layer", "optimizer step"):
        assert total(kept, moment) - total(_PLAN, moment) == _LOGITS


def test_logits_that_the_model_itself_upcasts_are_held_in_float32() -> None:
    old = replace(_PLAN, stack=Stack("2.4.0", "4.44.2", "0.12.0"))
    assert total(replace(old, outputs_kept=True), "backward of the loss") - total(old, "backward of the loss") == 2 * _LOGITS


def test_k_bit_preparation_makes_all_float32_unless_mixed_precision_is_asked_for() -> None:
    prepared = replace(_PLAN, quant="4bit", upcast=True, checkpointing=False)
    wide = replace(prepared, autocast=None)
    layers = {name: next(one for one in estimate(_QWEN, plan).moments if one.name == "loss") for name, plan in
              (("mixed", prepared), ("wide", wide))}  # fmt: skip
    assert layers["wide"].terms["activations"] > 1.4 * layers["mixed"].terms["activations"]
    assert total(wide, "loss") > total(replace(wide, upcast=False), "loss")


def test_autocast_copies_frozen_float32_weights_and_the_backward_waits_for_the_copies() -> None:
    plan = replace(_PLAN, checkpointing=False)
    narrow, wide = (total(replace(plan, load_dtype=dtype), "backward of the loss") for dtype in ("bfloat16", "float32"))
    checkpointed = total(replace(_PLAN, load_dtype="float32"), "backward of the loss")
    parameters = 494_032_768
    assert wide - narrow > 2 * parameters + 2 * 0.99 * parameters
    assert checkpointed < wide - 0.7 * 2 * parameters
