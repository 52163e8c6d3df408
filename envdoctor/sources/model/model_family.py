"""Which family of models a configuration belongs to, where ``model_type`` alone does not tell."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.records import dataclass

# Ids of <|user|> and <|observation|>, at which a chat turn ends; generation has to stop at both.
# ChatGLM3: tokenizer of chatglm3-6b, executed. GLM-4: eos_token_id of glm-4-9b-chat and glm-4-9b-chat-hf.
ROLE_STOP_IDS: Mapping[str, frozenset[str]] = {
    "chatglm3": frozenset(("64795", "64797")),
    "glm-4": frozenset(("151336", "151338")),
    "glm-4-hf": frozenset(("151336", "151338")),
}

_CHATGLM2_ROWS = 65024
_GLM4_ROWS = 151552
_LLAMA3_ROWS = 128256
_LLAMA3_BEGIN = "<|begin_of_text|>"
_LLAMA2_MOST_ROWS = 33_000  # 32,000, and what people add to them
_QWEN25_TOOL_CALL = "151657"  # id of <tool_call>, which the Qwen2 tokenizers before 2.5 do not have


@dataclass(frozen=True, slots=True)
class Identity:
    """What a snapshot says of itself.

    ``names`` are lower-case: ``_name_or_path`` of its configuration files and the repository of a hub cache.
    ``tokenizer_source`` is the text of the remote tokenizer, None where there is none; ``begin`` the tokenizer's bos_token.
    ``language_source`` is that of the language model inside, where it has a file of its own.
    """

    config: Mapping[str, object]
    names: tuple[str, ...]
    added_tokens: Mapping[str, object]
    tokenizer_source: str | None
    begin: object = None
    language_source: str | None = None

    def named(self, fragment: str) -> bool:
        return any(fragment in name for name in self.names)


def family_of(identity: Identity) -> str | None:
    """The family, or None where the configuration does not tell."""
    return _FAMILIES.get(str(identity.config.get("model_type")), _untold)(identity)


def _untold(identity: Identity) -> str | None:
    return None


def _chatglm(identity: Identity) -> str | None:
    config = identity.config
    if "position_encoding_2d" in config or "inner_hidden_size" in config:
        return "chatglm"
    rows = config.get("padded_vocab_size", config.get("vocab_size"))
    if rows == _GLM4_ROWS:
        return "glm-4v" if "vision_config" in config else "glm-4"
    if rows != _CHATGLM2_ROWS:
        return None
    # ChatGLM2 and ChatGLM3 have the same architecture and vocabulary; only the latter has role tokens.
    if identity.added_tokens:
        return "chatglm3" if "64795" in identity.added_tokens else None
    if identity.tokenizer_source is not None:
        return "chatglm3" if "<|observation|>" in identity.tokenizer_source else "chatglm2"
    if identity.named("chatglm3"):
        return "chatglm3"
    return "chatglm2" if identity.named("chatglm2") else None


def _glm(identity: Identity) -> str | None:
    return "glm-4-hf" if identity.config.get("vocab_size") == _GLM4_ROWS else None


def _llama(identity: Identity) -> str | None:
    rows = identity.config.get("vocab_size")
    if rows == _LLAMA3_ROWS and identity.begin in (None, _LLAMA3_BEGIN):
        return "llama-3"
    if rows == _LLAMA3_ROWS or (isinstance(rows, int) and rows > _LLAMA2_MOST_ROWS):
        # Others built on the same architecture, such as DeepSeek-R1-Distill-Llama with Llama 3's rows and tokens of its own.
        return "llama"
    return "llama-2" if identity.named("llama-2") or identity.named("llama2") else None


def _gemma4(identity: Identity) -> str | None:
    inner = identity.config.get("text_config", identity.config)
    return "gemma4-e" if isinstance(inner, Mapping) and inner.get("num_kv_shared_layers") else "gemma4"


def _internvl(identity: Identity) -> str | None:
    """InternVL with InternLM2 inside, whose class takes the methods of generation from nobody but PreTrainedModel."""
    inner = identity.config.get("llm_config")
    classes = inner.get("architectures") if isinstance(inner, Mapping) else None
    if not isinstance(classes, list):
        return None
    return (
        "internvl-internlm2"
        if "InternLM2ForCausalLM" in classes and "GenerationMixin" not in (identity.language_source or "")
        else "internvl"
    )


def _qwen(identity: Identity) -> str | None:
    return "qwen-vl" if "visual" in identity.config else "qwen"


def _qwen2(identity: Identity) -> str | None:
    told = _QWEN25_TOOL_CALL in identity.added_tokens or identity.named("qwen2.5")
    return "qwen2.5" if told else None


_FAMILIES = {
    "chatglm": _chatglm,
    "gemma4": _gemma4,
    "gemma4_text": _gemma4,
    "glm": _glm,
    "internvl_chat": _internvl,
    "glm4": lambda identity: "glm-4-0414",
    "llama": _llama,
    "qwen": _qwen,
    "qwen2": _qwen2,
}


def is_chat(identity: Identity) -> bool:
    """Whether the snapshot is meant for chat: a base model need not stop at role tokens."""
    return not any(name.rstrip("/").endswith(("-base", "glm-4-9b", "glm-4-9b-hf")) for name in identity.names)
