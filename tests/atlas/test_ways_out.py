"""Which releases are proposed for a file's own faults: those with all that the file imports, and with the class that a call is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run

CALL = "def call({}): pass\n"
CARDS = {
    "1.0": {"acme/__init__.py": CALL.format("kept=0, old=1")},
    "2.0": {"acme/__init__.py": CALL.format("kept=0, old=1") + "class Card:\n    def write(self, old=1): pass\n"},
    "3.0": {"acme/__init__.py": CALL.format("kept=0, *, second=2") + "class Card:\n    def write(self): pass\nNEW = 1\n"},
}


@pytest.fixture(autouse=True)
def _atlas(tmp_path: Path) -> Iterator[None]:
    with atlas_of(tmp_path, {"acme": CARDS}):
        yield


def told(capsys: pytest.CaptureFixture[str], folder: Path, script: str) -> tuple[str, str]:
    """What is said of the one fault, and the first way out of it."""
    (folder / "train.py").write_text(script)
    (folder / "requirements.txt").write_text("acme==3.0\n")
    found = json.loads(run(capsys, "check", str(folder / "train.py"), str(folder / "requirements.txt"), "-f", "json").out)["findings"]
    (one,) = (one for one in found if one["rule"] == "code-breaks")
    return one["detail"], json.dumps(one["fixes"][0])


def test_a_release_that_takes_the_call_and_has_the_rest_is_proposed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "<3.0" in told(capsys, tmp_path, "from acme import call\ncall(old=1)\n")[1]


def test_no_release_is_proposed_that_lacks_another_import(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    detail, fix = told(capsys, tmp_path, "from acme import NEW, call\ncall(old=1)\n")
    assert detail == "calls acme.call(old): the call is refused: gone since 3.0 (acme 3.0)"
    assert "call it with what acme 3.0 takes: kept, second" in fix


def test_a_release_without_the_class_takes_no_call_of_its_method(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _, fix = told(capsys, tmp_path, "from acme import Card\ncard = Card()\ncard.write(old=1)\n")
    assert ">=2.0" in fix
