"""What pages show of runs is what is printed, and the first page stays one that people read to its end."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.cli.run import forget_pins, run

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
outputs: ModuleType = importlib.import_module("shown_outputs")
recording: ModuleType = importlib.import_module("record")
sys.path.remove(str(ROOT / "scripts"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shown")
    outputs.place_fixtures(place)
    return place


@pytest.fixture(scope="module")
def whole() -> Iterator[None]:
    """With the releases that come with envdoctor: what is shown is what a reader gets."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("ENVDOCTOR_ATLAS")
        _remember_nothing()
        yield
    _remember_nothing()


def _remember_nothing() -> None:
    """What was worked out without these releases is no answer here, nor elsewhere what was with them."""
    forget_pins()
    for name, module in list(sys.modules.items()):
        for kept in vars(module).values() if name.startswith("envdoctor.") else ():
            if callable(clear := getattr(kept, "cache_clear", None)):
                clear()


@pytest.mark.large
@pytest.mark.usefixtures("whole")
@pytest.mark.parametrize("name", outputs.RUNS)
def test_a_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(folder)
    *before, last = outputs.RUNS[name]
    for line in before:
        assert run(capsys, *shlex.split(line)).status == 0
    told = run(capsys, *shlex.split(last), every_rule=True)
    assert told.err == ""
    assert outputs.timeless(told.out) == outputs.timeless(outputs.shown()[name])


def test_every_run_is_shown_and_every_shown_run_is_done() -> None:
    assert set(outputs.shown()) == set(outputs.RUNS)


@pytest.mark.large
@pytest.mark.usefixtures("whole")
def test_the_recording_says_what_is_printed(capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    told = run(capsys, *recording.TYPED.split()[1:], every_rule=True).out.splitlines()
    lines = [line if len(line) <= recording.COLUMNS else f"{line[: recording.COLUMNS - 3]}..." for line in told if line]
    assert outputs.timeless("\n".join(lines)) == recording.words(recording.TARGET.read_text(encoding="utf-8"))


def test_the_first_page_is_short() -> None:
    assert 150 <= len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 200


def test_every_page_is_in_the_index_and_the_index_has_no_other() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", index))
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md", "interface.in.md"}
    assert pages <= linked
    assert all((ROOT / "docs" / name).exists() for name in linked)


def test_the_index_counts_its_pages_in_order() -> None:
    numbers = re.findall(r"^(\d+)\. ", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
