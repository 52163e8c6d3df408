"""Each compiled extension of torch that is installed: imported, and one small operation run, in a process of its own.

What is measured, by package: ``stage`` (``torch``, ``import``, ``operation`` or ``done``: how far it came), ``error`` (type,
message with its causes, None where there was none), ``status`` of its process (negative for a signal), ``timed_out``,
``operation`` (what was run, None where nothing was), ``why`` (why nothing was), and ``device``.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

# Module by package, and the compiled top-level modules that belong to it.
MODULES = {
    "torchvision": ("torchvision", ()),
    "torchaudio": ("torchaudio", ()),
    "torchtext": ("torchtext", ()),
    "bitsandbytes": ("bitsandbytes", ()),
    "triton": ("triton", ()),
    "xformers": ("xformers", ()),
    "flash-attn": ("flash_attn", ("flash_attn_2_cuda", "flash_attn_cuda")),
    "deepspeed": ("deepspeed", ()),
    "apex": ("apex", ("apex_C", "amp_C", "fused_layer_norm_cuda")),
    "auto-gptq": (None, ("autogptq_cuda_64", "autogptq_cuda_256", "exllama_kernels", "exllamav2_kernels", "autogptq_marlin_cuda")),
    "autoawq-kernels": (None, ("awq_ext", "awq_v2_ext", "exl_ext", "exlv2_ext")),
}
MESSAGE, TAIL = 3000, 1000
TRITON_KERNEL = """
import triton
import triton.language as tl

