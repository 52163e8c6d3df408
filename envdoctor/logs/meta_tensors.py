"""Weights without data that DeepSpeed is to move: what helps there is another thing than where one process spreads a model over GPUs.

deepspeed/runtime/engine.py of 0.14.5 and 0.16.4: _configure_distributed_model moves the whole model to the GPU of the process, unless
zero.Init() made it. transformers/modeling_utils.py of 4.45.2: "DeepSpeed Zero-3 is not compatible with `low_cpu_mem_usage=True` or with
passing a `device_map`."
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure

_SAYS = re.compile(r"Cannot copy out of meta tensor")
_DEEPSPEED = re.compile(r"(?i)\bdeepspeed\b|\bzero_stage\b|\bzero-?3\b|\bzero_optimization\b")


def judge_meta_under_deepspeed(failure: Failure, around: str) -> Hit | None:
    """None where nothing shows that DeepSpeed runs."""
    if _SAYS.search(failure.message) is None:
        return None
    code = "\n".join((*(frame.text for frame in failure.frames), failure.near, around))
    if "deepspeed" not in failure.packages and _DEEPSPEED.search(code) is None:
        return None
    return Hit(
        "error-of-the-run",
        True,
        detail="DeepSpeed moves the whole model to the GPU of each process, and finds weights that have a shape and no numbers: device_map "
        "or low_cpu_mem_usage left them out, or the checkpoint lacks them",
        packages=("deepspeed",),
        edge="deepspeed:meta-tensor",
        headline="DeepSpeed is given a model of which a part has no numbers in memory",
        advice="from_pretrained without device_map (none at all, not device_map={'': 0}: each process has its own GPU) and with "
        "low_cpu_mem_usage=False; under ZeRO-3 the TrainingArguments made before the model, so that DeepSpeed loads it in parts; what "
        "from_pretrained warns of as newly initialized or missing is in no file",
        over=("weights-left-on-the-meta-device",),
    )
