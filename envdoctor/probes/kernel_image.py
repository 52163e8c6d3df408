"""``kernel-image``: does a kernel of this torch launch on this GPU at all?

A wheel holds machine code for a list of architectures. On a GPU outside it every launch ends with
"no kernel image is available for execution on the device" (CUDA's cudaErrorNoKernelImageForDevice), or with
"invalid device function".
"""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.fact import Facts
from envdoctor.probes.on_gpu import gpu_words, no_gpu, ran_without_gpu
from envdoctor.probes.probe import CHILDREN, Probe
from envdoctor.probes.verdict import Ruling

NAME = "kernel-image"
KERNELS = ("element-wise", "reduction", "matrix product", "softmax gradient")

_NO_KERNEL = ("no kernel image is available", "invalid device function")


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """The kernels to launch, or why there is no GPU to launch them on."""
    return no_gpu(facts) or {"kernels": list(KERNELS)}


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> tuple[Ruling, str]:
    """What the launches show. Pure; anything unexpected in it is inconclusive."""
    why = ran_without_gpu(measured)
    if why is not None:
        return "inconclusive", why
    on = f"on {gpu_words(measured)}"
    launched = measured.get("kernels")
    kernels = [kernel for kernel in launched if isinstance(kernel, Mapping)] if isinstance(launched, (list, tuple)) else []
    for kernel in kernels:
        error = kernel.get("error")
        if error is not None:
            message = " ".join(str(error.get("message", "") if isinstance(error, Mapping) else error).split())[:300]
            if any(words in message.lower() for words in _NO_KERNEL):
                return "confirmed", f"{kernel.get('name')} {on}: {message}; torch was compiled for {_list(measured.get('architectures'))}"
            return "inconclusive", f"{kernel.get('name')} {on} failed in another way: {message}"
        if kernel.get("right") is not True:
            return "inconclusive", f"{kernel.get('name')} {on} ran and gave a wrong number, which is another fault"
    wanted = params.get("kernels")
    if not isinstance(wanted, (list, tuple)) or not wanted or [kernel.get("name") for kernel in kernels] != list(wanted):
        return "inconclusive", f"not all kernels were launched {on}"
    return "refuted", f"{len(kernels)} kernels of torch ran {on} and gave the right numbers"


def _list(value: object) -> str:
    return ", ".join(str(item) for item in value) if isinstance(value, (list, tuple)) and value else "no architecture"


PROBE = Probe(
    name=NAME,
    shows="whether torch holds kernels that run on this GPU",
    needs=("torch", "a GPU"),
    cost="3 to 15 s, nearly all of it the import and the start of CUDA",
    script=CHILDREN / "kernel_image.py",
    parameters=parameters,
    judge=judge,
    timeout=120.0,
    memory_bytes=16 << 30,
    gpu=True,
    proven=False,
)
