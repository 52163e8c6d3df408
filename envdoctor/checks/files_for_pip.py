"""What pip, or an installer like it, is asked for together: the packages of files that it is given whole.

Lines of a Dockerfile or a notebook are installed one after the other, a lock is a resolution, constraints install nothing, and of conda's
packages conda's own metadata speaks; what an ``environment.yml`` lists for pip is given to it whole.
"""

from __future__ import annotations

import os
from functools import lru_cache

from envdoctor.facts.fact import REQUIRED, Fact, Facts
from envdoctor.facts.versions import Exact, Ranged

_PACKAGE = "packages."
_SUFFIXES = (".txt", ".in", ".pip", ".toml", ".cfg", ".py")
_NAMES = {".toml": "pyproject.toml", ".cfg": "setup.cfg", ".py": "setup.py"}
_CONDA = (".yml", ".yaml")


def declared_packages(facts: Facts) -> dict[str, Exact | Ranged]:
    """The packages that installers are asked for together; none where somebody has resolved or installed them already."""
    if facts.closed:
        return {}
    found = {}
    for name, fact in facts.by_name.items():
        if name.startswith(_PACKAGE) and isinstance(fact.value, (Exact, Ranged)) and is_declared(fact, facts):
            found[name.removeprefix(_PACKAGE)] = fact.value
    return found


def is_declared(fact: Fact, facts: Facts) -> bool:
    """Whether a fact is of a file that an installer is given whole, or of a proposed pin."""
    file = None if fact.origin.source.startswith(REQUIRED) else fact.origin.file
    if file is None:
        return fact.origin.source == "pin"
    return _installed_whole(file) or (file.endswith(_CONDA) and _is_of_pip(fact, facts))


def _is_of_pip(fact: Fact, facts: Facts) -> bool:
    """Whether a package of a conda environment file is left to a pip that refuses what does not go together."""
    brought, pip = facts.value("present"), facts.by_name.get(f"{_PACKAGE}pip")
    # Of such a file the reader states a pip only where it is one of before 20.3, which installs what does not go together.
    refuses = pip is None or pip.origin.file != fact.origin.file
    return refuses and not (isinstance(brought, tuple) and fact.name.removeprefix(_PACKAGE) in brought)


@lru_cache(maxsize=1024)
def _installed_whole(file: str) -> bool:
    """Whether an installer is given all that a file asks for at once, and judges it by what the index's releases require."""
    name = os.path.basename(file).lower()
    suffix = os.path.splitext(name)[1]
    if name == "pipfile":
        return True
    if suffix not in _SUFFIXES or _NAMES.get(suffix, name) != name:
        return False
    return not any(word in name.replace("_", "-") for word in ("no-deps", "nodeps", "constraint"))
