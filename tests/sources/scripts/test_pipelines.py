"""What a script asks of ``pipeline`` of transformers."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.uses import does
from envdoctor.sources.scripts.script import collect_script

from .situations import read, values, write

START = "import torch\nfrom transformers import AutoModelForCausalLM, pipeline\n"
ASKED = ("model.id", "plan.generate", "plan.method", "plan.load_dtype", "plan.attn", "plan.trust_remote_code", "plan.distributed")


def told(tmp_path: Path, text: str) -> dict[str, object]:
    found = values(read(tmp_path, START + text))
    return {name: found[name] for name in ASKED if name in found}


def test_a_pipeline_loads_and_answers(tmp_path: Path) -> None:
    more = "torch_dtype=torch.float16, device_map='auto', trust_remote_code=True, model_kwargs={'attn_implementation': 'eager'}"
    assert told(tmp_path, f"answer = pipeline('text-generation', model='a/b', {more})\nprint(answer('x'))\n") == {
        "model.id": "a/b",
        "plan.generate": True,
        "plan.method": "inference",
        "plan.load_dtype": "float16",
        "plan.attn": "eager",
        "plan.trust_remote_code": True,
        "plan.distributed": "device_map",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # a classifier generates nothing
        ("print(pipeline('text-classification', 'a/b')('x'))\n", {"model.id": "a/b"}),
        ("print(pipeline('translation_en_to_de', 'a/b')('x'))\n", {"model.id": "a/b", "plan.generate": True, "plan.method": "inference"}),
        ("print(pipeline('automatic-speech-recognition', 'openai/whisper-tiny')('x'))\n",
         {"model.id": "openai/whisper-tiny", "plan.generate": True, "plan.method": "inference"}),
        ("print(pipeline('automatic-speech-recognition', 'facebook/wav2vec2-base')('x'))\n", {"model.id": "facebook/wav2vec2-base"}),
        # a model that the script loads itself is the model, and what is trained is not only asked
        ("m = AutoModelForCausalLM.from_pretrained('c/d')\nprint(pipeline('text-generation', m)('x'))\n",
         {"model.id": "c/d", "plan.generate": True}),
        ("print(pipeline('text-generation', model='a/b')('x'))\nloss.backward()\n", {"model.id": "a/b", "plan.generate": True}),
        # keywords that nobody can read leave open what they may say
        ("print(pipeline('text-generation', model='a/b', model_kwargs=given)('x'))\n",
         {"model.id": "a/b", "plan.generate": True, "plan.method": "inference"}),
    ],
)  # fmt: skip
def test_what_a_pipeline_says(tmp_path: Path, text: str, expected: dict[str, object]) -> None:
    assert told(tmp_path, text) == expected


def test_an_encoder_hands_its_model_kwargs_to_from_pretrained(tmp_path: Path) -> None:
    made = "SentenceTransformer('a/b', trust_remote_code=True, model_kwargs={'attn_implementation': 'flash_attention_2'})"
    found = told(tmp_path, f"from sentence_transformers import SentenceTransformer\nprint({made}.encode('x'))\n")
    assert found == {"model.id": "a/b", "plan.attn": "flash_attention_2", "plan.trust_remote_code": True}


LANGCHAIN = "from langchain_huggingface import HuggingFacePipeline\n"
LLAMA_INDEX = "from llama_index.llms.huggingface import HuggingFaceLLM\n"
LOADED = {"model.id": "a/b", "plan.generate": True, "plan.method": "inference"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LANGCHAIN + "print(HuggingFacePipeline.from_model_id('a/b', 'text-generation', model_kwargs={'trust_remote_code': True}))\n",
         LOADED | {"plan.trust_remote_code": True}),
        (LLAMA_INDEX + "print(HuggingFaceLLM(model_name='a/b', device_map='auto', model_kwargs={'torch_dtype': torch.float16}))\n",
         LOADED | {"plan.distributed": "device_map", "plan.load_dtype": "float16"}),
        ("import lm_eval\nprint(lm_eval.simple_evaluate(model='hf', model_args='pretrained=a/b,dtype=bfloat16'))\n",
         LOADED | {"plan.load_dtype": "bfloat16"}),
        # OpenVINO's classes load, vLLM serves, and a client asks a server
        (LANGCHAIN + "print(HuggingFacePipeline.from_model_id('a/b', 'text-generation', backend='openvino'))\n", {}),
        ("import lm_eval\nprint(lm_eval.simple_evaluate(model='vllm', model_args='pretrained=a/b'))\n", {}),
        ("from langchain_huggingface import HuggingFaceEndpoint\nprint(HuggingFaceEndpoint(repo_id='a/b'))\n", {}),
        # an encoder's name, where the script loads nothing else
        ("from langchain_huggingface import HuggingFaceEmbeddings\nprint(HuggingFaceEmbeddings(model_name='a/b'))\n", {"model.id": "a/b"}),
    ],
)  # fmt: skip
def test_what_another_library_loads_for_the_script(tmp_path: Path, text: str, expected: dict[str, object]) -> None:
    assert told(tmp_path, text) == expected


def test_what_another_library_hands_on_is_a_use_of_transformers(tmp_path: Path) -> None:
    text = LANGCHAIN + "HuggingFacePipeline.from_model_id(model_id='a/b', task='text-generation', model_kwargs={'load_in_8bit': True})\n"
    uses = next(fact.value for fact in collect_script(write(tmp_path, text)).facts if fact.name == "plan.code_uses")
    assert does(["transformers.*.from_pretrained(load_in_8bit=True)"], uses)
