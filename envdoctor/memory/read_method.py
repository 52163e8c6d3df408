"""What is trained, and in which form and dtype the weights lie: read from the facts of a plan."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.facts.fact import Facts
from envdoctor.memory.asked import Reader
from envdoctor.memory.plan import Dtype, Method

_ADAPTED = frozenset(("lora", "qlora", "dora", "rslora", "ia3"))
# Methods of peft 0.21.2 (peft/tuners) that facts have no word for. Twenty-odd of them took what is counted for LoRA, or up to a fifth less
# (docs/memory.md, 528 to 589): none of them is near full fine-tuning.
_OTHER_ADAPTERS = frozenset((
    "adalora", "loha", "lokr", "oft", "boft", "vera", "pvera", "vblora", "randlora", "fourierft", "lntuning", "adaptionprompt", "poly",
    "hra", "bone", "miss", "shira", "c3a", "road", "gralora", "delora", "waveft", "trainabletokens", "adapter", "adapters",
    "bottleneckadapter", "peft", "bitfit", "xlora",
))  # fmt: skip
_PROMPTED = frozenset(("prompt-tuning", "prefix-tuning", "p-tuning"))
_PAIRED = frozenset(("dpo", "orpo", "reward"))
OF_PREFERENCES = frozenset(("dpo", "orpo", "kto", "ppo", "grpo", "reward"))
"""What a loss may be of beside the answer itself."""
GENERATED = frozenset(("grpo", "rloo"))
"""Whose trainer has the model generate answers, and scores these."""
ROLLED_OUT = frozenset(("ppo", *GENERATED))
"""Those, and the one whose trainer has a value model beside them."""
PROMPT, _ANSWER, _LONGER_ANSWER = 512, 256, 512
"""max_prompt_length and max_completion_length of GRPOConfig, tokens (TRL 0.14.0 to 0.24.0; the first is gone in 1.7.1)."""
# Where the default of the second is the longer one (grpo_config.py: not in 1.9.0).
_ANSWERS_LONGER = "1.10"
_NEVER_ADAPTED = frozenset(("full", "freeze", "inference"))
_DTYPES: Mapping[str, Dtype] = {"float32": "float32", "float16": "float16", "bfloat16": "bfloat16"}
_QUANTIZED = frozenset(("4bit", "8bit", "gptq", "awq", "fp8", "hqq", "aqlm", "mxfp4", "torchao"))
_OF_BITSANDBYTES = frozenset(("bitsandbytes", "bnb", "bitsandbytes-4bit"))
VIRTUAL_TOKENS = 20
"""What is taken for a number of virtual tokens that nobody stated."""


def objective(facts: Facts) -> str | None:
    """What the loss is of, where that is said beside the method or is the method: dpo, kto, ppo ..."""
    return facts.text("plan.objective") or facts.text("plan.method")


def answer_of(reader: Reader) -> int:
    """How long an answer may be in TRL where nobody says."""
    return _LONGER_ANSWER if reader.of_trl(_ANSWERS_LONGER) else _ANSWER


def sequences(facts: Facts) -> int:
    """Rows of the model that one row of the data makes: a chosen and a rejected answer pass together (TRL, ``concatenated_forward``).

    ms-swift fills a pack up to its length with both (``create_packed_idx`` sums the two lengths; swift/dataset/packing.py at 3602360a).
    """
    if facts.text("plan.trainer") == "ms-swift" and facts.value("plan.packing") is True:
        return 1
    return 2 if objective(facts) in _PAIRED else 1


def is_adapter(words: str) -> bool:
    """Whether a method that facts have no word for is one of peft's that train little beside frozen weights."""
    return re.sub(r"[^a-z0-9]", "", words.lower()) in _OTHER_ADAPTERS


