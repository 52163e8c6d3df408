"""How the tensors of well-known kinds of language models are called and shaped, and what config.json says of their dimensions.

A kind of model that is not listed in ``layouts`` is not judged, nor is a dimension that config.json leaves to the default of a class.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache

from envdoctor.coherence.layouts import FAMILIES, Family
from envdoctor.records import dataclass
from envdoctor.sources.model.snapshot import Snapshot, table_of, text_config


@dataclass(frozen=True, slots=True)
class Known:
    """A snapshot of a known family. Names are those of its tensors, ``packed`` says that its weights are quantized.

    ``composite`` is a model of several kinds of input; ``config`` is then the configuration of its text model.
    """

    family: Family
    kind: str
    config: Mapping[str, object]
    composite: bool
    root: str
    packed: bool

    @property
    def embedding(self) -> str:
        return self.root + self.family.embedding

    @property
    def head(self) -> str:
        """The output layer, which stands beside the text model and not in it."""
        return ("language_model." if self.root.startswith("language_model.") else "") + self.family.head

    @property
    def layers(self) -> int | None:
        return self.number(self.family.count)

    def number(self, key: str) -> int | None:
        value = self.config.get(key)
        return value if type(value) is int and 0 < value < 2**40 else None


def recognise(snapshot: Snapshot) -> Known | None:
    """The family of a snapshot whose headers could be read and whose tensors are called as in that family."""
    tensors = snapshot.weights.tensors
    outer = table_of(snapshot.config)
    inner = text_config(outer)
    config = inner or outer
    kind = config.get("model_type")
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None or not isinstance(kind, str) or not tensors or (outer.get("auto_map") and kind not in _OWN_CODE):
        return None
    if not _is_of_transformers(outer.get("architectures")):
        return None
    first = [f"{family.layers}0.{name}" for name, _, always in kinds(family.layer) if always]
    root = _root(family, first, tensors)
    if root is None:
        return None
    packed = any(table.get(key) for table in (config, outer) for key in _QUANTIZED) or not _QUANTIZED_BY.isdisjoint(
        snapshot.directory.names
    )
    stems = [f"{root}{name.removesuffix('.weight')}" for name in first]
    packed = packed or any(stem + suffix in tensors for stem in stems for suffix in PACKED)
    return Known(family, kind, config, bool(inner), root, packed)


def foreign_prefix(snapshot: Snapshot) -> str | None:
    """What stands before the names of all tensors of a known kind, so that transformers finds none of them.

    torch.compile, DistributedDataParallel, FSDP and peft call the parameters so of a model whose own state was not taken.
    """
    config = table_of(snapshot.config)
    kind = config.get("model_type")
    family = FAMILIES.get(kind) if isinstance(kind, str) and not config.get("auto_map") else None
    names = snapshot.weights.tensors.keys()
    if family is None or not names or not _is_of_transformers(config.get("architectures")):
        return None
    begun = _WRAPPED.match(next(iter(names)))
    if begun is None or not all(name.startswith(begun[0]) for name in names):
        return None
    first = [f"{family.layers}0.{name}" for name, _, always in kinds(family.layer) if always]
    return begun[0] if _root(family, first, {name.removeprefix(begun[0]) for name in names}) is not None else None


def _root(family: Family, first: Iterable[str], names: Container[str]) -> str | None:
    return next((root for root in family.roots if root + family.embedding in names or any(root + name in names for name in first)), None)


_WRAPPED = re.compile(r"(?:_orig_mod\.|module\.|_fsdp_wrapped_module\.|_forward_module\.|base_model\.model\.)+")

# Published with code of their own, whose modules are those of the table.
_OWN_CODE = frozenset(("baichuan", "chatglm", "internlm2", "phi3", "deepseek_v2", "deepseek_v3"))
_QUANTIZED = ("quantization_config", "quantization_bit", "quantization", "compression_config")
_QUANTIZED_BY = frozenset(("quantize_config.json", "quant_config.json", "hf_quant_config.json"))
PACKED = (".qweight", ".weight_packed", ".weight_scale", ".weight_scale_inv", ".scales", ".SCB", ".weight.absmax", ".W_q")


def _is_of_transformers(architectures: object) -> bool:
    """Whether a model is of a class that transformers has: draft models of EAGLE call themselves llama and are none."""
    first = architectures[0] if isinstance(architectures, list) and architectures else ""
    return not first or (isinstance(first, str) and first.endswith(_CLASSES))


_CLASSES = ("Model", "ForCausalLM", "ForConditionalGeneration", "Classification", "ForQuestionAnswering", "RewardModel")


@lru_cache(maxsize=64)
def kinds(table: str) -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    """Name, shape, and whether it must be there, of each tensor of a table."""
    lines = [line.split() for line in table.splitlines() if line]
    return tuple((name.removesuffix("?"), tuple(shape), not name.endswith("?")) for name, *shape in lines)


def dimensions(known: Known) -> Mapping[str, int]:
    """The lengths of the dimensions that config.json states, or that follow from what it states."""
    number = known.number
    hidden = number("hidden_size") or number("n_embd") or number("n_embed")
    heads, mlp = number("num_attention_heads"), number("intermediate_size") or number("ffn_dim")
    keys, head = number("num_key_value_heads"), number("head_dim")
    if known.kind == "chatglm":
        head, mlp = number("kv_channels"), number("ffn_hidden_size")
        keys = number("multi_query_group_num") if known.config.get("multi_query_attention") is True else heads
    if known.kind in ("gpt2", "bloom"):
        mlp = number("n_inner") if known.kind == "gpt2" and known.config.get("n_inner") is not None else _times(hidden, 4)
    if keys is None and known.kind in ("llama", "phi"):
        keys = heads
    if known.family.divides and hidden and heads and known.config.get("head_dim") is None:
        head = hidden // heads
    nope, rope, value = number("qk_nope_head_dim"), number("qk_rope_head_dim"), number("v_head_dim")
    expert, rank = number("moe_intermediate_size"), number("kv_lora_rank")
    attention, pairs = _times(heads, head), _times(keys, head)
    found = {
        "hidden": hidden,
        "embedded": number("word_embed_proj_dim"),
        "thrice_hidden": _times(hidden, 3),
        "head": head,
        "mlp": mlp,
        "twice_mlp": _times(mlp, 2),
        "attention": attention,
        "keys": pairs,
        "query_key_value": _plus(attention, _times(pairs, 2)),
        "expert": expert,
        "shared": number("shared_expert_intermediate_size") or _times(expert, number("n_shared_experts")),
        "experts": number("num_experts") or number("num_local_experts") or number("n_routed_experts"),
        "query_rank": number("q_lora_rank"),
        "key_rank": rank,
        "key_rank_rope": _plus(rank, rope),
        "latent_query": _times(heads, _plus(nope, rope)),
        "latent_key": _times(heads, _plus(nope, value)),
        "latent_value": _times(heads, value),
    }
    return {name: length for name, length in found.items() if length is not None}


def _times(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a * b


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else a + b
