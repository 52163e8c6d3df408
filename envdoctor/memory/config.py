"""Reading a config.json as the sizes that memory follows from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from envdoctor.memory.architecture import Architecture
from envdoctor.memory.class_defaults import class_defaults
from envdoctor.memory.families import FAMILIES, NO_TRANSFORMER, UNLIKE_LLAMA
from envdoctor.memory.fields import ArchitectureError, Fields, shown, table
from envdoctor.memory.generic import generic
from envdoctor.memory.vision import vision_low_rank, vision_parameters
from envdoctor.memory.windows import with_windows
from envdoctor.records import replace

__all__ = ["ArchitectureError", "read_architecture"]

Head = Literal["causal", "classification", "none"]
# Where models of several kinds of input keep the configuration of their language model.
_INNER = ("text_config", "llm_config", "language_config")
# What the outer kind says of an inner configuration that does not say its own.
_INNER_KIND = {
    "gemma3": "gemma3_text",
    "qwen2_vl": "qwen2_vl_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "qwen3_vl": "qwen3_vl_text",
    "qwen3_vl_moe": "qwen3_vl_moe_text",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "lfm2_vl": "lfm2",
    "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text",
    "llava": "llama",
    "llava_next": "llama",
    "vipllava": "llama",
    "paligemma": "gemma",
    "idefics2": "mistral",
    "idefics3": "llama",
    "mistral3": "mistral",
    "qwen2_audio": "qwen2",
}
_SPEAKS = ("LMHeadModel", "DoubleHeadsModel")


def read_architecture(config: Mapping[str, object]) -> Architecture:
    """The sizes of the language model that a config.json describes.

    Of a model of several kinds of input, those of its language model; what stands beside it is counted where its fields tell. A
    kind that is not listed is read as a decoder whose fields are called as those of Llama, and says so (``known``). An encoder alone is
    taken with a head that classifies, as it is mostly trained.

    Raises ArchitectureError where sizes are missing, are no whole numbers or too large for any model, contradict each other, or belong
    to a kind that is no transformer of equal layers.
    """
    outer_kind = _kind(config, "")
    inner = _inner(config)
    if inner is None:
        fields = Fields(config, outer_kind)
    else:
        fields = Fields(inner, _kind(inner, _INNER_KIND.get(outer_kind, outer_kind)), nested=True)
    if fields.kind in NO_TRANSFORMER or outer_kind in NO_TRANSFORMER:
        raise ArchitectureError("model_type", found=shown(fields.kind), expected="a transformer: every layer of it with attention")
    family = FAMILIES.get(fields.kind)
    if family is None and fields.kind in UNLIKE_LLAMA:
        raise ArchitectureError("model_type", found=shown(fields.kind), expected="a kind of model whose layers are known")
    architecture = with_windows((family or generic)(fields), fields)
    if inner is not None and isinstance(config.get("tie_word_embeddings"), bool) and "tie_word_embeddings" not in inner:
        architecture = replace(architecture, tied=bool(config["tie_word_embeddings"]))
    head = _head(config, architecture)
    return replace(
        architecture,
        head=head,
        labels=_labels(config) if head == "classification" else architecture.labels,
        head_bias=architecture.head_bias and (head == "causal" or architecture.head == "classification"),
        beside=vision_parameters(config, architecture.hidden) if inner is not None or "vision_config" in config else 0,
        beside_low_rank=vision_low_rank(config, architecture.hidden) if inner is not None or "vision_config" in config else 0,
        remote=isinstance(config.get("auto_map"), dict),
        inside=outer_kind if inner is not None else "",
        caches=(inner or config).get("use_cache") is not False,
        assumed=tuple(fields.assumed),
        packed_bits=_packed(config, "bits", 16),
        packed_group=_packed(config, "group_size", 2**20),
    )


def _packed(config: Mapping[str, object], name: str, most: int) -> int | None:
    """A whole number of quantization_config; None where there is none that could be meant."""
    value = table(config.get("quantization_config")).get(name)
    return value if type(value) is int and -1 <= value <= most and (name != "bits" or value > 0) else None


def _kind(config: Mapping[str, object], default: str) -> str:
    kind = config.get("model_type")
    if kind is None or kind == "":
        return default
    if not isinstance(kind, str) or len(kind) > 80 or not kind.isprintable():
        raise ArchitectureError("model_type", found=shown(kind), expected="the name of a kind of model")
    return kind


def _inner(config: Mapping[str, object]) -> Mapping[str, object] | None:
    """The configuration of the language model inside of another one; None where there is none, or where it only repeats the outer one."""
    outer = table(config.get("thinker_config")) or config
    for name in _INNER:
        inner = outer.get(name)
        if isinstance(inner, dict) and (inner or "hidden_size" not in config):
            return inner
    return None


def _head(config: Mapping[str, object], architecture: Architecture) -> Head:
    """What stands after the last layer, by the class that the model was saved from; a language model's where none is named."""
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    if architecture.head == "classification" or name.endswith("Classification"):
        return "classification"
    # Models with code of their own name the inner class, although the code maps every auto class to a whole model.
    inner = name.endswith("Model") and not name.endswith(_SPEAKS) and architecture.kind in class_defaults()
    if inner and not isinstance(config.get("auto_map"), dict) and not architecture.encoder_decoder:
        return "none"
    return "causal"


def _labels(config: Mapping[str, object]) -> int:
    """As many as ``id2label`` names, else ``num_labels``, else 2 as in transformers."""
    names = config.get("id2label")
    if isinstance(names, dict) and names:
        return len(names)
    return Fields(config, "").size("num_labels", default=2, most=2**24)
