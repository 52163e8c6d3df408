"""What an installer would take of what is declared: uv's answer as facts, its refusals as findings."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from envdoctor.checks.declared_together import declared_together
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Facts
from envdoctor.facts.values import shown
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.uv.asking import Call
from envdoctor.uv.resolution import resolved
from envdoctor.world.installation import Installation
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
    """Answers as uv would, and remembers what it was asked; of several errors each is one answer, before the last."""

    def __init__(self, out: str = "", error: str = "", errors: Sequence[str] = ()) -> None:
        self.out, self.errors = out, [*errors, error]
        self.asked: list[tuple[list[str], str, tuple[str, ...], tuple[str, ...]]] = []

    def __call__(self, call: Call) -> CompletedProcess[str]:
        error = self.errors[min(len(self.asked), len(self.errors) - 1)]
        self.asked.append((list(call.words), call.text, call.constraints, call.left_out))
        return subprocess.CompletedProcess(list(call.words), int(bool(error)), "" if error else self.out, error)


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
            [
                *("pip", "compile", "-", "--no-header", "--no-build", "--color", "never", "--python-version", "3.11"),
                *("--python-platform", "x86_64-manylinux_2_28", "--exclude-newer", "2024-03-01"),
            ],
            "peft\ntransformers>=4.30\n",
            ("torch<2.3",),
            (),
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


def test_what_is_needed_in_the_end_has_the_line_of_what_was_declared() -> None:
    out = "aaa==1\n    # via bbb\nbbb==2\n    # via\n    #   ccc\n    #   peft\nccc==3\n    # via bbb\npeft==0.9.0\n"
    out += "xyz==4\n    # via xyz\nzzz==5\n"
    found = resolved(declared("six", "peft"), LINUX, run=Uv(out))
    assert [(fact.name, fact.origin.source, fact.origin.line) for fact in found.facts[2:]] == [
        ("packages.aaa", "needed by bbb, resolved by uv", 2),
        ("packages.bbb", "needed by ccc, resolved by uv", 2),
        ("packages.ccc", "needed by bbb, resolved by uv", 2),
        ("packages.xyz", "needed by xyz, resolved by uv", None),
        ("packages.zzz", "resolved by uv", None),
    ]


def test_extras_are_asked_for_and_what_has_no_wheel_is_said() -> None:
    uv = Uv("transformers==4.38.2\n")
    found = resolved(declared("transformers[torch,sentencepiece]>=4", "deepspeed==0.14.0"), LINUX, run=uv)
    assert uv.asked[0][1] == "transformers[sentencepiece,torch]>=4\n"
    assert [(skip.what, skip.why) for skip in found.skips] == [
        ("what deepspeed==0.14.0 needs in its turn", "no wheel that could be used here, and building one would run its code")
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
        2,
        ("transformers",),
    )
    assert defect.detail == (
        "uv: No solution found when resolving dependencies Because you require transformers==5.9 and transformers<5, "
        "we can conclude that your requirements are unsatisfiable."
    )
    assert [fact.name for fact in found.facts] == ["packages.peft", "packages.transformers"]


NO_WHEEL = """\
error: No solution found when resolving dependencies
  cause: Because nobin==0.42.1 has no usable wheels and you require nobin==0.42.1, we can conclude that your requirements are unsatisfiable.

hint: Wheels are required for `nobin` because building from source is disabled for all packages (i.e., with `--no-build`)
"""
ABSENT = """\
error: No solution found when resolving dependencies
  cause: Because our-models was not found in the package registry and you require our-models==1, we can conclude that your requirements are
         unsatisfiable.
