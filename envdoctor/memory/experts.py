"""Decoders with a mixture of experts in place of the feed-forward network of all layers, or of all but some."""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.decoders import assemble, head_normed, latent_attention, latent_sizes, layer_normed
from envdoctor.memory.fields import ArchitectureError, Fields, shown
from envdoctor.memory.parts import MOST_EXPERTS, Core, attention, core, feedforward, gated
from envdoctor.records import replace

_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
_CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k")
_SHARED = ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts")
_WITHOUT = ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")


def _choice(fields: Fields) -> tuple[int, int]:
    """How many experts there are, and how many of them each token goes through."""
    experts = fields.size(*_EXPERTS, most=MOST_EXPERTS)
    chosen = fields.size(*_CHOSEN, most=MOST_EXPERTS)
    if chosen > experts:
        raise ArchitectureError("num_experts_per_tok", found=str(chosen), expected=f"no more than the {experts} experts that there are")
    return experts, chosen


def _with_experts(architecture: Architecture, experts: int, chosen: int) -> Architecture:
    return replace(architecture, experts=experts, experts_per_token=chosen)


def mixtral(fields: Fields) -> Architecture:
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    experts, chosen = _choice(fields)
    bias = fields.kind == "phimoe" and fields.flag("attention_bias")
    linears = attention(sizes, bias=bias, output_bias=bias)
    linears += (Linear("gate", sizes.hidden, experts, "router"),)
    linears += gated(sizes.hidden, ffn, names=("w1", "w3", "w2"), count=experts, share=chosen / experts)
    return _with_experts(assemble(fields, sizes, ffn, linears), experts, chosen)


def phimoe(fields: Fields) -> Architecture:
    return replace(layer_normed(mixtral(fields), 2), head_bias=fields.flag("lm_head_bias"))


def granitemoe(fields: Fields) -> Architecture:
    """The experts are one parameter each for the way in (gate and up) and out: no quantizer knows them, nor does LoRA by its class."""
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    experts, chosen = _choice(fields)
    bias = fields.flag("attention_bias")
    share = chosen / experts
    linears = attention(sizes, bias=bias, output_bias=bias)
    linears += (
        Linear("layer", sizes.hidden, experts, "router"),
        Linear("input_linear", sizes.hidden, 2 * ffn, "gate_up", False, experts, share, module=False),
        Linear("output_linear", ffn, sizes.hidden, "down", False, experts, share, module=False),
    )
    shared = fields.optional("shared_intermediate_size", least=0, most=2**24) if fields.kind == "granitemoeshared" else None
    if shared:
        linears += (Linear("input_linear", sizes.hidden, 2 * shared, "gate_up"), Linear("output_linear", shared, sizes.hidden, "down"))
    return _with_experts(assemble(fields, sizes, ffn, linears), experts, chosen)


def gpt_oss(fields: Fields) -> Architecture:
    """Router and experts are bare parameters with biases; ``sinks`` is one number for each head."""
    sizes = core(fields)
    ffn = feedforward(fields, "intermediate_size")
    experts, chosen = _choice(fields)
    bias = fields.flag("attention_bias", default=True)
    share = chosen / experts
    linears = attention(sizes, bias=bias, output_bias=bias)
    linears += (
        Linear("router", sizes.hidden, experts, "router", True, module=False),
        Linear("gate_up_proj", sizes.hidden, 2 * ffn, "gate_up", True, experts, share, module=False),
        Linear("down_proj", ffn, sizes.hidden, "down", True, experts, share, module=False),
    )
    architecture = replace(assemble(fields, sizes, ffn, linears), extra=sizes.layers * sizes.heads)
    return _with_experts(architecture, experts, chosen)


def sparse(sizes: Core, width: int, experts: int, chosen: int, *, shared: int = 0, router: bool = True) -> tuple[Linear, ...]:
    """A router, ``experts`` networks of ``width``, and one of ``shared`` that every token goes through."""
    linears: tuple[Linear, ...] = (Linear("gate", sizes.hidden, experts, "router", module=router),)
    linears += gated(sizes.hidden, width, count=experts, share=chosen / experts)
    return linears + (gated(sizes.hidden, shared) if shared else ())


def _apart(architecture: Architecture, sparse: tuple[Linear, ...], dense: tuple[Linear, ...], without: int) -> Architecture:
    """Layers with experts, and ``without`` of them that have none."""
    if without >= architecture.layers:
        return replace(architecture, linears=dense, experts=0, experts_per_token=0)
    return replace(architecture, linears=sparse, dense_layers=without, dense_linears=dense if without else ())


