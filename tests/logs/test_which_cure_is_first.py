"""What is advised first, where a message states both sides of what does not go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.remedies.lines import later_in_line
from envdoctor.world.releases import release_texts
from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings


def first(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str = 'os = "linux"\n') -> tuple[str, list[str], str, str]:
    told: dict[str, Any] = findings(capsys, tmp_path, log, facts)[0]
    return told["rule"], told["packages"], told["detail"], told["fixes"][0]["note"]


BROKEN = """\
      RuntimeError:
      The detected CUDA version (12.2) mismatches the version that was used to compile
      PyTorch (11.3). Please make sure to use the same CUDA versions.
      [end of output]
  ERROR: Failed building wheel for flash-attn
ERROR: Could not build wheels for flash-attn, which is required to install pyproject.toml-based projects"""
TUPLE = (
    "RuntimeError: ('The detected CUDA version (%s) mismatches the version that was used to compilePyTorch (%s). "
    "Please make sure to use the same CUDA versions.', '11.3', '12.8')"
)


@pytest.mark.parametrize(
    ("log", "packages", "detail", "fix"),
    [
        (
            BROKEN,
            ["flash-attn", "torch"],
            "flash-attn is built with the CUDA toolkit 12.2, and torch is built for CUDA 11.3",
            "install the CUDA toolkit 11.3 beside it and set CUDA_HOME to its folder; or pip install torch --index-url "
            "https://download.pytorch.org/whl/cu121 (built for CUDA 12.1: torch 2.1 to 2.5); then flash-attn anew with "
            "--no-build-isolation",
        ),
        (
            TUPLE,
            ["torch"],
            "An extension is built with the CUDA toolkit 11.3, and torch is built for CUDA 12.8",
            "install the CUDA toolkit 12.8 beside it and set CUDA_HOME to its folder; or pip install torch --index-url "
            "https://download.pytorch.org/whl/cu113 (built for CUDA 11.3: torch 1.10 to 1.12)",
        ),
    ],
)
def test_a_toolkit_and_a_torch_of_two_cudas_are_brought_together_by_their_numbers(
    log: str, packages: list[str], detail: str, fix: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rule, found, told, note = first(capsys, tmp_path, log)
    assert (rule, found, note) == ("error-build-failed", packages, fix)
    assert told.startswith(detail)


def test_of_two_gpus_one_is_made_visible(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1!"
    rule, _, detail, note = first(capsys, tmp_path, log)
    assert rule == "error-tensors-disagree"
    assert (
        detail
        == "One tensor is on cuda:0, another on cuda:1: the run saw several GPUs, and the model or what it works on was spread over them"
    )
    assert note.startswith("CUDA_VISIBLE_DEVICES=0 before the command")


def test_a_half_on_the_gpu_beside_a_half_on_the_cpu_is_moved_and_not_cast(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.HalfTensor) should be the same"
    _, _, detail, note = first(capsys, tmp_path, log)
    assert detail.endswith("the type is the same and the device is not: the weights are on the CPU, the others on the GPU")
    assert note == "model.to(device) after the model (or the pipeline) is made, and inputs.to(device) with the same device"


def test_windows_without_memory_is_no_missing_dll_in_any_language(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = r'OSError: [WinError 1455] 页面文件太小，无法完成操作。 Error loading "D:\torch\lib\cublas64_11.dll" or one of its dependencies.'
    _, _, detail, note = first(capsys, tmp_path, log, 'os = "windows"\n')
    assert detail.startswith("Windows has no memory left to promise")
    assert note.startswith("a larger page file")


def test_what_is_not_there_is_installed_in_its_newest_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with atlas_of(tmp_path, {"accelerate": {"0.8.0": {"accelerate/__init__.py": "def init_empty_weights():\n    pass\n"}}}):
        told = findings(capsys, tmp_path, "NameError: name 'init_empty_weights' is not defined")
    pin = next(one for one in told if one["rule"] == "error-name-undefined")["fixes"][0]["pins"]["accelerate"]
    assert tuple(int(part) for part in pin.removeprefix("==").split(".")) >= (1, 15, 0)


def test_a_quote_that_a_shell_escaped_is_a_quote(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, "ModuleNotFoundError: No module named 'bitsandbytes\\'")
    plain = findings(capsys, tmp_path, "ModuleNotFoundError: No module named 'bitsandbytes'")
    assert [(one["rule"], one["packages"]) for one in told] == [(one["rule"], one["packages"]) for one in plain] != []


def test_a_build_of_which_only_the_end_was_pasted_comes_after_what_that_end_is_known_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = "RuntimeError: Error building extension 'fused_adam'"
    told = findings(capsys, tmp_path, log)
    assert [one["rule"] for one in told][:1] == ["error-build-failed"]  # nothing else is known of it


SITE = "/opt/venv/lib/python3.10/site-packages"
PILLOW = {"pillow": {"9.5.0": {"PIL/Image.py": "ANTIALIAS = 1\nLANCZOS = 1\n"}, "10.0.0": {"PIL/Image.py": "LANCZOS = 1\n"}}}
TORCH = {
    "torch": {
        "2.6.0": {"torch/optim/lr_scheduler.py": "class ReduceLROnPlateau:\n    def __init__(self, optimizer, verbose=False): ...\n"},
        "2.7.0": {"torch/optim/lr_scheduler.py": "class ReduceLROnPlateau:\n    def __init__(self, optimizer): ...\n"},
    }
}
MODELS = {"diffusers": {"0.30.0": {"diffusers/__init__.py": "class LlamaTokenizer: ...\nclass Pipeline: ...\n"}}}


def fixes(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str) -> list[str]:
    told = findings(capsys, tmp_path, log)[0]
    return [str(one.get("pins") or one["note"]) for one in told["fixes"]]


def test_a_name_that_went_is_written_otherwise_in_code_of_ones_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with atlas_of(tmp_path, PILLOW):
        told = fixes(capsys, tmp_path, "AttributeError: module 'PIL.Image' has no attribute 'ANTIALIAS'")
    assert told == ["Image.LANCZOS in place of Image.ANTIALIAS", "{'pillow': '==9.5.0'}"]


def test_in_the_file_of_a_package_it_is_written_otherwise_only_after_the_pins(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        f'Traceback (most recent call last):\n  File "{SITE}/easyocr/utils.py", line 613, in resize\n    image.resize(n, Image.ANTIALIAS)\n'
        "AttributeError: module 'PIL.Image' has no attribute 'ANTIALIAS'"
    )
    with atlas_of(tmp_path, PILLOW):
        told = fixes(capsys, tmp_path, log)
    assert told == ["{'pillow': '==9.5.0'}", "Image.LANCZOS in place of Image.ANTIALIAS, in easyocr/utils.py:613"]


def test_an_argument_that_torch_gave_up_is_left_out_before_torch_is_older(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with atlas_of(tmp_path, TORCH):
        told = fixes(capsys, tmp_path, "TypeError: ReduceLROnPlateau.__init__() got an unexpected keyword argument 'verbose'")
    assert told == [
        "leave out verbose= where ReduceLROnPlateau() is called, or pass what the notes of that release have in its place",
        "{'torch': '==2.6.0'}",
    ]


def test_a_name_in_other_capitals_is_spelled_as_the_package_does(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with atlas_of(tmp_path, MODELS):
        told = fixes(capsys, tmp_path, "ImportError: cannot import name 'LLaMATokenizer' from 'diffusers'")
    assert told[0] == "LlamaTokenizer in place of LLaMATokenizer: diffusers has it by that spelling"


def test_a_name_of_no_release_is_of_a_copy_that_somebody_changed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first_release = release_texts("diffusers")[0]
    with atlas_of(tmp_path, {"diffusers": {first_release: MODELS["diffusers"]["0.30.0"]}}):
        told = findings(capsys, tmp_path, "ImportError: cannot import name 'InvEnhancePipeline' from 'diffusers'")[0]
    assert told["detail"].endswith(
        "no release that was read has it: it is of a copy of diffusers that a project changed, or of a state that is not released"
    )
    assert told["fixes"][0]["note"].startswith(
        "install the diffusers that the project brings or names (a folder diffusers in its repository"
    )


def test_a_project_s_own_exact_pin_goes_before_what_others_released(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ERROR: Cannot install mytool and transformers==4.40.2 because these package versions have conflicting dependencies.\n\n"
        "The conflict is caused by:\n    mytool 0.2.1 depends on tokenizers==0.13.2\n"
        "    transformers 4.40.2 depends on tokenizers<0.20 and >=0.19"
    )
    told = findings(capsys, tmp_path, log)[0]
    assert told["fixes"][0]["note"].startswith("take tokenizers==0.13.2 out of the requirements of mytool")


def test_torch_moves_with_its_torchvision_and_on_windows_with_its_index(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    old, new = {"torch/__init__.py": ""}, {"torch/__init__.py": "def concatenate(): ...\n"}
    log = "AttributeError: module 'torch' has no attribute 'concatenate'"
    facts = 'os = "windows"\ncuda = "11.3"\n[packages]\ntorch = "1.12.1"\n'
    with atlas_of(tmp_path, {"torch": {"1.12.1": old, "1.13.0": new, "1.13.1": new}}):
        told = findings(capsys, tmp_path, log, facts)[0]
    assert told["fixes"][0]["pins"] == {"torch": "==1.13.1+cu117", "torchvision": "==0.14.1+cu117"}


@pytest.mark.parametrize(
    ("stated", "first", "taken"),
    [("3.11.0", "3.16.2", "3.50.2"), ("3.50.2", "3.16.2", "3.16.2"), ("4.0.2", "4.31.5", "4.44.1")],
)
def test_going_up_takes_the_last_of_the_line_and_going_back_the_nearest(stated: str, first: str, taken: str) -> None:
    facts = Facts({"packages.gradio": Fact("packages.gradio", exact(stated), Origin("stated"))})
    assert later_in_line("gradio", f">={first}", exact(first), facts).text == taken
