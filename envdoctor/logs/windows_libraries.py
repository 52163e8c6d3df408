"""A compiled module that Windows does not load: of which package it is, and what is behind it.

Python names the module alone, without the package around it; what the system says of it comes in the language of the system.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.linking import AGAINST_TORCH, NO_LIBRARY
from envdoctor.logs.places import owner_of
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe, named, reasons
from envdoctor.records import dataclass
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_NOT_LOADED = re.compile(r"DLL load failed while importing (?P<module>[A-Za-z_][\w.]{0,80})(?P<why>[^\n]{0,200})")
# https://github.com/microsoft/onnxruntime/issues/16116: what the system lacks, in the languages in which people pasted it.
_NO_PROCEDURE = re.compile(r"specified procedure could not be found|找不到指定的程序")
# What ctypes says of a library of torch's, with the number of the system's error; JSON doubles the backslashes.
_OF_TORCH = re.compile(
    r"\[WinError (?P<number>\d{1,5})\][^\n]{0,200}?Error loading [^\n]{0,300}?torch[\\/]{1,4}lib[\\/]{1,4}(?P<file>[\w.-]{1,60}\.dll)"
)
# 126: https://github.com/pytorch/pytorch/issues/131662; 127: /61947; 182: /111365; 1114: /169429,
# https://github.com/nagadomi/nunif/issues/701 (the newest runtime), https://github.com/1517005260/graph-rag-agent/issues/54 (torch 2.8.0).
_NEWER_RUNTIME = "the file's start fails: from 2.9 on torch wants a newer Visual C++ runtime than many systems have"
_WHY = {
    "126": "a library that it needs is not there: the Visual C++ runtime, or a part of torch that an upgrade or a scanner removed",
    "127": "a function that it calls is not there: files of two releases of torch lie together, or another library of that name "
    "is found first",
    "182": "the file is damaged or for another system: a broken download, or files of two releases",
    "193": "the file is damaged or for another system: a broken download, or a Python of 32 bit",
    "1114": _NEWER_RUNTIME,
}
# A rule of its own knows of that one: what torch 2.4.0 lacks there.
_TOLD_BY_A_RULE = ("126", "fbgemm.dll")
_PACKAGE_OF = {
    "onnx_cpp2py_export": "onnx", "onnxruntime_pybind11_state": "onnxruntime", "_multiarray_umath": "numpy", "_imaging": "pillow",
    "_sentencepiece": "sentencepiece", "_safetensors_rust": "safetensors", "_tiktoken": "tiktoken", "libtriton": "triton",
    "_pywrap_tensorflow_internal": "tensorflow", "_framework_bindings": "mediapipe", "flash_attn_2_cuda": "flash-attn",
    "_pydantic_core": "pydantic-core", "cv2": "opencv-python", "_ufuncs": "scipy", "_fblas": "scipy", "_flapack": "scipy",
}  # fmt: skip
_FILE = re.compile(
    r"(?:Could not load this library:\s{0,4}|Procedure (?P<symbol>\S{3,200}) (?:was )?not found in (?:the )?(?:DLL|dynamic link "
    r"library)\W{1,3})"
    r"(?P<path>[^\n]{0,300}[\\/](?:site|dist)-packages[\\/][^\n]{3,200}?\.(?:so|dll|pyd|dylib)\b)"
)
_NO_PINS: tuple[tuple[str, str], ...] = ()
_RUNTIME = "install the newest Microsoft Visual C++ Redistributable (x64)"


@dataclass(frozen=True, slots=True)
class _Floor:
    """The last release of a package that loads with an older Visual C++ runtime, and what its threads say of later ones."""

    last: str
    says: str


_FLOORS = {
    # https://github.com/onnx/onnx/issues/6267 and https://github.com/vietanhdev/anylabeling/pull/182
    "onnx": _Floor("1.16.1", "onnx 1.16.2 and 1.17.0 do not load where the Visual C++ runtime is older than the one they were built with"),
    # https://github.com/google/magika/issues/1092 and https://github.com/microsoft/markitdown/issues/1266
    "onnxruntime": _Floor("1.20.1", "from 1.21.0 on onnxruntime wants a newer Visual C++ runtime than many systems have"),
}


def judge_torch_library(text: str, facts: Facts) -> Hit | None:
    """A library of torch's own that Windows does not load, with what its number says; None where the text tells of none."""
    found = _OF_TORCH.search(text)
    if found is None or (found["number"], found["file"]) == _TOLD_BY_A_RULE or found["number"] not in _WHY:
        return None
    again = "pip install --force-reinstall --no-cache-dir torch (the same version and index)"
    advice = f"{_RUNTIME}, then {again}"
    pins = _NO_PINS
    if found["number"] == "1114":
        advice, pins = f"{_RUNTIME} and start anew; or torch 2.8.0 with what goes with it", (("torch", "<2.9"),)
        stated = facts.value("packages.torch")
        if isinstance(stated, Exact) and admits("<2.9", stated):
            advice, pins = f"{_RUNTIME}, then {again}", _NO_PINS
    return Hit(
        NO_LIBRARY,
        True,
        reasons("torch"),
        detail=f"Windows does not load {found['file']} of {describe('torch', facts)} (error {found['number']}): {_WHY[found['number']]}",
        packages=("torch",),
        pins=pins,
        edge=f"torch:{found['file']}",
        headline="torch's own libraries do not load on this Windows",
        advice=advice,
    )


