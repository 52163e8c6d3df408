"""`envdoctor rules refresh`, and the tables that it leaves for later runs."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from envdoctor.cli.refresh_rules import run
from envdoctor.errors import EnvdoctorError
from envdoctor.world import dependencies, releases, tables
from tests.refresh.package_index import INDEX, PackageIndex


def forget() -> None:
    """What this process knows of the tables; another one would read them anew."""
    tables.table.cache_clear()
    for module in (releases, dependencies):
        for value in list(vars(module).values()):
            if hasattr(value, "cache_clear") and value.__module__ == module.__name__:
                value.cache_clear()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", INDEX)
    forget()
    yield tmp_path / "cache" / "envdoctor" / "tables"
    monkeypatch.undo()
    forget()


@pytest.fixture
def index() -> PackageIndex:
    made = PackageIndex()
    made.put("new-package", "1.0", ["torch>=2"], day="2026-01-02")
    made.put("new-package", "1.1", ["torch>=2.1", "tqdm"], day="2026-02-03")
    return made


def asked(index: PackageIndex, *names: str, output: str | None = None, format: str = "text") -> int:
    return run(argparse.Namespace(paths=list(names), output=output, offline=False, format=format), index.get)


def test_what_was_asked_for_is_known_to_later_runs(home: Path, index: PackageIndex, capsys: pytest.CaptureFixture[str]) -> None:
    bundled = releases.source()
    assert (bundled.kind, bundled.passed_over, releases.exists("new-package", "1.0")) == ("bundled", "", None)
    assert asked(index, "New_Package") == 0
    day = bundled.day
    assert capsys.readouterr().out == (
        "new-package: 2 new (1.0, 1.1)\n1 packages asked for, 2 new releases, the metadata of 2 read\n"
        f"complete until {day}; written to {home}\n"
    )
    forget()
    assert (releases.source().kind, releases.source().day) == ("refreshed", day)
    assert releases.release_texts("new-package") == ("1.0", "1.1")
    assert dependencies.dependencies("new-package", "1.1") == (dependencies.Dependency("torch", ">=2.1"),)
    assert releases.exists("peft", "0.14.0") is True
    assert "new-package" in releases.listed()
    assert "new-package" not in releases.tracked()


def test_the_next_refresh_begins_with_the_last_one(home: Path, index: PackageIndex, capsys: pytest.CaptureFixture[str]) -> None:
    asked(index, "new-package")
    forget()
    index.put("other", "3.0")
    index.asked.clear()
    assert asked(index, "other", format="json") == 0
    told = json.loads(capsys.readouterr().out.partition("\n{")[2].join(["{", ""]))
    assert told["packages"] == {"other": {"added": ["3.0"], "gone": [], "read": 1, "unread": 0, "failed": None}}
    assert told["directory"] == str(home)
    forget()
    assert {"other", "new-package"} <= releases.listed()


def test_a_maintainer_writes_elsewhere_and_no_stamp(home: Path, index: PackageIndex, tmp_path: Path) -> None:
    assert asked(index, "new-package", output=str(tmp_path / "data")) == 0
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["dependencies.json", "releases.json"]
    assert not home.exists()


def test_a_package_that_fails_is_said_and_the_rest_written(home: Path, index: PackageIndex, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(index, "new-package", "peft") == 1
    assert "peft: kept as it was: HTTP 404\n" in capsys.readouterr().out
    forget()
    assert releases.release_texts("new-package") == ("1.0", "1.1")
    assert releases.exists("peft", "0.14.0") is True


def test_no_package_could_be_asked_for(home: Path, index: PackageIndex) -> None:
    with pytest.raises(EnvdoctorError, match=r"rules refresh: found HTTP 404; expected a package index that answers"):
        asked(index, "peft", "trl")
    assert not home.exists()


@pytest.mark.parametrize("name", ["../peft", "peft==0.14", "", "-x", "a b", "ä"])
def test_what_is_no_name_of_a_package(home: Path, index: PackageIndex, name: str) -> None:
    with pytest.raises(EnvdoctorError, match="expected the name of a package"):
        asked(index, name)
    assert index.asked == []


def test_offline(home: Path, index: PackageIndex) -> None:
    with pytest.raises(EnvdoctorError, match="leave --offline out"):
        run(argparse.Namespace(paths=[], output=None, offline=True, format="text"), index.get)
    assert index.asked == []


def test_a_directory_that_cannot_be_written(home: Path, index: PackageIndex, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvdoctorError, match="expected a directory to write to"):
        asked(index, "new-package", output=str(tmp_path / "file" / "data"))


def test_damaged_tables_are_not_written_over(home: Path, index: PackageIndex, tmp_path: Path) -> None:
    for name in ("releases", "dependencies"):
        (tmp_path / f"{name}.json").write_text('{"schema": 1, "as_of": "2026-01-01", "packages": {}}')
    with pytest.raises(EnvdoctorError, match="another release of envdoctor"):
        asked(index, "new-package", output=str(tmp_path))


# The user's tables that are not used.


def stamp_of(home: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((home / "stamp.json").read_text())
    return found


def cut(home: Path) -> None:
    path = home / "releases.json"
    path.write_bytes(path.read_bytes()[:-100])


def altered(home: Path) -> None:
    path = home / "releases.json"
    path.write_bytes(path.read_bytes().replace(b"2026-01-02", b"2026-01-03"))


def grown(home: Path) -> None:
    with open(home / "releases.json", "ab") as file:
        file.write(b" ")


def missing(home: Path) -> None:
    (home / "releases.json").unlink()


def a_directory(home: Path) -> None:
    missing(home)
    (home / "releases.json").mkdir()


def broken_stamp(home: Path) -> None:
    (home / "stamp.json").write_bytes(b"\xff{")


def deep_stamp(home: Path) -> None:
    (home / "stamp.json").write_text("[" * 60_000)


def stamp_without_files(home: Path) -> None:
    (home / "stamp.json").write_text('{"schema": 2}')


def stamp_with_another_day(home: Path) -> None:
    told = (home / "stamp.json").read_text()
    (home / "stamp.json").write_text(told.replace('"as_of": "', '"as_of": "on '))


def other_schema(home: Path) -> None:
    (home / "stamp.json").write_text(json.dumps({**stamp_of(home), "schema": 3}))


def older(home: Path) -> None:
    told = (home / "stamp.json").read_text()
    (home / "stamp.json").write_text(told.replace(releases.source().day, "2025-01-02"))


def with_content(text: str, home: Path) -> None:
    (home / "releases.json").write_text(text)
    days = dict.fromkeys(("releases", "dependencies"), "2027-01-01")
    (home / "stamp.json").write_text(tables.stamp({name: (home / f"{name}.json").read_bytes() for name in days}, days))


def not_json(home: Path) -> None:
    with_content("{", home)


def not_a_table(home: Path) -> None:
    with_content('{"schema": 2, "as_of": "2027-01-01", "packages": {"peft": []}}', home)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (cut, "damaged"), (altered, "damaged"), (grown, "damaged"), (missing, "damaged"), (a_directory, "damaged"),
        (broken_stamp, "stamp is damaged"), (deep_stamp, "stamp is damaged"), (stamp_without_files, "stamp is damaged"),
        (stamp_with_another_day, "stamp is damaged"), (other_schema, "another release of envdoctor (schema 3, not 2)"),
        (older, "of 2025-01-02, older than the bundled one"), (not_json, "no JSON"), (not_a_table, "not a table of packages"),
    ],
)  # fmt: skip
@pytest.mark.large
def test_a_table_that_is_damaged_or_older_is_passed_over_and_said(home: Path, index: PackageIndex, damage: object, why: str) -> None:
    asked(index, "new-package")
    assert callable(damage)
    damage(home)
    forget()
    used = releases.source()
    assert used.kind == "bundled"
    assert why in used.passed_over
    assert releases.exists("peft", "0.14.0") is True
    assert "new-package" not in releases.listed()


def test_a_home_that_cannot_be_is_no_table(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    forget()
    assert (releases.source().kind, releases.source().passed_over) == ("bundled", "")


def test_the_age_of_the_list(home: Path) -> None:
    made = date.fromisoformat(releases.source().day)
    assert releases.age(made) == 0
    assert releases.age(date(made.year + 1, made.month, made.day)) in (365, 366)
    assert releases.age(date(2020, 1, 1)) == 0
    with releases.known_until("2024-01-01"):
        assert releases.age(made) == 0
