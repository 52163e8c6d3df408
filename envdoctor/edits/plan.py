"""Facts written into a plan file, in the words of its dialect, and read back before anything is kept."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envdoctor.edits.draft import Draft
from envdoctor.edits.edit import Edited, Pin, Refusal, RefusedError, Set, Setting
from envdoctor.edits.json_draft import add_member, member, set_value
from envdoctor.edits.plan_keys import TWINS, Assignment, assignments, related
from envdoctor.edits.yaml_spans import add_key, compose, entry, literal, scalar_span
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.json_spans import Member, json_members
from envdoctor.records import dataclass
from envdoctor.sources.plans.plan_file import PLAN_LIMIT, PlanFile, read_documents
from envdoctor.sources.plans.reader import Reader, is_open
from envdoctor.sources.plans.registry import dialect_of
from envdoctor.sources.stated.stated_value import stated_value

# What a reader tells only where it is on.
_OFF = (("plan.quant", "none"), ("plan.compile", False), ("plan.gradient_checkpointing", False), ("plan.resume", False))
_PLANS = (".json", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class _Read:
    """The plan in a file: which of its documents, in which dialect, and what it says."""

    number: int
    document: PlanFile
    dialect: str
    facts: Mapping[str, Fact]

    @property
    def table(self) -> Mapping[Any, Any]:
        return self.document.value if isinstance(self.document.value, dict) else {}


def edit_plan(path: Path, settings: Sequence[Set]) -> tuple[Edited, ...]:
    """The file with other values, each under the setting that its dialect has for the fact; a script is refused.

    Raises:
        EnvdoctorError: unreadable, or neither JSON nor YAML.
    """
    try:
        before = read_bounded(path, PLAN_LIMIT)
    except UnreadableError as error:
        raise EnvdoctorError(str(path), found=str(error), expected="a training plan", next_step="check the path") from None
    if path.suffix.lower() not in _PLANS:
        return (Edited(path, before, before, refused=tuple(Refusal(wish, _in_code(path, wish)) for wish in settings)),)
    read = _read(path, before)
    if read is None:
        why = "not a plan of a tool that is known: change it by hand"
        return (Edited(path, before, before, refused=tuple(Refusal(wish, why) for wish in settings)),)
    draft = Draft(before, str(path))
    wished = frozenset(wish.fact for wish in settings)
    done: list[Pin | Set] = []
    refused: list[Refusal] = []
    for wish in settings:
        attempt = draft.copy()
        try:
            read = _given(attempt, path, read, wish, wished)
        except RefusedError as error:
            refused.append(Refusal(wish, str(error)))
        else:
            draft = attempt
            done.append(wish)
    lost = [wish for wish in done if isinstance(wish, Set) and not _says(read, wish) and not _silent(read, wish)]
    if lost:
        why = "another of the wishes says the opposite"
        refused += [Refusal(wish, why) for wish in settings if wish in done]
        return (Edited(path, before, before, refused=tuple(refused)),)
    return (draft.edited(path, before, done, refused),)


def _read(path: Path, data: bytes) -> _Read | None:
    """The first plan in a text that may not be the file's own yet; what it names lies beside the file."""
    with tempfile.TemporaryDirectory(prefix="envdoctor-") as folder:
        copy = Path(folder) / f"plan{path.suffix.lower()}"
        copy.write_bytes(data)
        try:
            text = read_documents(copy)
        except EnvdoctorError as error:
            place = error.place.replace(str(copy), str(path))
            raise EnvdoctorError(place, found=error.found, expected=error.expected, next_step=error.next_step) from None
    for number, document in enumerate(text.documents):
        dialect = dialect_of(document.value) if isinstance(document.value, dict) else None
        if dialect is not None and dialect.read is not None and isinstance(document.value, dict):
            reader = Reader(path, document)
            dialect.read(reader, document.value)
            facts = {fact.name: fact for fact in reader.collected().facts}
            is_trl = dialect.name == "TrainingArguments" and "plan.trainer" in facts and facts["plan.trainer"].value == "trl"
            return _Read(number, document, "TRL" if is_trl else dialect.name, facts)
    return None


def _says(read: _Read, wish: Set) -> bool:
    fact = read.facts.get(wish.fact)
    return fact is not None and fact.value == stated_value(wish.fact, list(wish.value) if isinstance(wish.value, tuple) else wish.value)


def _silent(read: _Read, wish: Set) -> bool:
    """Whether a plan says that something is off by not saying that it is on, as some dialects' plans do."""
    return (wish.fact, wish.value) in _OFF and wish.fact not in read.facts


