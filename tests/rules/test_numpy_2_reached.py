"""A compiled package that was built for numpy 1 is an error beside numpy 2 where the script is known to load it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

RULE = "numpy-2-with-scipy-or-others-built-for-1"


@pytest.mark.parametrize(
    ("stack", "script", "severity"),
    [
        ("scipy==1.9.3\nalbumentations==2.0.4\n", "import albumentations\n", "error"),
        ("ml-dtypes==0.3.2\nflax==0.8.1\njax==0.4.24\n", "import flax\n", "error"),
        ("numexpr==2.8.5\nlangchain==0.0.279\n", "import langchain\n", "error"),
        ("numexpr==2.8.5\nlangchain==0.0.300\n", "import langchain\n", "warning"),
        ("numexpr==2.8.5\npandas==2.2.3\n", "import pandas\n", "warning"),
    ],
)
def test_what_is_loaded_by_the_script_is_an_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, stack: str, script: str, severity: str
) -> None:
    (tmp_path / "freeze.txt").write_text(f"numpy==2.0.2\n{stack}")
    (tmp_path / "script.py").write_text(script)
    words = ("check", str(tmp_path / "script.py"), "--facts", str(tmp_path / "freeze.txt"), "--offline", "-f", "json")
    told = run(capsys, *words, every_rule=True).json
    assert [one["severity"] for one in told["findings"] if one["rule"] == RULE and one["status"] == "matched"] == [severity]
