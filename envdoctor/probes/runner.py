"""One child in the patient's interpreter: started, listened to, and ended whole, whatever it does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from envdoctor.records import dataclass

BOOTSTRAP = Path(__file__).parent / "children" / "bootstrap.py"

_TAIL_BYTES = 8192
_RESULT_BYTES = 1 << 20
_POLL_SECONDS = 0.05
_GRACE_SECONDS = 1.0
_MARKER = "ENVDOCTOR_PROBE"
_SIGNALS = {
    "SIGSEGV": "segmentation fault",
    "SIGABRT": "abort",
    "SIGILL": "illegal instruction: a binary was built for another processor",
    "SIGBUS": "bus error",
    "SIGFPE": "arithmetic error",
    "SIGKILL": "kill, which is how the kernel ends a process when memory runs out",
    "SIGTERM": "terminated from outside",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one child: ``measured``, or ``failure`` in plain words; never both."""

    measured: Mapping[str, object] | None
    failure: str | None
    seconds: float


def run_child(
    interpreter: Path,
    script: Path,
    params: Mapping[str, object],
    *,
    timeout: float,
    memory_bytes: int | None,
    environ: Mapping[str, str] | None = None,
    told: Callable[[str], None] | None = None,
) -> Outcome:
    """Run ``run(params, stage)`` of a script in another interpreter and return what it measured.

    The child has its own session, an empty directory to work in that is removed afterwards, no
    network asked of the Hugging Face libraries, and at most ``timeout`` seconds and ``memory_bytes``
    of private memory (None: no cap; on Windows and macOS the system does not enforce one).
    When this returns or raises, the child and its process group are gone; on Linux also descendants
    that left the group, unless they cleared their environment.

    ``params`` must be JSON. ``environ`` replaces this process's environment. ``told`` hears many times a second what the child does,
    in its own words as one plain line, "" until it says so.
    """
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="envdoctor-probe-", ignore_cleanup_errors=True) as directory:
            child = _Child(script, params, timeout, memory_bytes, Path(directory))
            measured, failure = child.run(interpreter, os.environ if environ is None else environ, told)
    except OSError as error:
        measured, failure = None, f"cannot start {plain(str(interpreter))}: {error.strerror or plain(str(error))}"
    return Outcome(measured, failure, round(time.monotonic() - started, 3))


