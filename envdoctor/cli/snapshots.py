"""What the files of the models in a situation show beside their facts."""

from __future__ import annotations

from dataclasses import replace

from envdoctor.checks.hit import Hit
from envdoctor.cli.gather import Gathered
from envdoctor.facts import Defect


def examined(gathered: Gathered, *, full: bool = False) -> Gathered:
    """The situation with what its snapshots show: whether their files agree, are whole, are known, and suit the stack.

    ``full`` hashes the weights as well.
    """
    if not gathered.snapshots and not gathered.adapters:
        return gathered
    from envdoctor.cli.progress import hashing
    from envdoctor.coherence import examine
    from envdoctor.coherence.revisions import recognised
    from envdoctor.snapshot.integrity import integrity
    from envdoctor.sources.snapshot_facts import NOT_HASHED

    hits, defects, skips, notes = [*gathered.hits], [*gathered.situation.defects], [*gathered.situation.skips], [*gathered.notes]
    for snapshot in gathered.snapshots:
        path = snapshot.directory.path
        whole = integrity(path, full=full, watch=hashing)
        if whole.hashed:
            skips = [skip for skip in skips if skip != NOT_HASHED]
        known, told = recognised(path, whole.records, gathered.derived)
        coherent = examine(snapshot, gathered.derived)
        hits += [*coherent.hits, *known.hits]
        defects += [*coherent.defects, *whole.collected.defects, *known.defects]
        skips += [*coherent.skips, *whole.collected.skips]
        notes += told
    for adapter in gathered.adapters:
        from envdoctor.coherence.adapter import examine_adapter

        found = list(examine_adapter(adapter, next(iter(gathered.snapshots), None), gathered.derived))
        hits += [one for one in found if isinstance(one, Hit)]
        defects += [one for one in found if isinstance(one, Defect)]
    situation = replace(gathered.situation, defects=tuple(dict.fromkeys(defects)), skips=tuple(dict.fromkeys(skips)))
    return replace(gathered, situation=situation, hits=tuple(hits), notes=tuple(notes))
