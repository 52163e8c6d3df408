"""Errors of which people paste one line: a module that Windows does not load, a pair of releases, a part that a build leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import findings
from tests.logs.test_refused_runs import derive


@pytest.mark.parametrize(
    "text",
    [
        "ImportError: DLL load failed while importing onnx_cpp2py_export: A dynamic link library (DLL) initialization routine failed.",
        "DLL load failed while importing onnx_cpp2py_export: 动态链接库(DLL)初始化例程失败。",
    ],
)
def test_a_module_that_windows_does_not_load_is_of_its_package(text: str) -> None:
    (found,) = derive(text)
    assert found.hit.rule == "error-shared-library-missing"
    assert found.hit.packages == ("onnx",)
    assert "Visual C++" in found.hit.advice
    assert found.hit.pins == (("onnx", "<=1.16.1"),)


def test_a_later_onnxruntime_wants_a_newer_visual_c_runtime() -> None:
    text = "DLL load failed while importing onnxruntime_pybind11_state: A dynamic link library (DLL) initialization routine failed."
    (found,) = derive(text)
    assert "from 1.21.0 on" in found.hit.said
    assert found.hit.pins == (("onnxruntime", "<=1.20.1"),)
    # An earlier release has another cause, and none to go back to.
    (found,) = derive(text, onnxruntime="1.18.1")
    assert "1.21.0" not in found.hit.said
    assert found.hit.pins == ()


def test_a_function_that_an_older_windows_does_not_have_is_no_matter_of_the_runtime_alone() -> None:
    text = "E   ImportError: DLL load failed while importing onnxruntime_pybind11_state: The specified procedure could not be found."
    (found,) = derive(text, onnxruntime="1.15.0")
    assert "1.15.1" in found.hit.advice
    assert "1.21.0" not in found.hit.said


def test_whose_module_windows_does_not_load_the_frames_tell_where_its_name_does_not() -> None:
    frames = 'Traceback (most recent call last):\n  File "C:\\env\\Lib\\site-packages\\torchvision\\io\\image.py", line 9, in <module>\n'
    (found,) = derive(frames + "    from torchvision import _C\nImportError: DLL load failed while importing _C: %1 is not valid.")
    assert found.hit.packages == ("torchvision",)
    # Without them nobody knows whose it is, and what is true of every such module is all that can be said.
    (found,) = derive("ImportError: DLL load failed while importing _C: The specified module could not be found.")
    assert (found.hit.outcome, found.hit.packages) == (None, ())


@pytest.mark.parametrize("end", ["", ". Please update your jax and/or jaxlib packages."])
def test_a_jaxlib_that_is_later_than_jax_is_told_with_the_release_to_take(end: str) -> None:
    (found,) = derive(f"jaxlib version 0.4.31 is newer than and incompatible with jax version 0.4.20{end}")
    assert found.hit.packages == ("jaxlib",)
    assert found.hit.pins == (("jaxlib", "<=0.4.20"),)


def test_mmcv_without_its_operators_is_the_build_without_them() -> None:
    (found,) = derive("ModuleNotFoundError: No module named 'mmcv._ext'")
    assert found.hit.rule == "error-module-missing"
    assert "without its compiled operators" in found.hit.detail
    assert "mmcv-full" in found.hit.advice


def test_a_module_that_is_run_may_be_in_another_python() -> None:
    error = "ModuleNotFoundError: No module named 'mlx_lm'"
    (found,) = derive(f"python3: Error while finding module specification for 'mlx_lm.lora' ({error})")
    assert "another Python" in found.hit.detail
    (found,) = derive(error)
    assert "another Python" not in found.hit.detail


NO_FILE = (
    "@ registry+https://pypi.org/simple` can't be installed because it doesn't have a source distribution or wheel for the current platform"
)


def test_a_package_whose_name_was_cut_from_the_text_is_the_one_that_is_stated() -> None:
    (found,) = derive(f"`{NO_FILE}", torch="2.5.1")
    assert found.hit.rule == "error-no-distribution"
    assert "3.12 on Windows and macOS" in found.hit.detail
    (found,) = derive(f"`{NO_FILE}")
    assert (found.hit.packages, found.hit.edge) == ((), "unnamed")


def test_a_cuda_setup_that_failed_has_no_one_cause(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = "RuntimeError: CUDA Setup failed despite GPU being available."
    stated = '[packages]\nbitsandbytes = "0.41.0"\n'
    told = findings(capsys, tmp_path, text, stated)
    assert [one["rule"] for one in told if one["status"] == "matched"] == ["bitsandbytes-cuda-setup-failed"]
    # Where the CUDA is stated, it is known.
    told = findings(capsys, tmp_path, text, 'cuda = "11.6"\n' + stated)
    assert told[0]["rule"] == "bitsandbytes-old-cuda-dropped"


@pytest.mark.parametrize(
    "text",
    [
        "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file: No such file",
        "cudnn ops64_9.dll is not found",
        "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!",
    ],
)
def test_whose_cudnn_is_not_there_nobody_knows_where_nothing_is_stated(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    first = findings(capsys, tmp_path, text)[0]
    assert first["rule"] == "cudnn-library-of-another-major"
    assert first["packages"] == ["ctranslate2", "torch"]


def test_a_torch_for_the_cpu_is_not_said_to_be_beside_a_gpu(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, "AssertionError: Torch not compiled with CUDA enabled")
    assert first["rule"] == "torch-without-cuda-asked-for-cuda"


def test_pydantic_passes_by_position_what_python_takes_by_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = "TypeError: ForwardRef._evaluate() missing 1 required keyword-only argument: 'recursive_guard'"
    (told,) = findings(capsys, tmp_path, text, 'python = "3.12.4"\n[packages]\npydantic = "2.7.1"\n')
    assert told["rule"] == "pydantic-v1-forward-references-python-3-12-4"
    assert findings(capsys, tmp_path, text)[0]["rule"] == "pydantic-v1-forward-references-python-3-12-4"


def test_a_torch_that_does_not_load_its_own_cudnn_is_no_matter_of_ctranslate2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    frame = '  File "C:\\env\\site-packages\\torch\\__init__.py", line 133, in <module>\n    raise err\n'
    file = "C:\\env\\site-packages\\torch\\lib\\cudnn_cnn_infer64_8.dll"
    text = f'OSError: [WinError 126] The specified module could not be found. Error loading "{file}" or one of its dependencies.'
    told = findings(capsys, tmp_path, frame + text)
    assert all("ctranslate2" not in one["packages"] for one in told)
