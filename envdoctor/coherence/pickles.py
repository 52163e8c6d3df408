"""Weights that are stored as pickles, and what is found in them."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Defect, Facts
from envdoctor.files.text import plain
from envdoctor.sources.model.snapshot import Snapshot

_MOST_FILES = 512


def pickled_weights(snapshot: Snapshot, _facts: Facts) -> Iterator[Defect]:
    """Weights that can only be loaded by unpickling, and the imports in them."""
    weights, directory = snapshot.weights, snapshot.directory
    files = [file for file in weights.files if weights.format == "pickle" and directory.locate(file) is not None]
    if not files:
        return
    # Most models have none, and what reads pickles imports much.
    from envdoctor.coherence.pickle_scan import Imports, picklescan, scan

    loaded = f"{len(files)} files such as {plain(files[0])} are" if len(files) > 1 else f"{plain(files[0])} is"
    place = directory.place(weights.file)
    scanner = picklescan()
    if scanner is None:
        yield Defect("snapshot-weights-pickled", f"{loaded} loaded by unpickling", place)
        directory.skip(files[0], 'pickles were not scanned for imports: pip install "llm-envdoctor[scan]"')
        return
    found = Imports()
    for file in files[:_MOST_FILES]:
        scan(snapshot, file, scanner, found)
    if len(files) > _MOST_FILES:
        directory.skip(files[_MOST_FILES], f"more than {_MOST_FILES} files of pickles: this and the following were not scanned")
    if found.dangerous:
        file = next(iter(found.dangerous.values()))
        detail = f"loading {plain(file)} would import {_listed(found.dangerous)}"
        yield Defect("snapshot-pickle-dangerous-import", detail, directory.place(file))
    if found.unknown:
        file = next(iter(found.unknown.values()))
        detail = f"loading {plain(file)} would import {_listed(found.unknown)}, which tensors do not need"
        yield Defect("snapshot-pickle-unknown-import", detail, directory.place(file))
    clean = f"; {scanner.label} sees no import that tensors do not need, which is no proof" if found.seen_none else ""
    yield Defect("snapshot-weights-pickled", f"{loaded} loaded by unpickling{clean}", place)


CHECKS = (pickled_weights,)


def _listed(imports: dict[str, str]) -> str:
    shown = ", ".join(plain(name, 80) for name in sorted(imports)[:5])
    return shown if len(imports) <= 5 else f"{shown} and {len(imports) - 5} more"
