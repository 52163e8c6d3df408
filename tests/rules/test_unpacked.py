"""The rules' files out of a wheel: what lint, verify and reproduce read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.rules import unpacked
from envdoctor.rules.rulebook import shipped_rules
from envdoctor.rules.unpacked import PACKED, pack_rules, shipped_files
from tests.cli.run import run

ROOT = Path(__file__).parent.parent.parent
SOME = ("peft", "chatglm")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as a wheel leaves it, with the rules of two folders."""
    sources, inside = tmp_path / "rules", tmp_path / "site-packages" / "envdoctor" / "_rules"
    inside.mkdir(parents=True)
    sources.mkdir()
    for folder in SOME:
        (sources / folder).symlink_to(ROOT / "rules" / folder)
    (inside / PACKED).write_bytes(pack_rules_of(sources))
    monkeypatch.setattr(unpacked, "shipped_rules", lambda: inside)
    shipped_files.cache_clear()
    yield inside
    shipped_files.cache_clear()


def pack_rules_of(sources: Path) -> bytes:
    copies = sources.parent / "copies"
    for folder in SOME:
        (copies / folder).mkdir(parents=True)
        for path in (sources / folder).glob("*.toml"):
            (copies / folder / path.name).write_bytes(path.read_bytes())
    return pack_rules(copies)


def test_a_checkout_has_its_files_beside_it() -> None:
    assert shipped_files() == shipped_rules() == ROOT / "rules"


def test_every_file_comes_out_as_it_went_in(installed: Path) -> None:
    found = shipped_files()
    assert not found.is_relative_to(installed)
    expected = {path.relative_to(ROOT / "rules"): path.read_bytes() for folder in SOME for path in (ROOT / "rules" / folder).glob("*.toml")}
    assert {path.relative_to(found): path.read_bytes() for path in found.rglob("*") if path.is_file()} == expected
    assert shipped_files() == found


def test_a_rule_of_a_wheel_is_linted_by_its_id(installed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "rules", "lint", "peft-fp16-adapter-nan")
    assert (ran.status, ran.out, ran.err) == (0, "1 rule files, nothing wrong\n", "")


@pytest.mark.parametrize("data", [b"", b"not compressed", b"\xfd7zXZ\x00\x00"])
def test_a_damaged_wheel_says_so(installed: Path, capsys: pytest.CaptureFixture[str], data: bytes) -> None:
    (installed / PACKED).write_bytes(data)
    ran = run(capsys, "rules", "lint", "peft-fp16-adapter-nan")
    assert ran.status == 2
    assert "expected the rules that the wheel came with; next: install envdoctor again\n" in ran.err
