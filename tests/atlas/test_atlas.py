"""From wheels to findings: what releases hold, what they take from each other, and who is accused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from envdoctor.atlas import breaks
from envdoctor.atlas.answers import answer, owner_of
from envdoctor.atlas.masks import write
from envdoctor.atlas.missing import missing, refused
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import Stack
from envdoctor.checks.atlas import atlas_breaks, hits_of
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.world import tables
from envdoctor.world.dependencies import Dependency
from tests.atlas.wheels import alone, atlas_of, forget, make_atlas
from tests.cli.run import run

LIB = {
    "1.0": {
        "acme/__init__.py": "from .core import Old, Kept\n",
        "acme/core.py": "class Old: pass\nclass Kept:\n    def __init__(self, a, b=1): self.x = a\n",
    },
    "1.1": {
        "acme/__init__.py": "from .core import Old, Kept\n",
        "acme/core.py": "class Old: pass\nclass Kept:\n    def __init__(self, a, b=1): self.x = a\n",
    },
    "2.0": {
        "acme/__init__.py": "from .core import Kept\n",
        "acme/core.py": "class Kept:\n    def __init__(self, a, c=1): self.y = a\n",
        "acme/moved.py": "class Old: pass\n",
    },
}
USER = {
    "0.1": {"user/__init__.py": "from acme import Old\n"},
    "0.2": {"user/__init__.py": "try:\n    from acme import Old\nexcept ImportError:\n    Old = None\n"},
    "0.3": {
        "user/__init__.py": "import acme\nfrom .parts import part\n",
        "user/parts.py": "from acme import Kept\nimport other\ndef part(): return acme.Old\n",
    },
    "0.4": {
        "user/__init__.py": (
            "from packaging import version\nimport acme\nif version.parse(acme.__version__) < version.parse('2.0'):\n"
            "    from acme import Old\n"
        )
    },
    "0.0.9": {"user/__init__.py": "from acme.hidden import Thing\n"},
    "0.5": {
        "user/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from acme import Old\n"
        "def late():\n    from acme import Old\n"
    },
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("atlas")
    assert make_atlas(folder, {"acme": LIB, "user": USER}) == []
    return folder / "atlas"


@pytest.fixture
def atlas(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    alone(monkeypatch, made)
    yield made
    forget()


def found(closed: bool = False, **releases: str) -> list[tuple[str, str, tuple[tuple[str, str], ...]]]:
    return [(hit.rule, hit.edge, hit.pins) for hit in hits_of(Stack(releases, closed, "3.11", "Linux"), ())]


@pytest.mark.usefixtures("atlas")
class TestImports:
    def test_a_name_that_is_gone_breaks_the_import_and_the_nearest_releases_that_have_it_are_named(self) -> None:
        assert found(user="0.1", acme="2.0") == [("import-breaks", "user:acme.Old", (("acme", "<2.0"),))]

    def test_the_same_stack_with_the_release_that_has_it_is_let_be(self) -> None:
        assert found(user="0.1", acme="1.1") == []

    @pytest.mark.parametrize("release", ["0.2", "0.4", "0.5"])
    def test_what_a_try_a_test_of_the_release_or_a_function_guards_is_no_fault_of_the_import(self, release: str) -> None:
        assert found(user=release, acme="2.0") == []

    def test_what_no_release_ever_had_lies_where_nobody_read(self) -> None:
        assert found(user="0.0.9", acme="2.0") == found(user="0.0.9", acme="1.0") == []

    def test_a_release_that_was_not_read_is_judged_by_its_neighbours(self) -> None:
        assert found(user="0.1", acme="2.0.1") != []
        assert found(user="0.1", acme="1.0.5") == []
        assert found(user="0.1", acme="1.5") == []  # one neighbour has it and one has not
        assert found(user="0.1", acme="3.0") == []

    def test_a_package_that_is_required_and_imported_and_not_there_is_told_of_complete_lists_only(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert found(closed=True, user="0.3", acme="2.0") == []  # an import that nothing declares may be one of many
        forget()
        monkeypatch.setattr(breaks, "dependencies", lambda name, version, unbound: (Dependency("other", ""),))
        assert found(user="0.3", acme="2.0") == []
        assert found(closed=True, user="0.3", acme="2.0") == []  # two pins are no environment
        assert found(closed=True, user="0.3", acme="2.0", first="1", second="1") == [
            ("import-needs-package", "user:other", (("other", ">=0"),))
        ]
        assert found(closed=True, user="0.3", acme="2.0", other="1") == []
        # What is required under a marker counts where the marker is known to hold.
        for marker, edges in (
            ("python_version < '3.12'", ["user:other"]),
            ("python_version < '3.11'", []),
            ("sys_platform == 'win32'", []),
        ):
            forget()
            monkeypatch.setattr(breaks, "dependencies", lambda name, version, unbound, marker=marker: (Dependency("other", "", marker),))
            stack = {"user": "0.3", "acme": "2.0", "first": "1", "second": "1"}
            assert [hit.edge for hit in hits_of(Stack(stack, True, "3.11.7", "Linux"), ())] == edges
            assert hits_of(Stack(stack, True), ()) == ()
        forget()
        monkeypatch.setattr(breaks, "dependencies", lambda name, version, unbound: (Dependency("other", ""),))
        # Beside an environment, a release that somebody asks about would bring what it requires.
        stacks = (
            Stack({"user": "0.3", "acme": "2.0"}, True, "3.11", "Linux", frozenset(scanned)) for scanned in (("user", "acme"), ("acme",))
        )
        assert [[hit.edge for hit in hits_of(stack, ())] for stack in stacks] == [["user:other"], []]


class TestInstalled:
    """What the atlas says of an environment is kept until something that it came from is another."""

    def test_a_stack_is_judged_again_only_when_it_or_what_is_known_changed(
        self, atlas: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        judged: list[Stack] = []

        def hits(stack: Stack, entries: Sequence[tuple[str, str]], *, main: bool) -> tuple[Hit, ...]:
            judged.append(stack)
            return hits_of(stack, entries, main=main)

        monkeypatch.setattr("envdoctor.checks.atlas.hits_of", hits)

        def edges(acme: str) -> list[str]:
            stated = {"packages.user": "0.1", "packages.acme": acme}
            rows = {name: Fact(name, exact(text), Origin("installed in /env")) for name, text in stated.items()}
            return [hit.edge for hit in atlas_breaks(Facts(rows))]

        assert [edges("2.0"), edges("2.0"), edges("1.1"), edges("2.0")] == [["user:acme.Old"], ["user:acme.Old"], [], ["user:acme.Old"]]
        assert [stack.releases["acme"] for stack in judged] == ["2.0", "1.1"]
        (tables.users()).mkdir(parents=True)
        (tables.users() / tables.STAMP).write_text("{}")
        assert edges("2.0") == ["user:acme.Old"]
        assert len(judged) == 3, "what releases require was written anew"


@pytest.mark.usefixtures("atlas")
class TestAnswers:
    @pytest.mark.parametrize(
        ("symbol", "kind", "there", "gone"),
        [
            ("acme.Old", "class", "1.0-1.1", "2.0-"),
            ("acme.core.Kept", "class", "1.0-", ""),
            ("acme.moved", "module", "2.0-", "1.0-1.1"),
            ("acme.Kept(b)", "argument", "1.0-1.1", "2.0-"),
            ("acme.Kept(c)", "argument", "2.0-", "1.0-1.1"),
            ("acme.Kept.y", "member", "2.0-", "1.0-1.1"),
        ],
    )
    def test_since_when_and_until_when(self, symbol: str, kind: str, there: str, gone: str) -> None:
        told, bound = answer(symbol), owner_of(symbol)
        assert told is not None
        assert bound is not None
        releases = bound.volume.releases
        assert (told.kind, write(told.there, releases), write(told.gone, releases)) == (kind, there, gone)

    def test_a_package_that_was_not_read_has_no_answer(self) -> None:
        assert answer("nowhere.float") is None


class TestCommands:
    def test_api_says_when_a_name_went_where_it_is_now_and_who_takes_it(self, capsys: pytest.CaptureFixture[str], atlas: Path) -> None:
        told = run(capsys, "api", "acme.Old")
        assert told.status == 1
        assert told.out == (
            "acme.Old  class\n  acme 2.0 does not have it (gone since 2.0)\n"
            "  there    1.0-1.1\n  not in   2.0-\n  instead  acme.moved.Old\n  taken by user\n"
        )
        assert json.loads(run(capsys, "api", "acme.Kept(b)", "--format", "json").out)[0]["gone"] == "2.0-"

    def test_api_answers_for_the_release_of_a_file(self, capsys: pytest.CaptureFixture[str], atlas: Path, tmp_path: Path) -> None:
        pinned = tmp_path / "requirements.txt"
        pinned.write_text("acme==1.1\n")
        assert run(capsys, "api", "acme.Old", "--in", str(pinned)).status == 0
        pinned.write_text("acme>=1.1\n")
        told = run(capsys, "api", "acme.Old", "--in", str(pinned))
        assert (told.status, f"the newest, since {pinned} pins no acme" in told.out) == (1, True)

    def test_a_misspelt_name_gets_the_nearest(self, capsys: pytest.CaptureFixture[str], atlas: Path) -> None:
        told = run(capsys, "api", "acme.Keptt")
        assert told.status == 2
        assert "perhaps acme.Kept" in told.err

    def test_status_lists_the_packages(self, capsys: pytest.CaptureFixture[str], atlas: Path) -> None:
        assert (
            run(capsys, "atlas", "status", "acme", "user").out
            == "acme  3 releases, 1.0 to 2.0 ()\nuser  6 releases, 0.0.9 to 0.5 ()\n2 packages, 9 releases\n"
        )

    def test_check_tells_what_a_script_takes_and_what_to_write(
        self, capsys: pytest.CaptureFixture[str], atlas: Path, tmp_path: Path
    ) -> None:
        script = tmp_path / "train.py"
        script.write_text("from acme import Old, Kept\nimport helper\nKept(1, b=2)\nif hasattr(Kept, 'z'):\n    from acme import Never\n")
        (tmp_path / "helper.py").write_text("import acme\nacme.Old()\n")
        told = json.loads(run(capsys, "check", str(script), "--set", "packages.acme=2.0", "--format", "json").out)
        details = {one["detail"] for one in told["findings"] if one["rule"] == "code-breaks"}
        assert details == {
            "imports Old from acme: gone since 2.0 (acme 2.0); from acme.moved import Old",
            "calls acme.Kept(b): the call is refused: gone since 2.0 (acme 2.0); write c= for b=",
            "uses acme.Old: gone since 2.0 (acme 2.0); from acme.moved import Old",
        }

    def test_check_says_of_two_pins_which_do_not_fit_and_where(
        self, capsys: pytest.CaptureFixture[str], atlas: Path, tmp_path: Path
    ) -> None:
        pinned = tmp_path / "requirements.txt"
        pinned.write_text("user==0.1\nacme==2.0\n")
        told = run(capsys, "check", str(pinned))
        assert told.status == 1
        assert "\nerror: user 0.1 cannot be imported beside acme 2.0\n" in told.out.replace(" [import-breaks@user:acme.Old]", "")
        assert "user/__init__.py:1 imports Old from acme, gone since 2.0" in " ".join(told.out.replace("|", "").split())
        (found,) = json.loads(run(capsys, "check", str(pinned), "--format", "json").out)["findings"]
        assert found["witness"] == "from acme import Old"
        assert found["detail"] == "user 0.1 cannot be imported beside acme 2.0: user/__init__.py:1 imports Old from acme, gone since 2.0"

    def test_what_is_no_wheel_is_said_and_the_others_are_read(self, tmp_path: Path) -> None:
        wheels = tmp_path / "wheels"
        wheels.mkdir()
        (wheels / "bad-1.0-py3-none-any.whl").write_bytes(b"<html>not found</html>")
        failed = make_atlas(tmp_path, {"acme": {"1.0": LIB["1.0"]}})
        assert [name for name, _ in failed] == ["bad-1.0-py3-none-any.whl"]
        assert (tmp_path / "atlas" / "acme" / "contents.txt").exists()


COMPILED = {
    "1.0": {"torch/__init__.py": "", "torch/cuda.py": "", "torch/dist.py": "class ReduceOp:\n    AVG = 1\n    SUM = 2\nclass Left: pass\n"},
    "2.0": {"torch/__init__.py": "", "torch/cuda.py": "", "torch/dist.py": "class ReduceOp:\n    SUM = 2\n"},
}
PATCHED = {"1.0": {"sentencepiece/__init__.py": "class SentencePieceProcessor:\n    def __init__(self): pass\n"}}


class TestNamesThatNoFileShows:
    """Compiled code gives torch names that its files do not have; sentencepiece puts a constructor in later."""

    @pytest.fixture(autouse=True)
    def shelf(self, tmp_path: Path) -> Iterator[None]:
        with atlas_of(tmp_path, {"torch": COMPILED, "sentencepiece": PATCHED}):
            yield

    @pytest.mark.parametrize("name", ["torch.cuda:LongTensor", "torch.dist:ReduceOp.AVG", "torch._C:_jit_set_autocast_mode"])
    def test_what_compiled_code_brings_is_missing_in_no_release(self, name: str) -> None:
        torch = open_package("torch")
        assert torch is not None
        assert missing(torch.volume, name, imported=False) == 0

    def test_what_a_release_had_and_the_next_has_not_is_still_missing(self) -> None:
        torch = open_package("torch")
        assert torch is not None
        assert missing(torch.volume, "torch.dist:Left", imported=True) != 0

    def test_a_constructor_that_is_put_in_later_is_not_compared(self) -> None:
        sentencepiece = open_package("sentencepiece")
        assert sentencepiece is not None
        assert refused(sentencepiece.volume, "sentencepiece:SentencePieceProcessor", "1") == 0


MADE = """
import enum
class Plain:
    def __new__(cls, day, zone=None): return object.__new__(cls)
