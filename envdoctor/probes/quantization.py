"""``quantize-4bit`` and ``quantize-8bit``: does bitsandbytes really quantize a layer here, and do gradients come through it?

Faults: a library that was not built for this CUDA or this GPU, kernels that it has not got, a dependency that it cannot import
(bitsandbytes-foundation/bitsandbytes#1492), results that are wrong. From 0.46.0 on bitsandbytes computes on a CPU too: where a CPU is
what the plan trains on, that is what is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import is_count, is_finite, with_assumed
from envdoctor.probes.on_gpu import gpu_words, no_gpu, ran_without_gpu
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.verdict import Ruling

Judgement: TypeAlias = "tuple[Ruling, str]"

_DTYPES = ("float16", "bfloat16", "float32")
# Relative distance from the unquantized result on normal weights: 0.09 with 4 bits, 0.007 to 0.010 with 8 (measured on a CPU).
# Nearer than the first nothing was quantized, farther than the second something is wrong.
_ERRORS = {4: (0.01, 0.3), 8: (0.0005, 0.1)}
_BYTES_EACH = {4: 0.5, 8: 1.0}
# How bitsandbytes, its libraries and CUDA say that they do not work here; each is the text of an error that was reported or seen.
_BROKEN = (
    "no kernel image is available",
    "invalid device function",
    "cublaslt ran into an error",
    "cublas api failed",
    "cuda setup failed",
    "required library version not found",
    "compiled without gpu support",
    "no module named 'triton.ops'",
    "libbitsandbytes_",
    "undefined symbol",
    "`glibc_",
    "'nonetype' object has no attribute 'c",
    "has no attribute 'cint8_vector_quant'",
    "has no attribute 'cquantize_blockwise",
    "configured cuda binary not found",
    "native library not available",
)
_MEMORY = ("out of memory", "cublas_status_alloc_failed")


def parameters(facts: Facts, *, bits: int) -> Mapping[str, object] | str:
    """What the child shall run for this plan, or why this plan cannot be tested so."""
    quant = facts.value("plan.quant")
    if quant not in (None, f"{bits}bit"):
        return f"plan.quant is {quant}: nothing is quantized to {bits} bits by bitsandbytes"
    if facts.lacks("bitsandbytes"):
        return "bitsandbytes is not installed"
    on_cpu = facts.value("accelerator") == "cpu"
    if on_cpu and quant is None:
        # A bitsandbytes for CUDA beside a CPU build of torch is no fault of a plan that does not quantize.
        return "no GPU: the run computes on cpu, and nothing says that it quantizes"
    missing = None if on_cpu else no_gpu(facts)
    if missing is not None:
        return missing
    assumed: list[str] = []
    dtype = facts.value("plan.load_dtype")
    if dtype not in _DTYPES:
        dtype = "float16"
        assumed.append("computing in float16")
    return {"bits": bits, "device": "cpu" if on_cpu else "cuda", "dtype": dtype, "quant_type": "nf4", "assumed": assumed}


def variations(params: Mapping[str, object]) -> Iterable[Variation]:
    """Another dtype to compute in, other 4-bit numbers, the other number of bits."""
    for dtype in _DTYPES:
        if dtype != params.get("dtype"):
            yield Variation(f"computing in {dtype}", {**params, "dtype": dtype})
    if params.get("bits") == 4:
        yield Variation('bnb_4bit_quant_type="fp4"', {**params, "quant_type": "fp4"})
    other = 8 if params.get("bits") == 4 else 4
    yield Variation(f"{other} bits", {**params, "bits": other}, {"plan.quant": f"{other}bit"})


def judge(measured: Mapping[str, object], params: Mapping[str, object], *, bits: int) -> Judgement:
    """What the measurement shows of ``bits``, or of as many as ``params`` say. Pure; anything unexpected in it is inconclusive."""
    asked = params.get("bits")
    return with_assumed(_judge(measured, asked if isinstance(asked, int) and asked in _ERRORS else bits), params)


def _judge(measured: Mapping[str, object], bits: int) -> Judgement:
    on_cpu = measured.get("device") == "cpu"
    missing = None if on_cpu else ran_without_gpu(measured)
    if missing is not None:
        return "inconclusive", missing
    where = "on the CPU" if on_cpu else f"on {gpu_words(measured)}"
    error = measured.get("error")
    if error is None:
        return _values(measured, where, bits)
    devices = measured.get("supported_devices")
    if on_cpu and "stored_as" in measured and not (isinstance(devices, (list, tuple)) and "cpu" in devices):
        left = f"this bitsandbytes does not name the CPU among its devices, and left the weights {measured.get('stored_as')}"
        return "confirmed", f"{_told(error, where)}: {left}"
    return _failed(error, where, on_gpu=not on_cpu)


def _failed(error: object, where: str, *, on_gpu: bool) -> Judgement:
    told = _told(error, where)
    if any(text in told.lower() for text in _MEMORY):
        return "inconclusive", f"{told}: the memory was full, which is another matter"
    if on_gpu and any(text in told.lower() for text in _BROKEN):
        return "confirmed", told
    return "inconclusive", told


def _told(error: object, where: str) -> str:
    fields = error if isinstance(error, Mapping) else {}
    message = " ".join(str(fields.get("message", "")).split())[:300]
    told = f"{where} {fields.get('during', 'a part')} failed: {fields.get('type', 'an error')}"
    return f"{told}: {message}" if message else told


def _values(measured: Mapping[str, object], where: str, bits: int) -> Judgement:
    stored, weights, nonfinite = (measured.get(key) for key in ("stored_bytes", "weights", "nonfinite"))
    if not (is_count(stored) and is_count(weights) and is_count(nonfinite) and is_count(measured.get("adapter_gradients"))):
        return "inconclusive", f"{where} forward and backward were not measured"
    if stored != weights * _BYTES_EACH[bits]:
        kept = f"{stored} bytes for {weights} weights ({measured.get('stored_as')})"
        return "inconclusive", f"{where} the weights were not packed to {bits} bits: {kept}"
    if nonfinite:
        return "confirmed", f"{where} {nonfinite} values of the result and the input's gradient are not finite"
    least, most = _ERRORS[bits]
    for key, words in (("forward_error", "the result"), ("backward_error", "the input's gradient")):
        value = measured.get(key)
        if not is_finite(value):
            return "inconclusive", f"{where} {words} was not compared"
        if value > most:
            return "confirmed", f"{where} {words} is {value:.0%} away from that of the weights as they were; {bits} bits explain {most:.0%}"
        if value < least:
            return "inconclusive", f"{where} {words} is as exact as if nothing had been quantized"
    if measured.get("adapter_gradients") != 2:
        return "inconclusive", f"{where} the gradients of an adapter beside the layer are zero or not finite: another fault"
    return "refuted", f"{where} a layer is packed to {bits} bits, computes within {most:.0%} and passes gradients on"


def probe(bits: int) -> Probe:
    """The probe of that many bits."""
    judged: Callable[[Mapping[str, object], Mapping[str, object]], Judgement] = partial(judge, bits=bits)
    return Probe(
        name=f"quantize-{bits}bit",
        shows=f"whether bitsandbytes quantizes a layer to {bits} bits on this device, with results and gradients that fit",
        needs=("torch", "bitsandbytes", "a GPU"),
        cost="3 to 15 s and less than 1 GiB of one GPU, nearly all of it imports and the GPU's context",
        script=CHILDREN / "quantize.py",
        parameters=partial(parameters, bits=bits),
        judge=judged,
        variations=variations,
        timeout=120.0,
        memory_bytes=16 << 30,
        gpu=True,
        proven=False,
    )
