"""The atlas as the wheel carries it, bound in a process for each core: ``python -m envdoctor.survey.packed ATLAS PLACE``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from envdoctor.atlas.binding import CLOSE, SLOW, SOLID, bind
from envdoctor.atlas.changes import bind_changes
from envdoctor.atlas.messages import bind_messages
from envdoctor.atlas.shelf import CHANGED, CHANGES, MESSAGES, PARTS, SAID, SUFFIX
from envdoctor.survey.packages import CLOSE_PACKED, DENSE

_ROOT = Path(__file__).resolve().parent.parent.parent


def bind_all(atlas: Path, place: Path) -> list[Path]:
    """Bind every package of an atlas into files of ``place``.

    Raises:
        subprocess.CalledProcessError: a package could not be bound; why is on stderr.
    """
    command = [sys.executable, "-m", "envdoctor.survey.packed", str(atlas), str(place)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(_ROOT), *filter(None, (os.environ.get("PYTHONPATH"),))))}
    running = [subprocess.Popen([*command, *names], env=environ) for names in _shares(atlas, os.cpu_count() or 1)]
    ended = [process.wait() for process in running]
    if any(ended):
        raise subprocess.CalledProcessError(max(ended, key=abs), command)
    return sorted(path for path in place.iterdir() if path.suffix in (SUFFIX, SAID, CHANGED))


def _shares(atlas: Path, number: int) -> list[list[str]]:
    """The packages in shares of about the same size."""
    sizes = {folder.name: sum(path.stat().st_size for path in folder.iterdir()) for folder in atlas.iterdir() if folder.is_dir()}
    shares: list[list[str]] = [[] for _ in range(number)]
    full = [0] * number
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        least = full.index(min(full))
        shares[least].append(name)
        full[least] += sizes[name]
    return [share for share in shares if share]


def bind_package(folder: Path, place: Path) -> None:
    """Bind what one package contains and takes, what it says, and when its functions changed."""
    texts = [(folder / part).read_text(encoding="utf-8") for part in PARTS if (folder / part).exists()]
    if texts:
        (place / f"{folder.name}{SUFFIX}").write_bytes(
            bind(texts, SLOW if folder.name in DENSE else CLOSE if folder.name in CLOSE_PACKED else SOLID)
        )
    if (folder / MESSAGES).exists():
        (place / f"{folder.name}{SAID}").write_bytes(bind_messages((folder / MESSAGES).read_text(encoding="utf-8")))
    if (folder / CHANGES).exists():
        (place / f"{folder.name}{CHANGED}").write_bytes(bind_changes((folder / CHANGES).read_text(encoding="utf-8")))


def main(words: Sequence[str]) -> None:
    atlas, place, *names = words
    for name in names:
        bind_package(Path(atlas, name), Path(place))


if __name__ == "__main__":
    main(sys.argv[1:])
