"""What people call the settings of a run where they state them: arguments of trainers, frameworks and reports."""

from __future__ import annotations

import re

from envdoctor.facts.fact import Origin

Statement = tuple[str, object, Origin]

# Arguments that mean one fact, whatever their value.
_ARGUMENTS = {
    "torch_compile": "compile", "attn_implementation": "attn", "attention": "attn", "fsdp": "distributed",
    "per_device_train_batch_size": "batch_size", "micro_batch_size": "batch_size", "per_device_eval_batch_size": "eval_batch_size",
    "gradient_accumulation_steps": "gradient_accumulation", "cutoff_len": "seq_len", "sequence_len": "seq_len", "max_seq_length": "seq_len",
    "max_seq_len": "seq_len", "optim": "optimizer", "lr": "learning_rate", "lora_rank": "lora_r",
    "torch_dtype": "load_dtype", "dtype": "load_dtype",
}  # fmt: skip
_BF16 = re.compile(r"bf16(?:-mixed)?|bfloat16|bf16amp", re.IGNORECASE)
_FP16 = re.compile(r"fp16(?:-mixed)?|float16|16(?:-mixed)?|half", re.IGNORECASE)
# Lightning's words for weights that are kept in half precision, with nothing computed in another one beside them.
_KEPT_IN = re.compile(r"(bf|f|fp)?16-true", re.IGNORECASE)
_NEITHER = re.compile(r"no|none|fp32|float32|32(?:-true)?|full", re.IGNORECASE)
_PRECISIONS = ("plan.precision", "plan.mixed_precision")
_STAGES = ("plan.zero_stage", "plan.deepspeed_stage", "plan.zero")
_BITS = ("plan.bits", "plan.quantization_bit", "plan.quant_bits")
# How a method of quantization is recognised in what people call it; the first that fits.
_QUANTIZED = (
    (r"gptq", "gptq"), (r"awq", "awq"), (r"aqlm", "aqlm"), (r"hqq", "hqq"), (r"mxfp4", "mxfp4"), (r"fp8", "fp8"), (r"torchao", "torchao"),
    (r"(?:bnb|bitsandbytes)?[\W_]*(?:nf4|fp4|4[\W_]*bits?|load_in_4bit)", "4bit"),
    (r"(?:bnb|bitsandbytes)?[\W_]*(?:llm\.int8\(?\)?|8[\W_]*bits?|load_in_8bit)", "8bit"),
    (r"none|no|false", "none"),
)  # fmt: skip


def as_facts(statements: list[Statement]) -> list[Statement]:
    """The statements under the names of their facts: ``precision = "bf16"`` is ``plan.bf16``, ``zero_stage = 3`` how work is shared.

    What says the same as another statement, and less of it, is left out.
    """
    said = {name: raw for name, raw, _ in statements}
    renamed = [(name, raw, origin) for statement in statements for name, raw, origin in [_renamed(*statement, said)] if name]
    given: set[str] = set()
    kept = []
    for name, raw, origin in renamed:
        # The first word for a fact stands; a second one that means the same fact adds nothing.
        if name in given and name not in said:
            continue
        given.add(name)
        kept.append((name, raw, origin))
    return kept


def _renamed(name: str, raw: object, origin: Origin, said: dict[str, object]) -> Statement:
    if not name.startswith("plan."):
        return name, raw, origin
    text = str(raw).strip()
    if name in _PRECISIONS:
        return _precision(name, text, raw, origin, said)
    if name in _STAGES or name == "plan.deepspeed":
        stage = re.fullmatch(r"(?:deepspeed\s*)?(?:zero|stage)?\s*([123])", re.sub(r"[_-]+", "", text.lower()))
        return ("plan.distributed", f"zero{stage[1]}", origin) if stage and not isinstance(raw, bool) else (name, raw, origin)
    if name in ("plan.engine", "plan.backend"):
        return _engine(name, text, raw, origin, said)
    if name in ("plan.quantization", "plan.quant") and isinstance(raw, str):
        method = next((method for pattern, method in _QUANTIZED if re.match(pattern, text, re.IGNORECASE)), None)
        return ("plan.quant", method or raw, origin)
    if name in _BITS and text in ("4", "8") and not {"plan.quant", "plan.quantization"} & said.keys():
        return "plan.quant", f"{text}bit", origin
    if name == "plan.fsdp" and isinstance(raw, bool):
        raw = "fsdp" if raw else "none"
    argument = _ARGUMENTS.get(name.removeprefix("plan."))
    if argument is None:
        return name, raw, origin
    return ("", raw, origin) if f"plan.{argument}" in said else (f"plan.{argument}", raw, origin)


def _precision(name: str, text: str, raw: object, origin: Origin, said: dict[str, object]) -> Statement:
    """``precision``: what a trainer computes in; of a run that only generates, what its weights are loaded as."""
    kept = _KEPT_IN.fullmatch(text)
    if kept is not None:
        dtype = "bfloat16" if (kept[1] or "").lower() == "bf" else "float16"
        stated = any(one in said for one in ("plan.load_dtype", "plan.torch_dtype", "plan.dtype"))
        return ("", raw, origin) if stated else ("plan.load_dtype", dtype, origin)
    generates = said.get("plan.method") == "inference"
    kind = "bf16" if _BF16.fullmatch(text) else "fp16" if _FP16.fullmatch(text) else "" if _NEITHER.fullmatch(text) else None
    if kind is None:
        return name, raw, origin
    if generates:
        return "plan.load_dtype", {"bf16": "bfloat16", "fp16": "float16", "": "float32"}[kind], origin
    fact = f"plan.{kind or 'bf16'}"
    return ("", raw, origin) if fact in said else (fact, bool(kind), origin)


def _engine(name: str, text: str, raw: object, origin: Origin, said: dict[str, object]) -> Statement:
    """``engine = "deepspeed"`` beside the stage says nothing more; ``"deepspeed zero3"`` and ``"fsdp"`` say how the work is shared."""
    word = re.sub(r"[\s_-]+", "", text.lower())
    stage = re.fullmatch(r"(?:deepspeed)?zero(?:stage)?([123])", word)
    if word == "vllm":
        return "plan.vllm", True, origin
    if word not in ("deepspeed", "fsdp", "ddp", "megatron") and not stage:
        return name, raw, origin
    if "plan.distributed" in said or (word == "deepspeed" and any(one in said for one in _STAGES)):
        return "", raw, origin
    return "plan.distributed", f"zero{stage[1]}" if stage else word, origin


__all__ = ["Statement", "as_facts"]
