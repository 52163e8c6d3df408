"""``envdoctor`` by itself: what it can do and two lines to begin with."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from envdoctor.cli.parser import parse
from tests.cli.run import run


def test_without_a_command_it_shows_its_help_with_two_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """Not status 0: a pipeline whose command got lost has checked nothing."""
    ran = run(capsys)
    assert (ran.status, ran.err) == (2, "")
    assert all(len(line) <= 80 for line in ran.out.splitlines())
    _, _, examples = ran.out.partition("\nexamples:\n")
    commands = [line.strip().partition("   ")[0] for line in examples.splitlines()]
    assert len(commands) == 2
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "envdoctor"
        assert parse(words).command in ran.out


def test_asked_for_help_it_shows_the_same_and_succeeds(capsys: pytest.CaptureFixture[str]) -> None:
    asked = subprocess.run([sys.executable, "-m", "envdoctor", "--help"], capture_output=True, text=True, check=True)
    assert asked.stdout == run(capsys).out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "--pyton", "x"), "unrecognized arguments: --pyton; expected the options that envdoctor check --help lists"),
        (("check", "--format", "yaml"), "--format 'yaml'; expected one of text, json, sarif"),
        (("explain",), "the following arguments are required: RULE; expected the options that envdoctor explain --help lists"),
        (("chek",), "command 'chek'; expected one of check, diagnose"),
    ],
)
def test_a_wrong_command_line_is_told_by_what_it_is_wrong_for(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    ran = run(capsys, *words)
    assert ran.status == 2
    assert said in ran.err


@pytest.mark.parametrize("words", [("--format",), ("check", "--format"), ("--format=json",)])
def test_a_command_line_that_breaks_off_is_refused_in_one_line(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    ran = run(capsys, *words)
    assert ran.status == 2
    assert "Traceback" not in ran.err
    assert len(ran.err.splitlines()) == 1
