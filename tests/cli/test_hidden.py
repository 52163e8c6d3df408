"""What waits for a package that nothing names is there for who asks; what is shown says what to state."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

WAITING = 'packages.transformers = "4.46.3"\n'


@pytest.fixture
def stack(tmp_path: Path) -> str:
    (tmp_path / "stack.toml").write_text(WAITING)
    return str(tmp_path / "stack.toml")


def test_a_count_in_place_of_what_waits_for_unnamed_packages(capsys: pytest.CaptureFixture[str], stack: str) -> None:
    ran = run(capsys, "check", "--isolated", "--facts", stack)
    assert "tokenizers" not in ran.out
    assert "for packages that nothing names (--all shows" in ran.out
    every = run(capsys, "check", "--isolated", "--facts", stack, "--all")
    assert "needs packages.tokenizers" in every.out
    assert "--all shows" not in every.out


def test_the_json_report_has_it_and_says_so(capsys: pytest.CaptureFixture[str], stack: str) -> None:
    report = run(capsys, "check", "--isolated", "--facts", stack, "--format", "json").json
    hidden = [one for one in report["findings"] if one.get("hidden")]
    assert hidden
    assert report["summary"]["hidden"] == len(hidden)
    assert report["summary"]["possible"] == sum(one["status"] == "possible" for one in report["findings"]) - len(hidden)


@pytest.mark.parametrize("form", ["sarif", "github", "junit", "gitlab", "markdown"])
def test_no_other_format_shows_it(capsys: pytest.CaptureFixture[str], stack: str, form: str) -> None:
    assert "transformers-4-45-tokenizers-window" not in run(capsys, "check", "--isolated", "--facts", stack, "--format", form).out


def test_strict_counts_what_is_shown_alone(capsys: pytest.CaptureFixture[str], stack: str) -> None:
    assert run(capsys, "check", "--isolated", "--facts", stack, "--strict").status == 0
    shown = ("--set", "packages.tokenizers=>=0.19,<0.22")
    assert run(capsys, "check", "--isolated", "--facts", stack, *shown, "--strict").status == 1


@pytest.mark.large
def test_what_is_possible_says_what_to_state(capsys: pytest.CaptureFixture[str], stack: str) -> None:
    found = run(capsys, "check", "--isolated", "--facts", stack, "--format", "json", every_rule=True).json["findings"]
    possible = [one for one in found if one["status"] == "possible"]
    assert possible
    for one in possible:
        assert [setting.partition("=")[0] for setting in one["state"]] == one["missing"]
        assert all(setting.partition("=")[2] for setting in one["state"])
        ran = run(capsys, "check", "--isolated", "--facts", stack, *(w for s in one["state"] for w in ("--set", s)), every_rule=True)
        assert ran.status in (0, 1), one["state"]
        assert one["because"] or one["detail"]


def test_what_the_stack_alone_decides_is_told_once(capsys: pytest.CaptureFixture[str], stack: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text("per_device_train_batch_size: 1\noutput_dir: out\nlearning_rate: 1.0e-4\n")
    plans = [str(tmp_path / f"{name}.yaml") for name in ("one", "two")]
    ran = run(capsys, "check", "--isolated", "--each", *plans, "--facts", stack, "--format", "json")
    found = [one["rule"] for one in ran.json["findings"]]
    assert "transformers-4-45-tokenizers-window" in found
    assert found.count("transformers-4-45-tokenizers-window") == 1
