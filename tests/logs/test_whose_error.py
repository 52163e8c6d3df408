"""Whose an error is that several packages could have had: the file that asks, the class that is named, the torch that is stated."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.app.whole_pins import as_whole
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.logs.libraries import package_of_file
from envdoctor.remedies.cures import Cure
from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

ARGUMENTS = (
    "from dataclasses import dataclass\n@dataclass\nclass TrainingArguments:\n    output_dir: str\n"
    "    per_device_train_batch_size: int = 8\n"
)
ATLAS = {
    "accelerate": {"0.8.0": {"accelerate/__init__.py": "def init_empty_weights(): pass\n"}},
    "peft": {"0.1.0": {"peft/__init__.py": "class LoraConfig: pass\n"}},
    "torch": {"1.13.1": {"torch/__init__.py": "", "torch/_six.py": "inf = 1\n"}, "2.0.1": {"torch/__init__.py": ""}},
    "deepspeed": {"0.8.0": {"deepspeed/__init__.py": "from torch._six import inf\n"}},
    "transformers": {
        "4.36.0": {"transformers/__init__.py": "", "transformers/training_args.py": ARGUMENTS},
        "4.46.0": {"transformers/__init__.py": "", "transformers/training_args.py": ARGUMENTS + "    eval_on_start: bool = False\n"},
    },
    "setfit": {
        "1.0.1": {"setfit/__init__.py": "", "setfit/args.py": "class TrainingArguments:\n    output_dir: str = ''\n"},
        "1.1.0": {"setfit/__init__.py": "", "setfit/args.py": "class TrainingArguments:\n    eval_on_start: bool = False\n"},
    },
    "ray": {
        "2.9.0": {"ray/__init__.py": "", "ray/schema.py": "class ServeDeploySchema: pass\n"},
        "2.10.0": {"ray/__init__.py": "", "ray/schema.py": "class ServeDeploySchema: pass\n", "ray/data.py": "class Ragged: pass\n"},
    },
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
    (note,) = findings(capsys, tmp_path, line)
    assert (note["packages"], note["severity"], note["status"]) == ([], "note", "possible")


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


def test_an_installer_s_contradiction_is_not_moved_to_a_third_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "The conflict is caused by:\n    The user requested fsspec==2024.2.0\n    datasets 2.16.1 depends on fsspec<=2023.10.0\n"
        "    gcsfs 2024.2.0 depends on fsspec==2024.2.0"
    )
    (found,) = [one for one in findings(capsys, tmp_path, log) if one["rule"] == "requirements-contradict"]
    pins = [fix["pins"] for fix in found["fixes"] if fix.get("pins")]
    assert pins
    assert all("fsspec" not in one or one["fsspec"] == "==2024.2.0" for one in pins)


@pytest.mark.parametrize(
    ("pins", "whole"),
    [
        ({"tokenizers": "==0.15.0"}, {"tokenizers": "==0.15.0", "transformers": "==4.35.2"}),
        ({"safetensors": "==0.4.5"}, {"safetensors": "==0.4.5"}),
    ],
)
def test_what_has_to_follow_a_pin_is_pinned_beside_it(pins: dict[str, str], whole: dict[str, str]) -> None:
    stated = Facts({"packages.transformers": Fact("packages.transformers", exact("4.34.0"), Origin("a log"))})
    (cure,) = as_whole([Cure("pin", "", pins, {})], stated)
    assert dict(cure.pins) == whole


def test_a_release_that_was_withdrawn_is_told_with_who_asks_for_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "Because transformers==4.46.0 was yanked (reason: it does not work with 3.8) and mytrainer==1.0 depends on transformers==4.46.0,\n"
        "we can conclude that mytrainer==1.0 cannot be used."
    )
    found = findings(capsys, tmp_path, log)[0]
    assert "transformers" in found["packages"]
    assert {"transformers": "==4.46.1"} in [fix.get("pins") for fix in found["fixes"]]


def test_a_resolver_s_sentences_without_their_head_are_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "Because trl==0.12.0 depends on numpy<2 and datasets==4.0.0 depends on numpy>=2\nyour workspace's requirements are unsatisfiable"
    assert findings(capsys, tmp_path, log)[0]["edge"] == "datasets:numpy"


def test_a_build_whose_own_requirement_has_no_file_says_which(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "Collecting detectron2\n  Downloading detectron2-0.6.tar.gz (540 kB)\n  error: subprocess-exited-with-error\n"
        "  × pip subprocess to install build dependencies did not run successfully.\n"
        "      ERROR: Could not find a version that satisfies the requirement jaxlib==0.4.7 (from versions: 0.4.26, 0.4.28)\n"
        "      ERROR: No matching distribution found for jaxlib==0.4.7"
    )
    assert any({"detectron2", "jaxlib"} <= set(one["packages"]) for one in findings(capsys, tmp_path, log))


def test_vllm_s_older_way_to_begin_its_lines_hides_no_frame(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "EngineCore hit an exception: Traceback (most recent call last):\n"
        'ERROR 03-02 11:09:41 core.py:290]   File "/opt/v/lib/python3.12/site-packages/xgrammar/matcher.py", line 12, in fill'
    )
    (found,) = findings(capsys, tmp_path, log)
    assert found["packages"] == ["xgrammar"]


def test_numpy_s_own_words_accuse_no_other_package(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "A module that was compiled using NumPy 1.x cannot be run in\nNumPy 2.2.1 as it may crash. To support both 1.x and 2.x\n"
        "versions of NumPy, modules must be compiled with NumPy 2.0."
    )
    first = findings(capsys, tmp_path, log, NOTHING + '[packages]\nnumpy = "2.2.1"\n')[0]
    assert (first["rule"], first["packages"]) == ("error-compiled-for-another-numpy", ["numpy"])


def test_a_release_that_a_message_tells_is_the_stated_package_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    facts = NOTHING + '[packages]\nauto-gptq = "0.4.1"\npeft = "0.9.0"\n'
    found = findings(capsys, tmp_path, "ImportError: Found version 0.4.1, but only versions above 0.6.0 are supported", facts)[0]
    assert (found["rule"], found["packages"][0]) == ("error-demands-another-release", "auto-gptq")


def test_a_name_that_is_missing_in_code_that_unsloth_compiles_is_unsloth_s(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/v/site-packages/transformers/trainer.py", line 1201, in train\n'
        "    self.accelerator.backward(loss)\n  File \"<string>\", line 40, in backward\nNameError: name 'is_xpu_available' is not defined"
    )
    found = findings(capsys, tmp_path, log, NOTHING + '[packages]\naccelerate = "1.9.0"\nunsloth = "2025.7.1"\n')[0]
    assert (found["rule"], found["packages"]) == ("error-name-undefined", ["unsloth", "accelerate"])


def test_what_fails_while_an_object_is_taken_down_is_not_what_ended_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    site = "/v/lib/python3.10/site-packages"
    log = (
        f'Traceback (most recent call last):\n  File "{site}/vllm/engine.py", line 3, in build\n    load()\n'
        "ValueError: The load was refused by the engine\n"
        "Exception ignored in: <function Core.__del__ at 0x7f>\nTraceback (most recent call last):\n"
        f'  File "{site}/ray/core.py", line 9, in __del__\n'
        "    self.handle.close()\nAttributeError: 'Core' object has no attribute 'handle'"
    )
    assert findings(capsys, tmp_path, log)[0]["packages"] == ["vllm"]


def test_a_class_that_came_with_the_stated_release_tells_before_which_code_was_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    error = "TypeError: stack(): argument 'tensors' (position 1) must be tuple of Tensors, not Ragged"
    found = findings(capsys, tmp_path, error, NOTHING + '[packages]\nray = "2.10.0"\n')[0]
    assert (found["rule"], found["status"]) == ("error-raised-by-package", "possible")
    assert found["fixes"][0]["pins"] == {"ray": "==2.9.0"}


def test_a_loss_without_a_graph_is_no_adapter_s_where_nobody_speaks_of_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
    found = findings(capsys, tmp_path, error, NOTHING + '[packages]\ntransformers = "4.40.0"\n')[0]
    assert (found["rule"], found["packages"]) == ("error-of-the-run", [])


def test_frames_of_a_server_do_not_say_whose_its_application_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    site = "/v/lib/python3.11/site-packages"
    log = (
        f'Traceback (most recent call last):\n  File "{site}/uvicorn/protocols/http/h11_impl.py", line 412, in run_asgi\n'
        f'    result = await app()\n  File "{site}/starlette/routing.py", line 73, in app\n    response = await f(request)\n'
        "TypeError: argument of type 'bool' is not iterable"
    )
    assert findings(capsys, tmp_path, log)[0]["rule"] == "gradio-before-5-22-pydantic-2-11"


def test_an_import_of_other_names_than_a_rule_s_package_takes_is_not_that_package_s(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    six = "ModuleNotFoundError: No module named 'torch._six'"
    first = findings(capsys, tmp_path, f"    from torch._six import container_abcs\n{six}", NOTHING + '[packages]\ntorch = "2.1.0"\n')[0]
    assert (first["rule"], first["packages"][0]) == ("error-module-missing", "torch")


def test_a_notebook_s_traceback_without_its_end_tells_by_its_head_and_the_arrow(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ImportError                               Traceback (most recent call last)\n"
        "/content/project/metrics.py in <module>\n      3 import numpy as np\n----> 4 from datasets import load_metric\n      5 import json"
    )
    first = findings(capsys, tmp_path, log)[0]
    assert first["packages"][0] == "datasets"
    log = log.replace("ImportError       ", "RuntimeError      ")
    assert findings(capsys, tmp_path, log) == []


def test_an_error_that_only_tells_of_another_one_leaves_the_word_to_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    site = "/v/lib/python3.11/site-packages/datasets"
    log = (
        f'Traceback (most recent call last):\n  File "/job/prepare.py", line 3, in <module>\n    load()\n'
        f'  File "{site}/packaged_modules/parquet/parquet.py", line 86, in _generate_tables\n    for one in file.iter_batches():\n'
        "OverflowError: the batch is too large for this reader\n\n"
        "The above exception was the direct cause of the following exception:\n\n"
        f'Traceback (most recent call last):\n  File "{site}/builder.py", line 1888, in _prepare_split_single\n'
        '    raise DatasetGenerationError("An error occurred while generating the dataset") from e\n'
        "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset"
    )
    (found,) = findings(capsys, tmp_path, log)
    assert (found["rule"], found["packages"]) == ("error-raised-by-package", ["datasets"])
    assert "parquet.py:86" in found["detail"]


def test_a_name_that_a_package_does_not_import_is_not_looked_for_in_the_script_that_called_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/job/sft.py", line 8, in <module>\n    make()\n'
        '  File "/v/lib/python3.10/site-packages/trl/trainer/utils.py", line 700, in make\n    return LoraConfig()\n'
        "NameError: name 'LoraConfig' is not defined"
    )
    found = findings(capsys, tmp_path, log)[0]
    assert found["packages"] == ["peft", "trl"]
    assert "sft.py" not in found["detail"]


def test_two_lines_of_what_releases_require_are_a_contradiction_without_an_installer_s_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = "optimum==1.18.0 depends on transformers>=4.26.0,<4.40.0\ntrl==0.12.1 depends on transformers>=4.46.0"
    found = findings(capsys, tmp_path, log)[0]
    assert (found["rule"], found["edge"]) == ("requirements-contradict", "trl:transformers")
    agree = "peft==0.12.0 depends on transformers\ntrl==0.12.1 depends on transformers>=4.46.0\naccelerate==1.0.0 depends on numpy>=1.17"
    assert findings(capsys, tmp_path, agree) == []


def test_python_s_words_of_an_import_are_nobody_s_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = findings(capsys, tmp_path, "ImportError: cannot import name 'Thing' from 'flavoured.soup' (/srv/flavoured/soup.py)")
    assert [one["rule"] for one in found if one["rule"] == "error-said-by-package"] == []


def test_a_vocabulary_s_mismatch_is_told_where_the_line_was_cut(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = (
        "RuntimeError: Error(s) in loading state_dict for OPTForCausalLM:\n"
        "\tsize mismatch for lm_head.weight: copying a param with shape torch.Size([50265, 768])"
    )
    found = findings(capsys, tmp_path, error)[0]
    assert (found["rule"], found["packages"]) == ("error-tensors-disagree", [])
    assert "resize_token_embeddings(50265)" in json.dumps(found)


def test_a_rule_of_one_release_that_nobody_states_stands_behind_what_is_computed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/v/lib/python3.10/site-packages/transformers/modeling_utils.py", line 4100, in load\n'
        "    with init_empty_weights():\nNameError: name 'init_empty_weights' is not defined"
    )
    first = findings(capsys, tmp_path, log)[0]
    assert (first["rule"], first["packages"][0]) == ("error-name-undefined", "accelerate")


def test_a_rule_of_one_release_stands_first_where_the_computed_package_is_one_of_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/v/lib/python3.11/site-packages/peft/tuners/oft/layer.py", line 3, in <module>\n'
        "    from transformers.modeling_layers import GradientCheckpointingLayer\n"
        "ModuleNotFoundError: No module named 'transformers.modeling_layers'"
    )
    assert findings(capsys, tmp_path, log)[0]["rule"] == "peft-0-18-0-modeling-layers"
