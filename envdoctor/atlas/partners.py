"""Which releases of other packages do not go with a release, though what they declare lets an installer put them together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.atlas.breaks import Break, import_breaks, takes_of
from envdoctor.atlas.distributions import distributions_of, top_of, tops_of
from envdoctor.atlas.main_names import main_entries
from envdoctor.atlas.masks import read
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import Stack, holds, places
from envdoctor.atlas.volume import Volume
from envdoctor.facts.versions import exact, version_condition
from envdoctor.records import dataclass
from envdoctor.world.dependencies import dependencies


@dataclass(frozen=True, slots=True)
class Partner:
    """Releases of a package, oldest and newest, that cannot be imported beside the release asked about, and what all of them run into.

    ``one`` is the break of the newest of them. ``takes``: they take what the release asked about lacks; otherwise that release takes
    what they lack.
    """

    package: str
    first: str
    last: str
    one: Break
    takes: bool


def partners_of(package: str, release: str, stack: Stack, others: Sequence[str]) -> Iterator[Partner]:
    """Those of some packages that have releases which declare nothing against a release, and break beside it."""
    bound = open_package(package)
    if bound is None or not places(bound.volume, release):
        return
    for other in others:
        for takes in (True, False):
            user, provider = (other, package) if takes else (package, other)
            if not _may_break(user, provider, release if takes else ""):
                continue
            for run in _breaking(other, package, release, stack, takes=takes):
                yield Partner(other, run[0][0], run[-1][0], run[-1][1], takes)


def _breaking(other: str, package: str, release: str, stack: Stack, *, takes: bool) -> list[list[tuple[str, Break]]]:
    """The releases of a package that break beside a release, in unbroken runs: of each minor version the last one is tried."""
    bound = open_package(other)
    runs: list[list[tuple[str, Break]]] = [[]]
    for candidate in () if bound is None else _last_of_minors(bound.volume):
        pair = {package: release, other: candidate}
        user, provider = (other, package) if takes else (package, other)
        if not _admits(user, pair[user], provider, pair[provider]) or _refuses(provider, pair[provider], user, pair[user]):
            runs.append([])
            continue
        beside = Stack(pair, False, stack.python, stack.system)
        found = import_breaks(beside, main_entries((user,)))
        breaks = (one for one in found if (one.package, one.provider) == (user, provider) and one.root in (user, ""))
        one = next((one for one in breaks if one.certain), None)
        if one is None or (runs[-1] and runs[-1][-1][1].name != one.name):
            runs.append([])
        if one is not None:
            runs[-1].append((candidate, one))
    return [run for run in runs if run]


def _last_of_minors(volume: Volume) -> list[str]:
    """The last release of every minor version."""
    last = {tuple(release.split(".")[:2]): release for release in volume.releases}
    return list(last.values())


def _may_break(user: str, provider: str, release: str) -> bool:
    """Whether a package takes anything of another that some release, or the one asked about, does not have."""
    taken, bound = takes_of(user), open_package(provider)
    if taken is None or bound is None:
        return False
    tops = {top for top in tops_of(provider, bound.volume.tops) if provider in distributions_of(top) or provider == top.replace("_", "-")}
    where = places(bound.volume, release) if release else ()
    of_it = (bad for name, bad in taken[1].lacking() if top_of(name) in tops)
    return any(not release or holds(read(bad, bound.volume.places), where) for bad in of_it)


def _admits(user: str, release: str, provider: str, other: str) -> bool:
    """Whether a release requires another package, and admits that release of it; one whose requirements nobody knows admits nothing."""
    told = dependencies(user, release, unbound=True)
    asked = [one for one in told or () if one.name == provider]
    return bool(asked) and all(not one.specifier or version_condition(one.specifier).admits(exact(other)) for one in asked)


def _refuses(provider: str, release: str, user: str, other: str) -> bool:
    """Whether the other side declares that it does not go with this one."""
    return any(
        one.name == user and not version_condition(one.specifier).admits(exact(other)) for one in dependencies(provider, release) or ()
    )


__all__ = ["Partner", "partners_of"]
