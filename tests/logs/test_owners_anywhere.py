"""Calls that were refused, of which neither a class nor a frame says whose they are: the one package of all whose releases tell it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

HIDING = "def keywords_soon(function): return function\n"
OLD_AUDIO = HIDING + "@keywords_soon\ndef resample(y, orig_sr, target_sr): pass\n"
NEW_AUDIO = "def resample(y, *, orig_sr, target_sr): pass\n"
ATLAS = {
    "librosa": {
        "0.9.2": {"librosa/__init__.py": "from librosa.audio import resample\n", "librosa/audio.py": OLD_AUDIO},
        "0.11.0": {"librosa/__init__.py": "from librosa.audio import resample\n", "librosa/audio.py": NEW_AUDIO},
    },
    "torchaudio": {"2.4.0": {"torchaudio/__init__.py": "def resample(waveform, orig_freq, new_freq): pass\n"}},
    "scikit-learn": {
        "1.7.2": {"sklearn/__init__.py": "", "sklearn/checks.py": "def check_pairs(X, y, force_all_finite=True): pass\n"},
        "1.8.0": {"sklearn/__init__.py": "", "sklearn/checks.py": "def check_pairs(X, y, ensure_all_finite=True): pass\n"},
    },
    "lightgbm": {
        "4.0.0": {"lightgbm/__init__.py": "from lightgbm.sk import LGBMRegressor\n", "lightgbm/sk.py": "class LGBMRegressor: pass\n"}
    },
    "xgboost": {
        "1.7.6": {"xgboost/__init__.py": "def train(params, early_stopping_rounds=None): pass\n"},
        "2.1.0": {"xgboost/__init__.py": "def train(params): pass\n"},
    },
    "transformers": {
        "4.40.2": {"transformers/__init__.py": "SOME_ARCHIVE_LIST = []\nclass Trainer: pass\n"},
        "4.41.0": {"transformers/__init__.py": "class Trainer: pass\n"},
    },
    "keras": {
        "2.12.0": {"keras/__init__.py": ""},
        "2.13.1": {"keras/__init__.py": "", "keras/src/__init__.py": ""},
    },
    # A stand-in for where the package is not there.
    "optuna": {"3.0.0": {"optuna/__init__.py": "", "optuna/lgb.py": "class LGBMRegressor: pass\n"}},
    "pytorch-lightning": {
        "1.8.6": {"pytorch_lightning/__init__.py": "class ModelCheckpoint:\n    def __init__(self, every_n_epochs=1): pass\n"},
        "2.4.0": {"pytorch_lightning/__init__.py": "class ModelCheckpoint:\n    def __init__(self, every_n_epochs=1): pass\n"},
    },
    "torch": {
        "2.10.0": {"torch/__init__.py": "class Optimizer:\n    def _cuda_graph_capture_health_check(self): pass\n"},
        "2.11.0": {"torch/__init__.py": "class Optimizer:\n    def _accelerator_graph_check(self): pass\n"},
    },
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


# What people pasted: https://github.com/ixobert/birds-generation/issues/9 and others of benchmarks/unseen/diagnose-work.jsonl.
@pytest.mark.parametrize(
    ("log", "package", "words", "first_fix", "pin"),
    [
        (
            "TypeError: resample() takes 1 positional argument but 3 were given",
            "librosa",
            "so in 0.11.0-; what the releases before take is not shown by their source",
            "pass by name what is passed by position: resample(y, orig_sr=..., target_sr=...)",
            {"librosa": "==0.9.2"},
        ),
        (
            "TypeError: check_pairs() got an unexpected keyword argument 'force_all_finite'",
            "scikit-learn",
            "it is called ensure_all_finite there",
            "pass ensure_all_finite in place of force_all_finite",
            {"scikit-learn": "==1.7.2"},
        ),
        (
            "TypeError: ModelCheckpoint.__init__() got an unexpected keyword argument 'every_n_epochs'",
            "pytorch-lightning",
            "of this pytorch-lightning does not take every_n_epochs (there from 1.8.6 on at the latest)",
            None,
            None,
        ),
        (
            "AttributeError: 'ADOPT' object has no attribute '_cuda_graph_capture_health_check'",
            "torch",
            "torch gives it to Optimizer (2.10.0)",
            None,
            {"torch": "==2.10.0"},
        ),
        (
            "TypeError: LGBMRegressor.fit() got an unexpected keyword argument 'early_stopping_rounds'",
            "lightgbm",
            "the message is one of lightgbm",
            None,
            None,
        ),
    ],
)
def test_the_one_package_that_has_it_is_named_and_the_code_changes_first(
    log: str,
    package: str,
    words: str,
    first_fix: str | None,
    pin: dict[str, str] | None,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert first["packages"][0] == package
    assert words in first["detail"]
    if first_fix is not None:
        assert first["fixes"][0]["note"] == first_fix
    if pin is not None:
        assert next(fix["pins"] for fix in first["fixes"] if fix.get("pins")) == pin


@pytest.mark.parametrize(
    "log",
    [
        # a function that nobody has to have from a package
        "TypeError: train() got an unexpected keyword argument 'force_all_finite'",
        # a file of somebody's own calls a function of its own
        'Traceback (most recent call last):\n  File "/home/me/project/main.py", line 3, in <module>\n    check_pairs(a, b)\n'
        "TypeError: check_pairs() got an unexpected keyword argument 'force_all_finite'",
    ],
)
def test_what_may_be_of_the_project_itself_accuses_no_package(log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert not [one for one in findings(capsys, tmp_path, log) if one["packages"]]


def test_a_stated_package_is_meant_where_two_have_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "TypeError: LGBMRegressor.fit() got an unexpected keyword argument 'early_stopping_rounds'"
    first = findings(capsys, tmp_path, log, NOTHING + '[packages]\nlightgbm = "4.0.0"\n')[0]
    assert first["packages"] == ["lightgbm"]
    assert "lightgbm 4.0.0" in first["detail"]


def test_an_argument_that_a_stated_release_gave_up_is_its(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "TypeError: fit() got an unexpected keyword argument 'early_stopping_rounds'"
    assert not findings(capsys, tmp_path, log)
    first = findings(capsys, tmp_path, log, NOTHING + '[packages]\nxgboost = "2.1.0"\n')[0]
    assert first["packages"] == ["xgboost"]
    assert "xgboost 2.1.0 does not take early_stopping_rounds (gone since 2.1.0)" in first["detail"]


def test_who_requires_the_release_that_lacks_it_moves_with_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stated = NOTHING + '[packages]\ntensorflow = "2.12.0"\n'
    first = findings(capsys, tmp_path, "ModuleNotFoundError: No module named 'keras.src'", stated)[0]
    assert first["packages"] == ["keras", "tensorflow"]
    assert "tensorflow 2.12.0 requires keras" in first["detail"]


def test_an_import_alone_is_told_where_the_name_is_gone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert not findings(capsys, tmp_path, "from transformers import Trainer")
    first = findings(capsys, tmp_path, "from transformers import SOME_ARCHIVE_LIST")[0]
    assert first["packages"] == ["transformers"]
    assert first["fixes"][0]["pins"] == {"transformers": "==4.40.2"}
