"""How the tensors of well-known kinds of language models are called and shaped, and what config.json says of their dimensions.

Names and shapes are those of the modules that transformers builds (modeling_*.py of 4.57.1 and 5.23.0) and of the published modeling
files of ChatGLM2, ChatGLM3, GLM-4, Baichuan and InternLM2. A kind of model that is not listed is not judged, nor is a dimension
that config.json leaves to the default of a class.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from envdoctor.records import dataclass
from envdoctor.sources.model.snapshot import Snapshot, table_of, text_config

# One tensor a line: its name, with ? where not every layer or model of the kind has it, and its shape in names of dimensions.
_ATTENTION = """
self_attn.q_proj.weight attention hidden
self_attn.k_proj.weight keys hidden
self_attn.v_proj.weight keys hidden
self_attn.o_proj.weight hidden attention
self_attn.q_proj.bias? attention
self_attn.k_proj.bias? keys
self_attn.v_proj.bias? keys
"""
_GATED = """
mlp.gate_proj.weight mlp hidden
mlp.up_proj.weight mlp hidden
mlp.down_proj.weight hidden mlp
"""
_GATE_UP = """
mlp.gate_up_proj.weight twice_mlp hidden
mlp.down_proj.weight hidden mlp
"""
_NORMS = """
input_layernorm.weight hidden
post_attention_layernorm.weight hidden
"""
_HEAD_NORMS = """
self_attn.q_norm.weight head
self_attn.k_norm.weight head
"""
_FEEDFORWARD_NORMS = """
pre_feedforward_layernorm.weight hidden
post_feedforward_layernorm.weight hidden
"""
_OLMO2_NORMS = """
post_attention_layernorm.weight hidden
post_feedforward_layernorm.weight hidden
self_attn.q_norm.weight attention
self_attn.k_norm.weight keys
"""
_GLM4_NORMS = """
post_self_attn_layernorm.weight hidden
post_mlp_layernorm.weight hidden
"""
_PHI3 = """
self_attn.qkv_proj.weight query_key_value hidden
self_attn.o_proj.weight hidden attention
"""
_BAICHUAN = """
self_attn.W_pack.weight thrice_hidden hidden
self_attn.o_proj.weight hidden hidden
"""
_INTERNLM2 = """
attention.wqkv.weight query_key_value hidden
attention.wo.weight hidden attention
feed_forward.w1.weight mlp hidden
feed_forward.w2.weight hidden mlp
feed_forward.w3.weight mlp hidden
attention_norm.weight hidden
ffn_norm.weight hidden
"""
_CHATGLM = """
self_attention.query_key_value.weight query_key_value hidden
self_attention.query_key_value.bias? query_key_value
self_attention.dense.weight hidden attention
mlp.dense_h_to_4h.weight twice_mlp hidden
mlp.dense_4h_to_h.weight hidden mlp
"""
_LATENT = """
self_attn.q_proj.weight? latent_query hidden
self_attn.q_a_proj.weight? query_rank hidden
self_attn.q_b_proj.weight? latent_query query_rank
self_attn.kv_a_proj_with_mqa.weight key_rank_rope hidden
self_attn.kv_a_layernorm.weight key_rank
self_attn.kv_b_proj.weight latent_key key_rank
self_attn.o_proj.weight hidden latent_value
mlp.shared_experts.gate_proj.weight? shared hidden
mlp.shared_experts.up_proj.weight? shared hidden
mlp.shared_experts.down_proj.weight? hidden shared
"""
_SHARED = """
mlp.shared_expert.gate_proj.weight? shared hidden
mlp.shared_expert.up_proj.weight? shared hidden
mlp.shared_expert.down_proj.weight? hidden shared
"""
_SPARSE = _GATED.replace(".weight", ".weight?") + "mlp.gate.weight? experts hidden\n"
_EXPERT = """
mlp.experts.{}.gate_proj.weight expert hidden
mlp.experts.{}.up_proj.weight expert hidden
mlp.experts.{}.down_proj.weight hidden expert
"""
_MIXTRAL_EXPERT = """
block_sparse_moe.experts.{}.w1.weight mlp hidden
block_sparse_moe.experts.{}.w2.weight hidden mlp
block_sparse_moe.experts.{}.w3.weight mlp hidden
"""


@dataclass(frozen=True, slots=True)
class Family:
    """The tensors of one kind of model.

    ``layer`` and ``expert`` are tables as above, {} stands for the number of the expert. ``tied`` is the default of
    tie_word_embeddings. ``divides`` says that head_dim is hidden_size / num_attention_heads where config.json does not
    give it, ``beyond`` that layers after the last are normal: they predict further tokens.
    """

    layer: str
    expert: str = ""
    tied: bool = False
    divides: bool = False
    beyond: bool = False
    embedding: str = "embed_tokens.weight"
    layers: str = "layers."
    norm: str = "norm.weight"
    head: str = "lm_head.weight"
    vocabulary: str = "vocab_size"
    count: str = "num_hidden_layers"
    roots: tuple[str, ...] = ("model.", "", "language_model.model.", "model.language_model.")


_LLAMA = Family(_ATTENTION + _GATED + _NORMS, divides=True)
_GLM = Family(_ATTENTION + _GATE_UP + _NORMS)
_GEMMA = Family(_ATTENTION + _GATED + _NORMS, tied=True)
_GEMMA2 = Family(_GEMMA.layer + _FEEDFORWARD_NORMS, tied=True)
_DEEPSEEK = Family(_LATENT + _SPARSE + _NORMS, _EXPERT, beyond=True)
_INTERNLM2_FAMILY = Family(_INTERNLM2, divides=True, embedding="tok_embeddings.weight", head="output.weight")
_CHATGLM_FAMILY = Family(
    _CHATGLM + _NORMS,
    embedding="embedding.word_embeddings.weight",
    layers="encoder.layers.",
    norm="encoder.final_layernorm.weight",
    head="transformer.output_layer.weight",
    vocabulary="padded_vocab_size",
    count="num_layers",
    roots=("transformer.",),
)

FAMILIES: Mapping[str, Family] = {
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "granite": _LLAMA,
    "qwen3": Family(_ATTENTION + _GATED + _NORMS + _HEAD_NORMS),
    "gemma": _GEMMA,
    "gemma2": _GEMMA2,
    "gemma3_text": Family(_GEMMA2.layer + _HEAD_NORMS, tied=True),
    "olmo2": Family(_ATTENTION + _GATED + _OLMO2_NORMS, divides=True),
    "phi3": Family(_PHI3 + _GATE_UP + _NORMS, divides=True),
    "glm": _GLM,
    "glm4": Family(_GLM.layer + _GLM4_NORMS),
    "mixtral": Family(_ATTENTION + _NORMS + "block_sparse_moe.gate.weight? experts hidden\n", _MIXTRAL_EXPERT, divides=True),
    "qwen2_moe": Family(_ATTENTION + _SPARSE + _SHARED + _NORMS, _EXPERT, divides=True),
    "qwen3_moe": Family(_ATTENTION + _SPARSE + _NORMS + _HEAD_NORMS, _EXPERT),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "baichuan": Family(_BAICHUAN + _GATED + _NORMS),
    "internlm2": _INTERNLM2_FAMILY,
    "chatglm": _CHATGLM_FAMILY,
}

KEYS: Mapping[str, tuple[str, ...]] = {
    "hidden": ("hidden_size",),
    "thrice_hidden": ("hidden_size",),
    "head": ("head_dim",),
    "mlp": ("intermediate_size", "ffn_hidden_size"),
    "twice_mlp": ("intermediate_size", "ffn_hidden_size"),
    "attention": ("num_attention_heads",),
    "keys": ("num_key_value_heads",),
    "query_key_value": ("num_key_value_heads", "multi_query_group_num"),
    "expert": ("moe_intermediate_size",),
    "shared": ("shared_expert_intermediate_size", "n_shared_experts"),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts"),
    "query_rank": ("q_lora_rank",),
    "key_rank": ("kv_lora_rank",),
    "key_rank_rope": ("kv_lora_rank",),
    "latent_query": ("qk_nope_head_dim",),
    "latent_key": ("qk_nope_head_dim",),
    "latent_value": ("v_head_dim",),
}
"""The keys of config.json to look at where a dimension is not as they say."""


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
    for root in family.roots:
        if root + family.embedding in tensors or any(root + name in tensors for name in first):
            break
    else:
        return None
    packed = any(table.get(key) for table in (config, outer) for key in _QUANTIZED) or not _QUANTIZED_BY.isdisjoint(
        snapshot.directory.names
    )
    stems = [f"{root}{name.removesuffix('.weight')}" for name in first]
    packed = packed or any(stem + suffix in tensors for stem in stems for suffix in _PACKED)
    return Known(family, kind, config, bool(inner), root, packed)


# Published with code of their own, whose modules are those of the table.
_OWN_CODE = frozenset(("baichuan", "chatglm", "internlm2", "phi3", "deepseek_v2", "deepseek_v3"))
_QUANTIZED = ("quantization_config", "quantization_bit", "quantization", "compression_config")
_QUANTIZED_BY = frozenset(("quantize_config.json", "quant_config.json", "hf_quant_config.json"))
_PACKED = (".qweight", ".weight_packed", ".weight_scale", ".weight_scale_inv", ".scales", ".SCB", ".weight.absmax", ".W_q")


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
    hidden, heads, mlp = number("hidden_size"), number("num_attention_heads"), number("intermediate_size")
    keys, head = number("num_key_value_heads"), number("head_dim")
    if known.kind == "chatglm":
        head, mlp = number("kv_channels"), number("ffn_hidden_size")
        keys = number("multi_query_group_num") if known.config.get("multi_query_attention") is True else heads
    if keys is None and known.kind == "llama":
        keys = heads
    if known.family.divides and hidden and heads and known.config.get("head_dim") is None:
        head = hidden // heads
    nope, rope, value = number("qk_nope_head_dim"), number("qk_rope_head_dim"), number("v_head_dim")
    expert, rank = number("moe_intermediate_size"), number("kv_lora_rank")
    attention, pairs = _times(heads, head), _times(keys, head)
    found = {
        "hidden": hidden,
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
