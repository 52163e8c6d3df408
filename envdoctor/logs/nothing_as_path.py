"""None in place of a path, where the line that was printed shows what is None.

``os.path.join`` and ``open`` say the message of ``os.fspath`` of their first argument alone; of a later one ``join`` says another
(Lib/genericpath.py, ``_check_arg_types``).
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.own_code import package_in
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named, place_of

RUN = "error-of-the-run"
_SAYS = re.compile(r"expected str, bytes or os\.PathLike object, not NoneType")
_FIRST = re.compile(
    r"\b(?:os\.path\.(?:join|abspath|dirname|basename|realpath|expanduser)|os\.(?:listdir|makedirs|mkdir|fspath)|open|Path)"
    r"\(\s*(?P<what>[A-Za-z_][\w.]{1,80}(?:\[['\"]\w{1,40}['\"]\])?)\s*[,)]"
)
_FILE_OF_MODEL = re.compile(r"(?i)vocab|merges|token|resolved|spm|checkpoint|_file$")
_TOOLKITS = {"CUDA_HOME": "CUDA", "CUDA_PATH": "CUDA", "ROCM_HOME": "ROCm", "HIP_HOME": "ROCm"}
_OF_ROCM = re.compile(r"(?i)hipify|rocm|\bhip\b")


def judge_nothing_as_path(failure: Failure) -> Hit | None:
    """Which value is None; None where no line shows it, or where it is a file of a model that was not found."""
    frame = next((one for one in reversed(failure.frames) if one.text), None)
    if frame is None or not _SAYS.search(failure.told):
        return None
    names = [one["what"] for one in _FIRST.finditer(frame.text)]
    if len(names) != 1 or _FILE_OF_MODEL.search(names[0]):
        return None
    name = names[0]
    package = package_in(frame)
    last = name.rpartition(".")[2]
    toolkit = _TOOLKITS.get(last, "")
    detail = f"{place_of(frame)}: `{frame.text[:120]}`"
    headline = f"{name} is None, and a path is made of it"
    advice = f"set what {name} comes from: an argument, a setting or a variable of the environment that is empty here"
    if toolkit:
        headline = f"{last} is empty where a path is made of it: no toolkit of {toolkit} was found"
        advice = f"install the {toolkit} toolkit of this torch and export {last}=its folder"
        if toolkit == "CUDA":
            rocm = any(_OF_ROCM.search(f"{one.text} {one.function}") for one in failure.frames)
            detail = f"{place_of(frame)}: torch leaves it empty where no nvcc is found, and in its builds for ROCm, which have ROCM_HOME"
            other = f"a release{f' of {package}' if package else ''} that reads ROCM_HOME, or building without that part; with CUDA: "
            advice = (other if rocm else "") + advice
            advice += "" if rocm else "; on a torch for ROCm it stays empty: then a release that reads ROCM_HOME"
    return Hit(
        RUN,
        True,
        detail=detail,
        packages=named(package),
        edge=f"nothing:path:{frame.path[-60:]}:{frame.line}"[:160],
        headline=headline,
        advice=advice,
    )
