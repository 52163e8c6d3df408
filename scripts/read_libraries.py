"""Write what the compiled libraries of packages say when they refuse, and leave their other messages as they are.

    python scripts/read_libraries.py torch

``envdoctor.survey.libraries`` says how these are read.
Of each release that the atlas holds the wheel for macOS is downloaded (of torch some 60 MB each, 2.5 GB in all, none of it kept).
"""

from __future__ import annotations

import sys
from contextlib import closing

from envdoctor.atlas.shelf import MESSAGES, SOURCE, open_package
from envdoctor.refresh.http import Connections
from envdoctor.refresh.index import Get, environment_index, page_address, project_page
from envdoctor.refresh.pages import parse_page
from envdoctor.survey.choice import choose
from envdoctor.survey.libraries import read_libraries, without_libraries, write_libraries
from envdoctor.survey.writing import write_text


def write(name: str, get: Get) -> None:
    """Read the libraries of a package's releases and write what they say."""
    bound = open_package(name)
    if bound is None:
        sys.exit(f"{name} is not in the atlas")
    held = bound.volume.releases
    index = environment_index()
    files = parse_page(project_page(index, name, get), page_address(index, name))
    found: dict[str, frozenset[str]] = {}
    for version, said in read_libraries(
        name, [one for one in choose(name, files, since="", every=True, named=held) if one.version in held], get
    ):
        if isinstance(said, str):
            print(f"{name} {version}: {said}", file=sys.stderr)
        else:
            found[version] = said
            print(f"{name} {version}: {len(said)} sentences", flush=True)
    path = SOURCE / name / MESSAGES
    others = without_libraries(path.read_text(encoding="utf-8"), name)
    write_text(path, others + "\n".join([*write_libraries(name, held, found), ""]))


if __name__ == "__main__":
    with closing(Connections()) as connections:
        for package in sys.argv[1:]:
            write(package, connections.get)
