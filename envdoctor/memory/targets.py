"""Which linear layers an adapter stands beside, and how many parameters it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from envdoctor.memory import ia3
from envdoctor.memory.architecture import Architecture, Linear, Role
from envdoctor.memory.plan import Adapter
from envdoctor.records import replace

EVERY_LINEAR = frozenset(("all-linear", "all", "all_linear", "linear"))
"""What peft, LLaMA-Factory, ms-swift and axolotl call every linear layer but the head."""

DEFAULT_TARGETS_OF = "peft 0.21.2"
DEFAULT_TARGETS: Mapping[str, tuple[str, ...]] = {
    "t5": ("q", "v"),
    "mt5": ("q", "v"),
    "bart": ("q_proj", "v_proj"),
    "gpt2": ("c_attn",),
    "bloom": ("query_key_value",),
    "opt": ("q_proj", "v_proj"),
    "gptj": ("q_proj", "v_proj"),
    "gpt_neox": ("query_key_value",),
    "gpt_neo": ("q_proj", "v_proj"),
    "bert": ("query", "value"),
    "roberta": ("query", "value"),
    "xlm-roberta": ("query", "value"),
    "electra": ("query", "value"),
    "deberta-v2": ("query_proj", "value_proj"),
    "deberta": ("in_proj",),
    "layoutlm": ("query", "value"),
    "llama": ("q_proj", "v_proj"),
    "llama4": ("q_proj", "v_proj"),
    "chatglm": ("query_key_value",),
    "gpt_bigcode": ("c_attn",),
    "mpt": ("Wqkv",),
    "RefinedWebModel": ("query_key_value",),
    "RefinedWeb": ("query_key_value",),
    "falcon": ("query_key_value",),
    "btlm": ("c_proj", "c_attn"),
    "codegen": ("qkv_proj",),
    "mistral": ("q_proj", "v_proj"),
    "mixtral": ("q_proj", "v_proj"),
    "stablelm": ("q_proj", "v_proj"),
    "phi": ("q_proj", "v_proj", "fc1", "fc2"),
    "gemma": ("q_proj", "v_proj"),
    "gemma2": ("q_proj", "v_proj"),
    "gemma3_text": ("q_proj", "v_proj"),
    "qwen2": ("q_proj", "v_proj"),
    "qwen3": ("q_proj", "v_proj"),
}
"""What LoRA targets where nobody says it: TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING of peft/utils/constants.py."""


def default_targets(architecture: Architecture) -> tuple[str, ...]:
    """Peft's default for this kind of model; empty where peft has none and refuses."""
    return DEFAULT_TARGETS.get(architecture.kind, ())


def tuned(architecture: Architecture, targets: tuple[str, ...]) -> tuple[Linear, ...]:
    """The linears of one layer that targets mean, in the order of the layer; those of peft's default for no targets at all.

    A target is a last part of a module's name, a path that ends in one (``mlp.c_proj``), a regular expression that names some, or a
    word for every linear layer. The head is none of them. Of a mixture of experts, those of a layer that has experts.
    """
    return _of(architecture.linears, targets or default_targets(architecture))


def parameters_of(architecture: Architecture, adapter: Adapter) -> int:
    """Parameters of an adapter: of its low-rank matrices, or of IA3's vectors."""
    if not adapter.vectors:
        return adapter_parameters(architecture, adapter.targets, adapter.rank)
    kinds = (*architecture.kinds, (1, replace(architecture, linears=architecture.once)))
    return sum(times * one.count * ia3.length(one) for times, kind in kinds for one in _of(kind.linears, adapter.targets))


def adapter_parameters(architecture: Architecture, targets: tuple[str, ...], rank: int) -> int:
    """Parameters of low-rank matrices of ``rank`` beside all modules that targets mean (see ``tuned``); of a tower, for every linear one.

    The head and the embedding have them where a target is their name.
    """
    meant = targets or default_targets(architecture)
    varied = tuple((one.layers, one.linears) for one in architecture.variants)
    kinds = (
        *varied,
        (architecture.layers - architecture.dense_layers - sum(times for times, _ in varied), architecture.linears),
        (architecture.dense_layers, architecture.dense_linears),
        (1, architecture.once),
    )
    inside = sum(
        times * linear.count * rank * (linear.inputs + linear.outputs) for times, linears in kinds for linear in _of(linears, meant)
    )
    if not EVERY_LINEAR.isdisjoint(meant):
        inside += architecture.beside_low_rank * rank
    names = [target.rpartition(".")[2] for target in meant]
    ends = any(name in _HEADS for name in names) + any(name in _EMBEDDINGS for name in names)
    return inside + ends * rank * (architecture.vocab + (architecture.embedding_width or architecture.hidden))


def joined_parameters(kinds: Iterable[tuple[int, tuple[Linear, ...]]], rank: int) -> int:
    """What the adapters of merged experts have beyond those of a gate and an up that stand apart, of so many layers of each kind: peft
    gives the one parameter twice the rank, so that each half of its outputs has all of it (``_convert_peft_config_moe``,
    utils/transformers_weight_conversion.py of 0.21.2)."""
    joined = ((times, one) for times, linears in kinds for one in linears if one.count > 1 and one.role in _JOINED)
    return sum(times * one.count * rank * one.outputs for times, one in joined)


_JOINED = ("gate", "up")


def _of(linears: tuple[Linear, ...], targets: tuple[str, ...]) -> tuple[Linear, ...]:
    if not EVERY_LINEAR.isdisjoint(targets):
        return tuple(linear for linear in linears if linear.module)
    return tuple(linear for linear in linears if linear.module and any(_means(target, linear) for target in targets))


def _means(target: str, linear: Linear) -> bool:
    if not _PLAIN.issuperset(target):
        # Expressions are not run: a plan may hold one that never ends. Those in use spell the names out, or their common end.
        words = _WORD.findall(_ESCAPE.sub(" ", target[:_LONGEST]))
        places = [_PLACES[word] for word in words if word in _PLACES]
        if places and not any(linear.role in roles for roles in places):
            return False
        return any(word == linear.name or (word.startswith("_") and linear.name.endswith(word)) for word in words)
    *above, last = target.split(".")
    if last != linear.name:
        return False
    return not above or linear.role in _PLACES.get(above[-1], (linear.role,))


_LONGEST = 10_000
_ESCAPE = re.compile(r"\\[A-Za-z]")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_IN_ATTENTION: tuple[Role, ...] = ("query", "key", "value", "key_value", "attention", "latent", "output")
_IN_NETWORK: tuple[Role, ...] = ("gate", "up", "gate_up", "down", "router")
# Some names stand twice in a layer, and the module above tells them apart: c_proj of GPT-2, dense of BERT.
_PLACES: Mapping[str, tuple[Role, ...]] = {
    "mlp": _IN_NETWORK,
    "attn": _IN_ATTENTION,
    "attention": _IN_ATTENTION,
    "self_attn": _IN_ATTENTION,
    "self_attention": _IN_ATTENTION,
    "self": _IN_ATTENTION,
    "intermediate": ("up",),
    "output": ("output", "down"),
    "experts": ("gate", "up", "gate_up", "down"),
}
_HEADS = frozenset(("lm_head", "embed_out", "output_layer"))
_EMBEDDINGS = frozenset(("embed_tokens", "wte", "word_embeddings", "embed_in", "tok_embeddings", "shared"))
