"""What can be said of an error that nobody explains: what raised it, who called, what it states, and which versions to send."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.answers import tell_message
from envdoctor.logs.callables_named import OF_PYTHON
from envdoctor.logs.changed_functions import tell_changes
from envdoctor.logs.reading import Reading
from envdoctor.logs.statements import MissingArguments, MissingMember, RefusedKeyword, UndefinedName, parse_statement
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of

_MOST_CALLERS = 4
_LONGEST = 200


def tell_unknown(reading: Reading, facts: Facts) -> Iterator[str]:
    """Sentences about the error that ended the run; one that nothing was found where the log has none."""
    last = reading.decisive
    if last is None:
        yield "no error was found in this log" if reading.history == "" else f"the numbers: {reading.history}"
        return
    yield f"the error (line {last.line}): {last.told[:_LONGEST] or 'the traceback ends before it'}"
    yield from _tell_frames(last)
    yield from tell_changes(last, facts)
    yield from _tell_statement(last)
    yield from tell_message(last, facts)
    yield from _tell_versions(reading, facts)


def _tell_frames(failure: Failure) -> Iterator[str]:
    inner = next((frame for frame in reversed(failure.frames) if frame.package), None)
    if inner is None:
        if failure.frames:
            yield f"raised in code of your own: {place_of(failure.frames[-1])}"
        return
    others = [name for name in failure.packages if name != inner.package][:_MOST_CALLERS]
    called = f", called by {', '.join(others)}" if others else ""
    yield f"raised in {inner.package} ({place_of(inner)}){called}"
    own = next((frame for frame in reversed(failure.frames) if not frame.package and _is_own(frame)), None)
    if own is not None:
        yield f"the innermost line of your own: {place_of(own)}"


def _is_own(frame: Frame) -> bool:
    return frame.path.endswith(".py") and "/lib/python3" not in frame.path.replace("\\", "/")


def _tell_statement(failure: Failure) -> Iterator[str]:
    one = parse_statement(failure)
    if isinstance(one, RefusedKeyword):
        yield f"{one.function}() does not take {one.keyword}: caller and callee are of different releases"
    elif isinstance(one, MissingMember) and one.cls in OF_PYTHON:
        yield f"there is {'None' if one.cls == 'NoneType' else f'a {one.cls}'} where the code has an object with {one.name}"
    elif isinstance(one, MissingMember):
        yield f"an object of class {one.cls} has no {one.name}: it was removed or renamed, or it came with a later release"
    elif isinstance(one, MissingArguments):
        yield f"{one.function}() was called without {', '.join(one.names)}: caller and callee are of different releases"
    elif isinstance(one, UndefinedName):
        yield f"the code uses the name {one.name} and never defines it: an import that was skipped, or a fault of that release"


def _tell_versions(reading: Reading, facts: Facts) -> Iterator[str]:
    packages = list(dict.fromkeys(package_of(name) for name in reading.packages if name != "transformers_modules"))
    stated = [f"{name} {value}" for name in packages if isinstance(value := facts.value(f"packages.{name}"), Exact)]
    lacking = [name for name in packages if not isinstance(facts.value(f"packages.{name}"), Exact)]
    if stated:
        yield f"versions known: {', '.join(stated[:6])}"
    if lacking:
        yield f"versions not known: {', '.join(lacking[:6])}; a log states them with pip freeze or a report behind it"
