"""From facts to a plan: what was stated is taken, what follows is derived, and what is left is assumed and said."""

from __future__ import annotations

from typing import get_args

from envdoctor.facts import Facts
from envdoctor.memory import optimizer as optimizers
from envdoctor.memory.architecture import Architecture
from envdoctor.memory.estimate import Assumption
from envdoctor.memory.plan import Adapter, Dtype, Method, Offload, Plan, Sharding, Stack
from envdoctor.memory.stack import at_least
from envdoctor.memory.targets import default_targets
from envdoctor.versions import ABSENT, Exact

_ADAPTED = frozenset(("lora", "qlora", "dora", "rslora"))
_PROMPTED = frozenset(("prompt-tuning", "prefix-tuning", "p-tuning"))
_PREFERENCE = frozenset(("dpo", "kto", "orpo"))
_QUANTIZED = frozenset(("4bit", "8bit", "gptq", "awq", "fp8", "hqq", "aqlm", "mxfp4", "torchao"))
_MOST = 2**24


class _Reader:
    """Facts of a plan, with a list of what was assumed in their absence."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.assumed: list[Assumption] = []

    def text(self, name: str) -> str | None:
        return self.facts.text(name)

    def flag(self, name: str) -> bool | None:
        value = self.facts.value(name)
        return value if isinstance(value, bool) else None

    def number(self, name: str) -> int | None:
        value = self.facts.value(name)
        whole = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _MOST
        return int(value) if whole and isinstance(value, (int, float)) else None

    def words(self, name: str) -> tuple[str, ...] | None:
        value = self.facts.value(name)
        return value if isinstance(value, tuple) else None

    def assume(self, name: str, value: object, why: str = "") -> None:
        self.assumed.append(Assumption(name, value, why))

    def number_or(self, name: str, default: int, why: str = "") -> int:
        stated = self.number(name)
        if stated is None:
            self.assume(name, default, why)
        return default if stated is None else stated


def read_plan(facts: Facts, architecture: Architecture) -> tuple[Plan, tuple[Assumption, ...]]:
    """The plan that facts describe, and what had to be assumed."""
    reader = _Reader(facts)
    method, quant = _method(reader)
    stack = _stack(reader)
    dtype = _load_dtype(reader, quant)
    autocast = _autocast(reader)
    adapter = _adapter(reader, architecture, stack) if method == "adapter" else None
    sharding, gpus = _sharding(reader)
    if sharding in ("zero1", "zero2", "zero3") and autocast is not None:
        # DeepSpeed's engine casts the weights and computes in that dtype: accelerate does not autocast then (Accelerator, native_amp).
        dtype, autocast = autocast, None
    rows = reader.number_or("plan.batch_size", 1)
    packed = reader.flag("plan.packing") is True
    plan = Plan(
        method=method,
        load_dtype=dtype,
        autocast=autocast,
        rows=rows * (2 if reader.text("plan.method") in _PREFERENCE else 1),
        tokens=reader.number_or("plan.seq_len", 2048),
        adapter=adapter,
        quant=quant,
        double_quant=reader.flag("plan.double_quant") is True,
        upcast=_upcast(reader, method, quant, sharding),
        prompt=20 if method == "prompt" else 0,
        accumulation=reader.number("plan.gradient_accumulation") or 1,
        checkpointing=_checkpointing(reader, method),
        optimizer=_optimizer(reader, stack) if method != "inference" else "none",
        attention=_attention(reader),
        sharding=sharding,
        gpus=gpus,
        offload=_offload(reader),
        mask=_mask(reader, rows, packed),
        liger=reader.flag("plan.liger") is True or reader.text("plan.fused_loss") == "linear_cross_entropy",
        fused_loss=reader.text("plan.fused_loss") == "cross_entropy",
        compile=reader.flag("plan.compile") is True,
        stack=stack,
    )
    return plan, tuple(reader.assumed)


def _method(reader: _Reader) -> tuple[Method, str]:
    """full, adapter, prompt or inference; and the form of the base model's layers."""
    named = reader.text("plan.method")
    quant = reader.text("plan.quant")
    if quant not in _QUANTIZED:
        quant = "none"
    if named == "qlora" and quant == "none":
        quant = "4bit"
    if named is None:
        reader.assume("plan.method", "lora")
        return "adapter", quant
    if named in _ADAPTED or (named not in ("full", "pretrain", "freeze", "inference") and reader.number("plan.lora_r")):
        return "adapter", quant
    if named in _PROMPTED:
        return "prompt", quant
    return ("inference" if named == "inference" else "full"), quant


def _stack(reader: _Reader) -> Stack:
    def release(package: str) -> str:
        value = reader.facts.value(f"packages.{package}")
        if isinstance(value, Exact):
            return value.text
        return "-" if value is ABSENT else ""

    return Stack(*(release(name) for name in ("torch", "transformers", "peft", "accelerate", "deepspeed", "bitsandbytes")))