def _given(draft: Draft, path: Path, read: _Read, wish: Set, wished: frozenset[str]) -> _Read:
    """Write one wish, and read what the text says then.

    Raises:
        RefusedError: the dialect cannot say it, or it would say something else besides.
    """
    if _says(read, wish):
        return read
    if _silent(read, wish):
        raise RefusedError(f"nothing in it says that {wish.fact} is anything else")
    for assignment in assignments(read.dialect, read.table, wish.fact, wish.value):
        if path.suffix.lower() == ".json":
            _assign_json(draft, assignment)
        else:
            _assign_yaml(draft, read, assignment)
    try:
        now = _read(path, draft.encoded())
    except EnvdoctorError as error:
        raise RefusedError(f"it would be no plan then: {error.found}") from None
    if now is None or (now.number, now.dialect) != (read.number, read.dialect):
        raise RefusedError("the file would be read as another tool's then")
    if not _says(now, wish) and not _silent(now, wish):
        raise RefusedError(f"{read.dialect} has no setting that says {wish.fact} = {_told(wish.value)} here")
    allowed = {
        wish.fact,
        "plan.arguments",
        "plan.keys",
        "plan.refused_arguments",
        "plan.deepspeed_differs",
        "plan.deepspeed_unfilled",
        *wished,
        *TWINS.get(wish.fact, ()),
    }
    if read.dialect == "accelerate" and wish.fact in ("plan.fp16", "plan.bf16"):
        allowed |= {"plan.fp16", "plan.bf16"}  # one setting says both
    moved = sorted(name for name in {*read.facts, *now.facts} - allowed if _value(read, name) != _value(now, name))
    if moved:
        raise RefusedError(f"{moved[0]} would change with it, which is to be wished for as well")
    return now


def _value(read: _Read, name: str) -> object:
    fact = read.facts.get(name)
    return None if fact is None else fact.value


def _told(value: Setting) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value).lower() if isinstance(value, bool) else str(value)


def _in_code(path: Path, wish: Set) -> str:
    """Why a script is not edited, with the line on which it says the fact."""
    from envdoctor.sources.scripts.script import collect_script

    line = None
    if path.suffix.lower() in ("", ".py"):
        fact = next((fact for fact in collect_script(path).facts if fact.name == wish.fact), None)
        line = fact.origin.line if fact is not None and fact.origin.file is not None else None
    return f"code: change it by hand{f' on line {line}' if line else ''}, so that {wish.fact} is {_told(wish.value)}"


def _nested(keys: tuple[str, ...], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def _assign_json(draft: Draft, assignment: Assignment) -> None:
    members: list[Member] = json_members(draft.text)
    value = list(assignment.value) if isinstance(assignment.value, tuple) else assignment.value
    for depth, key in enumerate(assignment.keys):
        found = member(members, key)
        rest = assignment.keys[depth + 1 :]
        if found is None:
            add_member(draft, members, key, _nested(rest, value), related(key))
            return
        if not rest:
            _refuse_open(draft.text[found.value : found.end], key)
            if found.members is not None:
                raise RefusedError(f"{key} is an object")
            set_value(draft, found, value)
            return
        if found.members is None:
            raise RefusedError(f"{key} is no object")
        members = found.members


def _assign_yaml(draft: Draft, read: _Read, assignment: Assignment) -> None:
    node: Any = compose(draft.text)[read.number]
    for depth, key in enumerate(assignment.keys):
        if node.id != "mapping":
            raise RefusedError(f"line {node.start_mark.line + 1}: no mapping of settings")
        found = entry(node, key)
        rest = assignment.keys[depth + 1 :]
        if found is None:
            add_key(draft, node, _written(key, rest, assignment.value, bool(node.flow_style)), related(key))
            return
        name, value = found
        if value.start_mark.index < name.end_mark.index:
            raise RefusedError(f"line {name.start_mark.line + 1}: it is an alias, which other places share")
        if not rest:
            _set_yaml(draft, name, value, assignment.value, bool(node.flow_style))
            return
        if draft.text[value.start_mark.index : value.start_mark.index + 1] in ("&", "!"):
            raise RefusedError(f"line {value.start_mark.line + 1}: it has an anchor or a tag")
        node = value


def _set_yaml(draft: Draft, name: Any, value: Any, wanted: Setting | None, flow: bool) -> None:
    if value.id == "sequence" and value.flow_style:
        start, end = value.start_mark.index, value.end_mark.index
        if not draft.text.startswith("[", start) or "\n" in draft.text[start:end]:
            raise RefusedError(f"line {value.start_mark.line + 1}: a list that is not on one line, or has an anchor")
    else:
        start, end = scalar_span(draft, value)
    written = draft.text[start:end]
    _refuse_open(written, name.value)
    new = _scalar(wanted, written, flow)
    draft.replace(start, end, new if start > name.end_mark.index and draft.text[start - 1] in " \t" else f" {new}")


def _refuse_open(written: str, key: str) -> None:
    if is_open(written):
        raise RefusedError(f"{key} is {written}, which is set when the run starts")


def _written(key: str, rest: tuple[str, ...], value: Setting | None, flow: bool) -> str:
    """A setting with the mappings inside it, on lines of their own or in braces."""
    if not rest:
        return f"{key}: {_scalar(value, '', flow)}"
    inner = _written(rest[0], rest[1:], value, flow)
    return f"{key}: {{{inner}}}" if flow else f"{key}:\n  " + inner.replace("\n", "\n  ")


def _scalar(value: Setting | None, like: str, flow: bool) -> str:
    """A value in YAML 1.1, as PyYAML reads it: a float has a point."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value) if like in ("True", "False") else str(value).lower()
    if isinstance(value, float):
        told = repr(value)
        return told if "." in told or "e" not in told else told.replace("e", ".0e")
    if isinstance(value, tuple):
        return f"[{', '.join(literal(item, '', True) for item in value)}]"
    return literal(value, like, flow) if isinstance(value, str) else json.dumps(value)


__all__ = ["edit_plan"]
