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

GPU = "torch-wheel-lacks-gpu-kernels"
# What libraries and kernels say on a GPU that they were not compiled for, and for other reasons too.
_OF_THE_GPU = re.compile(
    r"CUDNN_STATUS_(?:NOT_INITIALIZED|INTERNAL_ERROR|EXECUTION_FAILED|MAPPING_ERROR|ARCH_MISMATCH|NOT_SUPPORTED)"
    r"|CUBLAS_STATUS_(?:EXECUTION_FAILED|INTERNAL_ERROR|ARCH_MISMATCH|NOT_INITIALIZED|INVALID_VALUE)"
    r"|no kernel image is available|CUDA error: invalid device function|unable to find an engine|Unable to find a valid cuDNN algorithm"
    r"|cudaErrorNoKernelImageForDevice|THCudaCheck FAIL"
)
_FIRST = (("12.0", "12.8"), ("10.0", "12.8"), ("9.0", "11.8"), ("8.9", "11.8"), ("8.6", "11.1"), ("8.0", "11.0"))
# Code for one of these runs on the next ones of its major: 8.0's on 8.6 and 8.9.
_SAME_MAJOR = {"8.9": "11.0", "8.6": "11.0"}


def judge_older_cuda(text: str, facts: Facts) -> Hit | None:
    """Whether the stated CUDA is older than the GPU that is stated, where an error is one that such a stack ends with."""
    if _OF_THE_GPU.search(text) is None:
        return None
    gpu, cuda = facts.text("gpu.name") or "", facts.value("cuda")
    known = find_gpu(gpu) if gpu else None
    capability = capability_of(facts) or (known.compute_capability if known is not None else None)
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
