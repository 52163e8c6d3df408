"""A compiled module that Windows does not load: of which package it is, and what is behind it.

Python names the module alone, without the package around it; what the system says of it comes in the language of the system.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.linking import NO_LIBRARY
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe, named, reasons
from envdoctor.records import dataclass
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_NOT_LOADED = re.compile(r"DLL load failed while importing (?P<module>[A-Za-z_][\w.]{0,80})(?P<why>[^\n]{0,200})")
# https://github.com/microsoft/onnxruntime/issues/16116: what the system lacks, in the languages in which people pasted it.
_NO_PROCEDURE = re.compile(r"specified procedure could not be found|找不到指定的程序")
_PACKAGE_OF = {
    "onnx_cpp2py_export": "onnx", "onnxruntime_pybind11_state": "onnxruntime", "_multiarray_umath": "numpy", "_imaging": "pillow",
    "_sentencepiece": "sentencepiece", "_safetensors_rust": "safetensors", "_tiktoken": "tiktoken", "libtriton": "triton",
    "_pywrap_tensorflow_internal": "tensorflow", "_framework_bindings": "mediapipe", "flash_attn_2_cuda": "flash-attn",
    "_pydantic_core": "pydantic-core", "cv2": "opencv-python",
}  # fmt: skip
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


def judge_not_loaded(failure: Failure, facts: Facts) -> Hit | None:
    """The package whose compiled module Windows does not load; None where nobody can tell whose it is."""
    found = _NOT_LOADED.search(failure.message)
    if found is None:
        return None
    module = found["module"].rpartition(".")[2]
    raised = package_of(failure.raised_in) if failure.raised_in else ""
    package = _PACKAGE_OF.get(module) or raised or (package_of(module) if package_of(module) in listed() else "")
    if not package:
        return None
    stated, floor = facts.value(f"packages.{package}"), _FLOORS.get(package)
    detail = f"Windows does not load {module} of {describe(package, facts)}"
    advice, pins = f"{_RUNTIME}; or an earlier release of {package}", _NO_PINS
    if package == "onnxruntime" and _NO_PROCEDURE.search(found["why"]):
        detail += ": it calls a function of the system that this Windows does not have, as 1.15.0 did on Windows Server 2016"
        advice = f"another release of onnxruntime (1.15.1 for 1.15.0); or {_RUNTIME}"
    elif floor is not None and not (isinstance(stated, Exact) and admits(f"<={floor.last}", stated)):
        detail += f": {floor.says}"
        advice, pins = f"{_RUNTIME}, or pip install {package}=={floor.last}", ((package, f"<={floor.last}"),)
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
