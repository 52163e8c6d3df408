"""What the build of a package said itself before an installer told that it failed, and what helps where nobody pasted it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.logs.build_messages import BUILDS

# gcc's, nvcc's and MSVC's form of an error, and Python's own last line of one.
_SAYS = re.compile(
    r"(?:^|[\s)\]:])(?:fatal )?error(?: [A-Z]{1,4}\d{4})?\s{0,2}: (?P<of_compiler>\S.{5,300})"
    r"|^(?:\w{1,40}\.){0,6}(?:[A-Z]\w{0,60}(?:Error|Exception)|Error|Exception): (?P<of_python>\S.{5,300})",
)
# What only tells that something before it failed, and what an installer says of the build.
_HANDS_ON = re.compile(
    r"CalledProcessError|returned non-zero exit|Error compiling objects|subprocess-exited|metadata-generation|legacy-install|HTTP Error|"
    r"HTTPError|Failed (?:to build|building)|Could not build|could not compile|command '?\S{1,200} failed|failed with exit|"
    r"Error building extension|subcommand failed|did not run successfully|originates from a subprocess|is likely not a problem|"
    r"Failed to prepare distributions|Command died|Failed to build installable|build backend returned|can't find Rust|BackendUnavailable",
)
_TRIM = re.compile(r"^[\s>│|❱E\u00d7╰─]{1,40}")
_LONGEST = 140
# What a sentence may begin with that is written small behind a colon.
_ARTICLES = frozenset(("The", "A", "An", "No", "There"))

# Their setup.py first asks their own releases for a file that was built for this torch, CUDA, Python and C++ ABI, and compiles where
# there is none: setup.py of flash-attn 2.7.4, causal-conv1d 1.4.0 and mamba-ssm 2.2.4. Apart from what is installed they see another torch.
_FETCH_A_WHEEL = frozenset(("flash-attn", "causal-conv1d", "mamba-ssm"))
# Compiled when they are installed, against the torch that is there.
_IMPORT_TORCH = frozenset(
    ("auto-gptq", "apex", "xformers", "deepspeed", "torch-scatter", "torch-sparse", "torch-cluster", "detectron2", "gptqmodel", "autoawq",
     "grouped-gemm", "transformer-engine", "pytorch3d", "diff-gaussian-rasterization", "simple-knn")
)  # fmt: skip


def quote_build(lines: Iterable[tuple[int, str]]) -> tuple[str, int] | None:
    """The first error that a build itself told, with its line; None where only the installer's words are there."""
    for number, line in lines:
        found = _SAYS.search(_TRIM.sub("", line))
        if found is not None and not _HANDS_ON.search(line):
            words = " ".join((found["of_compiler"] or found["of_python"]).split())
            return (words if len(words) <= _LONGEST else f"{words[:_LONGEST]}..."), number
    return None


def explain_build(lines: Iterable[tuple[int, str]]) -> tuple[str, str, int] | None:
    """What the first known sentence of a compiler or a build in these lines means, what to do, and its line; None where none is known."""
    for number, line in lines:
        for one in BUILDS:
            if one.sure and (shown := re.search(one.says, line)) is not None:
                words = {name: value or "" for name, value in shown.groupdict().items()}
                means = one.means.format(**words)
                began = means.split(" ", 1)[0] in _ARTICLES
                return f"{means[:1].lower()}{means[1:]}" if began else means, one.advice.format(**words), number
    return None


def needs_torch(name: str) -> bool:
    """Whether the setup.py of a package imports torch and does not ask for it."""
    return name in _FETCH_A_WHEEL or name in _IMPORT_TORCH


def advise_build(name: str, version: str) -> str:
    """What to do where the build of a package failed and nobody pasted why; empty where nothing is known of its builds."""
    wanted = f"{name}=={version}" if version else name
    if name in _FETCH_A_WHEEL:
        return (
            f"pip install --no-build-isolation {wanted}, which takes a ready file of the project's releases where one is for this torch, "
            "CUDA and Python (python -c 'import torch; print(torch.__version__, torch.version.cuda)'): where none is, a torch that is "
            "among them; to compile it, the CUDA toolkit of torch.version.cuda in CUDA_HOME and MAX_JOBS=4"
        )
    if name in _IMPORT_TORCH:
        return (
            f"pip install --no-build-isolation -v {wanted}, after torch, with nvcc of torch.version.cuda in CUDA_HOME: its first line with "
            "'error' is the reason"
        )
    return ""
