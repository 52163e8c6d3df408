"""What the files of the models in a situation show beside their facts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from envdoctor.app.gathered import Gathered
from envdoctor.app.watch import Watch
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Defect, Skip
from envdoctor.facts.versions import Exact
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.records import replace
from envdoctor.world.architectures import known_types

if TYPE_CHECKING:
    from envdoctor.snapshot.record import Record
    from envdoctor.sources.model.snapshot import Snapshot

Found: TypeAlias = "tuple[tuple[Hit, ...], tuple[Skip, ...]]"


def examine_snapshots(gathered: Gathered, watch: Watch, *, full: bool = False) -> Gathered:
    """The situation with what its snapshots show: whether their files agree, are whole, are known, and suit the stack.

    ``full`` hashes the weights as well.
    """
    if not gathered.snapshots:
        gathered = replace(gathered, hits=(*gathered.hits, *_named_too_large(gathered)))
    if not gathered.snapshots and not gathered.adapters:
        return gathered
    from envdoctor.coherence import examine
    from envdoctor.coherence.revisions import recognised
    from envdoctor.snapshot.integrity import integrity
    from envdoctor.sources.model.snapshot_facts import NOT_HASHED

    hits, defects, skips, notes = [*gathered.hits], [*gathered.situation.defects], [*gathered.situation.skips], [*gathered.notes]
    for snapshot in gathered.snapshots:
        path = snapshot.directory.path
        whole = integrity(path, full=full, watch=watch.hashing)
        if whole.hashed:
            skips = [skip for skip in skips if skip != NOT_HASHED]
        known, told = recognised(path, whole.records, gathered.derived)
        coherent = examine(snapshot, gathered.derived)
        code, unread = _remote_code(snapshot, gathered, whole.records)
        hits += [*coherent.hits, *known.hits, *code, *_too_large(snapshot, gathered)]
        skips += unread
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


WITH_AUTO_MAP = ("config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json")
_HERE = os.path.dirname(os.path.dirname(__file__))
_COMPARING = (os.path.join(_HERE, "code"), os.path.join(_HERE, "data", "library_surface.json"))
_OF_THE_PLAN = ("plan.generate", "plan.gradient_checkpointing", "plan.tokenize")


def _too_large(snapshot: Snapshot, gathered: Gathered) -> tuple[Hit, ...]:
    """Whether the plan cannot fit into the memory of the GPU; asked where both are known."""
    if gathered.derived.value("gpu.memory_gib") is None or gathered.derived.value("plan.method") is None:
        return ()
    from envdoctor.memory.finding import exceeding
    from envdoctor.sources.model.snapshot import table_of

    return exceeding(gathered.facts, table_of(snapshot.config))


def _named_too_large(gathered: Gathered) -> tuple[Hit, ...]:
    """The same of a model that is published under its name, and is not at hand."""
    facts = gathered.derived
    if facts.value("gpu.memory_gib") is None or facts.value("plan.method") is None or facts.value("model.path") is not None:
        return ()
    from envdoctor.facts.published_configs import published_config
    from envdoctor.memory.finding import exceeding

    config = published_config(facts.text("model.id") or "")
    return () if config is None or facts.value("model.type") not in (None, config["model_type"]) else exceeding(gathered.facts, config)


def _is_native(gathered: Gathered, release: Exact) -> bool:
    """Whether transformers takes a class of its own: it knows the type, and nobody asks for the snapshot's code."""
    kind = gathered.derived.value("model.type")
    return gathered.derived.value("plan.trust_remote_code") is False and isinstance(kind, str) and kind in known_types(release)


def _remote_code(snapshot: Snapshot, gathered: Gathered, records: Mapping[str, Record]) -> Found:
    """The snapshot's own code against the transformers that is installed, or that is known of the release stated."""
    maps = [snapshot.table(name).get("auto_map") for name in WITH_AUTO_MAP]
    value = gathered.derived.value("packages.transformers")
    if not any(maps) or not isinstance(value, Exact) or _is_native(gathered, value):
        return (), ()
    from envdoctor.checks.kept import keep, key, recall
    from envdoctor.files.user_cache import cache_directory

    installed = gathered.installed
    releases = {} if installed is None else {one.name: one.version for one in installed.distributions if one.version is not None}
    sites = () if installed is None else installed.site_dirs
    read = sorted(f"{name} {record.sha256}" for name, record in records.items() if name.endswith((".py", ".json")))
    unused = gathered.derived.value(NOT_LOADED)
    models = not isinstance(unused, tuple) or "model" not in unused
    plan = [str(models), *(str(gathered.derived.value(name)) for name in _OF_THE_PLAN)]
    of = key([str(snapshot.directory.path), value.text, repr(sites), repr(sorted(releases.items())), *read, *plan], _COMPARING)
    before = recall(cache_directory(), of)
    if before is not None:
        return before
    from envdoctor.code.examine import entries_of, examine, library_for
    from envdoctor.code.known import rules_for
    from envdoctor.code.library import InstalledLibrary
    from envdoctor.sources.model.snapshot import table_of

    library = library_for(value.text, sites, releases, cache_directory())
    if library is None:
        return (), ()
    known = len(snapshot.directory.skips)
    found = examine(snapshot.directory, entries_of(*maps, models=models), library, table_of(snapshot.config), gathered.derived)
    hits = tuple(replace(hit, unless=rules_for(hit)) for hit in found)
    skips = tuple(snapshot.directory.skips[known:])
    files = {}
    if isinstance(library, InstalledLibrary):
        library.save()
        files = library.files
    keep(cache_directory(), of, hits, skips, files)
    return hits, skips