def judge_not_loaded(failure: Failure, facts: Facts) -> Hit | None:
    """The package whose compiled module Windows does not load; None where nobody can tell whose it is."""
    found = _NOT_LOADED.search(failure.message)
    if found is None:
        return judge_torch_library(failure.message, facts) or _judge_file(failure, facts)
    module = found["module"].rpartition(".")[2]
    raised = package_of(failure.raised_in) if failure.raised_in else ""
    package = _PACKAGE_OF.get(module) or raised or (package_of(module) if package_of(module) in listed() else "")
    if not package:
        return None
    # A frame that imports something else was not the last one: the rest was cut.
    last = failure.frames[-1].text if failure.frames else ""
    cut = module not in _PACKAGE_OF and bool(last) and "import" in last and module not in last
    stated, floor = facts.value(f"packages.{package}"), _FLOORS.get(package)
    beside = ", or of what that imports" if cut else ""
    detail = f"Windows does not load {module} of {describe(package, facts)}{beside}"
    advice, pins = f"{_RUNTIME}; or an earlier release of {package}", _NO_PINS
    if package == "onnxruntime" and _NO_PROCEDURE.search(found["why"]):
        detail += ": it calls a function of the system that this Windows does not have, as 1.15.0 did on Windows Server 2016"
        advice = f"another release of onnxruntime (1.15.1 for 1.15.0); or {_RUNTIME}"
    elif floor is not None and not (isinstance(stated, Exact) and admits(f"<={floor.last}", stated)):
        detail += f": {floor.says}"
        advice, pins = f"{_RUNTIME}, or pip install {package}=={floor.last}", ((package, f"<={floor.last}"),)
    elif package in AGAINST_TORCH:
        # https://github.com/AutoGPTQ/AutoGPTQ/issues/403
        detail += ": it was built for another torch or CUDA than is there, or the Visual C++ runtime is missing or older"
        advice = (
            f"pip install --force-reinstall --no-deps --no-cache-dir {package}, in the release and from the index for this torch and CUDA "
            f'(python -c "import torch; print(torch.__version__, torch.version.cuda)"); where it is the right one, {_RUNTIME}'
        )
    else:
        detail += ": the Visual C++ runtime is missing or older, a library beside it is not there, or it was built against another release"
    return Hit(
        NO_LIBRARY,
        True,
        reasons(package),
        detail=detail,
        packages=named(package, raised),
        pins=pins,
        edge=f"{package}:{module}",
        headline="A compiled module does not load on this Windows",
        advice=advice,
    )


def _judge_file(failure: Failure, facts: Facts) -> Hit | None:
    """A compiled file that torch or Windows does not load, told by its whole path: of which package it is.

    https://github.com/huggingface/peft/pull/3557 (mslk), https://github.com/yuvraj108c/ComfyUI-Whisper/issues/37 (torchcodec)
    """
    found = _FILE.search(failure.message)
    top = owner_of(found["path"])[0] if found is not None else ""
    # Where another error led to it, that one says more.
    if found is None or not top or top == "torch" or (failure.chained and not found["symbol"]):
        return None
    package, symbol = package_of(top), found["symbol"] or ""
    lacks = f"it calls {symbol}, which the libraries there do not have" if symbol else "what it needs is missing or of another release"
    of_torch = not symbol or re.search(r"@c10@@|@at@@|@torch@@|N3c10|N2at", symbol) is not None
    file = re.split(r"[\\/]", found["path"])[-1]
    built = "torch and the CUDA" if of_torch else "what"
    return Hit(
        NO_LIBRARY,
        True,
        reasons(package),
        detail=f"{file} of {describe(package, facts)} is not loaded: {lacks}: it was built for another release of {built} that is there",
        packages=named(package, "torch" if of_torch else ""),
        edge=f"{package}:{file}"[:160],
        headline="A compiled file was built for another release than the one beside it",
        advice=f"the release of {package} that was built for this torch (python -c 'import torch; print(torch.__version__, "
        f"torch.version.cuda)'), by its own page; both in one command and from one index; pip uninstall {package} where nothing needs it"
        + ("; torchcodec asks for FFmpeg's shared libraries as well" if package == "torchcodec" else ""),
    )
