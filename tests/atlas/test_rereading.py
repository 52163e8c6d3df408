"""Modules that are read once more: what was open is settled, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

from envdoctor.refresh.index import page_address, project_page
from envdoctor.refresh.pages import parse_page
from envdoctor.survey.adding import read_back
from envdoctor.survey.choice import choose
from envdoctor.survey.kept import Kept
from envdoctor.survey.rereading import reread, unsettled
from tests.atlas.test_adding import RELEASES, Index, _every, made, told

__all__ = ["_every"]

INDEX = "https://index.example/simple/"


def again(folder: Path, *, whole: bool = False, modules: set[str] | None = None, reached: int = 4) -> list[tuple[str, str]]:
    index = Index(reached)
    files = parse_page(project_page(INDEX, "acme", index.get), page_address(INDEX, "acme"))
    releases = [one for one in choose("acme", files, since="", every=True) if one.version in RELEASES]
    path = folder / "acme" / "contents.txt"
    found = unsettled(read_back(path.read_text("utf-8"))) if modules is None else modules
    kept = Kept(folder / "again" / "acme.db")
    failed = reread(path, "acme", releases, index.get, kept, found, lambda _: None, whole=whole)
    kept.close()
    return failed


def test_a_hidden_signature_and_an_open_module_are_settled(tmp_path: Path) -> None:
    made(tmp_path, 4)
    path, before = tmp_path / "acme" / "contents.txt", told(tmp_path, "contents.txt")
    hidden = before.replace("f call a,b=,/,*,c\t1.0\n", "f call ~\t1.0\n").replace("module acme.late 1.1-\n", "module acme.late 1.1-\no\n")
    assert hidden != before
    path.write_text(hidden, "utf-8")
    assert again(tmp_path) == []
    assert told(tmp_path, "contents.txt") == before


def test_releases_that_cannot_be_had_stay_as_they_were(tmp_path: Path) -> None:
    made(tmp_path, 4)
    path, before = tmp_path / "acme" / "contents.txt", told(tmp_path, "contents.txt")
    path.write_text(before.replace("module acme.late 1.1-\n", "module acme.late 1.1-\no\n"), "utf-8")
    assert again(tmp_path, reached=3) == []
    assert read_back(told(tmp_path, "contents.txt")).modules["acme.late"][1]["o",] == 0b1000


def test_a_module_that_is_named_is_written_anew(tmp_path: Path) -> None:
    made(tmp_path, 4)
    path, before = tmp_path / "acme" / "contents.txt", told(tmp_path, "contents.txt")
    path.write_text(before.replace("module acme.gone 1.0-1.1\n", "module acme.gone 1.0-1.1\nn wrong\n"), "utf-8")
    assert again(tmp_path, whole=True, modules={"acme.gone"}) == []
    assert told(tmp_path, "contents.txt") == before
