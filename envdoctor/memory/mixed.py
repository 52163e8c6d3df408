"""Decoders whose layers are of several kinds: attention in some of them, and in the others a state that is carried along.

Names and shapes are those of the modules that transformers 5.23.0 builds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.decoders import assemble, head_normed, ungated
from envdoctor.memory.experts import sparse
from envdoctor.memory.fields import ArchitectureError, Fields, shown
from envdoctor.memory.mixers import Mixer
from envdoctor.memory.parts import MOST_EXPERTS, MOST_WIDTH, Core, attention, core, feedforward, fused_gated, gated, plain
from envdoctor.memory.states import of_mamba
from envdoctor.records import replace

_CARRIED = frozenset(("linear_attention", "mamba", "mamba2", "conv", "recurrent", "M"))
_ATTENDS = frozenset(("full_attention", "attention", "sliding_attention", "hybrid", "*"))


def words(fields: Fields, *names: str) -> list[str] | None:
    """The kinds of layers that a field lists. Raises ArchitectureError for anything but a list of words."""
    value = fields.raw(*names)
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ArchitectureError(names[0], found=shown(value), expected="a list of kinds of layers")
    return [str(one) for one in value]


def _attending(fields: Fields, layers: int, *, every: int | None = None, at: Sequence[int] | None = None) -> int:
    """How many of the layers have an attention: as layer_types lists them, those of a list of numbers, or the last of ``every`` so many."""
    listed = words(fields, "layer_types", "layers_block_type")
    if listed is not None:
        strange = next((one for one in listed if one not in _CARRIED | _ATTENDS), None)
        if strange is not None:
            raise ArchitectureError("layer_types", found=shown(strange), expected="a kind of layer that is known")
        return sum(one in _ATTENDS for one in listed[:layers])
    if at is not None:
        return sum(0 <= one < layers for one in at)
    return layers // every if every else layers


def numbers(fields: Fields, name: str) -> list[int] | None:
    value = fields.raw(name)
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise ArchitectureError(name, found=shown(value), expected="a list of numbers of layers")
    return [int(one) for one in value]


def with_others(attending: Architecture, carried: Sequence[Architecture]) -> Architecture:
    """One architecture of both kinds of layers; where none attends, of the first of the others."""
    others = tuple(one for one in carried if one.layers)
    final = attending.final_norm_width
    layers = attending.layers + sum(one.layers for one in others)
    if attending.layers:
        return replace(attending, layers=layers, variants=tuple(replace(one, final_norm_width=0) for one in others))
    if not others:
        raise ArchitectureError("num_hidden_layers", found="0", expected="a layer")
    first, *rest = others
    return replace(first, layers=layers, final_norm_width=final, variants=tuple(replace(one, final_norm_width=0) for one in rest))


def carrying(architecture: Architecture, layers: int, linears: tuple[Linear, ...], mixer: Mixer, *, norms: int = 2) -> Architecture:
    """So many layers as those of ``architecture``, with ``mixer`` in the place of the attention; ``linears`` are all of one."""
    return replace(
        architecture,
        layers=layers,
        linears=linears,
        mixer=mixer,
        head_norms=False,
        gated_attention=False,
        norms=norms,
        norm_width=norms * architecture.hidden,
        variants=(),
        extra=0,
        positions=0,
    )


def delta(fields: Fields) -> Architecture:
    """Qwen3-Next and Qwen3.5: three of four layers with a gated delta rule, an attention with a gate in the fourth, experts or none."""
    sizes = core(fields)
    layers = sizes.layers
    bias = fields.flag("attention_bias")
    products = attention(sizes, bias=bias, output_bias=bias)
    products = (replace(products[0], outputs=2 * sizes.attention), *products[1:])
    network, width, experts, chosen = _network_of_qwen(fields, sizes)
    architecture = assemble(fields, sizes, width, products + network)
    architecture = head_normed(replace(architecture, gated_attention=True, experts=experts, experts_per_token=chosen), 2 * sizes.head_dim)
    heads, values, keys, state = (
        fields.size(f"linear_{name}", most=MOST_WIDTH) for name in ("num_value_heads", "value_head_dim", "num_key_heads", "key_head_dim")
    )
    kernel = fields.size("linear_conv_kernel_dim", default=4, most=MOST_WIDTH)
    value, key = heads * values, keys * state
    narrow = 2 * key + value
    hidden = sizes.hidden
    ways: tuple[tuple[str, int], ...] = (("in_proj_qkv", narrow), ("in_proj_z", value), ("in_proj_b", heads), ("in_proj_a", heads))
    if fields.kind == "qwen3_next":
        ways = (("in_proj_qkvz", narrow + value), ("in_proj_ba", 2 * heads))
    linears = tuple(Linear(name, hidden, outputs, "attention") for name, outputs in ways)
    linears += (Linear("out_proj", value, hidden, "output"),)
    mixer = Mixer("delta", value, narrow + value, narrow, heads * state, heads, state, 64, parameters=narrow * kernel + 2 * heads + values)
    attending = _attending(fields, layers, every=fields.size("full_attention_interval", default=4))
    carried = carrying(architecture, layers - attending, linears + network, mixer)
    return with_others(replace(architecture, layers=attending), (carried,))


def olmo_hybrid(fields: Fields) -> Architecture:
    """OLMo Hybrid: layers of OLMo 3, which norm what the branches put out, among others with a gated delta rule."""
    sizes = core(fields)
    hidden, bias = sizes.hidden, fields.flag("attention_bias")
    width = feedforward(fields, "intermediate_size")
    network = gated(hidden, width)
    base = assemble(fields, sizes, width, attention(sizes, bias=bias, output_bias=bias) + network)
    heads, values, keys, state = (
        fields.size(f"linear_{name}", most=MOST_WIDTH) for name in ("num_value_heads", "value_head_dim", "num_key_heads", "key_head_dim")
    )
    value, key = heads * values, keys * state
    narrow = 2 * key + value
    linears = (
        Linear("q_proj", hidden, key, "query"),
        Linear("k_proj", hidden, key, "key"),
        Linear("v_proj", hidden, value, "value"),
        Linear("a_proj", hidden, heads, "attention"),
        Linear("b_proj", hidden, heads, "attention"),
        Linear("g_proj", hidden, value, "attention"),
        Linear("o_proj", value, hidden, "output"),
    )
    kernel = fields.size("linear_conv_kernel_dim", default=4, most=MOST_WIDTH)
    mixer = Mixer("delta", value, narrow + value, narrow, heads * state, heads, state, 64, parameters=narrow * kernel + 2 * heads + values)
    attending = _attending(fields, sizes.layers, every=4)
    carried = carrying(base, sizes.layers - attending, linears + network, mixer)
    return with_others(replace(head_normed(base, sizes.attention + sizes.keys), layers=attending), (carried,))


def _network_of_qwen(fields: Fields, sizes: Core) -> tuple[tuple[Linear, ...], int, int, int]:
    """The network of a layer, its width, and how many experts there are and are chosen."""
    experts = fields.optional("num_experts", least=0, most=MOST_EXPERTS)
    if not experts:
        width = feedforward(fields, "intermediate_size")
        return gated(sizes.hidden, width), width, 0, 0
    width = feedforward(fields, "moe_intermediate_size")
    shared = feedforward(fields, "shared_expert_intermediate_size")
    chosen = fields.size("num_experts_per_tok", most=experts)
    linears = (
        *sparse(sizes, width, experts, chosen, shared=shared, router=False),
        Linear("shared_expert_gate", sizes.hidden, 1, "other"),
    )
    return linears, width, experts, chosen


def lfm2(fields: Fields) -> Architecture:
    """LFM2: short convolutions between two gates, and an attention with normalised heads in the layers that are listed."""
    sizes = core(fields)
    hidden, layers = sizes.hidden, sizes.layers
    products = attention(sizes, names=("q_proj", "k_proj", "v_proj", "out_proj"))
    bias = fields.flag("conv_bias")
    linears = (Linear("in_proj", hidden, 3 * hidden, "attention", bias), Linear("out_proj", hidden, hidden, "output", bias))
    kernel = fields.size("conv_L_cache", default=3, most=MOST_WIDTH)
    mixer = Mixer("convolution", hidden, 3 * hidden, hidden, parameters=hidden * kernel + (hidden if bias else 0))
    listed = words(fields, "layer_types")
    attends = numbers(fields, "full_attn_idxs") if listed is None else [number for number, one in enumerate(listed) if one in _ATTENDS]
    attends = list(range(layers)) if attends is None else [number for number in attends if number < layers]
    dense = fields.size("num_dense_layers", default=0, least=0, most=layers) if fields.kind == "lfm2_moe" else layers
    if fields.kind == "lfm2_moe":
        width = feedforward(fields, "intermediate_size")
    else:
        width = _adjusted(fields, feedforward(fields, "block_ff_dim", "intermediate_size"))
    names = ("w1", "w3", "w2")
    base = assemble(fields, sizes, width, products + gated(hidden, width, names=names), tied=True)
    tied = fields.flag("tie_embedding", "tie_word_embeddings", default=True)
    base = head_normed(replace(base, tied=tied), 2 * sizes.head_dim)
    kinds = Counter((number in attends, number < dense) for number in range(layers))
    carried = [carrying(base, kinds[False, True], linears + gated(hidden, width, names=names), mixer)]
    if fields.kind == "lfm2_moe":
        inner = feedforward(fields, "moe_intermediate_size")
        experts = fields.size("num_experts", most=MOST_EXPERTS)
        chosen = fields.size("num_experts_per_tok", most=experts)
        network = sparse(sizes, inner, experts, chosen, router=False)
        routed = replace(base, ffn=inner, experts=experts, experts_per_token=chosen, linears=products + network)
        carried.append(replace(routed, layers=kinds[True, False]))
        carried.append(carrying(routed, kinds[False, False], linears + network, mixer))
    return with_others(replace(base, layers=kinds[True, True]), carried)


def _adjusted(fields: Fields, width: int) -> int:
    """``block_auto_adjust_ff_dim``: two thirds, times a factor, up to a multiple (Lfm2MLP)."""
    if not fields.flag("block_auto_adjust_ff_dim", default=True):
        return width
    factor = fields.raw("block_ffn_dim_multiplier")
    width = int(2 * width / 3)
    if isinstance(factor, int | float) and not isinstance(factor, bool):
        width = int(factor * width)
    multiple = fields.size("block_multiple_of", default=256, most=MOST_WIDTH)
    return multiple * ((width + multiple - 1) // multiple)


def _mamba2(
    fields: Fields, hidden: int, inner: int, heads: int, *, names: str = "mamba_", norm: bool = True
) -> tuple[tuple[Linear, ...], Mixer]:
    """The projections and the scan of a Mamba 2; fields are called ``mamba_n_groups`` and so on, or as Nemotron-H calls them."""
    own = names == "mamba_"
    groups = fields.size("mamba_n_groups" if own else "n_groups", default=1, most=MOST_WIDTH)
    state = fields.size("mamba_d_state" if own else "ssm_state_size", most=MOST_WIDTH)
    kernel = fields.size("mamba_d_conv" if own else "conv_kernel", default=4, most=MOST_WIDTH)
    chunk = fields.size("mamba_chunk_size" if own else "chunk_size", default=256, most=MOST_WIDTH)
    bias = fields.flag("mamba_proj_bias", "use_bias")
    narrow = inner + 2 * groups * state
    product = inner + narrow + heads
    linears = (
        Linear("in_proj", hidden, product, "attention", bias),
        Linear("out_proj", inner, hidden, "output", fields.flag("projectors_bias", "mamba_proj_bias", "use_bias")),
    )
    conv = narrow * (kernel + (1 if fields.flag("mamba_conv_bias", "use_conv_bias", default=True) else 0))
    mixer = Mixer(
        "mamba2", inner, product, narrow, heads=heads, state=state, chunk=chunk, parameters=conv + 3 * heads + (inner if norm else 0)
    )
    return linears, mixer


def _inner(fields: Fields, hidden: int) -> int:
    return fields.size("mamba_expand", default=2, most=64) * hidden


def granite_hybrid(fields: Fields) -> Architecture:
    """Granite 4: Mamba 2 and attention in turn, behind each a shared network, and experts beside it where there are any."""
    sizes = core(fields)
    hidden, bias = sizes.hidden, fields.flag("attention_bias")
    shared = feedforward(fields, "shared_intermediate_size")
    network = fused_gated(hidden, shared, ("input_linear", "output_linear"))
    experts = fields.optional("num_local_experts", least=0, most=MOST_EXPERTS) or 0
    width, chosen = shared, 0
    if experts:
        width = feedforward(fields, "intermediate_size")
        chosen = fields.size("num_experts_per_tok", most=experts)
        network += (
            Linear("layer", hidden, experts, "router"),
            Linear("input_linear", hidden, 2 * width, "gate_up", False, experts, chosen / experts, module=False),
            Linear("output_linear", width, hidden, "down", False, experts, chosen / experts, module=False),
        )
    base = assemble(fields, sizes, width, attention(sizes, bias=bias, output_bias=bias) + network)
    base = replace(base, experts=experts, experts_per_token=chosen)
    linears, mixer = _mamba2(fields, hidden, _inner(fields, hidden), fields.size("mamba_n_heads", most=MOST_WIDTH))
    attending = _attending(fields, sizes.layers)
    return with_others(replace(base, layers=attending), (carrying(base, sizes.layers - attending, linears + network, mixer),))


def bamba(fields: Fields) -> Architecture:
    sizes = core(fields)
    hidden, bias = sizes.hidden, fields.flag("attention_bias")
    width = feedforward(fields, "intermediate_size")
    network = gated(hidden, width, bias=fields.flag("mlp_bias"))
    base = assemble(fields, sizes, width, attention(sizes, bias=bias, output_bias=bias) + network)
    linears, mixer = _mamba2(fields, hidden, _inner(fields, hidden), fields.size("mamba_n_heads", most=MOST_WIDTH))
    attending = len([one for one in numbers(fields, "attn_layer_indices") or () if 0 <= one < sizes.layers])
    return with_others(replace(base, layers=attending), (carrying(base, sizes.layers - attending, linears + network, mixer),))


def falcon_h1(fields: Fields) -> Architecture:
    """Mamba 2 and attention beside each other in every layer."""
    sizes = core(fields)
    hidden, bias = sizes.hidden, fields.flag("attention_bias")
    width = feedforward(fields, "intermediate_size")
    products = attention(sizes, bias=bias, output_bias=bias) + gated(hidden, width, bias=fields.flag("mlp_bias"))
    inner = fields.optional("mamba_d_ssm", most=MOST_WIDTH) or _inner(fields, hidden)
    normed = fields.flag("mamba_rms_norm")
    linears, mixer = _mamba2(fields, hidden, inner, fields.size("mamba_n_heads", most=MOST_WIDTH), norm=normed)
    return replace(assemble(fields, sizes, width, linears + products), mixer=mixer, mixed_beside=True)


def nemotron_h(fields: Fields) -> Architecture:
    """One thing in each layer, behind one norm: Mamba 2, attention, a network of squared ReLUs, or experts of such beside one for all."""
    pattern = fields.raw("hybrid_override_pattern")
    listed = list(pattern) if isinstance(pattern, str) else words(fields, "layers_block_type", "layer_types")
    if listed is None:
        raise ArchitectureError("layers_block_type", found="nothing", expected="the kinds of its layers")
    counted = Counter(_OF_NEMOTRON.get(one, one) for one in listed)
    strange = next((one for one in counted if one not in ("mamba", "attention", "mlp", "moe")), None)
    if strange is not None:
        raise ArchitectureError("layers_block_type", found=shown(strange), expected="a kind of layer that is known")
    sizes = replace(core(Fields({**fields.config, "num_hidden_layers": len(listed)}, fields.kind)), layers=len(listed))
    hidden = sizes.hidden
    width = feedforward(fields, "intermediate_size")
    base = ungated(assemble(fields, sizes, 0, attention(sizes), act="relu2"))
    base = replace(base, norms=1, norm_width=hidden, activation=fields.word("mlp_hidden_act", default="relu2"))
    heads = fields.size("mamba_num_heads", most=MOST_WIDTH)
    linears, mixer = _mamba2(fields, hidden, heads * fields.size("mamba_head_dim", most=MOST_WIDTH), heads, names="")
    network = plain(hidden, width, ("up_proj", "down_proj"), bias=fields.flag("mlp_bias"))
    others = (
        carrying(base, counted["mamba"], linears, mixer, norms=1),
        replace(carrying(base, counted["mlp"], network, Mixer("none", 0, 0), norms=1), ffn=width),
        *((_experts_of_nemotron(fields, base, counted["moe"]),) if counted["moe"] else ()),
    )
    return with_others(replace(base, layers=counted["attention"]), others)


def _experts_of_nemotron(fields: Fields, base: Architecture, layers: int) -> Architecture:
    """Layers of experts: bare parameters and a bare router; behind a narrower state where one is stated."""
    hidden, bias = base.hidden, fields.flag("mlp_bias")
    experts = fields.size("n_routed_experts", most=MOST_EXPERTS)
    chosen = fields.size("num_experts_per_tok", most=experts)
    width = feedforward(fields, "moe_intermediate_size")
    shared = feedforward(fields, "moe_shared_expert_intermediate_size", default=width)
    narrow = fields.optional("moe_latent_size", most=MOST_WIDTH)
    given, share = narrow or hidden, chosen / experts
    linears = (
        Linear("gate", hidden, experts, "router", module=False),
        Linear("up_proj", given, width, "up", False, experts, share),
        Linear("down_proj", width, given, "down", False, experts, share),
        *plain(hidden, shared, ("up_proj", "down_proj"), bias=bias),
    )
    if narrow:
        linears += (Linear("fc1_latent_proj", hidden, narrow, "other", bias), Linear("fc2_latent_proj", narrow, hidden, "other", bias))
    carried = carrying(base, layers, linears, Mixer("none", 0, 0), norms=1)
    return replace(carried, ffn=width, experts=experts, experts_per_token=chosen)


_OF_NEMOTRON = {
    "M": "mamba", "linear_attention": "mamba", "mamba": "mamba", "*": "attention", "full_attention": "attention", "attention": "attention",
    "-": "mlp", "mlp": "mlp", "E": "moe",
}  # fmt: skip


def jamba(fields: Fields) -> Architecture:
    """Mamba with an attention in one of several layers, and experts in every second."""
    sizes = core(fields)
    hidden, layers = sizes.hidden, sizes.layers
    width = feedforward(fields, "intermediate_size")
    period, offset = fields.size("attn_layer_period", default=8), fields.size("attn_layer_offset", default=4, least=0)
    experts = fields.size("num_experts", default=16, most=MOST_EXPERTS)
    step, start = fields.size("expert_layer_period", default=2), fields.size("expert_layer_offset", default=1, least=0)
    chosen = fields.size("num_experts_per_tok", default=2, most=experts)
    inner, state = _inner(fields, hidden), fields.size("mamba_d_state", default=16, most=MOST_WIDTH)
    linears, rank = of_mamba(fields, hidden, inner, state, rank="mamba_dt_rank", bias="mamba_proj_bias")
    conv = inner * (fields.size("mamba_d_conv", default=4, most=64) + (1 if fields.flag("mamba_conv_bias", default=True) else 0))
    mixer = Mixer("mamba", inner, 2 * inner, inner, state=state, parameters=conv + inner * (state + 1) + rank + 2 * state)
    dense, routed = gated(hidden, width), sparse(sizes, width, experts, chosen)
    products = attention(sizes)
    base = assemble(fields, sizes, width, products + dense)
    with_experts = replace(base, experts=experts, experts_per_token=chosen, linears=products + routed)
    kinds = Counter((number % period == offset, experts > 1 and number % step == start) for number in range(layers))
    carried = (
        carrying(base, kinds[False, False], linears + dense, mixer),
        replace(with_experts, layers=kinds[True, True]),
        carrying(with_experts, kinds[False, True], linears + routed, mixer),
    )
    return with_others(replace(base, layers=kinds[True, False]), carried)
