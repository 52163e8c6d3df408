"""Kernels that a trainer brings with it: what a plan says of them, and what follows from the trainer and its release."""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.asked import Reader
from envdoctor.memory.plan import Plan
from envdoctor.memory.stack import at_least
from envdoctor.records import replace

LORA_KERNELS = frozenset(("mlp", "qkv", "o"))
# Where axolotl turns them on unless a plan sets one of them (check_auto_enable_lora_kernels of utils/schemas/config.py: not in 0.9.0), and
# from where on they are used beside a dropout (monkeypatch/lora_kernels.py of 0.15.0 and 0.16.0).
_BY_DEFAULT, _WITH_DROPOUT = "0.10.0", "0.16.0"
# Models whose layers Unsloth writes itself, with these kernels (patch_peft_model of unsloth/models/llama.py, 2024.8 to 2026.10.9); others
# are compiled as they are.
_OF_UNSLOTH = frozenset(("llama", "mistral", "gemma", "gemma2", "qwen2", "qwen3", "cohere", "granite"))
# Trainers of reinforcement learning, for which axolotl does not turn them on.
_ROLLED_OUT = frozenset(("dpo", "grpo", "kto", "orpo", "ppo", "ipo", "simpo"))


def with_kernels(plan: Plan, reader: Reader, architecture: Architecture) -> Plan:
    """The plan with what its trainer's layers and kernels compute in the place of transformers and peft."""
    trainer = reader.trainer
    alone = plan.liger and trainer == "axolotl" and reader.flag("plan.liger") is not True
    kernels = _lora_kernels(plan, reader, architecture)
    own = replace(plan, litgpt=trainer == "litgpt", unsloth=trainer == "unsloth", cut_loss=alone)
    return replace(own, lora_kernels=kernels, card=_card(reader))


def _lora_kernels(plan: Plan, reader: Reader, architecture: Architecture) -> frozenset[str]:
    """Of "mlp", "qkv" and "o" those that are computed with their adapters at once."""
    stated, trainer, release = reader.words("plan.lora_kernels"), reader.trainer, plan.stack.axolotl
    if plan.adapter is None or trainer not in ("axolotl", "unsloth"):
        return frozenset()
    if trainer == "unsloth":
        return LORA_KERNELS if architecture.kind in _OF_UNSLOTH and not plan.adapter.dropout else frozenset()
    if plan.adapter.dropout and not at_least(release, _WITH_DROPOUT):
        return frozenset()
    if stated is not None:
        return LORA_KERNELS.intersection(stated)
    if not at_least(release, _BY_DEFAULT) or plan.quant == "8bit" or reader.flag("plan.trust_remote_code") is True:
        return frozenset()
    if (reader.text("plan.objective") or "") in _ROLLED_OUT or (plan.sharding == "fsdp" and not plan.second):
        return frozenset()
    reader.assume("plan.lora_kernels", tuple(sorted(LORA_KERNELS)), "default of axolotl")
    return LORA_KERNELS


def _card(reader: Reader) -> float:
    """GiB of the GPU's memory, 0 where nobody says."""
    value = reader.facts.value("gpu.memory_gib")
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else 0.0
