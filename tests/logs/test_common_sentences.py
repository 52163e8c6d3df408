"""Sentences that people paste alone: what each means, and that a page about one package is no answer where that is nowhere to be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import Facts
from envdoctor.logs.libraries import AbsentLibrary
from envdoctor.logs.run_errors import judge_beside, judge_known
from envdoctor.logs.tracebacks import Failure
from tests.cli.run import run
from tests.logs.diagnosed import findings


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("RuntimeError: Inference tensors cannot be saved for backward.", "under inference_mode"),
        ("CheckpointError: torch.utils.checkpoint: Recomputed values for the following tensors have different metadata", "a second time"),
        ("RuntimeError: Triton Error [CUDA]: out of resource: shared memory, Required: 180224, Hardware limit: 101376.", "shared memory"),
        ("RuntimeError: An attempt has been made to start a new process before the", "starts processes"),
        ("ValueError: num_samples should be a positive integer value, but got num_samples=0", "no row to train on"),
        ("ValueError: --load_best_model_at_end requires the save and eval strategy to match, but found", "two strategies differ"),
        ("ValueError: You have set `args.eval_strategy` to steps but you didn't pass an `eval_dataset` to `Trainer`.", "to evaluate on"),
        ("TypeError: Object of type BitsAndBytesConfig is not JSON serializable", "JSON has no form for"),
        ("ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`", "some of them are frozen"),
        ("ValueError: The model did not return a loss from the inputs, only the following keys: logits.", "got no labels"),
        ("ValueError: No columns in the dataset match the model's forward method signature.", "not tokenized"),
        ("RuntimeError: Sizes of tensors must match except in dimension 1. Expected size 4 but got size 2", "different sizes"),
        ("RuntimeError: value cannot be converted to type at::Half without overflow", "cannot hold it"),
        ("RuntimeError: unscale_() has already been called on this optimizer since the last update().", "unscaled twice"),
        (
            "RuntimeError: Function MmBackward0 returned an invalid gradient at index 1 - expected device meta",
            "another device",
        ),
        ("RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.", "changed in place"),
        ("RuntimeError: DDP expects same model across all ranks, but Rank 0 has 10 params", "do not hold the same model"),
        ("ValueError: Default process group has not been initialized, please make sure to call init_process_group.", "nobody launched"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "memory is broken"),
        ("RuntimeError: Python 3.11+ not yet supported for torch.compile", "so new a Python"),
        ("CastError: Couldn't cast x: string to {} because column names don't match", "different columns"),
        ("ArrowInvalid: offset overflow while concatenating arrays", "2 GiB"),
        ("ValueError: Asking to pad but the tokenizer does not have a padding token.", "no padding token"),
        ("ValueError: The repository for x/y contains custom code which must be executed to correctly load the model.", "code of its own"),
        ("ValueError: No valid checkpoint found in output directory (out)", "none that it can use"),
        ("RuntimeError: No executable batch size found, reached zero.", "one row at a time"),
        ("ValueError: Input length of input_ids is 4096, but `max_length` is set to 2048.", "prompt alone"),
        ("ValueError: Please specify `target_modules` in `peft_config`", "no list of layers"),
        ("ValueError: weight is on the meta device, we need a `value` to put in on 0.", "not in the checkpoint"),
        ("AssertionError: zero stage 2 requires an optimizer", "nothing is trained"),
        ("Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.", "overflows in every step"),
        ("TypeError: not a string", "no path of a SentencePiece model"),
        ("OSError: sndfile library not found", "no libsndfile"),
        ("RuntimeError: Expected query, key, and value to have the same dtype, but got query.dtype: float", "of different types"),
        ("RuntimeError: stft requires the return_complex parameter be given for real inputs", "before 2.0"),
        ("RuntimeError: p.attn_bias_ptr is not correctly aligned", "as it lies in memory"),
        ("RuntimeError: CUDA error: out of memory", "memory is full"),
        ("ValueError: Undefined dataset mine in dataset_info.json.", "no entry for the data set"),
        ("ValueError: Template qwen3 does not exist.", "no template of that name"),
        ("RuntimeError: Cannot find valid samples, check `data/README.md` for the data format.", "No row of the data set"),
        ("ValueError: Some keys are not used by the HfArgumentParser: ['lora_ranks']", "does not know"),
        ("ValueError: Could not load model x/y with any of the following classes: (...)", "Every class"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg'", "ffmpeg is not installed"),
        ("LibsndfileError: Error opening 'a.m4a': Format not recognised.", "cannot read this kind"),
        ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0x8b in position 1: invalid start byte", "gzip"),
        ("CalledProcessError: Command '['where', 'cl']' returned non-zero exit status 1.", "no C++ compiler"),
        ("ReadTimeoutError: HTTPSConnectionPool(host='files.pythonhosted.org', port=443): Read timed out.", "cut off"),
        (": ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "checksum"),
        ("NotImplementedError: Unsloth currently only works on NVIDIA GPUs and Intel GPUs.", "no GPU that it runs on"),
    ],
)
def test_a_sentence_says_what_it_means(text: str, means: str) -> None:
    kind, _, message = text.partition(": ")
    hit = judge_known(Failure(kind, message, 1), Facts({}))
    assert hit is not None
    assert means in hit.headline
    assert hit.advice


@pytest.mark.parametrize(
    "text",
    ["TypeError: expected str, not a string list", "ValueError: num_samples should be a positive integer value, but got num_samples=-1"],
)
def test_a_sentence_like_it_is_not_taken_for_one(text: str) -> None:
    kind, _, message = text.partition(": ")
    assert judge_known(Failure(kind, message, 1), Facts({})) is None


@pytest.mark.parametrize(
    ("line", "means"),
    [
        ("/usr/bin/ld: cannot find -lcuda: No such file or directory", "finds no CUDA library"),
        ("c++: fatal error: Killed signal terminated program cc1plus", "memory ran out"),
        ("Failed to initialize NVML: Driver/library version mismatch", "updated under the running system"),
    ],
)
def test_a_line_beside_an_error_tells_why_it_failed(line: str, means: str) -> None:
    hit = judge_beside(line)
    assert hit is not None
    assert means in hit.headline


@pytest.mark.parametrize("attribute", ["config", "generate", "save_pretrained"])
def test_a_wrapper_for_several_gpus_is_no_class_of_another_package(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, attribute: str
) -> None:
    found = findings(capsys, tmp_path, f"AttributeError: 'DistributedDataParallel' object has no attribute '{attribute}'")
    told = [one["detail"] for one in found]
    assert told == ["The model is wrapped for several GPUs, and what it has itself is behind .module"]


def test_no_kernel_image_is_not_laid_to_a_package_that_is_nowhere(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
        "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    )
    found = [one["rule"] for one in findings(capsys, tmp_path, log) if one["status"] == "matched"]
    assert found == ["torch-wheel-lacks-gpu-kernels"]


def test_flash_attention_without_a_gpu_is_not_called_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "ValueError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: "
        "Flash Attention 2 is not available on CPU. Please make sure torch can access a CUDA device."
    )
    matched = [one["rule"] for one in findings(capsys, tmp_path, log) if one["status"] == "matched"]
    assert matched == ["flash-attn-off-cuda"]


def test_a_sentence_about_the_data_is_a_note_and_the_environment_innocent(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (found,) = findings(capsys, tmp_path, "ValueError: Undefined dataset mine in dataset_info.json.")
    assert (found["rule"], found["severity"], found["status"]) == ("error-of-what-was-given", "note", "matched")


def test_a_cure_in_words_is_followed_by_the_pins_that_do_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("AttributeError: 'DynamicCache' object has no attribute 'seen_tokens'\n", encoding="utf-8")
    (tmp_path / "facts.toml").write_text('os = "linux"\n', encoding="utf-8")
    told = run(capsys, "diagnose", str(log), "--facts", str(tmp_path / "facts.toml")).out
    assert '   or: pip install "transformers==4.48.3"' in told.splitlines()


@pytest.mark.parametrize(
    ("library", "told"),
    [
        ("libcufft.so.11", "CUDA 12:"),
        ("libcufft.so.10", "CUDA 11:"),
        ("libcusolver.so.11", "CUDA 11 or 12:"),
        ("libcublas.so.11", "CUDA 11:"),
    ],
)
def test_a_library_of_cuda_is_of_the_cuda_that_brings_it(library: str, told: str) -> None:
    owner = AbsentLibrary(library).owner()
    assert owner is not None
    assert told in owner[1]


def test_what_is_noted_of_a_stack_is_no_answer_to_a_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ValueError: the colours of this house are not those of its garden"
    assert findings(capsys, tmp_path, log, '[packages]\ntorch = "2.0.0"\n') == []
