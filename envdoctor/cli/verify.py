"""``envdoctor verify``: which files changed, and what that means."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from envdoctor import __version__
from envdoctor.app.coverage import measure_coverage
from envdoctor.app.touched import Touched, facts_of, find_touched
from envdoctor.cli.lock import PLACES, find_model
from envdoctor.cli.output import as_text, emit, write
from envdoctor.cli.progress import hashing, waiting
from envdoctor.engine.diagnosis import diagnose
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Defect, Fact, Facts, Skip
from envdoctor.files.text import plain
from envdoctor.hashing.cache import DigestCache
from envdoctor.records import replace
from envdoctor.remedies.cures import cures
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.plain import printable
from envdoctor.rules.rulebook import Rulebook, load_rulebook
from envdoctor.snapshot.claims import Claims, read_claims
from envdoctor.snapshot.compare import Change
from envdoctor.snapshot.diffs import Difference, differences
from envdoctor.snapshot.digests import digest, size_to_hash
from envdoctor.snapshot.download import download_defects
from envdoctor.snapshot.inventory import Inventory, inventory
from envdoctor.snapshot.lock import Lock
from envdoctor.snapshot.lock_file import lock_path, read_lock
from envdoctor.snapshot.meaning import summary
from envdoctor.snapshot.verification import Expectation, expect_claims, expect_directory, expect_hub, expect_lock, verify
from envdoctor.world.releases import as_of, release_texts


def run(options: argparse.Namespace) -> int:
    model = find_model(options.model, options.revision)
    place = lock_path(model, None if options.lock is None else Path(options.lock))
    files = inventory(model, without=place)
    claims = read_claims(files)
    lock, lockless = _lock(options, place)
    cache = DigestCache.open(full=options.full)
    expectation = _expectation(options, files, lock, claims, cache)
    with hashing(size_to_hash(files.entries)) as progress:
        verified = verify(files, expectation, cache=cache, progress=progress)
    book = load_rulebook(Path(directory) for directory in options.rule_directories)
    model_now = _model_facts(model) if verified.changes else Collected()
    told = _touched(expectation, lock, model_now, book)
    defects = list(_with_facts(verified.defects, told, model_now.facts))
    if expectation.kind in ("cache", "download"):
        # A wrong size is a wrong content, which is told already.
        defects += [defect for defect in download_defects(files, claims) if defect.rule != "snapshot-blob-corrupt"]
    diffs: list[Difference] = []
    undiffed: list[Skip] = []
    if options.diff:
        diffs, undiffed = differences(verified.changes, files, expectation)
    skips = (*lockless, *verified.skips, *model_now.skips, *undiffed)
    story = summary(verified.changes, len(expectation.files) - verified.absent, expectation.label)
    files_told = (story, *_recognised(verified.changes))
    report = _report(options, book, model_now.facts, defects, skips, f"{options.model} against {expectation.label}", files_told)
    _write(options, report, diffs)
    return report.exit_code()


def _lock(options: argparse.Namespace, place: Path) -> tuple[Lock | None, list[Skip]]:
    """The lock, where there is one; compared with something else, a snapshot needs none that can be read.

    Raises:
        EnvdoctorError: the lock that is asked for cannot be read.
    """
    if options.lock is None and not os.path.lexists(place):
        return None, []
    try:
        return read_lock(place), []
    except EnvdoctorError as error:
        if options.lock is not None or options.against is None:
            raise
        return None, [Skip(error.place, f"no lock: found {error.found}")]


def _expectation(
    options: argparse.Namespace, files: Inventory, lock: Lock | None, claims: Claims | None, cache: DigestCache
) -> Expectation:
    """What to compare with.

    Raises:
        EnvdoctorError: nothing is at hand, or what is asked for cannot be had.
    """
    if options.against == "hub":
        return _hub(options, lock, claims)
    if options.against == "":
        raise EnvdoctorError("--against", found="nothing", expected="hub or a directory", next_step="check the variable it came from")
    if options.against is not None:
        other = inventory(Path(options.against))
        with hashing(size_to_hash(other.entries)) as progress:
            return expect_directory(other, digest(other.entries, cache=cache, progress=progress))
    if lock is not None:
        name = plain(os.path.relpath(lock_path(files.path, None if options.lock is None else Path(options.lock))), 4096)
        return expect_lock(lock, f"{name} of {plain(lock.at[:10])}" if lock.at else name)
    if claims is not None and (claims.files or claims.listed or claims.interrupted):
        return expect_claims(claims)
    raise EnvdoctorError(
        plain(options.model, 4096),
        found="no envdoctor.lock, and nothing that a download wrote down",
        expected="a lock, a snapshot in a hub cache, or --against hub or DIR",
        next_step=f"envdoctor lock {plain(options.model, 4096)}, while the files are known to be good",
    )


def _hub(options: argparse.Namespace, lock: Lock | None, claims: Claims | None) -> Expectation:
    if options.offline:
        raise EnvdoctorError(
            "--against hub", found="--offline", expected="a run that may use the network", next_step="leave one of the two out"
        )
    from envdoctor.snapshot.hub import hub_listing

    kept = {} if lock is None else lock.identity
    repository = options.repo or (None if claims is None else claims.repository) or kept.get("id")
    revision = options.revision or (None if claims is None else claims.commit) or kept.get("revision")
    if repository is None:
        raise EnvdoctorError(
            "--against hub",
            found="a directory that says nothing of its repository",
            expected="the id of one",
            next_step="--repo ORGANISATION/NAME",
        )
    with waiting(f"asking the hub about {plain(repository)}"):
        return expect_hub(hub_listing(repository, revision, endpoint=os.environ.get("HF_ENDPOINT") or None))


def _recognised(changes: Sequence[Change]) -> list[str]:
    """Which public revisions the changed files were of, and are of now, as far as they are known by their content."""
    from envdoctor.snapshot.revisions import FileDigest, describe, recognise

    told = []
    changed = [(change.name, change.before, change.after) for change in changes if change.kind == "changed"]
    for when, files in (
        ("before", {name: before for name, before, _ in changed if before is not None}),
        ("now", {name: after for name, _, after in changed if after is not None}),
    ):
        digests = {name: FileDigest(record.size, record.sha256, record.git_blob) for name, record in files.items()}
        told += [f"{when}: {sentence}" for sentence in describe(recognise(digests))]
    return told


def _model_facts(model: Path) -> Collected:
    """The facts of the model as it is now; one that is no model any more has none, and that is said."""
    from envdoctor.sources.model.snapshot_facts import collect_snapshot

    try:
        found = collect_snapshot(model)
    except EnvdoctorError as error:
        return Collected(skips=(Skip(error.place, f"no facts of the model: found {error.found}"),))
    # The data of the weights was hashed, whatever the facts were read from.
    return Collected(found.facts, (), tuple(skip for skip in found.skips if skip.what != "weights"))


def _touched(expectation: Expectation, lock: Lock | None, now: Collected, book: Rulebook) -> tuple[Touched, ...]:
    """What the change does to the facts of the model, and to the rules: told where the facts of before are known."""
    kept: list[Fact] = []
    if lock is not None:
        kept = [*facts_of(lock.stack, "", "the lock"), *facts_of(lock.plan, "plan.", "the lock")]
    if expectation.kind == "lock" and lock is not None:
        before = facts_of(lock.facts, "model.", "the lock")
    elif expectation.directory is not None and now.facts:
        before = list(_model_facts(expectation.directory.path).facts)
    else:
        before = []
    after = [fact for fact in now.facts if fact.name not in PLACES]
    return find_touched([fact for fact in before if fact.name not in PLACES], after, kept, book.rules) if before and after else ()


def _with_facts(defects: Sequence[Defect], told: Sequence[Touched], facts: Sequence[Fact]) -> tuple[Defect, ...]:
    """The findings, each with the facts of the model that its file decides."""
    files = {fact.name: fact.origin.file for fact in facts}
    found = list(defects)
    for one in told:
        at = next((i for i, defect in enumerate(found) if defect.file is not None and defect.file == files.get(one.name)), 0)
        if found:
            found[at] = replace(found[at], detail="\n".join([found[at].detail, *one.lines()]))
    return tuple(found)


def _report(
    options: argparse.Namespace,
    book: Rulebook,
    model: Sequence[Fact],
    defects: Sequence[Defect],
    skips: Sequence[Skip],
    patient: str,
    files: tuple[str, ...],
) -> Report:
    """The same object as that of `check`; no rule with a condition is matched: coherence belongs to `check`."""
    facts = Facts().with_facts(model)
    pages = (book.whole(name) for name in dict.fromkeys(defect.rule for defect in defects))
    diagnosis = diagnose(facts, pages, release_texts, defects=defects)
    return Report(
        version=__version__,
        rules=len(book.tables),
        rules_digest=book.digest,
        releases_as_of=as_of(),
        patient=patient,
        facts=facts,
        findings=tuple(Diagnosed(finding, cures(finding, facts, release_texts)) for finding in diagnosis.findings),
        remedy=Remedy({}, (), ()),
        unknown=(),
        skipped=tuple(dict.fromkeys(skips)),
        coverage=measure_coverage(facts),
        probes=(),
        hints=(),
        fail_on=options.fail_on,
        strict=options.strict,
        recognised=files,
    )


def _write(options: argparse.Namespace, report: Report, diffs: Sequence[Difference]) -> None:
    if not options.diff or options.format not in ("text", "json"):
        write(options, report)
    elif options.format == "json":
        from envdoctor.report.json import as_object

        listed = [{"file": one.file, "diff": one.diff, "written": False} for one in diffs]
        emit(options, json.dumps({**as_object(report), "diffs": listed}, indent=2, default=str) + "\n")
    else:
        emit(options, "\n".join([as_text(options, report), *(printable(one.diff, keep_newlines=True) for one in diffs)]))
