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
# Whose layers are compiled, norms and activations with them.
_COMPILING = frozenset(("prime-rl",))
# Trainers of reinforcement learning, for which axolotl does not turn them on.
_ROLLED_OUT = frozenset(("dpo", "grpo", "kto", "orpo", "ppo", "ipo", "simpo"))


# Where TRL's trainers leave a quantized model as it is, and make its adapters bfloat16 (``param.data.to(torch.bfloat16)``, sft_trainer.py
# and grpo_trainer.py of 0.26.0 to 1.16.0; prepare_model_for_kbit_training up to 0.25.1, and in dpo_trainer.py up to 0.26.0, not in 0.29.0),
# and from where on they made embeddings and output layer of 4-bit models 16 bits again behind it (peft_module_casting_to_bf16: 0.8.6 to
# 0.25.1).
_UNPREPARED, _LATER_UNPREPARED, _CAST_IN_TRL = "0.26", "0.29", "0.8.6"
_COMPARED = frozenset(("dpo", "kto", "orpo", "cpo"))
# Where SFTTrainer makes the logits of so many tokens at a time (``chunked_nll`` of sft_config.py: the default of 1.7.1 and 1.8.0, not of
# 1.6.0, and what "nll" means in 1.16.0; _CHUNKED_LM_HEAD_CHUNK_SIZE).
_IN_PIECES, _ROWS_IN_TRL = "1.7", 256
# How: ``h.float() @ w.float().t()`` of 1.7.1 to 1.12.0, ``(h @ w.to(h.dtype).t()).float()`` of 1.13.0 and 1.14.0 (sft_trainer.py), and the
# kernels of 1.15.0 and 1.16.0 (``add_fused_lm_head``, trl/kernels/chunked_logprob.py).
_NARROW, _IN_TILES = "1.13", "1.15"
# Whose trainers are given that head as well (``fused_lm_head=True`` in dpo_trainer.py, kto_trainer.py, grpo_trainer.py and rloo_trainer.py
# of 1.15.0 and 1.16.0; not in 1.14.0).
_SCORED_IN_TILES = frozenset(("dpo", "kto", "grpo", "rloo"))


def unprepared_by_trl(reader: Reader) -> bool:
    """Whether TRL's trainer leaves a quantized model as it is, and makes its adapters 16 bits."""
    goal = reader.text("plan.objective") or reader.text("plan.method") or ""
    return reader.of_trl(_LATER_UNPREPARED if goal in _COMPARED else _UNPREPARED)


def in_pieces_of_trl(reader: Reader) -> bool:
    """Whether TRL's own loss never has all logits; that of preferences and answers has none from its kernels on, whatever is asked for."""
    goal = reader.text("plan.objective") or reader.text("plan.method") or ""
    if goal in _SCORED_IN_TILES:
        return reader.of_trl(_IN_TILES)
    asked = reader.chunked_by_trl or (reader.text("plan.fused_loss") is None and reader.of_trl(_IN_PIECES))
    return asked and goal not in _ROLLED_OUT and reader.flag("plan.liger") is not True


def with_kernels(plan: Plan, reader: Reader, architecture: Architecture) -> Plan:
    """The plan with what its trainer's layers and kernels compute in the place of transformers and peft."""
    trainer = reader.trainer
    pieces = plan.liger and in_pieces_of_trl(reader)
    alone = (plan.liger and _is_the_loss_alone(reader)) or (pieces and reader.flag("plan.liger") is not True)
    adapter, narrow = plan.adapter, False
    if plan.quant in ("4bit", "8bit") and adapter is not None and unprepared_by_trl(reader):
        adapter = replace(adapter, float32=False)
    elif plan.quant == "4bit" and plan.upcast and plan.autocast == "bfloat16":
        narrow = reader.of_trl(_CAST_IN_TRL)
    kernels = _lora_kernels(plan, reader, architecture)
    own = replace(plan, litgpt=trainer == "litgpt", unsloth=trainer == "unsloth", cut_loss=alone)
    if pieces:
        way = "tiles" if reader.of_trl(_IN_TILES) else "narrow" if reader.of_trl(_NARROW) else "float32"
        own = replace(own, loss_rows=_ROWS_IN_TRL, loss_way=way)
    own = replace(own, adapter=adapter, narrow_ends=narrow)
    return replace(own, lora_kernels=kernels, card=_card(reader))


def _is_the_loss_alone(reader: Reader) -> bool:
    """Whether a loss without logits is named and no other kernel of Liger: norms and activations are then transformers' own, unless layers
    are compiled. A loop of its own that names both the loss and Liger has taken that from it: two such runs took 2.8 and 0.1 % more than is
    counted so (benchmarks/unseen/memory-10.json, 27 and 28)."""
    if reader.text("plan.fused_loss") != "linear_cross_entropy" or reader.trainer in _COMPILING:
        return reader.trainer == "axolotl" and reader.flag("plan.liger") is not True
    return reader.flag("plan.liger") is not True or reader.text("plan.trainer") == "own"


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
