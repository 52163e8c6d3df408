"""What a wrapper imports in a script's place: whoever loads a model by lm_eval's ``model="vllm"`` runs vLLM, and never names it.

Each was read in a wheel: lm_eval 0.4.8 (models/vllm_causallms.py), lighteval 0.8.1 (models/vllm/vllm_model.py), langchain-community 0.3.20
(llms/vllm.py), llama-index-llms-vllm 0.5.1, distilabel 1.5.3 (models/llms/vllm.py), outlines 0.1.11 (models/vllm.py); ms-swift 3.4.1
(llm/infer/infer_engine/vllm_engine.py); unsloth 2025.4.7 (models/llama.py, where ``fast_inference`` is asked for). Clients of a server
that runs elsewhere (``VLLMOpenAI``, ``VllmServer``, ``ClientvLLM``) import nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_CALLED = r"(?=\(|$)"
_VLLM = re.compile(
    r"lm_eval\.(?:\w+\.)*simple_evaluate\([^)]*\bmodel=vllm(?:-vlm)?[,)]"
    r"|lm_eval\.models\.vllm_"
    r"|lighteval\.(?:\w+\.)*VLLMModel(?:Config)?" + _CALLED + r"|langchain(?:_community)?\.(?:\w+\.)*VLLM" + _CALLED + r"|"
    r"llama_index\.llms\.vllm\.(?:\w+\.)*Vllm" + _CALLED + r"|"
    r"distilabel\.(?:\w+\.)*vLLM" + _CALLED + r"|"
    r"outlines\.models\.(?:vllm\.)?vllm" + _CALLED + r"|"
    r"swift\.(?:\w+\.)*(?:GRPO)?VllmEngine" + _CALLED + r"|"
    r"unsloth\.\w+\.from_pretrained\([^)]*\bfast_inference=True[,)]"
)


def list_wrapped(use: str) -> Iterator[str]:
    """The packages that a use imports without its script naming them."""
    if _VLLM.match(use):
        yield "vllm"
