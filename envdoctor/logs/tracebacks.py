"""Tracebacks, however they were printed: Python's own, rich's boxes, notebooks' of all ages, and errors that people quote in a line.

A `Failure` is one error with the frames that led to it. Of chained errors each is one; which of all decides, says `decisive`.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Sequence

from envdoctor.logs.places import owner_of
from envdoctor.records import dataclass

_FRAME = re.compile(r"^\s{0,12}File ['\"](?P<path>[^'\"]{1,1000})['\"], line (?P<line>\d{1,9})(?:, in (?P<function>[^\s]{1,200}))?")
# rich's, and pytest's with a colon: ``trl/trainer/sft_trainer.py:1185: in training_step``.
_RICH = re.compile(r"^\s{0,4}(?P<path>[^\s:│]{1,1000}\.py|<[\w ]{1,40}>):(?P<line>\d{1,9}):? in\s{1,4}(?P<function>[\w.<>]{1,200})")
_CELL = re.compile(
    r"^\s{0,4}(?:File (?P<path>(?:[A-Za-z]:[\\/])?[^\s:][^:\n]{0,1000}?):(?P<line>\d{1,9})(?:, in (?P<function>[\w.<>]{1,200}))?"
    r"|(?P<cell>Cell In ?\[\d{1,6}\]|Input In \[\d{1,6}\])(?:, line (?P<at>\d{1,9})|, in ))"
)
_OLD_CELL = re.compile(
    r"^\s{0,4}(?P<path>[~/.\w][^\s<>|]{0,1000}\.py|<ipython-input-[\w-]{1,60}>) in (?P<function>[\w.<>]{1,200})(?:\(|$|\s)"
)
# A frame whose beginning was left on the screen.
_CUT_FRAME = re.compile(r"^\s{0,12}[\\/]?(?P<path>[^\s'\":]{2,300}\.py)['\"], line (?P<line>\d{1,9}), in (?P<function>\S{1,200})$")
_HEAD = re.compile(r"Traceback \(most recent call last\)")
# A notebook writes the class of an error over its traceback: ``ImportError      Traceback (most recent call last)``.
_HEADED = re.compile(r"^\s{0,4}([A-Z]\w{2,60}(?:Error|Exception))\s{1,80}Traceback ")
_IMPORTS = re.compile(
    r"^(?:from (?P<module>[A-Za-z_][\w.]{0,200}) import (?P<names>[^#(]{1,200})|import (?P<whole>[A-Za-z_][\w.]{0,200})\s*(?:as \w+)?$)"
)
_ARROW = re.compile(r"^\s{0,8}(?:-{1,6}>|❱)\s{0,8}(\d{1,9})\s?(.*)$")
_NAME = r"(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80}"
_ERROR = re.compile(
    r"^(?P<kind>(?:[A-Za-z_]\w{0,80}\.){0,8}_?[A-Z]\w{0,80}(?:Error|Exception|Exit|Interrupt|"
    r"Failure|Timeout|Warning|Invalid|Unsupported|NotFound|Violation|VersionConflict)"
    r"|(?:StopIteration|GatedRepo|EntryNotFound|Exception|EOFError|OSError))(?:\s?[:\uff1a] ?(?P<message>.*)|\s{0,4})$"
)
# The last line of a traceback may be of a class with any name.
_ANY_ERROR = re.compile(rf"^(?P<kind>{_NAME})(?:: (?P<message>.*)|:?\s{{0,4}})$")
_QUOTED_ERROR = re.compile(
    r"(?<![\w.])(?P<kind>(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Z]\w{0,80}(?:Error|Exception)|"
    r"CUDA error|OutOfMemoryError)\b['\"`*]{0,3}: ?`?(?P<message>\S.{0,1500})"
)
# What a validator raised, in pydantic's words.
_PYDANTIC = re.compile(r"^(?:(?P<value>Value error)|Assertion failed), (?P<message>.{8,2000}?)(?: \[type=\w+, input_value=.*)?$")
_CHAIN = re.compile(r"(During handling of the above exception|The above exception was the direct cause)")
# What goes on behind the first line of a message, and what ends it.
_STOPS = re.compile(
    r"^(?:Traceback |During handling|The above exception|\s{0,12}File \"|```|\[\d{4}-|"
    r"\d{4}-\d\d-\d\d|\{'|#{1,6} |-{5,}|={5,}|\*{5,}|[IWEF]\d{4} |wandb:|\$ |>>> |\(\w+\) "
    r"|\[W)"
)
# A line that states a version is of the report around an error; a number under an object that was printed (an optimizer's
# ``    lr: 0.1``) is of the message, and so is what tiktoken states of itself in it: ``version: 0.9.0 (are you on latest?)``.
_VERSION = re.compile(r"^(?! {4,}\w)(?!.{1,80}\(are you on latest\?\))[-*\s]{0,4}[A-Za-z][\w ./()?-]{1,40}\s{0,2}(?::|==?|@)\s{0,3}v?\d")
_MOST_MESSAGE_LINES, _LONGEST_MESSAGE = 14, 2500
_MOST_NEAR, _LONGEST_NEAR = 12, 300
_MOST_FRAMES, _MOST_FAILURES = 400, 200
# Errors that say no more than that another process had one.
_WRAPPERS = re.compile(
    r"ChildFailedError|CalledProcessError|ProcessRaisedException|ProcessExitedException|"
    r"RayTaskError|RayActorError|SystemExit|KeyboardInterrupt"
    r"|BrokenPipeError|ConnectionResetError|SignalException|HYDRA|DistBackendError|DistStoreError|"
    r"DistNetworkError|TimeoutExpired|CancelledError|DatasetGenerationError"
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame. ``package`` is the import name of what the file belongs to; empty for the user's own code; ``text`` the line of code."""

    path: str
    line: int | None
    function: str
    package: str
    text: str = ""
    module: str = ""


