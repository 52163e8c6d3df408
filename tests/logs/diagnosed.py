"""What ``diagnose`` finds in a pasted log, as its JSON tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import run

NOTHING = 'os = "linux"\n'
"""Facts of an environment of which nobody states a package."""


def findings(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, facts: str = NOTHING) -> list[dict[str, Any]]:
    pasted, stated = tmp_path / "log.txt", tmp_path / "facts.toml"
    pasted.write_text(log + "\n", encoding="utf-8")
    stated.write_text(facts, encoding="utf-8")
    report = json.loads(run(capsys, "diagnose", str(pasted), "--facts", str(stated), "--format", "json").out)
    found: list[dict[str, Any]] = report["findings"]
    return found
