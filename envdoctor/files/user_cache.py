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
