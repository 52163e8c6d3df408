"""How many parameters a published model has at the least, by the size that its makers put into its name."""

from __future__ import annotations

import re

# How far below its name a model may stay, from a size on: Mistral-Small-24B has 23.57 billion, Llama 2 7B 6.74, MPT-7B 6.65, and
# stablecode-completion-alpha-3b 2.77. benchmarks/unseen/memory*.json have the configurations of a hundred such names, which a test counts.
_LEAST_SHARES = ((13.0, 0.97), (6.0, 0.94), (0.0, 0.92))
# A mixture of experts is called after one expert, or has the active part behind the whole: 8x7b, 30b-a3b.
_MIXTURES = {"8x7b": 46e9, "8x22b": 140e9}
_SIZE = re.compile(r"(?<![a-z0-9.])(\d{1,3}(?:[._]\d+)?)b(?![a-z])")


def least_parameters(name: str) -> int | None:
    """A lower bound for a repository or folder that is known to be such a model; None where its name has no size in billions."""
    last = name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()
    mixture = next((count for part, count in _MIXTURES.items() if part in last), None)
    if mixture is not None:
        return int(mixture * _LEAST_SHARES[0][1])
    found = _SIZE.search(last)
    if found is None:
        return None
    size = float(found[1].replace("_", "."))
    return int(size * 1e9 * next(share for least, share in _LEAST_SHARES if size >= least))
