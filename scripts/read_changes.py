"""Read when the functions of packages changed from release to release, into the atlas: ``read_changes.py NAME ... [--output ATLAS]``.

Every final release since 2022-10-01 is read, and of each only the files with a content that no release before had. What was read is kept in
the user's cache directory, so that it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from envdoctor.atlas.missing import is_left_out
from envdoctor.atlas.shelf import CHANGES
from envdoctor.files.user_cache import cache_directory
from envdoctor.refresh.http import Connections
from envdoctor.refresh.index import Get, NoAnswerError, environment_index, page_address, project_page
from envdoctor.refresh.pages import File, parse_page
from envdoctor.survey.archives import Member, NotAnArchiveError
from envdoctor.survey.bodies import Bodies, bodies_of, write_changes
from envdoctor.survey.choice import choose
from envdoctor.survey.fetching import is_code, module_of, open_archive
from envdoctor.survey.writing import write_text

SINCE = "2022-10-01"
_LARGEST = 3 * 2**20
_TRIED = 2


def read_package(name: str, kept: sqlite3.Connection, get: Get) -> tuple[list[str], dict[str, dict[str, list[tuple[int, int]]]]]:
    """The releases of a package, and for each module's functions the place of each release that has it, with its checksum there."""
    index = environment_index()
    files = parse_page(project_page(index, name, get), page_address(index, name))
    releases: list[str] = []
    modules: dict[str, dict[str, list[tuple[int, int]]]] = {}
    for release in choose(name, files, since=SINCE, every=True):
        for file in release.files[:_TRIED]:
            try:
                contents = _read_release(name, file, kept, get)
            except (NoAnswerError, NotAnArchiveError) as error:
                print(f"{name} {release.version}: {error}", file=sys.stderr)
                continue
            for module, bodies in contents.items():
                functions = modules.setdefault(module, {})
                for function, checksum in bodies.items():
                    functions.setdefault(function, []).append((len(releases), checksum))
            releases.append(release.version)
            break
    return releases, modules


def _read_release(name: str, file: File, kept: sqlite3.Connection, get: Get) -> dict[str, Bodies]:
    archive = open_archive(file, get)
    found: dict[str, Bodies] = {}
    wanted: list[Member] = []
    for one in archive.members:
        module = module_of(one.path)[0]
        if not one.path.endswith(".py") or one.size > _LARGEST or not is_code(one.path, ()) or is_left_out(name, module):
            continue
        row = kept.execute("select data from bodies where key = ?", (_key(one),)).fetchone()
        if row is None:
            wanted.append(one)
        else:
            found[module] = json.loads(zlib.decompress(row[0]))
    for one, content in archive.read(wanted):
        try:
            bodies = bodies_of(content.decode("utf-8-sig", "replace"))
        except (SyntaxError, ValueError, RecursionError):
            bodies = {}
        kept.execute("insert or replace into bodies values (?, ?)", (_key(one), zlib.compress(json.dumps(bodies).encode(), 3)))
        found[module_of(one.path)[0]] = bodies
    kept.commit()
    return found


def _key(member: Member) -> str:
    return f"{member.crc:08x}:{member.size}:{member.path}"


def main(words: Sequence[str]) -> int:
    """Read the packages that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--output", type=Path, default=Path(__file__).resolve().parent.parent / "atlas")
    options = parser.parse_args(words)
    cache = cache_directory() / "survey"
    cache.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        with closing(sqlite3.connect(cache / f"changes-{name}.db", timeout=60)) as kept, closing(Connections()) as connections:
            kept.execute("create table if not exists bodies (key text primary key, data blob)")
            releases, modules = read_package(name, kept, connections.get)
        write_text(options.output / name / CHANGES, "\n".join(write_changes(name, modules, releases)) + "\n")
        print(f"{name}: {len(releases)} releases", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
