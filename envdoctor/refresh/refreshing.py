"""The whole of a refresh: each package's page is asked for, and the metadata of those wheels that the tables do not have.

What a release requires never changes once it is out. A package that cannot be asked for keeps what was known, and the tables stay as old
as their oldest part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from envdoctor.files.paths import is_file
from envdoctor.records import dataclass, replace
from envdoctor.refresh.index import Get, NoAnswerError, page_address, project_page
from envdoctor.refresh.packages import CORE, FURTHER, WITH_EXTRAS
from envdoctor.refresh.pages import File, by_version, package, parse_page, wheels
from envdoctor.refresh.sources import is_source, required_by_source, source_archives
from envdoctor.refresh.tables import Package, Tables, dependencies_text, packages_of, releases_text, requires_of
from envdoctor.refresh.wheels import UnreadableError, required_by_all
from envdoctor.world import tables as files

AT_A_TIME = 8
_T = TypeVar("_T")
_KEPT = "kept as it was"
Tell = Callable[[int, int], None]
"""How far it is: what is done, and what there is to do."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one package.

    ``added`` and ``gone`` are its releases that the list did not have, and those that the index has no more; ``read`` and ``unread``
    count the releases whose metadata was read, and those where it could not be. ``failed`` is why the package is as it was.
    """

    name: str
    added: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    read: int = 0
    unread: int = 0
    failed: str = ""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a page says, and of each release that is to be read the wheels for the different Pythons, or its source archive."""

    name: str
    package: Package | None = None
    wheels: Mapping[str, tuple[File, ...]] | None = None
    failed: str = ""


def present(directory: Path | None) -> Tables:
    """The tables to begin with: those in a directory, if it has both, else those in use.

    Raises:
        DamagedError: a table in the directory is something else.
    """
    if directory is not None and all(is_file(directory / f"{name}.json") for name in files.NAMES):
        releases, dependencies = (
            files.read_table(directory / f"{name}.json", (directory / f"{name}.json").read_bytes()) for name in files.NAMES
        )
    else:
        releases, dependencies = map(files.table, files.NAMES)
    return Tables(releases.as_of, CORE, packages_of(releases), requires_of(dependencies))


def all_names(tables: Tables) -> tuple[str, ...]:
    """The packages that are refreshed where none is named."""
    return tuple(sorted({*CORE, *FURTHER, *tables.packages}))


def refresh(
    before: Tables, names: Sequence[str], today: str, index: str, get: Get, *, at_a_time: int = AT_A_TIME, tell: Tell | None = None
) -> tuple[Tables, tuple[Outcome, ...]]:
    """The tables with what the index has of some packages, by normalised name, and what became of each.

    ``today`` is the day on which the index is asked (YYYY-MM-DD).
    """
    with ThreadPoolExecutor(at_a_time) as pool:
        try:
            counted = _Counted(len(names), tell)
            asked = counted.over(pool.map(lambda name: _ask(name, before.requires.get(name, {}), index, get), names))
            jobs = [(one.name, version, built) for one in asked for version, built in (one.wheels or {}).items()]
            counted = _Counted(len(names) + len(jobs), tell, len(names))
            read = counted.over(pool.map(lambda job: _read(job[2], get), jobs))
        finally:
            # All is read by here, unless the run was interrupted: what has not begun is then left.
            pool.shutdown(wait=False, cancel_futures=True)
    found: dict[str, dict[str, list[str]]] = {}
    unread: dict[str, list[str]] = {}
    for (name, version, _), told in zip(jobs, read, strict=True):
        if isinstance(told, str):
            unread.setdefault(name, []).append(told)
        else:
            found.setdefault(name, {})[version] = [line for line in told if name in WITH_EXTRAS or not line.startswith("[")]
    packages, requires = dict(before.packages), dict(before.requires)
    outcomes = []
    for one in asked:
        if one.package is None:
            outcomes.append(Outcome(one.name, failed=one.failed))
            continue
        versions = [release.version for release in one.package.releases]
        known = {**requires.get(one.name, {}), **found.get(one.name, {})}
        old = [release.version for release in packages[one.name].releases] if one.name in packages else []
        packages[one.name] = one.package
        requires[one.name] = {version: known[version] for version in versions if version in known}
        added = tuple(version for version in versions if version not in set(old))
        gone = tuple(version for version in old if version not in set(versions))
        silent = [why for why in unread.get(one.name, ()) if why]
        failed = f"the metadata of {len(silent)} releases could not be had: {silent[0]}" if silent else ""
        outcomes.append(Outcome(one.name, added, gone, len(found.get(one.name, {})), len(unread.get(one.name, ())), failed))
    whole = not any(one.failed for one in outcomes) and set(packages) <= set(names)
    day = today if whole or before.as_of is None else min(before.as_of, today)
    return replace(before, as_of=day, packages=packages, requires=requires), tuple(outcomes)


class _Counted:
    """Tells of each thing that is done."""

    def __init__(self, total: int, tell: Tell | None, done: int = 0) -> None:
        self._total, self._tell, self._done = total, tell, done

    def over(self, things: Iterable[_T]) -> list[_T]:
        found = []
        for thing in things:
            found.append(thing)
            self._done += 1
            if self._tell is not None:
                self._tell(self._done, self._total)
        return found


def _ask(name: str, known: Mapping[str, Sequence[str]], index: str, get: Get) -> _Asked:
    try:
        page = parse_page(project_page(index, name, get), page_address(index, name))
    except NoAnswerError as error:
        return _Asked(name, failed=f"{_KEPT}: {error}")
    except ValueError:
        return _Asked(name, failed=f"{_KEPT}: the index gave no page of a project")
    releases = by_version(page, name)
    found = package(releases)
    if not found.releases:
        return _Asked(name, failed=f"{_KEPT}: no release with a wheel or a source archive")
    wanted = {
        str(version): wheels(several) or source_archives(several)
        for version, several in releases.items()
        if not version.is_prerelease and str(version) not in known
    }
    return _Asked(name, found, {version: built for version, built in wanted.items() if built})


def _read(built: Sequence[File], get: Get) -> list[str] | str:
    """What a release requires; else why the index was silent, empty where its files themselves cannot be read."""
    try:
        return required_by_source(built[0], get) if is_source(built[0]) else required_by_all(built, get)
    except NoAnswerError as error:
        return str(error)
    except UnreadableError:
        return ""


def write(tables: Tables, directory: Path, *, stamped: bool) -> None:
    """Both tables into a directory, made where it is not there; with the stamp that the user's own need.

    Raises:
        OSError: they cannot be written.
    """
    day = tables.as_of or ""
    texts = {
        "releases": releases_text(day, tables.core, tables.packages),
        "dependencies": dependencies_text(day, day, tables.requires),
    }
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        files.replace(directory / f"{name}.json", text)
    if stamped:
        files.replace(
            directory / files.STAMP, files.stamp({name: text.encode() for name, text in texts.items()}, dict.fromkeys(texts, day))
        )
