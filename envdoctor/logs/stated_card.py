"""What a GPU that is stated makes of a message which is said of GPUs too old, too new, and of extensions built for others: which of them.

Which build of torch has code for which GPU is read from its wheels (``world/torch_builds.py``). A K80 that ended in cuDNN's status under
torch 2 ran with 1.13.1 for CUDA 11.7: https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/9589.
"""

from __future__ import annotations

import re

from envdoctor.checks.hardware import capability_of
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.world.gpus import find_gpu
from envdoctor.world.torch_builds import TorchBuild, releases_listed, runs_on, torch_build, variants

RUN, LACKS_KERNELS = "error-of-the-run", "torch-wheel-lacks-gpu-kernels"
_NO_KERNEL = re.compile(
    r"no kernel image is available|cudaErrorNoKernelImageForDevice|CUDA error: invalid device function"
    r"|CUDA capability sm_\d+ is not compatible"
)
_OF_CUDNN = re.compile(r"CUDNN_STATUS_(?:NOT_INITIALIZED|INTERNAL_ERROR|EXECUTION_FAILED|MAPPING_ERROR|ARCH_MISMATCH|NOT_SUPPORTED)")
_KEPLER, _INDEXES = "<5", ("cu126", "cu128")
# With the torchvision of its day.
_FOR_KEPLER = 'pip install "torch==1.13.1+cu117" "torchvision==0.14.1+cu117" --extra-index-url https://download.pytorch.org/whl/cu117'


def judge_card(text: str, facts: Facts) -> Hit | None:
    """Which cause of several a message has on the GPU that is stated; None where none is, or it decides nothing."""
    if facts.text("gpu.vendor") not in (None, "nvidia"):
        return None
    name = facts.text("gpu.name") or ""
    known = find_gpu(name) if name else None
    capability = capability_of(facts) or (known.compute_capability if known is not None else None)
    kernels = _NO_KERNEL.search(text) is not None
    if not capability or not (kernels or _OF_CUDNN.search(text)):
        return None
    serving = [build for build in _all() if runs_on(build, capability)]
    if not serving:
        return None
    gpu = f"{name or 'the GPU'} (compute capability {capability})"
    torch = facts.value("packages.torch")
    if admits(_KEPLER, capability):
        return None if isinstance(torch, Exact) and admits("<2", torch) else _of_kepler(name, gpu)
    first, newest = serving[0], serving[-1].release == releases_listed()[-1]
    if isinstance(torch, Exact):
        return _of_stated(torch, first, gpu, capability, kernels=kernels)
    if not kernels and admits("<9", capability):
        return None  # builds without its code are rare by now, and the status has other causes
    index = f"https://download.pytorch.org/whl/{_label(serving)}"
    detail = f"{gpu} has code in {_since(first, capability)}"
    if not newest or not any(build.pypi_default for build in serving if build.release == serving[-1].release):
        last = serving[-1]
        detail += f", and until {last.release} in the builds for CUDA {last.cuda}: what ran is older than these, or newer"
    else:
        detail += ": the torch that ran is older than that or for an older CUDA"
    if kernels:
        detail += "; else an extension in the traceback was compiled for other GPUs"
    then = '; code of before torch 2: pip install "torch==1.13.1+cu117" "torchvision==0.14.1+cu117" --extra-index-url '
    then += "https://download.pytorch.org/whl/cu117"
    advice = f"pip install --force-reinstall torch torchvision --index-url {index}"
    advice += then if admits("<9", capability) else ""
    advice += f'; an extension: build it again with TORCH_CUDA_ARCH_LIST="{capability}"' if kernels else ""
    return _hit(detail, f"The torch that ran has no code for {name or 'this GPU'}, or an extension of it has none", advice)


def _of_kepler(name: str, gpu: str) -> Hit:
    detail = (
        f"{gpu} has drivers up to CUDA 11 alone: torch 2 for CUDA 12 has no code for it, and the cuDNN that other builds of torch 2 bring "
        "does not run there; torch 1.13 for CUDA 11.7 does"
    )
    return _hit(detail, f"This torch is too new for {name or 'the GPU'}", _FOR_KEPLER)


def _of_stated(torch: Exact, first: TorchBuild, gpu: str, capability: str, *, kernels: bool) -> Hit | None:
    """The same where torch is stated too: older than all that serve the GPU, or all its builds do."""
    public, _, label = torch.text.partition("+")
    built = [torch_build(f"{public}+{one}") for one in ((label,) if label else variants(public))]
    runs = [runs_on(one, capability) for one in built if one is not None and one.cuda is not None]
    if admits(f"<{first.release}", public):
        if first.release == releases_listed()[0] and (admits("<8", capability) or label.startswith("cu11")):
            return None
        detail = f"{gpu} has code in {_since(first, capability)}, and torch {torch} is stated"
        index = f"https://download.pytorch.org/whl/{first.variant}"
        advice = f"torch {first.release} or later with its torchvision: pip install torch torchvision --index-url {index}"
        return _hit(detail, f"torch {torch} has no code for {gpu.partition(' (')[0]}", advice)
    if kernels and runs and all(runs):
        detail = f"torch {torch} has code for {gpu} in each of its CUDA builds: an extension in the traceback was compiled for other GPUs"
        advice = (
            f'build it again where this GPU is: TORCH_CUDA_ARCH_LIST="{capability}" pip install --no-build-isolation --no-cache-dir '
            "--force-reinstall --no-deps PACKAGE, or in the project's folder"
        )
        return _hit(detail, f"An extension was compiled for other GPUs than {gpu.partition(' (')[0]}", advice)
    return None


def _hit(detail: str, headline: str, advice: str) -> Hit:
    return Hit(
        RUN, True, (("gpu.name", "decides which"),), detail=detail, packages=("torch",), edge="torch:stated-card", headline=headline,
        advice=advice, unless=(LACKS_KERNELS,),
    )  # fmt: skip


def _since(first: TorchBuild, capability: str) -> str:
    """From when on a GPU is served, in words: of releases before those that were read by the CUDA that first compiled for it."""
    if first.release != releases_listed()[0]:
        return f"torch from {first.release} for CUDA {first.cuda} on"
    return "torch's builds for CUDA 11.0 and later" if admits(">=8", capability) else f"torch's builds up to {first.release} and after it"


def _label(serving: list[TorchBuild]) -> str:
    """The index whose builds serve a GPU, with the oldest drivers that it still works with."""
    return next((one for one in _INDEXES if any(build.variant == one for build in serving)), serving[-1].variant)


def _all() -> list[TorchBuild]:
    found = (torch_build(f"{release}.0+{one}") for release in releases_listed() for one in variants(f"{release}.0"))
    return [build for build in found if build is not None and build.cuda is not None]
