"""What `diagnose` says of attributes that most classes lost, of names that hide, of folders that are not there, and of conditions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

MASKED = "\n".join(f"class {name}Model:\n    def _prepare_decoder_mask(self): pass" for name in ("A", "B", "C", "D", "E", "Our"))
TRANSFORMERS = {
    release: {
        "transformers/__init__.py": "from .trainer import Trainer\n",
        "transformers/trainer.py": "class Trainer:\n    pass\n",
        "transformers/models/some/modeling_some.py": text,
        "transformers/processing_utils.py": processing,
    }
    for release, text, processing in (
        ("4.16.0", MASKED, "class ProcessorMixin:\n    pass\n"),
        ("4.34.1", MASKED, "class ProcessorMixin:\n    def __init__(self, **known):\n        [setattr(self, one, 1) for one in known]\n"),
        (
            "4.57.1",
            "class AModel:\n    def _prepare_decoder_mask(self): pass\n",
            "class ProcessorMixin:\n    def __init__(self, **known):\n        self.chat_template = 1\n",
        ),
    )
}
TRL = {
    release: {"trl/__init__.py": "class SFTTrainer:\n    def __init__(self, train_dataset=None): pass\n"} for release in ("0.7.0", "0.9.0")
}
SETUPTOOLS = {
    "81.0.0": {"pkg_resources/__init__.py": "", "setuptools/__init__.py": ""},
    "82.0.1": {"setuptools/__init__.py": ""},
}
DEEPSPEED = {"0.15.0": {"deepspeed/zero.py": "class ZeroParamStatus:\n    AVAILABLE = 1\n"}}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(
        tmp_path_factory.mktemp("atlas"), {"transformers": TRANSFORMERS, "deepspeed": DEEPSPEED, "trl": TRL, "setuptools": SETUPTOOLS}
    ) as atlas:
        yield atlas


def first_of(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str) -> dict[str, Any]:
    return findings(capsys, tmp_path, log)[0]


def test_what_most_classes_of_a_package_lost_is_of_the_releases_before(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, "AttributeError: 'TheirModel' object has no attribute '_prepare_decoder_mask'")
    assert "transformers gave it to 6 classes until 4.34.1 and gives it to 1 since" in told["detail"]
    assert told["fixes"][0]["pins"] == {"transformers": "==4.34.1"}


def test_no_release_is_offered_where_most_make_names_as_they_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (told,) = findings(capsys, tmp_path, "AttributeError: 'PhiProcessor' object has no attribute 'chat_template'")
    assert not any(fix.get("pins") for fix in told["fixes"])


def test_what_every_release_has_and_was_not_found_is_told_as_hidden(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, "ImportError: cannot import name 'Trainer' from 'transformers'")
    assert told["detail"].startswith("transformers has Trainer in all releases that were read, and it was not found: an older")
    assert told["fixes"][0]["note"].startswith("python -c 'import transformers; print(transformers.__file__")


def test_a_path_that_is_no_folder_here_is_told_as_that(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '~/models/x'. "
        "Use `repo_type` argument if needed."
    )
    told = first_of(capsys, tmp_path, log)
    assert told["rule"] == "error-hub-refuses"
    assert told["detail"].startswith("~/models/x is taken for a name on the hub: there is no such folder here: Python does not write out")
    assert told["fixes"][0]["note"] == "the whole path of a folder that is there"


def test_an_adapter_of_another_rank_is_told_by_its_rank_and_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "RuntimeError: Error(s) in loading state_dict for PeftModelForCausalLM:\n\tsize mismatch for "
        "base_model.model.h.0.attn.lora_A.default.weight: "
        "copying a param with shape torch.Size([32, 1024]) from checkpoint, the shape in current model is torch.Size([16, 1024])."
    )
    told = [one for one in findings(capsys, tmp_path, log) if one["status"] == "matched"]
    assert len(told) == 1


def test_the_condition_of_an_assertion_names_whose_class_it_asks_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "    assert param.ds_status == ZeroParamStatus.INFLIGHT, param.ds_summary()\nAssertionError: {'id': 853, 'status': 'NO'}"
    told = first_of(capsys, tmp_path, log)
    assert (told["rule"], told["packages"]) == ("error-raised-by-package", ["deepspeed"])


def test_a_name_of_another_package_is_imported_from_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, "ImportError: cannot import name 'SFTTrainer' from 'transformers'")
    assert told["fixes"][0]["note"] == "from trl import SFTTrainer"
    assert "trl has one" in told["detail"]
    assert not any(fix.get("pins") for fix in told["fixes"])


def test_a_package_whose_own_file_imports_what_it_lacks_is_of_two_releases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/x/site-packages/transformers/trainer.py", line 40, in <module>\n'
        "    from .processing_utils import ProcessorKwargs\n"
        "ImportError: cannot import name 'ProcessorKwargs' from 'transformers.processing_utils' (/x/site-packages/transformers/p.py)"
    )
    told = first_of(capsys, tmp_path, log)
    assert told["detail"].startswith(
        "The files of transformers are of two releases: its own transformers/trainer.py:40, in <module> imports"
    )
    assert told["fixes"][0]["note"].startswith("pip install --force-reinstall --no-deps transformers, and start Python")


def test_a_model_type_of_no_release_is_told_as_that(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ValueError: The checkpoint you are trying to load has model type `gr00t_n9` but Transformers does not recognize this architecture."
    )
    told = first_of(capsys, tmp_path, log)
    assert told["detail"].startswith("No release of transformers that was read knows the model type gr00t_n9")


def test_a_module_that_a_package_gave_up_is_offered_in_the_last_release_that_has_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/x/site-packages/wandb/sdk.py", line 3, in <module>\n'
        "    import pkg_resources\nModuleNotFoundError: No module named 'pkg_resources'"
    )
    told = first_of(capsys, tmp_path, log)
    assert told["rule"] == "error-module-missing"
    assert told["fixes"][0]["pins"] == {"setuptools": "==81.0.0"}


def test_a_configuration_of_the_users_own_is_not_that_of_peft(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (told,) = findings(capsys, tmp_path, "TypeError: FinetuningConfig.__init__() got an unexpected keyword argument 'combine'")
    assert (told["rule"], told["status"], told["packages"]) == ("error-of-own-code", "possible", [])


def test_a_library_that_an_error_tells_of_is_told_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/x/site-packages/flash_attn/ops/layer_norm.py", line 7, in <module>\n'
        "    import dropout_layer_norm\nImportError: libtorch_cuda_cu.so: cannot open shared object file: No such file or directory"
    )
    assert [one["rule"] for one in findings(capsys, tmp_path, log)] == ["error-shared-library-missing"]


def test_a_symptom_counts_where_what_is_stated_requires_its_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "transformers==4.43.4\nException: data did not match any variant of untagged enum ModelWrapper at line 1251012 column 3"
    assert [one["rule"] for one in findings(capsys, tmp_path, log)] == ["tokenizers-model-wrapper-merges"]


def test_an_argument_that_nobody_takes_is_left_out_or_was_mistyped(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = first_of(capsys, tmp_path, "TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'train_datasets'")
    assert told["fixes"][0]["note"] == "train_dataset in place of train_datasets"
    told = first_of(capsys, tmp_path, "TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'frobnicate'")
    assert told["fixes"][0]["note"] == "leave frobnicate out, or take the fork that it was written for"


def lacks_pyairports(package: str) -> str:
    return (
        "INFO 10-20 10:00:00 api_server.py:528] vLLM API server version 0.6.3\n"
        "Traceback (most recent call last):\n"
        f'  File "/usr/lib/python3.10/site-packages/{package}/airports.py", line 4, in <module>\n'
        "    from pyairports.airports import AIRPORT_LIST\n"
        "ModuleNotFoundError: No module named 'pyairports'"
    )


def test_a_package_that_is_empty_on_the_index_is_not_advised(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rules = [one["rule"] for one in findings(capsys, tmp_path, lacks_pyairports("outlines"))]
    assert rules == ["vllm-outlines-needs-pyairports"]
    told = {one["rule"]: json.dumps(one) for one in findings(capsys, tmp_path, lacks_pyairports("lmdeploy"))}
    assert "from its repository" in told["error-package-not-installed"]
