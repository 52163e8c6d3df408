"""Write what packages of the atlas say when they refuse or warn, and leave the rest of the atlas as it is.

    python scripts/read_messages.py peft trl ...

The releases that the atlas holds are read (those that a build kept are not read again), and ``atlas/PACKAGE/messages.txt`` is written.
Of packages whose compiled code speaks (``envdoctor.survey.compiled.SPOKEN``) the source archives are read as well.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

from envdoctor.atlas.shelf import SOURCE, open_package
from envdoctor.files.user_cache import cache_directory
from envdoctor.refresh.http import Connections
from envdoctor.refresh.index import Get, environment_index, page_address, project_page
from envdoctor.refresh.pages import parse_page
from envdoctor.survey.choice import choose
from envdoctor.survey.compiled import SPOKEN, read_compiled
from envdoctor.survey.fetching import read_releases
from envdoctor.survey.kept import Kept
from envdoctor.survey.writing import write_said


def write(name: str, folder: Path, get: Get) -> None:
    """Read the releases of one package and write what they say."""
    bound = open_package(name)
    if bound is None:
        sys.exit(f"{name} is not in the atlas")
    held = bound.volume.releases
    index = environment_index()
    files = parse_page(project_page(index, name, get), page_address(index, name))
    releases = [one for one in choose(name, files, since="", every=True, named=held) if one.version in held]
    survey = cache_directory() / "survey"
    with closing(Kept(survey / f"{name}.db")) as kept, closing(Kept(survey / f"{name}-compiled.db")) as compiled:
        for version, why in read_releases(name, releases, get, kept, tell=print):
            print(f"{name} {version}: {why}", file=sys.stderr)
        if name in SPOKEN:
            for version, why in read_compiled(name, releases, get, compiled):
                print(f"{name} {version}: {why}", file=sys.stderr)
        read = kept.releases(name)
        only = [one for one in held if one in read]
        write_said(name, kept, folder, only, compiled if compiled.releases(name) else None)


if __name__ == "__main__":
    with closing(Connections()) as connections:
        for package in sys.argv[1:]:
            write(package, SOURCE, connections.get)
