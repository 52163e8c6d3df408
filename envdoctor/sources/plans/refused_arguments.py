"""Settings that TrainingArguments themselves refuse together: ``__post_init__`` of transformers 4.9.0, 4.15.0, 4.40.0, 4.57.6 and 5.10.0.

What rules ask is which of these a plan has; from which release on they are refused stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

REFUSED = "plan.refused_arguments"
BEST_MODEL, TWO_PRECISIONS = "best-model-not-saved-at-evaluations", "fp16-and-bf16"
KEYS = (
    "load_best_model_at_end", "eval_strategy", "evaluation_strategy", "save_strategy", "eval_steps", "save_steps", "logging_steps",
    "fp16", "bf16",
)  # fmt: skip
# What stands for a value that nothing shows.
OPEN = object()
_STEPS = 500


def refused(given: Mapping[str, object]) -> Iterator[str]:
    """What is refused of settings, where all of them are shown or have TrainingArguments' own defaults."""
    if given.get("load_best_model_at_end") is True and _is_missed(given):
        yield BEST_MODEL
    if given.get("fp16") is True and given.get("bf16") is True:
        yield TWO_PRECISIONS


def _is_missed(given: Mapping[str, object]) -> bool:
    """Whether checkpoints are certainly saved beside the evaluations: another word, or steps that are no multiple."""
    evaluates = next((given[key] for key in ("eval_strategy", "evaluation_strategy") if given.get(key) is not None), "no")
    saves = given.get("save_strategy", "steps")
    if OPEN in (evaluates, saves) or _word(saves) == "best":
        return False
    if _word(saves) != _word(evaluates):
        return True
    evaluated = given.get("eval_steps")
    evaluated = given.get("logging_steps", _STEPS) if evaluated is None else evaluated
    saved = given.get("save_steps", _STEPS)
    if _word(saves) != "steps" or type(evaluated) is not int or type(saved) is not int:
        return False
    # Fractions are parts of a run, and 1 may be one.
    return min(evaluated, saved) > 1 and saved % evaluated != 0


def _word(value: object) -> str:
    """How a strategy is compared; YAML reads an unquoted ``no`` as false."""
    return "no" if value is False or value is None else str(value).lower()
