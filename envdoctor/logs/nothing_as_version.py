"""None in place of a version: a package whose metadata is no longer whole, handed to ``packaging``.

https://github.com/python/cpython/issues/91216: ``importlib.metadata.version`` gives None where the folder of the metadata is left and its
files are gone; https://github.com/pypa/build/issues/626 is such an environment.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named
from envdoctor.world.import_names import package_of

_SAYS = re.compile(r"TypeError: expected string or bytes-like object(?:, got 'NoneType')?$")
_ASKED = re.compile(r"version\(\s*['\"](?P<name>[\w.-]{2,60})['\"]\s*\)")
# Others read versions of themselves on the way.
_READERS = ("packaging", "pkg_resources", "setuptools", "pip")


def judge_nothing_as_version(failure: Failure) -> Hit | None:
    """Whose metadata has no version, where a line shows it; None where it is not ``packaging`` that was given nothing."""
    last = failure.frames[-1] if failure.frames else None
    if last is None or not _SAYS.search(failure.told) or not last.module.endswith("packaging.version"):
        return None
    whose = next((found["name"] for one in reversed(failure.frames) if (found := _ASKED.search(one.text)) is not None), "")
    caller = next((one.package for one in reversed(failure.frames) if one.package and one.package not in _READERS), "")
    which = f"of {whose}" if whose else "of an installed package"
    asked = f"{package_of(caller)} asks for it" if caller else "who asks for it stands in the frames before"
    name = whose or "NAME"
    find = (
        "python -c \"import importlib.metadata as m; print([d._path for d in m.distributions() if not d.metadata['Version']])\" shows it; "
    )
    return Hit(
        "error-of-the-run",
        # A version may also be read from a file of settings, which has none.
        True if whose else None,
        detail=f"packaging was given None as a version: the folder of the metadata (*.dist-info) is there without its files; {asked}",
        packages=named(whose, package_of(caller) if caller else ""),
        edge=f"nothing:version:{name}",
        headline=f"The metadata {which} has no version: an install or an uninstall of it broke off, or two are mixed",
        advice=f"{'' if whose else find}remove that folder and pip install --force-reinstall {name}",
    )


__all__ = ["judge_nothing_as_version"]
