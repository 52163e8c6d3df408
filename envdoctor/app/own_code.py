"""The user's own scripts, notebooks and the modules beside them, against the releases of the situation."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from envdoctor.app.gathered import Gathered
from envdoctor.app.installed_code import Opener
from envdoctor.app.snapshots import WITH_AUTO_MAP
from envdoctor.atlas.shelf import files_of
from envdoctor.checks.atlas import DECIDING, stack_of
from envdoctor.checks.hit import Hit
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.records import replace

if TYPE_CHECKING:
    import ast

    from envdoctor.app.project_code import Project
    from envdoctor.atlas.outline import Outline
    from envdoctor.atlas.own_code import Known
    from envdoctor.atlas.stack import Stack
    from envdoctor.sources.scripts.source import Source

Found: TypeAlias = "tuple[tuple[Hit, ...], tuple[Skip, ...], tuple[str, ...]]"
Examine: TypeAlias = "Callable[[list[Path], Stack, Opener], Sequence[Hit]]"

_HERE = os.path.dirname(os.path.dirname(__file__))
_READING = tuple(os.path.join(_HERE, *room) for room in (("app",), ("facts",), ("files",), ("syntax",), ("sources", "scripts")))
# One of these stands in every file that compares a release.
_OF_RELEASES = ("__version__", "version_info", "get_distribution", "metadata", "check_min_version", "require_version")
_MOST_FILES = 1000
_MOST_REMOTE = 100


class Outlines:
    """What scripts take, told while their trees are at hand for those who read the plan out of them; no tree is kept."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[Source, Outline]] = {}

    def take(self, source: Source) -> None:
        """Read a script that was parsed; of its tree the imports stay."""
        outline = _outline(source)
        self._told[source.path] = replace(source, body=_imports(source.body)), outline

    def give(self, path: str) -> list[Any] | None:
        """What was read of a script, for another process; None of one that was not parsed."""
        from envdoctor.atlas.outline import pack

        found = self._told.pop(path, None)
        return None if found is None else [found[0].places(), _rows(found[0].body), pack(found[1])]

    def put(self, path: str, given: list[Any]) -> None:
        """Take what another process has read."""
        from envdoctor.atlas.outline import unpack
        from envdoctor.sources.scripts.source import Source

        places, imports, outline = given
        self._told[path] = Source.at(path, _from_rows(imports), places), unpack(outline)

    def source(self, path: Path) -> Source | None:
        """A script that was read, with its imports alone."""
        found = self._told.get(str(path))
        return None if found is None else found[0]

    def outline(self, source: Source) -> Outline:
        """What a script takes."""
        found = self._told.get(source.path)
        return _outline(source) if found is None else found[1]


def examine_own_code(gathered: Gathered, outlines: Outlines | None = None) -> Gathered:
    """The situation with what its scripts, and the code of its models, take from the stated releases and do not find there.

    ``outlines`` has what was read of its scripts already.
    """
    scripts = [Path(target.text) for target in gathered.targets if target.kind == "script"]
    remote = list(_remote_files(gathered))
    if not scripts and not remote:
        return gathered
    stack = stack_of(gathered.derived)
    if not stack.releases and not stack.python:
        return gathered
    examine_scripts = partial(_examine_scripts, outlines or Outlines())
    examine_remote = partial(_examine_remote, frozenset(_adapter_files(gathered)))
    for files, examine, label in ((scripts, examine_scripts, "own"), (remote, examine_remote, "remote")):
        if files:
            hits, skips, notes = _kept(files, examine, label, stack, Opener(stack, gathered.installed))
            situation = replace(gathered.situation, skips=tuple(dict.fromkeys((*gathered.situation.skips, *skips))))
            notes = tuple(dict.fromkeys((*gathered.notes, *notes)))
            gathered = replace(gathered, hits=(*gathered.hits, *hits), notes=notes, situation=situation)
    return gathered


