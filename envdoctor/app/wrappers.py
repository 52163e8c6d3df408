"""Who puts other classes in the place of trl's: a script is read with the modules of its project that import such a package.

unsloth's trainers take the arguments of any release (`unsloth/trainer.py`, `unsloth/models/rl.py`), so that what trl's own refuse is no
fault where it is loaded; and many a project loads it in a module beside the script that trains.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.facts.fact import Facts, Origin
from envdoctor.facts.uses import CODE_USES, WRAPPERS
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.records import replace

if TYPE_CHECKING:
    from envdoctor.app.project_code import Project
    from envdoctor.sources.targets import Target

_WRAPPED = "trl."
_MOST_BYTES = 2**20
# At the top of the module: who took trl's names before a function imports the wrapper keeps the old ones.
_IMPORTED = re.compile(rb"(?m)^(?:from|import)[ \t]+(" + b"|".join(map(str.encode, WRAPPERS)) + rb")\b")


def say_what_is_wrapped(facts: Facts, targets: Sequence[Target]) -> Facts:
    """The facts with the wrapper that a script's own modules import, where the script uses what it wraps and does not import it."""
    fact = facts.by_name.get(CODE_USES)
    if fact is None or not isinstance(fact.value, tuple) or not fact.places or not any(_WRAPPED in str(use) for use in fact.value):
        return facts
    rows = dict(zip(map(str, fact.value), fact.places, strict=True))
    if any(use.partition(".")[0] in WRAPPERS for use in rows):
        return facts
    for target in targets:
        for name in _beside(Path(target.text)) if target.kind == "script" else ():
            rows.setdefault(name, Origin(target.text, target.text))
    if len(rows) == len(fact.value):
        return facts
    uses = tuple(sorted(rows))
    return facts.with_facts([replace(fact, value=uses, places=tuple(rows[use] for use in uses))])


def _beside(path: Path) -> Iterator[str]:
    from envdoctor.app.project_code import Project
    from envdoctor.errors import EnvdoctorError
    from envdoctor.facts.fact import Skip
    from envdoctor.sources.scripts.script import open_source
    from envdoctor.sources.scripts.trees import taker

    told = taker()
    try:
        source = (told and told.source(path)) or open_source(path)
    except EnvdoctorError:  # what is wrong with it is said where it is read
        return
    if not isinstance(source, Skip):
        yield from wrappers_beside(path, source.body, Project())


def wrappers_beside(path: Path, body: Sequence[ast.stmt], project: Project) -> Iterator[str]:
    """The wrappers that the project's own modules import which a file imports."""
    for beside in project.own_imports(path, body):
        project.seen.content(str(beside))
        try:
            found = _IMPORTED.search(read_bounded(beside, _MOST_BYTES))
        except UnreadableError:
            continue
        if found is not None:
            yield found[1].decode()
