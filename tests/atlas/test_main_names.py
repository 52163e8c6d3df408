"""Names that a package loads only when they are asked for: a warning where nobody says what is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.atlas import main_names
from envdoctor.atlas.main_names import MAIN_NAMES
from envdoctor.atlas.stack import Stack
from envdoctor.checks.atlas import atlas_breaks, hits_of
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from tests.atlas.wheels import alone, forget, make_atlas
from tests.cli.run import run

LIB = {
    "1.0": {"bolt/__init__.py": "class Old: pass\nclass Kept: pass\n"},
    "2.0": {"bolt/__init__.py": "class Kept: pass\n"},
}
USER = {
    "0.1": {"rider/__init__.py": "import bolt\n", "rider/late.py": "from bolt import Old\nclass Trainer: pass\n"},
    "0.2": {"rider/__init__.py": "from bolt import Old\n", "rider/late.py": "from bolt import Old\nclass Trainer: pass\n"},
    "0.3": {
        "rider/__init__.py": "from rider import fast\n",
        "rider/fast.pyi": "from bolt import Old\n",
        "rider/late.py": "class Trainer: pass\n",
    },
}


@pytest.fixture(autouse=True)
def _atlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    assert make_atlas(tmp_path, {"bolt": LIB, "rider": USER}) == []
    alone(monkeypatch, tmp_path / "atlas")
    monkeypatch.setattr(main_names, "MAIN_NAMES", {"rider": ("rider.late:Trainer",)})
    yield
    forget()


def found(*facts: Fact, **releases: str) -> list[tuple[str, str]]:
    stated = [Fact(f"packages.{name}", exact(text), Origin("stated")) for name, text in releases.items()]
    return [(hit.rule, hit.headline) for hit in atlas_breaks(Facts({}).with_facts([*stated, *facts]))]


def test_what_only_a_main_name_reaches_is_a_warning_with_the_import_that_fails() -> None:
    assert found(rider="0.1", bolt="2.0") == [("part-breaks", "from rider.late import Trainer fails: rider 0.1 does not fit bolt 2.0")]
    assert found(rider="0.1", bolt="1.0") == []


def test_what_breaks_the_package_itself_is_told_once_and_as_an_error() -> None:
    assert [rule for rule, _ in found(rider="0.2", bolt="2.0")] == ["import-breaks"]


def test_what_the_stub_of_a_compiled_module_imports_is_imported_by_nobody() -> None:
    assert found(rider="0.3", bolt="2.0") == []


def test_with_a_script_its_own_names_count() -> None:
    uses = Fact("plan.code_uses", ("import rider",), Origin("a script", "train.py", 1))
    assert found(uses, rider="0.1", bolt="2.0") == []
    stack = Stack({"rider": "0.1", "bolt": "2.0"}, False, "3.11", "Linux")
    assert [hit.rule for hit in hits_of(stack, [("rider", "rider.late:Trainer")])] == ["import-breaks"]


def test_the_main_names_are_names_of_modules() -> None:
    assert all(entry.partition(":")[1:] != ("", "") for entries in main_names.MAIN_NAMES.values() for entry in entries)


def test_one_line_cures_what_is_certain_and_what_a_main_name_needs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lib = {"0.20.3": {"accelerate/__init__.py": ""}, "0.21.0": {"accelerate/__init__.py": "class New: pass\n"}}
    user = {"0.1": {"rider/__init__.py": "", "rider/late.py": "from accelerate import New\nclass Trainer: pass\n"}}
    (tmp_path / "two").mkdir()
    assert make_atlas(tmp_path / "two", {"accelerate": lib, "rider": user}) == []
    alone(monkeypatch, tmp_path / "two" / "atlas")
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.1.2\nnumpy==2.0.0\nrider==0.1\naccelerate==0.20.3\n")
    told = run(capsys, "check", str(file), "--format", "json").json
    assert [one["rule"] for one in told["findings"] if one["status"] == "matched"] == ["numpy-2-with-torch-before-2-3", "part-breaks"]
    assert told["remedy"]["pins"] == {"accelerate": "==0.21.0", "numpy": "==1.26.4"}
    assert told["coverage"] == {"packages_known": 3, "packages_stated": 4, "packages_newer_than_rules": []}


def test_a_release_that_is_stated_with_fewer_zeros_is_that_release() -> None:
    assert found(rider="0.1", bolt="2") == [("part-breaks", "from rider.late import Trainer fails: rider 0.1 does not fit bolt 2")]
    assert found(rider="0.1", bolt="2.0.0.0")


def test_the_modules_of_the_main_names_are_in_the_atlas() -> None:
    kept = Path(__file__).resolve().parents[2] / "atlas"
    for package, entries in MAIN_NAMES.items():
        text = (kept / package / "contents.txt").read_text(encoding="utf-8")
        assert [entry for entry in entries if f"\nmodule {entry.partition(':')[0]} " not in text] == [], package
