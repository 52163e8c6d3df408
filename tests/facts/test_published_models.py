"""The type of a published model, by the name of its repository."""

from __future__ import annotations

import pytest

from envdoctor.facts.hub_names import glm_bits
from envdoctor.facts.published_models import Published, model_of_folder, published_model, published_type
from envdoctor.records import replace


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("meta-llama/Llama-3.2-11B-Vision", "mllama"),
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2_5_vl"),
        ("Qwen/Qwen3-30B-A3B", "qwen3_moe"),
        ("google/gemma-3-1b-it", "gemma3_text"),
        ("google/gemma-3-4b-it", "gemma3"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "qwen2"),
        ("bert-base-uncased", "bert"),
        ("t5-large", "t5"),
        ("gpt2-xl", "gpt2"),
        ("roberta-large", "roberta"),
        ("./t5-large", None),
        ("hfl/chinese-roberta-wwm-ext", "bert"),
        ("bert-base-chinese", "bert"),
        ("baidu/ERNIE-4.5-0.3B-PT", "ernie4_5"),
        ("stabilityai/stablelm-zephyr-3b", "stablelm"),
        ("state-spaces/mamba-130m-hf", "mamba"),
        ("state-spaces/mamba-130m", None),
        ("Qwen/Qwen-7B-Chat", "qwen"),
        ("Qwen/Qwen-VL-Chat", "qwen"),
        ("zai-org/GLM-4.1V-9B-Thinking", "glm4v"),
        ("openbmb/MiniCPM-V-2_6", "minicpmv"),
        # the same under the name of who copies it
        ("unsloth/Llama-4-Scout-17B-16E-Instruct-unsloth-bnb-4bit", "llama4"),
        ("unsloth/mistral-7b-v0.3-bnb-4bit", "mistral"),
        ("unsloth/llama-3-8b", "llama"),
        ("NousResearch/Meta-Llama-3-8B-Instruct", "llama"),
        ("LLM-Research/Meta-Llama-3-8B-Instruct", "llama"),
        ("Shanghai_AI_Laboratory/internlm2-chat-7b", "internlm2"),
        # the owner left out
        ("Qwen2.5-VL-7B-Instruct", "qwen2_5_vl"),
        ("Qwen3-0.6B", "qwen3"),
        ("my-model-7b", None),
        # unsloth's Phi is a model of another type
        ("unsloth/Phi-3-mini-4k-instruct", None),
        ("unsloth/Llama-3.2-1B-Instruct-GGUF", None),
        # what others make of a model, what is a folder, and what only begins alike
        ("somebody/Llama-3.1-8B-Instruct", None),
        ("./Qwen/Qwen2.5-7B-Instruct", None),
        ("meta-llama/Llama-3.1-8B-Instruct-evals", None),
        ("google/gemma-2-9b-it-sae", None),
        ("", None),
    ],
)
def test_the_type_is_known_of_what_its_maker_published_alone(name: str, kind: str | None) -> None:
    assert published_type(name) == kind


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("meta-llama/Llama-2-7b-hf", Published("llama", plain=True, rope_type="default")),
        ("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit", Published("llama", plain=True, quant_method="bitsandbytes", rope_type="llama3")),
        ("Qwen/Qwen-VL-Chat", Published("qwen", plain=False, family="qwen-vl")),
        ("google/gemma-4-E2B-it", Published("gemma4", plain=True, family="gemma4-e")),
        ("google/gemma-4-31B-it", Published("gemma4", plain=True, family="gemma4")),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", Published("qwen2", plain=True, quant_method="awq")),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", Published("qwen2", plain=True, quant_method="gptq")),
        ("unsloth/gemma-2-9b-bnb-4bit", Published("gemma2", plain=True, quant_method="bitsandbytes")),
        # published with code of their own at first
        ("deepseek-ai/DeepSeek-V3", Published("deepseek_v3", plain=False, quant_method="fp8")),
        ("mosaicml/mpt-7b-instruct", Published("mpt", plain=False)),
        ("OpenGVLab/InternVL2_5-8B-MPO", Published("internvl_chat", plain=False, family="internvl-internlm2")),
        ("OpenGVLab/InternVL3-8B", Published("internvl_chat", plain=False, family="internvl")),
        ("allenai/Molmo2-8B", Published("molmo2", plain=False, rope_type="default")),
        ("microsoft/Phi-3-mini-4k-instruct", Published("phi3", plain=False)),
    ],
)
def test_what_more_the_configuration_of_a_published_model_says(name: str, told: Published) -> None:
    found = published_model(name)
    assert found is not None
    assert replace(found, parameters=None) == told


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/data/models/Qwen2.5-7B-Instruct", "qwen2"),
        ("./Llama-4-Scout-17B-16E-Instruct/", "llama4"),
        ("D:\\models\\Qwen-VL-Chat", "qwen"),
        ("/root/.cache/huggingface/hub/models--meta-llama--Llama-2-7b-hf/snapshots/01c7f73d", "llama"),
        # what is made of a model, or called so in few letters
        ("/data/models/Qwen2.5-7B-Instruct-merged-lora/checkpoint-100", None),
        ("./gpt2", None),
        ("./phi-2", None),
        ("/", None),
    ],
)
def test_a_folder_that_has_the_name_of_a_published_model(path: str, kind: str | None) -> None:
    found = model_of_folder(path)
    assert (found.type if found is not None else None) == kind


@pytest.mark.parametrize(
    ("name", "stored"),
    [("THUDM/chatglm2-6b-int4", "chatglm-int4"), ("./chatglm-6b-int8/", "chatglm-int8"), ("THUDM/chatglm3-6b", None), ("a/glm-int4", None)],
)
def test_how_a_quantized_chatglm_is_stored(name: str, stored: str | None) -> None:
    assert glm_bits(name) == stored
