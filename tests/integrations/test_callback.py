"""The callback, called as the Trainer calls it, with a doctor that is a real child process."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from envdoctor.integrations.doctor import DoctorError, Finding, ask, check, command_of
from envdoctor.integrations.transformers import EnvDoctorCallback, UnfitEnvironmentError, memory_in_use

ERROR = {
    "rule": "bad-pair",
    "title": "These two do not go together",
    "severity": "error",
    "status": "matched",
    "fixes": [{"kind": "pin", "pins": {"peft": "==0.12.0"}, "note": "newer"}, {"kind": "code", "note": "other"}],
}
WARNING = {**ERROR, "rule": "slow-way", "severity": "warning", "fixes": []}
POSSIBLE = {**ERROR, "rule": "unsure", "status": "possible"}
NAN = float("nan")


@pytest.fixture
def doctor(tmp_path: Path) -> Any:
    """A doctor that keeps how it was asked and answers with what it is given."""

    def make(*findings: dict[str, Any], text: str | None = None, status: int = 0) -> list[str]:
        answer = json.dumps({"schema_version": 1, "findings": findings}) if text is None else text
        (tmp_path / "doctor.py").write_text(
            "import json, pathlib, sys\n"
            f"kept = pathlib.Path({str(tmp_path / 'asked.jsonl')!r})\n"
            "facts = sys.argv[sys.argv.index('--facts') + 1]\n"
            "asked = {'argv': sys.argv[1:], 'stdin': sys.stdin.read(), 'facts': '' if facts == '-' else pathlib.Path(facts).read_text()}\n"
            "kept.open('a').write(json.dumps(asked) + '\\n')\n"
            f"print({answer!r})\n"
            f"sys.exit({status})\n"
        )
        return [sys.executable, str(tmp_path / "doctor.py")]

    return make


def asked(tmp_path: Path) -> list[dict[str, Any]]:
    path = tmp_path / "asked.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Run:
    """A training as the callback sees it."""

    def __init__(self, callback: EnvDoctorCallback, *, rank: int = 0, **arguments: Any) -> None:
        self.callback = callback
        self.args = SimpleNamespace(**{"fp16": False, "per_device_train_batch_size": 2, "world_size": 1, **arguments})
        self.state = SimpleNamespace(global_step=0, is_world_process_zero=rank == 0)
        self.control = SimpleNamespace(should_training_stop=False)

    def begin(self) -> Run:
        self.callback.on_train_begin(self.args, self.state, self.control, model=None, optimizer=None, tokenizer=None, train_dataloader=None)
        return self

    def log(self, **logs: Any) -> bool:
        self.state.global_step += 1
        self.callback.on_log(self.args, self.state, self.control, logs=logs, model=None)
        return bool(self.control.should_training_stop)

    def evaluate(self) -> bool:
        self.callback.on_evaluate(self.args, self.state, self.control, metrics={}, model=None)
        return bool(self.control.should_training_stop)


def test_errors_before_the_first_step_end_the_run(doctor: Any, tmp_path: Path) -> None:
    run = Run(EnvDoctorCallback(doctor=doctor(WARNING, ERROR, POSSIBLE), facts={"plan.seq_len": 512}))
    with pytest.raises(UnfitEnvironmentError) as raised:
        run.begin()
    assert str(raised.value) == (
        "envdoctor found 1 error(s) before the first step\nerror: These two do not go together [bad-pair]\n  fix: peft==0.12.0; newer"
    )
    (question,) = asked(tmp_path)
    assert question["argv"] == [
        *("check", "--facts", "-", "--format", "json", "--offline", "--fail-on", "never", "--python", sys.executable),
    ]
    assert question["stdin"].splitlines()[:2] == ["plan.fp16 = false", "plan.batch_size = 2"]
    assert "plan.seq_len = 512" in question["stdin"].splitlines()


def test_errors_may_only_warn(doctor: Any, caplog: pytest.LogCaptureFixture) -> None:
    run = Run(EnvDoctorCallback(before="warn", doctor=doctor(ERROR, WARNING))).begin()
    assert [finding.rule for finding in run.callback.findings] == ["bad-pair", "slow-way"]
    assert [record.getMessage().splitlines()[0] for record in caplog.records] == [
        "envdoctor: error: These two do not go together [bad-pair]",
        "envdoctor: warning: These two do not go together [slow-way]",
    ]


def test_warnings_end_nothing(doctor: Any) -> None:
    assert Run(EnvDoctorCallback(doctor=doctor(WARNING, POSSIBLE))).begin().callback.findings == (
        Finding("slow-way", "These two do not go together", "warning", ""),
    )


def test_one_process_of_a_run_asks(doctor: Any, tmp_path: Path) -> None:
    run = Run(EnvDoctorCallback(doctor=doctor(ERROR)), rank=1).begin()
    assert run.log(loss=NAN)
    assert asked(tmp_path) == []


def test_nan_stops_the_run_with_its_diagnosis(doctor: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = Run(EnvDoctorCallback(before="off", doctor=doctor(ERROR))).begin()
    assert not run.log(loss=4.5, grad_norm=0.1)
    assert run.log(loss=0.0, grad_norm=NAN)
    assert str(run.callback.diagnoses[0]) == (
        "step 2: loss is 0.0 and grad_norm nan: NaN, which the trainer's filter logs as 0\n"
        "error: These two do not go together [bad-pair]\n"
        "  fix: peft==0.12.0; newer"
    )
    assert caplog.messages == [f"envdoctor stops this run: {run.callback.diagnoses[0]}"]
    (question,) = asked(tmp_path)
    assert question["argv"][:2] == ["diagnose", "-"]
    assert question["stdin"] == "{'loss': 4.5, 'grad_norm': 0.1}\n{'loss': 0.0, 'grad_norm': nan}\n"
    assert "plan.batch_size = 2" in question["facts"].splitlines()


def test_a_warning_is_given_once(doctor: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = Run(EnvDoctorCallback(before="off", during="warn", doctor=doctor())).begin()
    assert not any(run.log(loss=NAN) for _ in range(5))
    assert [diagnosis.symptom.step for diagnosis in run.callback.diagnoses] == [1]
    assert caplog.messages == ["envdoctor warns: step 1: loss is nan\nno rule explains it"]
    assert len(asked(tmp_path)) == 1


def test_a_second_training_is_watched_afresh(doctor: Any) -> None:
    run = Run(EnvDoctorCallback(before="off", during="warn", doctor=doctor())).begin()
    run.log(loss=NAN)
    assert run.begin().callback.diagnoses == []
    run.log(loss=NAN)
    assert len(run.callback.diagnoses) == 1


def test_growing_memory_stops_one_process_but_not_one_of_several(
    doctor: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One process of several that stops alone would leave the others waiting."""
    for world, stops in ((1, True), (2, False)):
        used = iter(range(1 << 30, 1 << 40, 1 << 29))
        monkeypatch.setattr("envdoctor.integrations.transformers.memory_in_use", lambda used=used: next(used))
        run = Run(EnvDoctorCallback(before="off", doctor=doctor(), rises=3), world_size=world).begin()
        stopped = [run.evaluate() for _ in range(8)]
        assert stopped[-1] is stops
        assert [diagnosis.symptom.kind for diagnosis in run.callback.diagnoses] == ["memory-growth"]
    assert [message.partition(":")[0] for message in caplog.messages] == ["envdoctor stops this run", "envdoctor warns"]