class Derived(Plain): pass
class Nearer(Plain):
    def __init__(self, day, zone=None, fold=0): pass
class Both:
    def __new__(cls, day): return object.__new__(cls)
    def __init__(self, *rest, **more): pass
class Colour(str, enum.Enum):
    def __new__(cls, value, words): return str.__new__(cls, value)
class Meta(type):
    def __call__(cls, *rest, **more): return 1
class Called(metaclass=Meta):
    def __new__(cls, day): return object.__new__(cls)
class Below(Called):
    def __new__(cls, day): return object.__new__(cls)
class Unknown(made_up()):
    def __new__(cls, day): return object.__new__(cls)
@wrapped
class Wrapped:
    def __new__(cls, day): return object.__new__(cls)
"""


def test_a_class_is_called_by_its_new_where_no_init_is_nearer_and_no_metaclass_calls_otherwise(tmp_path: Path) -> None:
    later = MADE.replace("day, zone=None)", "day, tz=None)").replace("(cls, day)", "(cls, other)")
    with atlas_of(tmp_path, {"acme": {"1.0": {"acme/__init__.py": MADE}, "2.0": {"acme/__init__.py": later}}}):
        bound = open_package("acme")
        assert bound is not None
        names = ("Plain", "Derived", "Nearer", "Both", "Colour", "Called", "Below", "Unknown", "Wrapped")
        bad = {name: write(refused(bound.volume, f"acme:{name}", "1,zone="), bound.volume.releases) for name in names}
        assert {name: where for name, where in bad.items() if where} == {"Plain": "2.0-", "Derived": "2.0-"}
        # What each takes is taken in the releases in which it is written so.
        assert [write(refused(bound.volume, "acme:Plain", call), bound.volume.releases) for call in ("1,tz=", "2", "1")] == ["1.0", "", ""]
        day = {name: refused(bound.volume, f"acme:{name}", "0,day=") for name in names}
        assert {name for name, where in day.items() if where} == set()


def test_a_module_that_a_release_gives_by_its_former_name_is_taken_from_its_package_as_well(tmp_path: Path) -> None:
    losses = {"sentence_transformers/__init__.py": "", "sentence_transformers/losses.py": "class Loss: pass\n"}
    moved = {"sentence_transformers/__init__.py": ""}
    with atlas_of(tmp_path, {"sentence-transformers": {"5.2.0": losses, "5.3.0": moved, "5.4.0": moved, "6.0.0": moved}}):
        bound = open_package("sentence-transformers")
        assert bound is not None
        names = ("sentence_transformers.losses:Loss", "sentence_transformers:losses")
        assert [write(missing(bound.volume, name, imported=True), bound.volume.releases) for name in names] == ["5.3.0", "5.3.0"]