"""


def test_what_cannot_be_used_is_left_out_and_said() -> None:
    uv = Uv("six==1.17.0\n", errors=[NO_WHEEL, ABSENT])
    found = resolved(declared("six", "nobin==0.42.1", "our-models==1"), LINUX, run=uv)
    assert [(asked[1], asked[3]) for asked in uv.asked] == [
        ("six\nnobin==0.42.1\nour-models==1\n", ()),
        ("six\nour-models==1\n", ("nobin",)),
        ("six\n", ("nobin", "our-models")),
    ]
    assert [(skip.what, skip.why) for skip in found.skips] == [
        ("what nobin==0.42.1 needs in its turn", "no wheel that could be used here, and building one would run its code"),
        ("what our-models==1 needs in its turn", "not on the package index that was asked"),
    ]
    assert (found.defects, found.closed) == ((), False)
    assert {fact.name: shown(fact.value) for fact in found.facts} == {
        "packages.six": "1.17.0", "packages.nobin": "0.42.1", "packages.our-models": "1",
    }  # fmt: skip


def _left_out(name: str) -> str:
    return NO_WHEEL.replace("nobin==0.42.1", f"{name} of that release").replace("nobin", name)


def test_what_does_not_go_with_a_pin_that_was_left_out_stays_as_declared() -> None:
    """numpy 1.21.4 has no wheel for Python 3.11, and scipy 1.17.1 needs numpy 1.26.4; matplotlib 3.4.3 needs 1.16."""
    out = "contourpy==1.3.3\n    # via new\nmatplotlib==3.4.3\nnew==1\n    # via scipy\nscipy==1.17.1\nsix==1.17.0\n    # via matplotlib\n"
    uv = Uv(out, errors=[_left_out("numpy")])
    found = resolved(declared("numpy==1.21.4", "scipy", "matplotlib"), LINUX, run=uv)
    assert uv.asked[1][3] == ("numpy",)
    assert {fact.name: shown(fact.value) for fact in found.facts} == {
        "packages.numpy": "1.21.4", "packages.scipy": "", "packages.matplotlib": "3.4.3", "packages.six": "1.17.0",
    }  # fmt: skip
    assert not found.closed
    hits = declared_together(Facts({fact.name: fact for fact in found.facts}))
    assert [hit.rule for hit in hits if hit.rule == "requirements-contradict"] == []


def test_what_a_pin_that_was_left_out_refuses_stays_as_declared() -> None:
    """transformers 4.35.0 needs tokenizers before 0.15."""
    uv = Uv("safetensors==0.8.0\ntokenizers==0.22.1\n", errors=[_left_out("transformers")])
    found = resolved(declared("transformers==4.35.0", "tokenizers>=0.14", "safetensors"), LINUX, run=uv)
    assert {fact.name: shown(fact.value) for fact in found.facts} == {
        "packages.transformers": "4.35.0", "packages.tokenizers": ">=0.14", "packages.safetensors": "0.8.0",
    }  # fmt: skip


def test_a_range_that_was_left_out_counts_as_a_pin_does() -> None:
    uv = Uv("scipy==1.17.1\n", errors=[_left_out("numpy")])
    for line, taken in (("numpy<1.22", ""), ("numpy", "1.17.1")):
        uv.asked.clear()
        found = resolved(declared(line, "scipy"), LINUX, run=uv)
        assert {fact.name: shown(fact.value) for fact in found.facts}["packages.scipy"] == taken


def test_an_answer_that_never_changes_ends() -> None:
    uv = Uv(errors=[NO_WHEEL, NO_WHEEL, NO_WHEEL], error=NO_WHEEL)
    found = resolved(declared("six", "nobin==0.42.1"), LINUX, run=uv)
    assert (len(uv.asked), [defect.rule for defect in found.defects]) == (2, ["requirements-unresolvable"])


def test_what_is_taken_from_a_url_is_no_release_of_the_index() -> None:
    uv = Uv("peft==0.11.1\n")
    stated = declared("peft", "transformers @ git+https://github.com/huggingface/transformers", "git+https://example.org/x.git#egg=Torch_x")
    found = resolved(stated, LINUX, run=uv)
    assert (uv.asked[0][1], uv.asked[0][3]) == ("peft\n", ("transformers", "torch-x"))
    assert not found.closed
    assert [fact.name for fact in found.facts] == ["packages.peft"]


def test_a_line_that_was_not_understood_may_be_any_package() -> None:
    assert not resolved(declared("peft", "./local"), LINUX, run=Uv("peft==0.11.1\n")).closed
    assert not resolved(declared("peft", "torch=2"), LINUX, run=Uv("peft==0.11.1\n")).closed
    assert resolved(declared("peft"), LINUX, run=Uv("peft==0.11.1\n")).closed


def test_what_is_installed_beside_narrows_the_answer() -> None:
    uv = Uv("peft==0.11.1\n")
    resolved(declared("peft", constraints=["numpy<2"]), LINUX, beside=("transformers[torch]<5", "torch==2.5.0+cu118"), run=uv)
    assert uv.asked[0][2] == ("numpy<2", "transformers<5", "torch==2.5.0")


@pytest.mark.parametrize(
    "out",
    ["peft==not a version\n", "peft==1.0 ; sys_platform == 'linux'\n", "peft==x\ny\0z==1\n", "# via\n", "    # via peft\n", "\ufffd==\n"],
)
def test_an_answer_that_makes_no_sense_states_nothing(out: str) -> None:
    found = resolved(declared("peft"), LINUX, run=Uv(out))
    assert [(fact.name, shown(fact.value)) for fact in found.facts] == [("packages.peft", "")]


def test_a_requirement_whose_newest_release_is_none_that_is_known() -> None:
    for line in ("flash-attn==2.99.0.dev1", "unheard-of>=1", "torch>=2.0a1", "torch==2.99.*"):
        uv = Uv("six==1\n")
        resolved(declared(line), LINUX, run=uv)
        assert uv.asked[0][3] == ()


def test_no_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(EnvdoctorError, match="--resolve: found no uv; expected uv"):
        resolved(declared("peft"), LINUX)


def test_a_uv_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "uv"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr("envdoctor.uv.command.uv_command", lambda place: [str(program)])
    monkeypatch.setattr("envdoctor.uv.command.ANSWER_SECONDS", 0.1)
    with pytest.raises(EnvdoctorError, match=r"no answer from uv within 0.1 s"):
        resolved(declared("peft"), LINUX)


def test_what_is_left_out_is_overridden_and_the_project_at_hand_is_not_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "uv"
    program.write_text('#!/bin/sh\nfor file in "$@"; do case "$file" in /*) cat "$file" >&2;; esac; done\npwd >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("envdoctor.uv.command.uv_command", lambda place: [str(program)])
    found = resolved(declared("peft", "deepspeed==0.14.0", constraints=["torch<2.3"]), LINUX)
    assert 'torch<2.3 deepspeed ; sys_platform == "nowhere"' in found.defects[0].detail
    assert str(tmp_path) not in found.defects[0].detail


def test_uv_downloads_no_python_and_is_told_of_the_indexes_of_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "uv"
    program.write_text('#!/bin/sh\necho "$UV_PYTHON_DOWNLOADS $UV_INDEX" >&2\nexit 1\n')
    program.chmod(0o755)
    monkeypatch.setattr("envdoctor.uv.command.uv_command", lambda place: [str(program)])
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "automatic")
    monkeypatch.delenv("UV_INDEX", raising=False)
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://example.org/simple")
    assert resolved(declared("peft"), LINUX).defects[0].detail == "uv: never https://example.org/simple"


def test_the_last_patch_release_of_a_python_is_asked_where_the_first_is_not_enough() -> None:
    said = "error: No\n  cause: Because the requested Python version (>=3.8) does not satisfy Python>=3.8.1 and x==1 depends on it, no.\n"
    uv = Uv("x==1\n", errors=[said])
    assert resolved(declared("x==1"), LINUX.with_python("3.8"), run=uv).defects == ()
    assert [call[0][call[0].index("--python-version") + 1] for call in uv.asked] == ["3.8", "3.8.99"]
    refused = Uv(errors=[said], error="error: never\n")
    assert "(>=3.8) does not satisfy" in resolved(declared("x==1"), LINUX.with_python("3.8"), run=refused).defects[0].detail
    known = Uv("x==1\n")
    resolved(declared("x==1"), LINUX.with_python("3.8.18"), run=known)
    assert known.asked[0][0][known.asked[0][0].index("--python-version") + 1] == "3.8.18"


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
    (tmp_path / "built.txt").write_text("transformers[deepspeed]==4.46.3\nnobin==0.42.1\n")
    built = run_cli(capsys, *words[:2], "built.txt", *words[3:], "--resolve").json
    assert built["facts"]["packages.accelerate"]["source"].startswith("needed by ")
    assert [one["rule"] for one in built["findings"] if one["status"] == "matched" and one["severity"] == "error"] == []
    assert {row["what"].split()[1] for row in built["skipped"] if row["what"].startswith("what ")} == {"deepspeed", "nobin==0.42.1"}
    then = run_cli(capsys, *words, "--resolve", "--as-of", "2024-06-01").json
    assert then["facts"]["packages.transformers"]["value"] == "4.41.2"
    assert then["tool"]["releases_as_of"] == "2024-06-01"


@pytest.mark.network
def test_a_project_above_the_directory_for_temporary_files_narrows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\n[tool.uv]\nconstraint-dependencies = ["einops<0.7"]\n')
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = resolved(declared("einops"), LINUX)
    (einops,) = (fact.value for fact in found.facts if fact.name == "packages.einops")
    assert version_condition(">=0.8").admits(einops) if isinstance(einops, Exact) else False
