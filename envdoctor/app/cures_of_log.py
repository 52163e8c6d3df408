"""What cures a run that failed, of whose releases its log states few.

The search for the smallest change knows no distance from a release that nobody stated, and takes the newest. But the run met the fault
because something moved under code of its day: what moved goes back first, unless the log states the package that has to follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.app.whole_pins import as_whole, broken_by, takes_back
from envdoctor.engine.diagnosis import Finding
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, exact, version_condition
from envdoctor.logs.installer_rules import BUILD, CONTRADICT, OF_INSTALLERS
from envdoctor.records import replace
from envdoctor.remedies.candidates import installable, pinned
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.lines import covers, is_ancient, later_in_line, with_companions
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Diagnosed
from envdoctor.world.built_for_torch import built_for, packages
from envdoctor.world.dependencies import dependencies

TORCH = "torch"
_ASKS = "envdoctor "
_ASKED = frozenset(("error-name-missing", "error-module-missing", "error-attribute-missing", "error-argument-refused"))
# A message that names what to install is followed: the package may be old, or not be there at all.
_SAYS_WHAT_TO_INSTALL = re.compile(r"pip install|only versions? above|>=[\d.]+ is required")
# Their compiled parts fit one release of torch, which their metadata names.
_BUILT_FOR_ONE = ("torchvision", "torchaudio", "xformers", "torchtext")


def as_of_a_log(cures: Sequence[Cure], finding: Finding, stated: Facts, sought: Remedy) -> tuple[Cure, ...]:
    """The cures, with the pins among them in another order: those of what only goes back, then those of stated packages, then the rest.

    What the search found for the stated releases is one of them.
    """
    cures = tuple(_whole(_recent(cure, finding, stated), finding, stated) for cure in cures)
    # What a command of this tool would compute is no cure yet.
    cures = (*(cure for cure in cures if not cure.text.startswith(_ASKS)), *(cure for cure in cures if cure.text.startswith(_ASKS)))
    if finding.rule.id in OF_INSTALLERS:
        cures = as_whole(cures, stated)
    pins = [cure for cure in cures if cure.pins] or list(_companions(finding, stated))
    if not pins:
        return cures
    cures = cures if any(cure.pins for cure in cures) else (*pins, *cures)
    follow = any(_SAYS_WHAT_TO_INSTALL.search(one) for one in finding.rule.symptoms)
    back = frozenset[str]() if follow else _only_back(pins, finding)
    # All that is compiled goes with torch: it moves where nothing else can, but for what was compiled for another one.
    last = TORCH if {*finding.packages}.isdisjoint(_BUILT_FOR_ONE) else ""
    own = {name for name, _ in _ranges(finding)}
    ordered = sorted(
        pins,
        key=lambda cure: (
            finding.rule.id in OF_INSTALLERS and takes_back(cure.pins, own, stated),
            last in cure.pins,
            _own_line(finding) not in cure.pins,
            _asker(finding) in cure.pins and _goes_back(cure, finding),
            not (back & cure.pins.keys()),
            not follow and not _is_stated(cure, stated),
        ),
    )
    found = Cure("pin", "what is left as it is goes with it", dict(sought.pins), {})
    elsewhere = finding.rule.id in _ASKED and not sought.pins.keys() <= own  # that it does not ask there, no requirement tells
    alone = not elsewhere and sought.clears == (finding.rule.id,) and _is_stated(found, stated) and broken_by(found.pins, stated) is None
    if alone and not any(covers(cure.pins, sought.pins) for cure in pins):
        ordered[1:1] = [found]
    places = [place for place, cure in enumerate(cures) if cure.pins]
    before, behind = cures[: places[0]], cures[places[0] :]
    once = {tuple(sorted(cure.pins.items())): cure for cure in reversed(ordered)}
    ordered = [cure for cure in ordered if once[tuple(sorted(cure.pins.items()))] is cure]
    return (*before, *ordered, *(cure for cure in behind if not cure.pins))


def _recent(cure: Cure, finding: Finding, stated: Facts) -> Cure:
    """The last release of the first series (1.2) that has what is missing, in place of the very first one, where nothing is stated.

    The code that asks is of about the day when it came: what is years later breaks that code elsewhere. The first one is rarely without
    faults that the next ones of its series mend.
    """
    if len(cure.pins) != 1:
        return cure
    ((name, pin),) = cure.pins.items()
    spec = next((one for other, one in _ranges(finding) if other == name and not _is_upper(one) and _admits(one, pin)), "")
    if not spec or finding.rule.id in OF_INSTALLERS:
        return cure
    if any(fact.startswith("packages.") for fact in stated):
        later = later_in_line(name, spec, exact(pin.removeprefix("==")), stated) if finding.rule.id in _ASKED else None
        return cure if later is None else replace(cure, pins={name: pinned(name, later, stated)})
    fits = [one for one in installable(name, stated) if version_condition(spec).admits(one)]
    if fits and is_ancient(name, fits[0]):
        # Who has less than that has none of it: what is current is what people have installed since.
        return replace(cure, pins={name: pinned(name, later_in_line(name, spec, fits[0], stated), stated)})
    fits = [one for one in fits if _series(one) == _series(fits[0])]
    return replace(cure, pins={name: pinned(name, fits[-1], stated)}) if fits else cure


def _whole(cure: Cure, finding: Finding, stated: Facts) -> Cure:
    """The cure with what has to move with torch."""
    return replace(cure, pins=with_companions(cure.pins, stated)) if finding.rule.id in _ASKED and TORCH in cure.pins else cure


def _series(release: Exact) -> str:
    return ".".join(release.text.split(".")[:2])


def _companions(finding: Finding, stated: Facts) -> Iterator[Cure]:
    """The release of one package that is built for the stated release of the other, of two that go together by their exact releases."""
    # What builds a package from its source builds it for the torch that is there: another one alone helps no build.
    if TORCH not in finding.packages or finding.rule.id == BUILD:
        return
    torch = stated.value(f"packages.{TORCH}")
    for name in (one for one in finding.packages if one in _BUILT_FOR_ONE or one in packages()):
        own = stated.value(f"packages.{name}")
        if isinstance(torch, Exact) and not (isinstance(own, Exact) and _asks_for(name, own, torch)):
            fits = [release for release in installable(name, stated) if _asks_for(name, release, torch)]
            if fits:
                yield Cure("pin", f"is built for torch {torch}", {name: pinned(name, fits[-1], stated, torch)}, {})
        if isinstance(own, Exact):
            asked = [release for release in installable(TORCH, stated) if release != torch and _asks_for(name, own, release)]
            if asked:
                yield Cure("pin", f"is what {name} {own} is built for", {TORCH: f"=={asked[-1]}"}, {})


def _asks_for(name: str, release: Exact, torch: Exact) -> bool:
    """Whether a release requires just this release of torch, or was compiled for it."""
    public = exact(torch.text.partition("+")[0])
    if any(version_condition(row.releases).admits(release) and version_condition(row.torch).admits(public) for row in built_for(name)):
        return True
    asked = [one for one in dependencies(name, release.text.partition("+")[0]) or () if one.name == TORCH]
    return any(one.specifier.startswith("==") and version_condition(one.specifier).admits(public) for one in asked)


def nearer_remedies(remedies: tuple[Remedy, ...], diagnosed: Sequence[Diagnosed], stated: Facts) -> tuple[Remedy, ...]:
    """The remedies, after the first cure of the one finding where the search moved other packages than it, of which nothing is stated."""
    sought, one = remedies[0], next((one for one in diagnosed if one.finding.status == "matched"), None)
    cure = None if one is None else next((cure for cure in one.cures if cure.pins), None)
    unknown = [name for name in sought.pins if not isinstance(stated.value(f"packages.{name}"), Exact)]
    if one is None or cure is None or not unknown or len(sought.clears) != 1 or one.finding.rule.id not in sought.clears:
        return remedies
    return (Remedy(dict(cure.pins), sought.clears, sought.unfixable), *remedies)


def _is_stated(cure: Cure, stated: Facts) -> bool:
    return bool(cure.pins) and all(isinstance(stated.value(f"packages.{name}"), Exact) for name in cure.pins)


def _only_back(pins: Sequence[Cure], finding: Finding) -> frozenset[str]:
    """The packages whose cures are older releases alone: what moved, where another one could also follow it."""
    back = {name for cure in pins for name in cure.pins if len(cure.pins) == 1 and _goes_back(cure, finding)}
    forth = {name for cure in pins for name in cure.pins if not _goes_back(cure, finding)}
    return frozenset(back - forth - {_asker(finding)}) if forth else frozenset()


def _own_line(finding: Finding) -> str:
    """The package of which a line of the user's own asks for what another one refuses: that line moves before the others' releases do."""
    name = finding.edge.rpartition(":")[2] if finding.rule.id == CONTRADICT else ""
    first = next((name for name, _ in _ranges(finding)), "")
    return name if name == first else ""


def _asker(finding: Finding) -> str:
    """The package that asks another one for what that has not: the user chose it, and it is the last to go back."""
    asks = finding.edge.partition(":")[0]
    return asks if finding.rule.id in _ASKED and asks != finding.packages[0] else ""


def _goes_back(cure: Cure, finding: Finding) -> bool:
    """Whether a pin is of a range that ends above."""
    ranges = _ranges(finding)
    return any(_is_upper(spec) and _admits(spec, pin) for name, pin in cure.pins.items() for other, spec in ranges if other == name)


def _ranges(finding: Finding) -> list[tuple[str, str]]:
    """What a finding and its rule pin, as ranges."""
    return [*finding.pins, *(pair for fix in finding.rule.fixes for pair in fix.pins.items())]


def _is_upper(specifier: str) -> bool:
    parts = [part.strip() for part in specifier.replace("||", ",").split(",")]
    return any(part.startswith(("<", "==")) for part in parts)


def _admits(specifier: str, pin: str) -> bool:
    try:
        return version_condition(specifier).admits(exact(pin.removeprefix("==")))
    except ValueError:
        return False


__all__ = ["as_of_a_log", "nearer_remedies"]
