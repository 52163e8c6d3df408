"""Values of a DeepSpeed configuration that are left to the Trainer (``auto``), and that neither transformers nor accelerate fills in.

``HfTrainerDeepSpeedConfig`` of transformers 4.31.0, 4.55.0 and 5.10.0, and ``_prepare_deepspeed`` of accelerate 0.21.0, 1.10.0 and 1.15.0,
which ends at the first one that is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

UNFILLED = "plan.deepspeed_unfilled"
_FILLED = frozenset((
    "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps", "gradient_clipping", "fp16.enabled",
    "bf16.enabled", "amp.enabled", "amp.opt_level",
    *(f"optimizer.params.{key}" for key in ("lr", "betas", "eps", "weight_decay")),
    *(f"scheduler.params.{key}" for key in ("warmup_min_lr", "warmup_max_lr", "warmup_num_steps", "total_num_steps")),
    *(f"zero_optimization.{key}" for key in (
        "stage", "reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold",
        "stage3_gather_16bit_weights_on_model_save", "offload_optimizer.device", "offload_optimizer.nvme_path", "offload_param.device",
        "offload_param.nvme_path",
    )),
))  # fmt: skip
_DEEPEST = 20


def unfilled(settings: Mapping[object, object]) -> tuple[tuple[str, ...], ...]:
    """The paths of keys whose ``auto`` stays; none where DeepSpeed's autotuner looks for values itself."""
    return () if "autotuning" in settings else tuple(_left(settings, ()))


def _left(settings: Mapping[object, object], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, value in settings.items():
        path = (*above, str(key))
        if isinstance(value, Mapping) and len(path) < _DEEPEST:
            yield from _left(value, path)
        elif value == "auto" and ".".join(path) not in _FILLED:
            yield path