def _load_dtype(reader: _Reader, quant: str) -> Dtype:
    stated = reader.text("plan.load_dtype")
    if stated in get_args(Dtype):
        return stated  # type: ignore[return-value]
    for name, why in (("model.dtype", "as the weights are stored"), ("model.config_dtype", "as config.json says")):
        value = reader.text(name)
        if value in get_args(Dtype):
            reader.assume("plan.load_dtype", value, why)
            return value  # type: ignore[return-value]
    value = "float16" if reader.flag("plan.fp16") and quant != "none" else "bfloat16"
    reader.assume("plan.load_dtype", value)
    return value  # type: ignore[return-value]


def _autocast(reader: _Reader) -> Dtype | None:
    """Mixed precision asked of the trainer; none where nobody asked."""
    if reader.flag("plan.bf16"):
        return "bfloat16"
    if reader.flag("plan.fp16"):
        return "float16"
    return None


def _adapter(reader: _Reader, architecture: Architecture, stack: Stack) -> Adapter:
    rank = reader.number_or("plan.lora_r", 8, "default of peft")
    targets = reader.words("plan.lora_targets")
    if not targets:
        targets, why = default_targets(architecture), "default of peft for this architecture"
        if not targets:
            # peft asks for target_modules then; queries and values are what its paper adapted.
            targets = tuple(dict.fromkeys(one.name for one in architecture.linears if one.role in ("query", "value", "attention")))
            why = "peft has no default for this architecture"
        reader.assume("plan.lora_targets", targets, why)
    cast = reader.flag("plan.autocast_adapter_dtype")
    # peft 0.7.0 to 0.11.1 leave adapters in the base model's dtype; before and after they are float32.
    between = stack.peft not in ("", "-") and at_least(stack.peft, "0.7.0") and not at_least(stack.peft, "0.12.0")
    float32 = not between if cast is None or between else cast
    saved = reader.words("plan.modules_to_save") or ()
    return Adapter(rank, targets, saved, float32, reader.text("plan.method") == "dora", _chance(reader))


def _chance(reader: _Reader) -> float:
    value = reader.facts.value("plan.lora_dropout")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    # peft's own default is none; published recipes mostly have some, and it costs memory whatever its chance is.
    reader.assume("plan.lora_dropout", 0.05, "default of TRL")
    return 0.05


def _sharding(reader: _Reader) -> tuple[Sharding, int]:
    gpus = reader.number("gpu.count") or 1
    named = reader.text("plan.distributed")
    if named == "dp":
        named = "ddp"
    if named in get_args(Sharding):
        return named, gpus  # type: ignore[return-value]
    if gpus > 1:
        reader.assume("plan.distributed", "ddp", "several GPUs, each with all of the model")
        return "ddp", gpus
    return "none", 1


def _upcast(reader: _Reader, method: str, quant: str, sharding: Sharding) -> bool:
    """Whether what is not quantized became float32: peft's preparation does so, unless FSDP or ZeRO-3 shards the weights."""
    stated = reader.flag("plan.kbit_preparation")
    # GPTQ and AWQ layers are left as they are by it (peft/utils/other.py).
    if method != "adapter" or quant in ("none", "gptq", "awq") or stated is False:
        return False
    return stated is True or (quant in ("4bit", "8bit") and sharding not in ("fsdp", "zero3"))


def _checkpointing(reader: _Reader, method: str) -> bool:
    """Asked for, and done: the override of some snapshots switches nothing on."""
    if method == "inference":
        return False
    stated = reader.flag("plan.gradient_checkpointing")
    if stated is None:
        reader.assume("plan.gradient_checkpointing", False, "default of TrainingArguments")
    return stated is True and reader.text("model.gc_support") != "no-op"


def _optimizer(reader: _Reader, stack: Stack) -> str:
    stated = reader.text("plan.optimizer")
    if stated is None:
        default = "adamw_torch_fused" if at_least(stack.transformers, "4.54") and at_least(stack.torch, "2.8") else "adamw_torch"
        if not at_least(stack.transformers, "4.32"):
            default = "adamw_hf"
        reader.assume("plan.optimizer", default, "default of TrainingArguments")
        return default
    if optimizers.find(stated) is None:
        reader.assume("plan.optimizer", "adamw_torch", f"{stated} is not known here")
    return stated


def _attention(reader: _Reader) -> str:
    stated = reader.text("plan.attn")
    if stated is not None and stated != "auto":
        return {"flash_attention_3": "flash_attention_2", "flex_attention": "sdpa", "xformers": "flash_attention_2"}.get(stated, stated)
    reader.assume("plan.attn", "sdpa", "default of transformers")
    return "sdpa"


def _offload(reader: _Reader) -> Offload:
    stated = reader.text("plan.offload")
    return stated if stated in get_args(Offload) else "none"  # type: ignore[return-value]


def _mask(reader: _Reader, rows: int, packed: bool) -> bool:
    """Rows of a batch are padded to the longest, and then a mask of all positions against all is made."""
    stated = reader.flag("plan.padding")
    return (rows > 1 and not packed) if stated is None else stated
