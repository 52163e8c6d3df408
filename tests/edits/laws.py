"""What every edit of a file owes to the rest of it."""

from __future__ import annotations

from envdoctor.edits.edit import Edited


def assert_only_named_lines_changed(edited: Edited) -> None:
    """Every line that is not named stands there as before, byte for byte, in its order; nothing is new but where a line is named."""
    before, after = edited.before.split(b"\n"), edited.after.split(b"\n")
    runs: list[list[bytes]] = [[]]
    for number, line in enumerate(before, start=1):
        if number in edited.lines:
            runs.append([])
        else:
            runs[-1].append(line)
    head, *middle = runs
    assert after[: len(head)] == head
    if not middle:
        assert after == before
        return
    tail = middle.pop()
    assert not tail or after[-len(tail) :] == tail
    at = len(head)
    for run in middle:
        if run:
            found = next((place for place in range(at, len(after)) if after[place : place + len(run)] == run), None)
            assert found is not None, f"{run[0]!r} is gone"
            at = found + len(run)
    assert at <= len(after) - len(tail)


def assert_left_alone(edited: Edited) -> None:
    """Nothing was changed, and no line is named."""
    assert edited.after == edited.before
    assert edited.lines == ()
