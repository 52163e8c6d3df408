"""Messages that state a path, a shape or a place in a file: the answer uses these values, and lays them on no package."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.logs.counted_messages import judge_counted
from envdoctor.logs.stated_values import judge_general, judge_stated
from envdoctor.logs.tracebacks import Failure
from tests.logs.diagnosed import findings
from tests.logs.test_refused_runs import derive


@pytest.mark.parametrize(
    ("text", "headline", "behind"),
    [
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '~/models/config.json'",
            "A file, a folder or a program is not where it is looked for: ~/models/config.json",
            "Python does not write out the ~",
        ),
        (
            r"FileNotFoundError: [Errno 2] No such file or directory: 'wavs/a.wav|hello there|3'",
            "A file, a folder or a program is not where it is looked for: wavs/a.wav|hello there|3",
            "a whole line of a list was taken for the path",
        ),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: '/content/data/clip_01.wav'",
            "A file, a folder or a program is not where it is looked for: /content/data/clip_01.wav",
            "a row of the data names a file that is not there",
        ),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'ninja'", "The program ninja is started, and it is not on the PATH", ""),
        (
            "PermissionError: [Errno 13] Permission denied: '/home/appuser/.cache/huggingface'",
            "The user that the program runs as may not read or write /home/appuser/.cache/huggingface",
            "the cache belongs to another user",
        ),
        (
            r"json.decoder.JSONDecodeError: Invalid \escape: line 18 column 28 (char 338)",
            "The JSON file has a single backslash in line 18, column 28",
            "a Windows path",
        ),
        (
            "RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[8, 1, 224, 224] to have 3 channels, but got "
            "1 channels instead",
            "A convolution takes 3 channels and gets 1",
            "1 is grey, 3 is RGB",
        ),
        (
            "ArrowTypeError: (\"Expected bytes, got a 'int' object\", 'Conversion failed for column id with type object')",
            "Column id holds values of several types: Expected bytes, got a 'int' object",
            "Arrow wants one type",
        ),
        (
            "RuntimeError: The size of tensor a (504) must match the size of tensor b (448) at non-singleton dimension 1",
            "A row of 504 meets 448 positions: 448 is how many tokens Whisper's decoder takes: a label is longer",
            "",
        ),
        (
            "RuntimeError: Attempting to deserialize object on CUDA device 3 but torch.cuda.device_count() is 1.",
            "The file was saved from GPU 3, which this process does not have",
            "",
        ),
        ("UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80 in position 0: invalid start byte", "A binary file is read as text", ""),
        ("git: 'lfs' is not a git command. See 'git --help'.", "git-lfs is not installed", ""),
        ("train.sh: line 2: $'\\r': command not found", "A script has the line ends of Windows", ""),
        ("bash: accelerate: command not found", "The shell finds no program accelerate on the PATH", ""),
    ],
)
def test_the_answer_is_made_of_the_values(text: str, headline: str, behind: str) -> None:
    found, *_ = derive(text)
    assert found.hit.headline.startswith(headline)
    assert behind in found.hit.detail
    assert found.hit.packages == ()
    assert found.hit.advice


def test_of_a_width_that_is_no_length_nothing_is_said_of_positions() -> None:
    found, *_ = derive("RuntimeError: The size of tensor a (1024) must match the size of tensor b (512) at non-singleton dimension 1")
    assert "positions:" not in found.hit.edge


def test_layers_of_a_diffusion_model_alone_take_the_widths_of_texts() -> None:
    other, *_ = derive("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8256x1024 and 768x256)")
    assert "Stable Diffusion" not in other.hit.detail
    found, *_ = derive("RuntimeError: mat1 and mat2 shapes cannot be multiplied (154x1024 and 768x320)")
    assert "Stable Diffusion" in found.hit.detail


def test_a_table_that_is_kept_the_other_way_round_is_told_as_that() -> None:
    found, *_ = derive(
        "RuntimeError: Error(s) in loading state_dict for HuggingFaceWhisper:\n"
        "size mismatch for _mel_filters: copying a param with shape torch.Size([80, 201]) from the checkpoint, the shape in the "
        "current model is "
        "torch.Size([201, 80])."
    )
    assert "axes exchanged" in found.hit.detail


@pytest.mark.parametrize("text", ["IndexError: list index out of range", "TypeError: 'NoneType' object is not iterable"])
def test_what_any_code_can_raise_is_a_note_that_accuses_nobody(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    (note,) = findings(capsys, tmp_path, text)
    assert (note["severity"], note["status"], note["packages"]) == ("note", "possible", [])
    kind, _, message = text.partition(": ")
    assert judge_stated(Failure(kind, message, 1)) is None
    assert judge_general(Failure(kind, message, 1)) is not None


def test_a_key_of_a_configuration_that_a_package_reads(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "Traceback (most recent call last):\n"
        '  File "/venv/lib/python3.11/site-packages/mlx_vlm/trainer/trainer.py", line 89, in __getitem__\n'
        '    image_token_index = self.config["image_token_index"]\n'
        "KeyError: 'image_token_index'"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert first["status"] == "possible"
    assert first["packages"] == ["mlx-vlm"]
    assert "The configuration has no image_token_index, and mlx-vlm reads it there" in first["detail"]


@pytest.mark.parametrize(
    ("text", "headline", "more"),
    [
        ("AssertionError: only support equal chunk. Got size of DataProto 512 and chunk 6.", "512 is no multiple of 6", "512 = 85 x 6 + 2"),
        (
            "ValueError: The global train batch size (7 x 1) must be evenly divisible by the number of generations per prompt (8). Given "
            "the current train batch size, the valid values for the number of generations are: [7].",
            "7 is no multiple of 8",
            "one of 1, 7",
        ),
        (
            "ValueError: train_batch_size (32) must be >= actor.ppo_mini_batch_size (64)",
            "train_batch_size is 32 and actor.ppo_mini_batch_size is 64",
            "raise train_batch_size, or lower actor.ppo_mini_batch_size",
        ),
        (
            "torch.multiprocessing.spawn.ProcessExitedException: process 0 terminated with exit code 3221225620",
            "A process was ended by Windows with 0xC0000094: an integer was divided by zero",
            "faulthandler",
        ),
        (
            "subprocess.CalledProcessError: Command 'ssh -o BatchMode=yes 10.0.0.1 hostname' returned non-zero exit status 255.",
            "ssh to 10.0.0.1 failed (255)",
            "ssh-copy-id 10.0.0.1",
        ),
        ("KeyError: 'lora_te_text_model_encoder_layers_0_mlp_fc1.hada_w1_'", "The program has no place for weights", "LoHa"),
        ("KeyError: 'LOCAL_RANK'", "The environment has no variable LOCAL_RANK", "torchrun"),
        ("AttributeError: _2D", "An enumeration has no member _2D", "face-alignment"),
        (
            "error loading model: unknown (magic, version) combination: 46554747, 00000003; is this really a GGML file?",
            "The file is a GGUF, and the llama.cpp that reads it is of before GGUF",
            "0.1.79",
        ),
        ("gguf_init_from_file: invalid magic number 67676a74", "The file is GGJT (GGML), the kind of before GGUF", "0.1.78"),
        (
            "RuntimeError: stack expects each tensor to be equal size, but got [1, 80, 32] at entry 0 and [1, 80, 31] at entry 3",
            "Spectrograms of one batch differ in length: 32 frames and 31",
            "mel",
        ),
    ],
)
def test_what_the_numbers_come_to(text: str, headline: str, more: str) -> None:
    found, *_ = derive(text)
    assert found.hit.headline.startswith(headline)
    assert more in found.hit.said


@pytest.mark.parametrize(
    "text",
    [
        "RuntimeError: all sizes must be divisible by 8",
        "KeyError: 'TEXT'",
        "ValueError: 8 is a multiple of 4",
        "subprocess.CalledProcessError: Command 'make' returned non-zero exit status 2.",
    ],
)
def test_where_there_is_nothing_to_compute_nothing_is(text: str) -> None:
    kind, _, message = text.partition(": ")
    assert judge_counted(Failure(kind, message, 1)) is None


def test_a_line_of_the_project_is_told_with_what_is_certain_of_its_error(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "Traceback (most recent call last):\n"
        '  File "/home/me/tts/data/dataset.py", line 190, in init_batch\n'
        "    for _ in range(max(2, int(min_num / leng))):\n"
        "ZeroDivisionError: division by zero"
    )
    first, *_ = findings(capsys, tmp_path, log)
    assert "A count is zero that is divided by" in first["detail"]
    assert "min_num / leng" in first["detail"]


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        (
            "RuntimeError: The size of tensor a (1600) must match the size of tensor b (196) at non-singleton dimension 1",
            "An image of 40 x 40 patches meets positions for 14 x 14",
        ),
        (
            "RuntimeError: The size of tensor a (5) must match the size of tensor b (197) at non-singleton dimension 1",
            "An image of 2 x 2 patches meets positions for 14 x 14",
        ),
        ("RuntimeError: Library cublas64_11.dll is not found or cannot be loaded", "CTranslate2 3"),
        ("Could not locate cublasLt64_12.dll. Please make sure it is in your library path!", "cublasLt64_12.dll is not found"),
        ("RuntimeError: unexpected EOF, expected 236 more bytes. The file might be corrupted.", "The file of weights ends too early: 236"),
        ("Segmentation fault (core dumped)", "The process was ended by SIGSEGV"),
        ("OverflowError: out of range integral type conversion attempted", "Ids are decoded of which one is negative"),
        (
            "IndexError: index 24 is out of bounds for dimension 0 with size 22",
            "Entry 24 is asked for, and dimension 0 has 22 entries",
        ),
        (
            "onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument: [ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Unexpected input "
            "data type. Actual: (tensor(int64)) , expected: (tensor(float))",
            "An input of the ONNX model is tensor(int64), and it takes tensor(float)",
        ),
        ("KeyError: '\"name\"'", "A text with braces of its own goes through str.format"),
        ("AssertionError: res=<Response [502]>, res.text=''", "The answer is 502"),
    ],
)
def test_what_was_loaded_or_answered(text: str, headline: str) -> None:
    found, *_ = derive(text)
    assert found.hit.headline.startswith(headline)


def test_a_sentence_that_nobody_knows_is_repeated_where_it_says_what_to_do(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (note,) = findings(capsys, tmp_path, "ValueError: the split is too small for our packing. You should set `our_packing: False`.")
    assert (note["severity"], note["status"], note["packages"]) == ("note", "possible", [])
    assert note["fixes"][0]["note"] == "do what it asks for: You should set `our_packing: False`."
    assert findings(capsys, tmp_path, "ValueError: the split is too small for our packing") == []
