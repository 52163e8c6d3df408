"""How a setting of a cure is written where it belongs: in the plan file at hand, or in the script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from envdoctor.edits.edit import Set, as_setting
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import CODE_USES
from envdoctor.records import replace
from envdoctor.remedies.cures import Cure
from envdoctor.report.settings_in_code import in_code
from envdoctor.sources.targets import Target

_LOADING = ("plan.attn", "plan.load_dtype", "plan.quant", "plan.trust_remote_code")
_TRAINERS = ("transformers", "trl")
# A framework that runs plans calls from_pretrained itself: nobody can write anything there.
_LOADED_BY_SCRIPTS = (*_TRAINERS, "accelerate", "own", None)


def write_settings(cures: tuple[Cure, ...], targets: Sequence[Target], facts: Facts) -> tuple[Cure, ...]:
    """The cures, each that sets something of a plan with the words in which the file at hand says it, where there are some."""
    if not any(cure.plan for cure in cures):
        return cures
    plans = [Path(target.text) for target in targets if target.kind == "plan"]
    of_script = CODE_USES in facts
    if not plans and not of_script:
        return cures
    return tuple(replace(cure, written=_written(cure, plans, facts, of_script=of_script)) if cure.plan else cure for cure in cures)


def _written(cure: Cure, plans: Sequence[Path], facts: Facts, *, of_script: bool) -> str:
    of_plan = next(filter(None, (_in_plan(cure, path) for path in plans)), "")
    return of_plan or (_in_script(cure, facts) if of_script else "")


def _in_plan(cure: Cure, path: Path) -> str:
    """The lines that a plan file gets; nothing where its tool has no setting for one of the facts."""
    from envdoctor.edits.plan import edit_plan

    try:
        edits = edit_plan(path, [Set(name, as_setting(value)) for name, value in cure.plan.items()])
    except EnvdoctorError:
        return ""
    if len(edits) != 1 or edits[0].refused or edits[0].path != path or edits[0].after == edits[0].before:
        return ""
    lines = list(_new_lines(edits[0].before, edits[0].after))
    return f"{', '.join(lines)} in {path}" if lines else ""


def _new_lines(before: bytes, after: bytes) -> Iterator[str]:
    """The lines of a text that are not those of another, a group of one key on one line."""
    from difflib import SequenceMatcher

    old, new = (data.decode("utf-8", "replace").splitlines() for data in (before, after))
    groups = [new[start:end] for what, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if what != "equal"]
    lines = [line.rstrip().rstrip(",") for group in groups for line in group if line.strip()]
    while lines:
        line, inner = lines.pop(0), []
        while line.endswith(":") and lines and _depth(lines[0]) > _depth(line):
            inner.append(lines.pop(0).strip())
        yield f"{line.strip()} {{{', '.join(inner)}}}" if inner else line.strip()


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _in_script(cure: Cure, facts: Facts) -> str:
    """The keywords of transformers, where it, or trl, trains; those that load a model where a script does."""
    loads = all(name in _LOADING for name in cure.plan)
    return in_code(cure.plan) if facts.text("plan.trainer") in (_LOADED_BY_SCRIPTS if loads else _TRAINERS) else ""
