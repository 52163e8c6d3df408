"""How many parameters stand beside the language model of a model that sees or hears, by what its configuration says.

The towers that are counted exactly are those of transformers 4.57.1, and InternVL's as published with its own code; any other one is
taken for a transformer over patches, which comes close.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from envdoctor.memory.fields import table
from envdoctor.records import dataclass

_MOST = 2**24
_CHANNELS = 3


@dataclass(frozen=True, slots=True)
class _Tower:
    """The sizes of a tower: ``width`` of its layers, ``network`` of their feed-forward part, ``patches`` of an image."""

    fields: Mapping[str, object]
    width: int
    layers: int
    network: int
    patch: int
    patches: int
    hidden: int
    scale: int
    queries: int

    def number(self, *names: str, default: int) -> int:
        return _number(self.fields, *names) or default

    @property
    def attention(self) -> int:
        """Four square products with biases."""
        return 4 * self.width * (self.width + 1)

    @property
    def classic(self) -> int:
        """All layers: attention, a network of two products, and two layer norms, everything with biases."""
        return self.layers * (self.attention + 2 * self.width * self.network + self.network + 5 * self.width)

    @property
    def pixels(self) -> int:
        """The product over the pixels of a patch."""
        return _CHANNELS * self.patch * self.patch * self.width


def vision_parameters(config: Mapping[str, object], hidden: int) -> int:
    """Parameters of the towers and of what leads from them to a language model of width ``hidden``; 0 where fields do not tell."""
    outer = table(config.get("thinker_config")) or config
    return _seeing(outer, hidden) + _hearing(table(outer.get("audio_config")), hidden)


def _seeing(outer: Mapping[str, object], hidden: int) -> int:
    found = _tower(outer, hidden)
    return 0 if found is None else _TOWERS.get(found[0], _any_tower)(found[1])


def _tower(outer: Mapping[str, object], hidden: int) -> tuple[str, _Tower] | None:
    """The tower and its kind, "" for one of a kind that is not known; None where fields do not tell."""
    vision = table(outer.get("vision_config"))
    # hidden_size is the width of the language model where embed_dim stands beside it (Qwen2-VL), else that of the tower.
    width, layers = _number(vision, "embed_dim", "hidden_size", "width"), _number(vision, "num_hidden_layers", "depth", "layers")
    if layers is not None and outer.get("drop_vision_last_layer") is True:
        layers -= 1
    if width is None or not layers:
        return None
    ratio = vision.get("mlp_ratio")
    times = float(ratio) if isinstance(ratio, int | float) and not isinstance(ratio, bool) and 0 < ratio <= 64 else 4.0
    network = _number(vision, "intermediate_size") or int(width * times)
    kind = next((kind for kind in (outer.get("model_type"), vision.get("model_type")) if isinstance(kind, str) and kind in _TOWERS), "")
    image, patch = _side(vision, "image_size") or (336 if kind == "glm4v" else 224), _side(vision, "patch_size", "spatial_patch_size") or 14
    scale = _number(vision, "spatial_merge_size") or _number(outer, "spatial_merge_size", "scale_factor") or 2
    tower = _Tower(
        vision, width, layers, network, patch, min(image // patch, 2**12) ** 2, hidden, min(scale, 64), _number(outer, "query_num") or 64
    )
    return kind, tower


def vision_low_rank(config: Mapping[str, object], hidden: int) -> int:
    """What adapters of rank 1 beside every linear layer of a tower take, in elements: their inputs and outputs; 0 where fields do not tell.

    peft's ``all-linear`` means those too. Layers alone are counted: what leads to the language model is little beside them.
    """
    outer = table(config.get("thinker_config")) or config
    found = _tower(outer, hidden)
    if found is None:
        return 0
    kind, tower = found
    attention = 6 * tower.width if kind in _FUSED else 8 * tower.width
    return tower.layers * (attention + (3 if kind in _GATED else 2) * (tower.width + tower.network))


def _any_tower(tower: _Tower) -> int:
    return tower.classic + tower.pixels + tower.patches * tower.width + _projector(tower)


def _projector(tower: _Tower) -> int:
    """Two products with biases."""
    return (tower.width + 1) * tower.hidden + (tower.hidden + 1) * tower.hidden


def _siglip(tower: _Tower) -> int:
    """SigLIP without a head and without what leads out of it."""
    return tower.classic + tower.pixels + tower.width + tower.patches * tower.width + 2 * tower.width


def _gemma3(tower: _Tower) -> int:
    return _siglip(tower) + tower.width * tower.hidden + tower.width


def _paligemma(tower: _Tower) -> int:
    return _siglip(tower) + (tower.width + 1) * tower.hidden


def _idefics3(tower: _Tower) -> int:
    return _siglip(tower) + tower.width * tower.scale**2 * tower.hidden


def _minicpmv(tower: _Tower) -> int:
    """SigLIP and a resampler: attention of learned queries over the patches, in the width of the language model."""
    hidden = tower.hidden
    resampler = 5 * hidden**2 + 10 * hidden + (tower.width + tower.queries) * hidden
    return _siglip(tower) + resampler


def _clip(tower: _Tower) -> int:
    """LLaVA: the class token has a position too, and norms stand before and after the layers."""
    return tower.classic + tower.pixels + (tower.patches + 6) * tower.width + _projector(tower)


def _llava_next(tower: _Tower) -> int:
    return _clip(tower) + tower.hidden


def _merger(tower: _Tower, out: int, norm: int) -> int:
    """A norm, and two products over the patches that become one token."""
    wide = tower.scale**2 * tower.width
    return norm + wide * (wide + 1) + (wide + 1) * out


def _qwen2_vl(tower: _Tower) -> int:
    return tower.classic + 2 * tower.pixels + _merger(tower, tower.hidden, 2 * tower.width)


def _qwen2_5_vl(tower: _Tower) -> int:
    layer = tower.attention + 3 * tower.width * tower.network + 2 * tower.network + 3 * tower.width
    return tower.layers * layer + 2 * tower.pixels + _merger(tower, tower.number("out_hidden_size", default=tower.hidden), tower.width)


def _qwen3_vl(tower: _Tower) -> int:
    out = tower.number("out_hidden_size", default=tower.hidden)
    levels = tower.fields.get("deepstack_visual_indexes")
    several = len(levels) if isinstance(levels, list) and len(levels) <= tower.layers else 0
    positions = tower.number("num_position_embeddings", default=2304) * tower.width
    deep = several * _merger(tower, out, 2 * tower.scale**2 * tower.width)
    return tower.classic + 2 * tower.pixels + tower.width + positions + _merger(tower, out, 2 * tower.width) + deep


def _glm4v(tower: _Tower) -> int:
    """No biases in the layers; their network is as wide as the way out, and intermediate_size belongs to the merger."""
    out = tower.number("out_hidden_size", default=tower.hidden)
    layers = tower.layers * (4 * tower.width**2 + 3 * tower.width * out + 2 * tower.width)
    embedding = tower.patches * tower.width + 2 * tower.pixels + 3 * tower.width
    return layers + embedding + (tower.width * tower.scale**2 + 1) * out + out * out + 3 * out * tower.network + 2 * out


def _internvl(tower: _Tower) -> int:
    """Two learned scales a layer; query, key and value have biases by qkv_bias (attention_bias in transformers)."""
    biased = tower.fields.get("qkv_bias", tower.fields.get("attention_bias")) is True
    more = 2 * tower.width - (0 if biased else 3 * tower.width)
    embedding = tower.pixels + (tower.patches + 3) * tower.width
    wide = 4 * tower.width
    return tower.classic + tower.layers * more + embedding + 2 * wide + (wide + 1) * tower.hidden + (tower.hidden + 1) * tower.hidden


def _pixtral(tower: _Tower) -> int:
    layer = 4 * tower.width**2 + 3 * tower.width * tower.network + 2 * tower.width
    lead = tower.width + tower.scale**2 * tower.width**2 + tower.width * tower.hidden + tower.hidden**2
    return tower.layers * layer + tower.pixels + tower.width + lead


# By the kind of the whole model, or that of its tower where several models share one.
_TOWERS: Mapping[str, Callable[[_Tower], int]] = {
    "gemma3": _gemma3,
    "paligemma": _paligemma,
    "idefics3": _idefics3,
    "smolvlm": _idefics3,
    "minicpmv": _minicpmv,
    "minicpmo": _minicpmv,
    "llava": _clip,
    "llava_next": _llava_next,
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "qwen3_vl": _qwen3_vl,
    "qwen3_vl_moe": _qwen3_vl,
    "glm4v": _glm4v,
    "glm4v_moe": _glm4v,
    "internvl": _internvl,
    "internvl_chat": _internvl,
    "mistral3": _pixtral,
}


# Towers with one product for queries, keys and values, and those with a gate in their network.
_FUSED = frozenset(("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "glm4v", "glm4v_moe"))
_GATED = frozenset(("qwen2_5_vl", "glm4v", "glm4v_moe", "mistral3"))


def _hearing(audio: Mapping[str, object], hidden: int) -> int:
    """The encoder of Whisper, as in Qwen2-Audio; no other is counted."""
    width, layers, network = _number(audio, "d_model"), _number(audio, "encoder_layers"), _number(audio, "encoder_ffn_dim")
    if width is None or layers is None or network is None:
        return 0
    bands, positions = _number(audio, "num_mel_bins") or 128, _number(audio, "max_source_positions") or 1500
    # The key has no bias.
    layer = 4 * width * width + 3 * width + 2 * width * network + network + 5 * width
    return layers * layer + 3 * width * (bands + width) + (positions + 4) * width + (width + 1) * hidden


def _side(fields: Mapping[str, object], *names: str) -> int | None:
    """The length of a side, of which some configurations give two."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, list) and value:
            return _number({name: value[0]}, name)
    return _number(fields, *names)


def _number(fields: Mapping[str, object], *names: str) -> int | None:
    for name in names:
        value = fields.get(name)
        if type(value) is int and 0 < value <= _MOST:
            return value
    return None
