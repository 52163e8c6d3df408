"""A GPU that is newer than the stated CUDA: what was compiled with that CUDA has no code for it, whatever the error that says so.

The first CUDA whose compiler knows a compute capability, as NVIDIA's compatibility guides for Ampere, Ada, Hopper and Blackwell have it
(https://docs.nvidia.com/cuda/ampere-compatibility-guide/, and ada-, hopper- and blackwell-compatibility-guide beside it).
"""

from __future__ import annotations

import re

from envdoctor.checks.hardware import capability_of
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.world.gpus import find_gpu

DEMAND = "error-demands-another-release"
GPU = "torch-wheel-lacks-gpu-kernels"
# What libraries and kernels say on a GPU that they were not compiled for, and for other reasons too.
_OF_THE_GPU = re.compile(
    r"CUDNN_STATUS_(?:NOT_INITIALIZED|INTERNAL_ERROR|EXECUTION_FAILED|MAPPING_ERROR|ARCH_MISMATCH|NOT_SUPPORTED)"
    r"|CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|ARCH_MISMATCH|NOT_INITIALIZED|INVALID_VALUE)"
    r"|no kernel image is available|CUDA error: invalid device function|unable to find an engine|Unable to find a valid cuDNN algorithm"
    r"|cudaErrorNoKernelImageForDevice|THCudaCheck FAIL"
)
_NO_CARD = re.compile(r"FlashInfer requires (?:GPUs with )?sm75(?:\+| or higher)")
_FIRST = (("12.0", "12.8"), ("10.0", "12.8"), ("9.0", "11.8"), ("8.9", "11.8"), ("8.6", "11.1"), ("8.0", "11.0"))
# Code for one of these runs on the next ones of its major: 8.0's on 8.6 and 8.9.
_SAME_MAJOR = {"8.9": "11.0", "8.6": "11.0"}


def judge_older_cuda(text: str, facts: Facts) -> Hit | None:
    """Whether the stated CUDA is older than the GPU that is stated, where an error is one that such a stack ends with."""
    if _NO_CARD.search(text) is not None:
        return _of_flashinfer(facts)
    if _OF_THE_GPU.search(text) is None:
        return None
    gpu, cuda, capability = _stated(facts)
    if capability is None or not isinstance(cuda, Exact):
        return None
    first = next((since for of, since in _FIRST if admits(f">={of}", capability)), "")
    runs = _SAME_MAJOR.get(capability, first)
    if not first or admits(f"<{runs}", cuda.text) is not True:
        return None
    detail = (
        f"{gpu or 'the GPU'} has compute capability {capability}, which CUDA compiles for since {first}; CUDA {cuda} is stated, and what "
        "was built with it, torch and its cuDNN, has no code for this GPU"
    )
    return Hit(
        GPU,
        True,
        (("gpu.name", f"compute capability {capability}"), ("cuda", f"<{runs}")),
        detail=detail,
        packages=("torch",),
        edge=f"{capability}:cuda",
        advice=f"a torch that was built for CUDA {first} or later (its label says which: +cu118), and a driver for it",
    )


def _stated(facts: Facts) -> tuple[str, object, str | None]:
    """The GPU that is stated, the CUDA, and the compute capability that is stated or known of the GPU."""
    gpu = facts.text("gpu.name") or ""
    known = find_gpu(gpu) if gpu else None
    return gpu, facts.value("cuda"), capability_of(facts) or (known.compute_capability if known is not None else None)


def _of_flashinfer(facts: Facts) -> Hit:
    """That FlashInfer found no card from 7.5 on: its list of cards is empty too where it could not make it.

    compilation_context.py of the wheel 0.6.10: for 12.x it wants CUDA 12.9, and an error in making the list is only logged.
    https://github.com/flashinfer-ai/flashinfer/issues/3675, https://github.com/vllm-project/vllm/issues/42393
    """
    gpu, cuda, capability = _stated(facts)
    around = "VLLM_USE_FLASHINFER_SAMPLER=0 keeps vLLM off it"
    if capability is not None and admits("<7.5", capability):
        detail = f"{gpu or 'the GPU'} has compute capability {capability}, and FlashInfer's kernels begin at 7.5"
        advice = f"another attention and sampler than FlashInfer's; {around}"
    elif capability is not None and admits(">=12", capability):
        there = f"CUDA {cuda} is stated" if isinstance(cuda, Exact) else "the CUDA that it found is older"
        detail = (
            f"{gpu or 'the GPU'} is not too old (compute capability {capability}): FlashInfer compiles for it from CUDA 12.9 on, {there}, "
            "and it then goes on with an empty list of cards, of which it says this"
        )
        advice = f"a toolkit (nvcc, CUDA_HOME) and a torch of CUDA 12.9 or later; {around}"
    else:
        detail = (
            "it found no card from compute capability 7.5 on, which is so for an older card, and also where it could make "
            "no list of them: an "
            "RTX 50 with a CUDA below 12.9, no GPU in sight while it is built, or an old FLASHINFER_CUDA_ARCH_LIST or TORCH_CUDA_ARCH_LIST"
        )
        advice = f'an RTX 50 wants CUDA 12.9 or later; else export FLASHINFER_CUDA_ARCH_LIST="8.9" (that of the card); {around}'
    return Hit(
        DEMAND,
        True,
        (("gpu.compute_capability", "none from 7.5 on was found"),),
        detail=detail,
        packages=("flashinfer-python",),
        edge="flashinfer-python:gpu",
        headline="FlashInfer found no GPU that it compiles for",
        advice=advice,
    )
