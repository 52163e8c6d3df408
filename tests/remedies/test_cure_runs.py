"""Cures of made-up rules, run in environments that take milliseconds to build."""

from __future__ import annotations

import platform
import venv
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from envdoctor.files.toml import parse_toml
from envdoctor.records import replace
from envdoctor.remedies.cure_runs import run_cures
from envdoctor.rules.ledger import Ledger, cure_subject, cures_shown, fix_subject
from envdoctor.rules.rule import parse_rule
from envdoctor.uv.environments import Environment, NotBuiltError
from envdoctor.world.releases import release_texts
from tests.rule_files import BODY, HEAD
from tests.rules.test_reproduction import BROKEN, install, interpreter_of

TABLE = """
[reproduction]
python = "3.11"
bad    = ["peft==0.11.1"]
good   = ["peft==0.12.0"]
extra  = ["numpy==1.26.4"]
run    = "import peft"
shows  = "the library is broken"
"""


class Shelf:
    """Builds environments with the peft that is asked for: broken, sound, or none at all."""

    def __init__(self, directory: Path, peft: Mapping[str, str]) -> None:
        self.directory, self.peft = directory, peft
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment:
        self.asked.append(tuple(pins))
        installed = dict(pin.split("==") for pin in pins)
        version = installed["peft"]
        if version not in self.peft:
            raise NotBuiltError(f"no peft {version}")
        home = self.directory / str(len(self.asked))
        venv.create(home)
        install(home, "peft", version, self.peft[version])
        return Environment(interpreter_of(home), platform.python_version(), installed)


def cured(
    tmp_path: Path,
    peft: Mapping[str, str],
    fixes: str,
    reproduction: str = TABLE,
    build: type[Shelf] = Shelf,
    shown: Mapping[str, object] | None = None,
) -> tuple[list[dict[str, object]], Shelf]:
    head, _, tail = BODY.format().partition("[[fix]]")
    text = HEAD.format(confidence="cited") + head + fixes + tail[tail.index("[[evidence]]") :] + reproduction
    table = parse_toml(text.encode(), "rule")
    shelf = build(tmp_path, peft)
    entry = run_cures(table, parse_rule(table, "rule"), shelf, known=release_texts, date="2026-01-31", shown=shown)
    rows = entry["cures"]
    assert isinstance(rows, list)
    assert cures_shown(table, Ledger(cured=entry)) == rows
    return rows, shelf


def test_the_nearest_release_of_a_pin_is_installed_beside_all_else(tmp_path: Path) -> None:
    rows, shelf = cured(tmp_path, {"0.11.1": BROKEN, "0.12.0": ""}, '[[fix]]\npin = "peft >=0.12"\n')
    assert shelf.asked == [("peft==0.11.1", "numpy==1.26.4"), ("numpy==1.26.4", "peft==0.12.0")]
    assert rows == [
        {
            "fix": "pin: peft >=0.12",
            "pins": ["numpy==1.26.4", "peft==0.12.0"],
            "installed": {"peft": "0.12.0"},
            "seen": "exit status 0",
            "result": "cures",
            "of": rows[0]["of"],
        }
    ]


def test_a_release_that_nobody_can_install_gives_way_to_the_next(tmp_path: Path) -> None:
    rows, _ = cured(tmp_path, {"0.11.1": BROKEN, "0.13.0": ""}, '[[fix]]\npin = "peft >=0.12"\n')
    assert (rows[0]["result"], rows[0]["installed"]) == ("cures", {"peft": "0.13.0"})
    rows, _ = cured(tmp_path / "none", {"0.11.1": BROKEN}, '[[fix]]\npin = "peft >=0.12"\n')
    assert rows[0]["result"] == "not run"
    assert str(rows[0]["why"]).startswith("it was not built: no peft ")


