"""How a script is told, without what reads it."""

from __future__ import annotations

from pathlib import Path

_SHEBANG = b"#!"


def is_script(path: Path) -> bool:
    """Whether a file is a Python script or a notebook: by its suffix, or without one by its first line."""
    suffix = path.suffix.lower()
    if suffix in (".py", ".ipynb"):
        return True
    if suffix:
        return False
    try:
        with path.open("rb") as stream:
            first = stream.read(256).split(b"\n", 1)[0]
    except OSError:
        return False
    return first.startswith(_SHEBANG) and b"python" in first
