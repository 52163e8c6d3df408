"""``lora-step``: does the first LoRA step of this stack leave finite weights behind?

The fault (huggingface/peft#1568): adapters in float16 meet Adam, whose epsilon of 1e-8 is zero in
float16. lora_B starts at zero, so lora_A has a gradient of exactly zero and its first update is
0 / 0. With a gradient scaler the same adapters end the run with "Attempting to unscale FP16 gradients".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.measured import NOT_ON_THIS_CPU, is_count, is_finite, with_assumed
from envdoctor.probes.on_gpu import computes_in_bfloat16
from envdoctor.probes.probe import CHILDREN, Probe, Variation
from envdoctor.probes.verdict import Ruling

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "lora-step"
STEPS = 2
DEFAULT_EPS = 1e-8

_DTYPES = ("float16", "bfloat16", "float32")
_ADAPTERS = ("lora", "dora", "rslora")
# Ways of training that may or may not go through an adapter: they do when the plan describes one.
_OBJECTIVES = ("pretrain", "dpo", "ppo", "grpo", "kto", "orpo")
_OPTIMIZERS = {
    "adamw": "adamw_torch",
    "adamw_torch": "adamw_torch",
    "adamw_torch_fused": "adamw_torch_fused",
    "adafactor": "adafactor",
    "sgd": "sgd",
}
_OUTPUT_LAYERS = ("lm_head", "output_layer", "embed_out")
_EMBEDDINGS = ("embed_tokens", "word_embeddings", "wte", "embed_in")
_NOT_ON_THIS_CPU = (
    *NOT_ON_THIS_CPU,
    "`fused=true` requires all the params to be floating point tensors of supported devices",
    "has no attribute 'gradscaler'",
)
_UNSCALE = "attempting to unscale fp16 gradients"


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """What the child shall run for this plan, or why this plan cannot be tested so.

    What the plan leaves open is taken as the fault needs it (a float16 base, plain LoRA) and
    listed under ``assumed``; the optimizer is then the default of the releases installed.
    """
    assumed: list[str] = []
    method = _method(facts, assumed)
    if method not in _ADAPTERS:
        return f"plan.method is {method}: no LoRA adapter is trained"
    quant = facts.value("plan.quant")
    if quant not in (None, "none") or facts.value("plan.load_in_4bit") is True or facts.value("plan.load_in_8bit") is True:
        return f"the base is quantized ({quant or 'bitsandbytes'}): a CPU cannot show that step"
    dtype = _dtype(facts, assumed)
    if dtype not in _DTYPES:
        return f"the weights are loaded as {dtype}: only {', '.join(_DTYPES)} are tested"
    stated = facts.value("plan.optimizer")
    if stated is not None and str(stated) not in _OPTIMIZERS:
        return f"plan.optimizer is {stated}: only {', '.join(sorted(set(_OPTIMIZERS.values())))} are tested on a CPU"
    saved = _modules(facts.value("plan.modules_to_save"))
    if isinstance(saved, str):
        return saved
    eps = facts.value("plan.optimizer_eps")
    cast = facts.value("plan.autocast_adapter_dtype")
    if facts.value("plan.bf16") is True and dtype != "float32":
        assumed.append("bfloat16 autocast left out, which a CPU does not do over this base")
    return {
        "dtype": dtype,
        "method": method,
        # Its default is not passed: releases before 0.12.0 do not know the argument.
        "autocast_adapter_dtype": False if cast is False else None,
        "modules_to_save": saved,
        "optimizer": None if stated is None else _OPTIMIZERS[str(stated)],
        "eps": float(eps) if isinstance(eps, (int, float)) and not isinstance(eps, bool) else DEFAULT_EPS,
        "grad_scaler": facts.value("plan.fp16") is True,
        "bfloat16": computes_in_bfloat16(facts),
        "steps": STEPS,
        "assumed": assumed,
    }


def _method(facts: Facts, assumed: list[str]) -> str:
    method = facts.value("plan.method")
    if method is None:
        assumed.append("LoRA")
        return "lora"
    if method in _OBJECTIVES and ("plan.lora_r" in facts or "plan.lora_targets" in facts):
        return "lora"
    return str(method)


def _dtype(facts: Facts, assumed: list[str]) -> str:
    """The dtype that the base has in memory: as loaded, else with ``auto`` as its config says, else float16."""
    loaded = facts.value("plan.load_dtype")
    if loaded == "auto":
        loaded = facts.value("model.config_dtype") or facts.value("model.dtype")
    if loaded is None:
        assumed.append("a float16 base")
        return "float16"
    return str(loaded)


def _modules(stated: object) -> list[str] | str:
    """The tiny model's names of the modules trained in full, or why it has none like them."""
    names = stated if isinstance(stated, tuple) else ()
    found: set[str] = set()
    for name in names:
        last = str(name).rpartition(".")[2]
        if last in _OUTPUT_LAYERS:
            found.add("lm_head")
        elif last in _EMBEDDINGS:
            found.add("embed_tokens")
        else:
            return f"plan.modules_to_save names {name}, which the tiny model does not have"
    return sorted(found)


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    return with_assumed(_judge(measured, params), params)


