"""What a wrapper imports in a script's place: whoever loads a model by lm_eval's ``model="vllm"`` runs vLLM, and never names it.

Each was read in a wheel: lm_eval 0.4.8 (models/vllm_causallms.py), lighteval 0.8.1 (models/vllm/vllm_model.py), langchain-community 0.3.20
(llms/vllm.py), llama-index-llms-vllm 0.5.1, distilabel 1.5.3 (models/llms/vllm.py), outlines 0.1.11 (models/vllm.py); ms-swift 3.4.1
(llm/infer/infer_engine/vllm_engine.py); unsloth 2025.4.7 (models/llama.py, where ``fast_inference`` is asked for). Clients of a server
that runs elsewhere (``VLLMOpenAI``, ``VllmServer``, ``ClientvLLM``) import nothing of it.

Encoders that langchain-huggingface 1.2.0 and llama-index-embeddings-huggingface 0.6.1 make are sentence-transformers'. What is configured
for DeepSpeed imports it when the model is prepared (accelerate 0.30.0, accelerator.py; transformers 4.42.0, integrations/deepspeed.py).
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
_ENCODERS = re.compile(
    r"langchain(?:_huggingface|_community)?\.(?:\w+\.)*HuggingFaceEmbeddings" + _CALLED + r"|"
    r"llama_index\.embeddings\.huggingface\.(?:\w+\.)*HuggingFaceEmbedding" + _CALLED
)
_DEEPSPEED = re.compile(
    r"accelerate\.(?:\w+\.)*DeepSpeedPlugin\(|transformers\.(?:\w+\.)*(?:Seq2Seq)?TrainingArguments\([^)]*\bdeepspeed=(?!None)|"
    r"trl\.(?:\w+\.)*\w+Config\([^)]*\bdeepspeed=(?!None)"
)


def list_wrapped(use: str) -> Iterator[str]:
    """The packages that a use imports without its script naming them, and what it takes of them."""
    if _VLLM.match(use):
        yield "vllm"
    elif _ENCODERS.match(use):
        yield "sentence_transformers.SentenceTransformer"
    elif _DEEPSPEED.match(use):
        yield "deepspeed"
