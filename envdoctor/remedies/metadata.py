"""Whether pins agree with what releases declare, by the bundled table alone: what can be said without asking an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envdoctor.checks.declared_together import CONTRADICT, REFUSES_PYTHON, declared_together
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import Exact, Ranged, exact
from envdoctor.records import dataclass
from envdoctor.world.dependencies import as_of, dependencies
from envdoctor.world.installation import Installation
from envdoctor.world.releases import releases

_PACKAGE = "packages."
_MOST_TOLD = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """``metadata``: what the releases declare agrees; ``none``: it cannot be told; ``refused``: it does not, as ``conflict`` says.

    ``proof`` says what was looked at, in a line.
    """

    verified: str
    proof: str
    conflict: str = ""


def metadata_agrees(pins: Mapping[str, str], stated: Facts, removes: Iterable[str] = ()) -> Verdict:
    """Whether the pins (``==2.4.1+cu118`` by package) and the stated packages admit each other, by what their releases require.

    Markers are judged for the stated Python and operating system. What is at odds already between packages that no pin touches is
    said and not held against the pins.
    """
    removed = set(removes)
    after = _declared(stated, pins, removed)
    against, apart = _contradictions(after, {*pins, *removed})
    certain = [hit.detail for hit in against if hit.outcome]
    certain += [f"{name} {release} requires {lost}" for name, release, lost in _orphaned(after, removed)]
    told = f"bundled metadata of {as_of()}"
    if certain:
        return Verdict("refused", f"the {told} speaks against it", "; ".join(certain[:_MOST_TOLD]))
    before = f"; at odds already, whatever the pins: {'; '.join(hit.detail for hit in apart[:_MOST_TOLD])}" if apart else ""
    unknown = [f"{name} {pin[2:]}" for name, pin in pins.items() if dependencies(name, _public(pin)) is None]
    if unknown:
        return Verdict("none", f"what {' and '.join(unknown)} requires is not in the {told}{before}")
    if against:
        return Verdict("none", f"on some Pythons or platforms {against[0].detail}{before}")
    asked = ", ".join(pins) or "the remaining packages"
    return Verdict("metadata", f"what {asked} and the stated packages require of each other agrees ({told}){before}")


def withdrawn(pins: Mapping[str, str]) -> str:
    """The first pin whose release its maintainers have withdrawn, in words; empty where none is, as far as is known."""
    for name, pin in pins.items():
        text = _public(pin)
        if any(release.yanked and release.version == text for release in releases(name)):
            return f"{name} {text} was withdrawn (yanked)"
    return ""


def _public(pin: str) -> str:
    return pin.removeprefix("==").partition("+")[0]


def _declared(stated: Facts, pins: Mapping[str, str], removed: set[str]) -> Facts:
    """The stated facts with the pins applied, and every package as one that an installer is asked for together with the others."""
    facts = {}
    for name, fact in stated.by_name.items():
        package = name.removeprefix(_PACKAGE)
        if name == package:
            facts[name] = fact
        elif isinstance(fact.value, (Exact, Ranged)) and package not in removed:
            facts[name] = Fact(name, fact.value, Origin("pin"))
    for package, pin in pins.items():
        name = f"{_PACKAGE}{package}"
        facts[name] = Fact(name, exact(pin.removeprefix("==")), Origin("pin"))
    if "torch" in pins:  # the CUDA of the current build says nothing of another one
        facts.pop("cuda", None)
    return Facts(facts)


def _contradictions(facts: Facts, touched: set[str]) -> tuple[list[Hit], list[Hit]]:
    """What contradicts, in which a touched package takes part, and what does without one.

    Of several contradictions about one package a check tells but one, so every other package is judged beside the touched ones by itself.
    """
    ours = {f"{_PACKAGE}{name}" for name in touched}
    others = [name for name in facts.by_name if name.startswith(_PACKAGE) and name not in ours]
    against: dict[str, Hit] = {}
    for group in [[name] for name in others] or [[]]:
        for hit in _hits(facts.without(*(name for name in others if name not in group))):
            named = {*hit.packages, *(fact.removeprefix(_PACKAGE) for fact, _ in hit.because)}
            if named & touched:
                against.setdefault(hit.detail, hit)
    return list(against.values()), _hits(facts.without(*ours))


def _hits(facts: Facts) -> list[Hit]:
    return [hit for hit in declared_together(facts) if hit.rule in (CONTRADICT, REFUSES_PYTHON)]


def _orphaned(facts: Facts, removed: set[str]) -> Iterator[tuple[str, str, str]]:
    """What still requires a package that is to go: name, release, and the package."""
    if not removed:
        return
    python, system, machine = facts.value("python"), facts.text("os"), facts.text("machine")
    here = Installation().on(system, machine)
    here = here.with_python(python.text) if isinstance(python, Exact) else here
    for name, fact in facts.by_name.items():
        if not name.startswith(_PACKAGE) or not isinstance(fact.value, Exact):
            continue
        for one in dependencies(name.removeprefix(_PACKAGE), _public(fact.value.text)) or ():
            if one.name in removed and (not one.marker or here.holds(one.marker)):
                yield name.removeprefix(_PACKAGE), fact.value.text, one.name


__all__ = ["Verdict", "metadata_agrees", "withdrawn"]
