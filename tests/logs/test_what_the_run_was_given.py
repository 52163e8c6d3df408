"""Rows, accounts, compilers, certificates and libraries: what stopped a run that no release is to blame for, in the words that help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

ROWS_OF_TRL = """Traceback (most recent call last):
  File "/e/lib/python3.11/site-packages/trl/trainer/sft_trainer.py", line 513, in tokenize
    element[dataset_text_field] if formatting_func is None else formatting_func(element),
  File "/e/lib/python3.11/site-packages/datasets/formatting/formatting.py", line 277, in __getitem__
    value = self.data[key]
KeyError: 'text'"""
COPY = """Traceback (most recent call last):
  File "/e/site-packages/torch/_utils.py", line 543, in reraise
    raise exception
RuntimeError: Caught RuntimeError in replica 0 on device 0.
Original Traceback (most recent call last):
  File "/e/site-packages/bitsandbytes/nn/modules.py", line 242, in forward
    out = bnb.matmul(x, self.weight, bias=self.bias, state=self.state)
RuntimeError: mat1 and mat2 shapes cannot be multiplied (511x2 and 3x4096)"""
FFMPEG = """RuntimeError: Could not load libtorchcodec. Likely causes:
          1. FFmpeg is not properly installed in your environment.
          2. The PyTorch version (2.10.0+cu128) is not compatible with
             this version of TorchCodec.
