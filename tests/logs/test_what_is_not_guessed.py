"""What a log does not show is not told as decided: which way an argument moved, what a list holds, what conda lists, which GPU ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

STEP = """  File "lib/python3.12/site-packages/transformers/trainer.py", line 2474, in _inner_training_loop
    tr_loss_step = self.training_step(model, inputs, num_items_in_batch)
TypeError: Trainer.training_step() takes 3 positional arguments but 4 were given"""
PASSED = """  File "train.py", line 9, in <module>
    trainer.training_step(model, inputs, 3)
TypeError: Trainer.training_step() takes 3 positional arguments but 4 were given"""
SOURCES = """  File "/data/pytorch/torch_npu/__init__.py", line 14, in <module>
    import torch_npu.npu
  File "/data/pytorch/torch_npu/npu/utils.py", line 11, in <module>
    import torch_npu._C
ModuleNotFoundError: No module named 'torch_npu._C'"""
COPY = """  File "/home/me/ours/models/build.py", line 3, in <module>
    from models.resnet import Net
ModuleNotFoundError: No module named 'models.resnet'"""
ABSENT = """ResolvePackageNotFound:
  - cudatoolkit=11.3"""
CUDNN = "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"
NO_CUDNN = "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory"


TRAINER = """
class Trainer:
    def train(self):
        return self.training_step(None, None)
    def training_step(self, model, inputs{more}):
        return 0
"""


def test_a_package_that_calls_its_own_method_calls_an_override(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    releases = {
        version: {"transformers/__init__.py": "", "transformers/trainer.py": TRAINER.format(more=more)}
        for version, more in (("4.45.2", ""), ("4.46.3", ", num_items_in_batch=None"))
    }
    with atlas_of(tmp_path, {"transformers": releases}):
        first, *_ = findings(capsys, tmp_path, STEP)
        assert first["fixes"][0].get("pins") == {"transformers": "==4.45.2"}, first
        first, *_ = findings(capsys, tmp_path, PASSED)
        assert first["fixes"][0].get("pins") != {"transformers": "==4.45.2"}, first


@pytest.mark.parametrize(
    ("log", "facts", "rule", "said", "unsaid"),
    [
        (SOURCES, NOTHING, "error-of-own-code", "start Python in another folder", "start it from there"),
        (COPY, NOTHING, "error-of-own-code", "another folder or package called models comes first", "pip install -e"),
        (ABSENT, NOTHING, "error-no-distribution", "of another channel", "move one of the two pins"),
        (
            "ValueError: Target modules [] not found in the base model. Please check",
            NOTHING,
            "error-of-the-run",
            "is empty",
            "ChatGLM3",
        ),
        ("ValueError: Target modules set() not found in the base model.", NOTHING, "error-of-the-run", "is empty", "its letters"),
        (
            "ValueError: Target modules {'q', '_', 'p'} not found in the base model.",
            NOTHING,
            "error-of-the-run",
            "its letters",
            "empty",
        ),
        (CUDNN, 'cuda = "10.1"\n[gpu]\nname = "RTX 3090"\n', "torch-wheel-lacks-gpu-kernels", "since 11.1", "nearly full"),
        (CUDNN, 'cuda = "11.8"\n[gpu]\nname = "RTX 3090"\n', "error-of-the-run", "does not say why", "compiles for since"),
        (CUDNN, 'cuda = "11.0"\n[gpu]\nname = "RTX 3090"\n', "error-of-the-run", "does not say why", "compiles for since"),
        (CUDNN, 'cuda = "10.1"\n', "error-of-the-run", "does not say why", "compiles for since"),
        (NO_CUDNN, NOTHING, "error-shared-library-missing", "libcudnn.so.9, and it is not found", "of another major than this torch loads"),
    ],
)
def test_only_what_the_log_shows_is_decided(
    log: str, facts: str, rule: str, said: str, unsaid: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, log, facts)
    assert (first["rule"], first["status"]) == (rule, "matched")
    assert said in str(first)
    assert unsaid not in str(first)


def test_features_twice_as_wide_may_have_been_joined(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x1536 and 768x3072)")
    assert "2 times as wide" in first["detail"]
    first, *_ = findings(capsys, tmp_path, "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x1000 and 768x3072)")
    assert "times as wide" not in first["detail"]


CUBLAS = "OSError: libcublas.so.11: cannot open shared object file: No such file or directory"


@pytest.mark.parametrize(
    ("stated", "taken"),
    [('torch = "1.13.0"', True), ('torch = "1.12.1"', False), ('torch = "1.13.1+cu117"', False), ('torch = "2.4.0"', False)],
)
def test_a_library_of_cuda_is_of_the_package_that_the_stated_torch_requires(
    stated: str, taken: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, CUBLAS, f"[packages]\n{stated}\n")
    assert ("takes it from nvidia-cublas-cu11" in first["detail"]) is taken
