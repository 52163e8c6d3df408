"""What a change of a snapshot's files means: findings in words, each of the rule that explains it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from envdoctor.facts.fact import Defect
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.snapshot.compare import Change
from envdoctor.snapshot.definitions import TOP, compare_definitions
from envdoctor.snapshot.definitions import WHOLE as PROGRAM
from envdoctor.snapshot.fields import WHOLE as OBJECT
from envdoctor.snapshot.fields import compare_fields
from envdoctor.snapshot.record import Record
from envdoctor.snapshot.roles import ROLES, Role, loaded_by_name, role_of
from envdoctor.snapshot.tensors import Shard

RULE_OF: Mapping[Role, str] = {
    "weights": "snapshot-weights-changed",
    "code": "snapshot-code-changed",
    "tokenizer": "snapshot-tokenizer-changed",
    "generation": "snapshot-generation-defaults-changed",
    "config": "snapshot-config-changed",
    "other": "snapshot-file-changed",
    "documentation": "snapshot-documentation-changed",
}
IN_WORDS: Mapping[Role, str] = {
    "weights": "weights",
    "code": "code",
    "tokenizer": "tokenizer",
    "generation": "generation defaults",
    "config": "configuration",
    "other": "other files",
    "documentation": "documentation",
}
RULES = (
    *RULE_OF.values(),
    "snapshot-file-reformatted",
    "snapshot-file-missing",
    "snapshot-file-renamed",
    "snapshot-file-extra",
    "snapshot-file-unreadable",
)

_MOST_LINES = 12
_MOST_FILES = 8
_MOST_FINDINGS = 20
_MOST_NAMES = 6


@dataclass(frozen=True, slots=True)
class Scene:
    """What is needed to tell of changes.

    ``kinds`` are the tensors before and after, by pattern; ``line_of`` finds the line of a field or definition in a file;
    ``origin`` says in a few words what the files are compared with.
    """

    place: Callable[[str], str]
    origin: str
    kinds: tuple[Mapping[str, str], Mapping[str, str]] = field(default_factory=lambda: ({}, {}))
    line_of: Callable[[str, str], int | None] = lambda name, what: None


def defects_of(changes: Sequence[Change], scene: Scene) -> tuple[Defect, ...]:
    """One finding for each changed file of code or configuration, one for all weights, one for each other kind of change."""
    left = list(changes)
    found: list[Defect] = []

    def take(chosen: Callable[[Change], bool]) -> list[Change]:
        nonlocal left
        taken = [change for change in left if chosen(change)]
        left = [change for change in left if not chosen(change)]
        return taken

    def tell(rule: str, taken: Sequence[Change], say: Callable[[Change], str], head: str = "") -> None:
        if taken:
            first = taken[0].now or taken[0].name
            found.append(Defect(rule, head + _listed([say(change) for change in taken]), scene.place(first)))

    reformatted = take(_says_the_same)
    about_documentation = take(lambda c: role_of(c.name) == "documentation" and c.kind in ("changed", "missing", "renamed"))
    weights = take(lambda c: role_of(c.name) == "weights" and _is_news(c))
    if weights:
        found.append(Defect(RULE_OF["weights"], _weights(weights, scene), scene.place(weights[0].name)))
    for role in ("code", "tokenizer", "generation", "config"):
        told = [change for change in left if role_of(change.name) == role and _is_news(change)]
        left = [change for change in left if change not in told]
        found += [_one_file(RULE_OF[role], change, scene) for change in told[:_MOST_FINDINGS]]
        tell(RULE_OF[role], told[_MOST_FINDINGS:], _sizes, "further files: ")
    tell(RULE_OF["other"], take(lambda c: c.kind == "changed"), _sizes)
    tell("snapshot-file-missing", _by_role(take(lambda c: c.kind == "missing")), _with_role)
    tell("snapshot-file-renamed", take(lambda c: c.kind == "renamed"), lambda c: f"{plain(c.name)} is now {plain(c.now)}")
    tell("snapshot-file-unreadable", take(lambda c: c.kind == "unreadable"), lambda c: f"{plain(c.name)}: {c.why}")
    tell("snapshot-file-reformatted", reformatted, _reformatted)
    tell("snapshot-file-extra", left, lambda c: plain(c.name))
    tell(RULE_OF["documentation"], about_documentation, _documentation)
    return tuple(found)


def summary(changes: Iterable[Change], files: int, origin: str) -> str:
    """The whole story in a sentence: what changed, and what did not."""
    counted = [change for change in changes if change.kind != "added" or loaded_by_name(change.name)]
    unread = [change for change in counted if change.kind == "unreadable"]
    anew = [change for change in counted if _says_the_same(change)]
    real = [change for change in counted if change not in unread and change not in anew]
    doubt = f"; {_counted(len(unread), 'file')} could not be read" if unread else ""
    if not real:
        rest = f"; {len(anew)} of them written anew with the same meaning" if anew else ""
        return f"{files - len(unread)} files are those of {origin}{rest}{doubt}"
    roles = {role_of(change.name) for change in real}
    changed = [IN_WORDS[role] for role in ROLES if role in roles]
    others = roles.union(role_of(change.name) for change in unread)
    same = [IN_WORDS[role] for role in ROLES if role not in others and role not in ("other", "documentation")]
    only = "only " if len(changed) == 1 and not unread else ""
    kept = f"; {_joined(same)} {'is' if same == ['code'] else 'are'} as they were" if same else ""
    return f"{only}{_joined(changed)} changed ({len(real)} of {files} files){kept}{doubt}"


def _is_news(change: Change) -> bool:
    """A changed file, or a new one that is read because of its name."""
    return change.kind == "changed" or (change.kind == "added" and loaded_by_name(change.name))


def _says_the_same(change: Change) -> bool:
    """Whether a file was only laid out anew: the same program, or the same JSON."""
    before, after = change.before, change.after
    if change.kind != "changed" or before is None or after is None:
        return False
    if before.definitions is not None and after.definitions is not None:
        return before.definitions.get(PROGRAM) == after.definitions.get(PROGRAM) is not None
    if before.fields is not None and after.fields is not None:
        if before.fields.get(OBJECT) == after.fields.get(OBJECT) is not None:
            return True
        return len(before.fields) > 1 and len(after.fields) > 1 and not compare_fields(before.fields, after.fields)
    return False


def _one_file(rule: str, change: Change, scene: Scene) -> Defect:
    name = plain(change.name)
    lines, what = _outlines(change)
    if change.kind == "added":
        detail = f"{name} is new, and is read because of its name"
    elif lines:
        detail = "\n".join([f"{name}:", *_cut(lines)]) if len(lines) > 1 else f"{name}: {lines[0]}"
    else:
        detail = f"{_sizes(change)}: not as in {scene.origin}"
    return Defect(rule, detail, scene.place(change.name), scene.line_of(change.name, what) if what else None)


def _outlines(change: Change) -> tuple[list[str], str]:
    """What differs inside a file, in lines; and the first thing that stands in the file as it is now."""
    before, after = change.before, change.after
    if before is None or after is None:
        return [], ""
    if before.definitions is not None and after.definitions is not None:
        changed, new, gone = compare_definitions(before.definitions, after.definitions)
        parts = [f"{verb} {_names(names)}" for verb, names in (("changed", changed), ("new", new), ("gone", gone)) if names]
        shown = next((name for name in [*changed, *new] if name != TOP), "")
        return (["; ".join(parts)] if parts else []), shown
    if before.fields is not None and after.fields is not None:
        differences = compare_fields(before.fields, after.fields)
        lines = [f"{plain(d.name, 80)}: {_side(d.before)} -> {_side(d.after)}" for d in differences]
        return lines, next((d.name.partition(".")[0].partition("[")[0] for d in differences if d.after is not None), "")
    return [], ""


def _names(names: Sequence[str]) -> str:
    shown = ", ".join("what stands outside functions and classes" if name == TOP else plain(name, 80) for name in names[:_MOST_NAMES])
    return shown if len(names) <= _MOST_NAMES else f"{shown} and {len(names) - _MOST_NAMES} more"


def _side(value: str | None) -> str:
    return "(absent)" if value is None else plain(value, 120)


def _cut(lines: Sequence[str]) -> list[str]:
    return [*lines] if len(lines) <= _MOST_LINES else [*lines[:_MOST_LINES], f"and {len(lines) - _MOST_LINES} more"]


def _weights(changes: Sequence[Change], scene: Scene) -> str:
    lines = [_weight_file(change, scene) for change in changes[:_MOST_FILES]]
    if len(changes) > _MOST_FILES:
        lines.append(f"and {len(changes) - _MOST_FILES} more files")
    before, after = scene.kinds
    kinds = [
        f"{plain(name, 100)}: {_side(before.get(name))} -> {_side(after.get(name))}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
    return "\n".join([*lines, *_cut(kinds)])


def _weight_file(change: Change, scene: Scene) -> str:
    name = plain(change.name)
    if change.kind == "added":
        return f"{name} is new, and is read because of its name"
    before, after = change.before or Record(0), change.after or Record(0)
    if before.shard is not None and after.shard is not None and before.shard.tensors and after.shard.tensors:
        return f"{name}: {_shards(before.shard, after.shard)}"
    lines, _ = _outlines(change)
    return f"{name}: {'; '.join(_cut(lines)[:3])}" if lines else f"{_sizes(change)}: not as in {scene.origin}"


def _shards(before: Shard, after: Shard) -> str:
    if before.header == after.header:
        return f"the same {_counted(after.count, 'tensor')}, other values"
    if before.tensors == after.tensors:
        return f"the same {_counted(after.count, 'tensor')} under another header; whether their values differ was not looked at"
    fewer = before.count != after.count
    parts = [f"{_counted(before.count, 'tensor')} -> {after.count}" if fewer else "tensors of other names, dtypes or shapes"]
    if before.elements.keys() != after.elements.keys():
        parts.append(f"{'+'.join(before.elements)} -> {'+'.join(after.elements)}")
    totals = sum(before.elements.values()), sum(after.elements.values())
    if totals[0] != totals[1]:
        parts.append(f"{totals[0]} -> {totals[1]} parameters")
    return ", ".join(parts)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _sizes(change: Change) -> str:
    name = plain(change.name)
    before, after = change.before, change.after
    if before is None or after is None:
        return name
    return f"{name} ({before.size} bytes)" if before.size == after.size else f"{name} ({before.size} -> {after.size} bytes)"


def _reformatted(change: Change) -> str:
    return f"{plain(change.name)} ({'comments or formatting' if role_of(change.name) == 'code' else 'formatting or order of keys'})"


def _documentation(change: Change) -> str:
    what = {"missing": "gone", "renamed": f"now {plain(change.now)}"}.get(change.kind, "changed")
    return f"{plain(change.name)} ({what})"


def _with_role(change: Change) -> str:
    role = role_of(change.name)
    return plain(change.name) if role == "other" else f"{plain(change.name)} ({IN_WORDS[role]})"


def _by_role(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: ROLES.index(role_of(change.name)))


def _listed(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:_MOST_FILES])
    return shown if len(texts) <= _MOST_FILES else f"{shown} and {len(texts) - _MOST_FILES} more"


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
