"""``envdoctor probe`` as people run it: interrupted, watched on a terminal, and against patients in odd places."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.probes.test_probe_runner import Watch, old_pythons

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals, terminals and FIFOs are POSIX")

SLEEPS = """
import os, signal
watch = os.open(os.environ["WATCH"], os.O_WRONLY)
os.write(watch, b"x")
signal.pause()
"""
IGNORES = "import signal\nfor one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(one, signal.SIG_IGN)\n"
FORKS = "import os\nif os.fork() == 0:\n    os.setsid()\n    import signal; signal.pause()\n"


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "envdoctor", "probe", *words]


def environment(directory: Path, torch: str) -> dict[str, str]:
    (directory / "torch.py").write_text(torch)
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join((str(directory), root))
    return {**os.environ, "PYTHONPATH": path, "TMPDIR": str(directory), "WATCH": str(directory / "watch")}


@pytest.mark.parametrize("before", ["", IGNORES, FORKS], ids=["sleeps", "ignores signals", "forks"])
def test_ctrl_c_ends_it_and_what_it_started(tmp_path: Path, before: str) -> None:
    environ = environment(tmp_path, before + SLEEPS)
    watch = Watch(tmp_path / "watch")
    words = command("lora-step", "padded-batch", "--python", sys.executable)
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as doctor:
        assert watch.seen()
        os.kill(doctor.pid, signal.SIGINT)
        output, errors = doctor.communicate(timeout=60)
    assert watch.gone(within=0)
    assert (doctor.returncode, output, errors) == (130, b"", b"interrupted\n")
    assert not list(tmp_path.glob("envdoctor-probe-*"))
    os.close(watch.descriptor)


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_a_terminal_shows_what_is_done(tmp_path: Path, term: str) -> None:
    """The line is written anew and gone in the end; a terminal that cannot do that, and a pipe, show nothing of it."""
    import pty

    environ = environment(tmp_path, SLEEPS) | {"TERM": term, "COLUMNS": "60", "LINES": "24"}
    watch = Watch(tmp_path / "watch")
    master, slave = pty.openpty()
    words = command("lora-step", "--python", sys.executable)
    with subprocess.Popen(words, env=environ, stdin=slave, stdout=subprocess.PIPE, stderr=slave, start_new_session=True) as doctor:
        os.close(slave)
        assert watch.seen()
        shown = os.read(master, 1 << 16) if term == "xterm" else b""
        while term == "xterm" and b"importing torch" not in shown:
            shown += os.read(master, 1 << 16)
        os.kill(doctor.pid, signal.SIGINT)
        doctor.communicate(timeout=10)
    try:
        while piece := os.read(master, 1 << 16):
            shown += piece
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(master)
    os.close(watch.descriptor)
    told = shown.decode().replace("\r\n", "\n")
    if term == "dumb":
        assert told == "interrupted\n"
        return
    lines = told.split("\r\x1b[K")
    assert lines[:2] == ["", "probe 1/1 lora-step (takes 3 to 20 s on one CPU core, nearl"]
    assert "probe 1/1 lora-step: importing torch, 0 s" in lines
    assert all(len(line) < 60 for line in lines)
    assert lines[-1] == "interrupted\n"


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Virtual environments of this Python and of the oldest and newest at hand, in a place with spaces and letters of another alphabet."""
    place = tmp_path_factory.mktemp("patients") / "mein Ordner für Übungen 模型"
    place.mkdir()
    newest = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob("versions/3.13.*/bin/python")
    made = []
    for number, python in enumerate([sys.executable, *old_pythons()[:1], *map(str, newest)]):
        made.append(place / f"umgebung {number}")
        subprocess.run([python, "-m", "venv", "--without-pip", str(made[-1])], check=True)
    return made


@pytest.mark.large
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_patient_in_an_odd_place_without_torch(tmp_path: Path, patients: list[Path], locale: str) -> None:
    names = ["lora-step", "tokenizer", "numpy-abi", "extension-import", "kernel-image"]
    place = tmp_path / "tmp é"
    place.mkdir()
    environ = {**os.environ, "TMPDIR": str(place), "LC_ALL": locale, "COLUMNS": "80"}
    environ.pop("PYTHONPATH", None)
    shutil.copytree(Path(__file__).parents[2] / "fixtures" / "llama-2-7b-hf", tmp_path / "ein Modell")
    for patient in patients:
        words = command(*names, "--python", str(patient), "--format", "json", "--set", f"model.path={tmp_path / 'ein Modell'}")
        done = subprocess.run(words, env=environ, capture_output=True, check=False, timeout=60, cwd=Path(__file__).parents[2])
        assert done.returncode == 0, done.stderr
        told = {one["name"]: (one["verdict"], one["reason"]) for one in json.loads(done.stdout)["probes"]}
        assert told["lora-step"] == ("inconclusive", "no module named torch")
        assert told["tokenizer"] == ("inconclusive", "no module named transformers")
        assert told["kernel-image"][1].startswith("no GPU")
        assert {ruling for ruling, _ in told.values()} == {"inconclusive"}
    assert not list(place.iterdir())