def test_a_pin_that_leaves_the_harm_or_brings_another_one_fails(tmp_path: Path) -> None:
    fixes = '[[fix]]\npin = "peft >=0.12, <0.13"\n[[fix]]\npin = "peft ==0.6.2"\n'
    rows, _ = cured(tmp_path, {"0.11.1": BROKEN, "0.12.0": BROKEN, "0.6.2": "raise OSError(5)"}, fixes)
    assert [(row["result"], row["seen"]) for row in rows] == [
        ("fails", "ImportError: the library is broken"),
        ("fails", "exit status 1: OSError: 5"),
    ]


def test_a_cure_in_code_runs_its_own_script_where_the_harm_is(tmp_path: Path) -> None:
    fixes = '[[fix]]\ncode = "leave the import out"\nrun = "print(1)"\n[[fix]]\ncode = "import another"\nrun = "import nothing_like_it"\n'
    rows, shelf = cured(tmp_path, {"0.11.1": BROKEN}, fixes + '[[fix]]\ncode = "ask somebody"\n')
    assert shelf.asked == [("peft==0.11.1", "numpy==1.26.4")]
    assert [row["result"] for row in rows] == ["cures", "fails", "not run"]
    assert rows[2]["why"] == "no script shows it"


def test_a_cure_in_code_that_moves_packages_runs_where_they_are_moved(tmp_path: Path) -> None:
    fixes = '[[fix]]\ncode = "uninstall it"\nsets = { packages.numpy = false }\nrun = "print(1)"\n'
    fixes += '[[fix]]\ncode = "install another"\nsets = { packages.numpy = "==2.0.0" }\n'
    rows, shelf = cured(tmp_path, {"0.11.1": BROKEN}, fixes)
    assert shelf.asked[1:] == [("peft==0.11.1",), ("peft==0.11.1", "numpy==2.0.0")]
    assert [(row["result"], row["installed"]) for row in rows] == [("cures", {}), ("fails", {"numpy": "2.0.0"})]


def test_a_cure_in_words_runs_with_the_releases_that_it_is_tried_with(tmp_path: Path) -> None:
    fixes = '[[fix]]\ncode = "install the release that knows it"\ntried = ["peft==0.12.0"]\n'
    fixes += '[[fix]]\ncode = "and uninstall that"\ntried = ["peft==0.12.0"]\nsets = { packages.numpy = false }\n'
    rows, shelf = cured(tmp_path, {"0.11.1": BROKEN, "0.12.0": ""}, fixes)
    assert shelf.asked[1:] == [("numpy==1.26.4", "peft==0.12.0"), ("peft==0.12.0",)]
    assert (rows[0]["result"], rows[0]["installed"]) == ("cures", {"peft": "0.12.0"})


@pytest.mark.parametrize(
    ("peft", "torch", "result"), [("0.12", ">=2.5", "cures"), ("0.12", ">=2.5, <2.7", "not run"), ("0.13", ">=2.5", "not run")]
)
def test_a_cure_with_another_torch_is_shown_by_a_good_side_that_has_it(tmp_path: Path, peft: str, torch: str, result: str) -> None:
    sides = TABLE.replace('peft==0.11.1"', 'peft==0.11.1", "torch==2.4.1"').replace('peft==0.12.0"', 'peft==0.12.0", "torch==2.13.0"')
    shown = {"bad": {"seen": "the library is broken"}, "good": {"seen": "exit status 0"}}
    rows, _ = cured(tmp_path, {"0.11.1": BROKEN}, f'[[fix]]\npin = ["peft >={peft}", "torch {torch}"]\n', sides, shown=shown)
    assert rows[0]["result"] == result


@pytest.mark.parametrize(("other", "result"), [("2.0", "cures"), ("1.5", "not run")])
def test_of_a_package_whose_releases_nobody_lists_the_good_side_shows_the_pin(tmp_path: Path, other: str, result: str) -> None:
    sides = TABLE.replace('"peft==0.11.1"]', '"peft==0.11.1", "unlisted==1.0"]').replace(
        '"peft==0.12.0"]', f'"peft==0.11.1", "unlisted=={other}"]'
    )
    shown = {"bad": {"seen": "broken"}, "good": {"seen": "exit status 0"}}
    rows, _ = cured(tmp_path, {"0.11.1": BROKEN}, '[[fix]]\npin = "unlisted >=2"\n', sides, shown=shown)
    assert [(row["result"], row.get("installed")) for row in rows] == [(result, {"unlisted": "2.0"} if result == "cures" else None)]


