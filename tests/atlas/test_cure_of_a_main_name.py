"""What is proposed where a part of a package cannot be imported, over the releases that were read."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.atlas.wheels import forget
from tests.cli.run import run


@pytest.mark.large
def test_a_cure_for_a_main_name_does_not_break_the_import_of_the_package_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """flax 0.6.4 loads none of its checkpoints beside jax 0.4.16, and not even itself beside the nearer 0.4.14."""
    monkeypatch.delenv("ENVDOCTOR_ATLAS")
    forget()
    (tmp_path / "facts.toml").write_text('python = "3.10"\n[packages]\nflax = "0.6.4"\njax = "0.4.16"\njaxlib = "0.4.16"\n')
    out = run(capsys, "check", "--facts", str(tmp_path / "facts.toml"), "--offline").out
    assert "[part-breaks@flax:" in out
    assert "fix: pip install" in out
    assert "jax==0.4.14" not in out
    forget()
