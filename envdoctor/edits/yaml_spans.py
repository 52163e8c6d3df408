"""Edits of a YAML text by the places of its nodes: a scalar set, an item taken out or added, a key added; all other bytes stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from envdoctor.edits.draft import Draft
from envdoctor.edits.edit import RefusedError
from envdoctor.files.yaml_nodes import NestedTooDeeplyError, yaml_nodes

_DEEPEST = 100
# What a plain scalar may hold in any context without being taken for something else; what it means is looked at besides.
_PLAIN = re.compile(r"[A-Za-z0-9_./~<>=!+^*;' -]+")
_PLAIN_START = re.compile(r"[A-Za-z0-9_./~<>=+^-]")


def compose(text: str) -> list[Any]:
    """The nodes of all documents.

    Raises:
        RefusedError: no YAML, or nested deeper than anybody writes it.
    """
    import yaml

    try:
        return list(yaml_nodes(text, _DEEPEST))
    except NestedTooDeeplyError as error:
        raise RefusedError(str(error)) from None
    except yaml.YAMLError:
        raise RefusedError("it would be no YAML then, or is none") from None


def entry(mapping: Any, key: str) -> tuple[Any, Any] | None:
    """The nodes of a key and its value in a mapping; None where it has no such key of its own.

    Raises:
        RefusedError: the key stands there twice.
    """
    found = [(name, value) for name, value in mapping.value if name.id == "scalar" and name.value == key]
    if len(found) > 1:
        raise RefusedError(f"line {found[1][0].start_mark.line + 1}: {key} stands there twice")
    return found[0] if found else None


def scalar_span(draft: Draft, node: Any, behind: int = 0) -> tuple[int, int]:
    """Where a scalar stands, its quotes included. ``behind`` is where its key or list begins.

    Raises:
        RefusedError: it is no scalar of one line, or is written through an anchor, an alias or a tag.
    """
    start, end = node.start_mark.index, node.end_mark.index
    line = f"line {node.start_mark.line + 1}"
    if start < behind:
        raise RefusedError(f"{line}: it is an alias, which other places share")
    if node.id != "scalar" or node.style in ("|", ">") or "\n" in draft.text[start:end]:
        raise RefusedError(f"{line}: it is no value of one line")
    written = draft.text[start:end]
    if written[:1] in ("&", "!", "*"):
        raise RefusedError(f"{line}: it has an anchor or a tag")
    if written != node.value and written[:1] not in ("'", '"') and written:
        raise RefusedError(f"{line}: it is written in a way that cannot be placed")
    return start, end


def literal(text: str, like: str, flow: bool) -> str:
    """A string of YAML in the quotes of another, or plain where it may be."""
    import yaml

    if like.startswith("'"):
        return "'" + text.replace("'", "''") + "'"
    if like.startswith('"'):
        return json.dumps(text, ensure_ascii=False)
    safe = (
        _PLAIN_START.match(text) is not None
        and text.isprintable()
        and " #" not in text
        and ": " not in text
        and not text.endswith((":", " "))
    )
    if safe and flow:
        safe = _PLAIN.fullmatch(text) is not None
    try:
        meant = yaml.safe_load(text) if safe else None
    except (yaml.YAMLError, ValueError):
        meant = None
    return text if meant == text else json.dumps(text, ensure_ascii=False)


def remove_item(draft: Draft, sequence: Any, place: int) -> None:
    """Take an item out of a list, with its line where the list is written one a line.

    Raises:
        RefusedError: it is the only one, or shares its lines in a way that cannot be parted.
    """
    items, text = sequence.value, draft.text
    node = items[place]
    line = f"line {node.start_mark.line + 1}"
    if len(items) == 1:
        raise RefusedError(f"{line}: nothing else is in its list; take the list out by hand")
    start, end = scalar_span(draft, node, sequence.start_mark.index)
    if sequence.flow_style:
        if place + 1 < len(items):
            gap = text[end : items[place + 1].start_mark.index]
            end = items[place + 1].start_mark.index
        else:
            gap = text[items[place - 1].end_mark.index : start]
            start = items[place - 1].end_mark.index
        if gap.strip() != ",":
            raise RefusedError(f"{line}: a list with comments on its lines; take the entry out by hand")
        draft.replace(start, end, "")
        return
    before, behind = text[draft.line_start(start) : start], text[end : draft.line_end(end)]
    if before.strip() != "-" or (behind.strip() and not behind.lstrip().startswith("#")):
        raise RefusedError(f"{line}: it shares its line with others; take it out by hand")
    draft.replace(draft.line_start(start), draft.after_line(end), "")


def append_item(draft: Draft, sequence: Any, text: str) -> None:
    """Add a string to a list, in the style of its last scalar.

    Raises:
        RefusedError: the list has no scalar of one line to go by.
    """
    scalars = [node for node in sequence.value if node.id == "scalar" and node.start_mark.index >= sequence.start_mark.index]
    if not scalars:
        raise RefusedError(f"line {sequence.start_mark.line + 1}: an empty list; add the entry by hand")
    last = scalars[-1]
    start, end = scalar_span(draft, last)
    like = draft.text[start:end]
    if sequence.flow_style:
        draft.replace(end, end, f", {literal(text, like, True)}")
        return
    before = draft.text[draft.line_start(start) : start]
    if before.strip() != "-":
        raise RefusedError(f"line {last.start_mark.line + 1}: a list that begins on the line of another; add the entry by hand")
    at = draft.line_end(end)
    draft.replace(at, at, f"{draft.newline}{before}{literal(text, like, False)}")


def add_key(draft: Draft, mapping: Any, written: str, after: tuple[str, ...]) -> None:
    """Add ``key: value`` to a mapping, behind the first of the named keys that it has, else behind its last plain one.

    ``written`` may have more lines, which are indented like the first.

    Raises:
        RefusedError: the mapping has no key of its own with a value of one line.
    """
    rows = list(_one_line(draft, mapping))
    named = [row for key in after for row in rows if row[0].value == key]
    if not rows:
        raise RefusedError(f"line {mapping.start_mark.line + 1}: no setting of one line beside which the new one could stand")
    key, value = (named or rows[-1:])[0]
    if mapping.flow_style:
        if "\n" in written:
            raise RefusedError(f"line {mapping.start_mark.line + 1}: a mapping on one line; add the setting by hand")
        draft.replace(value.end_mark.index, value.end_mark.index, f", {written}")
        return
    indent = " " * key.start_mark.column
    if draft.text[draft.line_start(key.start_mark.index) : key.start_mark.index].strip(" -"):
        raise RefusedError(f"line {key.start_mark.line + 1}: it shares its line with others; add the setting by hand")
    at = draft.line_end(value.end_mark.index)
    rows_written = "".join(f"{draft.newline}{indent}{row}" for row in written.split("\n"))
    draft.replace(at, at, rows_written)


def _one_line(draft: Draft, mapping: Any) -> Iterator[tuple[Any, Any]]:
    """The entries of a mapping whose value is a scalar, or a collection in brackets, on the line of its key."""
    for key, value in mapping.value:
        start, end = key.start_mark.index, value.end_mark.index
        own = key.id == "scalar" and key.value != "<<" and value.start_mark.index >= key.end_mark.index
        plain = value.id != "scalar" or value.style not in ("|", ">")
        if own and plain and (value.id == "scalar" or value.flow_style) and "\n" not in draft.text[start:end]:
            yield key, value


__all__ = ["add_key", "append_item", "compose", "entry", "literal", "remove_item", "scalar_span"]
