"""Findings that rules of the knowledge base tell as well, with a page of their own."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.checks.hit import Hit
from envdoctor.code.examine import GATE
from envdoctor.code.imports import MISSING
from envdoctor.code.members import ARGUMENT, AT_LOAD, MEMBER, RESULT
from envdoctor.code.overrides import BEFORE_SET, NEEDS, NO_OP, REFUSES

_HOOK = "_extract_past_from_model_output"
_HOOK_RULES = (
    "chatglm-generate-cache-hook-gone", "chatglm-generate-cache-pair", "chatglm-generate-gated-hook-gone",
    "chatglm-generate-standardize-cache-format", "chatglm-release-gate-reads-minor-only",
)  # fmt: skip
_SET_LATE = (
    "chatglm-6b-tokenizer-sp-tokenizer", "chatglm2-6b-tokenizer-before-october-2023", "remote-tokenizer-attribute-after-super",
    "qwen-vl-tokenizer-image-st", "baichuan-internlm-tokenizer-sp-model",
)  # fmt: skip

# By rule of the finding and symbol; an empty symbol stands for any.
KNOWN: Mapping[tuple[str, str], tuple[str, ...]] = {
    (MEMBER, _HOOK): _HOOK_RULES,
    (ARGUMENT, _HOOK): _HOOK_RULES,
    (RESULT, _HOOK): _HOOK_RULES,
    (MEMBER, "batch_encode_plus"): ("chatglm3-build-chat-input-batch-encode-plus",),
    (MEMBER, "config.num_hidden_layers"): ("chatglm-generate-num-hidden-layers",),
    (AT_LOAD, "config.max_length"): ("chatglm-config-max-length",),
    (MEMBER, "get_max_length"): ("remote-code-cache-get-max-length",),
    (MEMBER, "seen_tokens"): ("remote-code-cache-seen-tokens",),
    (MEMBER, "get_usable_length"): ("remote-code-cache-seen-tokens",),
    (MEMBER, "from_legacy_cache"): ("remote-code-legacy-cache",),
    (MEMBER, "to_legacy_cache"): ("remote-code-legacy-cache",),
    (MISSING, "is_flash_attn_available"): ("remote-code-is-flash-attn-available",),
    (MISSING, "is_torch_fx_available"): ("remote-code-is-torch-fx-available",),
    (MISSING, "is_torch_greater_or_equal_than_1_13"): ("remote-code-torch-1-13-check",),
    (MISSING, "LlamaFlashAttention2"): ("remote-code-llama-flash-attention-2",),
    (MISSING, "LossKwargs"): ("remote-code-loss-kwargs",),
    (NEEDS, "all_tied_weights_keys"): ("chatglm-all-tied-weights-keys", "remote-model-without-post-init-transformers-5"),
    (REFUSES, "_pad"): ("chatglm-tokenizer-pad-padding-side", "remote-tokenizer-pad-padding-side", "vllm-0-6-2-chatglm-tokenizer"),
    (REFUSES, "_set_gradient_checkpointing"): ("transformers-4-35-gradient-checkpointing-hook",),
    (BEFORE_SET, ""): _SET_LATE,
    (NO_OP, ""): ("chatglm-gradient-checkpointing-no-op",),
    (GATE, ""): ("chatglm-release-gate-reads-minor-only",),
}


def symbol_of(hit: Hit) -> str:
    """What a finding is about, as its text begins."""
    return hit.detail.partition(":")[0]


def rules_for(hit: Hit) -> tuple[str, ...]:
    """The rules that tell the same fault, where they match."""
    return (*KNOWN.get((hit.rule, symbol_of(hit)), ()), *KNOWN.get((hit.rule, ""), ()))
