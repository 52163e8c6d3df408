"""How much is printed, in which colours, and what is said of a mistyped word."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.cli.examples import examples
from envdoctor.cli.parser import help_texts, parse
from tests.cli.run import run

EIGHT = ("check", "fixtures/stacks/eight-errors.txt")


@pytest.fixture(autouse=True)
def _from_the_project(fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fixtures.parent)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_eight_errors_fit_on_two_screens_and_the_cure_is_at_the_top(
    capsys: pytest.CaptureFixture[str], fixtures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "requirements.txt").write_bytes((fixtures / "stacks" / "eight-errors.txt").read_bytes())
    monkeypatch.chdir(tmp_path)
    lines = run(capsys, "check", "requirements.txt").out.splitlines()
    assert len(lines) <= 48
    assert any("pip install" in line for line in lines[:10])
    for start in (number for number, line in enumerate(lines) if line.startswith("error:")):
        finding = lines[start : lines.index("", start)]
        assert len(finding) <= 7
        assert finding[-1].startswith("  fix: ")


def test_quiet_is_one_line_and_verbose_has_the_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, *EIGHT, "-q")
    assert (ran.status, ran.out) == (1, "packages of fixtures/stacks/eight-errors.txt: 8 errors, 2 possible\n")
    full = run(capsys, *EIGHT, "-v").out
    assert "  why      " in full
    assert "https://github.com/haotian-liu/LLaVA/issues/1808" in full
    assert "https://" not in run(capsys, *EIGHT).out
    healthy = run(capsys, "check", "fixtures/qwen2.5-0.5b-instruct", "--facts", "fixtures/stacks/healthy.toml", "--quiet")
    assert healthy.out.endswith(": no known problem\n")


@pytest.mark.parametrize(
    ("words", "environment", "expected"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": ""}, False),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    environment: dict[str, str],
    expected: bool,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    told = run(capsys, *EIGHT, *words).out
    assert ("\x1b[1;31merror:" in told) is expected
    assert "\x1b]8;;" not in told  # a link is for a terminal alone


@pytest.mark.large
def test_on_a_terminal_ids_are_links_to_rules_and_the_words_are_the_same() -> None:
    plain = subprocess.run([sys.executable, "-m", "envdoctor", *EIGHT], capture_output=True, text=True, check=False).stdout
    shown = "".join(on_a_terminal([sys.executable, "-m", "envdoctor", *EIGHT]))
    targets = re.findall(r"\x1b\]8;;(file:[^\x1b]+)\x1b\\", shown)
    assert len(targets) == 6
    assert all(target.endswith(".toml") for target in targets)
    bare = re.sub(r"\x1b\]8;;[^\x1b]*\x1b\\|\x1b\[[0-9;]*m", "", shown).replace("\r\n", "\n")
    assert untimed(bare) == untimed(plain)


def on_a_terminal(command: list[str]) -> Iterator[str]:
    """What a program prints on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    subprocess.run(["stty", "cols", "80"], stdin=theirs, check=True)
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"}):
        os.close(theirs)
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            yield data.decode()
    os.close(ours)


def untimed(text: str) -> str:
    return re.sub(r"in \d+\.\d s", "in 0.1 s", text)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("chekc",), "did you mean `check`?"),
        (("check", "--formt", "json"), "did you mean `--format`?"),
        (("check", "--format", "jsn"), "did you mean `json`?"),
        (("explain", "peft-fp16-adapter-nann"), "did you mean `peft-fp16-adapter-nan`"),
        (("check", "--set", "plan.metod=lora"), "did you mean `plan.method`?"),
        (("probe", "lora-stp"), "did you mean `lora-step`?"),
    ],
)
def test_a_mistyped_word(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    ran = run(capsys, *words)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_word_that_is_like_none_gets_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    assert "one of check, diagnose, fix" in run(capsys, "zzz").err
    assert "envdoctor check --help" in run(capsys, "check", "--zzz").err


def test_every_command_shows_examples_that_can_be_typed() -> None:
    for command, text in help_texts().items():
        _, _, told = text.partition("\nexamples:\n")
        assert told, command
        assert f"examples:\n{told.rstrip()}" == examples(command).rstrip()
        for line in told.rstrip().splitlines():
            assert len(line) <= 80
            typed = re.split(r" {2,}| \| (?=source|Out)|\)\"", line.strip())[0].removeprefix('eval "$(').rpartition("| ")[2]
            program, *words = shlex.split(typed)
            assert program == "envdoctor"
            assert parse(words).command == command


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (
            ["check", "-f", "json", "-o", "x", "-p", "/v", "-s", "a=b"],
            ["--format", "json", "--output", "x", "--python", "/v", "--set", "a=b"],
        ),
        (["check", "-q"], ["--quiet"]),
        (["diagnose", "-v"], ["--verbose"]),
    ],
)
def test_short_flags(short: list[str], long: list[str]) -> None:
    assert vars(parse(short)) == vars(parse([short[0], *long]))