def method_of(reader: Reader) -> tuple[Method, str]:
    """full, adapter, prompt or inference; and the form of the base model's layers."""
    named = reader.text("plan.method")
    quant = quant_of(reader, named)
    if named is None:
        words = reader.in_words("plan.method")
        known = words is not None and is_adapter(words)
        reader.assume("plan.method", "lora", "" if words is None else f"{words} is {'counted as LoRA' if known else 'not understood'}")
        return "adapter", quant
    if named in _ADAPTED or (named not in _NEVER_ADAPTED and (reader.number("plan.lora_r") or reader.words("plan.lora_targets"))):
        return "adapter", quant
    if named in _PROMPTED:
        if reader.number("plan.virtual_tokens") is None:
            reader.assume("plan.virtual_tokens", VIRTUAL_TOKENS)
        return "prompt", quant
    if named == "inference":
        return "inference", quant
    if named not in ("full", "pretrain", "freeze"):
        reader.assume("plan.lora_r", "none", f"{named} without an adapter trains all weights")
    return "full", quant


def quant_of(reader: Reader, method: str | None) -> str:
    """The form of the base model's layers. What a checkpoint is stored as is kept by transformers, whatever quantization is asked for
    beside it (``merge_quantization_configs`` of its quantizers)."""
    stored = (reader.text("model.quant_method") or "none").lower().replace("_", "-")
    if stored in _QUANTIZED:
        return stored
    asked = reader.text("plan.quant")
    if asked in _QUANTIZED:
        return asked
    if method == "qlora":
        if asked is not None:
            reader.assume("plan.quant", "4bit", "QLoRA is LoRA on a 4-bit base")
        return "4bit"
    if stored in _OF_BITSANDBYTES:
        reader.assume("plan.quant", "4bit", "the checkpoint is quantized by bitsandbytes")
        return "4bit"
    if stored != "none":
        reader.assume("plan.quant", "none", f"quant_method {stored} of config.json is not known here")
    return "none"


# Encoders whose checkpoints are older than the dtype in config.json (transformers 4.9), and float32.
_OF_FLOAT32 = frozenset(("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra", "deberta-v2", "albert"))
# Under DeepSpeed its engine casts the weights and scales the loss itself.
_CASTING = frozenset(("zero1", "zero2", "zero3", "megatron"))


def load_dtype_of(reader: Reader, method: Method, quant: str, kind: str) -> Dtype:
    stated = _DTYPES.get(reader.text("plan.load_dtype") or "")
    if stated is not None:
        return stated
    if method == "full" and reader.text("plan.trainer") == "llamafactory" and autocast_of(reader) is not None:
        # init_adapter (model/adapter.py) of llamafactory 0.9.3 casts what is trained to float32; pure_bf16, which keeps it from that, goes
        # without bf16 and fp16.
        reader.assume("plan.load_dtype", "float32", "LLaMA-Factory trains in float32 unless pure_bf16 is set")
        return "float32"
    scaled = method == "full" and quant == "none" and autocast_of(reader) == "float16" and reader.text("plan.distributed") not in _CASTING
    if scaled:
        # GradScaler.unscale_ refuses gradients of float16 ("Attempting to unscale FP16 gradients", torch/amp/grad_scaler.py).
        reader.assume("plan.load_dtype", "float32", "fp16 with a gradient scaler trains float32 weights")
        return "float32"
    for name, why in (("model.dtype", "as the weights are stored"), ("model.config_dtype", "as config.json says")):
        value = _DTYPES.get(reader.text(name) or "")
        if value is not None:
            reader.assume("plan.load_dtype", value, why)
            return value
    if kind in _OF_FLOAT32:
        reader.assume("plan.load_dtype", "float32", "as checkpoints of its kind are stored")
        return "float32"
    half: Dtype = "float16" if reader.flag("plan.fp16") and quant != "none" else "bfloat16"
    reader.assume("plan.load_dtype", half)
    return half


# Where TRL's configurations ask for bfloat16 unless they are told float16 (``self.bf16 = not (self.fp16) if self.bf16 is None``: not in
# sft_config.py of 0.18.2, in 0.19.0 to 1.16.0).
_MIXED_IN_TRL = "0.19"


def autocast_of(reader: Reader) -> Dtype | None:
    """Mixed precision asked of the trainer; none where nobody asked."""
    if reader.flag("plan.bf16"):
        return "bfloat16"
    if reader.flag("plan.fp16"):
        return "float16"
    if reader.of_trl(_MIXED_IN_TRL) and reader.facts.value("plan.bf16") is None:
        if "plan.bf16" not in {one.fact for one in reader.assumed}:
            reader.assume("plan.bf16", True, "default of TRL")
        return "bfloat16"
    return None
