"""The renames that are certain, in the scripts of a situation and the modules beside them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from envdoctor.app.gathered import Gathered
from envdoctor.app.installed_code import Opener
from envdoctor.app.own_code import open_sources, read_own
from envdoctor.atlas.own_code import faults_of
from envdoctor.atlas.renames import Rename, certain_renames, clears
from envdoctor.checks.atlas import stack_of
from envdoctor.checks.hit import Hit
from envdoctor.checks.own_code import CODE_BREAKS, edge_of
from envdoctor.edits.code import edit_code
from envdoctor.edits.edit import Edited
from envdoctor.edits.notebook import edit_notebook
from envdoctor.engine.diagnosis import Finding, is_about_names
from envdoctor.records import replace

Renamed = tuple[Edited, tuple[Rename, ...], frozenset[str]]
"""An edit of a script with the renames that it makes, and the keywords of its faults that stay."""


def rename_own_code(gathered: Gathered) -> Gathered:
    """The situation with the edits that clear what its own code takes in vain, and without the findings that they clear.

    Of a call of which one keyword is renamed and another one is left, what is left stays to be told.
    """
    scripts = [Path(target.text) for target in gathered.targets if target.kind == "script"]
    stack = stack_of(gathered.derived)
    if not scripts or not stack.releases:
        return gathered
    opened = Opener(stack, gathered.installed)
    edits: list[Renamed] = []
    cleared: dict[tuple[str | None, str], frozenset[str]] = {}
    for source in open_sources(scripts):
        path = Path(source.path)
        edit = {".py": edit_code, ".ipynb": edit_notebook}.get(path.suffix.lower())
        if edit is None:
            continue
        faults = list(faults_of(read_own(source), stack, opened))
        wished = {fault: certain_renames(fault) for fault in faults}
        told = edit(path, [one for some in wished.values() for one in some]) if any(wished.values()) else None
        if told is not None and told[1]:
            done = set(told[1])
            edits.append((*told, frozenset(name for fault in faults for name in fault.keywords) - {one.old for one in done}))
            for fault, some in wished.items():
                if some and done.issuperset(some):
                    left = () if clears(fault, some) else fault.keywords
                    cleared[source.origin(fault.line).file, edge_of(fault)] = frozenset(left) - {one.old for one in some}
    hits = [one for hit in gathered.hits for one in _left_of(hit, cleared.get((hit.file, hit.edge)))]
    return replace(gathered, hits=tuple(hits), renamed=tuple(edits))


def _left_of(hit: Hit, left: Collection[str] | None) -> Sequence[Hit]:
    """A hit as far as no edit clears it: ``left`` are the keywords that stay; None where nothing was edited."""
    if hit.rule != CODE_BREAKS or left is None:
        return (hit,)
    return [part for part in hit.parts if not frozenset(part.names).isdisjoint(left)]


def is_renamed(finding: Finding, edits: Sequence[Renamed]) -> bool:
    """Whether a rule's finding is about names that an edit of the file renames, and about none that it leaves."""
    files = {reason.file for reason in finding.because if reason.fact.startswith("plan.")}
    return any(
        str(edited.path) in files
        and any(is_about_names((one.name or one.old,), finding) for one in done)
        and not any(is_about_names((one,), finding) for one in left)
        for edited, done, left in edits
    )
