"""What a wrapper imports in a script's place."""

from __future__ import annotations

import pytest

from envdoctor.facts.same_uses import list_same


@pytest.mark.parametrize(
    ("use", "packages"),
    [
        ("lm_eval.simple_evaluate(model=vllm, model_args=pretrained=a/b)", ["vllm"]),
        ("lm_eval.evaluator.simple_evaluate(model=hf, tasks=gsm8k)", []),
        ("lm_eval.models.vllm_causallms.VLLM", ["vllm"]),
        ("accelerate.utils.DeepSpeedPlugin(zero_stage=2)", ["deepspeed"]),
        ("transformers.TrainingArguments(0=out, deepspeed=ds.json)", ["deepspeed"]),
        ("transformers.TrainingArguments(0=out, deepspeed=None)", []),
        ("langchain_huggingface.HuggingFaceEmbeddings(model_name=a/b)", ["sentence_transformers.SentenceTransformer"]),
        ("langchain_community.llms.VLLM(model=a/b)", ["vllm"]),
        ("langchain_community.llms.VLLMOpenAI(model=a/b)", []),
        ("llama_index.llms.vllm.Vllm(model=a/b)", ["vllm"]),
        ("llama_index.llms.vllm.VllmServer(api_url=x)", []),
        ("unsloth.FastLanguageModel.from_pretrained(a/b, fast_inference=True)", ["vllm"]),
        ("unsloth.FastLanguageModel.from_pretrained(a/b)", []),
    ],
)
def test_who_runs_vllm_without_naming_it(use: str, packages: list[str]) -> None:
    assert list(list_same(use)) == [use, *packages]
