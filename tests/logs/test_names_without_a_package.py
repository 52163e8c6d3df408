"""A class, a module or a name of which the text tells no package: what is told of it, and whom it is laid on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

OWN_FRAME = 'Traceback (most recent call last):\n  File "/home/me/project/train.py", line 7, in main\n    {}\n'
TRAINERS = {
    "pytorch-lightning": {
        "1.9.5": {
            "pytorch_lightning/__init__.py": "from pytorch_lightning.trainer import Trainer\n",
            "pytorch_lightning/trainer.py": "class Trainer:\n    @classmethod\n    def from_argparse_args(cls, args): pass\n",
        },
        "2.0.0": {
            "pytorch_lightning/__init__.py": "from pytorch_lightning.trainer import Trainer\n",
            "pytorch_lightning/trainer.py": "class Trainer:\n    def fit(self, model): pass\n",
        },
    },
    "transformers": {
        "4.40.0": {
            "transformers/__init__.py": "from transformers.trainer import Trainer\n",
            "transformers/trainer.py": "class Trainer:\n    def train(self): pass\n",
        }
    },
}
SLICES = {
    "transformers": {
        version: {
            "transformers/__init__.py": "",
            "transformers/commands/__init__.py": "",
            "transformers/commands/lfs.py": f"class FileSlice:\n    def __init__(self, {taken}): pass\n",
        }
        for version, taken in (("4.30.0", "filepath, read_limit=1"), ("4.40.0", "filepath"))
    }
}


def test_a_member_of_a_class_that_two_packages_have_is_of_the_one_that_lost_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "AttributeError: type object 'Trainer' has no attribute 'from_argparse_args'"
    with atlas_of(tmp_path, TRAINERS):
        first, *_ = findings(capsys, tmp_path, log)
    assert "pytorch-lightning has no pytorch_lightning.trainer.Trainer.from_argparse_args" in first["detail"]
    assert first["fixes"][0]["pins"] == {"pytorch-lightning": "==1.9.5"}


def test_a_call_of_an_unnamed_class_is_laid_on_no_package_s_own_workings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = OWN_FRAME.format("))") + "TypeError: __init__() got an unexpected keyword argument 'read_limit'"
    with atlas_of(tmp_path, SLICES):
        first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["status"], first["packages"]) == ("error-of-own-code", "possible", [])
    assert "A class that the project makes there does not take read_limit" in first["detail"]


def test_numpy_s_long_is_gone_between_two_releases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = OWN_FRAME.format("y = y.astype(np.long)") + "AttributeError: module 'numpy' has no attribute 'long'"
    first, *_ = findings(capsys, tmp_path, log)
    assert "numpy has no long from 1.24 on until 2.0" in first["detail"]
    assert first["packages"] == ["numpy"]
    newer = findings(capsys, tmp_path, log, f'{NOTHING}[packages]\nnumpy = "2.1.0"\n')
    assert not any("until 2.0" in one["detail"] for one in newer)


@pytest.mark.parametrize(
    ("module", "words"),
    [("classification_models", "image-classifiers"), ("mmseg", "mmsegmentation"), ("nuscenes", "nuscenes-devkit")],
)
def test_a_module_of_another_name_than_its_distribution(
    module: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *_ = findings(capsys, tmp_path, f"ModuleNotFoundError: No module named '{module}'")
    assert words in str(first)


def test_a_project_that_is_compiled_is_built_and_not_only_found(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "detectron2/engine/launch.py", line 7, in <module>\n'
        "    from detectron2.utils import comm\nModuleNotFoundError: No module named 'detectron2'"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert "the folder that holds detectron2" in first["detail"]
    assert "pip install -e ." not in str(first["fixes"])
