"""Models of nothing but a state that is carried along: Mamba, Falcon-Mamba and Mamba 2, one mixer in each layer behind one norm.

Names and shapes are those of the modules that transformers 5.24.0 builds.
"""

from __future__ import annotations

from envdoctor.memory.architecture import Architecture, Linear
from envdoctor.memory.fields import Fields
from envdoctor.memory.mixers import Mixer
from envdoctor.memory.parts import LAYERS, MOST_LAYERS, MOST_WIDTH, hidden_size, vocabulary


def _alone(fields: Fields, linears: tuple[Linear, ...], mixer: Mixer) -> Architecture:
    hidden = hidden_size(fields)
    tied = fields.flag("tie_word_embeddings", default=fields.kind != "mamba2")
    return Architecture(
        fields.kind,
        hidden,
        fields.size(*LAYERS, most=MOST_LAYERS),
        1,
        1,
        1,
        0,
        vocabulary(fields),
        tied,
        linears,
        norms=1,
        norm_width=hidden,
        final_norm_width=hidden,
        mixer=mixer,
        gated=False,
        wide_stream=fields.flag("residual_in_fp32", default=True),
    )


def of_mamba(fields: Fields, hidden: int, inner: int, state: int, *, rank: str, bias: str) -> tuple[tuple[Linear, ...], int]:
    """The products of one Mamba mixer and the rank of its time step, whose fields each family names in its own way."""
    stated = fields.raw(rank)
    width = stated if type(stated) is int and 0 < stated <= MOST_WIDTH else -(-hidden // 16)
    biased = fields.flag(bias)
    linears = (
        Linear("in_proj", hidden, 2 * inner, "attention", biased),
        Linear("x_proj", inner, width + 2 * state, "other"),
        Linear("dt_proj", width, inner, "other", True),
        Linear("out_proj", inner, hidden, "output", biased),
    )
    return linears, width


def mamba(fields: Fields) -> Architecture:
    hidden = hidden_size(fields)
    inner = fields.optional("intermediate_size", "d_inner", most=MOST_WIDTH) or hidden * fields.size("expand", default=2, most=64)
    state = fields.size("state_size", default=16, most=MOST_WIDTH)
    linears, _ = of_mamba(fields, hidden, inner, state, rank="time_step_rank", bias="use_bias")
    conv = inner * (fields.size("conv_kernel", default=4, most=64) + (1 if fields.flag("use_conv_bias", default=True) else 0))
    return _alone(fields, linears, Mixer("mamba", inner, 2 * inner, inner, state=state, parameters=conv + inner * (state + 1)))


def mamba2(fields: Fields) -> Architecture:
    hidden = hidden_size(fields)
    inner = hidden * fields.size("expand", default=2, most=64)
    heads, groups = fields.size("num_heads", most=MOST_WIDTH), fields.size("n_groups", default=8, most=MOST_WIDTH)
    state = fields.size("state_size", default=128, most=MOST_WIDTH)
    chunk = fields.size("chunk_size", default=256, most=MOST_WIDTH)
    bias = fields.flag("use_bias")
    narrow = inner + 2 * groups * state
    linears = (
        Linear("in_proj", hidden, inner + narrow + heads, "attention", bias),
        Linear("out_proj", inner, hidden, "output", bias),
    )
    conv = narrow * (fields.size("conv_kernel", default=4, most=64) + (1 if fields.flag("use_conv_bias", default=True) else 0))
    mixer = Mixer(
        "mamba2", inner, inner + narrow + heads, narrow, heads=heads, state=state, chunk=chunk, parameters=conv + 3 * heads + inner
    )
    return _alone(fields, linears, mixer)
