"""One release that an installer takes for two, for the label of its build."""

from __future__ import annotations

from collections.abc import Callable

from envdoctor.checks.hit import Hit
from envdoctor.logs.installer_rules import CONTRADICT
from envdoctor.logs.refusal import Refusal
from envdoctor.logs.wording import named


def judge_same_release(refusal: Refusal, translated: Callable[[str], str]) -> Hit | None:
    """Two statements that go together by PEP 440, since a local label makes no other release: the installer refuses them."""
    for one in refusal.asked:
        public, label, _ = one.specifier.removeprefix("==").partition("+")
        if label and any(other.name == one.name and other.specifier == f"=={public}" for other in refusal.asked):
            detail = (
                f"{one.name}=={public} and {one.name}{one.specifier} go together, as PEP 440 has it; what takes them for two is this "
                f"release of {refusal.tool or 'the installer'}: an earlier or a later one, or the label left out of the requirement"
            )
            if ".dev" in public:
                detail += (
                    "; a nightly index drops such builds after some weeks, and then there is none to find: take a later one, or a release"
                )
            packages = named(refusal.tool, translated(one.name))
            return Hit(CONTRADICT, True, (), detail=detail, packages=packages, edge=f"{refusal.tool}:{one.name}")
    return None
