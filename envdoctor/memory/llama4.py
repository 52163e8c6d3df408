"""Llama 4, whose experts all work on all tokens, and the language model of Llama 3.2 Vision.

Names and shapes are those of the modules that transformers 5.24.0 builds.
"""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.decoders import assemble
from envdoctor.memory.fields import Fields
from envdoctor.memory.mixed import numbers, with_others
from envdoctor.memory.parts import MOST_EXPERTS, attention, core, feedforward, gated
from envdoctor.records import replace


def llama4(fields: Fields) -> Architecture:
    """Experts are bare parameters, and every one of them is given every token, multiplied with a score that is mostly zero."""
    sizes = core(fields)
    bias = fields.flag("attention_bias")
    products = attention(sizes, bias=bias, output_bias=bias)
    width, dense = feedforward(fields, "intermediate_size"), feedforward(fields, "intermediate_size_mlp", default=16384)
    experts = fields.size("num_local_experts", default=16, most=MOST_EXPERTS)
    step = fields.size("interleave_moe_layer_step", default=1)
    at = numbers(fields, "moe_layers")
    routed = sizes.layers // step if at is None else sum(0 <= one < sizes.layers for one in at)
    network = (
        Linear("router", sizes.hidden, experts, "router"),
        Linear("gate_up_proj", sizes.hidden, 2 * width, "gate_up", False, experts, 1.0, module=False),
        Linear("down_proj", width, sizes.hidden, "down", False, experts, 1.0, module=False),
        *gated(sizes.hidden, width),
    )
    base = replace(assemble(fields, sizes, width, products + network), head_norms=fields.flag("use_qk_norm", default=True))
    sparse = replace(base, experts=experts, experts_per_token=experts, layers=routed)
    plain = replace(base, ffn=dense, linears=products + gated(sizes.hidden, dense), layers=sizes.layers - routed)
    return with_others(sparse, (plain,))


def mllama(fields: Fields) -> Architecture:
    """Layers of Llama, and between them some that look at the picture: given text alone those do nothing."""
    sizes = core(fields)
    width = feedforward(fields, "intermediate_size")
    base = assemble(fields, sizes, width, attention(sizes) + gated(sizes.hidden, width))
    at = numbers(fields, "cross_attention_layers") or []
    looking = sum(0 <= one < sizes.layers for one in at)
    gates = 2 + 2 * sizes.head_dim
    across = replace(base, layers=looking, head_norms=True, norm_width=base.norm_width + gates)
    # The embedding has eight rows more than the output layer: those of the picture.
    return replace(with_others(replace(base, layers=sizes.layers - looking), (across,)), extra=8 * sizes.hidden)
