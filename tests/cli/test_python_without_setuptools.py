"""From Python 3.12 on an environment begins with pip alone: what asks for setuptools there may not find it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import run

RULE = "accelerate-0-20-needs-pkg-resources"


@pytest.mark.parametrize(
    ("image", "packages", "is_told"),
    [
        pytest.param("python:3.12-slim", "accelerate==0.20.3 torch==2.3.0", True, id="nothing brings setuptools"),
        pytest.param("python:3.11-slim", "accelerate==0.20.3 torch==2.3.0", False, id="it is there from the beginning"),
        pytest.param("python:3.12-slim", "accelerate==0.21.0 torch==2.3.0", False, id="a release that does without"),
        pytest.param("python:3.12-slim", "accelerate==0.20.3 torch==2.3.0 setuptools==75.0.0", False, id="an older one is installed"),
    ],
)
def test_an_image_of_python_has_no_setuptools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], image: str, packages: str, is_told: bool
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {image}\nRUN pip install {packages}\n", encoding="utf-8")
    done = run(capsys, "check", str(tmp_path / "Dockerfile"), "--format", "json", every_rule=True)
    found = {one["rule"]: one["status"] for one in json.loads(done.out)["findings"]}
    assert found.get(RULE) == ("possible" if is_told else None)
