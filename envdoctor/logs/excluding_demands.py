"""Two messages of one log that ask for releases of one package which exclude each other: two packages that are not of one time.

https://github.com/open-mmlab/mmpretrain/issues/1508 and /1834: an mmdet or mmcls of before wants mmcv 1, and mmpretrain wants mmcv 2. To
follow either message brings the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from envdoctor.checks.hit import Hit
from envdoctor.logs.demands import Demand, read_demands
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import release_texts

_DEMAND = "error-demands-another-release"
EXCLUDING = ":excluding"
# OpenMMLab's packages of the two generations: https://github.com/open-mmlab/mmcv/issues/2502 and mmcv's page on compatibility.
_OF_MM = (
    "pip list shows the mm packages: uninstall each that is of the other generation, and install the set of one anew. With mmcv 2: "
    "mmengine, mmdet 3, mmsegmentation 1, mmpose 1, mmpretrain 1 (mmcls is what it was called before, mmcv-full what mmcv was). With "
    "mmcv 1: mmdet 2, mmsegmentation 0.x, mmcls 0.x"
)


def judge_excluding(failures: Sequence[Failure]) -> tuple[Hit, Failure] | None:
    """The first two demands of a log of which no release satisfies both, with the later error."""
    told: list[tuple[Demand, Failure]] = []
    for failure in failures:
        told += [(one, failure) for one in (() if failure.wraps or failure.warns else read_demands(failure.message))]
    for (one, first), (other, last) in combinations(told, 2):
        if one.package != other.package or first is last or one.package == "python" or one.package.startswith("gpu."):
            continue
        known = release_texts(one.package)
        if known and not any(admits(one.specifier, text) and admits(other.specifier, text) for text in known):
            return _hit(one, other, first, last), last
    return None


def _hit(one: Demand, other: Demand, first: Failure, last: Failure) -> Hit:
    package = one.package
    askers = named(*(package_of(failure.raised_in) for failure in (first, last) if failure.raised_in))
    newer = max((one, other), key=lambda demand: _newest(package, demand.specifier))
    who = f" ({' and '.join(askers)})" if len(askers) > 1 else ""
    advice = (
        _OF_MM
        if re.match(r"mm(?:cv|engine)", package)
        else f"the traceback above each message names the file that asks: bring the package of the one that asks for {package}"
        f"{(other if newer is one else one).specifier} to a release of the other's time (pip install -U), or take it out"
    )
    return Hit(
        _DEMAND,
        True,
        ((f"packages.{package}", f"{one.specifier} and {other.specifier}"),),
        detail=f"one message asks for {package}{one.specifier}, another for {package}{other.specifier}: no release is both, so two "
        f"packages that use it{who} are of different times, and following one message brings the other",
        packages=named(package, *askers),
        pins=((package, newer.specifier),),
        edge=f"message:{package}{EXCLUDING}",
        headline=f"Two packages want releases of {package} that exclude each other",
        advice=advice,
    )


def _newest(package: str, specifier: str) -> int:
    return max((place for place, text in enumerate(release_texts(package)) if admits(specifier, text)), default=-1)
