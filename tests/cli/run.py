"""Run a command as a user would, and keep what was printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from envdoctor.cli import main


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> Ran:
    capsys.readouterr()
    status = main(words)
    captured = capsys.readouterr()
    return Ran(status, captured.out, captured.err)
