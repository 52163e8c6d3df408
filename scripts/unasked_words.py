"""Rules whose text names a condition of which their condition asks nothing: "under DeepSpeed", "when it generates", "on Windows".

``python scripts/unasked_words.py`` prints one line for every rule and word; ``-e`` leaves out all but errors and warnings. Whoever reads it
decides: the word may stand in a cure, or name what holds of everybody.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from envdoctor.rules.conditions import Condition, PackageIs, ValueIs, leaves
from envdoctor.rules.rule import Rule
from envdoctor.rules.rulebook import load_rulebook

# A word of the text, and the beginnings of what a condition asks where it has asked: facts, packages, patterns of uses.
_WORDS = (
    (r"\bZeRO|\bDeepSpeed", ("plan.distributed", "plan.deepspeed", "packages.deepspeed", "plan.zero", "deepspeed", "plan.offload")),
    (r"\bFSDP", ("plan.distributed", "plan.fsdp")),
    (r"\bTrainer\b|TrainingArguments", ("plan.trainer", "trainer", "Trainer", "plan.arguments", "trl")),
    (r"\bgenerat(?:e|es|ing|ion)\b", ("plan.generate", "generate", "plan.phase", "plan.method", "vllm")),
    (r"\bcheckpointing\b", ("plan.gradient_checkpointing", "gradient_checkpointing")),
    (r"flash.attention|flash-attn", ("plan.attn", "packages.flash-attn", "flash_attn", "attn_implementation", "plan.flash")),
    (r"\bsdpa\b", ("plan.attn", "attn_implementation")),
    (r"\bLoRA\b|\badapters?\b", ("plan.method", "packages.peft", "adapter.", "peft", "model.adapter")),
    (r"\bquanti[sz]ed?\b|4-bit|8-bit|load_in_", ("plan.quant", "quant", "bitsandbytes", "load_in", "packages.auto", "gptq", "torchao")),
    (r"\bWindows\b", ("system", "os", "platform", "windows")),
    (r"\bmacOS\b|\bMPS\b|Apple", ("system", "os", "platform", "gpu.", "accelerator", "mac")),
    (r"\bon (?:a |the )?GPUs?\b|\bCUDA\b", ("gpu.", "cuda", "driver", "builds", "accelerator", "packages.nvidia", "plan.device")),
    (r"\bconda\b", ("present", "installer", "conda", "manager")),
    (r"\bPython 3\.\d+", ("python",)),
    (r"\bpadd(?:ed|ing)\b", ("plan.pad", "plan.batch", "padding", "plan.pack", "tokenizer.")),
    (r"\bbfloat16\b|\bbf16\b", ("plan.bf16", "plan.load_dtype", "model.dtype", "plan.mixed", "dtype", "bf16")),
    (r"\bfloat16\b|\bfp16\b", ("plan.fp16", "plan.load_dtype", "model.dtype", "plan.mixed", "dtype", "fp16")),
    (r"\bremote code\b|trust_remote_code|code of the (?:snapshot|repository)", ("remote_code", "model.code")),
    (r"\bevaluat(?:e|es|ion)\b", ("plan.eval", "evaluate", "plan.arguments", "eval")),
    (r"\bresum(?:e|es|ed|ing)\b", ("plan.resume", "resume")),
    (r"\bsav(?:e|es|ed|ing)\b", ("save", "plan.save", "plan.phase", "plan.method", "plan.trainer")),
    (r"\bmerg(?:e|es|ed|ing)\b", ("merge", "plan.merge", "plan.phase")),
    (r"torch\.compile\b", ("compile", "packages.triton")),
    (r"\boffload", ("offload", "device_map", "plan.offload", "plan.device_map")),
    (r"\bdevice_map\b", ("device_map", "plan.device_map")),
)  # fmt: skip


def asked_of(condition: Condition) -> str:
    """All that a condition asks, as one text: facts, packages, patterns and values."""
    told = []
    for leaf in leaves(condition):
        told.append(f"packages.{leaf.package}" if isinstance(leaf, PackageIs) else leaf.fact)
        if isinstance(leaf, ValueIs) and leaf.fact != "not_loaded":
            told += map(str, leaf.values)
        told.append(leaf.text())
    return " ".join(told)


def unasked(rule: Rule) -> Iterator[str]:
    """The words of a rule's title and details of which its condition asks nothing."""
    if rule.condition is None or rule.withdrawn is not None:
        return
    asked = asked_of(rule.condition)
    for pattern, facts in _WORDS:
        found = re.search(pattern, f"{rule.title}\n{rule.details}")
        if found is not None and not any(fact in asked for fact in facts):
            yield found.group()


def main() -> int:
    """Print the words; the status is 0, since a reader decides what they mean."""
    for rule in load_rulebook().rules:
        if "-e" in sys.argv[1:] and rule.severity == "note":
            continue
        words = list(unasked(rule))
        if words:
            sys.stdout.write(f"{rule.id} [{rule.severity}]: {', '.join(words)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
