"""How a tokenizer.json writes the merges of a BPE: tokenizers before 0.20 read no pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import Fact
from envdoctor.sources.model.model_directory import ModelDirectory, is_lfs_pointer

_TOKENIZER = "tokenizer.json"
_TOKENIZER_LIMIT = 64 * 2**20
_FIRST_MERGE = re.compile(rb'"merges"\s*:\s*\[\s*(["\[\]])')
_FORMS = {b'"': "strings", b"[": "pairs", b"]": "none"}


def tokenizer_merges(directory: ModelDirectory) -> Iterator[Fact]:
    """The form of the merges, found without parsing a file that may have tens of megabytes."""
    data = directory.read(_TOKENIZER, _TOKENIZER_LIMIT) if _TOKENIZER in directory.names else None
    if data is None or is_lfs_pointer(data) or b'"model"' not in data:
        return
    at = data.rfind(b'"merges"')
    first = None if at < 0 else _FIRST_MERGE.match(data, at)
    if at < 0 or first is not None:
        form = "none" if first is None else _FORMS[first[1]]
        yield directory.fact("model.tokenizer_merges", form, _TOKENIZER, None)


__all__ = ["tokenizer_merges"]
