"""How the weights of a repository are quantized, by what its name says, whoever published it.

``TheBloke/Llama-2-7B-Chat-GPTQ``, ``hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4``: who quantizes another's model leaves the name
and adds the method. The same word stands for other formats too: llm-compressor writes what AWQ found as compressed tensors, mlx and ONNX
have an AWQ of their own, and PyTorch's repositories are torchao's whatever they end in.
"""

from __future__ import annotations

import re

_GPTQ = re.compile(r"[-_.]gptq(model)?([-_.]|$)")
_AWQ = re.compile(r"[-_.]awq([-_.]|$)")
_BNB = re.compile(r"[-_.]bnb[-_.](?:nf)?(?P<bits>[48])(?:-?bits?)?$")
# What else a name may say of its format: then the method is how the numbers were found, and not how they are stored.
_STORED_OTHERWISE = re.compile(
    r"gguf|ggml|mlx|onnx|openvino|[-_]ov$|exl[23]|w[48]a(8|16)|compressed|auto-?round|[-_]inc$|quark|marlin|rkllm|trt|tensorrt|lora|adapter"
)
# They write compressed tensors, modelopt, MLX or quark under such names.
_OTHER_WRITERS = frozenset(
    ("amd", "cpatonn", "cyankiwi", "intel", "mlx-community", "neuralmagic", "nm-testing", "nvidia", "opea", "redhatai", "vllm-project")
)
# autoawq ended before these models came: an AWQ of them is as often one of llm-compressor.
_AFTER_AUTOAWQ = re.compile(
    r"gemma-?[34]|llama-?4|qwen-?3|glm-?4\.|gpt-oss|devstral|magistral|(mistral-small|ministral)-3|kimi|minimax|ernie"
)
_STILL_AUTOAWQ = frozenset(("qwen", "quanttrio"))
_TORCHAO = re.compile(r"[-_](int[48]|fp8|int8-int4|float8\w*|int[48]wo(-\w+)?|awq-int4)(-\w+)?$")


def stored_in_name(name: str) -> str | None:
    """``gptq``, ``awq``, ``torchao``, ``4bit`` or ``8bit`` of bitsandbytes; None for a name that says nothing, or not enough."""
    owner, separator, rest = name.strip().rstrip("/").lower().rpartition("/")
    owner = owner.rpartition("/")[2] if separator else ""
    if owner == "pytorch":
        return "torchao" if _TORCHAO.search(rest) else None
    if owner in _OTHER_WRITERS or _STORED_OTHERWISE.search(rest):
        return None
    if (bits := _BNB.search(rest)) is not None:
        return f"{bits['bits']}bit"
    if _GPTQ.search(rest):
        return "gptq"
    return "awq" if _AWQ.search(rest) and (owner in _STILL_AUTOAWQ or not _AFTER_AUTOAWQ.search(rest)) else None


__all__ = ["stored_in_name"]
