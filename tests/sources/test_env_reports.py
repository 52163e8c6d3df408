"""What is read of pasted environment reports and bug reports."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envdoctor.facts.fact import Collected
from envdoctor.facts.values import shown
from envdoctor.facts.versions import ABSENT, Ranged
from envdoctor.sources.stated import report_words
from envdoctor.sources.stated.env_reports import parse_env_report, parse_printed_report
from tests.examples import examples
from tests.steps import IN_PROPORTION, growth

parser: Any = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")

TRANSFORMERS_ENV = """\
Copy-and-paste the text below in your GitHub issue and FILL OUT the two last points.

- `transformers` version: 4.44.2
- Platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35
- Python version: 3.10.14
- Huggingface_hub version: 0.24.6
- Safetensors version: not installed
- Accelerate version: 0.33.0
- Accelerate config:    not found
- PyTorch version (GPU?): 2.4.0+cu121 (True)
- Tensorflow version (GPU?): not installed (NA)
- Flax version (CPU?/GPU?/TPU?): 0.8.2 (cpu)
- Jax version: not installed
- Using distributed or parallel set-up in script?: <fill in>
- Using GPU in script?: <fill in>
- GPU type: NVIDIA L20
"""

COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.5.1
Is debug build: False
CUDA used to build PyTorch: 12.1
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.4 LTS (x86_64)
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
CMake version: version 3.30.2
Libc version: glibc-2.35

Python version: 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.31
Is CUDA available: True
CUDA runtime version: 12.4.131
GPU models and configuration:
GPU 0: NVIDIA A100-SXM4-80GB
GPU 1: NVIDIA A100-SXM4-80GB

Nvidia driver version: 535.104.05
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.8.9.0
/usr/lib/x86_64-linux-gnu/libcudnn_ops_infer.so.8.9.0
HIP runtime version: N/A
Model name:                         Intel(R) Xeon(R) Platinum 8358 CPU @ 2.60GHz

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] nvidia-cudnn-cu12==9.1.0.70
[pip3] torch==2.5.1+cu121
[conda] mkl                       2023.1.0         h213fc3f_46344
[conda] numpy                     1.26.4                   pypi_0    pypi
"""

ACCELERATE_ENV = """\
- `Accelerate` version: 1.10.1
- Platform: macOS-14.4-arm64-arm-64bit
- `accelerate` bash location: /opt/homebrew/bin/accelerate
- Python version: 3.12.3
- Numpy version: 2.1.0
- PyTorch version: 2.8.0
- PyTorch accelerator: N/A
- System RAM: 36.00 GB
- `Accelerate` default config:
\t- mixed_precision: no
\t- num_processes: 1
"""

LLAMAFACTORY_ENV = """\
- `llamafactory` version: 0.9.3.dev0
- Platform: Windows-10-10.0.22631-SP0
- Python version: 3.10.6
- PyTorch version: 2.3.0+cu121 (GPU)
- Transformers version: 4.49.0
- Datasets version: 3.2.0
- Accelerate version: 1.2.1
- PEFT version: 0.12.0
- TRL version: 0.9.6
- GPU type: NVIDIA A100-SXM4-80GB
- GPU number: 8
- GPU memory: 79.25GB
- DeepSpeed version: 0.16.1
- Bitsandbytes version: 0.45.0
- vLLM version: 0.6.6.post1
"""


def read(text: str) -> Collected:
    found = parse_env_report(text, "issue.md")
    assert found is not None
    return found


def facts(text: str) -> dict[str, str]:
    """Every fact as ``value @line``; a fact must not be told twice."""
    found = read(text).facts
    assert len({fact.name for fact in found}) == len(found)
    return {fact.name.removeprefix("packages."): f"{shown(fact.value)} @{fact.origin.line}" for fact in found}


def values(text: str) -> dict[str, str]:
    return {name: value.rpartition(" @")[0] for name, value in facts(text).items()}


def skips(text: str) -> list[str]:
    return [f"{skip.what}: {skip.why}" for skip in read(text).skips]