@dataclass(frozen=True, slots=True)
class Failure:
    """One error: ``kind`` is its class without the module (empty where only the message was pasted), ``message`` on one line.

    ``line`` is where the log has it, from 1.

    ``frames`` go from the outermost to the innermost; none where somebody quoted the error alone. ``near`` are the lines right before it
    that are none of these: code that somebody pasted, the cell of a notebook. ``home`` is the module of its class, where it was printed.
    """

    kind: str
    message: str
    line: int
    frames: tuple[Frame, ...] = ()
    chained: bool = False
    near: str = ""
    home: str = ""

    @property
    def told(self) -> str:
        """The error as Python ends a traceback; its message alone where nobody wrote of which class it is."""
        return ": ".join(filter(None, (self.kind, self.message)))

    @property
    def packages(self) -> tuple[str, ...]:
        """The import names of the packages on the way, innermost first."""
        return tuple(dict.fromkeys(frame.package for frame in reversed(self.frames) if frame.package))

    @property
    def raised_in(self) -> str:
        """The package of the innermost frame that is not Python's own; empty for the user's code or where no frame was printed."""
        return next((frame.package for frame in reversed(self.frames) if frame.package), "")

    @property
    def warns(self) -> bool:
        """Whether it is a warning, after which the run went on: one that a traceback shows to be raised ended it."""
        return self.kind.endswith("Warning") and not (self.frames and self.frames[-1].text.startswith("raise "))

    @property
    def wraps(self) -> bool:
        """Whether it only tells of an error in another process."""
        return _WRAPPERS.search(self.kind) is not None


class _Reading:
    """The state between the first frame of a traceback and the end of its message."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.failures: list[Failure] = []
        self.wants_code = False
        self.open = False
        self.chained = False
        self.message: list[str] = []
        self.error: tuple[str, int] | None = None
        self.near: deque[str] = deque(maxlen=_MOST_NEAR)

    def finish(self) -> None:
        if self.error is not None and len(self.failures) < _MOST_FAILURES:
            kind, line = self.error
            words = " ".join(" ".join(self.message).split())[:_LONGEST_MESSAGE]
            frames, near = tuple(self.frames[-_MOST_FRAMES:]), "\n".join(self.near)
            self.failures.append(Failure(kind.rpartition(".")[2], words, line, frames, self.chained, near, kind.rpartition(".")[0]))
        if self.error is not None:
            self.frames, self.chained = [], False
            self.near.clear()
        self.error, self.message, self.open = None, [], False

    def begin(self, kind: str, message: str, line: int) -> None:
        self.error, self.message, self.open = (kind, line), [message], True


def read_failures(lines: Iterable[tuple[int, str]]) -> tuple[Failure, ...]:
    """The errors of a log, in its order, from lines as ``bare_line`` makes them, each with its number."""
    reading = _Reading()
    inside = False
    headed = ""
    number = 0
    for number, line in lines:
        if (head := _HEAD.search(line)) is not None:
            reading.finish()
            reading.frames, reading.wants_code, inside = [], False, True
            headed = found[1] if (found := _HEADED.match(line)) is not None else ""
            behind = line[head.end() :]
            if (ended := _read_error(behind, inside=False)) is not None:
                # A notebook's traceback that was pasted as one line.
                reading.near.append(behind[:_LONGEST_NEAR])
                reading.begin(ended[0], ended[1], number)
            continue
        if _CHAIN.search(line):
            reading.finish()
            reading.chained = True
            continue
        frame = _read_frame(line)
        if frame is not None:
            if reading.open:
                reading.finish()
            reading.frames.append(frame)
            reading.wants_code, inside = True, True
            continue
        if reading.wants_code and _take_code(reading, line):
            reading.near.append(line[:_LONGEST_NEAR])
            continue
        if reading.open and _goes_on(reading, line):
            reading.message.append(line.strip())
            continue
        reading.finish()
        error = _read_error(line, inside=inside and bool(reading.frames))
        if error is not None:
            if " import " in (before := line.partition(error[0])[0]):
                reading.near.append(before[:_LONGEST_NEAR])  # pasted in one line with the error of it
            reading.begin(error[0], error[1], number)
            inside, reading.wants_code = False, False
        elif line.strip():
            reading.near.append(line[:_LONGEST_NEAR])
    reading.finish()
    told = _told_by_code(headed, reading.frames[-1].text) if reading.frames else ""
    if not reading.failures and (told or any(frame.package for frame in reading.frames)):
        # What was pasted ends before the error itself.
        kind, frames = headed if told else "", tuple(reading.frames[-_MOST_FRAMES:])
        reading.failures.append(Failure(kind, told, number, frames, near="\n".join(reading.near)))
    return tuple(_without_repeats(reading.failures))


def _told_by_code(kind: str, code: str) -> str:
    """What an error says whose class stands at the head of a notebook's traceback, and whose end was not pasted: what its line imports."""
    found = _IMPORTS.match(code)
    if found is None or kind not in ("ModuleNotFoundError", "ImportError"):
        return ""
    module, names = found["module"] or found["whole"], [one.strip() for one in (found["names"] or "").split(",")]
    if kind == "ModuleNotFoundError":
        return f"No module named '{module}'"
    return f"cannot import name '{names[0]}' from '{module}'" if len(names) == 1 and re.fullmatch(r"\w+", names[0]) else ""


