"""Builds whose reason stands in a line of its own, files that were built for another torch, and cures that are commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.logs.pythons import take_python
from envdoctor.logs.unwrapping import bare_line, plain_line
from envdoctor.report.settings_in_code import in_code
from tests.cli.run import run
from tests.logs.diagnosed import findings
from tests.logs.test_refused_runs import derive

ENDED = """\
      [end of output]

  note: This error originates from a subprocess, and is likely not a problem with pip.
  ERROR: Failed building wheel for {0}
ERROR: Could not build wheels for {0}, which is required to install pyproject.toml-based projects"""


def _told(text: str) -> tuple[str, str]:
    (found,) = derive(text)
    return found.hit.headline, found.hit.advice


@pytest.mark.parametrize(
    ("reason", "headline", "advice"),
    [
        (
            "RuntimeError: The current installed version of g++ (11.4.0) is greater than the maximum required version by CUDA 11.3 (10.0).",
            "nvcc of CUDA 11.3 takes g++ up to 10, and 11.4.0 is found",
            "CC=gcc-10 CXX=g++-10",
        ),
        ("torch is not installed, please install torch first!", "its build wants torch and sees none", "--no-build-isolation simple-ops"),
        ('csrc/a.cu(33): error: identifier "foo_t" is undefined', 'identifier "foo_t" is undefined', "look at that line first"),
        ("RuntimeError: this package needs a licence file", "this package needs a licence file", "look at that line first"),
        (
            "subprocess.CalledProcessError: Command '['ninja', '-v']' returned non-zero exit status 1.",
            "not in what was pasted",
            "look above",
        ),
    ],
)
def test_the_reason_of_a_build_is_told_where_it_stands(reason: str, headline: str, advice: str) -> None:
    said, cure = _told(f"      {reason}\n{ENDED.format('simple-ops')}")
    assert said.startswith("the build of simple-ops failed: ")
    assert headline in said
    assert advice in cure


def test_of_a_build_that_nobody_pasted_it_is_said_how_it_finds_a_ready_file() -> None:
    said, cure = _told(ENDED.format("causal-conv1d"))
    assert "not in what was pasted" in said
    assert cure.startswith("pip install --no-build-isolation causal-conv1d, which takes a ready file")


def test_what_every_torch_has_is_absent_where_torch_was_not_imported() -> None:
    (found,) = derive("/env/lib/python3.10/site-packages/lltm_cpp.cpython-310-x86_64-linux-gnu.so: undefined symbol: THPVariableClass")
    assert "torch was not imported before it" in found.hit.detail
    assert found.hit.advice == "import torch before lltm_cpp in that script"


@pytest.mark.parametrize(
    ("symbol", "words"),
    [
        ("_ZN5torch3jit11parseSchemaERKSsb", "torch's wheels until 2.5"),
        ("_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "torch's wheels from 2.6 on"),
    ],
)
def test_the_abi_that_a_file_was_built_with_stands_in_its_symbol(symbol: str, words: str) -> None:
    (found,) = derive(
        f"ImportError: /env/lib/python3.11/site-packages/my_ops/_C.cpython-311-x86_64-linux-gnu.so: undefined symbol: {symbol}"
    )
    assert words in found.hit.detail
    assert "pip install --force-reinstall --no-deps --no-build-isolation ." in found.hit.advice


def test_a_library_of_torch_s_is_found_once_torch_is_imported() -> None:
    (found,) = derive("ImportError: libtorch_cuda.so: cannot open shared object file: No such file or directory")
    assert found.hit.advice.startswith("import torch before it")


@pytest.mark.parametrize(
    ("specifier", "minor"), [("<3.11,>=3.9", "3.10"), (">=3.10", "3.11"), ("<3.12", "3.11"), ("==3.8.*", "3.8"), (">=4", "")]
)
def test_a_python_within_a_bound_is_told_as_a_command(specifier: str, minor: str) -> None:
    assert take_python(specifier).startswith(f"conda create -n NAME python={minor} " if minor else "")
    assert bool(take_python(specifier)) is bool(minor)


def test_a_setup_that_names_the_pythons_it_takes_is_answered_with_one_of_them() -> None:
    (found,) = derive("RuntimeError: Cannot install on Python version 3.11.8; only versions >=3.7,<3.11 are supported.")
    assert found.hit.rule == "requirement-refuses-python"
    assert "python=3.10" in found.hit.advice


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        ({"plan.fp16": False, "plan.bf16": True}, "fp16=False, bf16=True"),
        ({"plan.attn": "sdpa"}, 'attn_implementation="sdpa" in from_pretrained'),
        ({"plan.batch_size": 1}, "per_device_train_batch_size=1"),
        ({"plan.use_reentrant": False}, 'gradient_checkpointing_kwargs={"use_reentrant": False}'),
        ({"plan.distributed": "none"}, "one process: python SCRIPT, without torchrun, accelerate launch or deepspeed"),
        ({"plan.fp16": False, "plan.packing": True}, ""),
        ({}, ""),
    ],
)
def test_a_setting_is_written_as_a_script_has_it(plan: dict[str, object], told: str) -> None:
    assert in_code(plan) == told


def test_who_pastes_a_log_alone_is_told_no_setting_of_a_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pasted, stated = tmp_path / "log.txt", tmp_path / "facts.toml"
    pasted.write_text("RuntimeError: Distributed package doesn't have NCCL built in\n", encoding="utf-8")
    stated.write_text('os = "windows"\n', encoding="utf-8")
    page = run(capsys, "diagnose", str(pasted), "--facts", str(stated)).out
    assert "fix: one process: python SCRIPT" in page
    assert "or: TrainingArguments(ddp_backend='gloo')" in page
    assert "set plan." not in page


def test_one_build_that_conda_does_not_find_is_of_another_system() -> None:
    (found,) = derive("ResolvePackageNotFound: \n  - pytorch=1.12.1=py3.8_cuda11.3_cudnn8.3.2_0")
    assert "exported with its builds" in found.hit.headline
    assert "1 of its lines names a build (pytorch)" in found.hit.detail


def test_pytorch_cuda_wants_the_channel_of_its_libraries() -> None:
    text = (
        "LibMambaUnsatisfiableError: Encountered problems while solving:\n  - package pytorch-2.1.0-py3.11_cuda11.8_cudnn8.7.0_0 requires "
        "pytorch-cuda 11.8.*, but none of the providers can be installed"
    )
    (found,) = derive(text)
    assert found.hit.advice.startswith("-c pytorch -c nvidia")


@pytest.mark.parametrize(("name", "headline"), [("instal-nothing", "has no package instal-nothing"), ("requests", "which PyPI has")])
def test_a_name_that_the_index_has_not_is_told_as_that(name: str, headline: str) -> None:
    (found,) = derive(
        f"  × No solution found when resolving dependencies:\n  ╰─▶ Because {name} was not found in the package registry and you require "
        f"{name}==1.3.5, we can conclude that your requirements are unsatisfiable."
    )
    assert headline in found.hit.headline


def test_hyphens_that_an_editor_joined_are_those_of_an_option() -> None:
    assert bare_line("Error: unrecognized arguments: \u2013local_rank=19") == "Error: unrecognized arguments: --local_rank=19"
    assert plain_line("error: \u2014no-cache-dir") == "error: --no-cache-dir"
    # A dash between words is one.
    assert bare_line("torch \u2014 and what it needs\u2014is missing") == "torch \u2014 and what it needs\u2014is missing"


@pytest.mark.parametrize(
    ("line", "headline", "advice"),
    [
        (
            "    PyTorch 2.1.2+cu121 with CUDA 1201 (you have 2.1.2+cpu)",
            "This torch is a build for the CPU",
            'pip install --force-reinstall "torch==2.1.2" --index-url https://download.pytorch.org/whl/cu121',
        ),
        (
            "    PyTorch 2.2.0+cu121 with CUDA 1201 (you have 2.3.0+cu121)",
            "xformers' kernels are for torch 2.2.0+cu121, and torch 2.3.0 is there",
            'pip install --force-reinstall --no-deps "xformers==0.0.26.post1" --index-url https://download.pytorch.org/whl/cu121',
        ),
    ],
)
def test_what_xformers_was_built_for_is_told_with_the_release_for_the_torch_that_is_there(line: str, headline: str, advice: str) -> None:
    (found,) = derive(f"WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n{line}")
    assert headline in found.hit.headline
    assert found.hit.advice.startswith(advice)


def test_the_libraries_that_cudnn_tried_are_one_that_is_absent() -> None:
    text = "Unable to load any of {libcudnn_ops.so.9.1.0, libcudnn_ops.so.9.1, libcudnn_ops.so.9, libcudnn_ops.so}"
    (found,) = derive(text)
    assert "needs libcudnn_ops.so.9, and it is not found" in found.hit.detail
    assert "LD_LIBRARY_PATH" in found.hit.advice


def test_a_source_that_pip_took_is_told_before_what_its_build_said() -> None:
    text = (
        "  Using cached sentencepiece-0.2.0.tar.gz (2.6 MB)\n  error: subprocess-exited-with-error\n"
        "      CMake Error: CMAKE_CXX_COMPILER not set, after EnableLanguage"
    )
    said, cure = _told(text)
    assert "pip took its source" in said
    assert said.endswith("and the build then failed: CMake finds no compiler, or no program to run it")
    assert cure.startswith("Python 3.12 (conda create -n ENV python=3.12), for which sentencepiece 0.2.0 has a wheel")


@pytest.mark.parametrize(
    ("module", "package", "words"),
    [
        ("fused_layer_norm_cuda", "apex", "--build-option=--cuda_ext"),
        ("selective_scan_cuda", "mamba-ssm", "--no-build-isolation mamba-ssm"),
        ("rotary_emb", "", "subdirectory=csrc/rotary"),
    ],
)
def test_a_compiled_part_that_is_not_there_is_built_again(module: str, package: str, words: str) -> None:
    (found,) = derive(f"ModuleNotFoundError: No module named '{module}'")
    assert found.hit.rule == "error-module-missing"
    assert package in (*found.hit.packages, "")
    assert words in found.hit.advice


def test_a_wheel_for_a_later_glibc_is_compiled_here() -> None:
    (found,) = derive(
        "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by "
        "/env/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so)"
    )
    assert found.hit.advice.startswith("FLASH_ATTENTION_FORCE_BUILD=TRUE pip install")


def test_what_another_nvcc_compiled_is_told_as_that() -> None:
    (found,) = derive(
        "ImportError: /env/lib/python3.6/site-packages/fused_layer_norm_cuda.cpython-36m-x86_64-linux-gnu.so: undefined symbol: "
        "__cudaPopCallConfiguration"
    )
    assert "compiled by an nvcc of another CUDA" in found.hit.detail


def test_a_module_of_a_package_that_is_built_against_torch_is_mostly_for_another_one() -> None:
    (found,) = derive("ImportError: DLL load failed while importing exllama_kernels: The specified module could not be found.")
    assert "built for another torch or CUDA" in found.hit.said


@pytest.mark.parametrize("end", ["", " GPU 5 has a total capacity of 79.32 GiB of which 2.39 GiB is free."])
def test_a_full_gpu_is_decided_where_the_message_was_cut(end: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, f"torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.39 GiB.{end}")
    assert (first["rule"], first["status"]) == ("gpu-memory-exhausted", "matched")


def test_columns_that_a_model_has_beyond_its_vocabulary() -> None:
    (found,) = derive("RuntimeError: The size of tensor a (50272) must match the size of tensor b (50265) at non-singleton dimension 1")
    assert "50272 columns" in found.hit.headline
    assert "logits[..., :50265]" in found.hit.advice
    # Lengths of rows differ by chance, and have no reason to be a multiple of eight.
    (found,) = derive("RuntimeError: The size of tensor a (50271) must match the size of tensor b (50265) at non-singleton dimension 1")
    assert "columns" not in found.hit.headline


def test_of_one_side_of_a_contradiction_its_pin_is_left_out() -> None:
    (found,) = derive(
        "ERROR: Cannot install -r requirements.txt (line 1) and tokenizers==0.13.3 because these package versions have conflicting "
        "dependencies."
    )
    assert found.hit.advice.startswith("take the release off tokenizers")


def test_a_header_of_its_own_that_a_source_lacks() -> None:
    said, cure = _told("  fairseq/clib/edit_dist.cu:9:23: fatal error: edit_dist.h: No such file or directory\n" + ENDED.format("fairseq"))
    assert "its source archive lacks edit_dist.h, a header of its own" in said
    assert "pip install git+https://" in cure


def test_on_windows_a_build_that_says_nothing_lacks_a_compiler_mostly(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = "Could not build wheels for fairseq, pyworld, which is required to install pyproject.toml-based projects"
    first, *_ = findings(capsys, tmp_path, text, 'os = "windows"\n')
    assert "Desktop development with C++" in json.dumps(first["fixes"][0])
    first, *_ = findings(capsys, tmp_path, text)
    assert "Desktop development with C++" not in json.dumps(first["fixes"][0])


def test_triton_is_another_package_on_windows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first, *_ = findings(capsys, tmp_path, "ModuleNotFoundError: No module named 'triton'", 'os = "windows"\n')
    assert "pip install triton-windows" in json.dumps(first["fixes"][0])


def test_a_build_that_a_tree_of_conda_s_refuses_is_of_another_system() -> None:
    (found,) = derive(
        "LibMambaUnsatisfiableError: Encountered problems while solving:\n"
        "└─ pytorch-gpu ==1.9.0 cuda112py38h0bbbad9_1 is not installable because it requires"
    )
    assert "exported with its builds" in found.hit.headline


def test_what_a_kernel_asserted_is_told_without_the_error_that_ends_the_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = "Indexing.cu:1146: indexSelectLargeIndex: block: [157,0,0], thread: [88,0,0] Assertion `srcIndex < srcSelectDimSize` failed."
    first, *_ = findings(capsys, tmp_path, text)
    assert first["detail"].startswith("An id is not below the number of rows of the embedding")


def test_a_clone_of_bitsandbytes_that_was_not_built_is_told_as_that() -> None:
    found, *_ = derive("/src/bitsandbytes/bitsandbytes/libbitsandbytes_cpu.so: cannot open shared object file: No such file or directory")
    assert "unset BNB_CUDA_VERSION" in found.hit.advice


def test_a_build_by_uv_is_repeated_by_uv(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hint = (
        "hint: This error likely indicates that `flash-attn@2.7.3` depends\non `torch`, but doesn't declare it as a build dependency. If\n"
        "`flash-attn` is a first-party package, consider adding `torch` to its\n `build-system.requires`."
    )
    first, *_ = findings(capsys, tmp_path, hint)
    assert "flash-attn 2.7.3 failed: its build imports torch, which an isolated build does not see" in first["detail"]
    assert "uv pip install torch, then uv pip install --no-build-isolation flash-attn==2.7.3" in json.dumps(first["fixes"][0])
    by_pip = "      ModuleNotFoundError: No module named 'torch'\n  ERROR: Failed building wheel for apex-x"
    first, *_ = findings(capsys, tmp_path, by_pip)
    assert "uv pip" not in json.dumps(first["fixes"][0])


def test_an_empty_name_is_told_as_that() -> None:
    found, *_ = derive(
        "huggingface_hub.utils._validators.HFValidationError: Repo id must use alphanumeric chars or '-', '_', '.', '--' and '..' are "
        "forbidden, '-' and '.' cannot start or end the name, max length is 96: ''."
    )
    assert found.hit.headline == "What was to be loaded has an empty name"