@triton.jit
def double(source, target, count, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    inside = places < count
    tl.store(target + places, tl.load(source + places, mask=inside) * 2, mask=inside)
"""


class NotRunError(Exception):
    """Nothing was run, for a reason that is no fault."""


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    found = [name for name in params["extensions"] if is_installed(name)]
    measured: dict[str, Any] = {"versions": {}, "not_installed": [name for name in params["extensions"] if name not in found]}
    measured["extensions"] = {}
    until = time.monotonic() + float(params["seconds"])
    for name in found:
        stage(f"importing {name}")
        seconds = min(float(params["seconds_each"]), max(0.1, until - time.monotonic()))
        measured["extensions"][name] = alone(name, seconds)
        measured["versions"].update(measured["extensions"][name].pop("versions"))
    return measured


def is_installed(name: str) -> bool:
    module, compiled = MODULES[name]
    return any(importlib.util.find_spec(part) is not None for part in ((module,) if module else compiled))


def alone(name: str, seconds: float) -> dict[str, Any]:
    """One package in a child of this child, which tells how far it came by lines in a file of its own."""
    told = os.path.abspath(f"extension-{name}.jsonl")
    said = os.path.abspath(f"extension-{name}.out")
    timed_out = False
    with open(said, "wb") as output:
        command = [sys.executable, "-u", __file__, name, told]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT) as process:
            try:
                process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                timed_out = True
                process.kill()
    measured: dict[str, Any] = {"stage": "start", "error": None, "operation": None, "why": None, "device": None, "versions": {}}
    if os.path.exists(told):
        with open(told, encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):  # a process that was killed may leave half a line
                    measured.update(json.loads(line))
    measured.update({"status": process.returncode, "timed_out": timed_out})
    if measured["stage"] != "done" or measured["error"] is not None:
        with open(said, "rb") as output:
            output.seek(max(0, os.path.getsize(said) - TAIL))
            measured["output"] = output.read().decode("utf-8", "replace")
    return measured


def main() -> None:
    # This file's directory has names that are those of other packages; with PYTHONSAFEPATH it is not on the path.
    if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]
    name, told = sys.argv[1:3]

    def tell(**news: Any) -> None:
        with open(told, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(news) + "\n")

    try:
        examine(name, tell)
    except BaseException as error:  # noqa: BLE001 - whatever an extension raises is what is measured
        message = chain(error)
        if name == "torchvision":
            message = " <- ".join([message, *hidden_by_torchvision()])
        tell(error={"type": type(error).__name__, "message": message})
    # What crashes at interpreter exit cannot undo what was measured.
    os._exit(0)


def examine(name: str, tell: Callable[..., None]) -> None:
    tell(stage="torch")
    torch: Any = importlib.import_module("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tell(stage="import", device=device, versions={"torch": str(torch.__version__), **version_of(name)})
    module, compiled = MODULES[name]
    package: Any = importlib.import_module(module) if module else None
    for part in compiled:
        if importlib.util.find_spec(part) is not None:
            importlib.import_module(part)
    if name == "xformers":
        # It goes on without its library, and keeps the reason.
        hidden = getattr(importlib.import_module("xformers._cpp_lib"), "_cpp_library_load_exception", None)
        if hidden is not None:
            raise ImportError(chain(hidden))
    tell(stage="operation")
    try:
        operation = OPERATIONS[name](torch, package, device) if name in OPERATIONS else None
    except NotRunError as reason:
        tell(stage="done", why=str(reason))
        return
    tell(stage="done", operation=operation, why=None if operation else "no small operation of it is known")


def version_of(name: str) -> dict[str, str]:
    """The release as its metadata say; nothing for one that was built in place."""
    from importlib import metadata

    try:
        return {name: metadata.version(name)}
    except metadata.PackageNotFoundError:
        return {}


def chain(error: BaseException) -> str:
    """What was raised and what it was raised from: the loader's own words are often the last."""
    words: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(words) < 6:
        words.append(" ".join(str(seen).split()))
        seen = seen.__cause__ or seen.__context__
    return " <- ".join(word for word in words if word)[:MESSAGE]


def hidden_by_torchvision() -> list[str]:
    """What the loader says of torchvision's library: torchvision goes on without it and fails on the first operator."""
    import ctypes

    spec = importlib.util.find_spec("torchvision")
    for directory in spec.submodule_search_locations or () if spec else ():
        for file in sorted(os.listdir(directory)):
            if file.startswith("_C.") and file.endswith((".so", ".pyd")):
                try:
                    ctypes.CDLL(os.path.join(directory, file))
                except OSError as error:
                    return [" ".join(str(error).split())[:MESSAGE]]
    return []


def of_torchvision(torch: Any, package: Any, device: str) -> str:
    boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 10.0, 9.0], [20.0, 20.0, 30.0, 30.0]], device=device)
    kept = importlib.import_module("torchvision.ops").nms(boxes, torch.tensor([0.9, 0.8, 0.7], device=device), 0.5)
    return expect("nms", kept.tolist() == [0, 2])


def of_torchaudio(torch: Any, package: Any, device: str) -> str:
    filtered = importlib.import_module("torchaudio.functional").lfilter(
        torch.full((8,), 0.5), torch.tensor([1.0, 0.5]), torch.tensor([1.0, 0.0]), clamp=False
    )
    return expect("lfilter", abs(float(filtered[1]) - 0.25) < 1e-5)


def of_torchtext(torch: Any, package: Any, device: str) -> str:
    from collections import OrderedDict

    words = importlib.import_module("torchtext.vocab").vocab(OrderedDict([("a", 2), ("b", 1)]))
    return expect("vocab", words["b"] == 1)


def of_bitsandbytes(torch: Any, package: Any, device: str) -> str:
    functional = importlib.import_module("bitsandbytes.functional")
    values = torch.linspace(-1.0, 1.0, 4096, device=device)
    packed, state = functional.quantize_blockwise(values)
    error = (functional.dequantize_blockwise(packed, state) - values).abs().max()
    return expect("quantize_blockwise", float(error) < 0.1)


