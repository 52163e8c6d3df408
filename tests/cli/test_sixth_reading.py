"""What the sixth reading of public projects found told falsely, or to nobody's use."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.cli import main

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

UV_LOCK = """version = 1
requires-python = ">=3.11"
[[package]]
name = "here"
version = "0"
source = { virtual = "." }
dependencies = [{ name = "huggingface-hub" }]
[package.dev-dependencies]
train = [{ name = "transformers" }]
[[package]]
name = "huggingface-hub"
version = "1.25.1"
source = { registry = "https://pypi.org/simple" }
[[package]]
name = "transformers"
version = "5.6.0"
source = { registry = "https://pypi.org/simple" }
"""
POETRY_LOCK = """[[package]]
name = "huggingface-hub"
version = "1.25.1"
groups = ["main"]
[[package]]
name = "transformers"
version = "5.6.0"
groups = ["train"]
[metadata]
lock-version = "2.1"
python-versions = ">=3.11"
"""
PDM_LOCK = """[metadata]
groups = ["default", "train"]
requires_python = ">=3.11"
[[package]]
name = "huggingface-hub"
version = "1.25.1"
groups = ["default"]
[[package]]
name = "transformers"
version = "5.6.0"
groups = ["train"]
"""
PYLOCK = """lock-version = "1.0"
dependency-groups = ["train"]
[[packages]]
name = "huggingface-hub"
version = "1.25.1"
[[packages]]
name = "transformers"
version = "5.6.0"
marker = "'train' in dependency_groups"
"""
MANIFEST = """[project]
name = "here"
version = "0"
dependencies = ["huggingface-hub==1.25.1"]
[project.optional-dependencies]
train = ["transformers==5.6.0"]
"""
EXTRAS = """[project]
name = "here"
version = "0"
[project.optional-dependencies]
onnx = ["onnxruntime", "tokenizers>=0.23.1"]
torch = ["torch", "transformers==4.57.1"]
"""
# transformers 4.53.3 refuses huggingface-hub 1.25.1 at import, and 4.57.1 tokenizers 0.23.1.
REFUSES = "huggingface-hub"


def check(tmp_path: Path, name: str, text: str, stack: str, kind: str = "stack.toml") -> int:
    (tmp_path / kind).write_text(stack)
    (tmp_path / name).write_text(text)
    return main(["check", str(tmp_path / name), "--facts", str(tmp_path / kind)])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("uv.lock", UV_LOCK),
        ("poetry.lock", POETRY_LOCK),
        ("pdm.lock", PDM_LOCK),
        ("pylock.toml", PYLOCK),
        ("pyproject.toml", MANIFEST),
    ],
)
@pytest.mark.large
def test_a_choice_is_not_put_beside_a_package_that_the_other_choices_pin_otherwise(
    tmp_path: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, name, text, '[packages]\ntransformers = "4.53.3"\n') == 0
    out = capsys.readouterr().out
    assert "its extras and groups that have transformers ask for 5.6.0, and the stack has 4.53.3" in " ".join(out.split())
    # A lock that has transformers in no choice says nothing else of it.
    alone = text.replace("transformers", "peft").replace("5.6.0", "0.19.0")
    assert check(tmp_path, name, alone, '[packages]\ntransformers = "4.53.3"\n') == 1
    assert REFUSES in capsys.readouterr().out


def test_an_extra_of_which_the_stack_has_nothing_is_not_installed_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch = '[packages]\ntorch = "2.7.1"\ntransformers = "4.57.1"\n'
    assert check(tmp_path, "pyproject.toml", EXTRAS, torch) == 0
    assert "it has extras or groups that are not installed in this stack" in " ".join(capsys.readouterr().out.split())
    # Where the stack has of both, both are there.
    assert check(tmp_path, "pyproject.toml", EXTRAS, f'{torch}onnxruntime = "1.20.0"\n') == 1
    assert "tokenizers" in capsys.readouterr().out


@pytest.mark.parametrize("installed", ["", "torchvision==0.20.0\n"])
def test_an_extra_that_a_complete_list_lacks_is_not_installed(tmp_path: Path, installed: str, capsys: pytest.CaptureFixture[str]) -> None:
    extras = MANIFEST.replace("huggingface-hub==1.25.1", "torch").replace("transformers==5.6.0", "torchvision==0.20.0")
    check(tmp_path, "pyproject.toml", extras, f"torch==2.7.1\nfilelock==3.20.0\n{installed}", "freeze.txt")
    out = capsys.readouterr().out
    assert ("extra train" in " ".join(out.split())) == bool(installed)
    # What the list shows without the extra is told once.
    assert out.count("[torchvision-built-for-another-torch]") == bool(installed)


CONDA = """channels: [conda-forge]
dependencies:
  - python=3.9
  - pip:
      - transformers{}
"""


@pytest.mark.parametrize(("bound", "status"), [(">=4.40,<4.58", 0), (">=4.40", 1)])
def test_the_python_of_a_conda_file_that_excludes_the_stack_is_not_held_against_it(tmp_path: Path, bound: str, status: int) -> None:
    stack = '[packages]\ntransformers = "5.23.0"\n'
    assert check(tmp_path, "environment.yml", CONDA.format(bound), stack) == status


def test_what_no_release_took_has_no_release_for_its_cure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = 'TrainingArguments(output_dir="o", predict_with_generate=True, warmup_ratio=0.1)'
    script = f"from transformers import Trainer, TrainingArguments\nTrainer(model=None, args={call}).train()\n"
    assert check(tmp_path, "train.py", script, '[packages]\ntransformers = "5.23.0"\n') == 1
    out = capsys.readouterr().out
    assert "transformers-5-15-warmup-ratio-removed" in out
    assert "A script uses what the stated release does not have" not in out