[start of libtorchcodec loading traceback]
FFmpeg version 7: libavutil.so.59: cannot open shared object file: No such file or directory
FFmpeg version 6: {}
[end of libtorchcodec loading traceback]."""
NO_FFMPEG = FFMPEG.format("libavutil.so.58: cannot open shared object file: No such file or directory")
OTHER_TORCH = FFMPEG.format("/e/torchcodec/libtorchcodec_core6.so: undefined symbol: _ZNK3c1010TensorImpl15incref_pyobjectEv")
EXPORTED = """LibMambaUnsatisfiableError: Encountered problems while solving:
- nothing provides requested zlib ==1.2.13 h5eee18b_0
- nothing provides requested xz ==5.2.6 h5eee18b_0
- nothing provides requested pytorch ==1.12.1 py3.9_cuda11.3_cudnn8.3.2_0
- nothing provides __unix needed by pysocks-1.7.1-pyha2e5f31_6"""
STRICT = "\n".join(
    ["LibMambaUnsatisfiableError: Encountered problems while solving:"]
    + [
        f"  - package {name} is excluded by strict repo priority"
        for name in ("pillow-9.4.0-py311h6a678d5_0", "python-3.11.4-h955ad1f_0", "x-1-h1_0")
    ]
)
OF_WINDOWS = r"""{
	"name": "RuntimeError",
	"message": "Failed to import transformers.training_args because of the following error (look up to see its traceback):
[WinError 1114] A DLL failed. Error loading \"D:\\x\\lib\\site-packages\\torch\\lib\\c10.dll\" or one of its dependencies","""
OLD_GCC = """  File "/e/site-packages/torch/_inductor/codecache.py", line 1976, in compile_file
    raise exc.CppCompileError(cmd, output) from e
CppCompileError: C++ compile error

Output:
g++: error: unrecognized command line option '-std=c++17'"""
OWN_NONE = """Traceback (most recent call last):
  File "tools/train.py", line 54, in train
    datamodule = get_datamodule(config)
  File "/home/me/project/data/__init__.py", line 83, in get_datamodule
    transform_config_train=config.dataset.transform_config.train,
AttributeError: 'NoneType' object has no attribute 'train'"""
OWN_INDEX = """Traceback (most recent call last):
  File "/home/me/project/trainers/utils.py", line 98, in select
    img_paths = img_paths[output_m_max_id]
IndexError: index 1957 is out of bounds for axis 0 with size 37"""

CRASH = """Fatal Python error: Segmentation fault

Current thread 0x0000000106b83dc0 (most recent call first):
  File "<frozen importlib._bootstrap>", line 241 in _call_with_frames_removed
  File "/home/me/venv/lib/python3.10/site-packages/pyarrow/__init__.py", line 65 in <module>
  File "/home/me/venv/lib/python3.10/site-packages/pandas/compat/pyarrow.py", line 8 in <module>
Segmentation fault (core dumped)"""
NOT_JOINED = """train.py: error: the following arguments are required: --model_name, --data
Traceback (most recent call last):
  File "/e/site-packages/accelerate/commands/launch.py", line 567, in simple_launcher
    raise subprocess.CalledProcessError(returncode=process.returncode, cmd=cmd)
subprocess.CalledProcessError: Command '['/e/bin/python', 'train.py']' returned non-zero exit status 2."""
NO_PART = """Traceback (most recent call last):
  File "/e/lib/python3.11/site-packages/exllamav2/ext.py", line 291, in <module>
    ext_c = exllamav2_ext
NameError: name 'exllamav2_ext' is not defined"""
TWO_STATES = """Traceback (most recent call last):
  File "/root/webui/modules/exllama_hf.py", line 103, in from_pretrained
    config.calculate_rotary_embedding_base()
AttributeError: 'ExLlamaConfig' object has no attribute 'calculate_rotary_embedding_base'"""
INHERITED = """Traceback (most recent call last):
  File "/content/MeZO/large_models/trainer.py", line 555, in _inner_training_loop
    if self.deepspeed:
AttributeError: 'OurTrainer' object has no attribute 'deepspeed'"""
PICKLED = """Traceback (most recent call last):
  File "/e/site-packages/torch/nn/modules/upsampling.py", line 154, in forward
    recompute_scale_factor=self.recompute_scale_factor)
  File "/e/site-packages/torch/nn/modules/module.py", line 1185, in __getattr__
    raise AttributeError("'{}' object has no attribute '{}'".format(
AttributeError: 'Upsample' object has no attribute 'recompute_scale_factor'"""
UPSAMPLE = {
    "torch": {
        version: {
            "torch/__init__.py": "",
            "torch/nn/__init__.py": "from torch.nn.modules.upsampling import Upsample\n",
            "torch/nn/modules/__init__.py": "",
            "torch/nn/modules/upsampling.py": f"class Upsample:\n    def __init__(self, size=None):\n        self.{field} = size\n",
        }
        for version, field in (("1.10.2", "size"), ("1.11.0", "recompute_scale_factor"))
    }
}
TIMM = {
    "timm": {
        "0.6.13": {"timm/__init__.py": "", "timm/models/__init__.py": ""},
        "0.9.16": {
            "timm/__init__.py": "",
            "timm/models/__init__.py": "",
            "timm/models/_builder.py": "def _update_default_model_kwargs(): pass\n",
        },
    }
}


@pytest.fixture
def timm(tmp_path: Path) -> Iterator[None]:
    with atlas_of(tmp_path, TIMM):
        yield


@pytest.mark.parametrize(
    ("log", "rule", "words"),
    [
        (ROWS_OF_TRL, "error-of-the-run", "The dataset has no column text: trl/trainer/sft_trainer.py:513"),
        ("IndexError: Invalid key: 0 is out of bounds for size 0", "error-of-what-was-given", "The dataset has no row left"),
        ("ArrowInvalid: JSON parse error: Column() changed from object to array in row 0", "error-of-what-was-given", "not of one shape"),
        ("UnicodeDecodeError: 'charmap' codec can't decode byte 0x81", "error-of-what-was-given", "in the encoding of the system"),
        ("ValueError: expected sequence of length 517 at dim 1 (got 512)", "error-of-what-was-given", "Rows of unequal length"),
        ("wandb: ERROR api_key not configured (no-tty). call wandb.login(key=[your_api_key])", "error-of-the-run", "wandb has no key"),
        ("wandb.errors.CommError: Run initialization has timed out after 90.0 sec.", "error-of-the-run", "did not reach its server"),
        ("NotImplementedError: BPE pre-tokenizer was not recognized - update get_vocab_base_pre()", "error-of-the-run", "hash"),
        ("ImportError: attempted relative import with no known parent package", "error-of-the-run", "as if it stood alone"),
        ("ValueError: Your setup doesn't support bf16/gpu.", "error-of-the-run", "it does not, or there is none"),
        ("nvcc fatal   : Value 'compute_86' is not defined for option 'gpu-architecture'", "error-of-the-run", "11.1 for 8.6"),
        (COPY, "error-of-the-run", "a copy that DataParallel made"),
        (NO_FFMPEG, "error-shared-library-missing", "There is no FFmpeg whose libraries torchcodec could load"),
        (EXPORTED, "error-no-distribution", "exported with its builds"),
        (STRICT, "error-no-distribution", "Strict channel priority"),
        (OF_WINDOWS, "error-shared-library-missing", "from 2.9 on torch wants a newer Visual C++ runtime"),
        (OLD_GCC, "error-of-the-run", "The C++ compiler is older"),
        (CRASH, "error-of-the-run", "ended (Segmentation fault) while compiled code of pyarrow was loaded or ran"),
        (NOT_JOINED, "error-of-the-run", "lines of it that were not joined"),
        (NO_PART, "error-name-undefined", "tries to import its compiled part exllamav2_ext"),
        (TWO_STATES, "error-of-own-code", "the parts of the project are of two states"),
        (OWN_NONE, "error-of-own-code", "config.dataset.transform_config is None"),
        (OWN_INDEX, "error-of-own-code", "img_paths[output_m_max_id]"),
        ("ImportError: libgthread-2.0.so.0: cannot open shared object file", "error-shared-library-missing", "libgthread-2.0.so.0"),
        (
            "ImportError: /root/.cache/torch_extensions/py311_cu124/cpu_adam/cpu_adam.so: cannot open shared object file: No such file",
            "error-shared-library-missing",
            "deepspeed compiles cpu_adam",
        ),
        ("EOFError: Ran out of input", "error-of-the-run", "A pickle that is to be read is empty"),
        (
            "RuntimeError: stack expects each tensor to be equal size, but got [3, 224, 224] at entry 0 and [1, 224, 224] at entry 1",
            "error-of-the-run",
            "Images of one batch differ",
        ),
        ("RuntimeError: stack expects each tensor to be equal size, but got [77] at entry 0", "error-of-the-run", "Rows of one batch"),
        ("TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()", "error-of-the-run", "computes in NumPy"),
        ("AttributeError: module 'lib' has no attribute 'X509_V_FLAG_CB_ISSUER_CHECK'", "error-of-the-run", "pyOpenSSL is older than"),
        ("FileNotFoundError: [Errno 2] No such file or directory: ':/usr/local/cuda-9.0/bin/nvcc'", "error-of-the-run", "with a colon"),
        ("FileNotFoundError: [Errno 2] No such file or directory: 'nvcc'", "error-of-the-run", "nvcc is not where CUDA_HOME leads"),
        ("error: Microsoft Visual C++ 14.0 or greater is required.", "error-of-the-run", "Windows has no C++ compiler"),
        ("launch.py: error: unrecognized arguments: --enable_each_rank_log=None", "error-of-the-run", "DeepSpeed's runner"),
        ("RuntimeError: DataLoader worker (pid(s) 15332) exited unexpectedly", "error-of-the-run", "ended by itself or was ended"),
        ("AttributeError: The vocab attribute was removed from KeyedVector in Gensim 4.0.0.", "error-of-the-run", "for gensim 3"),
        ("TypeError: load() missing 1 required positional argument: 'Loader'", "error-of-the-run", "a PyYAML before 6"),
        ("AttributeError: 'DataFrame' object has no attribute 'ix'", "error-of-the-run", "a pandas before 1.0"),
        ("RuntimeError: Found dtype Double but expected Float", "error-of-the-run", "The loss is of another type"),
        ("ModuleNotFoundError: No module named 'ldm.modules'", "error-module-missing", "what is found as ldm is another project's"),
        (INHERITED, "error-of-own-code", "it inherits from a class of another release"),
        ("requests.exceptions.SSLError: HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /x (Caused by "
         "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate')))",
         "error-hub-refuses", "a certificate that this Python does not trust"),
    ],
)  # fmt: skip
def test_what_the_run_was_given_is_told_first(log: str, rule: str, words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], words in first["detail"]) == (rule, True), first["detail"]


def test_a_torchcodec_of_another_torch_is_no_missing_ffmpeg(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, OTHER_TORCH)
    assert not any("There is no FFmpeg" in one["detail"] for one in told)


@pytest.mark.parametrize(
    "log",
    [
        "{'loss': 0.21, 'grad_norm': 1.3, 'epoch': 5.3}\n{'loss': 0.2096, 'grad_norm': nan, 'learning_rate': 0.00026, 'epoch': 5.38}",
        "{'loss': 5.3, 'epoch': 0.09}\n{'loss': nan, 'learning_rate': 0.0002, 'epoch': 0.09}",
    ],
)
def test_a_loss_that_is_no_number_is_laid_on_no_release_that_nobody_states(
    log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first, *others = findings(capsys, tmp_path, log)
    assert first["rule"] == "loss-is-no-number"
    assert {one["status"] for one in others} <= {"possible"}


def test_one_end_of_a_range_is_no_second_demand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ImportError: Transformer-Engine requires flash-attn >= 2.0.6, <= 2.4.2, but 2.5.0 found"
    (first,) = findings(capsys, tmp_path, log)
    assert [fix["pins"] for fix in first["fixes"] if fix.get("pins")] == [{"flash-attn": "==2.4.2"}]


def test_a_name_between_two_releases_that_were_read_is_pinned_between_them(
    timm: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log = "ImportError: cannot import name '_update_default_kwargs' from 'timm.models._builder'"
    (first,) = findings(capsys, tmp_path, log)
    # timm 0.9.6 and 0.9.12 have it, 0.9.16 renamed it: their wheels.
    assert [fix["pins"] for fix in first["fixes"] if fix.get("pins")] == [{"timm": "==0.9.12"}]
    assert "it is of a release before 0.9.16" in first["detail"]


def test_another_package_that_asks_for_the_same_is_not_the_one_of_the_page(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/e/site-packages/silero_vad/utils_vad.py", line 12, in <module>\n'
        "    if 'soundfile' in torchaudio.list_audio_backends():\n"
        "AttributeError: module 'torchaudio' has no attribute 'list_audio_backends'"
    )
    first, *others = findings(capsys, tmp_path, log)
    assert (first["rule"], first["packages"]) == ("error-attribute-missing", ["torchaudio", "silero-vad"])
    assert {one["status"] for one in others} <= {"possible"}


def test_a_class_of_a_package_that_is_nowhere_gives_way_to_the_stated_release(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ChatGLMTokenizer._pad() got an unexpected keyword argument 'padding_side'"
    told = findings(capsys, tmp_path, log, f'{NOTHING}[packages]\ntransformers = "4.45.2"\n')
    assert "diffusers" not in {name for one in told for name in one["packages"]}
    assert "transformers" in told[0]["packages"]


ACCELERATE = {
    "accelerate": {
        "0.16.0": {
            "accelerate/__init__.py": "",
            "accelerate/accelerator.py": "class Accelerator:\n    def __init__(self, logging_dir=None): pass\n",
        },
        "0.17.0": {
            "accelerate/__init__.py": "",
            "accelerate/accelerator.py": "class Accelerator:\n    def __init__(self, project_config=None): pass\n",
        },
    }
}


def test_a_class_that_the_line_calls_is_no_function_of_the_project(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "train_dreambooth_inpaint.py", line 421, in main\n    accelerator = Accelerator(\n'
        "TypeError: __init__() got an unexpected keyword argument 'accelerator_project_config'"
    )
    with atlas_of(tmp_path, ACCELERATE):
        first, *_ = findings(capsys, tmp_path, log)
    assert (first["rule"], first["packages"]) == ("error-argument-refused", ["accelerate"])
    assert first["fixes"][0]["note"] == "project_config in place of accelerator_project_config"


def test_an_object_that_an_earlier_release_pickled_is_no_release_that_lacks_a_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with atlas_of(tmp_path, UPSAMPLE):
        first, *_ = findings(capsys, tmp_path, PICKLED)
    assert "An object of torch was pickled under an earlier release" in first["detail"]
    assert [fix["pins"] for fix in first["fixes"] if fix.get("pins")] == [{"torch": "==1.10.2"}]
