"""Every possible finding says what it waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run


def test_a_rule_that_waits_for_the_plan_says_so_where_an_installer_would_take_something_else(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The transformers that would be taken decides nothing: peft with LoRA leads to torchao as well."""
    (tmp_path / "facts.toml").write_text('[packages]\ntorch = "2.5.0"\ntorchao = "0.13.0"\npeft = "0.17.1"\n')
    (tmp_path / "requirements.txt").write_text("transformers>=4.49.0\ntorchao\n")
    lines = run(capsys, "check", "--isolated", "--facts", str(tmp_path / "facts.toml"), str(tmp_path / "requirements.txt")).out.splitlines()
    place = next(number for number, line in enumerate(lines) if "[torchao-0-13-torch-2-5-int1]" in line)
    assert "needs packages.transformers, plan.method" in lines[place + 1]