def of_triton(torch: Any, package: Any, device: str) -> str:
    gpu_only(device)
    os.environ["TRITON_CACHE_DIR"] = os.path.abspath("triton-cache")
    # Triton reads a kernel's source from the file that it is in.
    with open("envdoctor_kernel.py", "w", encoding="utf-8") as file:
        file.write(TRITON_KERNEL)
    spec: Any = importlib.util.spec_from_file_location("envdoctor_kernel", os.path.abspath("envdoctor_kernel.py"))
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    source = torch.arange(32, device=device, dtype=torch.float32)
    target = torch.zeros_like(source)
    kernel.double[(1,)](source, target, 32, BLOCK=32)
    return expect("a compiled kernel", bool((target == source * 2).all()))


def of_xformers(torch: Any, package: Any, device: str) -> str:
    gpu_only(device)
    rows = torch.ones(1, 16, 2, 64, device=device, dtype=torch.float16)
    result = importlib.import_module("xformers.ops").memory_efficient_attention(rows, rows, rows)
    return expect("memory_efficient_attention", bool((result == 1).all()))


def of_flash_attn(torch: Any, package: Any, device: str) -> str:
    gpu_only(device)
    if not hasattr(package, "flash_attn_func"):
        raise NotRunError("before 2.0 it has no flash_attn_func, and without its compiled module neither")
    rows = torch.ones(1, 16, 2, 64, device=device, dtype=torch.float16)
    return expect("flash_attn_func", bool((package.flash_attn_func(rows, rows, rows) == 1).all()))


def of_deepspeed(torch: Any, package: Any, device: str) -> str:
    """Load what was built in advance, and take a step with the optimizer for the CPU where that was."""
    built: Any = getattr(importlib.import_module("deepspeed.git_version_info"), "installed_ops", {})
    names = [name for name, is_built in built.items() if is_built]
    if not names:
        raise NotRunError("no operation was built in advance: they are compiled when first used")
    builders: Any = importlib.import_module(deepspeed_builders()).ALL_OPS
    for name in names:
        if name in builders:
            # Operations built for another accelerator are not loaded but compiled anew.
            builders[name].jit_load = refuse_to_compile
            builders[name].load()
    if "cpu_adam" not in names:
        return f"loading {', '.join(names)}"[:200]
    weights = torch.nn.Parameter(torch.ones(64))
    weights.grad = torch.ones(64)
    importlib.import_module("deepspeed.ops.adam").DeepSpeedCPUAdam([weights], lr=0.5).step()
    return expect("DeepSpeedCPUAdam", bool(((weights.detach() - 0.5).abs() < 1e-2).all()))


def deepspeed_builders() -> str:
    """The module that has ALL_OPS: one of its own in newer releases (0.18.2), the package itself in the first."""
    package = "deepspeed.ops.op_builder"
    return f"{package}.all_ops" if importlib.util.find_spec(f"{package}.all_ops") is not None else package


def refuse_to_compile(*_: Any, **__: Any) -> None:
    raise NotRunError("its operations were built for another accelerator, and would be compiled")


def of_apex(torch: Any, package: Any, device: str) -> str:
    if importlib.util.find_spec("fused_layer_norm_cuda") is None:
        raise NotRunError("it was installed without compiled extensions")
    gpu_only(device)
    layer = importlib.import_module("apex.normalization").FusedLayerNorm(64).to(device)
    return expect("FusedLayerNorm", bool(layer(torch.ones(2, 64, device=device)).abs().max() < 1e-3))


def gpu_only(device: str) -> None:
    if device != "cuda":
        raise NotRunError("no GPU")


def expect(operation: str, right: bool) -> str:
    if not right:
        raise ArithmeticError(f"{operation} gave a wrong result")
    return operation


OPERATIONS: dict[str, Callable[[Any, Any, str], str]] = {
    "torchvision": of_torchvision,
    "torchaudio": of_torchaudio,
    "torchtext": of_torchtext,
    "bitsandbytes": of_bitsandbytes,
    "triton": of_triton,
    "xformers": of_xformers,
    "flash-attn": of_flash_attn,
    "deepspeed": of_deepspeed,
    "apex": of_apex,
}


if __name__ == "__main__":
    main()
