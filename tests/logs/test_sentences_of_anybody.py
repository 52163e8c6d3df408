"""Sentences that Python, torch or a linker say whoever asked: alone they decide no rule, and with its package in the frames they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.atlas.shelf import open_package
from envdoctor.logs.likely_callers import LikelyCaller
from envdoctor.records import replace
from tests.atlas.wheels import atlas_of
from tests.logs.test_attribution import SITE, told

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large


@pytest.mark.parametrize(
    "log",
    [
        "TypeError: unhashable type: 'dict'",
        "TypeError: argument of type 'NoneType' is not iterable",
        "IndexError: pop from an empty deque",
        "terminate called after throwing an instance of 'std::bad_alloc'",
        "TypeError: issubclass() arg 1 must be a class",
        "AttributeError: 'int' object has no attribute 'mean'",
        "AttributeError: 'list' object has no attribute 'masked_fill'",
        "TypeError: zip() takes no keyword arguments",
        "click.exceptions.Exit: 0",
        'INFO: 127.0.0.1:5 - "POST /v1/chat/completions HTTP/1.1" 422 Unprocessable Entity',
        "ValueError: Unable to avoid copy while creating an array as requested.",
        "ImportError: libonnxruntime.so.1.16: cannot enable executable stack as shared object requires: Invalid argument",
        "RuntimeError: expected dtype float for `end` but got dtype c10::BFloat16",
        "RuntimeError: CUDA driver error: device not ready",
        "RuntimeError: Tensor.item() cannot be called on meta tensors",
        "TypeError: generate() takes 1 positional argument but 2 were given",
        "TypeError: forward() got an unexpected keyword argument 'inputs_embeds'",
        "TypeError: map() got an unexpected keyword argument 'num_proc'",
        "TypeError: '>' not supported between instances of 'NoneType' and 'float'",
        "TypeError: output tensor must have the same type as input tensor",
        "KeyError: 'full_attention'",
        "ModuleNotFoundError: No module named 'pytest'",
    ],
)
def test_a_sentence_of_anybody_alone_decides_no_rule(log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    decided = [rule for rule, status in told(capsys, tmp_path, log) if status == "matched" and not rule.startswith("error-")]
    assert decided == []


@pytest.mark.parametrize(
    ("package", "log", "rule"),
    [
        ("gradio", "TypeError: unhashable type: 'dict'", "gradio-before-5-3-starlette-1"),
        ("pydantic", "TypeError: issubclass() arg 1 must be a class", "pydantic-1-typing-extensions-4-6-literal"),
        ("datasets", "ValueError: Unable to avoid copy while creating an array as requested.", "datasets-numpy-2-copy-false"),
    ],
)
def test_with_its_package_in_the_frames_it_does(
    package: str, log: str, rule: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    frames = f'Traceback (most recent call last):\n  File "{SITE}/{package}/core.py", line 31, in work\n    return work(x)\n'
    assert (rule, "matched") in told(capsys, tmp_path, frames + log)


def test_a_class_of_the_project_takes_its_own_arguments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    rule, refused = "transformers-5-trainer-tokenizer-argument", ".__init__() got an unexpected keyword argument 'tokenizer'"
    assert (rule, "matched") not in told(capsys, tmp_path, f"TypeError: MyOwnRows{refused}")
    assert "matched" in dict(told(capsys, tmp_path, f"TypeError: MyOwnTrainer{refused}")).values()


def test_what_makes_a_run_slow_did_not_end_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    note = "Skipping import of cpp extensions due to incompatible torch version 2.8.0+cu128 for torchao version 0.12.0\n"
    frames = 'Traceback (most recent call last):\n  File "/home/me/p/train.py", line 20, in <module>\n    x = rows[name]\n'
    assert ("torchao-built-for-another-torch", "matched") in told(capsys, tmp_path, note)
    assert ("torchao-built-for-another-torch", "matched") not in told(capsys, tmp_path, f"{note}{frames}KeyError: 'a'\n")


def test_of_several_that_nobody_stated_none_is_moved(tmp_path: Path) -> None:
    releases = {version: {"rarely/__init__.py": f"version = '{version}'\n"} for version in ("1.0", "2.0")}
    with atlas_of(tmp_path, {"rarely": releases, "deepspeed": {v: {"deepspeed/__init__.py": f"v = '{v}'\n"} for v in ("1.0", "2.0")}}):
        rare, common = open_package("rarely"), open_package("deepspeed")
        assert rare is not None
        assert common is not None
        one = LikelyCaller("rarely", rare.volume, 1)
        assert one.pins() == (("rarely", ">=2.0"),)
        assert replace(one, alone=False).pins() == ()
        assert replace(one, alone=False, stated="1.0").pins() == (("rarely", ">=2.0"),)
        assert LikelyCaller("deepspeed", common.volume, 1, alone=False).pins() == (("deepspeed", ">=2.0"),)


def test_a_fault_of_the_stack_of_which_the_text_shows_nothing_is_possible(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stated = '[packages]\ncausal-conv1d = "1.2.0.post2"\nmamba-ssm = "1.1.1"\n'
    found = told(capsys, tmp_path, "NameError: name 'selective_scan_cuda_core' is not defined", stated)
    assert "matched" not in dict(found).values()
