"""Scripts and notebooks written into a folder, and what was read of them."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection
from pathlib import Path

from envdoctor.facts.fact import Collected, Fact, Facts, FactValue
from envdoctor.rules.calls import keep_awaited
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


# What these tests wait for, whatever the shipped rules do.
AWAITED = (
    "accelerate",
    "accelerate.Accelerator.backward",
    "peft",
    "peft.get_peft_model",
    "peft.prepare_model_for_kbit_training",
    "torch",
    "transformers",
    "transformers.AutoModelForCausalLM",
    "transformers.AutoModelForCausalLM.from_pretrained",
    "transformers.AutoModelForCausalLM.from_pretrained(attn_implementation=flash_attention_2)",
    "transformers.AutoModelForCausalLM.from_pretrained(device_map=auto)",
    "transformers.AutoTokenizer",
    "transformers.AutoTokenizer.from_pretrained",
    "transformers.Trainer",
    "transformers.Trainer.train",
    "transformers.TrainingArguments",
    "unsloth",
)


def values(found: Collected) -> dict[str, FactValue]:
    """What is stated, without TrainingArguments' own defaults; of uses those that are waited for."""
    return {fact.name: fact.value for fact in _awaited(found) if fact.origin.source != "default of TrainingArguments"}


def lines(found: Collected) -> dict[str, int | None]:
    return {fact.name: fact.origin.line for fact in _awaited(found) if fact.origin.file is not None}


def _awaited(found: Collected) -> Collection[Fact]:
    return keep_awaited(Facts().with_facts(found.facts), AWAITED).by_name.values()


def told(found: Collected, path: Path) -> list[str]:
    """The skips, without the folder."""
    return [f"{skip.what}: {skip.why}".replace(f"{path.parent}/", "") for skip in found.skips]
