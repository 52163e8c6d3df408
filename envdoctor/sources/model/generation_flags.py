"""Sampling flags of a generation_config.json that does not sample."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.files.json_file import Document
from envdoctor.sources.model.snapshot import table_of

# Values with which a flag counts as not set: GenerationConfig.validate of every release from 4.37.0 to 5.22.2 (wheels).
# min_p is refused from 4.41.0 on only, and is left out.
_SAMPLING: Mapping[str, float] = {"temperature": 1.0, "top_p": 1.0, "typical_p": 1.0, "top_k": 50, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0}


def flags_unused(document: Document | None) -> tuple[str, ...]:
    """The sampling flags that a generation_config.json sets without sampling, in the file's order; empty for none.

    Source: GenerationConfig.validate and save_pretrained of transformers 4.37.0 to 5.22.2, which refuse to save such a
    configuration. A null counts as not set, as it does from 4.38.0 on.
    """
    table = table_of(document)
    if table.get("do_sample", False) is not False:
        return ()
    contrastive = table.get("penalty_alpha") is not None
    return tuple(key for key in table if key in _SAMPLING and not (key == "top_k" and contrastive) and is_set(table[key], _SAMPLING[key]))


def is_set(value: object, default: float) -> bool:
    """Whether a flag has another value than its default; null and what is no number count as not set."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and value == value and value != default