def test_transformers_env_is_read_whole() -> None:
    assert facts(TRANSFORMERS_ENV) == {
        "transformers": "4.44.2 @3",
        "os": "linux @4",
        "machine": "x86_64 @4",
        "glibc": "2.35 @4",
        "python": "3.10.14 @5",
        "huggingface-hub": "0.24.6 @6",
        "safetensors": "not installed @7",
        "accelerate": "0.33.0 @8",
        "torch": "2.4.0+cu121 @10",
        "cuda": "12.1 @10",
        "accelerator": "cuda @10",
        "tensorflow": "not installed @11",
        "flax": "0.8.2 @12",
        "jax": "not installed @13",
        "gpu.name": "NVIDIA L20 @16",
    }
    assert read(TRANSFORMERS_ENV).skips == ()
    assert read(TRANSFORMERS_ENV).facts[0].origin.file == "issue.md"


def test_collect_env_is_read_whole() -> None:
    assert facts(COLLECT_ENV) == {
        "torch": "2.5.1+cu121 @30",  # the list has the label that the headline lacks
        "cuda": "12.1 @30",
        "os": "linux @7",
        "machine": "x86_64 @7",
        "glibc": "2.35 @10",
        "python": "3.11.9 @12",
        "accelerator": "cuda @14",
        "gpu.name": "NVIDIA A100-SXM4-80GB @17",
        "gpu.count": "2 @17",
        "driver": "535.104.05 @20",
        "numpy": "1.26.4 @28",
        "nvidia-cudnn-cu12": "9.1.0.70 @29",
        "cudnn": "9.1.0.70 @29",
    }
    assert skips(COLLECT_ENV) == ["issue.md:21: cuDNN: the report lists the system's files, and torch's wheels bring their own"]


def test_accelerate_env_is_read_whole() -> None:
    assert facts(ACCELERATE_ENV) == {
        "accelerate": "1.10.1 @1",
        "os": "macos @2",
        "machine": "arm64 @2",
        "python": "3.12.3 @4",
        "numpy": "2.1.0 @5",
        "torch": "2.8.0 @6",
    }


def test_llamafactory_env_is_read_whole() -> None:
    assert facts(LLAMAFACTORY_ENV) == {
        "llamafactory": "0.9.3.dev0 @1",
        "os": "windows @2",
        "python": "3.10.6 @3",
        "torch": "2.3.0+cu121 @4",
        "cuda": "12.1 @4",
        "accelerator": "cuda @4",
        "transformers": "4.49.0 @5",
        "datasets": "3.2.0 @6",
        "accelerate": "1.2.1 @7",
        "peft": "0.12.0 @8",
        "trl": "0.9.6 @9",
        "gpu.name": "NVIDIA A100-SXM4-80GB @10",
        "gpu.count": "8 @11",
        "gpu.memory_gib": "79.25 @12",
        "deepspeed": "0.16.1 @13",
        "bitsandbytes": "0.45.0 @14",
        "vllm": "0.6.6.post1 @15",
    }


def test_ds_report_and_the_banner_of_unsloth_are_read() -> None:
    ds_report = """\
torch version .................... 2.4.0+cu121
deepspeed install path ........... ['/opt/conda/lib/python3.11/site-packages/deepspeed']
deepspeed info ................... 0.14.4, unknown, unknown
nvcc version ..................... 12.2
deepspeed wheel compiled w. ...... torch 0.0, cuda 0.0
"""
    assert facts(ds_report) == {"torch": "2.4.0+cu121 @1", "cuda": "12.1 @1", "python": "3.11 @2", "deepspeed": "0.14.4 @3"}
    unsloth = """\
==((====))==  Unsloth 2025.2.12: Fast Llama patching. Transformers: 4.48.3.
   \\\\   /|    NVIDIA GeForce RTX 4090. Num GPUs = 1. Max memory: 23.988 GB. Platform: Linux.
O^O/ \\_/ \\    Torch: 2.5.1. CUDA: 12.0. CUDA Toolkit: 12.8. Triton: 3.1.0
"-____-"     Bfloat16 = TRUE. FA [Xformers = 0.0.28.post3. FA2 = False]
"""
    # "CUDA: 12.0" in that banner is the compute capability.
    assert values(unsloth) == {
        "unsloth": "2025.2.12", "transformers": "4.48.3", "gpu.name": "NVIDIA GeForce RTX 4090", "os": "linux",
        "torch": "2.5.1", "cuda": "12.8", "triton": "3.1.0", "xformers": "0.0.28.post3",
    }  # fmt: skip


