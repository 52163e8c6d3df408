"""Releases are fetched and read, file by file; what was seen before, in this release or another, is not read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from envdoctor.atlas.missing import UNREAD, is_left_out
from envdoctor.atlas.outline import Outline
from envdoctor.atlas.reading import read_module
from envdoctor.refresh.index import Get, NoAnswerError
from envdoctor.refresh.pages import File
from envdoctor.survey.archives import Archive, Member, NotAnArchiveError, Sdist, Wheel
from envdoctor.survey.choice import Release
from envdoctor.survey.kept import Kept

_LARGEST_SDIST = 120 * 2**20
_SOURCE = (".py", ".pyi")
_COMPILED = (".so", ".pyd")
_LARGEST_SOURCE = 3 * 2**20


def read_release(project: str, release: Release, get: Get, kept: Kept, tops: Sequence[str] = ()) -> str | None:
    """Read a release and keep it; what went wrong, in words, where none of its files can be read."""
    failures = []
    for file in release.files[:3]:
        try:
            archive = open_archive(file, get, tops)
            members = modules_of(archive, project, tops)
            if not members:
                failures.append(f"{file.name}: no Python in it")
                continue
            keep_files(archive, members, kept)
        except (NoAnswerError, NotAnArchiveError) as error:
            failures.append(f"{file.name}: {error}")
            continue
        kept.keep_release(project, release.version, release.day, file.name, members)
        return None
    return "; ".join(failures) or "no file that can be read"


def modules_of(archive: Archive, project: str, tops: Sequence[str] = ()) -> list[Member]:
    """The files of a release that somebody may import, without the parts of a package that are not read."""
    return [one for one in archive.members if is_code(one.path, tops) and not is_left_out(project, module_of(one.path)[0])]


def open_archive(file: File, get: Get, tops: Sequence[str] = ()) -> Archive:
    """The archive behind a file of a project's page.

    Raises:
        NoAnswerError: the index does not give it.
        NotAnArchiveError: it is none.
    """
    address = file.address.partition("#")[0]
    if not file.name.endswith(".whl"):
        return Sdist(get(address, {}, _LARGEST_SDIST).data, tops)
    size = file.size or get(address, {"Range": "bytes=-1"}, 1 << 10).whole or 0
    if size <= 4 * 2**20:
        whole = get(address, {}, 8 * 2**20).data
        return Wheel(lambda start, end: whole[start:end], len(whole))

    def part(start: int, end: int) -> bytes:
        end = min(end, size)
        return get(address, {"Range": f"bytes={start}-{end - 1}"}, 64 * 2**20).data

    return Wheel(part, size)


def is_code(path: str, tops: Sequence[str]) -> bool:
    """Whether a path of an archive is a module that somebody may import."""
    folders = path.split("/")
    if not path.endswith((*_SOURCE, *_COMPILED)) or "-" in folders[0] or folders[0].endswith(".libs"):
        return False
    if tops and folders[0].partition(".")[0] not in tops:
        return False
    return not any(folder in UNREAD for folder in folders[:-1])


def keep_files(archive: Archive, members: Sequence[Member], kept: Kept) -> None:
    """Read those files of an archive that were not read before."""
    wanted = [one for one in members if one.path.endswith(_SOURCE) and one.size <= _LARGEST_SOURCE]
    for member, content in archive.read(kept.unread(wanted)):
        kept.keep(member, outline_of(member.path, content))


def outline_of(path: str, content: bytes) -> Outline | None:
    """The outline of a file; None for one that this interpreter does not read."""
    module, package = module_of(path)
    try:
        return read_module(content.decode("utf-8-sig", "replace"), module, package=package)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def module_of(path: str) -> tuple[str, bool]:
    """The module that a path of site-packages is, and whether it is a package's ``__init__``."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    parts = folder.split("/") if folder else []
    return (".".join(parts), True) if stem == "__init__" and parts else (".".join([*parts, stem]), False)


def read_releases(
    project: str, releases: Sequence[Release], get: Get, kept: Kept, tops: Sequence[str] = (), tell: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[str, str]]:
    """Read those releases that were not read yet; versions that could not be read, and why."""
    known = kept.releases(project)
    for release in releases:
        if release.version in known:
            continue
        tell(f"{project} {release.version}")
        failure = read_release(project, release, get, kept, tops)
        if failure is not None:
            yield release.version, failure