def variations(params: Mapping[str, object]) -> Iterator[Variation]:
    """What may cure float16 adapters without another release, one thing at a time."""
    if params.get("dtype") == "float16":
        if params.get("bfloat16") is not False:
            plain: dict[str, object] = {"dtype": "bfloat16"}
            # bfloat16 has no gradient scaler: fp16=True beside it is another run, and bf16=True is more than a CPU shows.
            scaled = params.get("grad_scaler") is True
            words = "a bfloat16 base without mixed precision" if scaled else "a bfloat16 base"
            told = {"plan.load_dtype": "bfloat16", **({"plan.fp16": False} if scaled else {})}
            yield Variation(words, {**plain, "grad_scaler": False} if scaled else plain, told)
        yield Variation("a float32 base", {"dtype": "float32"}, {"plan.load_dtype": "float32"})
    if params.get("eps") == DEFAULT_EPS:
        yield Variation("an epsilon of 1e-6", {"eps": 1e-6}, {"plan.optimizer_eps": 1e-6})


def _judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    dtypes = _dtypes(measured.get("trainable_dtypes"))
    if dtypes is None:
        return "inconclusive", "the child did not say what dtype the trainable parameters have"
    half = "float16" in dtypes
    subject = f"trainable parameters are {' and '.join(sorted(dtypes))}"
    error = measured.get("error")
    if error is not None:
        return _failed(error, half, subject)
    losses, nonfinite, nonzero = (_sequence(measured.get(key)) for key in ("losses", "nonfinite_trainable", "nonzero_gradients"))
    taken = len(nonfinite)
    if taken == 0 or len(losses) != taken + 1 or len(nonzero) != taken or not all(map(is_count, (*nonfinite, *nonzero))):
        return "inconclusive", f"{subject}, but no whole step was measured"
    if not is_finite(losses[0]):
        return "inconclusive", f"the loss was not finite before any step, which is another fault; {subject}"
    optimizer = str(measured.get("optimizer"))
    bad = next((step for step in range(1, taken + 1) if not is_finite(losses[step]) or nonfinite[step - 1]), None)
    if bad is not None:
        broken = f"{nonfinite[bad - 1]} of {sum(dtypes.values())} trainable tensors are not finite"
        outcome = f"after step {bad} with {optimizer} {broken} and the loss is {losses[bad]}"
        if half:
            return "confirmed", f"{subject}; {outcome}"
        return "inconclusive", f"{outcome}, but {subject}: another fault than float16 adapters"
    steps = params.get("steps", STEPS)
    if taken != steps:
        return "inconclusive", f"{subject}, but {taken} of {steps} steps were measured"
    if measured.get("skipped_steps") or not all(nonzero):
        return "inconclusive", f"{subject}, but a step changed nothing: its gradients were zero or it was skipped"
    return "refuted", f"{subject}; losses and trainable parameters stay finite through {steps} steps with {optimizer}"


def _failed(error: object, half: bool, subject: str) -> Judgement:
    fields = error if isinstance(error, Mapping) else {}
    message = " ".join(str(fields.get("message", "")).split())[:300]
    during = str(fields.get("during", "a step"))
    if half and _UNSCALE in message.lower():
        return "confirmed", f"{subject}; the gradient scaler refuses them: {message}"
    if any(text in message.lower() for text in _NOT_ON_THIS_CPU):
        return "inconclusive", f"not testable on this CPU ({during}: {message}); {subject}"
    return "inconclusive", f"{during} failed: {fields.get('type', 'an error')}: {message}; {subject}"


def _dtypes(value: object) -> Mapping[str, int] | None:
    if not isinstance(value, Mapping) or not value or not all(isinstance(name, str) and is_count(count) for name, count in value.items()):
        return None
    return value


def _sequence(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else ()


PROBE = Probe(
    name=NAME,
    shows="whether LoRA's trainable parameters are float16 and turn NaN at the first optimizer step",
    needs=("torch", "transformers", "peft"),
    cost="3 to 20 s on one CPU core, nearly all of it imports",
    script=CHILDREN / "lora_step.py",
    parameters=parameters,
    judge=judge,
    variations=variations,
    timeout=120.0,
    memory_bytes=8 << 30,
)