def test_nvidia_smi_tells_driver_and_gpus_but_not_the_cuda_of_torch() -> None:
    table = """\
> | NVIDIA-SMI 550.78                 Driver Version: 550.78         CUDA Version: 12.4     |
> |   0  NVIDIA H100 PCIe               Off |   00000000:01:00.0 Off |                    0 |
> | N/A   43C    P0             52W /  350W |      26MiB /  81559MiB |      0%      Default |
> |   1  NVIDIA H100 PCIe               Off |   00000000:02:00.0 Off |                    0 |
"""
    assert facts(table) == {"driver": "550.78 @1", "gpu.name": "NVIDIA H100 PCIe @2", "gpu.count": "2 @2", "gpu.memory_gib": "79.65 @3"}


ISSUE = """\
### System Info

<details>
<summary>env</summary>

```shell
\x1b[32m- `transformers` version: 4.41.2\x1b[0m
- **PEFT version**: 0.11.1
| torch | 2.3.1 |
```
</details>

### Reproduction

Training fails, see below. Environment: bnb 0.43.1, flash_attn==2.5.8, deepspeed=0.14.2.

```
  1%|          | 1/100 [00:01<02:30,  1.52s/it]\r  2%|2         | 2/100 [00:03<02:28,  1.52s/it]
Traceback (most recent call last):
  File "/root/miniconda3/envs/glm/lib/python3.10/site-packages/torch/nn/modules/module.py", line 1511, in _call_impl
    assert torch.__version__ == "2.9.9"
  File "/root/transformers-4.99.0/src/transformers/trainer.py", line 1, in train
ImportError: accelerate>=0.26.0 is required, found accelerate 9.9.9; try pip install accelerate==0.30.0
```
"""


