"""Gemma 4: layers that see a window and layers that see all, with heads of two widths; the last ones take keys and values of earlier ones.

Names and shapes are those of the modules that transformers 5.24.0 builds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.decoders import assemble, head_normed
from envdoctor.memory.experts import sparse
from envdoctor.memory.fields import Fields, table
from envdoctor.memory.mixed import with_others, words
from envdoctor.memory.parts import MOST_EXPERTS, MOST_HEADS, MOST_WIDTH, Core, attention, core, feedforward, gated
from envdoctor.records import replace

# Every sixth layer sees all, where no list says it (Gemma4TextConfig).
_EVERY = 6
_GLOBAL_HEAD = 512


def gemma4(fields: Fields) -> Architecture:
    """Layers by what they see and whether they have keys of their own; experts beside the network, an embedding for each layer."""
    sizes = core(fields)
    wide = _global(fields, sizes)
    same = fields.flag("attention_k_eq_v")
    first_shared = sizes.layers - fields.size("num_kv_shared_layers", default=0, least=0, most=sizes.layers)
    listed = words(fields, "layer_types") or ["full_attention" if (one + 1) % _EVERY == 0 else "" for one in range(sizes.layers)]
    seen = [one == "full_attention" or number == sizes.layers - 1 for number, one in enumerate(listed[: sizes.layers])]
    kinds = Counter((full, number >= first_shared) for number, full in enumerate(seen))
    ordered = sorted(kinds, key=lambda kind: (kind[1], kind[0]))
    first, *others = (_layers(fields, wide if full else sizes, kinds[full, shared], full and same, shared) for full, shared in ordered)
    architecture = with_others(first, others)
    embedded = fields.size("hidden_size_per_layer_input", default=256, least=0, most=MOST_WIDTH)
    if not embedded:
        return architecture
    every = sizes.layers * embedded
    rows = fields.size("vocab_size_per_layer_input", default=sizes.vocab, most=2**28)
    once = (Linear("per_layer_model_projection", sizes.hidden, every, "other"),)
    return replace(architecture, once=once, extra=rows * every + embedded)


def _global(fields: Fields, sizes: Core) -> Core:
    """The heads of layers that see all: stated by themselves, or for each layer by number."""
    each = next((one for one in table(fields.raw("per_layer_config")).values() if isinstance(one, Mapping)), {})
    stated = Fields({**fields.config, **each}, fields.kind)
    width = stated.size(*(() if each else ("global_head_dim",)), "head_dim", default=_GLOBAL_HEAD, most=MOST_WIDTH)
    if not each and "global_head_dim" not in fields.config:
        width = _GLOBAL_HEAD
    keys = stated.optional("num_global_key_value_heads", most=MOST_HEADS) if fields.flag("attention_k_eq_v") else None
    if each and "num_key_value_heads" in each:
        keys = stated.optional("num_key_value_heads", most=MOST_HEADS)
    return replace(sizes, head_dim=width, kv_heads=keys or sizes.kv_heads)


def _layers(fields: Fields, sizes: Core, times: int, same: bool, shared: bool) -> Architecture:
    """``times`` layers of one kind: ``same`` takes the keys for the values, ``shared`` has neither."""
    bias = fields.flag("attention_bias")
    products = attention(sizes, bias=bias, output_bias=bias)
    left = ("q_proj", "o_proj") if shared else ("q_proj", "k_proj", "o_proj") if same else ("q_proj", "k_proj", "v_proj", "o_proj")
    products = tuple(one for one in products if one.name in left)
    width = feedforward(fields, "intermediate_size") * (2 if shared and fields.flag("use_double_wide_mlp") else 1)
    network = gated(sizes.hidden, width)
    hidden, norms, more = sizes.hidden, 4, 0
    embedded = fields.size("hidden_size_per_layer_input", default=256, least=0, most=MOST_WIDTH)
    if embedded:
        network += (Linear("per_layer_input_gate", hidden, embedded, "other"), Linear("per_layer_projection", embedded, hidden, "other"))
        norms += 1
    experts = chosen = 0
    if fields.flag("enable_moe_block"):
        experts = fields.size("num_experts", most=MOST_EXPERTS)
        chosen = fields.size("top_k_experts", most=experts)
        inner = feedforward(fields, "moe_intermediate_size")
        network += tuple(
            replace(one, name="proj") if one.role == "router" else replace(one, module=False)
            for one in sparse(sizes, inner, experts, chosen)
        )
        width, norms, more = inner, norms + 3, hidden + experts
    base = assemble(fields, sizes, width, products + network, act="gelu_pytorch_tanh", tied=True)
    base = replace(
        base,
        layers=times,
        activation=fields.word("hidden_activation", "hidden_act", default="gelu_pytorch_tanh"),
        norms=norms,
        norm_width=norms * hidden + more,
        softcap=fields.raw("final_logit_softcapping") is not None,
        experts=experts,
        experts_per_token=chosen,
        injected=embedded,
    )
    base = head_normed(base, sizes.head_dim * (1 if shared else 2))
    return replace(base, kv_heads=0) if shared else replace(base, value_norms=True)
