"""Whose an error is: words that many packages' errors share are no rule's alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run

SITE = "/srv/env/lib/python3.10/site-packages"


def told(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str = "") -> list[tuple[str, str]]:
    pasted, stated = tmp_path / "log.txt", tmp_path / "facts.toml"
    pasted.write_text(log, encoding="utf-8")
    stated.write_text(f'os = "linux"\n{facts}', encoding="utf-8")
    report: dict[str, Any] = json.loads(run(capsys, "diagnose", str(pasted), "--facts", str(stated), "--format", "json").out)
    return [(finding["rule"], finding["status"]) for finding in report["findings"]]


def trace(importer: str, code: str, error: str) -> str:
    return (
        f'Traceback (most recent call last):\n  File "/srv/job/finetune.py", line 9, in <module>\n    import {importer}\n'
        f'  File "{SITE}/{importer}/__init__.py", line 31, in <module>\n    {code}\n{error}\n'
    )


SIX = "ModuleNotFoundError: No module named 'torch._six'"
FLOAT = "AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead."


@pytest.mark.parametrize("facts", ["", '[packages]\ntorch = "2.1.2"\n'])
def test_a_module_that_another_package_asks_for_is_computed_before_a_rule_of_its_words(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, facts: str
) -> None:
    found = told(capsys, tmp_path, trace("apex", "from torch._six import string_classes", SIX), facts)
    assert found[0] == ("error-module-missing", "matched")
    assert ("deepspeed-before-0-8-2-torch-six", "possible") in found[1:]


def test_of_rules_with_the_same_words_that_one_counts_whose_package_is_in_the_frames(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = dict(told(capsys, tmp_path, trace("wandb", "FLOATS = (np.float_,)", FLOAT)))
    assert next(iter(found)) == "wandb-before-0-17-2-numpy-2"
    assert found["wandb-before-0-17-2-numpy-2"] == "matched"
    assert found["chromadb-before-0-5-7-numpy-2"] == "possible"


def test_a_module_that_python_dropped_is_not_laid_on_a_package_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = "ModuleNotFoundError: No module named 'distutils'"
    found = told(capsys, tmp_path, f'Traceback (most recent call last):\n  File "/srv/job/finetune.py", line 9, in <module>\n{words}\n')
    assert found[0][0] == "requirement-refuses-python"
    assert ("deepspeed-python-3-12-distutils", "matched") not in found


@pytest.mark.parametrize(
    ("importer", "facts"), [("deepspeed", ""), ("apex", '[packages]\ntorch = "2.1.2"\ndeepspeed = "0.8.0"\n')], ids=["frames", "versions"]
)
def test_a_rule_whose_own_package_is_there_stays_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, importer: str, facts: str
) -> None:
    found = told(capsys, tmp_path, trace(importer, "from torch._six import inf", SIX), facts)
    assert found[0] == ("deepspeed-before-0-8-2-torch-six", "matched")


def test_what_a_stated_version_refutes_is_not_even_possible(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = told(capsys, tmp_path, trace("apex", "from torch._six import inf", SIX), '[packages]\ndeepspeed = "0.14.0"\ntorch = "2.1.2"\n')
    assert "deepspeed-before-0-8-2-torch-six" not in dict(found)


def test_where_nobody_else_is_told_of_the_words_are_enough(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = told(capsys, tmp_path, "ModuleNotFoundError: No module named 'triton.ops'\n")
    assert found[0] == ("bitsandbytes-triton-ops", "matched")
