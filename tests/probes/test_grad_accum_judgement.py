"""What ``grad-accum`` runs for a plan, and what it makes of a measurement: without torch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.fact import Fact, Facts, FactValue, NotUnderstood, Origin
from envdoctor.facts.vocabulary import TERMS
from envdoctor.probes import grad_accum
from tests.probes.anything import anything, like

SAME = {"update_norm": 1.04, "ratio": 1.0, "direction_error": 0.0, "difference": 0.0, "losses": [4.18, 4.18]}
FOURFOLD = SAME | {"ratio": 4.0, "difference": 3.0}
QUARTER = SAME | {"ratio": 0.25, "difference": 0.75}
UNEVEN = SAME | {"ratio": 1.349405, "direction_error": 0.685098, "difference": 0.86916}
GOOD = {"equal_rows": SAME, "unequal_rows": SAME, "error": None}
BAD = {"equal_rows": FOURFOLD, "unequal_rows": UNEVEN, "error": None}
FAILED = {"error": {"during": "building a tiny model", "type": "KeyError", "message": "'rope\n theta'"}}
OWN = "a model that takes loss arguments"
PLAIN = "a model that takes no loss arguments"
STEP = "takes the same step with 4 accumulated rows as with a batch of 4"
MULTIPLIED = "moves 4 times as far with 4 accumulated rows as with a batch of 4: gradients are multiplied by the accumulation steps"


def measured(own: object = GOOD, plain: object = GOOD, accepts: object = None, model: object = None) -> dict[str, Any]:
    return {"steps": 4, "model_class": model, "accepts_loss_arguments": accepts, "own_class": own, "plain_class": plain}


def params(accepts: bool | None = None) -> dict[str, Any]:
    return {"steps": 4, "accepts_loss_arguments": accepts, "model_type": None, "assumed": []}


@pytest.mark.parametrize(
    ("seen", "asked", "ruling", "reason"),
    [
        (measured(plain=BAD), params(False), "confirmed", f"{PLAIN} {MULTIPLIED}"),
        (measured(plain=BAD), params(True), "refuted", f"{OWN} {STEP}"),
        (measured(own=BAD, model="GlmForCausalLM", accepts=True), params(), "confirmed", f"GlmForCausalLM: {OWN} {MULTIPLIED}"),
        (measured(own=BAD, model="GPT2LMHeadModel", accepts=False), params(True), "refuted", f"GPT2LMHeadModel: {PLAIN} {STEP}"),
        (
            measured(plain=BAD),
            params(),
            "inconclusive",
            f"whether the model takes loss arguments decides, and is not known: {OWN} {STEP}; {PLAIN} {MULTIPLIED}",
        ),
        (measured(BAD, BAD), params(), "confirmed", f"{OWN} {MULTIPLIED}; {PLAIN} {MULTIPLIED}"),
        (measured(), params(), "refuted", f"{OWN} {STEP}; {PLAIN} {STEP}"),
        (
            measured(own=GOOD | {"equal_rows": QUARTER}),
            params(True),
            "confirmed",
            f"{OWN} moves 0.25 times as far with 4 accumulated rows as with a batch of 4:"
            " gradients are divided once more by the accumulation steps",
        ),
        (
            measured(plain=GOOD | {"unequal_rows": UNEVEN}),
            params(False),
            "refuted",
            f"{PLAIN} {STEP}; with rows of unequal length the step differs by 87%, as micro-batches weigh the same",
        ),
        (
            measured(own=GOOD | {"equal_rows": SAME | {"ratio": 2.0, "difference": 1.0}}),
            params(True),
            "inconclusive",
            f"{OWN} moves 2 times as far with 4 accumulated rows as with a batch of 4, which is neither 4 nor 1/4: another fault",
        ),
        (
            measured(own=GOOD | {"equal_rows": FOURFOLD | {"direction_error": 0.5}}),
            params(True),
            "inconclusive",
            f"{OWN} moves 4 times as far with 4 accumulated rows as with a batch of 4, and in another direction: another fault",
        ),
        (
            measured(own=GOOD | {"equal_rows": SAME | {"ratio": "nan"}}),
            params(True),
            "inconclusive",
            f"{OWN}: the steps could not be compared, a change of the weights was zero or not finite",
        ),
        (measured(own=FAILED), params(True), "inconclusive", f"{OWN}: building a tiny model failed: KeyError: 'rope theta'"),
        (measured(own=None), params(True), "inconclusive", f"{OWN}: no step was measured"),
        ({}, params(True), "inconclusive", f"{OWN}: no step was measured"),
        (measured(), {}, "inconclusive", "the number of accumulation steps is not known"),
        (measured(), params(True) | {"assumed": ["4 accumulation steps"]}, "refuted", f"{OWN} {STEP} (assumed: 4 accumulation steps)"),
    ],
)
def test_judgement(seen: dict[str, Any], asked: dict[str, Any], ruling: str, reason: str) -> None:
    assert grad_accum.judge(seen, asked) == (ruling, reason)


@given(seen=like(measured(BAD, GOOD)), asked=like(params(True)))
def test_any_measurement_gets_a_judgement(seen: dict[str, Any], asked: dict[str, Any]) -> None:
    ruling, reason = grad_accum.judge(seen, asked)
    assert ruling in ("confirmed", "refuted", "inconclusive")
    assert reason


@given(steps=st.integers(2, 8), ratio=st.floats(0.01, 20), error=st.floats(0, 1), difference=st.floats(0, 20))
def test_laws_of_the_judgement(steps: int, ratio: float, error: float, difference: float) -> None:
    """Only the factor itself confirms, only the same step refutes."""
    equal = {"ratio": ratio, "direction_error": error, "difference": difference}
    ruling, _ = grad_accum.judge(measured(own={"equal_rows": equal}), params(True) | {"steps": steps})
    if ruling == "confirmed":
        assert ratio == pytest.approx(steps, rel=0.011) or ratio * steps == pytest.approx(1, rel=0.011)
    if ruling == "refuted":
        assert difference <= 0.01
    if error > 0.01:
        assert ruling == "inconclusive"


def facts(**values: FactValue) -> Facts:
    return Facts().with_facts(Fact(name.replace("__", "."), value, Origin("test")) for name, value in values.items())


ASKED: dict[str, Any] = {"steps": 4, "accepts_loss_arguments": None, "model_type": None, "assumed": []}


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        (facts(), ASKED | {"assumed": ["4 accumulation steps"]}),
        (facts(plan__gradient_accumulation=4), ASKED),
        (facts(plan__gradient_accumulation=2, model__type="glm"), ASKED | {"steps": 2, "model_type": "glm"}),
        (facts(plan__gradient_accumulation=4, model__loss_kwargs=False), ASKED | {"accepts_loss_arguments": False}),
        (
            facts(plan__gradient_accumulation=4, model__loss_kwargs=False, model__remote_code=True, model__type="chatglm"),
            ASKED | {"accepts_loss_arguments": False},
        ),
        (facts(plan__gradient_accumulation=64), ASKED | {"steps": 8, "assumed": ["8 accumulation steps in place of 64"]}),
        (facts(plan__gradient_accumulation=1), "plan.gradient_accumulation is 1: nothing is accumulated"),
        (facts(plan__gradient_accumulation=NotUnderstood("four")), "plan.gradient_accumulation is four: not a number of steps"),
        (facts(plan__trainer="torchtune"), "plan.trainer is torchtune, which does not train with transformers' Trainer"),
        (
            facts(plan__distributed="zero2"),
            "DeepSpeed's engine, or Megatron's, divides by the accumulation steps itself, which this probe does not run",
        ),
        (
            facts(plan__deepspeed=True),
            "DeepSpeed's engine, or Megatron's, divides by the accumulation steps itself, which this probe does not run",
        ),
    ],
)
def test_what_is_run_for_a_plan(stated: Facts, expected: object) -> None:
    assert grad_accum.parameters(stated) == expected


values: st.SearchStrategy[Any] = anything.filter(lambda value: isinstance(value, (bool, int, float, str))) | st.just(NotUnderstood("?"))


@given(st.dictionaries(st.sampled_from([term.name for term in TERMS if term.name.startswith(("plan.", "model."))]), values, max_size=6))
def test_any_plan_gets_parameters_or_a_reason(stated: dict[str, FactValue]) -> None:
    found = grad_accum.parameters(Facts().with_facts(Fact(name, value, Origin("test")) for name, value in stated.items()))
    assert found
    assert isinstance(found, str) or set(found) == set(ASKED)
