"""What a configuration class takes for a field that config.json does not state.

The table was read from the signatures of the classes in a release of transformers (scripts/refresh_class_defaults.py), and is loaded
when a model is counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

_TABLE = Path(__file__).parents[1] / "data" / "class_defaults.json"


@lru_cache(maxsize=1)
def class_defaults() -> Mapping[str, Mapping[str, object]]:
    """Defaults by model_type; what a class leaves to None is not there."""
    told = json.loads(_TABLE.read_text(encoding="utf-8"))["defaults"]
    assert isinstance(told, dict)
    return told
