"""Where envdoctor keeps what it can always make again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_directory() -> Path:
    """The user's cache directory for envdoctor; a place that cannot be made where the user has no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification ignores a relative one
        home = os.path.expanduser("~")
        base = os.path.join(home, ".cache") if os.path.isabs(home) else os.devnull
    return Path(base, "envdoctor")


def keep_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; one that cannot be written is made again the next time."""
    import tempfile

    written = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as stream:
            written = stream.name
            stream.write(data)
        os.replace(written, path)
    except OSError:
        if written and os.path.exists(written):
            os.unlink(written)
