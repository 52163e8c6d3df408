"""A release of what is missing: the newest that is admitted and that what is installed suits."""

from __future__ import annotations

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.remedies.candidates import installable
from envdoctor.world.dependencies import dependencies
from envdoctor.world.installation import Installation

_PACKAGE = "packages."
_MOST_TRIED = 40


def is_absent(package: str, stated: Facts) -> bool:
    return f"{_PACKAGE}{package}" not in stated or stated.lacks(package)


def newest_that_fits(package: str, spec: str, stated: Facts) -> Exact | None:
    """The newest release of a package in a range that asks for nothing but what is installed; the newest of all where none does so.

    None where no release is known.
    """
    wanted = version_condition(spec)
    admitted = [release for release in reversed(installable(package, stated)) if wanted.admits(release)]
    suited = (release for release in admitted[:_MOST_TRIED] if _suits(package, release, stated))
    return next(suited, admitted[0] if admitted else None)


def _suits(package: str, release: Exact, stated: Facts) -> bool:
    """Whether the installed packages are of the releases that this one requires; what is not installed may follow."""
    python = stated.value("python")
    here = Installation().on(stated.text("os"), stated.text("machine"))
    here = here.with_python(python.text) if isinstance(python, Exact) else here
    for one in dependencies(package, release.text) or ():
        there = stated.value(f"{_PACKAGE}{one.name}")
        if isinstance(there, Exact) and (not one.marker or here.holds(one.marker)) and not version_condition(one.specifier).admits(there):
            return False
    return True


__all__ = ["is_absent", "newest_that_fits"]