def _read_frame(line: str) -> Frame | None:
    if ".py" not in line and "File " not in line and " In" not in line and "nput" not in line and "<" not in line:
        return None
    for pattern in (_FRAME, _RICH, _CELL, _OLD_CELL, _CUT_FRAME):
        found = pattern.match(line)
        if found:
            groups = found.groupdict()
            if groups.get("cell"):
                return Frame("<notebook>", int(groups["at"]) if groups.get("at") else None, "", "")
            path, at = groups["path"], groups.get("line")
            owner, module = owner_of(path)
            return Frame(path, None if at is None else int(at), (groups.get("function") or "").partition("(")[0], owner, module=module)
    return None


def _take_code(reading: _Reading, line: str) -> bool:
    """The source line under a frame; of notebooks and boxes the one that the arrow points at."""
    arrow = _ARROW.match(line)
    last = reading.frames[-1]
    if arrow is not None:
        reading.frames[-1] = Frame(last.path, int(arrow[1]), last.function, last.package, arrow[2].strip()[:300], last.module)
        return True
    if re.match(r"^\s{0,8}\d{1,9}(?:\s|$)", line):
        return True
    # Modules that are frozen into Python have no line to show.
    if (last.text or last.path.startswith("<frozen ")) and _ERROR.match(line.strip()):
        return False  # a traceback that is indented as a whole, as pip shows those of builds
    if line[:2] in ("  ", "\t") and line.strip():
        if not last.text and not re.match(r"^[\s~^]{1,}$", line):
            reading.frames[-1] = Frame(last.path, last.line, last.function, last.package, line.strip()[:300], last.module)
        return True
    return not line.strip()


def _goes_on(reading: _Reading, line: str) -> bool:
    if not line.strip() or len(reading.message) >= _MOST_MESSAGE_LINES or _STOPS.match(line) or _VERSION.match(line):
        return False
    return _ERROR.match(line) is None


def _read_error(line: str, *, inside: bool) -> tuple[str, str] | None:
    text = line.strip().strip("`*")
    if (said := _PYDANTIC.match(text)) is not None:
        return ("ValueError" if said["value"] else "AssertionError"), said["message"]
    found = _ERROR.match(text)
    if found is None and inside and not line.startswith(" "):
        found = _ANY_ERROR.match(text)
    if found is None:
        found = _QUOTED_ERROR.search(line)
        before = line[found.start() - 1 : found.start()] if found is not None else ""
        if found is not None and before in ("'", '"', "`") and before:
            return found["kind"], found["message"].partition(before if before != "'" else "\n")[0]
    return None if found is None else (found["kind"], (found["message"] or "").strip("`"))


def _without_repeats(failures: Sequence[Failure]) -> list[Failure]:
    """Each error once: what several ranks, or a title and a traceback, tell alike. The one with frames stays."""
    kept: dict[tuple[str, str], Failure] = {}
    for failure in failures:
        key = (failure.kind, failure.message[:120])
        known = kept.get(key)
        if known is None or (not known.frames and failure.frames):
            kept.pop(key, None)
            kept[key] = failure
    return list(kept.values())


def decisive(failures: Sequence[Failure]) -> Failure | None:
    """The error that ended the run: the last one that is an error, has frames if any has, and is no tale of another process."""
    errors = [one for one in failures if not one.warns]
    # What is torn down after an error fails once more, and nobody waits for it.
    errors = [one for one in errors if not (one.frames and one.frames[-1].function == "__del__")] or errors
    own = [one for one in errors if not one.wraps] or errors
    framed = [one for one in own if one.frames] or own
    return framed[-1] if framed else None
