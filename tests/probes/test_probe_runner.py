"""Children that really crash, hang, flood and fork."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envdoctor.probes.runner import Outcome, plain, run_child

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals, process groups and FIFOs are POSIX")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="Linux enforces the cap and shows environments of processes")

RESULT_PIPE = "import json, sys; result = json.load(open(sys.argv[1]))['result']\n"


class Watch:
    """A FIFO that a child opens: a byte says that it is there, the end of file that it is gone."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def _read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self.descriptor], [], [], seconds)
        assert ready, "the process neither wrote nor ended"
        return os.read(self.descriptor, 1)

    def seen(self) -> bool:
        return self._read(60) == b"x"

    def gone(self, within: float = 60) -> bool:
        return self._read(within) == b""


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    watch = Watch(tmp_path / "watch")
    yield watch
    os.close(watch.descriptor)


def write(directory: Path, body: str, *, before: str = "") -> Path:
    """A probe's script whose ``run`` has that body."""
    path = directory / "script.py"
    path.write_text(before + "import os, sys, time, signal\ndef run(params, stage):\n" + textwrap.indent(textwrap.dedent(body), "    "))
    return path


def run(
    directory: Path,
    body: str,
    *,
    before: str = "",
    timeout: float = 30.0,
    memory_bytes: int | None = None,
    python: str = sys.executable,
    told: Callable[[str], None] | None = None,
    **params: object,
) -> Outcome:
    return run_child(Path(python), write(directory, body, before=before), params, timeout=timeout, memory_bytes=memory_bytes, told=told)


