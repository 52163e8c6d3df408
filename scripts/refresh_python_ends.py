"""With which Python the import of which releases ends, whatever their metadata says: read from their wheels and source archives.

    python scripts/refresh_python_ends.py            # reads the packages of the table and those that are listed again
    python scripts/refresh_python_ends.py NAME ...   # reads these, and keeps what the table has of others

Writes envdoctor/data/python_ends.json. Of each package with few releases since 2020 all are read; of others the first and the last of each
minor, and between two that differ as many as it takes to find where. A release between two with the same answer has that answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from envdoctor.atlas.distributions import distributions_of
from envdoctor.refresh.http import Connections
from envdoctor.refresh.index import Get, NoAnswerError, environment_index, page_address, project_page
from envdoctor.refresh.packages import CORE, FURTHER
from envdoctor.refresh.pages import parse_page
from envdoctor.survey.archives import Archive, Member, NotAnArchiveError
from envdoctor.survey.choice import Release, choose
from envdoctor.survey.fetching import modules_of, open_archive
from envdoctor.survey.packages import CONSUMERS, EVERY, MINOR
from envdoctor.survey.python_ends import End, find_end

TABLE = Path(__file__).parent.parent / "envdoctor" / "data" / "python_ends.json"
SINCE = "2020-01-01"
ABOUT = (
    "With which Python the import of a release ends although its metadata admits it. rows: the second number of the first such Python, the "
    "file that ends it, why, and the releases, from the first to the last of a stretch."
)
_FEW = 80
Answer = tuple[int, str, str] | None


def read(name: str, release: Release, get: Get) -> Answer:
    """Where the import of a release ends.

    Raises:
        NotAnArchiveError: no file of it can be read.
    """
    for file in release.files[:2]:
        try:
            archive = open_archive(file, get)
        except (NoAnswerError, NotAnArchiveError):
            continue
        members = [one for one in modules_of(archive, name) if one.path.endswith(".py")]
        tops = {top for one in members for top in [one.path.partition("/")[0].removesuffix(".py")] if name in distributions_of(top)}
        members = [one for one in members if one.path.partition("/")[0].removesuffix(".py") in tops]
        found: End | None = find_end(dict(_by_path(archive, members)), sorted(tops))
        return None if found is None else (found.minor, found.path, found.why)
    raise NotAnArchiveError(f"{name} {release.version}")


def _by_path(archive: Archive, members: Sequence[Member]) -> Iterator[tuple[str, bytes]]:
    for one, content in archive.read(members):
        yield one.path, content


def stretches(name: str, get: Get) -> list[list[object]]:
    """The rows of a package."""
    index = environment_index()
    files = parse_page(project_page(index, name, get), page_address(index, name))
    releases = choose(name, files, since=SINCE, every=True)
    answers: dict[int, Answer] = {}

    def ask(at: int) -> Answer:
        if at not in answers:
            answers[at] = read(name, releases[at], get)
        return answers[at]

    last = {tuple(one.version.split(".")[:2]): at for at, one in enumerate(releases)}
    first = {tuple(one.version.split(".")[:2]): at for at, one in reversed(list(enumerate(releases)))}
    for at in range(len(releases)) if len(releases) <= _FEW else sorted({*first.values(), *last.values()}):
        try:
            ask(at)
        except NotAnArchiveError as error:
            print(f"  {error}: no file that can be read", file=sys.stderr)
    known = sorted(answers)
    for low, high in pairwise(known):
        _narrow(low, high, ask)
    return _rows(releases, answers)


def _narrow(low: int, high: int, ask: Callable[[int], Answer]) -> None:
    """Read between two releases that differ until they are neighbours."""
    while high - low > 1 and ask(low) != ask(high):
        middle = (low + high) // 2
        try:
            same = ask(middle) == ask(low)
        except NotAnArchiveError:
            return
        low, high = (middle, high) if same else (low, middle)


def _rows(releases: Sequence[Release], answers: dict[int, Answer]) -> list[list[object]]:
    rows: list[list[object]] = []
    known = sorted(answers)
    for place, at in enumerate(known):
        answer = answers[at]
        if answer is None:
            continue
        before = known[place - 1] if place else None
        if before is not None and answers[before] == answer:
            rows[-1][4] = releases[at].version
        else:
            rows.append([*answer, releases[at].version, releases[at].version])
    return rows


def main(names: Sequence[str]) -> int:
    packages: dict[str, list[list[object]]] = json.loads(TABLE.read_bytes())["packages"] if TABLE.exists() else {}
    connections = Connections()
    for name in names or sorted({*CORE, *FURTHER, *EVERY, *MINOR, *CONSUMERS, *packages}):
        try:
            rows = stretches(name, connections.get)
        except (NoAnswerError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        print(name, *rows, flush=True)
        packages.pop(name, None)
        if rows:
            packages[name] = rows
        table = {"about": ABOUT, "packages": dict(sorted(packages.items()))}
        TABLE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
