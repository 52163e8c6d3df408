"""Compiled modules that a package or a project makes when it is installed: no package index has them by their own name.

https://github.com/henrywoo/pyllama/issues/30: ``quant_cuda``, which the setup.py of a dozen projects builds. Deformable
DETR and its kin build ``MultiScaleDeformableAttention``, or load it as they run.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.own_code import innermost_own
from envdoctor.logs.statements import MissingModule
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import caller_of, named, place_of
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

# How their authors call them, and the few by a name that does not show it.
_BUILT = re.compile(r"_?ext|_ext_\w+|\w+_ext|_C|\w+_C|\w+_cuda(?:_\w+)?|\w+_csrc|MultiScaleDeformableAttention")
# Of NVIDIA's own, on the package index: numba-cuda.
_ON_THE_INDEX = frozenset(("numba_cuda",))


def judge_built(one: MissingModule, failure: Failure) -> Hit | None:
    """A module by the name of a compiled part, whoever asks for it; None of a package whose releases are known."""
    above, _, last = one.name.rpartition(".")
    top = one.name.partition(".")[0]
    if one.shadowed or not _BUILT.fullmatch(last) or top in _ON_THE_INDEX or (above and package_of(top) in listed()):
        return None
    package, where = caller_of(failure)
    frame = innermost_own(failure)
    if above and not package:
        package = top if "-packages" in "".join(one.path for one in failure.frames) else ""
    if package and frame is None:
        owner = whose = package
        asks = f"{where} imports it: "
        again = (
            f"pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps {package}"
            if package in listed()
            else (f"install {package} again from where it came (--no-build-isolation --no-cache-dir --force-reinstall --no-deps)")
        )
    else:
        owner, whose = "", top if above else "the project"
        asks = f"{place_of(frame)} imports it: " if frame is not None else ""
        again = (
            f"in the folder with the setup.py that names {last}: pip install --no-build-isolation -v . (python setup.py install in older "
            "projects; its README has the step)"
        )
    return Hit(
        "error-module-missing",
        True,
        detail=f"{asks}{last} is compiled when {whose} is installed, and comes with no other package: its build was left out or failed, "
        "or was made for another Python or torch",
        packages=named(owner),
        edge=f"{owner or 'code'}:{one.name}:unbuilt",
        headline=f"The compiled module {last} of {whose} was not built",
        advice=f"with the CUDA toolkit that torch was built for (nvcc --version against torch.version.cuda, CUDA_HOME) and a gcc or Visual "
        f"C++ that it takes: {again}, and see in its output that the compilation succeeds",
    )
