"""What a file leaves open is judged by what an installer would take of it on a day: possible, with the bound that shuts it out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run

DAY = ("--isolated", "--offline", "--as-of", "2026-11-01")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def possible(report: dict[str, Any]) -> dict[str, str]:
    return {
        one["rule"]: one["detail"] for one in report["findings"] if one["status"] == "possible" and one["detail"].startswith("left open")
    }


def test_the_screen(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "requirements.txt").write_text("transformers==4.42.4\npeft>=0.5\naccelerate==0.33.0\n")
    ran = run(capsys, "check", "requirements.txt", *DAY)
    assert ran.status == 0
    told = (
        "  peft cannot be imported: this transformers has no EncoderDecoderCache\n"
        "  [peft-encoder-decoder-cache-import]\n"
        "    left open: peft 0.21.2 (what an installer takes on 2026-11-01)\n"
        '    pip install "peft==0.13.2", or as a bound "peft<0.14"\n'
    )
    assert told in ran.out


def test_the_report_has_the_pin_and_the_bound(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "requirements.txt").write_text("transformers==4.42.4\npeft>=0.5\n")
    report = run(capsys, "check", "requirements.txt", *DAY, "--format", "json").json
    (finding,) = (one for one in report["findings"] if one["rule"] == "peft-encoder-decoder-cache-import")
    assert finding["missing"] == ["packages.peft"]
    assert finding["location"] == {"file": "requirements.txt", "line": 2}
    assert finding["fixes"][0]["pins"] == {"peft": "==0.13.2"}
    assert finding["fixes"][0]["bounds"] == {"peft": "<0.14"}


def test_a_range_that_shuts_it_out_is_let_be(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "requirements.txt").write_text("transformers==4.42.4\npeft>=0.5,<0.14\n")
    assert possible(run(capsys, "check", "requirements.txt", *DAY, "--format", "json").json) == {}


def test_a_package_that_no_line_names_is_the_release_that_comes_with_another(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "requirements.txt").write_text("torch==2.2.2\naccelerate\n")
    told = possible(run(capsys, "check", "requirements.txt", *DAY, "--format", "json").json)
    assert told["numpy-2-with-torch-before-2-3"].startswith("left open: numpy 2.")
    assert "(taken for accelerate on 2026-11-01)" in told["numpy-2-with-torch-before-2-3"]


def test_facts_by_hand_are_left_as_they_are(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "facts.toml").write_text('[packages]\ntransformers = "4.42.4"\npeft = ">=0.5"\n')
    assert possible(run(capsys, "check", "--facts", "facts.toml", *DAY, "--format", "json").json) == {}


def test_lines_that_are_installed_without_what_they_need_are_each_the_newest(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "requirements.txt").write_text("# Installed with --no-deps.\ntransformers==4.42.4\ntokenizers\n")
    report = run(capsys, "check", "requirements.txt", *DAY, "--format", "json").json
    (finding,) = (one for one in report["findings"] if one["rule"] == "requirements-contradict")
    assert finding["status"] == "possible"
    assert finding["detail"].startswith("installed with --no-deps: transformers 4.42.4 requires tokenizers<0.20,>=0.19")
    (project / "requirements.txt").write_text("transformers==4.42.4\ntokenizers\n")
    report = run(capsys, "check", "requirements.txt", *DAY, "--format", "json").json
    assert all(one["rule"] != "requirements-contradict" for one in report["findings"])


def test_of_many_files_joint_pins_are_left_to_fix_and_that_is_said(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    names = []
    for number in range(25):
        name = f"requirements-{number}.txt"
        (project / name).write_text("transformers==4.38.2\ntokenizers==0.19.1\n")
        names.append(name)
    many = run(capsys, "check", "--each", *DAY, *names, "--format", "json").json
    assert {one["remedy"]["proof"] for one in many["situations"]} == {
        "joint pins were not searched for so many situations: envdoctor fix --each FILE"
    }
    few = run(capsys, "check", "--each", *DAY, *names[:2], "--format", "json").json
    assert few["situations"][0]["remedy"]["pins"] == {"tokenizers": "==0.15.2"}
    assert many["findings"][0]["fixes"][0]["pins"] == {"tokenizers": "==0.15.2"}


HUB = {
    "0.23.5": {"huggingface_hub/__init__.py": "class DatasetFilter: pass\nclass HfApi: pass\n"},
    "2.4.0": {"huggingface_hub/__init__.py": "class HfApi: pass\n"},
}
SETFIT = {"1.0.3": {"setfit/__init__.py": "from huggingface_hub import DatasetFilter\n"}}


def test_an_import_that_breaks_with_what_an_installer_takes(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with atlas_of(project, {"huggingface-hub": HUB, "setfit": SETFIT}):
        (project / "requirements.txt").write_text("setfit==1.0.3\n")
        ran = run(capsys, "check", "requirements.txt", *DAY)
        assert ran.status == 0
        told = (
            "  setfit 1.0.3 cannot be imported beside huggingface-hub 2.4.0 [import-breaks]\n"
            "    setfit/__init__.py:1 imports DatasetFilter from huggingface_hub, gone since\n"
            "    2.4.0; left open: huggingface-hub 2.4.0 (taken for setfit on 2026-11-01)\n"
        )
        assert told in ran.out
        assert 'or as a bound "huggingface-hub<2.4.0"' in ran.out


def test_an_import_that_breaks_is_let_be_where_a_line_shuts_it_out(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with atlas_of(project, {"huggingface-hub": HUB, "setfit": SETFIT}):
        (project / "requirements.txt").write_text("setfit==1.0.3\nhuggingface-hub<0.24\n")
        report = run(capsys, "check", "requirements.txt", *DAY, "--format", "json").json
        assert "import-breaks" not in [one["rule"] for one in report["findings"]]


def test_an_import_that_breaks_is_certain_where_both_are_pinned(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    with atlas_of(project, {"huggingface-hub": HUB, "setfit": SETFIT}):
        (project / "requirements.txt").write_text("setfit==1.0.3\nhuggingface-hub==2.4.0\n")
        report = run(capsys, "check", "requirements.txt", *DAY, "--format", "json").json
        assert [one["status"] for one in report["findings"] if one["rule"] == "import-breaks"] == ["matched"]


def test_what_the_users_own_code_asks_for_comes_first_of_all_that_may_be(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "a"\nversion = "1"\ndependencies = ["datasets>=2.16", "diffusers==0.20.0"]\n'
    )
    (tmp_path / "task.py").write_text('import datasets\nmetric = datasets.load_metric("squad_v2")\n')
    ran = run(capsys, "check", "pyproject.toml", "task.py", "--isolated", "--format", "json")
    found = [one["rule"] for one in ran.json["findings"] if one["status"] == "possible"]
    assert found[0] == "datasets-load-metric-removed"
    assert "diffusers-before-0-29-cached-download" in found
