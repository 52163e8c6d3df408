"""The pages that are made from the program and its rules; and pages that point at files point at some that are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from envdoctor.rules.rulebook import load_rulebook

ROOT = Path(__file__).parent.parent.parent
WRITTEN = sorted((*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "rules")))
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
# Other projects have scripts and examples as well, which some pages name.
_PLACE = re.compile(r"`((?:benchmarks|docs|envdoctor|fixtures|tests)/[\w./-]+)`")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("make_docs")


@pytest.mark.large
def test_every_page_is_built_and_every_rule_has_one(script: ModuleType, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of whatever rules there are: what was built before is nowhere kept."""
    (tmp_path / "rules").mkdir()
    own = tmp_path / "rules" / "notes.md"
    own.write_text("mine\n", encoding="utf-8")
    assert script.main(["--output", str(tmp_path)]) == 0
    pages = {path.stem for path in (tmp_path / "rules").glob("*.md")} - {"notes"}
    assert pages == {rule.id for rule in load_rulebook().rules if rule.withdrawn is None} | {"README", "by-error-text"}
    assert capsys.readouterr().out == f"{len(pages) + 1} pages in {tmp_path}\n"
    for index in ("README.md", "by-error-text.md"):
        linked = {name.removesuffix(".md") for name in _LINK.findall((tmp_path / "rules" / index).read_text(encoding="utf-8"))}
        assert linked <= pages
    gone = tmp_path / "rules" / "peft-that-was.md"
    gone.write_text((tmp_path / "rules" / "README.md").read_text(encoding="utf-8"), encoding="utf-8")
    script.main(["--output", str(tmp_path)])
    assert not gone.exists()
    assert own.exists()


def test_the_interface_and_the_install_lines_are_not_stale(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    status = script.main(["--check"])
    assert (status, capsys.readouterr().out) == (0, "the pages are up to date\n")


def test_the_readme_says_how_many_rules_there_are(script: ModuleType) -> None:
    """In round figures, so that a rule more is one file and no other."""
    there = len(load_rulebook().rules)
    (told,) = re.findall(r"^More than (\d+) rules, each with its evidence", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert there - 100 < int(told) < there
    line = "More than {} rules, each"
    assert script.with_count(line.format(told)) == line.format(told)
    for wrong in (there, there - 100):
        assert there - 100 < int(script.with_count(line.format(wrong)).split()[2]) < there


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_points_at_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    dead = {name for name in _LINK.findall(text) if not (page.parent / name).exists()}
    assert dead | {name for name in _PLACE.findall(text) if not (ROOT / name).exists()} == set()
