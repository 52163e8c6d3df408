"""The whole way of the atlas: an index is asked for releases, they are read, and the texts are written. It can be stopped and goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from envdoctor.refresh.index import Get, NoAnswerError, environment_index, page_address, project_page
from envdoctor.refresh.pages import parse_page
from envdoctor.survey.adding import add_contents, close_takes, held, only_newer
from envdoctor.survey.archives import NotAnArchiveError, Wheel
from envdoctor.survey.choice import choose, version_of
from envdoctor.survey.fetching import keep_files, modules_of, read_releases
from envdoctor.survey.kept import Kept
from envdoctor.survey.packages import CONSUMERS, DEEP, EVERY, MINOR, NEWEST_OF_CONSUMERS, TENS
from envdoctor.survey.writing import write_all_takes, write_contents, write_said

SINCE = "2022-01-01"
# Their releases of before are installed to this day: projects were left at them, or pinned them for years.
OLDER = {"fairseq": "2020-01-01", "packaging": "2021-11-01", "yarl": "2021-10-01", "aiosignal": "2021-10-01", "dill": "2021-09-01",
         "multiprocess": "2021-09-01", "timm": "2020-10-01"}  # fmt: skip
Failures = list[tuple[str, str]]


def build(
    folder: Path,
    names: Sequence[str],
    cache: Path,
    get: Get,
    *,
    wheels: Path | None = None,
    adds: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Failures:
    """Read the releases of packages (all of the atlas, where none are named) that were not read yet, and write their texts.

    With ``wheels`` what lies in that folder is read in place of an index. ``adds``: of a package whose text is there, and whose files are
    not at hand any more, only what came later is read, and what it holds is added. What failed comes back with the reason.
    """
    failed: Failures = []
    if wheels is not None:
        names = sorted(_read_folder(wheels, cache, failed, tell))
    else:
        names = names or [*EVERY, *MINOR, *CONSUMERS]
        for name in names:
            failed += _read_package(name, cache, get, tell, folder / name / "contents.txt" if adds else None)
    written = []
    for name in names:
        kept = Kept(cache / f"{name}.db")
        text = folder / name / "contents.txt"
        if adds and (known := _out_of_hand(text, kept)):
            if add_contents(name, kept, text):
                close_takes(folder / name / "takes.txt", known[-1])
        elif write_contents(name, kept, folder):
            written.append(name)
            if name not in CONSUMERS:
                write_said(name, kept, folder)
        kept.close()
    if written:
        write_all_takes(folder, lambda name: Kept(cache / f"{name}.db"), written, tell)
    return failed


def _out_of_hand(text: Path, kept: Kept) -> list[str]:
    """The releases of a text of contents where their files are not at hand, all of them."""
    known = held(text)
    return known if not set(known) <= set(kept.releases(text.parent.name)) else []


def _read_package(name: str, cache: Path, get: Get, tell: Callable[[str], None], text: Path | None) -> Failures:
    """``text`` is that of the contents which new releases are added to."""
    index = environment_index()
    try:
        files = parse_page(project_page(index, name, get), page_address(index, name))
    except (NoAnswerError, ValueError) as error:
        return [(name, str(error))]
    newest = NEWEST_OF_CONSUMERS if name in CONSUMERS and name not in DEEP else 10_000
    releases = choose(name, files, since=OLDER.get(name, SINCE), every=name in EVERY, tens=name in TENS, newest=newest)
    kept = Kept(cache / f"{name}.db")
    known = [] if text is None else _out_of_hand(text, kept)
    releases = only_newer(releases, known) if known else releases
    try:
        return [(f"{name} {version}", why) for version, why in read_releases(name, releases, get, kept, tell=tell)]
    finally:
        kept.close()


def _read_folder(wheels: Path, cache: Path, failed: Failures, tell: Callable[[str], None]) -> set[str]:
    """Read the wheels of a folder; the packages that they are of."""
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    found = set()
    for path in sorted(wheels.glob("*.whl")):
        tell(path.name)
        try:
            name = parse_wheel_filename(path.name)[0]
            data = path.read_bytes()
            archive = Wheel(lambda start, end, data=data: data[start:end], len(data))  # type: ignore[misc]
        except (InvalidWheelFilename, OSError, NotAnArchiveError) as error:
            failed.append((path.name, str(error)))
            continue
        version = version_of(name, path.name)
        members = modules_of(archive, name)
        kept = Kept(cache / f"{name}.db")
        keep_files(archive, members, kept)
        kept.keep_release(name, str(version), "", path.name, members)
        kept.close()
        found.add(str(name))
    if not found:
        failed.append((str(wheels), "no wheel in it"))
    return found
