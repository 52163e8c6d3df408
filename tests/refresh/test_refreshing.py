"""A refresh as a whole: what is asked for, what is kept, and what is said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from envdoctor.refresh.refreshing import Outcome, all_names, present, refresh, write
from envdoctor.refresh.tables import Listed, Package, Tables
from envdoctor.world.tables import BUNDLED, DamagedError
from tests.refresh.package_index import INDEX, PackageIndex

TODAY = "2026-12-01"


def done(index: PackageIndex, before: Tables, names: Iterable[str]) -> tuple[Tables, dict[str, Outcome]]:
    after, outcomes = refresh(before, sorted(names), TODAY, INDEX, index.get, at_a_time=2)
    return after, {one.name: one for one in outcomes}


@pytest.fixture
def index() -> PackageIndex:
    made = PackageIndex()
    made.put("peft", "0.14.0", ["numpy>=1.17", "transformers"], day="2024-12-06")
    made.put("peft", "0.15.0", ["numpy>=1.17", "transformers", 'deepspeed ; extra == "deepspeed"'], day="2025-03-19")
    made.put("peft", "0.16.0rc1", [])
    made.put("tyro", "0.9.0", ['rich ; extra == "colour"', "docstring-parser>=0.15"])
    return made


def test_everything_is_asked_for_where_nothing_is_known(index: PackageIndex) -> None:
    after, outcomes = done(index, Tables(), ["peft", "tyro"])
    assert after.as_of == TODAY
    assert after.packages["peft"] == Package(
        (Listed("0.14.0", "2024-12-06", ">=3.8"), Listed("0.15.0", "2025-03-19", ">=3.8")), ("0.16.0rc1",)
    )
    assert after.requires["peft"] == {
        "0.14.0": ["numpy>=1.17", "transformers"],
        "0.15.0": ["numpy>=1.17", "transformers", "[deepspeed] deepspeed"],
    }
    # Of a package that training files ask for without an extra, the extras are left out.
    assert after.requires["tyro"] == {"0.9.0": ["docstring-parser>=0.15"]}
    assert outcomes["peft"] == Outcome("peft", ("0.14.0", "0.15.0"), (), 2)


def test_only_what_is_new_is_read(index: PackageIndex) -> None:
    before, _ = done(index, Tables(), ["peft", "tyro"])
    index.asked.clear()
    again, outcomes = done(index, before, ["peft", "tyro"])
    assert again == before
    assert sorted(index.asked) == [f"{INDEX}/peft/", f"{INDEX}/tyro/"]
    assert list(outcomes.values()) == [Outcome("peft"), Outcome("tyro")]
    address = index.put("peft", "0.16.0", ["numpy>=2"])
    index.asked.clear()
    after, outcomes = done(index, again, ["peft", "tyro"])
    assert set(index.asked) == {f"{INDEX}/peft/", f"{INDEX}/tyro/", address}
    assert outcomes["peft"] == Outcome("peft", ("0.16.0",), (), 1)
    assert after.requires["peft"]["0.16.0"] == ["numpy>=2"]
    assert list(after.requires["peft"]) == ["0.14.0", "0.15.0", "0.16.0"]


def test_a_package_that_cannot_be_asked_for_stays_as_it_was_and_the_tables_as_old(index: PackageIndex) -> None:
    before, _ = done(index, Tables(as_of="2026-11-21"), ["peft", "tyro"])
    index.put("tyro", "1.0.0")
    index.put("peft", "0.16.0")
    index.broken.add(f"{INDEX}/peft/")
    older = Tables("2026-11-21", (), before.packages, before.requires)
    after, outcomes = done(index, older, ["peft", "tyro"])
    assert after.packages["peft"] == before.packages["peft"]
    assert after.requires["peft"] == before.requires["peft"]
    assert [one.version for one in after.packages["tyro"].releases] == ["0.9.0", "1.0.0"]
    assert after.as_of == "2026-11-21"
    assert outcomes["peft"] == Outcome("peft", failed="kept as it was: HTTP 503")
    index.broken.clear()
    whole, outcomes = done(index, after, ["peft", "tyro"])
    assert (whole.as_of, outcomes["peft"].added) == (TODAY, ("0.16.0",))


def test_a_refresh_of_some_leaves_the_day_of_the_others(index: PackageIndex) -> None:
    before = Tables("2026-11-21", (), {"tyro": Package((Listed("0.1.0", None, None),))}, {"tyro": {"0.1.0": []}})
    after, _ = done(index, before, ["peft"])
    assert after.as_of == "2026-11-21"
    assert set(after.packages) == {"peft", "tyro"}
    assert after.packages["tyro"] == before.packages["tyro"]


def test_a_wheel_that_the_index_does_not_give_is_asked_for_again(index: PackageIndex) -> None:
    address = index.put("peft", "0.16.0", ["numpy>=2"])
    index.broken.add(address)
    after, outcomes = done(index, Tables("2026-11-21"), ["peft"])
    assert outcomes["peft"].failed == "the metadata of 1 releases could not be had: HTTP 503"
    assert (outcomes["peft"].read, outcomes["peft"].unread) == (2, 1)
    assert "0.16.0" not in after.requires["peft"]
    assert after.as_of == "2026-11-21"
    index.broken.clear()
    after, outcomes = done(index, after, ["peft"])
    assert (outcomes["peft"].read, after.requires["peft"]["0.16.0"], after.as_of) == (1, ["numpy>=2"], TODAY)


def test_a_wheel_that_cannot_be_read_is_counted_and_nothing_is_known_of_it(index: PackageIndex) -> None:
    index.put("peft", "0.16.0", data=b"no wheel at all")
    after, outcomes = done(index, Tables(), ["peft"])
    assert outcomes["peft"] == Outcome("peft", ("0.14.0", "0.15.0", "0.16.0"), (), 2, 1)
    assert "0.16.0" not in after.requires["peft"]
    assert after.as_of == TODAY


def _of_pythons(index: PackageIndex, *several: tuple[str, Sequence[str]]) -> list[str]:
    return [index.put("ort", "1.18.0", requires, tag=f"{python}-{python}-manylinux_2_28_x86_64") for python, requires in several]


def test_of_wheels_for_several_pythons_what_all_require_is_kept(index: PackageIndex) -> None:
    """The wheels of onnxruntime-gpu 1.18.0, and what they ask for."""
    built = _of_pythons(
        index, ("cp310", ["numpy>=1.21.6", "sympy"]), ("cp311", ["numpy>=1.24.2", "sympy"]), ("cp312", ["numpy>=1.26.0", "sympy"])
    )
    after, outcomes = done(index, Tables(), ["ort"])
    assert after.requires["ort"] == {"1.18.0": ["numpy>=1.21.6", "sympy"]}
    assert outcomes["ort"] == Outcome("ort", ("1.18.0",), (), 1)
    assert sorted(set(index.asked)) == sorted([f"{INDEX}/ort/", *built])


def test_of_many_wheels_that_are_alike_the_first_and_the_last_are_read(index: PackageIndex) -> None:
    built = _of_pythons(index, *((f"cp3{minor}", ["numpy>=1.21.6"]) for minor in range(8, 14)))
    after, _ = done(index, Tables(), ["ort"])
    assert after.requires["ort"] == {"1.18.0": ["numpy>=1.21.6"]}
    assert set(index.asked) == {f"{INDEX}/ort/", built[0], built[-1]}


def test_a_wheel_of_several_that_is_none_says_nothing_and_one_that_is_not_given_is_asked_for_again(index: PackageIndex) -> None:
    older, newer = _of_pythons(index, ("cp310", ["numpy>=1.21.6"]), ("cp312", ["numpy>=1.26.0"]))
    index.files[newer] = b"no wheel at all"
    assert done(index, Tables(), ["ort"])[0].requires["ort"] == {"1.18.0": ["numpy>=1.21.6"]}
    index.broken.add(older)
    after, outcomes = done(index, Tables(), ["ort"])
    assert (after.requires["ort"], outcomes["ort"].failed) == ({}, "the metadata of 1 releases could not be had: HTTP 503")


def test_a_release_that_the_index_has_no_more_is_forgotten(index: PackageIndex) -> None:
    before, _ = done(index, Tables(), ["peft"])
    del index.pages["peft"][0]
    after, outcomes = done(index, before, ["peft"])
    assert outcomes["peft"].gone == ("0.14.0",)
    assert list(after.requires["peft"]) == ["0.15.0"]


@pytest.mark.parametrize(("page", "why"), [(b"Bad gateway", "no page of a project"), (b'{"files": []}', "no release with a wheel")])
def test_an_answer_that_lists_nothing_takes_nothing_away(index: PackageIndex, page: bytes, why: str) -> None:
    before, _ = done(index, Tables(), ["peft"])
    index.files[f"{INDEX}/broken-page/"] = page
    del index.pages["peft"]
    index.files[f"{INDEX}/peft/"] = page
    after, outcomes = done(index, before, ["peft"])
    assert after.packages["peft"] == before.packages["peft"]
    assert why in outcomes["peft"].failed


def test_how_far_it_is_is_told_of_every_page_and_every_wheel(index: PackageIndex) -> None:
    told: list[tuple[int, int]] = []
    refresh(Tables(), ["peft", "tyro"], TODAY, INDEX, index.get, tell=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2), (3, 5), (4, 5), (5, 5)]


def test_tables_that_are_written_are_those_to_begin_with_the_next_time(index: PackageIndex, tmp_path: Path) -> None:
    after, _ = done(index, Tables(core=("peft",)), ["peft", "tyro"])
    write(after, tmp_path / "new" / "place", stamped=False)
    assert sorted(path.name for path in (tmp_path / "new" / "place").iterdir()) == ["dependencies.json", "releases.json"]
    again = present(tmp_path / "new" / "place")
    assert (again.packages, again.as_of) == (after.packages, TODAY)
    assert again.requires["peft"] == after.requires["peft"]


def test_a_damaged_table_in_the_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "releases.json").write_text("{")
    (tmp_path / "dependencies.json").write_text("{")
    with pytest.raises(DamagedError, match="no JSON"):
        present(tmp_path)


def test_a_directory_without_tables_begins_with_those_in_use(tmp_path: Path) -> None:
    assert present(tmp_path) == present(BUNDLED) == present(None)
    assert {"peft", "scipy", "gradio"} <= set(all_names(present(None)))
