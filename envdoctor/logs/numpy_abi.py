"""What numpy and Cython say of compiled code that was built for another numpy: for which, and which is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.reading import Reading
from envdoctor.logs.specifiers import admits
from envdoctor.logs.wording import named
from envdoctor.world.dependencies import dependencies
from envdoctor.world.import_names import package_of

NUMPY_ABI = "error-compiled-for-another-numpy"

# numpy/_core/include/numpy/numpyconfig.h of 2.4: the releases that first had a version of the C API.
_SINCE = {
    0xA: "1.10", 0xB: "1.13", 0xC: "1.14", 0xD: "1.16", 0xE: "1.20", 0xF: "1.22", 0x10: "1.23", 0x11: "1.25", 0x12: "2.0", 0x13: "2.1",
    0x14: "2.3", 0x15: "2.4",
}  # fmt: skip
_API = re.compile(
    r"compiled against (?:NumPy C-)?API version (?P<built>0x[0-9a-f]{1,8}) but this version of numpy is (?P<there>0x[0-9a-f]{1,8})"
)
_ABI = re.compile(r"compiled against ABI version 0x100000\d but this version of numpy is 0x2000000")
_OLD_MODULE = re.compile(r"A module that was compiled using NumPy 1\.x cannot be run in\s{0,9}(?:NumPy 2)?|_ARRAY_API not found")
# A dtype has 96 bytes for code that numpy 1 compiled, and 88 in numpy 2: https://github.com/scikit-learn/scikit-learn/issues/30714
_DTYPE = re.compile(r"numpy\.dtype size changed, may indicate binary incompatibility\. Expected 96 from C header, got 88")
# numpy 1.20 gave the array a field more: https://numpy.org/doc/stable/release/1.20.0-notes.html
_ARRAY = re.compile(r"numpy\.ndarray size changed, may indicate binary incompatibility\. Expected 88 from C header, got 80")
_CHANGED = re.compile(
    r"numpy\.(?:ndarray|dtype|ufunc) (?:size changed,? (?:may indicate )?binary incompatibility|has the wrong size, try recompiling)"
)
# Only what changed, as people put it into the title of a thread.
_CUT = re.compile(r"^\W{0,4}(?:ValueError: )?numpy\.(?P<what>ndarray|dtype|ufunc) size changed\W{0,4}$")
_ARRAY_UNTOLD = re.compile(r"numpy\.ndarray size changed(?!.{0,60}Expected)")
# Their wheels were built for whatever numpy was the newest: https://github.com/MaartenGr/BERTopic/issues/392
_BUILT_ANEW = (
    "a compiled module was built for another numpy than the one that is there: which, the import above says (hdbscan and pycocotools are "
    "the most frequent)"
)
_GREW = re.compile(r"has the wrong size, try recompiling\. Expected (\d{1,4}), got (\d{1,4})")
_UNTOLD = re.compile(r"numpy\.(?:_core|core)\.(?:_?multiarray(?:_umath)?|umath) failed to import")
_MAJOR = "it was compiled for numpy 1, and numpy 2 is there: numpy below 2, or a release of it that was built for numpy 2"


def judge_numpy(reading: Reading, facts: Facts) -> Iterator[tuple[Hit, int, str]]:
    """Which numpy a compiled module was built for, with the line that says so; nothing that the stated numpy refutes."""
    if reading.ended_well:
        return  # numpy's long warning stops nobody
    lines = [(number, line, told) for number, line in reading.lines if (told := _told(line)) is not None]
    # What tells no numbers is the end of what does.
    for number, line, told in sorted(lines, key=lambda one: _UNTOLD.search(one[1]) is not None):
        detail, specifier = told
        stated = facts.value("packages.numpy")
        if specifier and isinstance(stated, Exact) and admits(specifier, stated):
            return
        last = reading.decisive
        whose = package_of(last.raised_in) if last is not None and last.raised_in else ""
        packages = named("numpy", whose or _only_user(facts))
        yield (
            Hit(
                NUMPY_ABI,
                True,
                (("packages.numpy", f"not {specifier}"),) if specifier else (),
                detail=detail,
                packages=packages,
                pins=(("numpy", specifier),) if specifier else (),
                edge=f"{whose or 'code'}:{specifier or 'older'}",
                advice="" if specifier else _build_anew(whose or "PACKAGE"),
            ),
            number,
            line.strip()[:300],
        )
        return


def _build_anew(package: str) -> str:
    return (
        f"pip install cython setuptools wheel, then pip install --force-reinstall --no-cache-dir --no-deps --no-build-isolation "
        f"--no-binary {package} {package}, which compiles it for the numpy that is there; without a compiler a later numpy below 2 that "
        "the others take (numba names the newest that it takes)"
    )


def _only_user(facts: Facts) -> str:
    """The one stated package that requires numpy; empty where there are several, or none."""
    stated = ((name.removeprefix("packages."), facts.value(name)) for name in facts if name.startswith("packages."))
    exact = ((name, value.text.partition("+")[0]) for name, value in stated if isinstance(value, Exact))
    users = [name for name, release in exact if any(one.name == "numpy" for one in dependencies(name, release) or ())]
    return users[0] if len(users) == 1 else ""


def _told(line: str) -> tuple[str, str] | None:
    """What the line means, and the releases of numpy that would do."""
    if _ABI.search(line) or _OLD_MODULE.search(line) or _DTYPE.search(line):
        return f"a compiled module does not go with the numpy that is there: {_MAJOR}", "<2"
    if _ARRAY.search(line):
        return "a compiled module was built for numpy 1.20 or later, and an older one is there", ">=1.20,<2"
    if (size := _GREW.search(line)) is not None and int(size[1]) < int(size[2]):
        return "a compiled module was built for an older numpy than the one that is there: build or install it again beside this numpy", ""
    if _ARRAY_UNTOLD.search(line) and ("Warning" not in line) and (_CHANGED.search(line) or _CUT.match(line)):
        return _BUILT_ANEW, ""
    if (cut := _CUT.match(line)) is not None and cut["what"] == "dtype":
        return f"a compiled module does not go with the numpy that is there: mostly {_MAJOR}", "<2"
    # Where the object only grew Cython warns, and nothing is broken.
    if _CHANGED.search(line) and "Warning" not in line and ("Expected " not in line or "ValueError" in line):
        return (
            "a compiled module was built for another numpy than the one that is there, mostly a newer one: a numpy as new as that one, or "
            "the module built or installed again (pip install --force-reinstall --no-cache-dir --no-deps PACKAGE, "
            "whose name the import above "
            "has)",
            ">=1.20,<2",
        )
    if _UNTOLD.search(line):
        which = "whose it is, the import in the frame above says"
        return f"a compiled module does not go with the numpy that is there ({which}): mostly {_MAJOR}", "<2"
    found = _API.search(line)
    if found is None:
        return None
    built, there = int(found["built"], 16), int(found["there"], 16)
    if built not in _SINCE or there not in _SINCE or built <= there:
        return None
    built_for, has = _SINCE[built], _SINCE[there]
    detail = f"a compiled module was built for the C API of numpy {built_for} or later, and the numpy that is there has that of {has}"
    return detail, f">={_SINCE[built]}{',<2' if built < 0x12 else ''}"
