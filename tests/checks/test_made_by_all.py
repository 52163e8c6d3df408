"""What cannot be made of a package beside a stated release: the constructor calls that of its base with what this does not take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.atlas.stack import Stack
from envdoctor.checks import run_by_plans
from envdoctor.checks.run_by_plans import RULE, made_by_all, made_by_script
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.uses import CODE_USES
from envdoctor.facts.versions import exact
from tests.atlas.wheels import alone, forget, make_atlas

BOLT = {
    "1.0": {"bolt/__init__.py": "class Base:\n    def __init__(self, size=1): pass\n"},
    "2.0": {"bolt/__init__.py": "class Base:\n    def __init__(self, size=1, colour=2): pass\n"},
}
RIDER = {
    "0.1": {
        "rider/__init__.py": "from rider.parts import Rider, Guard, Plain\n",
        "rider/parts.py": """from bolt import Base

class Rider(Base):
    def __init__(self, size):
        if size < 0:
            raise ValueError
        super().__init__(size=size, colour=3)

class Guard(Base):
    def __init__(self, size):
        try:
            super().__init__(size=size, colour=3)
        except TypeError:
            super().__init__(size=size)

class Plain(Base):
    pass
""",
    }
}


@pytest.fixture(autouse=True)
def _atlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    assert make_atlas(tmp_path, {"bolt": BOLT, "rider": RIDER}) == []
    alone(monkeypatch, tmp_path / "atlas")
    monkeypatch.setattr(run_by_plans, "_MADE_BY_ALL", {"rider": {"sft": "rider:Rider", "dpo": "rider:Gone"}})
    yield
    forget()


def told(*facts: Fact, bolt: str = "1.0") -> list[tuple[str, str, str, tuple[tuple[str, str], ...]]]:
    stated = [Fact(f"packages.{name}", exact(text), Origin("stated")) for name, text in (("rider", "0.1"), ("bolt", bolt))]
    return [(hit.rule, hit.headline, hit.edge, hit.pins) for hit in made_by_all(Facts({}).with_facts([*stated, *facts]))]


def test_what_everyone_makes_is_told_with_the_argument_that_is_refused() -> None:
    headline = "rider.Rider() of rider 0.1 fails beside bolt 1.0"
    assert told() == [(RULE, headline, "rider:bolt.Base.__init__(0,colour=)", (("bolt", ">=2.0"),))]
    assert told(bolt="2.0") == []


def test_a_script_says_itself_what_it_makes() -> None:
    assert told(Fact(CODE_USES, ("rider",), Origin("train.py"))) == []


@pytest.mark.parametrize(("name", "lines"), [("rider:Rider", [7]), ("rider.Rider", [7]), ("rider:Guard", []), ("rider:Plain", [])])
def test_what_a_script_makes_is_told_at_its_line(name: str, lines: list[int]) -> None:
    stack = Stack({"rider": "0.1", "bolt": "1.0"})
    hits = made_by_script([(name, 7), (name, 9)], stack, lambda line: Origin("train.py", "train.py", line))
    assert [hit.line for hit in hits] == lines
