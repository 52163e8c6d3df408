"""Whose an error is that several packages could have had: the file that asks, the class that is named, the torch that is stated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.logs.libraries import package_of_file
from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

ARGUMENTS = "from dataclasses import dataclass\n@dataclass\nclass TrainingArguments:\n    output_dir: str\n    per_device_train_batch_size: int = 8\n"
ATLAS = {
    "transformers": {
        "4.36.0": {"transformers/__init__.py": "", "transformers/training_args.py": ARGUMENTS},
        "4.46.0": {"transformers/__init__.py": "", "transformers/training_args.py": ARGUMENTS + "    eval_on_start: bool = False\n"},
    },
    "setfit": {
        "1.0.1": {"setfit/__init__.py": "", "setfit/args.py": "class TrainingArguments:\n    output_dir: str = ''\n"},
        "1.1.0": {"setfit/__init__.py": "", "setfit/args.py": "class TrainingArguments:\n    eval_on_start: bool = False\n"},
    },
    "ray": {"2.9.0": {"ray/__init__.py": "", "ray/serve.py": "class ServeDeploySchema: pass\n"}},
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


@pytest.mark.parametrize(
    ("path", "package"),
    [
        (".../torchvision/_C.so", "torchvision"),
        ("<env>/torchtext/lib/libtorchtext.so", "torchtext"),
        ("libtorchaudio.so", "torchaudio"),
        ("/opt/lib/libtorch_cuda.so", "torch"),
        ("libtorch.so", "torch"),
        ("/usr/lib/x86_64-linux-gnu/libm.so.6", ""),
    ],
)
def test_a_compiled_file_is_of_the_package_in_its_path_or_its_name(path: str, package: str) -> None:
    assert package_of_file(path) == package


@pytest.mark.parametrize("line", ["TypeError: unhashable type: 'list'", "ZeroDivisionError: division by zero"])
def test_what_python_says_itself_is_no_package_s_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str) -> None:
    assert findings(capsys, tmp_path, line) == []


def test_weights_of_another_model_accuse_nobody(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (found,) = findings(capsys, tmp_path, "RuntimeError: Error(s) in loading state_dict for Wav2Vec2ForCTC:")
    assert (found["rule"], found["packages"]) == ("error-of-the-run", [])


def test_a_class_whose_fields_are_refused_tells_whose_they_are(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (found,) = findings(capsys, tmp_path, "pydantic.error_wrappers.ValidationError: 2 validation errors for ServeDeploySchema")
    assert (found["rule"], found["packages"][0]) == ("error-configuration-refused", "ray")


def test_a_class_of_the_same_name_in_another_stated_package_is_the_one_that_lacks_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    error = "AttributeError: 'TrainingArguments' object has no attribute 'eval_on_start'"
    found = findings(capsys, tmp_path, error, NOTHING + '[packages]\ntransformers = "4.46.0"\nsetfit = "1.0.1"\n')[0]
    assert set(found["packages"]) == {"transformers", "setfit"}
    assert "setfit 1.0.1 has no" in found["detail"]
    assert {name for fix in found["fixes"] for name in fix.get("pins", {})} == {"transformers", "setfit"}


def test_keys_that_every_release_takes_were_given_to_a_command_that_reads_none_of_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    error = "ValueError: Some keys are not used by the HfArgumentParser: ['output_dir', 'per_device_train_batch_size', 'warmup_of_mine']"
    (found,) = findings(capsys, tmp_path, error)
    assert (found["rule"], found["packages"]) == ("error-configuration-refused", [])
    assert found["edge"] == "code:training-arguments"


def test_what_was_built_for_another_torch_is_moved_to_what_was_built_for_the_stated_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    error = "ImportError: .../torchvision/_C.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    found = findings(capsys, tmp_path, error, NOTHING + '[packages]\ntorch = "2.4.1"\ntorchvision = "0.20.0"\n')[0]
    assert found["fixes"][0]["pins"] == {"torchvision": "==0.19.1"}
    error = "ImportError: .../sgl_kernel/common_ops.abi3.so: undefined symbol: _ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
    found = findings(capsys, tmp_path, error, NOTHING + '[packages]\ntorch = "2.8.0"\n')[0]
    assert found["fixes"][0]["pins"]["sgl-kernel"].startswith("==0.3.")
