"""The commands that a script starts by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import FactValue

from .situations import read


def stated(tmp_path: Path, text: str) -> dict[str, FactValue]:
    return {fact.name: fact.value for fact in read(tmp_path, text).facts}


def uses(tmp_path: Path, text: str) -> frozenset[object]:
    found = stated(tmp_path, text)["plan.code_uses"]
    assert isinstance(found, tuple)
    return frozenset(found)


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\nsubprocess.run(['llamafactory-cli', 'train', 'p.yaml'], check=True)\n",
        "import subprocess, sys\nsubprocess.check_call(['llamafactory-cli', 'train', sys.argv[1]])\n",
        "import os\nos.system('CUDA_VISIBLE_DEVICES=0 llamafactory-cli train p.yaml')\n",
    ],
)
def test_a_framework_that_a_script_starts(tmp_path: Path, text: str) -> None:
    assert stated(tmp_path, text)["plan.trainer"] == "llamafactory"
    assert "$ llamafactory-cli train" in uses(tmp_path, text)


def test_a_variable_before_a_command_is_that_of_the_run(tmp_path: Path) -> None:
    text = "import os\nos.system('DISABLE_VERSION_CHECK=1 llamafactory-cli train p.yaml')\n"
    assert "env:DISABLE_VERSION_CHECK=1" in uses(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "import subprocess\nsubprocess.run(['llamafactory-cli', 'train', 'p.yaml'], env=variables)\n",
        "import subprocess\nsubprocess.run([program, 'train', 'p.yaml'])\n",
        "import os\nos.system(f'{tool} train p.yaml')\n",
    ],
)
def test_a_command_whose_program_or_variables_are_not_seen(tmp_path: Path, text: str) -> None:
    assert "plan.trainer" not in stated(tmp_path, text)


def test_a_class_that_modelscope_hands_on_is_that_of_transformers(tmp_path: Path) -> None:
    found = uses(tmp_path, "from modelscope import AutoModelForCausalLM, MsDataset\nAutoModelForCausalLM.from_pretrained('a/b')\n")
    of_both = [f"{package}.AutoModelForCausalLM" for package in ("modelscope", "transformers")]
    assert {*of_both, "transformers.AutoModelForCausalLM.from_pretrained(0=a/b)"} <= found
    assert "transformers.MsDataset" not in found
