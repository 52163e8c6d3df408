"""The README's estimate is the one that is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run


def test_the_readme_shows_what_fit_prints(capsys: pytest.CaptureFixture[str], fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fixtures.parent)
    readme = Path("README.md").read_text(encoding="utf-8")
    shown = readme.split("<!-- output: fit -->\n```text\n")[1].split("\n```\n<!-- end -->")[0]
    ran = run(capsys, "fit", "fixtures/memory/glm-4-9b", "--facts", "fixtures/memory/glm4-6001-tokens.toml", "--gpu", "A100 40GB")
    assert (ran.status, ran.out.rstrip("\n")) == (1, shown)
