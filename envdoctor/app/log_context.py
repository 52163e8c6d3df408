"""What stands around a log on this machine: the environment that its traceback ran in, and what `fit` says of the plan that ran."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.app.request import Request
from envdoctor.errors import EnvdoctorError
from envdoctor.logs.out_of_memory import Account
from envdoctor.logs.reading import Reading
from envdoctor.records import replace

if TYPE_CHECKING:
    from envdoctor.app.gathered import Gathered
    from envdoctor.logs.tracebacks import Frame

_PREFIX = re.compile(
    r"^(?P<prefix>/.{1,400}?)/lib(?:64)?/python3\.\d{1,2}/site-packages/|^(?P<windows>[A-Za-z]:\\.{1,400}?)\\[Ll]ib\\site-packages\\"
)
_MOST_FRAMES = 8
_MOST_ADVICE = 2


def find_environment(reading: Reading) -> str | None:
    """The prefix of the environment whose files stand in the last traceback, where it is on this machine and still has these lines.

    Paths repeat from machine to machine: a frame counts only where the file has its text at its line.
    """
    last = reading.decisive
    if last is None:
        return None
    held: dict[str, int] = {}
    for frame in islice((frame for frame in reversed(last.frames) if frame.package and frame.text), _MOST_FRAMES):
        found = _PREFIX.match(frame.path)
        if found is None:
            continue
        prefix = found["prefix"] or found["windows"]
        if not _stands(frame):
            return None
        held[prefix] = held.get(prefix, 0) + 1
    return next(iter(held), None)


def _stands(frame: Frame) -> bool:
    """Whether a file has the text of a frame at its line."""
    if frame.line is None:
        return False
    try:
        with open(frame.path, encoding="utf-8", errors="replace") as file:
            line = next(islice(file, frame.line - 1, frame.line), "")
    except (OSError, ValueError):
        return False
    return line.strip()[: len(frame.text)] == frame.text and bool(frame.text)


def within_environment(request: Request, reading: Reading) -> Request:
    """The request with the environment of the traceback, where nobody named another one."""
    if request.python is not None or request.root is not None or request.facts is not None:
        return request
    prefix = find_environment(reading)
    here = prefix is not None and any(
        os.path.exists(Path(prefix, *parts)) for parts in (("bin", "python"), ("Scripts", "python.exe"), ("python.exe",))
    )
    return replace(request, python=prefix) if here else request


def say_fit(request: Request, gathered: Gathered, short: Account) -> Iterator[str]:
    """What `fit` says of the plan on the card of the message, where the model and a plan are known; nothing where they are not."""
    if not gathered.snapshots or not gathered.has_plan:
        return
    from envdoctor.app.fit import Question, fit
    from envdoctor.report.fit_words import change_line, gib, verdict_word, verdict_words

    memory = f"gpu.memory_gib={short.total / 2**30:.2f}"
    model = next((target.text for target in gathered.targets if target.snapshot is not None), "")
    try:
        report = fit(replace(request, settings=(*request.settings, memory)), Question(model))
    except EnvdoctorError as error:
        yield f"fit could not be asked: {error.found}"
        return
    yield f"fit of this plan: {verdict_word(report)}, {verdict_words(report)}"
    for one in [advice for advice in report.advice if advice.change][:_MOST_ADVICE]:
        yield f"with {change_line(one)}: {gib(one.allocated.expected)} allocated ({one.fits})"