def _kept(files: list[Path], examine: Examine, label: str, stack: Stack, opened: Opener) -> Found:
    """What files take of a stack and do not find, kept while they, the stack, what decides and what was looked at stay the same."""
    from envdoctor.checks.kept import keep, key, recall_told
    from envdoctor.files.user_cache import cache_directory
    from envdoctor.world import tables

    releases = [f"{name} {release}" for name, release in sorted(stack.releases.items())]
    told = [repr((stack.closed, stack.python, stack.system, sorted(stack.scanned), sorted(stack.idle))), *opened.identity()]
    named = [label, *map(str, files)]
    made_by = (*DECIDING, *_READING, *tables.files_of("dependencies"), *files_of(sorted(stack.releases)))
    of = key([*named, *releases, *told], made_by)
    before = recall_told(cache_directory(), of)
    if before is not None:
        return before
    found = tuple(examine(files, stack, opened)), opened.unread(), opened.told()
    opened.save()
    keep(cache_directory(), of, found[0], found[1], opened.seen, found[2])
    return found


def _examine_scripts(outlines: Outlines, files: list[Path], stack: Stack, opened: Opener) -> Sequence[Hit]:
    from envdoctor.app.project_code import Project
    from envdoctor.app.wrappers import wrappers_beside
    from envdoctor.atlas.own_code import calls_of, imports_of
    from envdoctor.checks.atlas import hits_of
    from envdoctor.checks.own_code import code_hits
    from envdoctor.checks.own_demands import demand_hits
    from envdoctor.checks.own_python import python_hits
    from envdoctor.checks.run_by_plans import made_by_script

    hits: list[Hit] = []
    entries: dict[tuple[str, str], None] = {}
    project = Project(opened.seen)
    known: Known = {}
    for source in open_sources(files, project, outlines):
        outline = read_own(source, project, outlines)
        wrapped = any(wrappers_beside(Path(source.path), source.body, project))
        hits += code_hits(outline, stack, source.origin, opened, known, wrapped=wrapped)
        hits += made_by_script(calls_of(outline, stack, wrapped=wrapped), stack, source.origin)
        hits += python_hits(outline, stack, source.origin)
        hits += demand_hits(outline, stack, source.origin)
        entries.update(dict.fromkeys(imports_of(outline, stack)))
    if entries:
        # What the imports of these lead to, beyond what the import of each package does by itself.
        without = {(hit.rule, hit.packages) for hit in hits_of(stack, ())}
        hits += [hit for hit in hits_of(stack, tuple(entries)) if (hit.rule, hit.packages) not in without]
        # What the import of a package does by itself is told of the stack; that this script comes to it, here.
        reached = hits_of(replace(stack, idle=frozenset(stack.releases)), tuple(entries))
        hits += [replace(hit, outcome=False) for hit in reached if (hit.rule, hit.packages) in without]
    return hits


def _examine_remote(of_adapters: frozenset[Path], files: list[Path], stack: Stack, opened: Opener) -> Sequence[Hit]:
    from envdoctor.app.project_code import Project
    from envdoctor.checks.own_code import code_hits

    hits: list[Hit] = []
    project = Project(opened.seen)
    for source in open_sources(files, project, alone=True):
        # What a model's code takes of transformers is compared with its source elsewhere, overrides and calls with it; an adapter's is not.
        found = code_hits(read_own(source, project), stack, source.origin, opened)
        hits += [hit for hit in found if hit.packages != ("transformers",) or Path(source.path) in of_adapters]
    return hits


def read_own(source: Source, project: Project | None = None, outlines: Outlines | None = None) -> Outline:
    """What a file takes of others; modules of the project that go by the name of a package are the project's."""
    from envdoctor.app.project_code import Project

    outline = (outlines or Outlines()).outline(source)
    names = {one.name: one.name.partition(":")[0] for one in outline.taken}
    own = (project or Project()).own_tops(Path(source.path), list(dict.fromkeys(names.values())))
    if not own:
        return outline
    left = [one for one in outline.taken if names[one.name].partition(".")[0] not in own]
    return replace(outline, taken=left, said=[one for one in outline.said if one.text.partition(".")[0] not in own])