def test_a_pasted_bug_report_states_what_its_environment_says_and_nothing_else() -> None:
    assert facts(ISSUE) == {
        "transformers": "4.41.2 @7",
        "peft": "0.11.1 @8",
        "torch": "2.3.1 @9",
        "bitsandbytes": "0.43.1 @15",
        "flash-attn": "2.5.8 @15",
        "deepspeed": "0.14.2 @15",
        "python": "3.10 @20",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("transformers版本: 4.37.2", {"transformers": "4.37.2"}),
        ("Python 3.10 / CUDA 12.1 / torch2.1.0", {"python": "3.10", "cuda": "12.1", "torch": "2.1.0"}),
        ("Torch版本2.2.1；\nCUDA版本：12.1；\nPython：3.12.2；", {"torch": "2.2.1", "cuda": "12.1", "python": "3.12.2"}),
        ("transformers--------------4.38.2-------------------pypi_0----pypi", {"transformers": "4.38.2"}),
        ("系统版本：Ubuntu-22.04.4-LTS；\n torch的版本是2.0.1", {"os": "linux", "torch": "2.0.1"}),
        ("**硬件**：cpu：i9-13900K   内存：32G  显卡：A40(48G)", {"gpu.name": "A40(48G)"}),
        ("win10\ncuda 11.8\nGPU V100\npeft 0.4.0", {"os": "windows", "cuda": "11.8", "gpu.name": "V100", "peft": "0.4.0"}),
        ("GPU: Tesla P40(24G) * 3\nTorch: 2.3.1", {"gpu.name": "Tesla P40(24G)", "gpu.count": "3", "torch": "2.3.1"}),
        ("4*A100 40G", {"gpu.name": "A100 40G", "gpu.count": "4"}),
        ("torch1.12.1-cu116 on Windows 11", {"torch": "1.12.1+cu116", "cuda": "11.6", "os": "windows"}),
        ("- CUDA/cuDNN version: CUDA 11.0, cuDNN 8.0.5", {"cuda": "11.0", "cudnn": "8.0.5"}),
        ("PyTorch Lightning 2.1.0 and Huggingface Hub 0.23.4", {"pytorch-lightning": "2.1.0", "huggingface-hub": "0.23.4"}),
        ("torch.__version__: '2.1.0+cpu'", {"torch": "2.1.0+cpu"}),
        ("peft 0.6.2 requires torch>=1.13.0, but you have torch 1.11.0 which is incompatible.", {"torch": "1.11.0"}),
        ("Requirement already satisfied: torch>=2.4.0 in ./venv/lib/site-packages (from unsloth) (2.10.0)", {"torch": "2.10.0"}),
        ("Successfully installed peft-0.7.1 transformers-4.36.2", {"peft": "0.7.1", "transformers": "4.36.2"}),
        ("It does not work with torch 2.1.2, peft=0.8.2.", {"torch": "2.1.2", "peft": "0.8.2"}),
        ("I run torch 2.1.2, transformers==4.37.2.", {"torch": "2.1.2", "transformers": "4.37.2"}),
        ("PyTorch version (accelerator?): 2.5.1+rocm6.2 (CUDA)", {"torch": "2.5.1+rocm6.2", "accelerator": "rocm"}),
        ("PyTorch version: 2.1.0 (NPU)\nNPU type: Ascend910B2", {"torch": "2.1.0", "accelerator": "npu", "gpu.name": "Ascend910B2"}),
        ("PyTorch version: 2.4.0a0+07cecf4168.nv24.05", {"torch": "2.4.0a0+07cecf4168.nv24.05"}),
        ("cuDNN version: 90100\nPyTorch version: 2.4.0", {"cudnn": "9.1.0", "torch": "2.4.0"}),
        ("cuDNN version: 8902\nPyTorch version: 2.0.1", {"cudnn": "8.9.2", "torch": "2.0.1"}),
    ],
)
def test_what_people_write_by_hand_is_understood(text: str, expected: dict[str, str]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the weather is fine",
        "pip install transformers==4.30.2 torch==2.0.1",
        "conda create -n glm python=3.10",
        "Please upgrade transformers to 4.37.2 or install transformers 4.37.2",
        "请升级 transformers 到 4.37.2",
        "It is solved with transformers 4.37.2.",
        "peft 0.5.0 works for me",
        "`foo` is deprecated and will be removed in Transformers 4.46.0",
        "This needs torch 2.1.0",
        "torch>=2.0.1, transformers~=4.37.2, peft!=0.8.2, trl<0.9.6",
        "transformers 4.37.2+ and peft 0.8.x",
        "transformers 4.36.0-4.38.2, torch 2.1.0 or 2.2.0",
        "torch-2.1.0+cu121-cp310-cp310-linux_x86_64.whl",
        "https://download.pytorch.org/whl/torch/2.1.0 and /opt/torch-2.1.0/lib",
        '"transformers_version": "4.41.2",',
        "mytorch 2.1.0, gpt 4.5, llama 3.1, Vision Transformer 2.0.0, TensorFlow Datasets 4.9.2",
        "datasets: 1.5 GB, accelerate: 1.5x, tokenizers: 2.5 ms",
        'if transformers.__version__ == "4.30.0":',
        "torch 1.99.0 is no release that ever was",
        "CUDA error 700, cuda 2.5, python 9.1, driver 12.4",
        "GPU 0: out of memory",
        "\x00\x1b[31m\ufffd",
    ],
)
def test_what_is_no_statement_of_the_environment_states_nothing(text: str) -> None:
    found = parse_env_report(text, "issue.md")
    assert found is None, [(fact.name, shown(fact.value)) for fact in found.facts]


def test_prose_that_contradicts_itself_leaves_the_fact_unknown() -> None:
    text = "With peft==0.9.0 the loss is always NaN, with peft==0.3.0 it falls.\nI run torch 2.1.0"
    assert values(text) == {"torch": "2.1.0"}
    assert skips(text) == ["peft: said to be 0.9.0 on line 1 and 0.3.0 on line 1: not taken (issue.md)"]


def test_a_report_line_is_believed_before_prose_and_the_first_report_before_a_second() -> None:
    text = "I think it is transformers 4.30.2\n\n- Transformers version: 4.37.2\n\nMine:\n- Transformers version: 4.40.0\n"
    assert facts(text) == {"transformers": "4.37.2 @3"}
    assert skips(text) == ["issue.md:6: transformers 4.40.0: line 3 says 4.37.2, which was taken"]


def test_two_reports_of_one_release_do_not_contradict_each_other() -> None:
    text = "PyTorch version: 2.5.1\n[pip3] torch==2.5.1+cu124\nPython: 3.10\nPython version: 3.10.12\n"
    assert facts(text) == {"torch": "2.5.1+cu124 @2", "cuda": "12.4 @2", "python": "3.10.12 @4"}
    assert skips(text) == []


