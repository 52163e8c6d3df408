"""What a file of a snapshot is for, told by its name."""

from __future__ import annotations

import re
from typing import Literal

Role = Literal["weights", "code", "tokenizer", "generation", "config", "documentation", "other"]

# In the order in which a reader wants them: what changes results most comes first.
ROLES: tuple[Role, ...] = ("weights", "code", "tokenizer", "generation", "config", "other", "documentation")

_WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".gguf", ".ckpt", ".h5", ".msgpack", ".onnx", ".index.json")
# What a trainer leaves beside a checkpoint: read when a run resumes, never when the model is loaded.
_TRAINING_STATE = re.compile(
    r"training_args\.bin|(optimizer|scheduler|scaler)(_\d+)?\.(bin|pt)|rng_state(_\d+)?\.pth|random_states_\d+\.pkl"
)
_TOKENIZER = frozenset(
    (
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.json",
        "vocab.txt",
        "merges.txt",
        "chat_template.json",
    )
)
_TOKENIZER_SUFFIXES = (".model", ".tiktoken", ".jinja", ".vocab", ".spm")
_DOCUMENTATION = re.compile(
    r"(readme|license|licence|notice|use_policy|model_card|changelog)[^/]*|.*\.(md|rst|pdf|png|jpe?g|gif|svg|webp)|\.gitattributes|\.gitignore"
)


def role_of(name: str) -> Role:
    """The role of a file by its relative name; ``other`` for one whose purpose no name tells."""
    base = name.rpartition("/")[2].lower()
    if base.endswith(".py"):
        return "code"
    if base in _TOKENIZER or base.endswith(_TOKENIZER_SUFFIXES):
        return "tokenizer"
    if base == "generation_config.json":
        return "generation"
    if _TRAINING_STATE.fullmatch(base):
        return "other"
    if base.endswith(_WEIGHTS):
        return "weights"
    if _DOCUMENTATION.fullmatch(base):
        return "documentation"
    return "config" if base.endswith(".json") else "other"


def loaded_by_name(name: str) -> bool:
    """Whether transformers looks for a file of this name by itself, so that its mere appearance changes what is loaded.

    The names are those of ``transformers.utils`` (WEIGHTS_NAME, SAFE_WEIGHTS_INDEX_NAME, CONFIG_NAME ...) and of the tokenizers'
    ``vocab_files_names``; an ``adapter_config.json`` makes ``from_pretrained`` load an adapter, and with ``trust_remote_code`` a
    ``custom_generate/generate.py`` takes the place of ``generate`` (``GenerationMixin.load_custom_generate``).
    """
    return name in _BY_NAME or (role_of(name) == "tokenizer" and "/" not in name) or name.startswith("additional_chat_templates/")


_BY_NAME = frozenset(
    (
        "model.safetensors",
        "model.safetensors.index.json",
        "pytorch_model.bin",
        "pytorch_model.bin.index.json",
        "config.json",
        "generation_config.json",
        "adapter_config.json",
        "preprocessor_config.json",
        "processor_config.json",
        # AutoGPTQ and GPTQModel, AutoAWQ, and vLLM for ModelOpt's.
        "quantize_config.json",
        "quant_config.json",
        "hf_quant_config.json",
        "custom_generate/generate.py",
    )
)