def qwen_moe(fields: Fields) -> Architecture:
    """Qwen2-MoE, Qwen3-MoE and OLMoE: every ``decoder_sparse_step``-th layer has experts, but those of ``mlp_only_layers``."""
    sizes = core(fields)
    second = fields.kind == "qwen2_moe"
    bias = fields.flag("qkv_bias", default=True) if second else fields.flag("attention_bias")
    products = attention(sizes, bias=bias, output_bias=bias and not second)
    experts, chosen = _choice(fields)
    if fields.kind == "olmoe":
        width = feedforward(fields, "intermediate_size")
        architecture = assemble(fields, sizes, width, products + sparse(sizes, width, experts, chosen))
        return _with_experts(head_normed(architecture, sizes.attention + sizes.keys), experts, chosen)
    width = feedforward(fields, "moe_intermediate_size")
    shared = feedforward(fields, "shared_expert_intermediate_size") if second else 0
    routed = products + sparse(sizes, width, experts, chosen, shared=shared)
    if second:
        routed += (Linear("shared_expert_gate", sizes.hidden, 1, "other"),)
    dense = products + gated(sizes.hidden, feedforward(fields, "intermediate_size", default=width))
    architecture = _with_experts(assemble(fields, sizes, width, routed), experts, chosen)
    if not second:
        architecture = head_normed(architecture, 2 * sizes.head_dim)
    step = fields.size("decoder_sparse_step", default=1)
    without = _listed(fields, "mlp_only_layers", sizes.layers)
    kept = sum(layer not in without and (layer + 1) % step == 0 for layer in range(sizes.layers))
    return _apart(architecture, routed, dense, sizes.layers - kept)


def _listed(fields: Fields, name: str, layers: int) -> frozenset[int]:
    """The numbers of layers that a field lists. Raises ArchitectureError for anything else than a list of them."""
    value = fields.raw(name)
    if value is None:
        return frozenset()
    if not isinstance(value, list) or len(value) > layers or not all(type(layer) is int for layer in value):
        raise ArchitectureError(name, found=shown(value), expected="a list of numbers of layers")
    return frozenset(value)


def deepseek(fields: Fields) -> Architecture:
    """DeepSeek V2 and V3: latent attention; the first layers have no experts; the layers that predict further tokens are not counted."""
    sizes = latent_sizes(fields)
    products, norms = latent_attention(fields, sizes, bias=fields.flag("attention_bias"))
    return _routed(fields, sizes, products, norms)


def deepseek_1(fields: Fields) -> Architecture:
    """DeepSeek-MoE, published with code of its own."""
    sizes = core(fields)
    bias = fields.flag("attention_bias")
    products = attention(sizes, bias=bias, output_bias=bias)
    if fields.optional("n_routed_experts", most=MOST_EXPERTS) is None:
        ffn = feedforward(fields, "intermediate_size")
        return assemble(fields, sizes, ffn, products + gated(sizes.hidden, ffn))
    return _routed(fields, sizes, products, 0)


def glm_moe(fields: Fields) -> Architecture:
    """GLM-4.5: attention as in Qwen2, then routed as in DeepSeek V3."""
    sizes = core(fields)
    products = attention(sizes, bias=fields.flag("attention_bias"))
    return _routed(fields, sizes, products, 2 * sizes.head_dim if fields.flag("use_qk_norm") else 0)


def _routed(fields: Fields, sizes: Core, products: tuple[Linear, ...], norms: int) -> Architecture:
    experts, chosen = _choice(fields)
    width = feedforward(fields, "moe_intermediate_size")
    shared = fields.optional("n_shared_experts", least=0, most=MOST_EXPERTS) or 0
    # DeepSeek and GLM write the router as a bare parameter beside a correction of its scores that is no parameter.
    routed = products + sparse(sizes, width, experts, chosen, shared=shared * width, router=False)
    dense = products + gated(sizes.hidden, feedforward(fields, "intermediate_size"))
    architecture = _with_experts(assemble(fields, sizes, width, routed), experts, chosen)
    architecture = replace(architecture, norm_width=architecture.norm_width + norms)
    without = min(fields.size("first_k_dense_replace", default=0, least=0), sizes.layers)
    step = fields.size("moe_layer_freq", default=1)
    kept = sum(layer % step == 0 for layer in range(without, sizes.layers))
    return _apart(architecture, routed, dense, sizes.layers - kept)


def has_experts(fields: Fields) -> bool:
    """Whether a configuration names more experts than one."""
    named = fields.raw(*_EXPERTS)
    return type(named) is int and named > 1


def by_its_fields(fields: Fields, base: Architecture, sizes: Core, *, bias: bool = False) -> Architecture:
    """A mixture of experts whose fields are called as those of DeepSeek or Qwen: ``base`` has its attention and a network for all tokens.

    Experts, those that every token goes through, and first layers without any are read from whatever the fields are called.
    """
    experts, chosen = _choice(fields)
    width = feedforward(fields, "moe_intermediate_size", "intermediate_size")
    several = fields.optional(*_SHARED, least=0, most=MOST_EXPERTS) or 0
    shared = fields.optional("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", least=0, most=2**24)
    products = tuple(one for one in base.linears if one.role not in ("gate", "up", "gate_up", "down"))
    routed = products + sparse(sizes, width, experts, chosen, shared=several * width if shared is None else shared, router=False)
    full = fields.optional("intermediate_size", most=2**24) or width
    dense = products + gated(sizes.hidden, full, bias=bias)
    architecture = replace(_with_experts(base, experts, chosen), ffn=width)
    listed = fields.raw("mlp_layer_types")
    without = listed.count("dense") if isinstance(listed, list) else fields.size(*_WITHOUT, default=0, least=0)
    return _apart(architecture, routed, dense, min(without, sizes.layers))
