"""What is pasted in part: messages without their end, frames in which an object says that it lacks something, methods without a class."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

ACCELERATE = {
    release: {"accelerate/accelerator.py": f"class Accelerator:\n    def unwrap_model(self, model{more}): pass\n"}
    for release, more in (("0.14.0", ""), ("0.15.0", ", keep_fp32_wrapper=True"))
}
TOKENIZER = "class BertTokenizer:\n    def __init__(self): pass\n"
TRANSFORMERS = {
    "4.57.6": {"transformers/models/bert/tokenization_bert.py": f"{TOKENIZER}    def batch_encode_plus(self): pass\n"},
    "5.0.0": {"transformers/models/bert/tokenization_bert.py": TOKENIZER},
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), {"accelerate": ACCELERATE, "transformers": TRANSFORMERS}) as atlas:
        yield atlas


def test_a_method_whose_class_no_python_before_3_10_tells_is_known_by_the_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "train.py", line 720, in save\n'
        "    encoder = accelerator.unwrap_model(encoder, keep_fp32_wrapper=True)\n"
        "TypeError: unwrap_model() got an unexpected keyword argument 'keep_fp32_wrapper'"
    )
    told = findings(capsys, tmp_path, log)[0]
    assert (told["rule"], told["packages"]) == ("error-argument-refused", ["accelerate"])
    assert told["fixes"][0]["pins"] == {"accelerate": "==0.15.0"}


def test_what_a_tokenizer_of_transformers_5_says_without_quotes_is_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, "AttributeError: BertTokenizer has no attribute batch_encode_plus. Did you mean: '_encode_plus'?")[0]
    assert (told["rule"], told["packages"]) == ("error-attribute-missing", ["transformers"])
    assert told["fixes"][0]["pins"] == {"transformers": "==4.57.6"}


def test_torch_is_not_accused_of_an_attribute_that_the_projects_own_line_asks_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "run.py", line 121, in evaluate\n    layers = model.model.decoder.layers\n'
        '  File "/x/site-packages/torch/nn/modules/module.py", line 1207, in __getattr__\n    raise AttributeError("...")\n'
        "AttributeError: 'SomeModel' object has no attribute 'decoder'"
    )
    (told,) = findings(capsys, tmp_path, log)
    assert (told["status"], told["packages"]) == ("possible", [])
    assert told["detail"].startswith("The project's own code asks for what is not there: 'SomeModel' object has no attribute 'decoder'")


@pytest.mark.parametrize(
    ("log", "rule", "packages"),
    [
        ("ValueError: Target module Dropout(p=0.0, inplace=False) is not supported", "error-of-the-run", ["peft"]),
        ("ValueError: The following `model_kwargs` are not used by the model: ['x']", "error-of-the-run", ["transformers"]),
        ("ValueError: --tf32 requires Ampere or a newer GPU arch, cuda>=11 and torch>=1.7", "error-of-the-run", ["transformers"]),
        ("steps: 100%|###| 33/33 [2:41<00:00, avr_loss=nan]", "loss-is-no-number", []),
        ('RuntimeError(f"{param.ds_summary()} already in registry")', "error-raised-by-package", ["deepspeed"]),
        ("NameError: name 'autogptq_cuda_256' is not defined", "error-of-the-run", ["auto-gptq"]),
    ],
)
def test_what_is_left_of_a_message_says_whose_it_is(
    log: str, rule: str, packages: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = findings(capsys, tmp_path, log)[0]
    assert (told["rule"], told["packages"]) == (rule, packages)


def test_of_an_installers_conflicts_releases_that_do_not_go_come_before_what_is_absent(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = (
        "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. This behaviour is the "
        "source of the following dependency conflicts.\nte 0.4.0 requires ml-dtypes, which is not installed.\n"
        "vllm 0.18.0 requires torch==2.10.0, but you have torch 2.9.0 which is incompatible."
    )
    assert [one["packages"] for one in findings(capsys, tmp_path, log)] == [["vllm", "torch"], ["te", "ml-dtypes"]]
