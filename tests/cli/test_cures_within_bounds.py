"""Which cure is told: one that keeps to the lines of the files, and that the other findings of the report do not speak against."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run


@pytest.mark.parametrize(
    ("lines", "stated", "cure"),
    [
        ("diffusers>=0.24.0,<=0.27.2\n", 'diffusers = "0.27.2"\nhuggingface_hub = "0.26.3"', "huggingface-hub==0.25.2"),
        ("diffusers\nhuggingface_hub>=0.26\n", 'diffusers = "0.27.2"\nhuggingface_hub = "0.26.3"', "diffusers==0.29.0"),
        ("torch==2.2.0\n", 'torch = "2.2.0"\nnumpy = "2.2.6"', "numpy==1.26.4"),
        ("scipy==1.5.0\nnumpy>=1.18\n", 'numpy = "1.24.3"\nscipy = "1.5.0"', "numpy==1.22.4"),
    ],
)
def test_a_cure_stays_within_the_lines_of_the_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, lines: str, stated: str, cure: str
) -> None:
    (tmp_path / "requirements.txt").write_text(lines)
    (tmp_path / "facts.toml").write_text(f"[packages]\n{stated}\n")
    (tmp_path / "use.py").write_text("import numpy as np\n\nx = np.zeros(3, dtype=np.float)\n")
    files = [str(tmp_path / name) for name in ("requirements.txt", "use.py")][: 2 if "scipy" in lines else 1]
    text = run(capsys, "check", *files, "--facts", str(tmp_path / "facts.toml"), every_rule=True).out
    assert f'fix: pip install "{cure}"' in text
