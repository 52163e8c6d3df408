"""The release of a missing package that has what its import lines ask for: the newest is not always one of them.

https://github.com/linkedin/Liger-Kernel/issues/458: ``from trl.trainer import ORPOTrainer``, which trl has up to 0.28 alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.shelf import open_package
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callers import Caller
from envdoctor.logs.coupled import with_all_that_is_taken
from envdoctor.logs.newest import newest_for
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.dependencies import dependencies
from envdoctor.world.import_names import package_of

_FROM = re.compile(r"\bfrom (?P<module>[A-Za-z_][\w.]{0,120}) import \(?(?P<names>[\w, ]{1,400})")
_IMPORT = re.compile(r"(?:^|[;>] ?|\d )\s*import (?P<module>[A-Za-z_][\w.]{0,120})")
# What torch requires in one release exactly, and is compiled against: https://github.com/unslothai/unsloth/issues/967
_OF_TORCH = frozenset(("triton", "pytorch-triton", "triton-windows"))


def imported_near(failure: Failure, package: str) -> tuple[str, ...]:
    """What the lines around an error import of a package: ``trl.trainer:ORPOTrainer``."""
    texts = [failure.near, *(frame.text for frame in failure.frames)]
    found: dict[str, None] = {}
    for text in texts:
        for line in _FROM.finditer(text):
            if package_of(line["module"]) == package:
                names = [one.split(" as ")[0].strip() for one in line["names"].split(",")]
                found.update((f"{line['module']}:{one}", None) for one in names if one.isidentifier() and one != "as")
        for line in _IMPORT.finditer(text):
            if package_of(line["module"]) == package and "." in line["module"]:
                found[line["module"]] = None
    return tuple(found)


def pins_with(package: str, failure: Failure, caller: str, where: str, facts: Facts) -> tuple[tuple[str, str], ...]:
    """The pin of a package that is to be installed: the newest with all that is imported near, and that its caller's file takes."""
    newest = newest_for(package, facts)
    bound = open_package(package)
    if bound is None or not newest:
        return newest
    volume = bound.volume
    mask = _having(imported_near(failure, package), volume.all)
    if caller and caller != package:
        mask = mask & with_all_that_is_taken(package_top(failure, package), Caller(caller, where), volume, facts) or mask
    if mask == volume.all or mask >> (len(volume.releases) - 1) & 1 or not mask:
        return newest
    return ((package, f"=={volume.releases[mask.bit_length() - 1]}"),)


def package_top(failure: Failure, package: str) -> str:
    """The name under which a package is imported in an error's words."""
    shown = re.search(r"No module named '?(?P<top>\w+)", failure.message)
    return shown["top"] if shown is not None else package.replace("-", "_")


def _having(symbols: Iterable[str], all_of: int) -> int:
    mask = all_of
    for symbol in symbols:
        told = look_up(symbol)
        if told is not None and told.there:
            mask = mask & ~told.gone or mask
    return mask


def of_torch(package: str, facts: Facts) -> tuple[tuple[tuple[str, str], ...], str] | None:
    """The pin of what torch requires exactly, and what to do where nobody stated the torch; None for other packages."""
    if package not in _OF_TORCH:
        return None
    torch = facts.value("packages.torch")
    asked = (
        [one.specifier for one in dependencies("torch", torch.text.partition("+")[0]) or () if one.name == package]
        if isinstance(torch, Exact)
        else []
    )
    if asked and asked[0]:
        return ((package, asked[0]),), ""
    how = (
        f'the {package} that the torch which is there requires, and no other: python -c "import importlib.metadata as m; '
        f"print([r for r in m.requires('torch') if 'triton' in r])\" names it, and pip install of that brings it; what was installed with "
        "--no-deps (unsloth's cells do) is installed without it, or with triton in its list"
    )
    return (), how
