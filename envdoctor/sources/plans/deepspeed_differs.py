"""What a DeepSpeed configuration and TrainingArguments say differently, which ends the run: ``fill_match`` of transformers' own reader.

Read in transformers 4.19.2, 4.57.6 and 5.10.0. ``train_batch_size`` is left out: it depends on how many processes there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.sources.plans.refused_arguments import OPEN

DIFFERS = "plan.deepspeed_differs"
# The path in the configuration, the argument, and the argument's own default.
_PAIRS: tuple[tuple[str, str, object], ...] = (
    ("train_micro_batch_size_per_gpu", "per_device_train_batch_size", 8),
    ("gradient_accumulation_steps", "gradient_accumulation_steps", 1),
    ("gradient_clipping", "max_grad_norm", 1.0),
    ("optimizer.params.lr", "learning_rate", 5e-5),
    ("optimizer.params.eps", "adam_epsilon", 1e-8),
    ("optimizer.params.weight_decay", "weight_decay", 0.0),
    ("scheduler.params.warmup_max_lr", "learning_rate", 5e-5),
    ("scheduler.params.warmup_num_steps", "warmup_steps", 0),
    ("fp16.enabled", "fp16", False),
    ("bf16.enabled", "bf16", False),
)
ARGUMENTS = tuple(dict.fromkeys((*(argument for _, argument, _ in _PAIRS), "warmup_ratio", "fp16_full_eval", "bf16_full_eval")))
# What decides the value besides the argument itself.
_BESIDE = {"warmup_steps": ("warmup_ratio",), "fp16": ("fp16_full_eval",), "bf16": ("bf16_full_eval",)}


def differing(settings: Mapping[object, object], given: Mapping[str, object], *, whole: bool) -> Iterator[str]:
    """Each pair that differs. ``whole``: an argument that is not given has its default, and no other that something else may give it."""
    for path, argument, default in _PAIRS:
        found, value = _at(settings, path), given.get(argument, default if whole else OPEN)
        if found is None or found == "auto" or not isinstance(found, (bool, int, float, str)):
            continue
        if value is OPEN or value is None or any(beside in given for beside in _BESIDE.get(argument, ())):
            continue
        if argument == "warmup_steps" and not isinstance(value, int):
            continue  # a part of the run
        # A number in quotes is a text, and no number.
        if found != value:
            yield f"{path} {_text(found)} against {argument} {_text(value)}"


def _at(settings: Mapping[object, object], path: str) -> object:
    inner: object = settings
    for key in path.split("."):
        inner = inner.get(key) if isinstance(inner, Mapping) else None
    return inner


def _text(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value).lower()
