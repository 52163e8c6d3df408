"""The model that a script names, where it loads none: in a pipeline, of a configuration, of a tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from .situations import read, values

LLAMA = "meta-llama/Llama-4-Scout-17B-16E-Instruct"


def stated(tmp_path: Path, text: str) -> dict[str, object]:
    return {name: value for name, value in values(read(tmp_path, text)).items() if name.startswith("model.")}


@pytest.mark.parametrize(
    "text",
    [
        f"from transformers import AutoConfig\nAutoConfig.from_pretrained('{LLAMA}')\n",
        f"from transformers import pipeline\npipeline('text-generation', model='{LLAMA}')\n",
        f"import transformers\ntransformers.pipeline('text-generation', '{LLAMA}')\n",
        f"from transformers import AutoProcessor\nAutoProcessor.from_pretrained('{LLAMA}')\n",
        # the tokenizer of another model says nothing beside the model
        f"from transformers import AutoTokenizer, pipeline\nAutoTokenizer.from_pretrained('a/b')\npipeline(model='{LLAMA}')\n",
    ],
)
def test_a_model_is_named_without_a_load(tmp_path: Path, text: str) -> None:
    assert stated(tmp_path, text) == {"model.id": LLAMA}


def test_the_model_that_is_loaded_is_the_model_of_the_run(tmp_path: Path) -> None:
    load = "from transformers import AutoConfig, AutoModelForCausalLM\nAutoConfig.from_pretrained('a/b')\n"
    assert stated(tmp_path, f"{load}AutoModelForCausalLM.from_pretrained('{LLAMA}')\n") == {"model.id": LLAMA}


def test_two_pipelines_are_no_one_model(tmp_path: Path) -> None:
    assert stated(tmp_path, f"from transformers import pipeline\npipeline('a', 'a/b')\npipeline('b', '{LLAMA}')\n") == {}


def test_a_folder_elsewhere_that_is_called_after_a_model(tmp_path: Path) -> None:
    text = "from transformers import AutoModelForCausalLM\nAutoModelForCausalLM.from_pretrained('/data/Qwen2.5-7B-Instruct-AWQ')\n"
    assert stated(tmp_path, text) == {
        "model.type": "qwen2",
        "model.remote_code": False,
        "model.own_config": False,
        "model.tokenizer_remote_code": False,
        "model.quant_method": "awq",
        "model.parameters": 6580000000,
    }


@pytest.mark.parametrize(
    "text",
    [
        f"from huggingface_hub import snapshot_download\nmade(snapshot_download('{LLAMA}', local_dir='m'))\n",
        f"import huggingface_hub\nmade(huggingface_hub.snapshot_download(repo_id='{LLAMA}'))\n",
        f"from modelscope import snapshot_download\npath = snapshot_download(model_id='{LLAMA}')\nmade(path)\n",
        f"from modelscope.hub.snapshot_download import snapshot_download\nNAME = '{LLAMA}'\npath = snapshot_download(NAME)\nmade(path)\n",
    ],
)
def test_a_model_that_is_downloaded_first(tmp_path: Path, text: str) -> None:
    text = text.replace("made(", "AutoModelForCausalLM.from_pretrained(")
    assert stated(tmp_path, f"from transformers import AutoModelForCausalLM\n{text}") == {"model.id": LLAMA}


def test_a_download_of_data_is_no_model(tmp_path: Path) -> None:
    text = f"from huggingface_hub import snapshot_download\npath = snapshot_download('{LLAMA}', repo_type='dataset')\n"
    assert stated(tmp_path, f"{text}from transformers import AutoModel\nAutoModel.from_pretrained(path)\n") == {}
