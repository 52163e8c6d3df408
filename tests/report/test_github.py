"""Workflow commands, read back as GitHub's runner reads them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.engine.diagnosis import Location
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Facts, Skip
from envdoctor.report.github import render, render_error
from envdoctor.report.model import Diagnosed, Report
from envdoctor.report.plain import printable
from tests.report.reports import CONFIRMED, MALFORMED, MATCHED, POSSIBLE, REFUTED, report, reports, texts

COMMANDS = ("error", "warning", "notice")


@dataclass(frozen=True)
class Command:
    name: str
    properties: dict[str, str]
    message: str


def runner(output: str) -> list[Command]:
    """What the runner makes of output: every line has to be a command that annotates."""
    found = []
    # It reads by lines of all kinds.
    lines = output.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert lines.pop() == ""
    for line in lines:
        assert line.startswith("::")
        end = line.index("::", 2)
        name, _, told = line[2:end].partition(" ")
        assert name in COMMANDS
        pairs = [pair.split("=", 1) for pair in told.strip().split(",")]
        found.append(Command(name, {key: _unescaped(value, properties=True) for key, value in pairs}, _unescaped(line[end + 2 :])))
    return found


def _unescaped(text: str, *, properties: bool = False) -> str:
    for escape, character in (("%0D", "\r"), ("%0A", "\n"), *((("%3A", ":"), ("%2C", ",")) if properties else ()), ("%25", "%")):
        text = text.replace(escape, character)
    return text


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_finding_is_one_line(here: Path) -> None:
    assert render(report(MATCHED), root=here) == (
        "::error file=requirements.txt,line=3,title=envdoctor%3A torch-2-5-0-sdpa-mask-nan::"
        "padded rows of a batch become NaN.%0A"
        "Because torch is 2.5.0 (bad: ==2.5.0; requirements.txt:3)%0A"
        "Because plan.attn is sdpa (bad: sdpa; train.yaml:7)%0A"
        'Cure: pip install "torch==2.5.1+cu118" --extra-index-url https://download.pytorch.org/whl/cu118: the next release%0A'
        "Or: plan.attn = eager%0A"
        "More: envdoctor explain torch-2-5-0-sdpa-mask-nan%0A"
        "Source: https://github.com/pytorch/pytorch/issues/1\n"
    )


def test_levels_are_kinds_of_annotations(here: Path) -> None:
    shown = report(CONFIRMED, MALFORMED, POSSIBLE, REFUTED)
    assert [(c.name, c.properties["title"]) for c in runner(render(shown, root=here))] == [
        ("error", "envdoctor: torch-2-5-0-sdpa-mask-nan (confirmed)"),
        ("warning", "envdoctor: requirement-malformed"),
        ("notice", "envdoctor: torch-2-5-0-sdpa-mask-nan (possible)"),
    ]
    assert [c.name for c in runner(render(replace(shown, strict=True), root=here))] == ["error", "warning", "error"]


def test_nothing_to_say_is_nothing_said(here: Path) -> None:
    assert render(report(), root=here) == ""


def test_what_was_not_read_is_one_notice_at_the_end(here: Path) -> None:
    skipped = tuple(Skip(f"{n}.yaml", "no dialect of ours") for n in range(30))
    *_, last = runner(render(report(MATCHED, skipped=skipped), root=here))
    assert (last.name, last.properties) == ("notice", {"title": "envdoctor: not read"})
    lines = last.message.split("\n")
    assert lines[0] == "0.yaml: no dialect of ours"
    assert lines[20:] == ["and 10 more"]


def test_a_finding_about_no_file_names_none(here: Path) -> None:
    homeless = Diagnosed(replace(MATCHED.finding, location=None, because=()), ())
    (command,) = runner(render(report(homeless, facts=Facts()), root=here))
    assert command.properties == {"title": "envdoctor: torch-2-5-0-sdpa-mask-nan"}


@pytest.mark.parametrize("text", ["\n::set-output name=x::y", "%0A::error::z", "\r::stop-commands::t", "%250A::debug::q", "##[error]e"])
def test_text_from_files_starts_no_command(text: str, here: Path) -> None:
    hostile = Diagnosed(replace(MATCHED.finding, detail=text, location=Location(f"r{text}", 3)), ())
    output = render(report(hostile, skipped=(Skip(text, text),)), root=here)
    first, last = runner(output)
    assert output.count("\n") == 2
    assert printable(text) in first.message
    assert first.properties["line"] == "3"
    assert last.message == printable(f"{text}: {text}")


def test_an_error_is_one_command() -> None:
    error = EnvdoctorError("facts.toml, line 3", found="50%\n::error::x", expected="a table", next_step="look")
    (command,) = runner(render_error(error))
    assert command == Command("error", {"title": "envdoctor"}, "facts.toml, line 3: found 50%\\x0a::error::x; expected a table; next: look")


@given(reports())
def test_every_report_is_commands_and_nothing_else(shown: Report) -> None:
    told = [d for d in shown.findings if d.finding.status != "refuted" and not d.excused]
    commands = runner(render(shown))
    assert len(commands) == len(told) + bool(shown.skipped)


@given(texts, texts, texts, texts)
def test_errors_of_every_text_are_one_command(place: str, found: str, expected: str, next_step: str) -> None:
    assert len(runner(render_error(EnvdoctorError(place, found=found, expected=expected, next_step=next_step)))) == 1


@given(st.text())
def test_what_is_escaped_comes_back(text: str) -> None:
    hostile = Diagnosed(replace(MATCHED.finding, detail="x" + text), ())
    (command,) = runner(render(report(hostile)))
    assert f"\nFound: x{printable(text)}\n" in command.message