class Clock:
    """The runner's clock, which goes forward an hour as soon as the child says that it hangs: nobody has to wait for it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def told(self, stage: str) -> None:
        if stage.startswith("hanging"):
            self.ahead = 3600.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("envdoctor.probes.runner.time", clock)
    return clock


def test_a_measurement_comes_back_whole(tmp_path: Path) -> None:
    outcome = run(tmp_path, "return {'given': params, 'deep': [1, {'é': None}]}", number=3, text="ü")
    assert outcome.measured == {"given": {"number": 3, "text": "ü"}, "deep": [1, {"é": None}]}
    assert outcome.failure is None
    assert outcome.seconds > 0


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        ("import ctypes; ctypes.string_at(0)", "killed by signal 11 (segmentation fault)"),
        (
            "stage('importing torch'); os.kill(os.getpid(), signal.SIGSEGV)",
            "killed by signal 11 (segmentation fault) while importing torch",
        ),
        ("os.abort()", "killed by signal 6 (abort)"),
        ("os.kill(os.getpid(), signal.SIGILL)", "killed by signal 4 (illegal instruction: a binary was built for another processor)"),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            "killed by signal 9 (kill, which is how the kernel ends a process when memory runs out)",
        ),
        ("print('terminate called', file=sys.stderr, flush=True); os.abort()", "killed by signal 6 (abort): terminate called"),
        ("sys.exit(0)", "exited with status 0 without a result"),
        ("os._exit(3)", "exited with status 3 without a result"),
        ("print('on the way\\n\\x1b[31mred\\n\\n', flush=True); os._exit(3)", "exited with status 3 without a result: [31mred"),
        ("import no_such_package", "no module named no_such_package"),
        ("stage('importing peft'); import peft_missing", "no module named peft_missing while importing peft"),
        ("stage('importing peft_missing'); import peft_missing", "no module named peft_missing"),
        ("raise ImportError('libcudart.so.12: cannot open')", "import failed: libcudart.so.12: cannot open"),
        ("stage('training step 1'); raise ValueError('two\\nlines')", "ValueError while training step 1: two lines"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return {'loss': float('nan')}", "ValueError: Out of range float values are not JSON compliant"),
        ("return {'model': stage}", "TypeError: Object of type function is not JSON serializable"),
        ("return [1]", 'wrote something else than a result to the result pipe: {"measured": [1]}'),
    ],
)
def test_every_end_has_its_words(tmp_path: Path, body: str, failure: str) -> None:
    outcome = run(tmp_path, body)
    assert outcome.measured is None
    assert outcome.failure is not None
    # Python 3.12 and later append the value to some of these messages.
    assert outcome.failure == failure or outcome.failure.startswith(failure + ":")


@pytest.mark.parametrize(
    "body",
    [
        "signal.pause()",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()",
        "import ctypes; ctypes.PyDLL(None).pause()",  # holds the interpreter lock for ever
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "while True: print('x' * 1000)",
    ],
)
def test_a_hang_ends_at_the_timeout(tmp_path: Path, clock: Clock, body: str) -> None:
    outcome = run(tmp_path, f"stage('hanging in {len(body)}')\n{body}", timeout=1800, told=clock.told)
    assert outcome.failure == f"timed out after 1800 s while hanging in {len(body)}"
    assert outcome.seconds > 3600


@pytest.mark.large
def test_a_flood_of_output_neither_blocks_nor_fills_memory(tmp_path: Path) -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    body = """
        block = b'x' * 1000000
        for _ in range(200):
            os.write(1, block)
        for _ in range(50):
            os.write(2, block)
        return {'done': True}
    """
    assert run(tmp_path, body).measured == {"done": True}
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 64 * 1024


def test_what_libraries_print_is_never_taken_for_the_result(tmp_path: Path) -> None:
    outcome = run(tmp_path, "print('{\"measured\": {\"forged\": true}}', flush=True); return {'true': 1}")
    assert outcome.measured == {"true": 1}


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"null\n",
        b'{"measured": 3}\n',
        b'{"measured": {"loss": NaN}}\n',
        b'{"stage": 1}\n',
        b"[" * 200_000 + b"\n",
        b"\n",
        b'{"measured": {"cut": ',
        b"x" * 3_000_000,
    ],
    ids=lambda garbage: repr(garbage[:30]),
)
def test_garbage_on_the_result_pipe_is_no_result(tmp_path: Path, garbage: bytes) -> None:
    (tmp_path / "garbage").write_bytes(garbage)
    body = """
        rest = open(params['path'], 'rb').read()
        while rest:
            rest = rest[os.write(result, rest):]
        os._exit(0)
    """
    outcome = run(tmp_path, body, before=RESULT_PIPE, path=str(tmp_path / "garbage"))
    assert outcome.measured is None
    assert outcome.failure is not None
    assert outcome.failure.startswith("wrote something else than a result to the result pipe: ")
    assert len(outcome.failure) < 400


def test_a_result_given_before_a_crash_stands(tmp_path: Path) -> None:
    body = 'os.write(result, b\'{"measured": {"a": 1}}\\n\'); os.abort()'
    assert run(tmp_path, body, before=RESULT_PIPE).measured == {"a": 1}


def test_a_result_is_enough_even_if_the_child_never_ends(tmp_path: Path) -> None:
    body = 'os.write(result, b\'{"measured": {"a": 1}}\\n\'); signal.pause()'
    # Only the result can end this: nobody would wait for the time to be up.
    outcome = run(tmp_path, body, before=RESULT_PIPE, timeout=3600)
    assert outcome.measured == {"a": 1}


FORKS = {
    "child": "if os.fork() == 0: stay()",
    "child with a session of its own": "if os.fork() == 0: os.setsid(); stay()",
    "grandchild whose parent is gone": "if os.fork() == 0:\n    if os.fork() == 0: os.setsid(); stay()\n    os._exit(0)",
    "other program": "import subprocess\n"
    "subprocess.Popen([sys.executable, '-c', STAY, params['watch'], str(w)], pass_fds=[w], start_new_session=True)",
}
STAY = """
STAY = '''
import os, signal, sys
watch = os.open(sys.argv[1], os.O_WRONLY)
os.write(watch, b"x")
os.write(int(sys.argv[2]), b"x")
signal.pause()
'''
"""


@pytest.mark.parametrize(
    "ending", ["return {'forked': True}", "stage('hanging'); signal.pause()", "os.abort()"], ids=["returns", "hangs", "crashes"]
)
@pytest.mark.parametrize("kind", FORKS)
def test_no_orphan_is_left(tmp_path: Path, watch: Watch, clock: Clock, kind: str, ending: str) -> None:
    if sys.platform != "linux" and kind != "child":
        pytest.skip("a process that left the group is found on Linux only")
    body = """
        r, w = os.pipe()
        def stay():
            sys.argv = ['', params['watch'], str(w)]
            exec(STAY)
    """
    body = textwrap.dedent(body) + FORKS[kind] + "\nos.read(r, 1)\n" + ending
    outcome = run(tmp_path, body, before=STAY, timeout=1800, told=clock.told, watch=str(watch.path))
    assert (outcome.measured == {"forked": True}) == ending.startswith("return")
    assert watch.seen()
    assert watch.gone()


def test_a_process_that_got_away_does_not_hold_up_the_answer(tmp_path: Path, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.probes.runner._GRACE_SECONDS", 0.1)
    body = """
        import subprocess
        r, w = os.pipe()
        away = subprocess.Popen([sys.executable, '-c', STAY, params['watch'], str(w)], pass_fds=[w], start_new_session=True, env={})
        os.read(r, 1)
        return {'pid': away.pid}
    """
    outcome = run(tmp_path, body, before=STAY, timeout=3600, watch=str(watch.path))
    assert outcome.measured is not None
    assert watch.seen()
    pid = outcome.measured["pid"]
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)
    assert watch.gone()
    for thread in threading.enumerate():
        if thread.daemon:
            thread.join(5)
            assert not thread.is_alive()


@pytest.mark.parametrize("body", ["return {}", "os.abort()", "if os.fork() == 0: signal.pause()\nreturn {}"])
def test_neither_zombie_nor_descriptor_nor_directory_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    script = write(tmp_path, body)
    descriptors = set(os.listdir("/dev/fd"))
    for _ in range(3):
        run_child(Path(sys.executable), script, {}, timeout=30, memory_bytes=None)
    assert set(os.listdir("/dev/fd")) == descriptors
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
    assert list(tmp_path.iterdir()) == [script]


@linux_only
@pytest.mark.parametrize(
    "body", ["return {'length': len(bytearray(params['bytes']))}", 'raise RuntimeError("DefaultCPUAllocator: can\'t allocate memory")']
)
def test_memory_is_capped(tmp_path: Path, body: str) -> None:
    outcome = run(tmp_path, body, memory_bytes=512 << 20, bytes=1 << 30)
    assert outcome.failure is not None
    assert outcome.failure.startswith("out of memory under a cap of 0.5 GiB")


@linux_only
def test_reserved_addresses_do_not_count_as_memory(tmp_path: Path) -> None:
    """CUDA reserves addresses without rights to them; the cap must not be about those."""
    body = """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        address = libc.mmap(None, 64 << 30, 0, 0x22 | 0x4000, -1, 0)  # PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        return {'reserved': address != ctypes.c_void_p(-1).value}
    """
    assert run(tmp_path, body, memory_bytes=512 << 20).measured == {"reserved": True}


def test_the_child_sees_the_patients_environment_without_network(tmp_path: Path) -> None:
    names = [
        "CUDA_VISIBLE_DEVICES",
        "HF_HUB_OFFLINE",
        "TRANSFORMERS_OFFLINE",
        "TOKENIZERS_PARALLELISM",
        "PYTHONHASHSEED",
        "PYTHONDONTWRITEBYTECODE",
        "MINE",
    ]
    body = """
        import resource, tempfile
        return {
            'environ': {name: os.environ.get(name) for name in params['names']},
            'cwd': os.getcwd(),
            'files': os.listdir('.'),
            'stdin': sys.stdin.read(),
            'temporary': tempfile.gettempdir(),
            'path': sys.path[:1],
            'traces': [os.environ[name] for name in ('HF_HOME', 'HF_MODULES_CACHE', 'TRITON_CACHE_DIR')],
            'cores': resource.getrlimit(resource.RLIMIT_CORE)[0],
        }
    """
    environ = {
        "CUDA_VISIBLE_DEVICES": "1,0",
        "HF_HUB_OFFLINE": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_MODULES_CACHE": "/home/mine/modules",
        "MINE": "kept",
        "PATH": os.environ.get("PATH", ""),
    }
    outcome = run_child(Path(sys.executable), write(tmp_path, body), {"names": names}, timeout=30, memory_bytes=None, environ=environ)
    assert outcome.measured is not None
    assert outcome.measured["environ"] == dict(zip(names, ["1,0", "1", "1", "false", "0", None, "kept"], strict=True))
    assert outcome.measured["files"] == []
    assert outcome.measured["stdin"] == ""
    assert outcome.measured["cores"] == 0
    assert outcome.measured["temporary"] == outcome.measured["cwd"]
    assert not Path(str(outcome.measured["cwd"])).exists()
    assert isinstance(outcome.measured["traces"], list)
    assert {str(Path(path).parents[-3]) for path in outcome.measured["traces"]} == {str(Path(str(outcome.measured["cwd"])).parents[-3])}
    assert "children" not in str(outcome.measured["path"])


def test_an_interpreter_that_is_none(tmp_path: Path) -> None:
    script = write(tmp_path, "return {}")
    text = tmp_path / "text"
    text.write_text("no program")

    def failure(interpreter: Path) -> str | None:
        return run_child(interpreter, script, {}, timeout=30, memory_bytes=None).failure

    assert failure(tmp_path / "absent") == f"cannot start {tmp_path}/absent: No such file or directory"
    assert failure(text) == f"cannot start {text}: Permission denied"
    assert failure(tmp_path) == f"cannot start {tmp_path}: Permission denied"
    for name, status in (("true", 0), ("false", 1)):
        program = shutil.which(name)
        assert program is not None
        assert failure(Path(program)) == f"exited with status {status} without a result"


def test_a_relative_interpreter_is_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    outcome = run_child(Path("python"), write(tmp_path, "return {'ran': True}"), {}, timeout=30, memory_bytes=None)
    assert outcome.measured == {"ran": True}


def old_pythons() -> list[str]:
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    found = [str(path) for path in sorted(pyenv.glob("versions/3.8.*/bin/python"))] + [shutil.which("python3.8") or ""]
    # A pyenv shim is on the PATH also where it leads nowhere.
    return [path for path in found if path and subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0]


def test_python_3_8_runs_it_all(tmp_path: Path) -> None:
    pythons = old_pythons()
    if not pythons:
        pytest.skip("no CPython 3.8 here")
    outcome = run(tmp_path, "stage('here'); return {'version': list(sys.version_info[:2])}", python=pythons[0], memory_bytes=1 << 30)
    assert outcome.measured == {"version": [3, 8]}
    assert run(tmp_path, "stage('here'); import torch_missing", python=pythons[0]).failure == "no module named torch_missing while here"


DRIVER = """
import sys
from pathlib import Path
from envdoctor.probes.runner import run_child
run_child(Path(sys.executable), Path(sys.argv[1]), {"watch": sys.argv[2]}, timeout=600, memory_bytes=None)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("forks", [False, True])
def test_ctrl_c_or_the_parents_death_ends_the_child(tmp_path: Path, watch: Watch, sent: signal.Signals, forks: bool) -> None:
    body = (
        "if os.fork() == 0: signal.pause()\n" if forks else ""
    ) + "d = os.open(params['watch'], os.O_WRONLY); os.write(d, b'x'); signal.pause()"
    command = [sys.executable, "-c", DRIVER, str(write(tmp_path, body)), str(watch.path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}) as driver:
        assert watch.seen()
        driver.send_signal(sent)
        errors = driver.communicate(timeout=60)[1]
        # Interrupted, the parent ends the child before itself; where it had no time to, the child notices.
        assert watch.gone(within=0 if sent == signal.SIGINT else 60)
    assert driver.returncode == -sent
    assert errors.rstrip().endswith(b"KeyboardInterrupt" if sent == signal.SIGINT else b"")
    if sent == signal.SIGINT:
        assert not list(tmp_path.glob("envdoctor-probe-*"))


def test_text_of_a_child_is_shown_on_one_plain_line() -> None:
    assert plain("a\x1b[31m\tb\n\u202ec\ud800") == "a [31m b c"
    assert plain("é" * 1000, 10) == "é" * 9 + "…"
    assert plain("x" * 10, 10) == "x" * 10
