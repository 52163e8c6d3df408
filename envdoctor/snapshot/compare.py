"""What differs between the files that were expected and those that are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from envdoctor.records import dataclass
from envdoctor.snapshot.record import Record

Kind = Literal["changed", "missing", "added", "renamed", "unreadable"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file that is not as expected. ``now`` is the new name of a renamed file, ``why`` what kept one from being read."""

    kind: Kind
    name: str
    before: Record | None = None
    after: Record | None = None
    now: str = ""
    why: str = ""


def compare(
    expected: Mapping[str, Record],
    actual: Mapping[str, Record],
    *,
    unread: Mapping[str, str] | None = None,
    complete: bool = True,
) -> tuple[Change, ...]:
    """Every difference, in the order of the names. A file that has the content of a missing one is that file, renamed.

    ``unread`` says by name why something that is there could not be read. ``complete`` says that ``expected`` has all files, so
    that a further one is news.
    """
    reasons = unread or {}
    changes = []
    missing: dict[str, Record] = {}
    added = {name: record for name, record in actual.items() if name not in expected and complete}
    for name, before in expected.items():
        after = actual.get(name)
        if name in reasons:
            changes.append(Change("unreadable", name, before, after, why=reasons[name]))
        elif after is None:
            missing[name] = before
        elif before.same(after) is False:
            changes.append(Change("changed", name, before, after))
    homes = {content: name for name, record in sorted(added.items(), reverse=True) for content in _contents(record)}
    for name, before in sorted(missing.items()):
        now = next((homes[content] for content in _contents(before) if homes.get(content) in added), None)
        if now is None:
            changes.append(Change("missing", name, before))
        else:
            changes.append(Change("renamed", name, before, added.pop(now), now))
    changes += [Change("added", name, None, record) for name, record in added.items()]
    return tuple(sorted(changes, key=lambda change: change.name))


def _contents(record: Record) -> tuple[str, ...]:
    """The digests by which a file is known under another name; an empty file has no content to know it by."""
    return tuple(filter(None, (record.sha256, record.git_blob))) if record.size else ()
