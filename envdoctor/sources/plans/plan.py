"""Facts from a training plan: the door to the dialects of ``envdoctor.sources.plans``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from envdoctor.facts.fact import Collected, Origin, Skip
from envdoctor.files.text import plain
from envdoctor.sources.plans.plan_file import PlanText, read_documents
from envdoctor.sources.plans.reader import Reader
from envdoctor.sources.plans.registry import dialect_of

Given: TypeAlias = Mapping[tuple[str, ...], tuple[object, Origin]]
"""Settings that a command gives in the place of a file's: by the path of their keys, with the place of each."""


def collect_plan(path: Path, given: Given | None = None) -> Collected:
    """What a plan file says of the run, with the settings that a command gives beside it.

    What a recognised file of TrainingArguments leaves out has TrainingArguments' default, with that origin; not so where it
    only borrows some of their names.
    Of several documents in a file the first that is a plan is read. What is no plan of a dialect that is read is one skip.

    Raises:
        EnvdoctorError: the file cannot be read or is neither JSON nor YAML.
    """
    text = read_documents(path)
    place = plain(str(path), 4096)
    named = None
    for document in text.documents:
        if not isinstance(document.value, dict):
            continue
        dialect = dialect_of(document.value)
        if dialect is not None and dialect.read is not None:
            reader = Reader(path, document, given={keys: place for keys, (_, place) in (given or {}).items()})
            dialect.read(reader, _replaced(document.value, given) if given else document.value)
            others = [f"{place}:{other.start}" for other in text.documents if other is not document and other.value is not None]
            found = reader.collected()
            skips = [Skip(other, "one more document of the file: the first plan in a file is the one that is read") for other in others]
            notes = [Skip(f"{place}:{line}", why) for line, why in text.notes]
            return Collected(found.facts, skips=(*found.skips, *notes, *skips))
        named = named or (dialect.name if dialect is not None else None)
    return Collected(skips=(Skip(place, f"{named}: not a plan that is read" if named else _why_not(text), lost=True),))


def _replaced(table: dict[object, object], given: Given) -> dict[object, object]:
    made = dict(table)
    for keys, (value, _) in given.items():
        inner = made
        for key in keys[:-1]:
            below = inner.get(key)
            copy: dict[object, object] = dict(below) if isinstance(below, dict) else {}
            inner[key] = copy
            inner = copy
        inner[keys[-1]] = value
    return made


def _why_not(text: PlanText) -> str:
    if any(isinstance(document.value, dict) for document in text.documents):
        return "settings of no known training tool"
    if not text.documents and text.notes:
        line, why = text.notes[0]
        return f"line {line}: {why}"
    return "no mapping of settings: not a training plan"
