"""A name or a module that its distribution gave up long ago: since which release, and what is written in its place."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import ATTRIBUTE, MODULE, NAME
from envdoctor.logs.callers import caller_of
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import MissingAttribute, MissingModule, MissingName, Statement
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.names_given_up import given_up

# What opencv-contrib-python has besides: https://pypi.org/project/opencv-contrib-python/ and the extra modules of https://docs.opencv.org.
_OF_CONTRIB = frozenset(
    ("bgsegm", "bioinspired", "dnn_superres", "face", "img_hash", "legacy", "optflow", "saliency", "structured_light", "xfeatures2d",
     "ximgproc", "xphoto", "TrackerCSRT_create", "TrackerKCF_create")
)  # fmt: skip


def judge_given_up(statement: Statement, failure: Failure, facts: Facts) -> Hit | None:
    """The finding of a name that was given up; None where a release is stated that has it."""
    if isinstance(statement, (MissingName, MissingAttribute)) and statement.module and not statement.circular:
        dotted, family = f"{statement.module}.{statement.name}", NAME if isinstance(statement, MissingName) else ATTRIBUTE
    elif isinstance(statement, MissingModule) and not statement.shadowed:
        dotted, family = statement.name, MODULE
    else:
        return None
    module, _, name = dotted.partition(".")
    if module == "cv2" and name.partition(".")[0] in _OF_CONTRIB:
        return _of_contrib(name, family, failure, facts)
    left = given_up(dotted)
    if left is None:
        return None
    stated = facts.value(f"packages.{left.package}")
    end = f",<{left.again}" if left.again else ""
    if isinstance(stated, Exact) and not admits(f">={left.since}{end}", stated):
        return None
    caller = caller_of(failure, left.package)
    until = f" until {left.again}, where it means something else" if left.again else ""
    what = dotted if family == MODULE or "." in name else name
    detail = f"{left.package} has no {what} from {left.since} on{until}; {caller.words(facts, left.package, 'asks for')}"
    packages = tuple(dict.fromkeys(one for one in (left.package, caller.package) if one))
    pins = ((left.package, f"<{left.since}"),) if left.pinned else ()
    advice = left.instead
    if caller.package:
        # What a package imports its user does not rewrite.
        advice = "" if pins else f"a release of {caller.package} that is for {left.package} {left.since} and later"
    edge = f"{caller.package or 'code'}:{dotted}"
    return Hit(family, True, (), detail=detail, packages=packages, pins=pins, edge=edge, advice=advice)


def _of_contrib(name: str, family: str, failure: Failure, facts: Facts) -> Hit:
    """A name of OpenCV's extra modules, which the plain wheels leave out."""
    caller = caller_of(failure, "opencv-python")
    detail = (
        f"opencv-python leaves out OpenCV's extra modules, and cv2.{name} is of these; {caller.words(facts, 'opencv-python', 'asks for')}"
    )
    return Hit(
        family, True, (), detail=detail, packages=tuple(one for one in ("opencv-python", caller.package) if one),
        edge=f"{caller.package or 'code'}:cv2.{name}",
        advice="pip uninstall opencv-python opencv-python-headless opencv-contrib-python, then pip install opencv-contrib-python "
        "(opencv-contrib-python-headless where there is no screen): only one of the four may be there",
    )  # fmt: skip
