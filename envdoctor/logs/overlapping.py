"""Bounds that an installer quotes and that do agree: what stands in the way is what the releases they leave require in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.histories import satisfiable
from envdoctor.logs.installer_rules import CONTRADICT
from envdoctor.logs.refusal import Asked, Refusal
from envdoctor.logs.specifiers import admits
from envdoctor.records import dataclass
from envdoctor.world.dependencies import dependencies, versions
from envdoctor.world.releases import release_texts


@dataclass(frozen=True, slots=True)
class _Behind:
    """A release that all bounds leave, and the third package of which it and one of those who ask want different releases."""

    release: str
    third: str
    wants: str
    by: str
    other: str


def judge_overlapping(refusal: Refusal, translated: Callable[[str], str]) -> Hit | None:
    """The finding about bounds of which some release satisfies all; None where there is no package that two sides ask for."""
    groups: dict[str, list[Asked]] = {}
    for one in refusal.asked:
        if one.specifier:
            groups.setdefault(translated(one.name), []).append(one)
    for name, group in groups.items():
        if len({one.by for one in group}) < 2:
            continue
        left = [text for text in versions(name) or release_texts(name) if all(admits(one.specifier, text) for one in group)]
        if left:
            return _tell(name, group, left, refusal.tool)
    return None


def _tell(name: str, group: Sequence[Asked], left: Sequence[str], tool: str) -> Hit:
    behind = [one for text in left if (one := next(_behind(name, text, group), None)) is not None]
    stuck = {one.release for one in behind}
    free = [text for text in left if text not in stuck]
    words = "; ".join(dict.fromkeys(one.words() for one in group[:3]))
    span = f"{left[0]} to {left[-1]}" if len(left) > 1 else left[0]
    detail = f"the bounds quoted agree on {name} {span}, and are not what stands in the way: {words}"
    packages = [name, *(one.by for one in group if one.by)]
    pins: tuple[tuple[str, str], ...] = ()
    advice = f"what {name} {left[-1]} and the packages that ask for it require in turn, held against the other lines that are installed"
    if behind:
        first, last = behind[0], behind[-1]
        which = f"{first.release} to {last.release}" if first.release != last.release else first.release
        detail = f"{name} {last.release} requires {last.third}{last.wants}, and {last.by} {last.third}{last.other}; {detail}"
        packages.append(last.third)
        if free:
            pins = ((name, f">={free[0]}" if free[-1] == left[-1] else f"=={free[-1]}"),)
            advice = f"a bound of one's own that leaves out {name} {which}: the installer goes back through the releases from there"
    return Hit(
        CONTRADICT,
        True,
        (),
        detail=detail,
        packages=tuple(dict.fromkeys(packages))[:4],
        pins=pins,
        edge=f"overlap:{name}",
        headline=f"{tool or 'The installer'} found no set of releases, though the bounds of {name} that it quotes agree",
        advice=advice,
    )


def _behind(name: str, release: str, group: Sequence[Asked]) -> Iterator[_Behind]:
    """What a release requires that is refused by one of those who ask for it."""
    inner = {one.name: one.specifier for one in dependencies(name, release) or () if one.specifier and not one.marker}
    for side in group:
        public = side.release.removeprefix("==").partition("+")[0]
        for one in (dependencies(side.by, public) or ()) if side.by and public else ():
            wants = inner.get(one.name)
            if wants and one.specifier and not one.marker and not satisfiable(f"{wants},{one.specifier}", ()):
                yield _Behind(release, one.name, wants, f"{side.by} {public}", one.specifier)


__all__ = ["judge_overlapping"]