def test_switched_off_it_does_nothing(tmp_path: Path) -> None:
    run = Run(EnvDoctorCallback(before="off", during="off", doctor=str(tmp_path / "none"))).begin()
    assert not run.log(loss=NAN)
    assert not run.evaluate()
    assert run.callback.diagnoses == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "Traceback", "status": 3}, "exit status 3"),
        ({"text": "[]"}, "it printed no report"),
        (
            {"text": json.dumps({"error": {"place": "--python", "found": "nothing", "expected": "an interpreter"}}), "status": 2},
            "--python: found nothing, expected an interpreter",
        ),
    ],
)
def test_a_doctor_that_fails_ends_no_training(doctor: Any, given: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture) -> None:
    run = Run(EnvDoctorCallback(doctor=doctor(**given))).begin()
    assert caplog.messages == [f"envdoctor could not check this environment: {said}"]
    assert run.log(loss=NAN)
    assert caplog.messages[1:] == [
        f"envdoctor could not diagnose this run: {said}",
        "envdoctor stops this run: step 1: loss is nan\nno rule explains it",
    ]


def test_a_doctor_that_is_missing_or_slow_ends_no_training(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Run(EnvDoctorCallback(doctor=tmp_path / "none")).begin()
    assert caplog.messages == [f"envdoctor could not check this environment: cannot start {tmp_path / 'none'}: No such file or directory"]
    with pytest.raises(DoctorError, match=r"no answer within 0\.2 s"):
        ask([sys.executable, "-c", "import time; time.sleep(60)"], b"", 0.2)


def test_the_doctor_is_found_in_this_interpreter() -> None:
    assert command_of(None) == [sys.executable, "-m", "envdoctor"]
    assert command_of("envdoctor-1") == ["envdoctor-1"]
    assert command_of(("conda", "run", "envdoctor")) == ["conda", "run", "envdoctor"]


def test_the_real_doctor_answers() -> None:
    """The packages are stated, so that this machine's are not read."""
    plan = {"plan.method": "lora", "plan.load_dtype": "float16", "plan.quant": "none", "plan.fp16": False, "plan.optimizer": "adamw_torch"}
    found = check(None, {**plan, "packages.peft": "0.11.1", "plan.optimizer_eps": 1e-8}, 60.0)
    assert "peft-fp16-adapter-nan" in [finding.rule for finding in found if finding.severity == "error"]


@pytest.mark.skipif(os.name == "nt", reason="a script starts by its first line on POSIX")
def test_another_python_is_not_sent_to_this_ones_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "doctor"
    script.write_text(f"#!{sys.executable}\nimport json, os\nprint(json.dumps(dict(os.environ)))\n")
    script.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    seen = ask([str(script)], b"", 30.0)
    assert "PYTHONHOME" not in seen
    assert seen["PYTHONPATH"] == str(tmp_path)


@pytest.mark.parametrize(
    "wrong", [{"before": "halt"}, {"during": ""}, {"patience": 0}, {"rises": 0}, {"growth_gib": 0.0}, {"seconds": -1.0}]
)
def test_arguments_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EnvDoctorCallback(**wrong)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="only Linux tells")
def test_memory_of_this_process() -> None:
    used = memory_in_use()
    assert used is not None
    assert 1 << 20 < used < 1 << 40


@pytest.mark.skipif(not list(Path("~/.pyenv/versions").expanduser().glob("3.8.*")), reason="no CPython 3.8 here")
def test_it_runs_on_cpython_3_8() -> None:
    python = sorted(Path("~/.pyenv/versions").expanduser().glob("3.8.*/bin/python"))[0]
    root = str(Path(__file__).parent.parent.parent)
    code = (
        "from types import SimpleNamespace as N\n"
        "from envdoctor.integrations.transformers import EnvDoctorCallback\n"
        "callback = EnvDoctorCallback(before='off', doctor='/nowhere/envdoctor')\n"
        "args, state, control = N(fp16=False), N(global_step=3), N(should_training_stop=False)\n"
        "callback.on_train_begin(args, state, control)\n"
        "callback.on_log(args, state, control, logs={'loss': float('nan')})\n"
        "print(control.should_training_stop, callback.diagnoses[0])\n"
    )
    environ = {**os.environ, "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([str(python), "-W", "error", "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout == "True step 3: loss is nan\nno rule explains it\n", done.stderr


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, logger="envdoctor")
