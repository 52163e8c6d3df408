"""A function that Python looks up in a library by its name (ctypes) and does not find there: no linker is at fault.

ctypes/__init__.py, CDLL.__getattr__: an AttributeError with the words of dlsym, or "function 'X' not found" on Windows. bitsandbytes of
0.41.3, 0.43.3, 0.45.5 and 0.48.1 (cextension.py, functional.py): the names that it looks up, and "if not has_cublaslt (CC < 7.5), then we
have to choose _nocublaslt", which 0.45.5 no longer has.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.libraries import package_of_file
from envdoctor.logs.linking import SYMBOL
from envdoctor.logs.places import owner_of
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe, named
from envdoctor.world.import_names import package_of

_SAYS = re.compile(
    r"function '(?P<windows>\w{2,120})' not found|(?P<file>\S{1,400}\.(?:so|dylib|dll)[\d.]{0,12}): undefined symbol: (?P<name>\w{2,120})"
    r"|dlsym\(0x[0-9a-f]{1,20}, (?P<mac>\w{2,120})\): symbol not found"
)
_BITSANDBYTES = re.compile(
    r"c(?:ada(?:m|grad|m32bit|m_)\w*|ademamix\w*|lion\w*|momentum\w*|rmsprop\w*|lamb\w*|(?:de)?quantize\w*|get_(?:managed_ptr|context|cusparse"
    r"|row_stats|col_row_stats)|(?:batched_)?igemm\w*|igemmlt\w*|gemm_4bit\w*|percentile_clipping\w*|prefetch|arange_\w+|fill_\w+"
    r"|transform_\w+|int8_\w+|dequant_mm\w*|double_rowcol\w*)"
)
_WITHOUT_CUBLASLT = re.compile(r"libbitsandbytes_cuda\d{3}_nocublaslt")
_AGAIN = "pip install --force-reinstall --no-cache-dir --no-deps"


def judge_ctypes(failure: Failure, facts: Facts) -> Hit | None:
    """Whose library lacks which function; None where the words are the linker's, or a page has the CPU library of bitsandbytes."""
    said = _SAYS.search(failure.message) if failure.kind.rpartition(".")[2] == "AttributeError" else None
    if said is None:
        return None
    name, file = said["windows"] or said["name"] or said["mac"], (said["file"] or "").replace("\\", "/").rpartition("/")[2]
    if file.startswith("libbitsandbytes_cpu"):
        return None
    package = _whose(name, said["file"] or "", failure)
    library = file or (f"the library that {package} loaded" if package else "the library that was loaded")
    detail = f"{describe(package, facts) or 'the code'} looks {name} up in {library}, which does not have it"
    if package == "bitsandbytes":
        more, advice = _of_bitsandbytes(file)
    else:
        more = "its Python files and the library are of two states, or the library was built without that part"
        advice = f"{_AGAIN} {package}" if package else "build the library anew from the state that the Python file is of"
    return Hit(
        SYMBOL,
        True,
        detail=f"{detail}: {more}",
        packages=named(package),
        edge=f"{package or file or 'code'}:{name}"[:200],
        headline="A library does not have a function that Python looks up in it",
        advice=advice,
    )


def _of_bitsandbytes(file: str) -> tuple[str, str]:
    if _WITHOUT_CUBLASLT.match(file):
        return (
            "it is the build without cuBLASLt, which is taken for a GPU below compute capability 7.5, and has no such 8-bit products",
            "4 bits (load_in_4bit) in place of 8 on such a GPU, or a later bitsandbytes: pip install -U bitsandbytes; python "
            "-m bitsandbytes "
            "shows which GPU it found",
        )
    if file.startswith("libbitsandbytes_"):
        return (
            "its Python files and this library are of two releases, or the library was built by hand from another state",
            f"{_AGAIN} bitsandbytes; unset BNB_CUDA_VERSION, and python -m bitsandbytes shows which library is loaded",
        )
    return (
        "it found no CUDA and loaded its library for the CPU, or that library is of another release than its Python files",
        f"python -m bitsandbytes shows which library is loaded, and python -c 'import torch; "
        f"print(torch.cuda.is_available())' whether torch "
        f"sees the GPU; then {_AGAIN} bitsandbytes",
    )


def _whose(name: str, path: str, failure: Failure) -> str:
    """The package whose library it is: by its path, by what looks the function up, or by the name alone."""
    if path and (top := owner_of(path)[0]):
        return package_of(top)
    if path and (package := package_of_file(path)):
        return package
    frames = [one for one in failure.frames if one.package and "ctypes" not in one.path]
    if frames:
        return package_of(frames[-1].package)
    return "bitsandbytes" if _BITSANDBYTES.fullmatch(name) else ""
