"""What real modules count: models built by transformers on the meta device, and adapters that peft put beside them.

``counted.json`` was written by ``test_counts_real.py`` with the releases that it names. The sizes in
each configuration are those that the publishers of the model give in its config.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

RANK = 4
TABLE = Path(__file__).with_name("counted.json")


@dataclass(frozen=True)
class Counted:
    """``layers`` are the kinds of layers, each with how many there are and its linear modules: name, inputs, outputs, bias, how many.

    ``adapters`` are parameters of LoRA of rank 4 by targets; None where peft refuses. Empty where nobody counted them.
    """

    name: str
    config: Mapping[str, object]
    total: int
    layers: object
    adapters: Mapping[str, int | None]


@lru_cache(maxsize=1)
def releases() -> tuple[str, str]:
    told = _told()
    return str(told["transformers"]), str(told["peft"])


@lru_cache(maxsize=1)
def counted() -> tuple[Counted, ...]:
    models = _told()["models"]
    assert isinstance(models, dict)
    return tuple(
        Counted(
            name,
            told["config"],
            told["total"],
            told.get("layers"),
            {targets: told[targets] for targets in ("all-linear", "default") if targets in told},
        )
        for name, told in models.items()
    )


def model(name: str) -> Counted:
    return next(one for one in counted() if one.name == name)


def _told() -> dict[str, object]:
    told = json.loads(TABLE.read_text())
    assert isinstance(told, dict)
    return told
