"""Read modules of releases that the atlas has once more, where a later reader of source sees what was open to the one before.

    python scripts/reread_modules.py scipy pandas ...          # every module that is open, or has a hidden signature
    python scripts/reread_modules.py torchvision --only torchvision.io   # these modules, all that they hold

Only these files are fetched, and only what was open is changed in ``atlas/PACKAGE/contents.txt`` (``envdoctor.survey.rereading``).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from envdoctor.atlas.shelf import SOURCE
from envdoctor.refresh.http import Connections
from envdoctor.refresh.index import environment_index, page_address, project_page
from envdoctor.refresh.pages import parse_page
from envdoctor.survey.adding import read_back
from envdoctor.survey.choice import choose
from envdoctor.survey.kept import Kept
from envdoctor.survey.rereading import reread, unsettled


def main() -> int:
    """Read modules of the named packages once more."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+")
    parser.add_argument("--only", nargs="+", default=(), help="these modules, and all that they hold; else what is open in any")
    options = parser.parse_args()
    status = 0
    with closing(Connections()) as connections, tempfile.TemporaryDirectory() as folder:
        for name in options.packages:
            path = SOURCE / name / "contents.txt"
            text = read_back(path.read_text(encoding="utf-8"))
            held = [release for release, _ in text.releases]
            index = environment_index()
            files = parse_page(project_page(index, name, connections.get), page_address(index, name))
            releases = [one for one in choose(name, files, since="", every=True, named=held) if one.version in held]
            modules = set(options.only) & set(text.modules) or unsettled(text)
            with closing(Kept(Path(folder) / f"{name}.db")) as kept:
                for version, why in reread(path, name, releases, connections.get, kept, modules, print, whole=bool(options.only)):
                    print(f"{name} {version}: {why}", file=sys.stderr)
                    status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
