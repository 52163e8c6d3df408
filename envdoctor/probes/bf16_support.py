"""``bf16-support``: does this GPU compute in bfloat16, by torch's word and by a real product?

NVIDIA GPUs do from capability 8.0 on. torch up to 2.2 says no on the others; from 2.3 on
``torch.cuda.is_bf16_supported()`` counts emulation, unless it is told not to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import is_finite
from envdoctor.probes.on_gpu import gpu_words, no_gpu, ran_without_gpu
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.verdict import Ruling

NAME = "bf16-support"

# bfloat16 has 8 bits of precision: a product of random matrices is off by some 0.3 %.
_TOLERANCE = 0.02
# How torch and cuBLAS say that this GPU has no such product.
_REFUSED = ("not implemented for 'bfloat16'", "cublas_status_not_supported", "cublas_status_arch_mismatch")


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """bfloat16, with float16 to compare, where the plan asks for it or does not say; or why it cannot be tested."""
    loaded = "bfloat16" in (facts.value("plan.load_dtype"), facts.value("model.config_dtype"))
    if not loaded and facts.value("plan.bf16") is False:
        return "the plan asks for no bfloat16"
    return no_gpu(facts) or {"dtypes": ["bfloat16", "float16"], "mixed_only": facts.value("plan.bf16") is True and not loaded}


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> tuple[Ruling, str]:
    """What the products show. Pure; anything unexpected in it is inconclusive."""
    why = ran_without_gpu(measured)
    if why is not None:
        return "inconclusive", why
    on = f"on {gpu_words(measured)}"
    wanted = params.get("dtypes")
    dtypes = [str(dtype) for dtype in wanted] if isinstance(wanted, (list, tuple)) else []
    made = measured.get("products")
    products = {str(each.get("dtype")): each for each in made if isinstance(each, Mapping)} if isinstance(made, (list, tuple)) else {}
    if not dtypes or [*products] != dtypes:
        return "inconclusive", f"not all products were computed {on}"
    faults = {dtype: fault for dtype, product in products.items() if (fault := _fault(product)) is not None}
    if "bfloat16" not in dtypes:
        if faults:
            return "inconclusive", f"{'; '.join(f'{dtype}: {fault}' for dtype, fault in faults.items())} {on}"
        return "refuted", f"{' and '.join(dtypes)} is computed {on}"
    if faults:
        message = faults.get("bfloat16", "")
        if "float16" not in faults and any(words in message.lower() for words in _REFUSED):
            return "confirmed", f"float16 is computed {on} and bfloat16 is not: {message}"
        return "inconclusive", f"{'; '.join(f'{dtype}: {fault}' for dtype, fault in faults.items())} {on}, which is another fault"
    times = ", ".join(f"{dtype} {product.get('milliseconds')} ms" for dtype, product in products.items())
    if measured.get("supported") is False:
        return "confirmed", f"torch.cuda.is_bf16_supported() is false {on} (a product: {times})"
    if measured.get("native") is False:
        return "confirmed", f"bfloat16 is emulated {on} (a product: {times})"
    if measured.get("supported") is not True or measured.get("native") is not True:
        return "inconclusive", f"torch did not say whether bfloat16 is supported {on}"
    return "refuted", f"bfloat16 is computed {on}, product and gradient are right ({times})"


def _fault(product: Mapping[str, object]) -> str | None:
    error = product.get("error")
    if error is not None:
        return " ".join(str(error.get("message", "") if isinstance(error, Mapping) else error).split())[:300] or "an error"
    for name in ("product_error", "gradient_error"):
        value = product.get(name)
        if not is_finite(value) or value > _TOLERANCE:
            return f"wrong numbers ({name.replace('_', ' ')} {value})"
    return None


def variations(params: Mapping[str, object]) -> Iterable[Variation]:
    """float16 in place of bfloat16: a change of the plan where mixed precision is all that asks for it; weights need another dtype too."""
    plan = {"plan.bf16": False, "plan.fp16": True} if params.get("mixed_only") is True else {}
    yield Variation("float16 in place of bfloat16", {**params, "dtypes": ["float16"]}, plan)


PROBE = Probe(
    name=NAME,
    shows="whether this GPU computes in bfloat16, refuses it or emulates it",
    needs=("torch", "a GPU"),
    cost="3 to 15 s, nearly all of it the import and the start of CUDA",
    script=CHILDREN / "bf16_support.py",
    parameters=parameters,
    judge=judge,
    variations=variations,
    timeout=120.0,
    memory_bytes=16 << 30,
    gpu=True,
    proven=False,
)
