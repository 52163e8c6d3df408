"""Scripts and notebooks written into a folder, and what was read of them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection
from pathlib import Path

from envdoctor.facts.fact import Collected, Fact, Facts, FactValue
from envdoctor.rules.calls import keep_awaited, list_awaited
from envdoctor.sources.scripts.script import collect_script


def write(folder: Path, text: str, name: str = "train.py") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return path


def read(folder: Path, text: str) -> Collected:
    return collect_script(write(folder, text))


def notebook(*cells: str, kind: str = "code") -> str:
    """A notebook as Jupyter writes it: a line of source to a line of the file."""
    return json.dumps(
        {
            "cells": [
                {"cell_type": kind, "execution_count": None, "metadata": {}, "outputs": [], "source": cell.splitlines(keepends=True)}
                for cell in cells
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
        ensure_ascii=False,
    )


def values(found: Collected) -> dict[str, FactValue]:
    """What is stated, without TrainingArguments' own defaults; of uses those that shipped rules wait for."""
    return {fact.name: fact.value for fact in _awaited(found) if fact.origin.source != "default of TrainingArguments"}


def lines(found: Collected) -> dict[str, int | None]:
    return {fact.name: fact.origin.line for fact in _awaited(found) if fact.origin.file is not None}


def _awaited(found: Collected) -> Collection[Fact]:
    return keep_awaited(Facts().with_facts(found.facts), list_awaited()).by_name.values()


def told(found: Collected, path: Path) -> list[str]:
    """The skips, without the folder."""
    return [f"{skip.what}: {skip.why}".replace(f"{path.parent}/", "") for skip in found.skips]
