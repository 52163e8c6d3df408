"""Linear layers as families build them: attention with separate or fused projections, and feed-forward networks."""

from __future__ import annotations

from envdoctor.memory.architecture import Linear
from envdoctor.memory.fields import ArchitectureError, Fields
from envdoctor.records import dataclass

MOST_LAYERS = 2**12
MOST_HEADS = 2**14
MOST_WIDTH = 2**20
MOST_EXPERTS = 2**14

WIDTH = ("hidden_size", "n_embd", "d_model")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")


@dataclass(frozen=True, slots=True)
class Core:
    """The sizes that every decoder has. ``attention`` is the width of all query heads together, ``keys`` that of all key heads."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int

    @property
    def attention(self) -> int:
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        return self.kv_heads * self.head_dim


def hidden_size(fields: Fields) -> int:
    return fields.size(*WIDTH, most=MOST_WIDTH)


def vocabulary(fields: Fields, *names: str) -> int:
    return fields.size(*names, "vocab_size", most=2**28)


def feedforward(fields: Fields, *names: str, default: int | None = None) -> int:
    return fields.size(*names, default=default, most=2**24)


def core(
    fields: Fields,
    *,
    kv_heads: tuple[str, ...] = ("num_key_value_heads",),
    head_dim: tuple[str, ...] = ("head_dim",),
    vocab: str = "vocab_size",
) -> Core:
    """Read the sizes that every decoder has.

    Raises ArchitectureError where one is missing, and where neither the width of a head is stated nor the hidden size is a multiple
    of the heads.
    """
    hidden = hidden_size(fields)
    heads = fields.size(*HEADS, most=MOST_HEADS)
    stated = fields.optional(*head_dim, most=MOST_WIDTH) if head_dim else None
    if stated is None and hidden < heads:
        raise ArchitectureError(HEADS[0], found=str(heads), expected=f"a number of heads that the hidden size {hidden} can be divided into")
    kv = fields.optional(*kv_heads, most=MOST_HEADS) if kv_heads else None
    if kv is not None and kv > heads:
        raise ArchitectureError(kv_heads[0], found=str(kv), expected=f"no more than the {heads} heads of the queries")
    return Core(
        hidden,
        fields.size(*LAYERS, most=MOST_LAYERS),
        heads,
        kv or heads,
        stated or hidden // heads,
        vocabulary(fields, vocab),
    )


def attention(
    core: Core,
    *,
    bias: bool = False,
    output_bias: bool = False,
    names: tuple[str, str, str, str] = ("q_proj", "k_proj", "v_proj", "o_proj"),
) -> tuple[Linear, ...]:
    """Query, key and value each by itself, and the product that follows."""
    query, key, value, output = names
    return (
        Linear(query, core.hidden, core.attention, "query", bias),
        Linear(key, core.hidden, core.keys, "key", bias),
        Linear(value, core.hidden, core.keys, "value", bias),
        Linear(output, core.attention, core.hidden, "output", output_bias),
    )


def fused_attention(core: Core, names: tuple[str, str], *, bias: bool = False, output_bias: bool = False) -> tuple[Linear, ...]:
    """Query, key and value in one product."""
    return (
        Linear(names[0], core.hidden, core.attention + 2 * core.keys, "attention", bias),
        Linear(names[1], core.attention, core.hidden, "output", output_bias),
    )


def gated(
    hidden: int,
    ffn: int,
    *,
    bias: bool = False,
    names: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj"),
    count: int = 1,
    share: float = 1.0,
) -> tuple[Linear, ...]:
    """Gate, up and down each by itself; ``count`` of them for experts."""
    gate, up, down = names
    return (
        Linear(gate, hidden, ffn, "gate", bias, count, share),
        Linear(up, hidden, ffn, "up", bias, count, share),
        Linear(down, ffn, hidden, "down", bias, count, share),
    )


def fused_gated(hidden: int, ffn: int, names: tuple[str, str] = ("gate_up_proj", "down_proj"), *, bias: bool = False) -> tuple[Linear, ...]:
    """Gate and up in one product, and down."""
    return (Linear(names[0], hidden, 2 * ffn, "gate_up", bias), Linear(names[1], ffn, hidden, "down", bias))


def plain(hidden: int, ffn: int, names: tuple[str, str], *, bias: bool = True) -> tuple[Linear, ...]:
    """Up and down without a gate."""
    return (Linear(names[0], hidden, ffn, "up", bias), Linear(names[1], ffn, hidden, "down", bias))