class _Child:
    def __init__(self, script: Path, params: Mapping[str, object], timeout: float, memory_bytes: int | None, directory: Path) -> None:
        self.timeout = timeout
        self.memory_bytes = memory_bytes
        self.directory = directory
        self.work = directory / "work"
        self.work.mkdir()
        self.settings = {"script": str(script.absolute()), "params": dict(params), "memory_bytes": memory_bytes, "timeout": timeout}
        self.mark = uuid4().hex

    def run(
        self, interpreter: Path, environ: Mapping[str, str], told: Callable[[str], None] | None
    ) -> tuple[Mapping[str, object] | None, str | None]:
        deadline = time.monotonic() + self.timeout
        with _Pipes() as pipes:
            process = self._start(interpreter, pipes, environ)
            try:
                pipes.listen()
                timed_out = not self._ended(process, pipes.channel, deadline, told)
            finally:
                _end_whole(process, f"{_MARKER}={self.mark}")
            pipes.finish()
            channel = pipes.channel
        if channel.measured is not None:
            return channel.measured, None
        return None, self._failure(process.returncode, timed_out, channel, pipes.said())

    def _start(self, interpreter: Path, pipes: _Pipes, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
        settings = self.directory / "settings.json"
        options, result = _inherit(pipes.result_writer)
        settings.write_text(json.dumps({**self.settings, "result": result}), encoding="utf-8")
        return subprocess.Popen(
            [str(interpreter.absolute()), str(BOOTSTRAP), str(settings)],
            stdin=pipes.lifeline_reader,
            stdout=pipes.output_writer,
            stderr=pipes.errors_writer,
            cwd=self.work,
            env=self._environment(environ),
            **options,
        )

    def _environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The patient's environment, so that it computes as it would for its user, without network and without traces."""
        kept = {name: value for name, value in environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        here = str(self.work)
        return kept | {
            _MARKER: self.mark,
            "HF_HOME": str(self.directory / "hf"),
            "HF_MODULES_CACHE": str(self.directory / "hf" / "modules"),
            "TRITON_CACHE_DIR": str(self.directory / "triton"),
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONHASHSEED": "0",
            "TMPDIR": here,
            "TEMP": here,
            "TMP": here,
        }

    def _ended(self, process: subprocess.Popen[bytes], channel: _Channel, deadline: float, told: Callable[[str], None] | None) -> bool:
        """Wait for an answer or an exit; False when the time is up first."""
        while not channel.answered.wait(min(_POLL_SECONDS, max(0.0, deadline - time.monotonic()))):
            if _exited(process):
                return True
            if time.monotonic() >= deadline:
                return False
            if told is not None:
                told(plain(channel.stage))
        return True

    def _failure(self, returncode: int, timed_out: bool, channel: _Channel, said: str) -> str:
        during = f" while {plain(channel.stage)}" if channel.stage else ""
        if channel.garbage is not None:
            return f"wrote something else than a result to the result pipe{during}: {channel.garbage}"
        if channel.error is not None:
            return self._error(channel.error, during)
        if timed_out:
            return f"timed out after {self.timeout:g} s{during}"
        if returncode < 0:
            return f"killed by signal {-returncode} ({_signal_name(-returncode)}){during}" + (f": {said}" if said else "")
        return f"exited with status {returncode} without a result{during}" + (f": {said}" if said else "")

    def _error(self, error: Mapping[str, object], during: str) -> str:
        kind, message, module = (plain(str(error.get(key) or "")) for key in ("type", "message", "module"))
        if kind == "ModuleNotFoundError" and module:
            return f"no module named {module}" + ("" if during.endswith(f" importing {module}") else during)
        if error.get("import") is True:
            return f"import failed{during}: {message}"
        if kind == "MemoryError" or "allocate memory" in message:
            cap = "" if self.memory_bytes is None else f" under a cap of {round(self.memory_bytes / 2**30, 2):g} GiB"
            return f"out of memory{cap}{during}" + (f": {message}" if message else "")
        return f"{kind}{during}" + (f": {message}" if message else "")


class _Pipes:
    """Output, errors and result of the child, drained by threads so that neither side waits for the other, and its lifeline."""

    def __init__(self) -> None:
        self._readers: list[_Reader] = []
        self._open: list[int] = []
        self.channel: _Channel

    def __enter__(self) -> _Pipes:
        output, self.output_writer = self._pair()
        errors, self.errors_writer = self._pair()
        result, self.result_writer = self._pair()
        self.lifeline_reader, self._lifeline = self._pair()
        self._output, self._errors, self.channel = _Tail(output), _Tail(errors), _Channel(result)
        self._readers = [self._output, self._errors, self.channel]
        return self

    def _pair(self) -> tuple[int, int]:
        pair = os.pipe()
        self._open += pair
        return pair

    def listen(self) -> None:
        for writer in (self.output_writer, self.errors_writer, self.result_writer, self.lifeline_reader):
            self._close(writer)
        for reader in self._readers:
            self._open.remove(reader.descriptor)
            reader.start()

    def finish(self) -> None:
        """Read what is left; the wait is bounded because a process that got away may hold the other end."""
        deadline = time.monotonic() + _GRACE_SECONDS
        for reader in self._readers:
            reader.join(max(0.0, deadline - time.monotonic()))

    def said(self) -> str:
        """The last line on standard error, else on standard output."""
        return self._errors.last_line() or self._output.last_line()

    def _close(self, descriptor: int) -> None:
        self._open.remove(descriptor)
        os.close(descriptor)

    def __exit__(self, *_: object) -> None:
        for descriptor in list(self._open):
            self._close(descriptor)


class _Reader(threading.Thread):
    """Reads one pipe to its end and closes it."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(daemon=True)
        self.descriptor = descriptor

    def run(self) -> None:
        try:
            while chunk := os.read(self.descriptor, 65536):
                self.take(chunk)
        finally:
            os.close(self.descriptor)

    def take(self, chunk: bytes) -> None:
        raise NotImplementedError


class _Tail(_Reader):
    """Keeps the end of what was printed."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self._tail = b""

    def take(self, chunk: bytes) -> None:
        self._tail = (self._tail + chunk)[-_TAIL_BYTES:]

    def last_line(self) -> str:
        lines = self._tail.decode("utf-8", "replace").splitlines()
        return plain(next((line for line in reversed(lines) if line.strip()), ""))


class _Channel(_Reader):
    """Understands the JSON lines of the child; ``answered`` is set by the first that ends the run."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor)
        self.answered = threading.Event()
        self.stage = ""
        self.measured: Mapping[str, object] | None = None
        self.error: Mapping[str, object] | None = None
        self.garbage: str | None = None
        self._rest = b""
        self._read = 0

    def take(self, chunk: bytes) -> None:
        if self.answered.is_set():
            return
        self._read += len(chunk)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._message(line)
            if self.answered.is_set():
                return
        if self._read > _RESULT_BYTES:
            self._refuse(f"more than {_RESULT_BYTES >> 20} MiB")

    def run(self) -> None:
        super().run()
        if self._rest and not self.answered.is_set():
            self._message(self._rest)

    def _message(self, line: bytes) -> None:
        try:
            message = json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            return self._refuse(plain(line[:80].decode("utf-8", "replace")))
        match message:
            case {"stage": str(stage)}:
                self.stage = stage
                return None
            case {"measured": dict(measured)}:
                self.measured = measured
            case {"error": dict(error)}:
                self.error = error
            case _:
                return self._refuse(plain(line[:80].decode("utf-8", "replace")))
        self.answered.set()
        return None

    def _refuse(self, what: str) -> None:
        self.garbage = what
        self.answered.set()


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def plain(text: str, limit: int = 300) -> str:
    """One line of printable text: what a child says may hold terminal escapes."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return "of no known name"
    return _SIGNALS.get(name, name)


if sys.platform == "win32":
    import msvcrt

    def _inherit(descriptor: int) -> tuple[dict[str, Any], int]:
        handle = msvcrt.get_osfhandle(descriptor)
        os.set_handle_inheritable(handle, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})
        return {"startupinfo": startup, "creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}, handle

    def _exited(process: subprocess.Popen[bytes]) -> bool:
        return process.poll() is not None

    def _end_whole(process: subprocess.Popen[bytes], mark: str) -> None:
        process.kill()
        process.wait()

else:

    def _inherit(descriptor: int) -> tuple[dict[str, Any], int]:
        return {"pass_fds": (descriptor,), "start_new_session": True}, descriptor

    def _exited(process: subprocess.Popen[bytes]) -> bool:
        # Not reaped yet, so that its number cannot become another group's before the group is killed.
        if hasattr(os, "waitid"):
            return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None
        return process.poll() is not None

    def _end_whole(process: subprocess.Popen[bytes], mark: str) -> None:
        """Kill the child's process group and reap the child, then kill descendants that made a session of their own."""
        # Either error says that nobody is left in it; macOS answers EPERM when only zombies are.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for _ in range(5):
            escaped = _marked(mark.encode("ascii"))
            for pid in escaped:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if not escaped:
                return

    def _marked(mark: bytes) -> list[int]:
        """Processes whose environment carries the mark; Linux tells, other systems do not."""
        try:
            numbers = [name for name in os.listdir("/proc") if name.isdigit()]
        except OSError:
            return []
        found = []
        for number in numbers:
            try:
                with open(f"/proc/{number}/environ", "rb") as stream:
                    variables = stream.read(1 << 20).split(b"\0")
            except OSError:
                continue
            if mark in variables:
                found.append(int(number))
        return found
