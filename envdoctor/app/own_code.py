"""The user's own scripts, notebooks and the modules beside them, against the releases of the situation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.app.gathered import Gathered
from envdoctor.app.snapshots import WITH_AUTO_MAP
from envdoctor.atlas.shelf import files_of
from envdoctor.checks.hit import Hit
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.records import replace

if TYPE_CHECKING:
    from envdoctor.app.installed_code import Opener
    from envdoctor.atlas.outline import Outline
    from envdoctor.atlas.stack import Stack
    from envdoctor.sources.scripts.source import Source

_HERE = os.path.dirname(os.path.dirname(__file__))
_READING = tuple(os.path.join(_HERE, room) for room in ("app", "syntax", os.path.join("sources", "scripts")))
_MOST_FILES = 1000
_MOST_REMOTE = 100


def examine_own_code(gathered: Gathered) -> Gathered:
    """The situation with what its scripts take from the stated releases and do not find there."""
    scripts = [Path(target.text) for target in gathered.targets if target.kind == "script"]
    remote = list(_remote_files(gathered))
    if not scripts and not remote:
        return gathered
    from envdoctor.checks.atlas import hits_of, stack_of

    stack = stack_of(gathered.derived)
    if not stack.releases:
        return gathered
    from envdoctor.app.installed_code import Opener
    from envdoctor.atlas.own_code import imports_of
    from envdoctor.checks.own_code import code_hits

    opened = Opener(stack, gathered.installed)
    hits: list[Hit] = []
    entries: dict[tuple[str, str], None] = {}
    for source in open_sources(scripts):
        outline = read_own(source)
        hits += code_hits(outline, stack, source.origin, opened)
        entries.update(dict.fromkeys(imports_of(outline, stack)))
    if entries:
        # What the imports of these lead to, beyond what the import of each package does by itself.
        known = {(hit.rule, hit.packages) for hit in hits_of(stack, ())}
        hits += [hit for hit in hits_of(stack, tuple(entries)) if (hit.rule, hit.packages) not in known]
    skips: tuple[Skip, ...] = ()
    if remote:
        found, skips = _remote_hits(remote, stack, opened)
        hits += found
    opened.save()
    situation = replace(gathered.situation, skips=tuple(dict.fromkeys((*gathered.situation.skips, *opened.unread(), *skips))))
    return replace(gathered, hits=(*gathered.hits, *hits), notes=(*gathered.notes, *opened.told()), situation=situation)


def _remote_hits(files: list[Path], stack: Stack, opened: Opener) -> tuple[tuple[Hit, ...], tuple[Skip, ...]]:
    """What the code of models takes of a stack and does not find, kept while the files, the stack and what was looked at stay the same."""
    from envdoctor.checks.atlas import DECIDING
    from envdoctor.checks.kept import keep, key, recall
    from envdoctor.checks.own_code import code_hits
    from envdoctor.files.kept import state_of
    from envdoctor.files.user_cache import cache_directory

    releases = [f"{name} {release}" for name, release in sorted(stack.releases.items())]
    told = [repr((stack.closed, stack.python, stack.system, sorted(stack.scanned)))]
    of = key(["remote", *map(str, files), *releases, *told], (*DECIDING, *_READING, *files_of(sorted(stack.releases))))
    before = recall(cache_directory(), of)
    if before is not None:
        return before
    hits: list[Hit] = []
    for source in open_sources(files, alone=True):
        # What a model's code takes of transformers is compared with its source elsewhere, overrides and calls with it.
        hits += [hit for hit in code_hits(read_own(source), stack, source.origin, opened) if hit.packages != ("transformers",)]
    skips = opened.unread()
    # What is read from its source is told each time.
    if not opened.told():
        states = {str(file): state_of(str(file)) for file in (*files, *opened.looked_at())}
        keep(cache_directory(), of, hits, skips, {file: state for file, state in states.items() if state is not None})
    return tuple(hits), skips


def read_own(source: Source) -> Outline:
    """What a file takes of others; modules of the project that go by the name of a package are the project's."""
    import ast

    from envdoctor.app.project_code import own_tops
    from envdoctor.atlas.reading import read_tree

    outline = read_tree(ast.Module(source.body, []), source.text, "__main__")
    tops = {one.name: one.name.partition(".")[0].partition(":")[0] for one in outline.taken}
    own = own_tops(Path(source.path), list(dict.fromkeys(tops.values())))
    if own:
        outline.taken = [one for one in outline.taken if tops[one.name] not in own]
    return outline


def _remote_files(gathered: Gathered) -> Iterator[Path]:
    """The Python of the snapshots that bring code of their own, and of the adapters."""
    for snapshot in gathered.snapshots:
        if any(snapshot.table(name).get("auto_map") for name in WITH_AUTO_MAP):
            yield from sorted(snapshot.directory.path.glob("*.py"))[:_MOST_REMOTE]
    for adapter in gathered.adapters:
        yield from sorted(adapter.directory.path.glob("*.py"))[:_MOST_REMOTE]


def open_sources(scripts: list[Path], *, alone: bool = False) -> Iterator[Source]:
    """The scripts, and unless ``alone`` the modules of the same project that they import."""
    from envdoctor.app.project_code import own_imports
    from envdoctor.sources.scripts.script import open_source

    waiting = list(scripts)
    seen: set[Path] = set()
    while waiting and len(seen) < _MOST_FILES:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        try:
            source = open_source(path)
        except EnvdoctorError:
            # What a target is told of is said where it is read; a module beside it that is no Python is imported by nobody.
            continue
        if isinstance(source, Skip):
            continue
        yield source
        waiting += [] if alone else [beside for beside in own_imports(path, source.body) if beside not in seen]
