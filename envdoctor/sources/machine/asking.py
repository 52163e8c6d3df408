"""Asks an interpreter for its version and its directories: the one time that a scan starts anything."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from envdoctor.facts.versions import exact
from envdoctor.records import dataclass

_MOST_OUTPUT = 1 << 20
_OPEN_MARK, _CLOSE_MARK = b"<envdoctor-scan\0", b"\0envdoctor-scan>"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the interpreter said; ``path`` is its path without site, ``user`` and ``site`` what site would add."""

    python: str
    implementation: str
    platform: str
    executable: str
    path: tuple[str, ...]
    user: tuple[str, ...]
    site: tuple[str, ...]


class NoAnswerError(Exception):
    """The interpreter could not be asked; the text says what it did instead."""


def ask(interpreter: Path, environ: Mapping[str, str], timeout_s: float) -> Answer:
    """Start an interpreter for its version and directories.

    Raises:
        NoAnswerError: it cannot be started, does not end in time, or prints something else.
    """
    snippet = Path(__file__).with_name("scan_snippet.py").read_text("utf-8")
    status, output = _run([str(interpreter), "-I", "-S", "-B", "-c", snippet], environ, timeout_s)
    if b"Unknown option: -I" in output:
        status, output = _run([str(interpreter), "-E", "-s", "-S", "-B", "-c", snippet], environ, timeout_s)
    start, end = output.find(_OPEN_MARK), output.rfind(_CLOSE_MARK)
    if start < 0 or end < start:
        shown = output.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        ended = f"ended by signal {-status}" if status < 0 else f"exit status {status}"
        raise NoAnswerError(f"no answer: {ended}, {f'last line printed: {shown!r}' if shown else 'nothing printed'}")
    fields: dict[str, list[str]] = {}
    for part in output[start + len(_OPEN_MARK) : end].split(b"\0"):
        key, _, value = os.fsdecode(part).partition("=")
        fields.setdefault(key, []).append(value)
    try:
        python, implementation, platform, executable = (fields[key][0] for key in ("python", "implementation", "platform", "executable"))
        exact(python)
    except (KeyError, IndexError, ValueError) as error:
        raise NoAnswerError(f"an answer that makes no sense: {error}") from error
    path, user, site = (tuple(fields.get(key, ())) for key in ("path", "user", "site"))
    return Answer(python, implementation, platform, executable, path, user, site)


def _run(command: list[str], environ: Mapping[str, str], timeout_s: float) -> tuple[int, bytes]:
    """Exit status and first MiB of output of a child that may print without end, hang, or leave children of its own.

    Raises:
        NoAnswerError: it cannot be started, or does not end in time.
    """
    import contextlib
    import signal
    import subprocess
    import threading

    try:
        child = subprocess.Popen(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
            start_new_session=True,
        )
    except OSError as error:
        raise NoAnswerError(f"no interpreter that starts: {error.strerror}") from error
    pipe = child.stdout
    assert pipe is not None
    output = bytearray()

    def read() -> None:
        while len(output) < _MOST_OUTPUT and (chunk := pipe.read(1 << 16)):
            output.extend(chunk)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(timeout_s)
    in_time = not reader.is_alive() and len(output) < _MOST_OUTPUT
    if in_time:
        try:
            child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            in_time = False
    if not in_time:
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
        child.kill()
        child.wait()
        reader.join(1.0)
    if not reader.is_alive():
        pipe.close()
    if not in_time:
        did = "no answer: output without end" if len(output) >= _MOST_OUTPUT else f"no answer within {timeout_s:g} s"
        raise NoAnswerError(did)
    return child.returncode, bytes(output)
