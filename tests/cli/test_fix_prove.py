"""``fix --prove``: what is built, what is run there, and what the exit status says of it."""

from __future__ import annotations

import platform
import subprocess
import sys
import tempfile
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from envdoctor.probes.verdict import Verdict
from envdoctor.uv.asking import Call
from envdoctor.uv.environments import Environment, NotBuiltError
from tests.cli.run import Ran, run
from tests.rule_files import REPRODUCTION, write_rule
from tests.rules.test_reproduction import BROKEN, install, interpreter_of

RULE = "library-broken"
SOUND = ""


class Shelf:
    """Builds environments with the peft that is asked for, as it was said of its release."""

    def __init__(self, directory: Path, peft: Mapping[str, str]) -> None:
        self.directory, self.peft = directory, peft
        self.options: tuple[str, ...] = ()
        self.asked: list[tuple[str, ...]] = []

    def builder(self, directory: Path, options: tuple[str, ...]) -> Shelf:
        assert directory.name.startswith("envdoctor-prove-")
        self.options = options
        return self

    def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment:
        self.asked.append(tuple(pins))
        version = dict(pin.split("==") for pin in pins)["peft"]
        if version not in self.peft:
            raise NotBuiltError(f"no wheel of peft {version}")
        home = self.directory / f"built-{len(self.asked)}"
        venv.create(home)
        install(home, "peft", version, self.peft[version])
        return Environment(interpreter_of(home), platform.python_version(), {"peft": version})


def resolve(call: Call) -> subprocess.CompletedProcess[str]:
    """uv, that takes whatever is pinned."""
    lines = [line for line in call.text.splitlines() if "==" in line and not line.startswith("-")]
    return subprocess.CompletedProcess(call.words, 0, "".join(f"{line}\n" for line in lines), "")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("envdoctor.uv.asking._uv", resolve)
    # A place of its own: who proves a remedy beside the tests has folders of the same name.
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "requirements.txt").write_text("peft==0.11.1\n")
    (tmp_path / "pack").mkdir()
    write_rule(tmp_path / "pack", REPRODUCTION)
    return tmp_path


def prove(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shelf: Shelf, *words: str, target: str = "requirements.txt"
) -> Ran:
    monkeypatch.setattr("envdoctor.app.built.builder", shelf.builder)
    return run(capsys, "fix", "--isolated", "--rules", "pack", target, "--prove", *words)


