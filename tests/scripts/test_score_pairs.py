"""What the score of maintainers' repairs counts."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "score_pairs.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("score_pairs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["score_pairs"] = module
    spec.loader.exec_module(module)
    return module


def finding(rule: str = "a-rule", status: str = "matched", line: int | None = 1, **more: Any) -> dict[str, Any]:
    return {"rule": rule, "status": status, "severity": "error", "packages": [], "fixes": [], "location": {"line": line}} | more


def test_a_finding_is_about_a_package_by_name_or_by_line(script: ModuleType) -> None:
    named = finding(packages=["huggingface-hub"], line=None)
    placed = finding(line=7)
    report = {"findings": [named, placed, finding(line=3), finding(packages=["huggingface-hub"], status="refuted")]}
    assert script.about(report, "huggingface_hub", [7]) == [named, placed]
    assert script.about({"findings": [finding(location=None)]}, "peft", [1]) == []


@pytest.mark.parametrize(
    ("line", "there"),
    [
        ("huggingface_hub==0.2.1", True), ("Huggingface.Hub", True), ('"huggingface-hub>=1"', True), ("huggingface-hub-client", False),
        ("my-huggingface-hub", False), ("x  # huggingface-hub", False),
    ],
)  # fmt: skip
def test_the_lines_of_a_package(script: ModuleType, line: str, there: bool) -> None:
    assert script.lines_of(f"first\n{line}\n", "huggingface-hub") == [2] * there


@pytest.mark.parametrize(
    ("pin", "before", "after", "theirs"),
    [
        ("==0.11.0", ["0.2.1"], ["0.11.0"], True),
        ("==0.12.0", ["0.2.1"], ["0.11.0"], True),  # they had moved up, and this is a later release
        ("==0.10.0", ["0.2.1"], ["0.11.0"], False),
        ("==0.42.0", ["0.41.2"], ["0.41.0"], False),  # they had moved down
        ("==0.41.0", ["0.41.2"], ["0.41.0"], True),
        ("==4.28.1", [">=4.28.0"], [">=4.28.0,<4.29.0"], True),
        ("==4.30.0", [">=4.28.0"], [">=4.28.0,<4.29.0"], False),
        ("==0.19.0", ["0.13.3"], ["*"], True),
        (">=4.13.0", ["4.11.0.86"], ["4.13.0.90"], True),
        (">=4.14.0", ["4.11.0.86"], ["4.13.0.90"], False),
        ("==1.0", ["0.9"], [], False),
        ("==1.0", ["0.9"], ["not a version"], False),
    ],
)
def test_a_pin_is_theirs(script: ModuleType, pin: str, before: list[str], after: list[str], theirs: bool) -> None:
    assert script.is_theirs(pin, before, after) is theirs


def test_pins_come_from_fixes_and_the_remedy_and_bounds_from_advice(script: ModuleType) -> None:
    report = {"remedy": {"pins": {"torch": "==2.6.0"}}}
    fixes = [
        {"kind": "pin", "pins": {"torch": "==2.5.1"}, "note": ""},
        {"kind": "code", "note": "install opencv-python-headless >=4.13.0"},
    ]
    assert script.proposed(report, [finding(fixes=fixes)], "Torch") == ("==2.5.1", "==2.6.0")
    assert script.proposed(report, [finding(fixes=fixes)], "opencv_python_headless") == (">=4.13.0",)
    assert script.proposed(report, [finding(fixes=fixes)], "opencv-python") == ()


def test_what_the_repaired_file_still_raises(script: ModuleType) -> None:
    bad = [finding("a"), finding("b"), finding("c", status="possible"), finding("d")]
    good = [finding("b"), finding("c"), finding("d", severity="warning"), finding("e")]
    assert script.still_raised(bad, good) == ("b",)


def test_both_files_of_a_pair_are_checked_by_what_was_released_then(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "bad.txt").write_text("datasets>2.20.0\n", encoding="utf-8")
    (files / "good.txt").write_text("datasets>=2.20.0\n", encoding="utf-8")
    row = {"id": "one", "package": "datasets", "scope": "metadata", "class": "nonexistent-version", "before": "datasets>2.20.0",
           "after": "datasets>=2.20.0", "commit_date": "2024-07-16", "bad_file": "bad.txt", "good_file": "good.txt"}  # fmt: skip
    (tmp_path / "broken_pairs.jsonl").write_text(
        json.dumps(row) + "\n" + json.dumps(row | {"good_file": "gone.txt"}) + "\n", encoding="utf-8"
    )
    page = tmp_path / "pairs.md"
    assert script.main([str(tmp_path), "--write", str(page)]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "1 pairs; of 1 more a file is not here"
    assert "| **metadata** | all | 1 | 1 | 1 | 1 | 1 | 0 |" in told
    kept = page.read_text(encoding="utf-8")
    assert "| metadata: one | datasets>2.20.0 -> datasets>=2.20.0 | `requirement-unsatisfiable` | ==2.20.0 (theirs) |" in kept
