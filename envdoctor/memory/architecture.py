"""The sizes of a model that its memory follows from, and nothing else of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from envdoctor.memory.mixers import Mixer
from envdoctor.records import dataclass

Role: TypeAlias = Literal[
    "query", "key", "value", "key_value", "attention", "latent", "output", "gate", "up", "gate_up", "down", "router", "other"
]


@dataclass(frozen=True, slots=True)
class Linear:
    """One kind of matrix product in a layer: what a quantizer replaces, and LoRA may target, by the last part of its name.

    ``count`` modules of it stand in a layer (experts); ``share`` is the part of the layer's tokens that each of them sees
    (experts per token over experts). ``role`` is where it stands: "attention" is a fused query, key and value, "key_value" the last two,
    "latent" a projection to a narrow state that other projections start from, "other" none of a layer's usual products.
    ``module`` is False for a bare parameter, which neither a quantizer nor LoRA finds by its class.
    """

    name: str
    inputs: int
    outputs: int
    role: Role
    bias: bool = False
    count: int = 1
    share: float = 1.0
    module: bool = True

    @property
    def parameters(self) -> int:
        return self.count * (self.inputs * self.outputs + (self.outputs if self.bias else 0))


@dataclass(frozen=True, slots=True)
class Architecture:
    """A transformer of ``layers`` equal layers, or of several kinds of them.

    ``linears`` are those of one layer; ``role`` "attention" is a fused query, key and value. ``norm_width`` counts the elements of all
    normalisation vectors of a layer (weights and biases), ``norms`` how many of them are as wide as the hidden state.
    ``head_norms`` says that queries and keys are normalised too. ``positions`` are rows of a learned position table.
    ``dense_layers`` are the first layers of a mixture of experts that have none, and ``dense_linears`` what they have instead.
    ``beside`` counts parameters that stand beside the language model (a vision tower), where config.json tells, and ``beside_low_rank``
    what adapters of rank 1 beside all of their linears have.
    Of an encoder and decoder, ``layers`` counts both: the encoder's are ``dense_layers`` of ``dense_linears``, with ``dense_norm_width``
    where it differs. ``once`` are linears that stand once, not in every layer (a pooler, a projection beside the embedding), ``extra``
    counts parameters that are in none of the others. ``known`` is False where model_type is none that was compared with the real
    modules, and the layers were read as those of Llama. ``assumed`` names fields of config.json that it does not state, and for which
    the default of the class in transformers was taken. ``packed_bits`` and ``packed_group`` are bits and group_size of a
    quantization_config, None where it states none; a group of 0 or less is a whole column.
    ``mixer`` stands where a layer has no attention, or beside it (``mixed_beside``). ``variants`` are the other kinds of layers, each as an
    architecture of as many layers as there are of it; ``layers`` counts them too. ``gated_attention`` says that the output of the attention
    is multiplied with a gate as wide, which the projection of the queries makes too. ``value_norms`` says that values are
    normalised as keys are, without a weight; ``injected`` is the width of an embedding that each layer is given beside the residual stream,
    ``window`` is what the attention of some layers sees of a row, 0 where all see all; ``windowed`` is their part of the layers.
    ``wide_stream`` says that this stream is float32 whatever the weights are. ``inside`` is the kind of the whole model of
    which this is the language model, "" where there is none around it. ``caches`` is ``use_cache`` of config.json: whether a model that is
    not told otherwise returns its keys and values.
    """

    kind: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    tied: bool
    linears: tuple[Linear, ...]
    norm: Literal["rms", "layer"] = "rms"
    norms: int = 2
    norm_width: int = 0
    final_norm_width: int = 0
    head_norms: bool = False
    activation: str = "silu"
    gated: bool = True
    parallel: bool = False
    positions: int = 0
    embedding_width: int = 0
    head: Literal["causal", "classification", "none"] = "causal"
    labels: int = 2
    head_bias: bool = False
    experts: int = 0
    experts_per_token: int = 0
    dense_layers: int = 0
    dense_linears: tuple[Linear, ...] = ()
    softcap: bool = False
    hidden_dropout: float = 0.0
    attention_dropout: float = 0.0
    encoder_decoder: bool = False
    beside: int = 0
    beside_low_rank: int = 0
    remote: bool = False
    dense_norm_width: int | None = None
    once: tuple[Linear, ...] = ()
    extra: int = 0
    known: bool = True
    assumed: tuple[str, ...] = ()
    packed_bits: float | None = None
    packed_group: int | None = None
    mixer: Mixer | None = None
    mixed_beside: bool = False
    gated_attention: bool = False
    value_norms: bool = False
    injected: int = 0
    wide_stream: bool = False
    window: int = 0
    windowed: float = 0.0
    inside: str = ""
    caches: bool = True
    variants: tuple[Architecture, ...] = ()

    @property
    def kinds(self) -> tuple[tuple[int, Architecture], ...]:
        """Each kind of layer with how many there are of it, none of which there is none."""
        own = self.layers - sum(one.layers for one in self.variants)
        return tuple((times, one) for times, one in ((own, self), *((one.layers, one) for one in self.variants)) if times)

    @property
    def attends(self) -> bool:
        """Whether a layer of this kind has an attention."""
        return self.mixer is None or self.mixed_beside

    @property
    def query_width(self) -> int:
        return self.heads * self.head_dim

    @property
    def key_width(self) -> int:
        return self.kv_heads * self.head_dim


@dataclass(frozen=True, slots=True)
class Parameters:
    """How many parameters stand where. ``linear`` is what a 4-bit quantizer replaces; ``head`` is 0 where it is the embedding.

    ``bare`` is that part of ``other`` that are matrices without a module (experts of GPT-OSS): only a quantizer made for them sees them.
    """

    embedding: int
    head: int
    linear: int
    other: int
    beside: int = 0
    bare: int = 0

    @property
    def total(self) -> int:
        return self.embedding + self.head + self.linear + self.other + self.beside
