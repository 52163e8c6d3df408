"""Sentences that named a wrong cause, or a cure that nobody wants, on threads of their kinds: what is told in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

SIZES = (
    "RuntimeError: Error(s) in loading state_dict for M:\n\tsize mismatch for lm_head.weight: copying a param with shape "
    "torch.Size([{}, 768]) from checkpoint, the shape in current model is torch.Size([{}, 768])."
)
LOADED = "OSError: Can't load tokenizer for '{}'. If you were trying to load it from 'https://huggingface.co/models', make sure"
KNOWN = "ValueError: Unrecognized configuration class <class 'transformers_modules.m.configuration_m.MConfig'> to build an AutoTokenizer."
WANTED = "The conflict is caused by:\n    The user requested safetensors==0.3.3\n    transformers 4.42.4 depends on safetensors>=0.4.1"
OF_A_PROJECT = (
    "  × No solution found when resolving dependencies:\n  ╰─▶ Because vllm==0.5.4 depends on numpy<2.0.0 and benchwork depends on "
    "numpy==2.1.1, we can conclude that benchwork and vllm==0.5.4 are incompatible."
)


@pytest.mark.parametrize(
    ("log", "says", "never"),
    [
        (SIZES.format(32, 59744), "another vocabulary altogether", "resize_token_embeddings"),
        (SIZES.format(50400, 50258), "a fork of it", "another vocabulary"),
        (LOADED.format("/data/m/tokenizer"), "No file of the tokenizer was found in /data/m/tokenizer", "the whole path of the folder"),
        (LOADED.format("bert-base-uncased"), "the name is right", "private"),
        (LOADED.format("acme/M-7B-GGUF"), "of the model that it was made of", "a folder called"),
        (LOADED.format("acme/m").replace("'", "\u2019"), "a folder called m where the run starts", "the name is right"),
        (KNOWN, "tokenizer_config.json", "unsloth"),
        ("AttributeError: 'DeepSpeedZeRoOffload' object has no attribute 'backward'", "without an optimizer", "deepspeed=="),
        ("AttributeError: module 'torch.distributed' has no attribute 'is_initialized'", "without torch.distributed", "called torch"),
        ("AttributeError: 'tuple' object has no attribute 'get_seq_length'", "come as a tuple", "no cause is known"),
        ("AssertionError: MMCV==1.3.9 is used but incompatible. Please install mmcv>=[1, 1, 4], <=[1, 2, 0].", "<=1.2", "could not tell"),
        ("ImportError: flash_attn undefined symbol", "pip uninstall -y flash-attn", "no cause is known"),
        ("TypeError: Descriptors cannot not be created directly.", "'protobuf': '==3.20.3'", "the message asks for tensorboard"),
        (
            "transformers==4.15.0 requires tokenizers<0.11,>=0.10.1 but tokenizers 0.11.1 was resolved",
            "'tokenizers': '==0.10.3'",
            "asks for transformers",
        ),
    ],
)
def test_the_first_finding_says_what_is_so(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, says: str, never: str) -> None:
    told = findings(capsys, tmp_path, log)[0]
    assert says in str(told)
    assert never not in str(told)


@pytest.mark.parametrize(("log", "first"), [(WANTED, {"safetensors": "==0.4.1"}), (OF_A_PROJECT, {"numpy": "==1.26.4"})])
def test_a_line_of_ones_own_moves_before_the_package_that_refuses_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, first: dict[str, str]
) -> None:
    assert findings(capsys, tmp_path, log)[0]["fixes"][0]["pins"] == first


@pytest.mark.parametrize("who", ["bfloat16 is only", "BF16 is only"])
def test_bfloat16_on_an_older_card_is_float16_however_it_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path, who: str) -> None:
    log = f"valueerror: {who} supported on gpus with compute capability of at least 8.0. your tesla v100 gpu has compute capability 7.0."
    assert "float16 in place of bfloat16" in str(findings(capsys, tmp_path, log, NOTHING)[0]["fixes"])


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ('os = "linux"\n', "labels that are not -100"),
        ("[plan]\nfp16 = true\n", "bf16"),
        ("[plan]\nbf16 = true\n", "max_prompt_length below it"),
    ],
)
def test_numbers_that_are_none_are_told_though_a_rule_may_hold(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, facts: str, says: str
) -> None:
    told = findings(capsys, tmp_path, "grad_norm=nan, loss=0.0", facts)[0]
    assert told["rule"] == "loss-is-no-number"
    assert says in str(told["fixes"][0])