def test_a_cure_is_run_before_and_after(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    shelf = Shelf(project, {"0.11.1": BROKEN, "0.12.0": SOUND})
    ran = prove(capsys, monkeypatch, shelf)
    assert shelf.asked == [("peft==0.12.0",), ("peft==0.11.1",)]
    assert shelf.options == ("--no-build",)
    told = " ".join(ran.out.split())
    assert "built 1 packages on Python" in told
    assert "library-broken: cured (its reproduction) before: ImportError: the library is broken after: exit status 0" in told
    assert "in the environment that was built: 1 cured" in told
    assert ran.status == 0
    assert (project / "requirements.txt").read_text() == "peft==0.11.1\n"
    assert not list(Path(tempfile.gettempdir()).glob("envdoctor-prove-*"))


def test_the_report_has_what_was_seen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    ran = prove(capsys, monkeypatch, Shelf(project, {"0.11.1": BROKEN, "0.12.0": SOUND}), "--format", "json")
    (proved,) = ran.json["proved"]
    assert (proved["packages"], proved["failure"], proved["left_out"]) == (1, "", [])
    assert proved["findings"] == [
        {
            "rule": RULE,
            "result": "cured",
            "means": "its reproduction",
            "before": "ImportError: the library is broken",
            "after": "exit status 0",
        }
    ]


@pytest.mark.parametrize(
    ("peft", "status", "result"),
    [
        ({"0.11.1": BROKEN, "0.12.0": BROKEN}, 1, "not cured"),
        ({"0.11.1": BROKEN, "0.12.0": "raise OSError(5)"}, 1, "not cured"),
        ({"0.11.1": SOUND, "0.12.0": SOUND}, 2, "not shown"),
        ({"0.11.1": "raise OSError(5)", "0.12.0": SOUND}, 0, "cured"),
        ({"0.12.0": SOUND}, 0, "cured"),
    ],
)
def test_what_is_seen_decides_the_status(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    project: Path,
    peft: dict[str, str],
    status: int,
    result: str,
) -> None:
    ran = prove(capsys, monkeypatch, Shelf(project, peft), "--format", "json")
    assert (ran.status, ran.json["proved"][0]["findings"][0]["result"]) == (status, result)


def test_only_what_holds_is_written(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    ran = prove(capsys, monkeypatch, Shelf(project, {"0.11.1": BROKEN, "0.12.0": BROKEN}), "--write")
    assert (ran.status, (project / "requirements.txt").read_text()) == (1, "peft==0.11.1\n")
    assert "nothing was written: the cure does not hold" in " ".join(ran.out.split())
    ran = prove(capsys, monkeypatch, Shelf(project / "again", {"0.11.1": BROKEN, "0.12.0": SOUND}), "--write")
    assert (ran.status, (project / "requirements.txt").read_text()) == (0, "peft==0.12.0\n")


def test_what_cannot_be_built_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    ran = prove(capsys, monkeypatch, Shelf(project, {"0.11.1": BROKEN}))
    assert ran.status == 1
    assert "built no: no wheel of peft 0.12.0" in " ".join(ran.out.split())
    assert "the cured environment could not be built" in ran.out


def test_what_is_for_another_machine_is_not_built(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    shelf = Shelf(project, {"0.11.1": BROKEN, "0.12.0": SOUND})
    ran = prove(capsys, monkeypatch, shelf, "--target", "windows-x86_64")
    assert (ran.status, shelf.asked) == (1, [])
    assert "nothing was built" in " ".join(ran.out.split())


def test_a_probe_is_asked_where_the_rule_has_no_reproduction(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    rule = project / "pack" / "library-broken.toml"
    head, _, tail = rule.read_text().partition("[reproduction]")[0].partition("[affected]")
    rule.write_text(f'{head}probe = "lora-step"\n[affected]{tail}')

    def probe(name: str, interpreter: Path, facts: object, **_: object) -> Verdict:
        broken = "built-2" in str(interpreter)
        return Verdict(name, "confirmed" if broken else "refuted", "the loss is 0" if broken else "the loss falls")

    monkeypatch.setattr("envdoctor.rules.reproduction.run_probe", probe)
    ran = prove(capsys, monkeypatch, Shelf(project, {"0.11.1": SOUND, "0.12.0": SOUND}), "--format", "json")
    (row,) = ran.json["proved"][0]["findings"]
    assert (row["result"], row["means"], row["before"]) == ("cured", "the probe lora-step", "lora-step: confirmed: the loss is 0")
    assert ran.status == 0


def test_an_environment_is_run_as_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    venv.create(project / "env")
    install(project / "env", "peft", "0.11.1", BROKEN)
    monkeypatch.setattr("envdoctor.app.built.builder", (shelf := Shelf(project, {"0.12.0": SOUND})).builder)
    ran = run(capsys, "fix", "--isolated", "--rules", "pack", "--python", "env", "--prove", "--format", "json")
    assert [pin for asked in shelf.asked for pin in asked if pin.startswith("peft")] == ["peft==0.12.0"]
    (row,) = [row for row in ran.json["proved"][0]["findings"] if row["rule"] == RULE]
    assert (row["result"], row["before"], row["after"]) == ("cured", "ImportError: the library is broken", "exit status 0")


def test_without_uv_or_a_network_nothing_is_proved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    shelf = Shelf(project, {})
    ran = prove(capsys, monkeypatch, shelf, "--offline")
    assert (ran.status, ran.err.partition(";")[0]) == (2, "envdoctor: --prove: found --offline")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    ran = prove(capsys, monkeypatch, shelf)
    assert ran.status == 2
    assert ran.err == "envdoctor: --prove: found no uv; expected uv, which resolves and builds; next: pip install uv\n"


@pytest.mark.skipif(sys.platform == "win32", reason="processes are asked by their number")
def test_what_a_killed_run_left_is_removed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, project: Path) -> None:
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True, check=True)
    monkeypatch.setattr(tempfile, "tempdir", str(project / "tmp"))
    left, alive = (project / "tmp" / f"envdoctor-prove-{number}-abc" for number in (gone.stdout.strip(), 1))
    for one in (left, alive):
        (one / "bin").mkdir(parents=True)
    prove(capsys, monkeypatch, Shelf(project, {"0.11.1": BROKEN, "0.12.0": SOUND}))
    assert (left.exists(), alive.exists()) == (False, True)


@pytest.mark.network
def test_a_real_pair_is_built_and_imported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("transformers==4.46.3\nhuggingface-hub==1.0.1\n")
    ran = run(capsys, "fix", "--isolated", "requirements.txt", "--prove", "--format", "json")
    rows = {row["rule"]: row for row in ran.json["proved"][0]["findings"]}
    row = rows["transformers-4-huggingface-hub-1"]
    assert (ran.status, row["result"], row["after"]) == (0, "cured", "exit status 0")
    assert "ImportError: huggingface-hub>=0.23.2,<1.0 is required" in row["before"]
    assert rows["requirements-contradict"]["result"] == "cured"
