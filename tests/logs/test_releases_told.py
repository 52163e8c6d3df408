"""Which releases an answer tells where nobody stated the one that ran, and whose a sentence is that nothing explains."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.atlas.masks import fill, write_unread
from envdoctor.atlas.messages import likeness
from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

LOG, RULE = "WARNING - CUDA extension not installed.", "auto-gptq-wheel-built-for-another-torch"
NEW, OLD = "def acme_attn_func(q, k): pass\n", "def acme_attn_func(q, k, max_s): pass\n"
SAMPLES = "class Mixin:\n    def _sample(self, ids{}): pass\nclass HouseArgs:\n    def __init__(self, path=None): pass\n"
ATLAS = {
    "acme-attn": {
        "1.0": {"acme_attn/__init__.py": "", "acme_attn/face.py": OLD},
        "2.0": {"acme_attn/__init__.py": "", "acme_attn/face.py": NEW},
    },
    # It carries a copy.
    "user": {"1.0": {"user/__init__.py": "", "user/face.py": OLD}, "2.0": {"user/__init__.py": "", "user/face.py": NEW}},
    "house": {
        "1.0": {"house/__init__.py": "", "house/mixin.py": SAMPLES.format(", logits_warper")},
        "2.0": {"house/__init__.py": "", "house/mixin.py": SAMPLES.format("")},
    },
}
RELEASES = ("1.0", "1.1", "2.0", "3.0")


def test_a_rule_tells_the_releases_that_it_accuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = findings(capsys, tmp_path, LOG)[0]
    assert first["rule"] == RULE
    assert first["detail"].startswith("affected: auto-gptq, releases 0.5.0-; torch, releases ")
    # What the rule says is told as well.
    assert "The last auto-gptq wheels" in first["detail"]


def test_a_stated_release_is_told_with_its_bounds_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = findings(capsys, tmp_path, LOG, '[packages]\nauto-gptq = "0.7.1"\ntorch = "2.4.0"\n')[0]
    assert first["rule"] == RULE
    assert not first["detail"].startswith("affected: ")


def test_releases_that_nobody_read_are_like_those_on_both_sides() -> None:
    assert fill(0b1001, 0b1001) == 0b1111
    assert fill(0b1001, 0b1011) == 0b1001


def test_a_stretch_goes_on_to_the_next_release_that_was_read() -> None:
    published = ("1.0", "1.1", "1.2", "1.3", "2.0", "3.0")
    said = "1.0-1.3 (2.0 says it no longer, and between it and 1.1 none was read)"
    assert write_unread(0b0011, RELEASES, published) == said
    assert write_unread(0b1100, RELEASES, published) == "2.0-"
    assert write_unread(0b0001, RELEASES, published) == "1.0"


def test_a_stretch_begins_with_the_series_of_its_first_release() -> None:
    published = ("1.9", "2.0", "2.0.1", "2.0.3", "2.1")
    said = "2.0- (1.9 does not say it, and between it and 2.0.3 none was read)"
    assert write_unread(0b110, ("1.9", "2.0.3", "2.1"), published) == said


def test_a_sentence_is_known_without_its_full_stop_after_few_words() -> None:
    assert likeness("Template {} does not exist.", "template gpt does not exist") > 20
    assert not likeness("Template {} does not exist.", "template gpt does not exist in that folder")


@pytest.mark.parametrize(
    ("log", "packages"),
    [
        ("ValueError: [E050] Can't find model 'en_core_web_trf'.", ["spacy"]),
        ("RESOURCE_DOES_NOT_EXIST: No experiment was found, and that is an error", ["mlflow"]),
        ("RuntimeError: This LightningModule was never given to a trainer here", ["pytorch-lightning", "lightning"]),
        ("Unsloth: Your GPU is too old!", ["unsloth"]),
        ("UserWarning: torchaudio._backend.get_audio_backend has been deprecated.", ["torchaudio"]),
    ],
)
def test_whose_sentence_it_is_that_nothing_explains(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, packages: list[str]
) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert (first["rule"], first["packages"]) == ("error-raised-by-package", packages)


def test_a_warning_tells_since_when_itself(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    warning = "UserWarning: The parameter 'pretrained' is deprecated since 0.13 and may be removed in the future"
    first = findings(capsys, tmp_path, warning)[0]
    assert first["packages"] == ["torchvision"]
    assert first["detail"].endswith("than what it says itself: releases 0.13-")
    # A run that goes on to its end is not asked about its warnings.
    assert not findings(capsys, tmp_path, f"{warning}\n{{'train_runtime': 12.0, 'train_loss': 0.4, 'epoch': 1.0}}\n")


CALL = 'Traceback (most recent call last):\n  File "/home/u/train.py", line 8, in <module>\n    args = '


@pytest.mark.parametrize(
    ("log", "package", "fits"),
    [
        ("TypeError: acme_attn_func() missing 1 required positional argument: 'max_s'", "acme-attn", "it fits in 2.0-"),
        ("TypeError: _sample() missing 1 required positional argument: 'logits_warper'", "house", "it fits in 2.0-"),
        ("TypeError: HouseArgs.__init__() got an unexpected keyword argument 'model_hf_config'", "house", "in any release until 2.0"),
        (
            f"{CALL}HouseArgs(**settings)\nTypeError: HouseArgs.__init__() got an unexpected keyword argument 'lr'",
            "house",
            "key of the dictionary",
        ),
    ],
)
def test_whose_function_a_call_does_not_fit(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, package: str, fits: str) -> None:
    with atlas_of(tmp_path, ATLAS):
        first = findings(capsys, tmp_path, log)[0]
    assert first["packages"] == [package]
    assert fits in first["detail"]


def test_who_loads_a_library_is_told_with_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "[ONNXRuntimeError] : 1 : FAIL : Failed to load library libonnxruntime_providers_cuda.so with error: libcublasLt.so.12: "
        "cannot open shared object file: No such file or directory"
    )
    assert findings(capsys, tmp_path, log)[0]["packages"][:2] == ["onnxruntime", "nvidia-cublas-cu12"]
