"""What a traceback comes to by the contents of releases: since when, where it went, who asks, what to pin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.logs.answers import answer
from envdoctor.logs.statements import MissingAttribute, parse_statement
from envdoctor.logs.tracebacks import read_failures
from tests.atlas.wheels import atlas_of
from tests.cli.run import run

ACME = {
    "1.0": {
        "acme/__init__.py": "from .core import Old, Kept\n",
        "acme/core.py": "class Old: pass\nclass Kept:\n    def __init__(self, size=1): self.length = 1\n    def run(self, fast=1): pass\n"
        "    def advance(self, fast): pass\n"
        "def make(size=1): pass\n",
        "acme/legacy.py": "x = 1\n",
    },
    "2.0": {
        "acme/__init__.py": "from .core import Kept\n",
        "acme/core.py": "class Kept:\n    def __init__(self, sizes=1): self.count = 1\n    def run(self): pass\n"
        "    def advance(self): pass\ndef make(sizes=1): pass\n",
        "acme/moved.py": "class Old: pass\n",
    },
}
USER = {
    "0.1": {"user/__init__.py": "import acme\n"},
    "0.2": {"user/__init__.py": "from acme import Old\n"},
    "0.3": {"user/__init__.py": "from acme.moved import Old\n"},
}
FRAMES = 'Traceback (most recent call last):\n  File "/x/site-packages/user/__init__.py", line 1, in <module>\n    from acme import Old\n'
OWN = 'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    k = acme.Kept(size=2)\n'


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), {"acme": ACME, "user": USER}) as atlas:
        yield atlas


def ask(text: str, **releases: str) -> Hit | None:
    failure = read_failures(enumerate(text.splitlines(), 1))[-1]
    facts = Facts({f"packages.{name}": Fact(f"packages.{name}", exact(release), Origin("a test")) for name, release in releases.items()})
    statement = parse_statement(failure)
    assert statement is not None
    return answer(statement, failure, facts)


def test_a_name_that_went_is_told_with_the_release_its_new_place_and_both_sides_of_the_cure() -> None:
    hit = ask(FRAMES + "ImportError: cannot import name 'Old' from 'acme' (/x/site-packages/acme/__init__.py)", acme="2.0", user="0.2")
    assert hit is not None
    assert hit.detail == ("acme 2.0 has no acme.Old (gone since 2.0); user 0.2 asks for it (user/__init__.py:1); it is in acme.moved there")
    assert hit.pins == (("acme", "<2.0"), ("user", ">=0.3"))
    assert hit.edge == "user:acme.Old"


def test_of_a_stated_release_that_has_the_name_it_is_told_that_another_one_ran() -> None:
    hit = ask("ImportError: cannot import name 'Old' from 'acme'", acme="1.0")
    assert hit is not None
    assert hit.said.startswith("acme 1.0 is stated, and its files have acme.Old; another release ran (without it: 2.0-)")
    assert hit.pins == ()


def test_the_error_decides_for_a_release_between_two_that_were_read() -> None:
    hit = ask("ImportError: cannot import name 'Old' from 'acme'", acme="1.5")
    assert hit is not None
    assert "acme 1.5 has no acme.Old (there in 1.0)" in hit.detail
    # Of what was not read nobody knows on which side of the change it is. Nobody printed who asks: the one package that takes it is told.
    assert hit.pins == (("acme", ">=1.0,<=1.0"), ("user", ">=0.3"))
    assert "of what was read, user 0.2 asks for it" in hit.detail
    assert ask("ImportError: cannot import name 'Old' from 'acme'", acme="2.0.dev0") is not None


def test_what_no_release_ever_had_is_left_to_the_words_of_the_error() -> None:
    assert ask("ImportError: cannot import name 'Never' from 'acme'", acme="2.0") is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ImportError: cannot import name 'Old' from 'acme'", "there in 1.0"),
        ("ModuleNotFoundError: No module named 'acme.legacy'", "acme has no acme.legacy"),
        ("AttributeError: module 'acme' has no attribute 'Old'", "it is in acme.moved there"),
        (OWN + "TypeError: Kept.__init__() got an unexpected keyword argument 'size'", "acme.core.Kept() of acme does not take size"),
        (OWN + "TypeError: __init__() got an unexpected keyword argument 'size'", "it is called sizes there"),
        (OWN + "TypeError: Kept.run() got an unexpected keyword argument 'fast'", "acme.core.Kept.run() of acme does not take fast"),
        (OWN + "AttributeError: 'Kept' object has no attribute 'length'", "acme has no acme.core.Kept.length"),
    ],
)
def test_each_kind_of_statement_is_answered_where_no_release_is_stated(text: str, told: str) -> None:
    hit = ask(text)
    assert hit is not None
    assert told in hit.detail
    assert ("acme", "<2.0") in hit.pins


def test_an_attribute_of_self_names_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.logs.callables_named.OFTEN", ("acme",))
    text = 'Traceback (most recent call last):\n  File "run.py", line 1, in __init__\n    self.kept = Kept(size=2)\n'
    told = ask(f"{text}TypeError: Kept.__init__() got an unexpected keyword argument 'size'\n")
    assert told is not None
    assert "size" in told.detail


def test_a_function_that_a_script_calls_by_its_bare_name_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("envdoctor.logs.callables_named.OFTEN", ("acme",))
    refused = "TypeError: make() got an unexpected keyword argument 'size'\n"
    told = ask(refused)
    assert told is not None
    assert "acme.core.make() of acme does not take size" in told.detail
    assert ask(f'Traceback (most recent call last):\n  File "run.py", line 1, in main\n    made = make(size=2)\n{refused}') is None


def test_the_sentence_alone_is_read_where_nothing_else_was_pasted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pasted = tmp_path / "pasted.txt"
    pasted.write_text("Failed to import user, cannot import name 'Old' from 'acme'\n")
    assert "acme has no acme.Old" in run(capsys, "diagnose", str(pasted)).out
    # In a log that goes on, it may be a warning like many.
    pasted.write_text("Failed to import user, cannot import name 'Old' from 'acme'\n" + "step\n" * 9)
    assert run(capsys, "diagnose", str(pasted)).status == 0


def test_a_module_may_be_named_without_quotes() -> None:
    told = parse_statement(read_failures([(1, "AttributeError: module acme has no attribute Old")])[-1])
    assert told == MissingAttribute("acme", "Old")


INSIDE = 'Traceback (most recent call last):\n  File "/x/site-packages/acme/core.py", line 9, in go\n    self.advance(fast=1)\n'


@pytest.mark.parametrize(
    ("text", "told", "pin"),
    [
        # The user's class has the parameters of the later release, the earlier one passes more; and the other way round.
        (
            INSIDE + "TypeError: MyKept.advance() got an unexpected keyword argument 'fast'",
            "MyKept.advance() overrides Kept.advance of acme, which is called with fast in the releases 1.0",
            ">=2.0",
        ),
        (
            INSIDE + "TypeError: MyKept.advance() missing 1 required positional argument: 'fast'",
            "MyKept.advance() overrides Kept.advance of acme, which is called without fast in the releases 2.0",
            "<2.0",
        ),
        (
            INSIDE + "TypeError: MyKept.advance() takes 1 positional argument but 2 were given",
            "MyKept.advance() overrides Kept.advance of acme, which is called with 2 arguments by position in the releases 1.0",
            ">=2.0",
        ),
        (OWN + "TypeError: Kept.advance() takes 1 positional argument but 2 were given", "takes fewer arguments by position", "<2.0"),
    ],
)
def test_a_call_that_does_not_fit_is_told_with_the_releases_in_which_it_does(text: str, told: str, pin: str) -> None:
    hit = ask(text)
    assert hit is not None
    assert told in hit.detail
    assert ("acme", pin) in hit.pins


def test_a_method_that_every_class_has_is_no_override() -> None:
    text = INSIDE.replace("self.advance(fast=1)", "self.forward(fast=1)")
    assert ask(text + "TypeError: MyKept.forward() got an unexpected keyword argument 'fast'") is None


def test_before_python_3_10_the_class_is_that_of_the_code_that_was_pasted() -> None:
    told = ask("from acme import Kept\nkept = Kept(size=2)\nTypeError: __init__() got an unexpected keyword argument 'size'")
    assert told is not None
    assert "acme.core.Kept() of acme does not take size" in told.detail