def test_the_label_of_torch_tells_its_cuda_better_than_the_toolkit_of_the_machine() -> None:
    assert values("CUDA version on system: 11.8\nPyTorch version: 2.6.0+cu124")["cuda"] == "12.4"
    assert "cuda" not in values("PyTorch version: 2.6.0+cpu\nCUDA runtime version: 12.4.131")
    assert "cuda" not in values("PyTorch version: 2.6.0\nCUDA used to build PyTorch: None\nCUDA runtime version: 12.4.131")
    assert values("PyTorch version: 2.6.0\nCUDA runtime version: 12.4.131")["cuda"] == "12.4.131"


def test_two_numbers_are_any_patch_release_unless_there_is_such_a_release() -> None:
    (fact,) = (fact for fact in read("- Transformers: 4.40").facts)
    assert fact.value == Ranged("==4.40.*")
    assert values("CUDA used to build PyTorch: 11.8\nPyTorch: 2.0") == {"torch": "==2.0.*", "cuda": "11.8"}
    assert values("- some-tool version: 0.1\n- Transformers: 4.40.1")["transformers"] == "4.40.1"


def test_the_glibc_of_an_old_python_is_not_the_systems() -> None:
    """platform.platform() of Python 3.8 tells the glibc that its binary was linked with; seen: glibc2.34 on a system of 2.36."""
    platform = "- Platform: Linux-5.8.0-59-generic-x86_64-with-glibc2.17\n- Python version: "
    assert "glibc" not in values(platform + "3.8.16")
    assert values(platform + "3.9.18")["glibc"] == "2.17"
    assert values("Libc version: glibc-2.31\n" + platform + "3.8.16")["glibc"] == "2.31"


def test_not_installed_is_absent_and_what_is_not_spoken_of_is_not() -> None:
    found = {fact.name: fact.value for fact in read("- DeepSpeed version: not installed\n- PEFT version: None\n- peft config: None").facts}
    assert found == {"packages.deepspeed": ABSENT, "packages.peft": ABSENT}
    # collect_env prints N/A when torch cannot be imported; what pip lists is there all the same.
    assert values("PyTorch version: N/A\n[pip3] torch==2.5.1") == {"torch": "2.5.1"}


def test_unequal_gpus_are_told_and_the_weakest_is_taken() -> None:
    text = "GPU 0: NVIDIA A100-SXM4-40GB\nGPU 1: Tesla T4 (UUID: GPU-0123)\nPyTorch version: 2.4.0"
    assert values(text) == {"torch": "2.4.0", "gpu.name": "Tesla T4", "gpu.count": "2"}
    why = "GPU: unequal GPUs (NVIDIA A100-SXM4-40GB, Tesla T4): the one of the lowest capability is taken for all (issue.md)"
    assert skips(text) == [why]


def test_gpus_that_are_only_talked_about_leave_the_gpu_unknown() -> None:
    text = "torch 2.1.0, RTX 3090\ntorch 2.1.0, Tesla V100"
    assert values(text) == {"torch": "2.1.0"}
    assert skips(text) == ["GPU: several are spoken of (RTX 3090, Tesla V100): not taken (issue.md)"]


def test_tables_of_packages_within_a_report_are_read_to_their_end() -> None:
    text = """\
pip list:
Package                   Version     Editable project location
------------------------- ----------- ---------------
absl-py                   2.0.0
torch                     2.1.0+cu118
my-tool                   0.1.dev0    /home/me/tool
```
total 12.5
"""
    assert values(text) == {"absl-py": "2.0.0", "torch": "2.1.0+cu118", "cuda": "11.8", "my-tool": "0.1.dev0"}
    conda = """\
# Name                    Version                   Build  Channel
_libgcc_mutex             0.1                        main
python                    3.10.13              h955ad1f_0
pytorch                   2.1.0           py3.10_cuda12.1_cudnn8.9.2_0    pytorch
peft                      0.6.2                    pypi_0    pypi
"""
    assert values(conda) == {"python": "3.10.13", "torch": "2.1.0", "cuda": "12.1", "cudnn": "8.9.2", "peft": "0.6.2"}


def test_only_a_text_with_lines_of_a_report_is_a_report() -> None:
    assert parse_printed_report("we use torch 2.1.0 here", "x") is None
    assert parse_printed_report("OS: Ubuntu 22.04", "x") is None
    assert parse_printed_report(TRANSFORMERS_ENV, "x") is not None


