"""The files of the tables, written and read."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from envdoctor.refresh.tables import Listed, Package, dependencies_text, packages_of, releases_text, requires_of
from envdoctor.world import dependencies as reading
from envdoctor.world.tables import BUNDLED, read_table

VERSIONS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map("{0[0]}.{0[1]}".format), unique=True, max_size=12)
DAYS = st.none() | st.dates().map(lambda day: day.isoformat())
PYTHONS = st.none() | st.sampled_from([">=3.8", ">=3.9, <4", "!=3.0.*", ""])
LISTED = st.builds(Listed, st.just("1"), DAYS, PYTHONS, st.sampled_from([(), ("no-wheel",)])) | st.builds(
    Listed, st.just("1"), DAYS, PYTHONS, st.sampled_from([("yanked",), ("yanked", "no-wheel")]), st.sampled_from(["", 'a "bug"', "défaut"])
)
NAMES = st.sampled_from(["peft", "torch", "hf-xet"])
LINES = st.sampled_from(
    ["numpy>=1.17", "tqdm", 'triton ; sys_platform == "linux"', "fsspec[http]<=2024.6.1", "[torch] torch>=2", "[torch] tqdm"]
)


@st.composite
def packages(draw: st.DrawFn) -> dict[str, Package]:
    found = {}
    for name in draw(st.lists(NAMES, unique=True)):
        releases = [draw(LISTED) for _ in range(draw(st.integers(0, 5)))]
        rows = tuple(Listed(f"{number}.0", one.day, one.python, one.marks, one.reason) for number, one in enumerate(releases))
        found[name] = Package(rows, draw(st.none() | st.just(("1.0rc1", "2.0.dev0"))))
    return found


@given(packages=packages())
def test_releases_come_back_as_they_were_written(packages: dict[str, Package]) -> None:
    text = releases_text("2026-11-21", ["peft"], packages)
    table = read_table(Path("releases.json"), text.encode())
    assert (packages_of(table), table.as_of, table.content["core"]) == (packages, "2026-11-21", ["peft"])


@given(requires=st.dictionaries(NAMES, st.dictionaries(VERSIONS.map(lambda some: (some or ["1.0"])[0]), st.lists(LINES, unique=True))))
def test_requirements_come_back_as_they_were_written(requires: dict[str, dict[str, list[str]]]) -> None:
    text = dependencies_text("2026-11-21", "2026-11-20", requires)
    table = read_table(Path("dependencies.json"), text.encode())
    found = requires_of(table)
    assert {name: {version: set(lines) for version, lines in told.items()} for name, told in found.items()} == {
        name: {version: set(lines) for version, lines in told.items()} for name, told in requires.items()
    }
    assert table.content["releases_as_of"] == "2026-11-20"
    assert dependencies_text("2026-11-21", "2026-11-20", found) == dependencies_text("2026-11-21", "2026-11-20", requires_of(table))


def test_a_release_stands_in_a_line_of_its_own() -> None:
    text = releases_text(
        "2026-11-21", ["peft"], {"peft": Package((Listed("0.1", "2024-01-02", ">=3.8"), Listed("0.2", None, None, ("yanked",))))}
    )
    assert '   "0.1 2024-01-02 0",\n   "0.2 - - yanked"]' in text


def test_the_bundled_tables_are_written_as_they_would_be_again() -> None:
    releases, dependencies = ((BUNDLED / f"{name}.json").read_bytes() for name in ("releases", "dependencies"))
    table = read_table(Path("releases.json"), releases)
    core = table.content["core"]
    assert isinstance(core, list)
    assert releases_text(table.as_of, core, packages_of(table)) == releases.decode()
    table = read_table(Path("dependencies.json"), dependencies)
    assert dependencies_text(table.as_of, str(table.content["releases_as_of"]), requires_of(table)) == dependencies.decode()


def test_what_is_written_is_what_is_read_of_it() -> None:
    """Two readers of one format: what makes the table, and what looks things up in it."""
    content = json.loads((BUNDLED / "dependencies.json").read_bytes())
    table = read_table(Path("dependencies.json"), json.dumps(content).encode())
    for name, told in requires_of(table).items():
        for version, lines in list(told.items())[-3:]:
            bare = [line for line in lines if not line.startswith("[")]
            found = reading.dependencies(name, version, unbound=True)
            assert found is not None
            assert sorted(_text(one) for one in found) == sorted(bare)


def _text(one: reading.Dependency) -> str:
    extras = f"[{','.join(one.extras)}]" if one.extras else ""
    return f"{one.name}{extras}{one.specifier}" + (f" ; {one.marker}" if one.marker else "")
