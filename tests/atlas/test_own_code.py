"""Somebody's own code against releases: who is told beside which rule, at which lines, and what an upgrade would break."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.atlas.answers import answer
from envdoctor.checks.hit import Hit
from envdoctor.engine.diagnosis import Because, Finding, _told
from envdoctor.rules.rulebook import load_rulebook
from tests.atlas.test_atlas import LIB, USER
from tests.atlas.wheels import alone, atlas_of, forget, make_atlas
from tests.cli.run import run

SCRIPT = (
    "import acme\nfrom acme import Kept\nacme.Old()\nacme.Old()\ntry:\n    acme.Old()\nexcept AttributeError:\n    pass\nKept(1, b=2)\n"
    "print(acme.__file__, acme.__path__, acme.__name__)\n"
)


@pytest.fixture
def atlas(tmp_path: Path) -> Iterator[Path]:
    with atlas_of(tmp_path, {"acme": LIB, "user": USER}):
        yield tmp_path


@pytest.mark.usefixtures("atlas")
class TestUpgrades:
    def told(self, capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> tuple[int, list[tuple[int, str]]]:
        (folder / "train.py").write_text(SCRIPT)
        (folder / "requirements.txt").write_text("acme==1.1\n")
        done = run(capsys, "check", str(folder / "train.py"), str(folder / "requirements.txt"), *words, "-f", "json")
        found = json.loads(done.out)["findings"]
        return done.status, [(one["location"]["line"], one["detail"]) for one in found if one["rule"] == "code-breaks"]

    def test_what_stands_in_place_of_the_pin_is_judged_and_every_line_is_told(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        assert self.told(capsys, tmp_path) == (0, [])
        status, told = self.told(capsys, tmp_path, "--against", "acme==2.0")
        assert status == 1
        assert told == [
            (3, "uses acme.Old: gone since 2.0 (acme 2.0); from acme.moved import Old; also on line 4"),
            (9, "calls acme.Kept(b): the call is refused: gone since 2.0 (acme 2.0); write c= for b="),
        ]

    def test_a_file_may_state_the_releases(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        (tmp_path / "new.txt").write_text("acme==2.0\n")
        assert len(self.told(capsys, tmp_path, "--against", str(tmp_path / "new.txt"))[1]) == 2

    @pytest.mark.parametrize("wrong", ["acme=2.0", "no/such/file.txt", "acme @ https://x.invalid/a.whl", "numpy>=99"])
    def test_what_names_no_release_is_refused(self, capsys: pytest.CaptureFixture[str], tmp_path: Path, wrong: str) -> None:
        (tmp_path / "train.py").write_text(SCRIPT)
        done = run(capsys, "check", str(tmp_path / "train.py"), "--against", wrong)
        assert done.status == 2
        assert "--against" in done.err


def test_a_rule_of_the_same_package_hides_only_what_it_is_about() -> None:
    rule = load_rulebook(()).whole("transformers-adamw-removed")
    reason = Because("plan.code_uses", "transformers.AdamW", "transformers.AdamW", "train.py")
    finding = Finding(rule, "matched", "error", (reason,), packages=("transformers",))
    hits = [Hit("code-breaks", True, packages=("transformers",), yields=True, names=(name,)) for name in ("AdamW", "HybridCache")]
    assert [_told(hit, [finding]) for hit in hits] == [True, False]


def test_what_numpy_refuses_by_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = "def __getattr__(name): ...\n"
    later = f"__former_attrs__ = {{name: '' for name in ('int', 'bool')}}\n{given}"
    releases = {"1.23.5": given, "1.24.4": later, "2.0.2": f"bool = object()\n{later}"}
    make_atlas(tmp_path, {"numpy": {release: {"numpy/__init__.py": text} for release, text in releases.items()}})
    alone(monkeypatch, tmp_path / "atlas")
    gone = {name: one.gone for name in ("int", "bool", "float64") if (one := answer(f"numpy.{name}")) is not None}
    forget()
    assert gone == {"int": 0b110, "bool": 0b010, "float64": 0}
