"""``envdoctor lock``: write down what a snapshot is."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path

from envdoctor import __version__
from envdoctor.app.gathered import Gathered
from envdoctor.app.situations import gather
from envdoctor.cli.output import emit
from envdoctor.cli.progress import hashing
from envdoctor.cli.requests import read_request
from envdoctor.errors import EnvdoctorError, SeveralErrors
from envdoctor.facts.fact import Fact, Facts, NotUnderstood, Skip
from envdoctor.facts.values import shown
from envdoctor.facts.versions import Absent
from envdoctor.files.text import plain
from envdoctor.hashing.cache import DigestCache
from envdoctor.report.plain import printable
from envdoctor.snapshot.claims import read_claims
from envdoctor.snapshot.digests import digest, size_to_hash
from envdoctor.snapshot.hub import cached_snapshot
from envdoctor.snapshot.inventory import MOST_FILES, Inventory, inventory, moved
from envdoctor.snapshot.lock import Lock, Stated
from envdoctor.snapshot.lock_file import lock_path, refuse_place, write_lock
from envdoctor.snapshot.manifest import outlined, summed
from envdoctor.sources.model.adapter import own_facts
from envdoctor.sources.model.snapshot_facts import snapshot_facts
from envdoctor.world.releases import tracked

# They say where the snapshot lies, not what it is.
PLACES = ("model.path", "model.id", "model.revision")


def run(options: argparse.Namespace) -> int:
    model = find_model(options.model, options.revision)
    place = lock_path(model, None if options.lock is None else Path(options.lock))
    refuse_place(place)
    # Before anything is read: what is written from here on shows when all is done.
    files = inventory(model, without=place)
    if not files.whole:
        raise EnvdoctorError(
            options.model, found=f"more than {MOST_FILES} files", expected="a model", next_step="give the directory of the model itself"
        )
    _refuse(files, {name: files.left_out[name] for name in files.lost})
    gathered = gather(read_request(options, str(model)))
    lock, skips = _read(files, gathered, full=options.full)
    write_lock(lock, place)
    told = [*skips, *gathered.situation.skips]
    emit(options, _json(lock, place, told) if options.format == "json" else _text(lock, place, told, gathered))
    return 0


def find_model(text: str, revision: str | None) -> Path:
    """The directory of a model: as given, or that of a hub id in the local hub cache; the network is not asked.

    Raises:
        EnvdoctorError: neither.
    """
    if not text:
        raise EnvdoctorError(
            "MODEL", found="nothing", expected="a model directory or a hub id", next_step="check the variable it came from"
        )
    path = Path(text)
    # Of os.path, which takes a name that is too long or may not be looked at for one that is not there.
    if os.path.isdir(path):
        return path
    there = os.path.exists(path)
    if not there and text.count("/") <= 1:
        found = cached_snapshot(text, revision)
        if found is not None:
            return found
    raise EnvdoctorError(
        plain(text, 4096),
        found="a file" if there else "no model directory, and no such snapshot in the local hub cache",
        expected="a model directory, or a hub id that was downloaded",
        next_step="check the path; --revision names one of several revisions",
    )


def _read(files: Inventory, gathered: Gathered, *, full: bool) -> tuple[Lock, list[Skip]]:
    """The lock of the files as they are.

    Raises:
        EnvdoctorError: a file that cannot be read, or that changed while it was read.
    """
    with hashing(size_to_hash(files.entries)) as progress:
        digested = digest(files.entries, cache=DigestCache.open(full=full), progress=progress)
    _refuse(files, digested.unread)
    records, outliner = outlined(files, digested.records)
    _refuse(files, moved(files))
    identity = {key: text for key in ("id", "revision") if (text := gathered.facts.text(f"model.{key}")) is not None}
    claims = read_claims(files)
    if claims is not None and claims.commit:
        identity.setdefault("revision", claims.commit)
    read = _read_facts(gathered, files)
    lock = Lock(
        tool=f"envdoctor {__version__}",
        at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        files=records,
        tensors=summed(records, outliner.tensors),
        identity=identity,
        facts={name.removeprefix("model."): value for name, value in stated(gathered.facts, read).items()},
        stack=stated(gathered.facts, (name for name in gathered.facts if name not in read and _matters(name))),
        plan={
            name.removeprefix("plan."): value
            for name, value in stated(gathered.facts, (name for name in gathered.facts if name.startswith("plan."))).items()
        },
        left_out={**files.left_out, **dict.fromkeys(files.dangling, "a link to nothing")},
    )
    return lock, [*files.skips, *(Skip(files.place(name), "a link to nothing") for name in files.dangling), *outliner.skips]


def _refuse(files: Inventory, unread: Mapping[str, str]) -> None:
    """Nothing, where every file was read.

    Raises:
        EnvdoctorError: some were not, for these reasons.
    """
    if unread:
        raise SeveralErrors(
            [
                EnvdoctorError(
                    files.place(name), found=why, expected="a file at rest that can be read", next_step="nothing was written; lock again"
                )
                for name, why in sorted(unread.items())[:20]
            ]
        )


def _read_facts(gathered: Gathered, files: Inventory) -> set[str]:
    """The names of the facts that were read from the snapshot, not stated about it."""
    found: list[Fact] = []
    for snapshot in gathered.snapshots:
        if snapshot.directory.path == files.path:
            found += snapshot_facts(snapshot).facts
    for adapter in gathered.adapters:
        if adapter.directory.path == files.path:
            found += own_facts(adapter)
    return {fact.name for fact in found if fact.name not in PLACES and gathered.facts[fact.name] == fact}


def _matters(name: str) -> bool:
    """Whether the rules can speak of it: a package that they know, the machine, a stated fact of the model."""
    if name.startswith("packages."):
        return name.removeprefix("packages.") in tracked()
    return not name.startswith("plan.") and name not in PLACES


def stated(facts: Facts, names: Iterable[str]) -> dict[str, Stated]:
    """Facts as a facts file states them; what was not understood is left out."""
    return {name: _stated(facts[name]) for name in names if not isinstance(facts[name].value, NotUnderstood)}


def _stated(fact: Fact) -> Stated:
    value = fact.value
    if isinstance(value, Absent):
        return False
    return value if isinstance(value, (bool, int, float, str, tuple)) else shown(value)


def _text(lock: Lock, place: Path, skips: Iterable[Skip], gathered: Gathered) -> str:
    tensors = lock.tensors
    lines = [f"locked {len(lock.files)} files, {_bytes(lock.size)}: {place}"]
    if tensors.count:
        dtypes = ", ".join(f"{count:,} {dtype}" for dtype, count in tensors.elements.items())
        lines.append(f"{tensors.count} tensors, {dtypes} parameters")
    defects = sum(defect.rule.startswith("snapshot-") for defect in gathered.situation.defects)
    if defects:
        lines.append(f"{defects} defect{'s' if defects > 1 else ''} locked with it: envdoctor check {gathered.facts.text('model.path')}")
    lines += [f"not read: {skip.what}: {skip.why}" for skip in skips if skip.what != "weights"]
    return "".join(f"{printable(line)}\n" for line in lines)


def _bytes(size: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"


def _json(lock: Lock, place: Path, skips: Iterable[Skip]) -> str:
    body: Mapping[str, object] = {
        "schema_version": 1,
        "lock": str(place),
        "files": len(lock.files),
        "bytes": lock.size,
        "tensors": lock.tensors.count,
        "elements": dict(lock.tensors.elements),
        "skipped": [{"what": skip.what, "why": skip.why} for skip in skips if skip.what != "weights"],
    }
    return json.dumps(body, indent=2) + "\n"
