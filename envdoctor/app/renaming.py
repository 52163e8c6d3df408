"""The renames that are certain, in the scripts of a situation and the modules beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from envdoctor.app.gathered import Gathered
from envdoctor.app.installed_code import Opener
from envdoctor.app.own_code import open_sources, read_own
from envdoctor.atlas.own_code import faults_of
from envdoctor.atlas.renames import Rename, certain_renames
from envdoctor.checks.atlas import stack_of
from envdoctor.checks.own_code import CODE_BREAKS, edge_of
from envdoctor.edits.code import edit_code
from envdoctor.edits.edit import Edited
from envdoctor.edits.notebook import edit_notebook
from envdoctor.engine.diagnosis import Finding, is_about_names
from envdoctor.records import replace


def rename_own_code(gathered: Gathered) -> Gathered:
    """The situation with the edits that clear what its own code takes in vain, and without the findings that they clear."""
    scripts = [Path(target.text) for target in gathered.targets if target.kind == "script"]
    stack = stack_of(gathered.derived)
    if not scripts or not stack.releases:
        return gathered
    opened = Opener(stack, gathered.installed)
    edits: list[tuple[Edited, tuple[Rename, ...]]] = []
    cleared: set[tuple[str | None, str]] = set()
    for source in open_sources(scripts):
        path = Path(source.path)
        edit = {".py": edit_code, ".ipynb": edit_notebook}.get(path.suffix.lower())
        if edit is None:
            continue
        faults = list(faults_of(read_own(source), stack, opened))
        wished = {fault: certain_renames(fault) for fault in faults}
        told = edit(path, [one for some in wished.values() for one in some]) if any(wished.values()) else None
        if told is not None and told[1]:
            edits.append(told)
            done = set(told[1])
            cleared |= {
                (source.origin(fault.line).file, edge_of(fault)) for fault, some in wished.items() if some and done.issuperset(some)
            }
    hits = tuple(hit for hit in gathered.hits if hit.rule != CODE_BREAKS or (hit.file, hit.edge) not in cleared)
    return replace(gathered, hits=hits, renamed=tuple(edits))


def is_renamed(finding: Finding, edits: Sequence[tuple[Edited, tuple[Rename, ...]]]) -> bool:
    """Whether a rule's finding is about a name that an edit of the file renames."""
    files = {reason.file for reason in finding.because if reason.fact.startswith("plan.")}
    return any(str(edited.path) in files and is_about_names((one.name or one.old,), finding) for edited, done in edits for one in done)
