"""Objects that one release of a package saved and another one loads: estimators of scikit-learn, as joblib and pickle keep them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.logs.demanded import DEMAND
from envdoctor.logs.reading import Reading

# sklearn/base.py: InconsistentVersionWarning, and the UserWarning of releases before 1.3.
_ESTIMATOR = re.compile(
    r"Trying to unpickle estimator (?P<cls>\w{1,80}) from version (?P<saved>\d[\w.]{1,20}) "
    r"when using version (?P<here>\d[\w.]{1,20}?)(?=\.? |\.?$)"
)
# sklearn/tree/_tree.pyx says it of trees whose nodes have other fields.
_NODES = re.compile(r"node array from the pickle has an incompatible dtype")
_LOADS = re.compile(r"pickle|joblib|sklearn|incompatible dtype|has no attribute")


def judge_pickled(reading: Reading) -> Iterator[tuple[Hit, int, str]]:
    """What a log says of estimators that another release saved, each with its line and text."""
    last = reading.decisive
    for number, line in reading.lines:
        if "unpickle estimator" in line and (found := _ESTIMATOR.search(line)) is not None:
            both = f"was saved by scikit-learn {found['saved']}, and {found['here']} loads it"
            detail = f"{found['cls']} {both}: it promises that for no two releases"
            around = "" if last is None else " ".join((last.told, *(frame.path for frame in last.frames[-3:])))
            # It warns and goes on; where the run then fails over such an object, that is why.
            outcome = True if last is None or _LOADS.search(around) else None
            pins = (("scikit-learn", f"=={found['saved']}"),)
            yield _hit(detail, outcome, pins), number, line.strip()[:300]
            return
    for failure in reading.failures:
        if _NODES.search(failure.message):
            yield (
                _hit("the trees in the file were saved by another release of scikit-learn than loads them", True, ()),
                failure.line,
                failure.told[:300],
            )
            return


def _hit(detail: str, outcome: bool | None, pins: tuple[tuple[str, str], ...]) -> Hit:
    return Hit(
        DEMAND,
        outcome,
        (),
        detail=detail,
        packages=("scikit-learn",),
        pins=pins,
        edge="pickled:scikit-learn",
        headline="A saved estimator is of another release of scikit-learn",
        advice="" if pins else "the scikit-learn that saved it, or train and save it again with this one",
    )