def _outline(source: Source) -> Outline:
    import ast

    from envdoctor.app.own_classes import with_own_classes
    from envdoctor.app.project_code import Project
    from envdoctor.atlas.instances import in_one_step
    from envdoctor.atlas.own_demands import demands_of
    from envdoctor.atlas.reading import read_tree
    from envdoctor.sources.scripts.script import functions_not_called

    body = with_own_classes(Path(source.path), source.body, source.text, Project())
    hides = in_one_step(body, source.text)
    outline = read_tree(ast.Module([*_by_star(source), *body], []), source.text, "__main__", hides=hides)
    # What it says is asked of packages alone; what it demands of them is asked of it.
    outline = replace(outline, said=demands_of(source.body) if any(word in source.text for word in _OF_RELEASES) else [])
    idle = functions_not_called(source)
    if not idle:
        return outline
    left = [one for one in outline.taken if one.where.partition(".")[0] not in idle]
    return replace(outline, taken=left, said=[one for one in outline.said if one.where.partition(".")[0] not in idle])


def _by_star(source: Source) -> list[ast.stmt]:
    """The imports of other files of the project that a star takes along."""
    import ast

    if not any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in source.body):
        return []
    from envdoctor.app.project_code import Project
    from envdoctor.app.star_imports import modules_by_star

    return list(modules_by_star(Path(source.path), source.body, Project()))


def _imports(body: list[ast.stmt]) -> list[ast.stmt]:
    import ast

    from envdoctor.syntax.walking import statements

    return [one for one in statements(body) if isinstance(one, ast.Import | ast.ImportFrom)]


def _rows(body: list[ast.stmt]) -> list[tuple[str, int, list[str]]]:
    """Imports as JSON holds them: where from, how far up, and the names."""
    import ast

    return [
        (getattr(one, "module", None) or "", getattr(one, "level", None) or 0 if isinstance(one, ast.ImportFrom) else -1,
         [alias.name for alias in one.names])
        for one in body
        if isinstance(one, ast.Import | ast.ImportFrom)
    ]  # fmt: skip


def _from_rows(rows: list[tuple[str, int, list[str]]]) -> list[ast.stmt]:
    import ast

    names = [[ast.alias(name) for name in listed] for _, _, listed in rows]
    return [
        ast.Import(some) if level < 0 else ast.ImportFrom(module or None, some, level)
        for (module, level, _), some in zip(rows, names, strict=True)
    ]


def _remote_files(gathered: Gathered) -> Iterator[Path]:
    """The Python of the snapshots that bring code of their own, and of the adapters."""
    for snapshot in gathered.snapshots:
        if any(snapshot.table(name).get("auto_map") for name in WITH_AUTO_MAP):
            yield from sorted(snapshot.directory.path.glob("*.py"))[:_MOST_REMOTE]
    yield from _adapter_files(gathered)


def _adapter_files(gathered: Gathered) -> Iterator[Path]:
    """The Python that lies beside adapters."""
    for adapter in gathered.adapters:
        yield from sorted(adapter.directory.path.glob("*.py"))[:_MOST_REMOTE]


def open_sources(
    scripts: list[Path], project: Project | None = None, outlines: Outlines | None = None, *, alone: bool = False
) -> Iterator[Source]:
    """The scripts, and unless ``alone`` the modules of the same project that they import; of ``outlines`` the imports alone."""
    from envdoctor.app.project_code import Project
    from envdoctor.sources.scripts.script import open_source

    project = project or Project()
    outlines = outlines or Outlines()
    waiting = deque(scripts)
    seen: set[Path] = set()
    while waiting and len(seen) < _MOST_FILES:
        path = waiting.popleft()
        if path in seen:
            continue
        seen.add(path)
        project.seen.content(str(path))
        try:
            source = outlines.source(path) or open_source(path)
        except EnvdoctorError:
            # What a target is told of is said where it is read; a module beside it that is no Python is imported by nobody.
            continue
        if isinstance(source, Skip):
            continue
        yield source
        waiting += [] if alone else [beside for beside in project.own_imports(path, source.body) if beside not in seen]
