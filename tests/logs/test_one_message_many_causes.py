"""Messages that several causes share: what happened is told, since when, and whose call it was; a rule about one cause waits for more than
the words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run
from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

LOADED = """_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so you have two options
(1) In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`.
WeightsUnpickler error: Unsupported global: GLOBAL omegaconf.listconfig.ListConfig was not an allowed global by default."""
BY_OWN = """Traceback (most recent call last):
  File "/home/me/project/train.py", line 9, in <module>
    checkpoint = torch.load(path)
  File "/usr/lib/python3.10/site-packages/torch/serialization.py", line 1470, in load
    raise pickle.UnpicklingError(_get_wo_message(str(e))) from None
"""
BY_TRAINER = """Traceback (most recent call last):
  File "/usr/lib/python3.10/site-packages/transformers/trainer.py", line 2999, in _load_rng_state
    checkpoint_rng_state = torch.load(rng_file)
  File "/usr/lib/python3.10/site-packages/torch/serialization.py", line 1470, in load
    raise pickle.UnpicklingError(_get_wo_message(str(e))) from None
"""


@pytest.mark.parametrize(
    ("log", "who"), [(LOADED, ""), (BY_OWN + LOADED, "the project's own project/train.py:9, in <module> asks for that")]
)
def test_a_file_that_torch_refuses_is_no_checkpoint_of_the_trainer_by_that(
    log: str, who: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *others = findings(capsys, tmp_path, log)
    assert first["packages"] == ["torch"]
    assert "torch.load does so by itself from 2.6 on; the file holds omegaconf.listconfig.ListConfig" in first["detail"]
    assert who in first["detail"]
    assert first["fixes"][0]["note"].startswith("for a file whose source you trust torch.load(..., weights_only=False)")
    assert first["fixes"][1]["pins"] == {"torch": "==2.5.1"}
    assert {one["status"] for one in others} <= {"possible"}


def test_where_the_trainer_resumes_the_rule_about_it_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stated = NOTHING + '[packages]\ntorch = "2.6.0"\ntransformers = "4.46.3"\n'
    assert findings(capsys, tmp_path, BY_TRAINER + LOADED, stated)[0]["rule"] == "transformers-resume-weights-only"


def test_whose_module_was_built_for_another_numpy_the_sentence_alone_does_not_say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *others = findings(capsys, tmp_path, "ImportError: numpy.core.multiarray failed to import")
    assert first["packages"] == ["numpy"]
    assert {one["status"] for one in others} <= {"possible"}


def test_the_one_stated_package_that_needs_numpy_is_named_beside_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stated = f'{NOTHING}[packages]\nopencv-python = "4.6.0.66"\ntqdm = "4.66.1"\n'
    first, *_ = findings(capsys, tmp_path, "ImportError: numpy.core.multiarray failed to import", stated)
    assert first["packages"] == ["numpy", "opencv-python"]


def test_a_module_that_the_projects_own_file_imports_is_not_another_packages_fault(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/home/me/project/data.py", line 3, in <module>\n    import torch._six\n'
        "ModuleNotFoundError: No module named 'torch._six'"
    )
    assert findings(capsys, tmp_path, log)[0]["packages"][0] == "torch"


@pytest.mark.parametrize(
    ("log", "packages", "words"),
    [
        # whisperx is another package, and not what was meant
        ("ModuleNotFoundError: No module named 'whisper'", ["openai-whisper"], "openai-whisper is not installed"),
        ("ModuleNotFoundError: No module named 'umap'", ["umap-learn"], "umap-learn is not installed"),
        ("ModuleNotFoundError: No module named 'moviepy.editor'", ["moviepy"], "moviepy has no moviepy.editor from 2.0 on"),
        ("AttributeError: 'EntryPoints' object has no attribute 'get'", ["python"], "Python 3.12 removed EntryPoints.get"),
        ("TypeError: glob() got an unexpected keyword argument 'root_dir'", ["python"], "glob(root_dir) came with Python 3.10"),
        ("RuntimeError: shape '[4, 897, 64, 128]' is invalid for input of size 3674112", [], "another head size"),
    ],
)
def test_what_gives_it_is_named(log: str, packages: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert first["packages"] == packages
    assert words in first["detail"]


@pytest.mark.parametrize("log", ["from transformers import Trainer", "ModuleNotFoundError: No module named '_loss'"])
def test_nothing_is_told_of_what_says_nothing(log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert not findings(capsys, tmp_path, log)


@pytest.mark.parametrize(
    ("log", "packages"),
    [
        ("AttributeError: 'Decoder' object has no attribute 'encode_batch_fast'", []),
        ("AttributeError: 'tokenizers.Tokenizer' object has no attribute 'encode_batch_fast'", ["tokenizers"]),
    ],
)
def test_a_class_by_a_word_that_anybody_uses_is_laid_on_nobody(
    log: str, packages: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = findings(capsys, tmp_path, log)
    assert [name for one in found for name in one["packages"]] == packages
    assert all(one["rule"] == "error-raised-by-package" for one in found)


FINE = ("label ids out of range: 0", "12/12 labels mapped, none out of bounds", "caught: index out of range in self")


@pytest.mark.parametrize("line", FINE)
def test_what_a_run_that_ended_well_prints_is_no_error_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path, line: str) -> None:
    log = tmp_path / "train.log"
    log.write_text(f"{line}\n{{'train_runtime': 12.3, 'train_loss': 0.4}}\n")
    ran = run(capsys, "diagnose", str(log), "--format", "json")
    assert ([one["rule"] for one in ran.json["findings"] if one["severity"] == "error"], ran.status) == ([], 0)
