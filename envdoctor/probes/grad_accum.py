"""``grad-accum``: is a step over N micro-batches the step over one batch N times as large?

The faults: transformers 4.46.0 to 4.47.1 leave the gradients of models without loss arguments undivided, 4.47.0 and 4.48.0 those of
the models that take them (huggingface/transformers#35207, #35438), so that gradients are N times too large; 5.2.0 to 5.5.3 divide twice.
Rows of equal length decide. What rows of unequal length do is another matter, that of averages of averages, and only told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import is_count, is_finite, number, with_assumed
from envdoctor.probes.probe import CHILDREN, Probe
from envdoctor.probes.verdict import Ruling

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "grad-accum"
DEFAULT_STEPS = 4
MOST_STEPS = 8
# Relative; float32 sums in another order differ by about 1e-6.
TOLERANCE = 0.01

_CLASSES = {True: "own_class", False: "plain_class"}
_WORDS = {"own_class": "a model that takes loss arguments", "plain_class": "a model that takes no loss arguments"}
# What has a training loop of its own.
_OTHER_LOOPS = ("torchtune", "megatron", "nemo", "lightning")
_ENGINES = ("zero1", "zero2", "zero3", "megatron")


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """What the child shall run for this plan, or why this plan cannot be tested so."""
    assumed: list[str] = []
    steps = facts.value("plan.gradient_accumulation")
    if steps is None:
        assumed.append(f"{DEFAULT_STEPS} accumulation steps")
        steps = DEFAULT_STEPS
    if not isinstance(steps, int) or isinstance(steps, bool):
        return f"plan.gradient_accumulation is {steps}: not a number of steps"
    if steps < 2:
        return f"plan.gradient_accumulation is {steps}: nothing is accumulated"
    if facts.text("plan.trainer") in _OTHER_LOOPS:
        return f"plan.trainer is {facts.value('plan.trainer')}, which does not train with transformers' Trainer"
    if facts.value("plan.deepspeed") is True or facts.value("plan.distributed") in _ENGINES:
        return "DeepSpeed's engine, or Megatron's, divides by the accumulation steps itself, which this probe does not run"
    if steps > MOST_STEPS:
        assumed.append(f"{MOST_STEPS} accumulation steps in place of {steps}")
        steps = MOST_STEPS
    accepts, own_type = _of_model(facts)
    return {"steps": steps, "accepts_loss_arguments": accepts, "model_type": own_type, "assumed": assumed}


def _of_model(facts: Facts) -> tuple[bool | None, str | None]:
    """Whether the model takes loss arguments as far as the facts tell, and the type that transformers itself shall be asked about."""
    stated = facts.value("model.loss_kwargs")
    accepts = stated if isinstance(stated, bool) else None
    model_type = facts.text("model.type")
    # What transformers has a class for trains as that class, unless the snapshot's own code is used.
    return accepts, model_type if facts.value("model.remote_code") is not True else None


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    return with_assumed(_judge(measured, params), params)


def _judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    steps = params.get("steps")
    if not is_count(steps) or steps < 2:
        return "inconclusive", "the number of accumulation steps is not known"
    found = {name: _of_class(measured.get(name), _WORDS[name], steps) for name in _WORDS}
    asked = _asked(measured, params)
    if asked is not None:
        ruling, reason = found[asked]
        model = measured.get("model_class")
        return ruling, f"{model}: {reason}" if isinstance(model, str) else reason
    rulings = {ruling for ruling, _ in found.values()}
    reason = "; ".join(reason for _, reason in found.values())
    if len(rulings) == 1:
        return rulings.pop(), reason
    return "inconclusive", f"whether the model takes loss arguments decides, and is not known: {reason}"


def _asked(measured: Mapping[str, object], params: Mapping[str, object]) -> str | None:
    """Which of the two classes stands for the patient's model: transformers' own answer before that of the facts."""
    for accepts in (measured.get("accepts_loss_arguments"), params.get("accepts_loss_arguments")):
        if isinstance(accepts, bool):
            return _CLASSES[accepts]
    return None


def _of_class(value: object, subject: str, steps: int) -> Judgement:
    outcome = value if isinstance(value, Mapping) else {}
    equal = outcome.get("equal_rows")
    if not isinstance(equal, Mapping):
        return "inconclusive", _failed(outcome.get("error"), subject)
    ratio, error, difference = (_finite(equal.get(key)) for key in ("ratio", "direction_error", "difference"))
    if ratio is None or error is None or difference is None or not ratio > 0:
        return "inconclusive", f"{subject}: the steps could not be compared, a change of the weights was zero or not finite"
    seen = f"{subject} moves {ratio:.3g} times as far with {steps} accumulated rows as with a batch of {steps}"
    if error > TOLERANCE:
        return "inconclusive", f"{seen}, and in another direction: another fault"
    for factor, words in ((float(steps), "multiplied"), (1 / steps, "divided once more")):
        if abs(ratio / factor - 1) <= TOLERANCE:
            return "confirmed", f"{seen}: gradients are {words} by the accumulation steps"
    if difference <= TOLERANCE:
        same = f"{subject} takes the same step with {steps} accumulated rows as with a batch of {steps}"
        return "refuted", same + _unequal(outcome.get("unequal_rows"))
    return "inconclusive", f"{seen}, which is neither {steps} nor 1/{steps}: another fault"


def _unequal(value: object) -> str:
    difference = _finite(value.get("difference")) if isinstance(value, Mapping) else None
    if difference is None or difference <= TOLERANCE:
        return ""
    return f"; with rows of unequal length the step differs by {difference:.0%}, as micro-batches weigh the same"


def _failed(error: object, subject: str) -> str:
    fields = error if isinstance(error, Mapping) else {}
    message = " ".join(str(fields.get("message", "")).split())[:300]
    if not fields:
        return f"{subject}: no step was measured"
    return f"{subject}: {fields.get('during', 'a step')} failed: {fields.get('type', 'an error')}: {message}"


def _finite(value: object) -> float | None:
    return number(value) if is_finite(value) else None


PROBE = Probe(
    name=NAME,
    shows="whether gradients are multiplied or divided by the number of accumulation steps",
    needs=("torch", "transformers", "accelerate"),
    cost="5 to 40 s on one CPU core, nearly all of it imports",
    script=CHILDREN / "grad_accum.py",
    parameters=parameters,
    judge=judge,
    timeout=180.0,
    memory_bytes=8 << 30,
)
