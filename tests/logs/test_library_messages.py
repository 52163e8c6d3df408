"""What libraries say that name no Python: OpenMP, MPS, NVML, compilers and their like, pasted alone or as an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.logs.stated_values import judge_stated
from envdoctor.logs.tracebacks import Failure
from tests.logs.diagnosed import findings


@pytest.mark.parametrize(
    ("text", "headline"),
    [
        (
            "OMP: Error #15: Initializing libiomp5md.dll, but found libomp140.x86_64.dll already initialized.",
            "Two copies of Intel's OpenMP runtime are loaded into one process: libomp140.x86_64.dll is there already",
        ),
        ("Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64.", "Apple's GPU has no float64"),
        ("Failed to initialize NVML: Driver/library version mismatch", "The NVIDIA driver in the kernel is of another release"),
        ("RuntimeError: CUDA driver version is insufficient for CUDA runtime version", "The NVIDIA driver is older than the CUDA"),
        ("error loading fbgemm.dll", "torch on Windows cannot load its fbgemm.dll"),
        ("LookupError: Resource punkt not found. Please use the NLTK Downloader", "NLTK's data punkt is not on this machine"),
        ("LookupError: Resource 'stopwords' not found.\n  Please use the NLTK Downloader", "NLTK's data stopwords is not"),
        ("Could not load `torchlibcodec`", "TorchCodec's compiled library cannot be loaded"),
        ("OSError: Could not load this library: /x/libtorchcodec_core8.dylib", "TorchCodec's compiled library cannot be loaded"),
        ("error: command 'x86_64-linux-gnu-g++' failed: No such file or directory", "A package is to be compiled, and there is no x86"),
        ("fatal error: cusparse.h: No such file or directory", "An extension for CUDA is compiled, and the header cusparse.h"),
        ("a.c:3:10: fatal error: sndfile.h: No such file or directory", "The compiler does not find the header sndfile.h"),
    ],
)
def test_what_is_said_is_told_with_its_values(text: str, headline: str) -> None:
    hit = judge_stated(Failure("", text, 1))
    assert hit is not None
    assert hit.outcome
    assert hit.packages == ()
    assert hit.headline.startswith(headline)


@pytest.mark.parametrize(
    "text",
    [
        "fatal error: Python.h: No such file or directory",
        "error: command 'gcc' failed with exit status 1",
        "OMP: Info #276: omp_set_nested routine deprecated",
        "Resource temporarily unavailable",
    ],
)
def test_what_is_something_else_is_let_be(text: str) -> None:
    hit = judge_stated(Failure("", text, 1))
    assert hit is None or hit.headline.startswith("Something is compiled")


@pytest.mark.parametrize(
    ("text", "package", "headline"),
    [
        (
            "TypeError: mm() received an invalid combination of arguments - got (dict), but expected one of:",
            "torch",
            "mm() of torch was called with (dict)",
        ),
        (
            "TypeError: linear(): argument 'input' (position 1) must be Tensor, not tuple",
            "torch",
            "linear() of torch takes a Tensor as input, and got tuple",
        ),
        (
            "RuntimeError: index_copy_(): self and source expected to have the same dtype, but got (self) BFloat16 and (source) Float",
            "torch",
            "index_copy_() writes a tensor of Float into one of BFloat16",
        ),
        ("ValueError: Can't find 'adapter_config.json' at './outputs/dpo'", "peft", "./outputs/dpo has no adapter_config.json"),
    ],
)
def test_whose_words_they_are_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, package: str, headline: str) -> None:
    first = findings(capsys, tmp_path, text)[0]
    assert first["packages"][0] == package
    assert headline in f"{first['title']} {first['detail']}"