def test_of_a_very_long_line_the_beginning_is_read_and_the_rest_told() -> None:
    text = "PEFT version: 0.12.0" + " x" * 4000 + " torch 2.1.0"
    assert values(text) == {"peft": "0.12.0"}
    assert skips(text) == ["issue.md: of 1 long lines only the first 4000 characters were read"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(ending: str) -> None:
    assert facts(ending.join(["", "PEFT version: 0.12.0", "", "TRL version: 0.9.6"])) == {"peft": "0.12.0 @2", "trl": "0.9.6 @4"}


PIECES = st.sampled_from([
    "torch", "torch ", " ", "-", ".", "1.", "2.1.0", "(", "version ", "：", "=", "GPU: ", "GPU 0: ", "A100", "|", "[pip3] ", "[conda] ",
    "\x1b[", "\x1b]", "\r", "\n", "/", "\\", "but you have a ", "Requirement already satisfied: a ", "+cu", "CUDA ", "驱动", "*", "`",
    "0 MiB /", "Package Version\n", "a 1.0\n", "é",
])  # fmt: skip


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=4), st.lists(PIECES, max_size=4))
def test_of_a_line_of_any_repeats_only_the_beginning_is_read(unit: list[str], tail: list[str]) -> None:
    repeated = "".join(unit)
    for escape in ("\x1b[", "\x1b]", "\r", "\n"):  # where lines begin and end is not what this is about
        repeated = repeated.replace(escape, " ")
    text = repeated * (60_000 // len(repeated))
    whole, beginning = parse_env_report(text + "".join(tail[:1]), "x"), parse_env_report(text[:4000], "x")
    assert (whole and whole.facts) == (beginning and beginning.facts)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=8))
def test_a_report_of_many_lines_takes_steps_in_proportion(line: list[str]) -> None:
    def reading(count: int) -> Callable[[], object]:
        return lambda: parse_env_report(("".join(line) + "\n") * count, "x")

    assert growth(reading, 20) < IN_PROPORTION


def test_no_pattern_is_searched_for_that_repeats_without_bound() -> None:
    """With a bound to each repeat, and to the length of a line, no text makes a search try more than so many ways."""
    searched = set()
    for path in Path(report_words.__file__).parent.glob("*report*.py"):
        found = re.findall(r"\b([A-Z][A-Z_]+)\.(?:search|finditer|findall|sub|split)\(", path.read_text(encoding="utf-8"))
        searched.update(found)
    assert searched >= {"STATEMENT", "ESCAPES", "NOT_STATED", "GPU_LABEL"}
    for name in searched - {"NEGATED_WORK"}:  # of a sentence alone, of which 300 characters on either side are looked at
        pattern = getattr(report_words, name)
        assert not unbounded(parser.parse(pattern.pattern, pattern.flags)), name
    assert unbounded(parser.parse("(?:a|b(?=c*))"))


def unbounded(tree: Any) -> bool:
    """Whether anything in a parsed pattern may repeat for ever."""
    if isinstance(tree, tuple) and len(tree) == 3 and tree[1] is parser.MAXREPEAT:
        return True
    parts = tree if isinstance(tree, tuple | list) else getattr(tree, "data", ())
    return any(map(unbounded, parts))


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet=st.characters(codec=None), max_size=300) | st.lists(PIECES, max_size=30).map("".join))
def test_any_text_gives_facts_with_lines_or_nothing(text: str) -> None:
    found = parse_env_report(text, "x")
    lines = text.count("\n") + text.count("\r") + 1
    for fact in () if found is None else found.facts:
        assert fact.origin.line is not None
        assert 1 <= fact.origin.line <= lines


@settings(deadline=None)
@given(
    st.sampled_from(["transformers", "peft", "trl", "accelerate", "datasets", "deepspeed", "vllm"]),
    st.tuples(st.integers(0, 9), st.integers(0, 60), st.integers(0, 30)),
    st.sampled_from(["- `{}` version: {}", "{} version: {}", "[pip3] {}=={}", "| {} | {} |", "**{}**: {}", "{}版本：{}", "{}   {}"]),
)
def test_a_report_line_of_any_form_states_its_version(package: str, numbers: tuple[int, int, int], form: str) -> None:
    version = ".".join(map(str, numbers))
    if version == "0.0.0":
        return
    assert values("Hello\n" + form.format(package, version)) == {package: version}
