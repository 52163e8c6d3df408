"""What the log says of the very value: the line that shows what is None, the sentence of a validator, a folder that a build left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

ENGINE = "class Engine:\n    pass\n"
DEEPSPEED = {
    "0.17.6": {"deepspeed/__init__.py": "", "deepspeed/runtime/engine.py": ENGINE},
    "0.18.0": {"deepspeed/__init__.py": "", "deepspeed/runtime/engine.py": ENGINE, "deepspeed/runtime/superoffload/stage3.py": "A = 1\n"},
}
ACCELERATE = {"1.0.0": {"accelerate/__init__.py": "", "accelerate/big.py": "def dispatch(model, device_map=None): pass\n"}}
STUB = "def _getDeviceCount() -> int: ...\n"
TORCH = {
    "1.12.1": {"torch/__init__.py": "", "torch/_C/__init__.pyi": STUB},
    "1.13.0": {"torch/__init__.py": "", "torch/_C/__init__.pyi": STUB + "def _cuda_getCurrentRawStream(device: int) -> int: ...\n"},
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), {"deepspeed": DEEPSPEED, "torch": TORCH, "accelerate": ACCELERATE}) as atlas:
        yield atlas


def first(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str = 'os = "linux"\n') -> str:
    told = findings(capsys, tmp_path, log, facts)
    return str(told[0]) if told else ""


def path_of_nothing(code: str, file: str = "/x/site-packages/deepspeed/op_builder/dc.py") -> str:
    return (
        f'  Traceback (most recent call last):\n    File "{file}", line 32, in include_paths\n      return [{code}]\n'
        '    File "<frozen posixpath>", line 76, in join\n  TypeError: expected str, bytes or os.PathLike object, not NoneType'
    )


@pytest.mark.parametrize(
    ("code", "says", "never"),
    [
        ("os.path.join(torch.utils.cpp_extension.CUDA_HOME, 'include')", "CUDA_HOME is empty where a path is made of it", "tokenizer"),
        ("os.path.join(args.data_root, 'train')", "args.data_root is None, and a path is made of it", "tokenizer"),
        ("open(tiktoken_bpe_file, encoding='utf-8')", "A file that is to be opened has no name", "tiktoken_bpe_file is None"),
        ("os.path.join('x', fetch())", "A file that is to be opened has no name", "fetch is None"),
    ],
)
def test_the_line_that_is_shown_names_what_is_none(
    code: str, says: str, never: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = first(capsys, tmp_path, path_of_nothing(code))
    assert says in told
    assert never not in told


def test_a_build_that_turns_its_sources_into_those_of_rocm_is_told_what_rocm_has(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = path_of_nothing("os.path.join(CUDA_HOME, 'include')").replace(
        "    File", '    File "setup.py", line 195, in <module>\n      builder.hipify_extension()\n    File', 1
    )
    assert "a release of deepspeed that reads ROCM_HOME, or building without that part" in first(capsys, tmp_path, log)


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("Model architectures ['Qwen3MoeForCausalLM'] failed to be inspected. Please check the logs for more details.", "could not import"),
        ("The rank of this house is too high for its walls.", "ModelConfig refuses what it was given: The rank of this house"),
    ],
)
def test_what_a_validator_says_is_no_misspelt_key(sentence: str, says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        f"  Value error, {sentence} [type=value_error, input_value=ArgsKwargs((), {{}}), input_type=ArgsKwargs]"
    )
    told = first(capsys, tmp_path, log)
    assert says in told
    assert "remove the keys" not in told


def test_a_folder_that_a_build_left_out_is_not_brought_by_the_same_build(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/x/site-packages/deepspeed/runtime/engine.py", line 1835, in _configure\n'
        "    from deepspeed.runtime.superoffload.stage3 import A\n"
        "ModuleNotFoundError: No module named 'deepspeed.runtime.superoffload'"
    )
    told = first(capsys, tmp_path, log)
    assert "deepspeed imports a module of its own that was not installed" in told
    assert "two releases" not in told
    assert "the releases 0.18.0- have it" in told


RAW = "bitsandbytes/backends/cuda/ops.py:69\n_get_raw_stream = torch._C._cuda_getCurrentRawStream\n"
LACKS = "AttributeError: module 'torch._C' has no attribute '_cuda_getCurrentRawStream'"


def test_a_torch_without_cuda_is_not_taken_for_an_old_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, RAW + LACKS)[0]
    assert told["packages"] == ["bitsandbytes", "torch"]
    assert "its compiled part has no CUDA" in told["detail"]
    assert not any(fix.get("pins") for fix in told["fixes"])
    newer = first(capsys, tmp_path, RAW + LACKS, '[packages]\ntorch = "1.13.0"\n')
    assert "its compiled part has no CUDA" in newer
    assert "its compiled part has no CUDA" not in first(capsys, tmp_path, RAW + LACKS, '[packages]\ntorch = "1.12.1"\n')


def test_what_is_joined_along_the_tokens_was_not_padded_wrongly(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error = "RuntimeError: Sizes of tensors must match except in dimension {}. Expected size 32 but got size 64."
    assert "Prefix tuning" in first(capsys, tmp_path, error.format(2))
    assert "a collator that pads" in first(capsys, tmp_path, error.format(1))


def raised(code: str, error: str, place: str = "accelerate/big.py", function: str = "dispatch") -> str:
    return (
        f'Traceback (most recent call last):\n  File "/x/lib/python3.11/site-packages/{place}", line 47, in {function}\n    {code}\n{error}'
    )


@pytest.mark.parametrize(
    ("code", "error", "says", "status"),
    [
        (
            'if "disk" in device_map.values():',
            "AttributeError: 'NoneType' object has no attribute 'values'",
            "device_map is None in accelerate's dispatch, which uses it as if it were given",
            "matched",
        ),
        (
            "elif before.isalpha() and word.isalpha():",
            "AttributeError: 'NoneType' object has no attribute 'isalpha'",
            "before or word is None in accelerate's dispatch, which asks it for isalpha",
            "possible",
        ),
        (
            'a, b = adapter_file.split(".")',
            "ValueError: too many values to unpack (expected 2)",
            'adapter_file has more "." in it than accelerate reckons with',
            "matched",
        ),
        (
            "dist.all_reduce(grad, group=group)",
            "RuntimeError: Invalid function argument. Expected parameter `tensor` to be of type torch.Tensor.",
            "grad is no tensor: a weight without a gradient",
            "matched",
        ),
    ],
)
def test_the_line_of_a_package_names_the_value(
    code: str, error: str, says: str, status: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    told = findings(capsys, tmp_path, raised(code, error))[0]
    assert says in str(told["detail"])
    assert (told["status"], told["packages"]) == (status, ["accelerate"])


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("return self.values()", "AttributeError: 'NoneType' object has no attribute 'values'"),
        ("return make(device_map).values()", "AttributeError: 'NoneType' object has no attribute 'values'"),
        ("a, b = rows(adapter_file)", "ValueError: too many values to unpack (expected 2)"),
        ("dist.all_reduce(loss)", "RuntimeError: Invalid function argument. Expected parameter `tensor` to be of type torch.Tensor."),
    ],
)
def test_a_line_that_names_no_value_blames_none(code: str, error: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, raised(code, error))
    assert [one for one in told if one["status"] == "matched"] == []


def test_what_the_log_says_in_words_of_a_build_stands_in_the_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = raised(
        "from fbgemm_gpu.experimental.gen_ai.quantize import (",
        "ModuleNotFoundError: No module named 'fbgemm_gpu.experimental'",
        "torchao/int4.py",
    )
    told = first(capsys, tmp_path, f"{log}\nOn CPU, fbgemm_gpu not include fbgemm_gpu.experimental.")
    assert "the log says: On CPU, fbgemm_gpu not include fbgemm_gpu.experimental" in told
    assert "the log says" not in first(capsys, tmp_path, f"{log}\nI import fbgemm_gpu.experimental there.")
