"""What a stated GPU decides, what torchaudio and bitsandbytes did not find, and messages whose head was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import NOTHING, findings

NO_KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
NO_CUDNN = "RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED"


@pytest.mark.parametrize(
    ("log", "gpu", "facts", "advice"),
    [
        (NO_KERNEL, "RTX 4090", "", "whl/cu126"),
        (NO_KERNEL, "RTX 5090", "", "whl/cu128"),
        (NO_CUDNN, "Tesla K80", "", "torch==1.13.1+cu117"),
        (NO_CUDNN, "H100", '[packages]\ntorch = "1.12.1"\n', "whl/cu118"),
        (NO_KERNEL, "RTX 3090", '[packages]\ntorch = "2.4.0+cu121"\n', "TORCH_CUDA_ARCH_LIST"),
    ],
)
def test_the_stated_card_chooses_the_branch(
    log: str, gpu: str, facts: str, advice: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, log, f'gpu.name = "{gpu}"\n{facts}')
    assert first["edge"] == "torch:stated-card"
    assert advice in first["fixes"][0]["note"]


def test_a_card_that_most_builds_serve_decides_nothing_of_cudnn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, NO_CUDNN, 'gpu.name = "RTX 3090"\n')
    assert first["edge"] != "torch:stated-card"


@pytest.mark.parametrize(
    ("log", "rule", "package"),
    [
        ("RuntimeError: No audio I/O backend is available.", "error-package-not-installed", "soundfile"),
        (
            "RuntimeError: Couldn't find appropriate backend to handle uri a.wav and format None.",
            "error-package-not-installed",
            "soundfile",
        ),
        ("AttributeError: 'NoneType' object has no attribute 'cuDeviceGetCount'", "error-of-the-run", "bitsandbytes"),
    ],
)
def test_a_library_that_was_not_found_is_named(
    log: str, rule: str, package: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"], first["packages"][0]) == (rule, "matched", package)


@pytest.mark.parametrize(
    "log",
    [
        "LayerNormKernelImpl\" not implemented for 'Half",
        "addmm_impl_cpu_\" not implemented for 'Half'",
        "baddbmm_with_gemm not implemented for Half",
    ],
)
def test_a_kernel_that_is_missing_is_told_without_its_quotes(log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"]) == ("float16-on-cpu-before-torch-2-3", "matched")


def test_who_writes_that_something_is_not_implemented_has_no_error_of_torch(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert findings(capsys, tmp_path, "flash attention is not implemented for Half precision here", NOTHING) == []
