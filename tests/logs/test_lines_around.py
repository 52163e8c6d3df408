"""What other programs print before an error that names no cause: told beside it as possible, and alone where no error of Python's is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import findings

RULES = ("error-of-the-run", "error-of-what-was-given")
LAUNCHER = """[default0]: node1:77:77 [0] include/socket.h:403 NCCL WARN Connect to 10.0.0.2<57335> failed : No route to host
Traceback (most recent call last):
  File "/opt/env/lib/python3.10/site-packages/torch/distributed/launcher/api.py", line 250, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED
"""
BUILD = "\n".join(("-- The CXX compiler identification is GNU 11.4.0", *(f"-- Looking for header{i}.h - found" for i in range(20)))) + (
    "\nCMake Error at CMakeLists.txt:1 (cmake_minimum_required):"
    "\n  CMake Error: CMake 3.26 or higher is required.  You are running version 3.22.1"
    "\n-- Configuring incomplete"
)
CUT = """AttributeError of numpy:
> `np.float` was a deprecated alias for the builtin `float`. To avoid this error in existing code, use `float` by itself.
Traceback (most recent call last):
  File "/opt/env/lib/python3.10/site-packages/modelscope/utils/registry.py", line 212, in build_from_cfg
    return obj_cls(**args)
"""
CAST = """datasets.exceptions.DatasetGenerationCastError: An error occurred while generating the dataset

All the data files must have the same columns, but at some point there are 2 new columns ({'split', 'index'})

This happened while the json dataset builder was generating data using
"""
FEW = """not enough values to unpack (expected 2, got 1)
Traceback (most recent call last):
  File "/usr/local/lib/python3.10/dist-packages/accelerate/utils/operations.py", line 819, in forward
    return model_forward(*args, **kwargs)
"""
WELL = BUILD.replace("CMake Error", "CMake Note").replace("higher is required", "higher is known") + "\n[100%] Built target ext"


@pytest.mark.parametrize(
    ("log", "status", "means"),
    [
        (LAUNCHER, "possible", "NCCL on this node does not reach the address that the other one gave: it took an interface"),
        (BUILD, "matched", "The build asks for CMake 3.26, and 3.22.1 is there"),
        (CUT, "matched", "The code writes np.float, which numpy gave up in 1.24"),
        (CAST, "possible", "The files of one data set have different columns"),
        (FEW, "possible", "2 values are wanted there, and 1 came"),
    ],
)
def test_the_line_that_states_a_cause_is_told(
    log: str, status: str, means: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = [(one["status"], one["detail"]) for one in findings(capsys, tmp_path, log) if one["rule"] in RULES]
    assert any(state == status and detail.startswith(means) for state, detail in told)


@pytest.mark.parametrize(
    ("log", "means"),
    [
        ("TypeError: setup_model() missing 1 required positional argument: 'c'", "setup_model is called without 'c', which it asks for"),
        ("Process finished with exit code -1073741819 (0xC0000005)", "A process was ended by Windows with 0xC0000005: it read or wrote"),
        ("    assert h * w == N\nAssertionError", "The code takes an image's patches for a grid of height times width"),
    ],
)
def test_what_is_certain_of_a_line_alone_is_told(log: str, means: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert any(one["detail"].startswith(means) for one in findings(capsys, tmp_path, log))


def test_lines_without_an_error_are_let_be(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert findings(capsys, tmp_path, WELL) == []


def test_an_error_that_is_explained_has_nothing_beside_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "Could NOT find OpenMP (missing: OpenMP_C_FLAGS)\nRuntimeError: Tensors must be CUDA and dense"
    (found,) = findings(capsys, tmp_path, log)
    assert found["detail"].startswith("NCCL moves dense tensors on GPUs alone")
