"""A model directory that a plan or a script names by its path."""

from __future__ import annotations

from pathlib import Path

from envdoctor.files.paths import is_dir, is_file

# A plan lies in a folder of its project, and its paths are meant from where the run is started.
_MOST_ABOVE = 5
_LONGEST = 1024


def find_named_model(named: str, file: Path) -> Path | None:
    """The directory of a model that a file names, as seen from the file's folder or one above it; None where there is none.

    A hub id is none: it has no ``config.json`` below it here.
    """
    text = named.strip()
    if not text or len(text) > _LONGEST or "\0" in text or "://" in text:
        return None
    path = Path(text).expanduser() if text.startswith("~/") else Path(text)
    folders = (Path(),) if path.is_absolute() else (file.parent, *(file.parent / "/".join([".."] * up) for up in range(1, _MOST_ABOVE)))
    for folder in folders:
        place = folder / path
        if is_dir(place) and any(is_file(place / name) for name in ("config.json", "adapter_config.json")):
            return place
    return None
