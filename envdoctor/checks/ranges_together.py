"""A pin that no release of another line's range goes with, by what each of these releases requires: known offline, for tracked packages."""

from __future__ import annotations

from functools import lru_cache, partial

from envdoctor.checks.declared_together import Demand, compatible, contradiction, pythons_of
from envdoctor.checks.files_for_pip import declared_packages
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import OVERRIDE, Facts
from envdoctor.facts.versions import Exact, Ranged, exact, version_condition
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import as_of, release_texts, releases

_PACKAGE = "packages."


def ranges_together(facts: Facts) -> tuple[Hit, ...]:
    """Pins that no release of another line's range goes with: ``gradio>=4`` beside ``pydantic==1.9.0``. One is told: a first cause."""
    declared = declared_packages(facts)
    pins = {name: value for name, value in declared.items() if isinstance(value, Exact)}
    pythons = lru_cache(maxsize=1)(partial(pythons_of, facts, pins))
    for by, wanted in declared.items():
        if isinstance(wanted, Ranged) and wanted.text:
            for name, pin in pins.items():
                specifier = asked_by_all(by, wanted.text, name, pin.text.partition("+")[0], as_of())
                if specifier and not facts[f"{_PACKAGE}{name}"].origin.source.startswith(OVERRIDE):
                    return (contradiction(facts, declared, pythons, name, Demand("", "", f"=={pin}"), Demand(by, wanted.text, specifier)),)
    return ()


@lru_cache(maxsize=4096)
def asked_by_all(by: str, wanted: str, name: str, pin: str, until: str) -> str:
    """What the newest release of a range requires of a package, where every release of the range requires another than the pinned one.

    ``until`` is the day that is asked about, which decides which releases there are.
    """
    admits, known = version_condition(wanted).admits, release_texts(name)
    first = ""
    for one in reversed(releases(by)):
        if not one.yanked and admits(exact(one.version)):
            asked = [other for other in dependencies(by, one.version) or () if other.name == name and not other.marker]
            if not asked or any(compatible(name, other.specifier, f"=={pin}", known) for other in asked):
                return ""
            first = first or asked[0].specifier
    return first


CHECKS = (ranges_together,)
