"""Streams that a shell has closed, a disk that is full, and places that cannot be what they seem: one line, and no error of our own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.run import run


def _shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    (folder / "r.txt").write_text("torch==2.9.0\n")
    words = f'"{sys.executable}" -m envdoctor {command}'
    return subprocess.run(["bash", "-c", words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
@pytest.mark.parametrize(
    "where", [">&-", pytest.param(">/dev/full", marks=pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux"))]
)
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.large
def test_a_report_that_goes_nowhere_is_said_in_a_line(tmp_path: Path, where: str, form: str) -> None:
    done = _shell(tmp_path, f"check r.txt --isolated --format {form} {where}")
    assert done.returncode == 2
    assert done.stderr.startswith("envdoctor: stdout: found ")
    assert "Traceback" not in done.stderr
    assert _shell(tmp_path, f"check r.txt --isolated --format {form} --output o {where}").returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
def test_closed_stdin_is_empty_and_closed_stderr_is_silent(tmp_path: Path) -> None:
    done = _shell(tmp_path, "check --facts - <&-")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert _shell(tmp_path, "check nowhere.txt 2>&-").returncode == 2


@pytest.mark.parametrize("option", ["--output", "--write-baseline"])
def test_an_input_is_not_reached_by_way_of_a_folder_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("torch==2.9.0\n")
    ran = run(capsys, "check", "requirements.txt", "--isolated", option, "nowhere/../requirements.txt")
    assert (ran.status, (tmp_path / "requirements.txt").read_text()) == (2, "torch==2.9.0\n")


@pytest.mark.parametrize(
    "stated",
    [
        "plan.batch_size=abc",
        "plan.batch_size=0",
        "gpu.count=-1",
        "gpu.memory_gib=-4",
        "gpu.memory_gib=inf",
        "plan.fp16=maybe",
        "packages.torch=",
    ],
)
def test_a_value_that_is_none_of_its_fact_is_refused_where_it_is_typed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, stated: str
) -> None:
    (tmp_path / "r.txt").write_text("torch==2.9.0\n")
    ran = run(capsys, "check", str(tmp_path / "r.txt"), "--isolated", "--set", stated)
    name = stated.partition("=")[0]
    assert ran.status == 2
    assert f"--set: found {name}" in ran.err


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ("linux-x86_64,gpu=", "gpu without a value"),
        ("linux-x86_64,gpu=0xH100", "a number from 1 on"),
        ("linux-x86_64,gpu_memory=-1", "a number from 0 on"),
        ("linux-x86_64,gpu=H100,gpu=A100", "gpu twice"),
    ],
)
def test_a_machine_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, profile: str, said: str) -> None:
    (tmp_path / "r.txt").write_text("torch==2.9.0\n")
    ran = run(capsys, "check", str(tmp_path / "r.txt"), "--isolated", "--target", profile)
    assert (ran.status, said in ran.err) == (2, True)


def test_a_gpu_that_nobody_knows_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("torch==2.9.0\n")
    ran = run(capsys, "check", str(tmp_path / "r.txt"), "--isolated", "--target", "linux-x86_64,gpu=Foo 9", "--format", "json")
    assert [one["what"] for one in ran.json["skipped"]] == ["gpu.name = Foo 9"]


def test_a_release_of_a_package_that_was_never_read_is_not_compared_in_silence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("torch==2.9.0\n")
    ran = run(capsys, "check", str(tmp_path / "r.txt"), "--isolated", "--against", "no-such-package-xyz==1", "--format", "json")
    assert ran.status == 2
    assert [one["what"] for one in ran.json["skipped"] if one.get("unexamined")] == ["--against no-such-package-xyz"]