def test_a_package_that_others_bring_back_is_not_called_removed(tmp_path: Path) -> None:
    class Required(Shelf):
        def __call__(self, python: str, pins: Sequence[str], *, forced: bool = False, bare: Sequence[str] = ()) -> Environment:
            built = super().__call__(python, pins)
            return replace(built, installed={**built.installed, "numpy": "1.26.4"})

    fixes = '[[fix]]\ncode = "uninstall it"\nsets = { packages.numpy = false }\n'
    rows, _ = cured(tmp_path, {"0.11.1": BROKEN}, fixes, build=Required)
    assert (rows[0]["result"], rows[0]["why"]) == ("not run", "numpy is required by what else is installed")


def test_a_cure_that_also_changes_the_script_needs_the_script(tmp_path: Path) -> None:
    fixes = '[[fix]]\ncode = "install another, and ask it"\nsets = { packages.numpy = "==2.0.0", plan.code_uses = [] }\n'
    rows, shelf = cured(tmp_path, {"0.11.1": BROKEN}, fixes)
    assert (rows[0]["result"], rows[0]["why"], len(shelf.asked)) == ("not run", "no script shows it", 1)


def test_the_healthy_script_is_the_first_cure_that_is_no_pin(tmp_path: Path) -> None:
    table = TABLE.replace('good   = ["peft==0.12.0"]', 'healthy = "print(1)"')
    rows, _ = cured(tmp_path, {"0.11.1": BROKEN, "0.12.0": ""}, '[[fix]]\npin = "peft >=0.12"\n[[fix]]\ncode = "leave it out"\n', table)
    assert [(row["fix"], row["result"]) for row in rows] == [("pin: peft >=0.12", "cures"), ("code: leave it out", "cures")]


def test_without_harm_no_cure_is_shown(tmp_path: Path) -> None:
    rows, shelf = cured(tmp_path, {"0.11.1": "", "0.12.0": ""}, '[[fix]]\npin = "peft >=0.12"\n')
    assert (rows, len(shelf.asked)) == ([], 1)


def test_what_was_shown_of_other_fixes_counts_for_nothing() -> None:
    table: dict[str, object] = {"reproduction": {"run": "x"}, "fix": [{"pin": "peft >=0.12", "note": "n"}]}
    ledger = Ledger(cured={"subject": cure_subject(table), "cures": [{"result": "cures"}]})
    assert cures_shown(table, ledger) == [{"result": "cures"}]
    assert cures_shown({**table, "fix": [{"pin": "peft >=0.12", "note": "in other words"}]}, ledger) == [{"result": "cures"}]
    assert cures_shown({**table, "fix": [{"pin": "peft >=0.13", "note": "n"}]}, ledger) == []
    moved = {"code": "install another", "sets": {"packages": {"numpy": "==2.0.0"}}}
    assert cure_subject({"fix": [moved]}) != cure_subject({"fix": [{**moved, "sets": {"packages": {"numpy": "==1.26.4"}}}]})


def test_a_cure_that_stays_is_shown_whatever_is_put_beside_it() -> None:
    table = {"reproduction": {"run": "x"}, "fix": [{"pin": "peft >=0.12", "note": "n"}]}
    rows = [{"result": "cures", "of": fix_subject(table, {"pin": "peft >=0.12"})}]
    ledger = Ledger(cured={"subject": cure_subject(table), "cures": rows})
    before = {**table, "fix": [{"code": "cast it"}, {"pin": "peft >=0.12"}]}
    assert [row["result"] for row in cures_shown(before, ledger)] == ["not run", "cures"]
    assert cures_shown({**before, "reproduction": {"run": "y"}}, ledger) == []
