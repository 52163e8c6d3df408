"""Which releases of transformers take torch's sdpa for a model unless another attention is asked for."""

from __future__ import annotations

import json
from functools import lru_cache

from envdoctor.world.tables import BUNDLED

# Gemma 2 was taken back to eager and is sdpa's again: modeling_gemma2.py of 4.42.4, 4.44.2, 4.45.2, 4.47.1 and 4.48.0.
_IN_BETWEEN = {"gemma2": (">=4.42,<4.45 || >=4.48", ("<4.42", "<4.45", "<4.48"))}


def sdpa_releases(kind: str) -> tuple[str, tuple[str, ...]] | None:
    """The releases that take it for a ``model_type``, and where they end and begin; None for a type of which it is not known."""
    first = _since().get(kind)
    return _IN_BETWEEN.get(kind) if first is None else (f">={first}", (f"<{first}",))


@lru_cache(maxsize=1)
def _since() -> dict[str, str]:
    found = json.loads((BUNDLED / "sdpa.json").read_bytes())
    since: dict[str, str] = found["since"]
    return since
