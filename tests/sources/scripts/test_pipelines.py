"""What a script asks of ``pipeline`` of transformers."""

from __future__ import annotations

from pathlib import Path

import pytest

from .situations import read, values

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
