"""A triton kernel that computes in FP8 on a GPU that has none: whose it was stands in the source that triton prints, or in a frame."""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.logs.callables_named import has_function
from envdoctor.logs.reading import Reading
from envdoctor.logs.wording import named
from envdoctor.world.import_names import package_of

# The same for triton 2 and 3: triton/language/core.py, semantic.py
_SAYS = re.compile(r"fp8e4nv (?:data type is )?not supported (?:in this architecture|on CUDA arch)")
_KERNEL = re.compile(r"\bdef (?P<name>_?\w{3,80})\(")
_ENGINES = (("vllm", re.compile(r"EngineCore|\bvllm\b|multiproc_executor\.py")), ("sglang", re.compile(r"\bsglang\b|sgl_kernel")))
_KERNELS_OF = ("vllm", "sglang", "transformers", "torchao", "lmdeploy", "deepspeed")
_HAND_ON = frozenset(("triton", "torch", "accelerate"))
_BEFORE = 10
# https://docs.vllm.ai/en/stable/features/quantization/ has FP8 (W8A8) for Ada and Hopper, and weight-only kernels (Marlin) for Ampere.
_WEIGHT_ONLY = "; {0} has weight-only kernels (Marlin) for compute capability 8.0: the release of {0} before, or the next, may take them"


def judge_fp8(reading: Reading) -> tuple[Hit, int, str] | None:
    """Whose kernel asked for FP8; None where no kernel did."""
    at = next((place for place, (_, line) in enumerate(reading.lines) if _SAYS.search(line)), None)
    if at is None:
        return None
    number, text = reading.lines[at]
    owner, kernel = _owner(reading, [line for _, line in reading.lines[max(0, at - _BEFORE) : at]])
    whose = f"a kernel of {owner}'s{f' ({kernel})' if kernel else ''}" if owner else f"a kernel{f' ({kernel})' if kernel else ''}"
    detail = f"{whose} computes in FP8 (e4m3), which GPUs have from compute capability 8.9 on: RTX 30, A10 and A100 have none"
    advice = "weights in bfloat16, or AWQ or GPTQ ones; for a cache in FP8 the default type; or a GPU of 8.9 or later"
    if owner == "vllm":
        advice += _WEIGHT_ONLY.format(owner)
    hit = Hit(
        "error-of-the-run", True, detail=detail, packages=named(owner, "triton"), edge=f"{owner or 'code'}:fp8-on-older-gpu",
        headline="A triton kernel asks this GPU for a type (FP8, e4m3) that it does not have", advice=advice,
    )  # fmt: skip
    return hit, number, text.strip()


def _owner(reading: Reading, before: Sequence[str]) -> tuple[str, str]:
    """The package whose kernel it was, and the kernel's name, as far as the log tells."""
    found = next((one for line in reversed(before) if (one := _KERNEL.search(line))), None)
    kernel = found["name"] if found is not None else ""
    last = reading.decisive
    framed = next(
        (name for one in reversed(last.frames if last else ()) if (name := package_of(one.package or "")) not in ("", *_HAND_ON)), ""
    )
    if not framed:
        framed = next((name for name, says in _ENGINES if any(says.search(line) for _, line in reading.lines)), "")
    if not framed and kernel:
        having = [name for name in _KERNELS_OF if has_function(name, kernel)]
        framed = having[0] if len(having) == 1 else ""
    return framed, kernel
