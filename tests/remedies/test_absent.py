"""What is installed where a package is missing: the newest release that the rest suits, and never a placeholder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.remedies.absent import newest_that_fits
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.world.releases import known_until
from tests.cli.run import run


def stated(**packages: str) -> Facts:
    named = {f"packages.{name.replace('_', '-')}": text for name, text in packages.items()}
    return Facts({name: Fact(name, parse_value(name, text), Origin("test")) for name, text in named.items()})


@pytest.mark.parametrize(
    ("package", "spec", "packages", "release"),
    [
        ("tokenizers", "<0.22,>=0.21", {}, "0.21.4"),
        ("huggingface-hub", ">=0.25.0,<1.0,>=0.24.0", {}, "0.36.0"),
        # accelerate asks for huggingface-hub 0.21 or later from 0.33.0 on.
        ("accelerate", ">=0.21.0", {"huggingface_hub": "==0.19.4"}, "0.32.1"),
        ("no-such-package", ">=2", {}, None),
    ],
)
def test_the_newest_release_that_suits_what_is_there(package: str, spec: str, packages: dict[str, str], release: str | None) -> None:
    with known_until("2025-11-01"):
        found = newest_that_fits(package, spec, stated(**packages))
    assert (None if found is None else found.text) == release


def test_what_several_packages_ask_of_a_missing_one_is_one_answer(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    declares = {
        "peft-0.14.0": ["huggingface-hub>=0.25.0", "odd-one>=2"],
        "transformers-4.48.0": ["huggingface-hub<1.0,>=0.24.0"],
    }
    for name, requires in declares.items():
        folder = site / f"{name}.dist-info"
        folder.mkdir(parents=True)
        package, _, version = name.partition("-")
        rows = [f"Requires-Dist: {one}" for one in requires]
        (folder / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", f"Name: {package}", f"Version: {version}", *rows, ""]))
        (folder / "RECORD").write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").write_text("")
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    done = run(capsys, "check", "--python", str(tmp_path), "--as-of", "2025-11-01", "-f", "json", every_rule=True)
    told = [one for one in done.json["findings"] if one["rule"] == "declared-requirement-missing"]
    cures = {(one["packages"][0], one["packages"][1]): one["fixes"] for one in told}
    pins = {names: [cure.get("pins") for cure in of] for names, of in cures.items()}
    assert pins["peft", "huggingface-hub"] == pins["transformers", "huggingface-hub"] == [{"huggingface-hub": "==0.36.0"}]
    assert [cure["note"] for cure in cures["peft", "odd-one"]] == ["python -m pip install 'odd-one>=2'"]


def test_no_cure_has_a_placeholder_in_angle_brackets() -> None:
    assert [rule.id for rule in load_rulebook().rules for fix in rule.fixes if re.search(r"<[a-z][a-z ]*>", fix.text)] == []
