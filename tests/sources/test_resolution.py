"""What an installer would take of what is declared: uv's answer as facts, its refusals as findings."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from envdoctor.errors import EnvdoctorError
from envdoctor.facts import Collected
from envdoctor.sources.declarations import Declarations
from envdoctor.sources.installation import Installation
from envdoctor.sources.resolution import resolved
from envdoctor.values import shown
from tests.cli.run import run as run_cli

LINUX = Installation().on("linux", "x86_64").with_python("3.11")


def declared(*lines: str, constraints: Sequence[str] = ()) -> Collected:
    declarations = Declarations(LINUX)
    for number, line in enumerate(lines, start=1):
        declarations.require(line, "requirements.txt", number)
    for line in constraints:
        declarations.require(line, "constraints.txt", 1, constraint=True)
    return declarations.collected()


class Uv:
    """Answers as uv would, and remembers what it was asked."""

    def __init__(self, out: str = "", error: str = "") -> None:
        self.out, self.error = out, error
        self.asked: list[tuple[list[str], str, tuple[str, ...]]] = []

    def __call__(self, words: Sequence[str], text: str, constraints: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.asked.append((list(words), text, tuple(constraints)))
        return subprocess.CompletedProcess(list(words), int(bool(self.error)), self.out, self.error)


ANSWER = """\
accelerate==0.27.2
    # via peft
peft==0.9.0
torch==2.2.1
    # via
    #   accelerate
    #   peft
transformers==4.38.2
    # via peft
"""


def test_every_package_is_at_the_release_that_would_be_installed() -> None:
    uv = Uv(ANSWER)
    found = resolved(declared("peft", "transformers>=4.30", constraints=["torch<2.3"]), LINUX, day="2024-03-01", run=uv)
    assert uv.asked == [
        (
            ["pip", "compile", "-", "--no-header", "--no-build", "--color", "never", "--quiet", "--python-version", "3.11"]
            + ["--python-platform", "x86_64-manylinux_2_28", "--exclude-newer", "2024-03-01"],  # noqa: RUF005 - as it is typed
            "peft\ntransformers>=4.30\n",
            ("torch<2.3",),
        )
    ]
    when = "resolved by uv as of 2024-03-01"
    assert [(fact.name, shown(fact.value), fact.origin.source, fact.origin.file, fact.origin.line) for fact in found.facts] == [
        ("packages.peft", "0.9.0", f"requirements.txt, {when}", "requirements.txt", 1),
        ("packages.transformers", "4.38.2", f"requirements.txt, {when}", "requirements.txt", 2),
        ("packages.accelerate", "0.27.2", f"needed by peft, {when}", "requirements.txt", 1),
        ("packages.torch", "2.2.1", f"needed by accelerate, {when}", "requirements.txt", 1),
    ]
    assert (found.closed, found.skips, found.defects) == (True, (), ())


def test_a_pin_stays_what_it_was_and_its_local_label_is_not_asked_for() -> None:
    uv = Uv("torch==2.2.1\nnumpy==1.26.4\n    # via torch\n")
    found = resolved(declared("torch==2.2.1+cu118"), LINUX, run=uv)
    assert uv.asked[0][1] == "torch==2.2.1\n"
    assert [(fact.name, shown(fact.value), fact.origin.source) for fact in found.facts] == [
        ("packages.torch", "2.2.1+cu118", "requirements.txt"),
        ("packages.numpy", "1.26.4", "needed by torch, resolved by uv"),
    ]


def test_extras_are_asked_for_and_what_has_no_wheel_is_said() -> None:
    uv = Uv("transformers==4.38.2\n")
    found = resolved(declared("transformers[torch,sentencepiece]>=4", "deepspeed==0.14.0"), LINUX, run=uv)
    assert uv.asked[0][1] == "transformers[sentencepiece,torch]>=4\n"
    assert [(skip.what, skip.why) for skip in found.skips] == [
        ("what deepspeed==0.14.0 needs in its turn", "its release comes without a wheel, and building one would run its code")
    ]
    assert not found.closed
    assert {fact.name: shown(fact.value) for fact in found.facts}["packages.deepspeed"] == "0.14.0"


def test_a_conflict_is_told_in_the_words_of_uv_at_the_requirements() -> None:
    said = (
        "error: No solution found when resolving dependencies\n"
        "  cause: Because you require transformers==5.9 and transformers<5, we can conclude that your requirements are unsatisfiable.\n"
    )
    found = resolved(declared("peft", "transformers<5"), LINUX, run=Uv(error=said))
    (defect,) = found.defects
    assert (defect.rule, defect.file, defect.line, defect.packages) == (
        "requirements-unresolvable",
        "requirements.txt",
        1,
        ("transformers",),
    )
    assert defect.detail == (
        "uv: No solution found when resolving dependencies Because you require transformers==5.9 and transformers<5, "
        "we can conclude that your requirements are unsatisfiable."
    )
    assert [fact.name for fact in found.facts] == ["packages.peft", "packages.transformers"]


def test_an_index_that_does_not_answer_is_no_finding() -> None:
    said = "error: Failed to fetch: `https://pypi.org/simple/peft/`\n  cause: dns error\n"
    with pytest.raises(EnvdoctorError, match="expected a package index; next: leave --resolve out"):
        resolved(declared("peft"), LINUX, run=Uv(error=said))


def test_nothing_to_ask_for() -> None:
    assert resolved(Collected(), LINUX, run=Uv(error="never asked")) == Collected()


@pytest.mark.parametrize("day", ["yesterday", "2024-13-01", "24-01-01"])
def test_a_day_that_is_none(capsys: pytest.CaptureFixture[str], day: str) -> None:
    ran = run_cli(capsys, "check", "--as-of", day)
    assert ran.status == 2
    assert f"argument --as-of: {day!r} is no day such as 2024-03-01" in ran.err


@pytest.mark.network
def test_a_pin_that_quietly_pulls_a_major_release_is_caught(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("peft==0.11.1\n")
    words = ("check", "--isolated", "requirements.txt", "--format", "json", "--target", "linux-x86_64,python=3.11")
    assert "packages.transformers" not in run_cli(capsys, *words).json["facts"]
    today = run_cli(capsys, *words, "--resolve").json
    assert int(today["facts"]["packages.transformers"]["value"].split(".")[0]) >= 5
    assert "transformers-5-peft-minimum" in {one["rule"] for one in today["findings"]}
    then = run_cli(capsys, *words, "--resolve", "--as-of", "2024-06-01").json
    assert then["facts"]["packages.transformers"]["value"] == "4.41.2"
    assert then["tool"]["releases_as_of"] == "2024-06-01"
