"""Somebody's own code against releases: who is told beside which rule, at which lines, and what an upgrade would break."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.app.own_code import read_own
from envdoctor.atlas.answers import answer, new_keyword
from envdoctor.atlas.callables import members_of_modules
from envdoctor.atlas.instances import in_one_step
from envdoctor.atlas.own_code import faults_of, replacement
from envdoctor.atlas.reading import read_tree
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.signatures import read, read_call, shifted
from envdoctor.atlas.stack import Stack
from envdoctor.atlas.words import good_specifiers
from envdoctor.checks.hit import Hit
from envdoctor.engine.diagnosis import Because, Finding, _left_to_tell, _told
from envdoctor.facts.fact import Skip
from envdoctor.records import replace
from envdoctor.rules.rulebook import load_rulebook
from envdoctor.sources.scripts.script import open_source
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

    def test_what_the_present_release_lacks_as_well_is_told_apart(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text(SCRIPT)
        (tmp_path / "requirements.txt").write_text("acme==2.0\n")
        words = ("check", str(tmp_path / "train.py"), str(tmp_path / "requirements.txt"))
        assert run(capsys, *words).status == 1
        done = run(capsys, *words, "--against", "acme==2.0")
        assert done.status == 0
        assert "0 errors, 0 warnings, 0 notes, 0 possible, 2 excused" in done.out
        (tmp_path / "train.py").write_text(SCRIPT + "acme.Never()\n")
        (tmp_path / "requirements.txt").write_text("acme==1.1\n")
        found = json.loads(run(capsys, *words, "--against", "acme==2.0", "-f", "json").out)["findings"]
        assert [(one["edge"], one.get("excused")) for one in found] == [
            ("acme.Old", None), ("acme.Kept(b)", None), ("acme.Never", "already so today"),
        ]  # fmt: skip

    def test_a_file_may_state_the_releases(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        (tmp_path / "new.txt").write_text("acme==2.0\n")
        assert len(self.told(capsys, tmp_path, "--against", str(tmp_path / "new.txt"))[1]) == 2

    @pytest.mark.parametrize("several", ["numpy==2.0.0, acme==2.0", "numpy acme==2.0", "acme==2.0,numpy>=1,<3"])
    def test_one_option_may_name_several(self, capsys: pytest.CaptureFixture[str], tmp_path: Path, several: str) -> None:
        assert len(self.told(capsys, tmp_path, "--against", several)[1]) == 2

    def test_what_is_certain_is_written_for_the_upgrade(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        script = tmp_path / "train.py"
        script.write_text("import acme\nacme.Kept(1, b=2)\n")
        (tmp_path / "requirements.txt").write_text("acme==1.1\n")
        listed = str(tmp_path / "requirements.txt")
        done = run(capsys, "fix", str(script), listed, "--against", "acme==2.0", "--write", "--offline")
        assert (done.status, script.read_text()) == (0, "import acme\nacme.Kept(1, c=2)\n")
        assert (tmp_path / "requirements.txt").read_text() == "acme==1.1\n"

    @pytest.mark.parametrize("wrong", ["acme=2.0", "no/such/file.txt", "acme @ https://x.invalid/a.whl", "numpy>=99"])
    def test_what_names_no_release_is_refused(self, capsys: pytest.CaptureFixture[str], tmp_path: Path, wrong: str) -> None:
        (tmp_path / "train.py").write_text(SCRIPT)
        done = run(capsys, "check", str(tmp_path / "train.py"), "--against", wrong)
        assert done.status == 2
        assert "--against" in done.err

    def test_of_a_file_that_is_not_there_that_is_said(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text(SCRIPT)
        done = run(capsys, "check", str(tmp_path / "train.py"), "--against", str(tmp_path / "new.txt"))
        assert (done.status, "no such file" in done.err) == (2, True)


def test_a_rule_of_the_same_package_hides_only_what_it_is_about() -> None:
    rule = load_rulebook(()).whole("transformers-adamw-removed")
    reason = Because("plan.code_uses", "transformers.AdamW", "transformers.AdamW", "train.py")
    finding = Finding(rule, "matched", "error", (reason,), packages=("transformers",))
    hits = [Hit("code-breaks", True, packages=("transformers",), yields=True, names=(name,)) for name in ("AdamW", "HybridCache")]
    assert [_told(hit, [finding]) for hit in hits] == [True, False]


def test_of_one_call_each_name_may_be_said_by_another_rule() -> None:
    book = load_rulebook()
    rule = next(one for one in book.rules if one.condition)
    reasons = [Because("plan.code_uses", name, name, "train.py") for name in ("AdamW", "evaluation_strategy")]
    findings = [Finding(rule, "matched", "error", (reason,), packages=("trl",)) for reason in reasons]
    hits = [
        Hit("code-breaks", True, packages=("trl",), yields=True, names=names)
        for names in (("AdamW", "evaluation_strategy"), ("AdamW", "beta"))
    ]
    assert [_told(hit, findings) for hit in hits] == [True, False]


def test_of_several_names_of_one_call_only_those_are_told_that_no_rule_says() -> None:
    rule = next(one for one in load_rulebook().rules if one.condition)
    said = Finding(rule, "matched", "error", (Because("plan.code_uses", "AdamW", "AdamW", "train.py"),), packages=("trl",))
    one, other = (Hit("code-breaks", True, packages=("trl",), yields=True, names=(name,)) for name in ("AdamW", "beta"))
    both = replace(one, names=("AdamW", "beta"), parts=(one, other))
    assert _left_to_tell(both, [said]) == [other]
    assert _left_to_tell(both, []) == (both,)
    assert _left_to_tell(one, [said]) == ()


def test_a_rule_about_all_of_a_module_says_each_name_that_it_found_there() -> None:
    rule = next(one for one in load_rulebook().rules if one.condition)
    found = "acme.engine.Engine, acme.engine.Held(steps=1)"
    said = Finding(rule, "matched", "error", (Because("plan.code_uses", found, "acme.engine.*", "train.py"),), packages=("acme",))
    hits = [Hit("code-breaks", True, packages=("acme",), yields=True, names=(name,)) for name in ("Engine", "Held", "steps", "Other")]
    assert [_told(hit, [said]) for hit in hits] == [True, True, False, False]


WRAPPED = "def make(model, data):\n    from trl import KeptTrainer\n    return KeptTrainer(model, tokenizer=data)\n"


@pytest.mark.parametrize(("first", "told"), [("import torch\n", 1), ("from unsloth import FastModel\n", 0)])
def test_trainers_that_unsloth_put_in_the_place_of_trls_take_the_arguments_of_any_release(tmp_path: Path, first: str, told: int) -> None:
    trainer = "class KeptTrainer:\n    def __init__(self, model{}): pass\n"
    releases = {
        version: {"trl/__init__.py": "from .kept import KeptTrainer\n", "trl/kept.py": trainer.format(more)}
        for version, more in (("0.15.0", ", tokenizer=None"), ("0.16.0", ", processing_class=None"))
    }
    file = tmp_path / "train.py"
    file.write_text(first + WRAPPED)
    with atlas_of(tmp_path, {"trl": releases}):
        source = open_source(file)
        assert not isinstance(source, Skip)
        found = list(faults_of(read_own(source), Stack({"trl": "0.16.0"})))
    assert len(found) == told


@pytest.mark.parametrize(("first", "told"), [("import torch\n", 1), ("from unsloth import FastModel\n", 0)])
def test_configurations_beside_unsloth_drop_what_trl_has_given_up(tmp_path: Path, first: str, told: int) -> None:
    config = "class KeptConfig:\n    def __init__(self, model{}): pass\n"
    releases = {
        version: {"trl/__init__.py": "from .kept import KeptConfig\n", "trl/kept.py": config.format(more)}
        for version, more in (("0.15.0", ", max_prompt_length=None"), ("0.16.0", ""))
    }
    file = tmp_path / "train.py"
    file.write_text(f"{first}from trl import KeptConfig\nKeptConfig(1, max_prompt_length=256)\n")
    with atlas_of(tmp_path, {"trl": releases}):
        source = open_source(file)
        assert not isinstance(source, Skip)
        found = list(faults_of(read_own(source), Stack({"trl": "0.16.0"})))
    assert len(found) == told


def test_what_lightnings_connectors_set_on_the_trainer_is_there(tmp_path: Path) -> None:
    trainer = "class Trainer:\n    def __init__(self, max_epochs=None): pass\n"
    own = f"{trainer}    @property\n    def callbacks(self): pass\n    @property\n    def gone(self): pass\n"
    releases = {
        version: {"pytorch_lightning/__init__.py": "from .trainer import Trainer\n", "pytorch_lightning/trainer.py": text}
        for version, text in (("1.6.5", own), ("2.5.5", trainer))
    }
    file = tmp_path / "train.py"
    file.write_text("from pytorch_lightning import Trainer\ntrainer = Trainer(max_epochs=1)\nprint(trainer.callbacks, trainer.gone)\n")
    with atlas_of(tmp_path, {"pytorch-lightning": releases}):
        source = open_source(file)
        assert not isinstance(source, Skip)
        found = [fault.name for fault in faults_of(read_own(source), Stack({"pytorch-lightning": "2.5.5"}))]
    assert found == ["pytorch_lightning:Trainer.gone"]


def test_what_numpy_refuses_by_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = "def __getattr__(name): ...\n"
    later = f"__former_attrs__ = {{name: '' for name in ('int', 'bool')}}\n{given}"
    releases = {"1.23.5": given, "1.24.4": later, "2.0.2": f"bool = object()\n{later}"}
    make_atlas(tmp_path, {"numpy": {release: {"numpy/__init__.py": text} for release, text in releases.items()}})
    alone(monkeypatch, tmp_path / "atlas")
    gone = {name: one.gone for name in ("int", "bool", "float64") if (one := answer(f"numpy.{name}")) is not None}
    forget()
    assert gone == {"int": 0b110, "bool": 0b010, "float64": 0}


ABSENT = {
    "a flag that the except clears": (
        "HAVE = False\ntry:\n    from acme import Old\n    HAVE = True\nexcept ImportError:\n"
        "    pass\nif HAVE:\n    Old()\n    import acme\n    acme.Old()\n"
    ),
    "a flag in else": (
        "try:\n    import acme.gone\nexcept ImportError:\n    HAVE = False\nelse:\n    HAVE = True\nif HAVE:\n    acme.Old()\n"
    ),
    "the name itself": (
        "try:\n    from acme import Old\nexcept ImportError:\n    Old = None\nimport acme\nif Old is not None:\n    acme.Old()\n"
    ),
    "no test at all": "try:\n    from acme import Old\nexcept ImportError:\n    Old = None\nOld()\n",
    "an attribute": (
        "import acme\nclass A:\n    def f(self):\n        self.new = hasattr(acme, 'Old')\n        if self.new:\n            acme.Old()\n"
    ),
    "what hasattr came to": "import acme\nhas = hasattr(acme, 'Old')\nif not has:\n    raise SystemExit\nacme.Old()\n",
    "a function that asks": (
        "def there():\n    try:\n        from acme import Old\n        return True\n    except ImportError:\n        return False\n"
        "if there():\n    import acme\n    acme.Old()\n"
    ),
    "parameters": (
        "import inspect\nfrom acme import Kept\ntaken = set(inspect.signature(Kept.__init__).parameters)\n"
        "if 'b' in taken:\n    Kept(1, b=2)\n"
    ),
    "TypeError": "from acme import Kept\ntry:\n    Kept(1, b=2)\nexcept TypeError:\n    Kept(1, c=2)\n",
    "a missing module": "try:\n    from acme.core2 import x\nexcept ModuleNotFoundError:\n    x = None\n",
    "a name that is made of itself": "import acme\nhas = hasattr(acme, 'Old')\nhas = bool(has)\nif bool(has):\n    acme.Old()\n",
    "exceptions with a name": "ERRORS = (ImportError,)\ntry:\n    from acme import Old\nexcept ERRORS:\n    pass\n",
    "a release in two names": (
        "import acme\nmajor, minor = map(int, acme.__version__.split('.')[:2])\nif (major, minor) < (2, 0):\n    acme.Old()\n"
    ),
    "a release that is kept": "import acme\nold = acme.__version__.startswith('1.')\nif old:\n    acme.Old()\n",
    "a module put in its place": (
        "import sys, types\nsys.modules['acme.gone'] = types.ModuleType('x')\nimport acme.gone\nfrom acme.gone import a\nacme.gone.b()\n"
    ),
    "a test that is skipped": "import pytest\ndef test():\n    pytest.importorskip('acme.later')\n    from acme import Old\n    Old()\n",
    "a test of a release": "import pytest\nacme = pytest.importorskip('acme', minversion='3')\nfrom acme import Old\n",
    "an assertion": "import acme\nassert hasattr(acme, 'Old')\nacme.Old()\n",
    "an error that a test expects": (
        "import acme, unittest\nclass T(unittest.TestCase):\n    def test(self):\n        with self.assertRaises(AttributeError):\n"
        "            acme.Old()\n"
    ),
    "a module that is looked for": ("import importlib.util as u\nif u.find_spec('acme.gone') is not None:\n    from acme.gone import a\n"),
    "a name that is set": "import acme\nsetattr(acme, 'Old', int)\nacme.Old()\n",
    "names that are set in a loop": "import acme\nfor name in ('Old', 'Older'):\n    setattr(acme, name, int)\nacme.Old()\n",
    "a name that becomes something else": "import acme\nacme = make(acme)\nacme.Old()\ndef f():\n    acme.Old()\n",
    "a class of its own by the same name": "from acme import Kept\nclass Kept(Kept):\n    def __init__(self, b): pass\nKept(b=2)\n",
    "a function of its own by the same name": "from acme import Kept\ndef Kept(b): pass\nKept(b=2)\n",
    "another Python than anybody trains on": "import sys, acme\nif sys.version_info < (3, 8):\n    acme.Old()\n",
    "another system": "import sys, acme\nif sys.platform == 'win32':\n    acme.Old()\n",
    "a test with a condition": (
        "import pytest\ntry:\n    from acme import Old\n    HAVE = True\nexcept ImportError:\n    HAVE = False\n"
        "@pytest.mark.skipif(not HAVE, reason='')\ndef test():\n    import acme\n    acme.Old()\n"
    ),
}
PRESENT = {
    "a test of the package alone": "import pytest\npytest.importorskip('acme')\nfrom acme import Old\n",
    "a test with another condition": (
        "import sys, pytest\n@pytest.mark.skipif(sys.platform == 'win32', reason='')\ndef test():\n    from acme import Old\n"
    ),
    "a flag of the package alone": (
        "try:\n    import acme\n    HAVE = True\nexcept ImportError:\n    HAVE = False\nif HAVE:\n    acme.Old()\n"
    ),
    "a flag of something else": (
        "try:\n    import json\n    HAVE = True\nexcept ImportError:\n    HAVE = False\nimport acme\nif HAVE:\n    acme.Old()\n"
    ),
    "a call of what is there": "try:\n    from acme import Kept\nexcept ImportError:\n    Kept = None\nKept(1, b=2)\n",
    "a name in a module that is there": "try:\n    from acme import Old\nexcept ModuleNotFoundError:\n    Old = None\n",
    "what is raised again": "try:\n    from acme import Old\nexcept ImportError:\n    print('no')\n    raise\n",
    "keywords of two eras": "from acme import Kept\nKept(1, b=2, never=3)\n",
    "another module put in its place": "import sys\nsys.modules['acme.other'] = None\nfrom acme import Old\n",
    "what it is before it becomes something else": "import acme\nacme.Old()\nacme = acme.load()\n",
    "a Python that is there": "import sys, acme\nif sys.version_info >= (3, 9):\n    acme.Old()\n",
    "another name that is set": "import acme\nsetattr(acme, 'Other', int)\nacme.Old()\n",
    "a test of something else": "import acme\nlong = len('abc') > 2\nif long:\n    acme.Old()\n",
}


@pytest.mark.usefixtures("atlas")
def test_what_an_absence_is_reckoned_with_for_is_not_accused() -> None:
    told = {}
    for name, text in {**ABSENT, **PRESENT}.items():
        outline = read_tree(ast.parse(text), text, "__main__")
        told[name] = [fault.name for fault in faults_of(outline, Stack({"acme": "2.0"}))]
    assert [name for name in ABSENT if told[name]] == []
    assert [name for name in PRESENT if not told[name]] == []


@pytest.mark.usefixtures("atlas")
def test_what_is_imported_and_then_used_is_told_once() -> None:
    text = "from acme import Old\nOld(1)\nOld.make()\nOld(2)\n"
    (fault,) = faults_of(read_tree(ast.parse(text), text, "__main__"), Stack({"acme": "2.0"}))
    assert (fault.name, fault.line, set(fault.more) & {2, 4}) == ("acme:Old", 1, {2, 4})


@pytest.mark.usefixtures("atlas")
class TestProjects:
    def told(self, capsys: pytest.CaptureFixture[str], folder: Path, files: dict[str, str], script: str) -> list[tuple[str, int]]:
        for name, text in {**files, "project/requirements.txt": "acme==2.0\n"}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = run(capsys, "check", str(folder / script), str(folder / "project" / "requirements.txt"), "-f", "json")
        found = [one["location"] for one in json.loads(done.out)["findings"] if one["rule"] == "code-breaks"]
        return sorted((str(Path(one["file"]).relative_to(folder)), one["line"]) for one in found)

    def test_modules_are_found_where_the_project_keeps_them(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        files = {
            "project/scripts/train.py": "from own.data import load\ndef main():\n    from own import late\n    import helper\n",
            "project/src/own/__init__.py": "",
            "project/src/own/data.py": "from acme import Old\nfrom .deep import more\n",
            "project/src/own/late.py": "import acme\nacme.Old()\n",
            "project/src/own/deep/__init__.py": "from . import inner\n",
            "project/src/own/deep/inner.py": "from own.other import x\nfrom acme import Old\n",
            "project/src/own/other.py": "\nfrom acme import Old\n",
            "project/helper.py": "\n\nfrom acme import Old\n",
            "project/src/own/unused.py": "from acme import Old\n",
        }
        assert self.told(capsys, tmp_path, files, "project/scripts/train.py") == [
            ("project/helper.py", 3),
            ("project/src/own/data.py", 1),
            ("project/src/own/deep/inner.py", 2),
            ("project/src/own/late.py", 2),
            ("project/src/own/other.py", 2),
        ]

    def test_examples_with_a_list_of_their_own_take_the_package_that_is_built_above_them(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        files = {"project/examples/train.py": "from acme import Old\n", "project/examples/requirements.txt": "acme==2.0\n"}
        assert self.told(capsys, tmp_path, files, "project/examples/train.py") == [("project/examples/train.py", 1)]
        files |= {"project/setup.py": "", "project/src/acme/__init__.py": ""}
        assert self.told(capsys, tmp_path, files, "project/examples/train.py") == []

    @pytest.mark.parametrize(
        ("place", "told"),
        [("acme.py", 0), ("acme/__init__.py", 0), ("../src/acme/__init__.py", 0), ("acme/data.json", 1), ("../../acme.py", 1)],
    )
    def test_a_module_of_the_project_is_no_package(self, capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str, told: int) -> None:
        files = {"project/code/train.py": "from acme import Old\n", f"project/code/{place}": ""}
        assert len(self.told(capsys, tmp_path, files, "project/code/train.py")) == told

    @pytest.mark.parametrize(
        ("own", "line", "told"), [("acme/own.py", "acme.own", 0), ("acme/other.py", "acme.own", 1), ("acme/own.py", "acme", 1)]
    )
    def test_a_script_of_a_package_may_be_run_in_any_folder_of_it(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path, own: str, line: str, told: int
    ) -> None:
        folders = ("pkg/inner", "pkg/inner/run", "pkg/inner/acme", "pkg")
        files = {f"{folder}/__init__.py": "" for folder in folders}
        files |= {"pkg/inner/run/train.py": f"from {line} import Old\n", f"pkg/inner/{own}": ""}
        assert len(self.told(capsys, tmp_path, files, "pkg/inner/run/train.py")) == told

    def test_a_folder_of_a_package_hides_no_library_of_its_name_from_what_lies_in_it(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        files = {"project/pyproject.toml": "", "project/src/pkg/__init__.py": "", "project/src/pkg/acme/__init__.py": ""}
        files |= {"project/src/pkg/acme/model/__init__.py": "", "project/src/pkg/acme/model/own.py": "from acme import Old\n"}
        assert len(self.told(capsys, tmp_path, files, "project/src/pkg/acme/model/own.py")) == 1
        files |= {"project/src/pkg/run/__init__.py": "", "project/src/pkg/run/train.py": "from acme import Old\n"}
        assert self.told(capsys, tmp_path, files, "project/src/pkg/run/train.py") == []

    def test_a_finding_has_the_line_that_shows_it(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        (tmp_path / "train.py").write_text("import acme\nfrom acme import Old, Kept\nacme.Old()\nacme.Kept(1, b=2)\n")
        (tmp_path / "requirements.txt").write_text("acme==2.0\n")
        done = run(capsys, "check", str(tmp_path / "train.py"), str(tmp_path / "requirements.txt"), "-f", "json")
        assert sorted(one["witness"] for one in json.loads(done.out)["findings"] if one["rule"] == "code-breaks") == [
            "from acme import Old",
            "import acme; acme.Old",
            "import inspect, acme; inspect.signature(acme.Kept).bind(None, b=None)",
        ]


def test_a_dataclass_takes_the_fields_of_a_base_in_another_package(tmp_path: Path) -> None:
    base = "from dataclasses import dataclass\n@dataclass\nclass Args:\n    out: str\n    {}: int = 1\n"
    lib = {
        "1.0": {"acme/__init__.py": base.format("old_steps")},
        "2.0": {"acme/__init__.py": base.format("steps")},
    }
    more = "from dataclasses import dataclass\nimport acme\n@dataclass\nclass More(acme.Args):\n    extra: int = 2\n"
    text = "from user import More\nMore('x', extra=1, steps=1)\nMore('x', extra=1, old_steps=1)\nMore('x', never=1)\n"
    with atlas_of(tmp_path, {"acme": lib, "user": {"1.0": {"user/__init__.py": more}}}):
        outline = read_tree(ast.parse(text), text, "__main__")
        told = {
            release: [(one.provider, one.keywords, one.line) for one in faults_of(outline, Stack({"acme": release, "user": "1.0"}))]
            for release in ("1.0", "2.0")
        }
        alone = list(faults_of(outline, Stack({"user": "1.0"})))
    assert told == {"1.0": [("acme", ("steps",), 2)], "2.0": [("acme", ("old_steps",), 3)]}
    assert alone == []


def test_a_field_that_such_a_dataclass_had_itself_is_missed_where_the_base_does_not_take_it_either(tmp_path: Path) -> None:
    base = "from dataclasses import dataclass\n@dataclass\nclass Args:\n    out: str\n    {}: int = 1\n"
    lib = {"1.0": {"acme/__init__.py": base.format("steps")}}
    more = "from dataclasses import dataclass\nimport acme\n@dataclass\nclass More(acme.Args):\n    extra: int = 2\n"
    user = {"1.0": {"user/__init__.py": f"{more}    moved: int = 3\n"}, "2.0": {"user/__init__.py": more}}
    text = "from user import More\nMore('x', extra=1, moved=1)\nMore('x', never=1)\n"
    with atlas_of(tmp_path, {"acme": lib, "user": user}):
        outline = read_tree(ast.parse(text), text, "__main__")
        told = {
            own: [(one.provider, one.keywords, one.line) for one in faults_of(outline, Stack({"acme": "1.0", "user": own}))]
            for own in ("1.0", "2.0")
        }
        alone = list(faults_of(outline, Stack({"user": "2.0"})))
        known = answer("user.More(moved)")
    assert told == {"1.0": [], "2.0": [("user", ("moved",), 2)]}
    assert alone == []
    assert known is not None
    assert (known.there, known.gone) == (0b01, 0)


def test_of_one_call_the_base_is_blamed_for_its_own_fields_alone(tmp_path: Path) -> None:
    base = "from dataclasses import dataclass\n@dataclass\nclass Args:\n    out: str\n    {}: int = 1\n"
    lib = {"1.0": {"acme/__init__.py": base.format("ratio")}, "2.0": {"acme/__init__.py": base.format("steps")}}
    more = "from dataclasses import dataclass\nimport acme\n@dataclass\nclass More(acme.Args):\n    extra: int = 2\n"
    user = {"1.0": {"user/__init__.py": f"{more}    moved: int = 3\n"}, "2.0": {"user/__init__.py": more}}
    text = "from user import More\nMore('x', ratio=1, moved=1)\n"
    with atlas_of(tmp_path, {"acme": lib, "user": user}):
        outline = read_tree(ast.parse(text), text, "__main__")
        told = {
            releases: [(one.provider, one.keywords) for one in faults_of(outline, Stack({"acme": releases[0], "user": releases[1]}))]
            for releases in (("1.0", "1.0"), ("2.0", "1.0"), ("1.0", "2.0"), ("2.0", "2.0"))
        }
    assert list(told.values()) == [[], [("acme", ("ratio",))], [("user", ("moved",))], [("acme", ("ratio",)), ("user", ("moved",))]]


def test_all_that_a_call_of_such_a_dataclass_passes_in_vain_is_told(tmp_path: Path) -> None:
    base = "from dataclasses import dataclass\n@dataclass\nclass Args:\n    out: str\n    {}: int = 1\n"
    lib = {"1.0": {"acme/__init__.py": base.format("ratio")}, "2.0": {"acme/__init__.py": base.format("steps")}}
    more = "from dataclasses import dataclass\nimport acme\n@dataclass\nclass More(acme.Args):\n    extra: int = 2\n"
    own = {
        "1.0": f"{more}    early: int = 3\n    also: int = 3\n    late: int = 3\n",
        "2.0": f"{more}    late: int = 3\n",
        "3.0": more,
    }
    text = "from user import More\nMore('x', early=1, also=1, late=1, never=1)\nMore('x', ratio=1, never=1)\nMore('x', never=1)\n"
    with atlas_of(tmp_path, {"acme": lib, "user": {release: {"user/__init__.py": one} for release, one in own.items()}}):
        outline = read_tree(ast.parse(text), text, "__main__")
        faults = list(faults_of(outline, Stack({"acme": "2.0", "user": "3.0"})))
        told = [(one.line, one.provider, one.keywords, bin(one.bad)) for one in faults]
    assert told == [
        (2, "user", ("early", "also"), "0b110"),
        (2, "user", ("late",), "0b100"),
        (2, "user", ("never",), "0b111"),
        (3, "acme", ("ratio",), "0b10"),
        (3, "user", ("never",), "0b111"),
    ]


def test_what_stood_after_a_parameter_and_moved_up_is_not_its_new_name(tmp_path: Path) -> None:
    rows = ("where", "where, kept", "kept", "folder, kept")
    lib = {f"{number}.0": {"acme/__init__.py": f"def log(data, {row}): ...\n"} for number, row in enumerate(rows, 1)}
    text = "import acme\nacme.log(1, where=2, kept=3)\n"
    with atlas_of(tmp_path, {"acme": lib}):
        outline = read_tree(ast.parse(text), text, "__main__")
        told = {release: [replacement(one) for one in faults_of(outline, Stack({"acme": release}))] for release in ("3.0", "4.0")}
    assert told == {"3.0": [""], "4.0": ["write folder= for where="]}


@pytest.mark.usefixtures("atlas")
def test_a_script_of_this_folder_may_import_from_its_own_package(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text("from . import beside\nfrom .. import above\nfrom acme import Old\n")
    (tmp_path / "requirements.txt").write_text("acme==2.0\n")
    monkeypatch.chdir(tmp_path)
    done = run(capsys, "check", "train.py", "requirements.txt", "-f", "json")
    assert (done.status, [one["rule"] for one in json.loads(done.out)["findings"]]) == (1, ["code-breaks"])


@pytest.mark.usefixtures("atlas")
@pytest.mark.parametrize("dots", [1, 2, 3, 4])
@pytest.mark.parametrize("place", ["train.py", "copied/models/own/train.py"])
def test_what_is_imported_from_above_is_no_package_of_that_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, dots: int, place: str
) -> None:
    script = tmp_path / place
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(f"from {'.' * dots}acme import Old, Nothing\nfrom {'.' * dots}acme.core import Gone\n")
    (tmp_path / "requirements.txt").write_text("acme==2.0\n")
    done = run(capsys, "check", str(script), str(tmp_path / "requirements.txt"), "-f", "json")
    assert [one["rule"] for one in json.loads(done.out)["findings"]] == []


@pytest.mark.usefixtures("atlas")
def test_the_code_of_a_model_is_held_against_the_packages_beside_transformers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": {"AutoModel": "modeling_own.Own"}}))
    (model / "modeling_own.py").write_text("from acme import Old\nfrom .more import x\n")
    (model / "more.py").write_text("import acme\nacme.Kept(1, b=2)\n")
    told = {}
    for release in ("1.1", "2.0"):
        (tmp_path / "requirements.txt").write_text(f"acme=={release}\n")
        done = run(capsys, "check", str(model), str(tmp_path / "requirements.txt"), "-f", "json")
        found = [one for one in json.loads(done.out)["findings"] if one["rule"] == "code-breaks"]
        told[release] = sorted((Path(one["location"]["file"]).name, one["location"]["line"]) for one in found)
    assert told == {"1.1": [], "2.0": [("modeling_own.py", 1), ("more.py", 2)]}


def test_the_code_of_an_adapter_is_held_against_transformers_too(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"]}))
    (adapter / "custom.py").write_text("from transformers import Old\n")
    (tmp_path / "requirements.txt").write_text("transformers==2.0\n")
    old = {name.replace("acme", "transformers"): text for name, text in LIB["1.1"].items()}
    new = {name.replace("acme", "transformers"): text for name, text in LIB["2.0"].items()}
    with atlas_of(tmp_path, {"transformers": {"1.1": old, "2.0": new}}):
        done = run(capsys, "check", str(adapter), str(tmp_path / "requirements.txt"), "-f", "json")
    assert "transformers.Old" in {one.get("edge") for one in json.loads(done.out)["findings"]}


@pytest.mark.parametrize(
    ("releases", "told"),
    [(("1.23.5", "1.24.4"), "<1.24"), (("4.57.6", "5.0.0"), "<5.0.0"), (("4.45.1", "4.45.2"), "<4.45.2"), (("1.0", "2.0"), "<2.0")],
)
def test_a_fault_may_begin_with_a_release_that_was_not_read(tmp_path: Path, releases: tuple[str, str], told: str) -> None:
    files = dict(zip(releases, ({"acme/__init__.py": "x = 1\n"}, {"acme/__init__.py": "y = 1\n"}), strict=True))
    with atlas_of(tmp_path, {"acme": files}):
        text = "from acme import x\n"
        (fault,) = faults_of(read_tree(ast.parse(text), text, "__main__"), Stack({"acme": releases[1]}))
        assert good_specifiers(fault.bound.volume, fault.bad, fault.place) == [told]


def edges(text: str, stack: Stack) -> list[str]:
    return [f"{fault.name}({', '.join(fault.keywords)})" for fault in faults_of(read_tree(ast.parse(text), text, "__main__"), stack)]


def test_torch_takes_the_names_that_numpy_has_for_its_parameters(tmp_path: Path) -> None:
    """Its compiled functions do, whatever their stubs list, and no function is refused what it is itself called with."""
    old = {"torch/__init__.py": "def cat(tensors, dim=0, axis=0, gone=0): pass\ndef own(x, y=0): pass\n"}
    new = {"torch/__init__.py": "def cat(tensors, dim=0): pass\ndef own(x): pass\n"}
    with atlas_of(tmp_path, {"torch": {"1.0": old, "2.0": new}, "acme": LIB}):
        text = "import torch\ntorch.cat(1, axis=0)\ntorch.cat(1, gone=0)\ntorch.own(x=1)\ntorch.own(x=1, y=0)\n"
        assert edges(text, Stack({"torch": "2.0"})) == ["torch.cat(gone)", "torch.own(y)"]


def test_what_moved_into_another_package_under_the_same_name_is_not_gone(tmp_path: Path) -> None:
    old = {"optimum/__init__.py": "def kept(): pass\ndef gone(): pass\n", "optimum/onnxruntime.py": "class Model: pass\n"}
    text = "import optimum\nfrom optimum.onnxruntime import Model\nfrom optimum import gone\n"
    with atlas_of(tmp_path, {"optimum": {"1.0": old, "2.0": {"optimum/__init__.py": "def kept(): pass\n"}}, "acme": LIB}):
        alone_there = {"optimum": "2.0", "acme": "2.0"}
        assert edges(text, Stack(alone_there, closed=True)) == ["optimum.onnxruntime:Model()", "optimum:gone()"]
        assert edges(text, Stack({**alone_there, "optimum-onnx": "0.1"}, closed=True)) == ["optimum:gone()"]
        assert edges(text, Stack(alone_there)) == ["optimum:gone()"]


def test_a_folder_of_tests_is_not_read_and_nothing_in_it_is_called_missing(tmp_path: Path) -> None:
    files = {"acme/__init__.py": "x = 1\n", "acme/io/__init__.py": "", "acme/io/tests/test_it.py": "data = 1\n"}
    text = "from acme.io.tests.test_it import data\nfrom acme.io.other import data\n"
    with atlas_of(tmp_path, {"acme": {"1.0": files}}):
        assert edges(text, Stack({"acme": "1.0"})) == ["acme.io.other:data()"]


def test_a_package_that_finds_its_modules_by_their_old_names_is_let_be(tmp_path: Path) -> None:
    old = {"sentence_transformers/__init__.py": "x = 1\n", "sentence_transformers/readers.py": "class InputExample: pass\n"}
    new = {"sentence_transformers/__init__.py": "", "sentence_transformers/base.py": ""}
    text = "from sentence_transformers.readers import InputExample\nfrom sentence_transformers import x\n"
    with atlas_of(tmp_path, {"sentence-transformers": {"5.3.0": old, "5.4.0": new}, "other": {"1.0": old}}):
        assert edges(text, Stack({"sentence-transformers": "5.4.0"})) == ["sentence_transformers:x()"]


def test_an_object_by_the_name_of_a_module_that_is_gone_keeps_its_members(tmp_path: Path) -> None:
    old = {"acme/__init__.py": "from acme._src.config import config\n", "acme/config.py": "x = 1\n", "acme/_src/config.py": "config = 1\n"}
    new = {"acme/__init__.py": "from acme._src.config import config\n", "acme/_src/config.py": "config = 1\n"}
    text = "import acme\nacme.config.update('x', 1)\nacme.other\n"
    with atlas_of(tmp_path, {"acme": {"1.0": {**old, "acme/__init__.py": "other = 1\n" + old["acme/__init__.py"]}, "2.0": new}}):
        assert edges(text, Stack({"acme": "2.0"})) == ["acme.other()"]


def test_of_two_keywords_that_came_neither_is_told_for_the_one_that_went(tmp_path: Path) -> None:
    text = "from acme import f\nf(dataset=1)\n"
    told = {}
    for came in ("train_dataset", "train_dataset, eval_dataset=0"):
        folder = tmp_path / str(len(came))
        folder.mkdir()
        releases = {"1.0": {"acme/__init__.py": "def f(a, dataset): pass\n"}, "2.0": {"acme/__init__.py": f"def f(x, y, {came}): pass\n"}}
        with atlas_of(folder, {"acme": releases}):
            (fault,) = faults_of(read_tree(ast.parse(text), text, "__main__"), Stack({"acme": "2.0"}))
            told[came] = replacement(fault)
    assert list(told.values()) == ["write train_dataset= for dataset=", ""]


def test_of_a_module_of_torch_that_is_gone_nothing_can_be_imported(tmp_path: Path) -> None:
    old = {"torch/__init__.py": "x = 1\n", "torch/_six.py": "y = 1\n", "torch/cuda.py": ""}
    new = {"torch/__init__.py": "x = 1\n", "torch/cuda.py": ""}
    text = "from torch._six import container_abcs\nfrom torch.cuda import LongTensor\n"
    with atlas_of(tmp_path, {"torch": {"1.13.0": old, "2.0.0": new}}):
        assert edges(text, Stack({"torch": "1.13.0"})) == []
        assert edges(text, Stack({"torch": "2.0.0"})) == ["torch._six:container_abcs()"]


IN_TWO_STEPS = {
    "kept = acme.Kept(1)\nkept.gone()\n": ["acme.Kept.gone()"],
    "kept = acme.Kept(1)\ndef run():\n    kept.gone()\n": ["acme.Kept.gone()"],
    "def run():\n    kept = acme.Kept(1)\n    kept.there(), kept.gone()\n": ["acme.Kept.gone()"],
    "settings = {'b': 2}\nacme.Kept(1, **settings)\n": ["acme.Kept(b)"],
    "settings = dict(b=2)\nacme.Kept(1, **settings)\n": ["acme.Kept(b)"],
    "acme.Kept(1, **{'b': 2})\n": ["acme.Kept(b)"],
    "from functools import partial as p\np(acme.Kept, b=2)\n": ["acme.Kept(b)"],
    "import functools\ndef run():\n    return functools.partial(acme.Kept, 1, b=2)\n": ["acme.Kept(b)"],
    "class Own(acme.Kept):\n    def more(self): pass\nclass Deep(Own):\n    x = 1\ndef run():\n    Deep(1, b=2)\n": ["acme.Kept(b)"],
    # An object of one class, wherever it was made: there, twice, in a function, in a field, by the class itself.
    "acme.Kept(1).gone()\n": ["acme.Kept.gone()"],
    "kept = acme.Kept(1)\nkept = acme.Kept(2)\nkept.gone()\n": ["acme.Kept.gone()"],
    "kept: acme.Kept = acme.Kept(1)\nkept.gone()\n": ["acme.Kept.gone()"],
    "kept = acme.Kept.from_pretrained('x').to('cuda')\nkept.gone()\n": ["acme.Kept.gone()"],
    "def run(kept: acme.Kept | None = None):\n    kept.gone()\n": ["acme.Kept.gone()"],
    "def load():\n    return acme.Kept(1)\ndef run():\n    kept = load()\n    kept.gone()\n": ["acme.Kept.gone()"],
    "def load():\n    kept = acme.Kept(1)\n    return kept, 2\nkept, other = load()\nkept.gone(), other.gone()\n": ["acme.Kept.gone()"],
    "class Own:\n    def __init__(self):\n        self.kept = acme.Kept(1)\n    def run(self):\n        self.kept.gone()\n": [
        "acme.Kept.gone()"
    ],
    # Or perhaps not of it.
    "def load(a):\n    if a:\n        return other()\n    return acme.Kept(1)\nkept = load(1)\nkept.gone()\n": [],
    "def run(kept: acme.Kept):\n    kept = other()\n    kept.gone()\n": [],
    "class O:\n    def f(self):\n        self.kept = acme.Kept(1)\n    def g(self):\n        self.kept = 2\n        self.kept.gone()\n": [],
    "class Own:\n    def __init__(self, Kept):\n        self.kept = Kept(1)\n    def run(self):\n        self.kept.gone()\n": [],
    "acme.AutoKept.from_pretrained('x').gone()\n": [],
    "acme.Kept.from_pretrained('x', trust_remote_code=True).gone()\n": [],
    "acme.Kept(1).other().gone()\n": [],
    # What takes more than its base, or is no class of the file any more.
    "class Own(acme.Kept):\n    def __init__(self, b): pass\nOwn(b=2)\n": [],
    "class Own(acme.Kept):\n    b: int = 1\nOwn(b=2)\n": [],
    "@other\nclass Own(acme.Kept):\n    pass\nOwn(b=2)\n": [],
    "class Own(acme.Kept, Other):\n    pass\nOwn(b=2)\n": [],
    "class Own(acme.Kept):\n    pass\ndef run(Own):\n    Own(b=2)\n": [],
    "class Own(acme.Kept):\n    def gone(self): pass\nown = Own(1)\nown.gone()\n": [],
    "from functools import partial\nmade = partial(acme.Kept, 1)\nmade.gone\n": [],
    "from functools import partial\ndef partial(f, b): pass\npartial(acme.Kept, b=1)\n": [],
    # What may be another object, or another dictionary, by then.
    "kept = acme.Kept(1)\nkept = other()\nkept.gone()\n": [],
    "kept = acme.Kept(1)\ndef run(kept):\n    kept.gone()\n": [],
    "kept = acme.Kept(1)\ndef run():\n    kept = other()\n    kept.gone()\n": [],
    "kept = acme.Kept(1)\nkept.gone = 1\nkept.gone\n": [],
    "kept = acme.Kept(1)\nif hasattr(kept, 'gone'):\n    kept.gone()\n": [],
    "for kept in things:\n    kept = acme.Kept(1)\n    kept.gone()\n": [],
    "with acme.Kept(1) as kept:\n    kept.gone()\n": ["acme.Kept.gone()"],
    "with acme.Kept(1) as kept:\n    pass\nif __name__ == '__main__':\n    kept.gone()\n": ["acme.Kept.gone()"],
    "with acme.Kept(1) as kept, other() as kept:\n    kept.gone()\n": [],
    "with acme.Kept(1) as (kept, other):\n    kept.gone()\n": [],
    "if __name__ == '__main__':\n    acme.Kept(1).gone()\nelse:\n    acme.Kept(2).gone()\n": ["acme.Kept.gone()"],
    "settings = {'b': 2}\nsettings.pop('b')\nacme.Kept(1, **settings)\n": [],
    "settings = {'b': 2}\nchange(settings)\nacme.Kept(1, **settings)\n": [],
    "settings = {'b': 2, **others}\nacme.Kept(1, **settings)\n": [],
}


def test_what_is_said_in_two_steps(tmp_path: Path) -> None:
    methods = "    def there(self): pass\n"
    old = {"acme/__init__.py": f"class Kept:\n    def __init__(self, a, b=1): pass\n{methods}    def gone(self): pass\n"}
    new = {"acme/__init__.py": f"class Kept:\n    def __init__(self, a): pass\n{methods}"}
    with atlas_of(tmp_path, {"acme": {"1.0": old, "2.0": new}, "user": USER}):
        told = {}
        for text in IN_TWO_STEPS:
            (tmp_path / "train.py").write_text(f"import acme\n{text}")
            source = open_source(tmp_path / "train.py")
            assert not isinstance(source, Skip)
            faults = faults_of(read_own(source), Stack({"acme": "2.0"}))
            told[text] = [f"{fault.name}({', '.join(fault.keywords)})" for fault in faults]
        assert told == IN_TWO_STEPS


def test_what_a_class_has_of_its_base_in_another_package(tmp_path: Path) -> None:
    heir = {"user/__init__.py": "import acme\nclass Heir(acme.Kept):\n    def own(self): pass\n"}
    kept = "class Kept:\n    def there(self, a): pass\n"
    old = {"acme/__init__.py": f"{kept}    def gone(self): pass\n    def own(self): pass\n    def less(self, a, b=1): pass\n"}
    new = {"acme/__init__.py": f"{kept}    def less(self, a): pass\n"}
    text = "import user\nheir = user.Heir()\nheir.gone()\nheir.own()\nheir.there(1)\nheir.never()\nheir.less(1, b=2)\n"
    with atlas_of(tmp_path, {"acme": {"1.0": old, "2.0": new}, "user": {"1.0": heir}}):
        (tmp_path / "train.py").write_text(text)
        source = open_source(tmp_path / "train.py")
        assert not isinstance(source, Skip)
        told = {place: list(faults_of(read_own(source), Stack({"acme": place, "user": "1.0"}))) for place in ("1.0", "2.0")}
        assert [(one.name, one.line) for one in told["2.0"]] == [("acme:Kept.gone", 3), ("acme:Kept.less", 7)]
        assert told["1.0"] == []
        assert list(faults_of(read_own(source), Stack({"user": "1.0"}))) == []  # of a base in no known release nothing is said


def test_a_method_that_went_from_a_module_of_torch_is_none_that_it_registers(tmp_path: Path) -> None:
    module = "class Module:\n    def __getattr__(self, name): pass\n    def train(self): pass\n"
    torch = {"torch/__init__.py": "", "torch/nn/__init__.py": "from .modules.module import Module\n",
             "torch/nn/modules/__init__.py": "from .module import Module\n", "torch/nn/modules/module.py": module}  # fmt: skip
    net = "from torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        self.{} = 1\n"
    old = {
        "acme/__init__.py": net.format("head")
        + "    def gone(self): pass\n    def train(self): pass\n    def __init_subclass__(cls): pass\n"
    }
    new = {"acme/__init__.py": net.format("other")}
    text = "import acme\nnet = acme.Net()\nnet.gone()\nnet.train()\nnet.head\nnet.__init_subclass__()\n"
    with atlas_of(tmp_path, {"acme": {"1.0": old, "2.0": new}, "torch": {"2.0.0": torch}}):
        (tmp_path / "train.py").write_text(text)
        source = open_source(tmp_path / "train.py")
        assert not isinstance(source, Skip)
        stack = Stack({"acme": "2.0", "torch": "2.0.0"})
        members_of_modules.cache_clear()
        assert [one.name for one in faults_of(read_own(source), stack)] == ["acme.Net.gone"]
    members_of_modules.cache_clear()


TOKENIZERS = """from transformers import AutoTokenizer, AutoModel, BertTokenizer
tokenizer = AutoTokenizer.from_pretrained("bert")
tokenizer.encode_plus("a")
tokenizer.other("a")
BertTokenizer.from_pretrained("bert").encode_plus("a")
model = AutoModel.from_pretrained("bert")
model.get_head_mask(None, 2), model.generate()
"""


def test_what_transformers_5_took_from_all_tokenizers_and_models(tmp_path: Path) -> None:
    text = "class PreTrainedTokenizerBase:\n{}class BertTokenizer(PreTrainedTokenizerBase): pass\n"
    text += "class AutoTokenizer: pass\nclass AutoModel: pass\n"
    old = "    def encode_plus(self): pass\nclass PreTrainedModel:\n    def get_head_mask(self): pass\n    def generate(self): pass\n"
    new = "    def __getattr__(self, name): pass\nclass PreTrainedModel: pass\n"
    releases = {name: {"transformers/__init__.py": text.format(of)} for name, of in (("4.57.0", old), ("5.0.0", new))}

    def told(text: str) -> list[tuple[str, int]]:
        (tmp_path / "train.py").write_text(text)
        source = open_source(tmp_path / "train.py")
        assert not isinstance(source, Skip)
        faults = list(faults_of(read_own(source), Stack({"transformers": "5.0.0"})))
        assert {replacement(fault) for fault in faults if "Tokenizer" in fault.name} == {"call the tokenizer itself: tokenizer(...)"}
        return [(fault.name, fault.line) for fault in faults]

    of_tokenizers = [("transformers:PreTrainedTokenizerBase.encode_plus", 3), ("transformers:BertTokenizer.encode_plus", 5)]
    with atlas_of(tmp_path, {"transformers": releases}):
        assert told(TOKENIZERS) == [*of_tokenizers, ("transformers:PreTrainedModel.get_head_mask", 7)]
        # LayoutLM's tokenizers have it themselves.
        assert told(TOKENIZERS + "name = 'microsoft/layoutlmv3-base'\n") == [
            of_tokenizers[1],
            ("transformers:PreTrainedModel.get_head_mask", 7),
        ]


def test_what_is_asked_of_a_device_is_nothing_that_is_asked_of_packages(tmp_path: Path) -> None:
    lines = "import acme, torch\n{}\nacme.Old()\n"
    asked = {
        "if not torch.cuda.is_available():\n    raise SystemExit": 1,
        "use = torch.backends.mps.is_available()\nif use:\n    acme.Old()": 2,
        "if not is_acme_available():\n    raise SystemExit": 0,
        "if not other.is_available():\n    raise SystemExit": 0,
    }
    with atlas_of(tmp_path, {"acme": LIB}):
        told = {}
        for text in asked:
            (tmp_path / "train.py").write_text(lines.format(text))
            source = open_source(tmp_path / "train.py")
            assert not isinstance(source, Skip)
            faults = faults_of(read_own(source), Stack({"acme": "2.0"}))
            told[text] = sum(1 + len(fault.more) for fault in faults)
        assert told == asked


def test_a_module_that_is_imported_as_a_name_is_a_module(tmp_path: Path) -> None:
    files = {"acme/__init__.py": "from acme import io\n", "acme/io.py": "def here(): pass\ndef gone(): pass\n"}
    new = {**files, "acme/io.py": "def here(): pass\n"}
    with atlas_of(tmp_path, {"acme": {"1.0": files, "2.0": new}}):
        assert edges("from acme import io\nio.here()\nio.gone()\n", Stack({"acme": "2.0"})) == ["acme:io.gone()"]
    asked = "import importlib\nsubmodules = ['io']\ndef __getattr__(name):\n    if name in submodules:\n"
    asked += "        return importlib.import_module(f'acme.{name}')\n    raise AttributeError(name)\n"
    folder = tmp_path / "asked"
    folder.mkdir()
    with atlas_of(folder, {"acme": {"1.0": {**files, "acme/__init__.py": asked}, "2.0": {**new, "acme/__init__.py": asked}}}):
        assert edges("from acme import io\nio.here()\nio.gone()\n", Stack({"acme": "2.0"})) == ["acme:io.gone()"]


def test_a_class_by_the_name_of_its_module_is_the_class(tmp_path: Path) -> None:
    kept = {
        "acme/Kept.py": "class Kept:\n    def here(self): pass\n    def gone(self): pass\n",
        "acme/__init__.py": "from .Kept import Kept\n",
    }
    new = {**kept, "acme/Kept.py": "class Kept:\n    def here(self): pass\n"}
    with atlas_of(tmp_path, {"acme": {"1.0": kept, "2.0": new}, "user": USER}):
        told = edges("from acme import Kept\nKept.here\nKept.gone\n", Stack({"acme": "2.0"}))
        assert told == ["acme:Kept.gone()"]


def test_the_definition_stands_over_what_checkers_of_types_are_told() -> None:
    text = "from typing import overload\n@overload\ndef f(a): ...\n@overload\ndef f(a, b): ...\ndef f(a, b=1, c=2): pass\n"
    only_told = "from typing import overload\n@overload\ndef f(a): ...\n@overload\ndef f(a, b): ...\n"
    assert read_tree(ast.parse(text), text, "m").functions == {"f": "a,b=,c="}
    assert read_tree(ast.parse(only_told), only_told, "m").functions == {"f": "~"}


def test_what_is_passed_by_position_and_meets_another_parameter() -> None:
    old, new = read("a,b=,c="), read("a,c=,b=")
    assert old is not None
    assert new is not None
    assert shifted(old, new, read_call("2,c=")) == ["b is passed by position, where c stands"]
    assert shifted(old, new, read_call("1,b=,c=")) == []
    # In the place of one that is gone stands a new one: the same thing by another name.
    renamed, moved = read("a,d=,c="), read("a,c=,d=")
    assert renamed is not None
    assert moved is not None
    assert shifted(old, renamed, read_call("3")) == []
    assert shifted(old, moved, read_call("3")) == ["b is passed by position, where c stands", "c is passed by position, where d stands"]


def test_a_keyword_that_comes_later_is_not_called_gone_and_what_came_before_the_class_is_no_way_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    late = "class Late:\n    def __init__(self, a{}): pass\n"
    releases = {"1.0": "x = 1\n", "1.1": late.format(""), "2.0": late.format(", named=None")}
    (tmp_path / "train.py").write_text("from acme import Late\nLate(1, named=2)\n")
    (tmp_path / "requirements.txt").write_text("acme==1.1\n")
    with atlas_of(tmp_path, {"acme": {release: {"acme/__init__.py": text} for release, text in releases.items()}}):
        done = run(capsys, "check", str(tmp_path / "train.py"), str(tmp_path / "requirements.txt"), "-f", "json")
    (found,) = (one for one in json.loads(done.out)["findings"] if one["rule"] == "code-breaks")
    assert found["detail"] == "calls acme.Late(named): taken from 2.0 on (acme 1.1)"
    assert "<1.1" not in done.out


def test_what_stands_within_the_brackets_of_an_assignment_is_read() -> None:
    from envdoctor.atlas.reading import read_module

    text = "import acme\nkept[acme.a] = 1\ndef f(h):\n    h[h < acme.b(1).c] = 0\n    h[acme.d] += 1\n"
    names = {one.name for one in read_module(text, "__main__", package=False).taken}
    assert {"acme.a", "acme.b", "acme.d"} <= names


@pytest.mark.parametrize(
    "body",
    [
        "optim = optim.Adam(1)\n    optim.step(2)",
        "a = b.A()\n    b = a.B()\n    a.x(b.y)",
        "a = b.A()\n    b = c.B()\n    c = a.C()\n    c.x",
    ],
)
def test_a_name_that_stands_for_itself_is_no_circle(body: str) -> None:
    tree = ast.parse(f"from torch import optim\ndef f():\n    {body}\n")
    in_one_step(tree.body)
    assert ast.unparse(tree)


def test_what_stands_between_the_same_neighbours_is_told_only_where_it_is_alike(tmp_path: Path) -> None:
    old = "def plot(x, boxprops=1, labels=2, flierprops=3): pass\ndef train(a, strategy_of_evaluation=1, b=2): pass\n"
    new = "def plot(x, more=1, boxprops=1, tick_labels=2, flierprops=3): pass\ndef train(more, a, gather=1, b=2): pass\n"
    with atlas_of(tmp_path, {"acme": {"1.0": {"acme/__init__.py": old}, "2.0": {"acme/__init__.py": new}}}):
        bound = open_package("acme")
        assert bound is not None
        assert new_keyword(bound.volume, "acme.plot", "labels", 1) == "tick_labels"
        assert new_keyword(bound.volume, "acme.train", "strategy_of_evaluation", 1) is None


@pytest.mark.parametrize(("release", "told"), [("2.0.0", True), ("1.9.9", False), ("2.0.0rc1", False), ("2.0.2.dev0", False)])
def test_what_a_minor_release_lacks_its_first_patch_lacked_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, release: str, told: bool
) -> None:
    """Of numpy the last release of each minor was read: 2.0.0 lies between 1.26.4, which has ``numpy.Inf``, and 2.0.2."""
    with atlas_of(tmp_path, {"acme": {"1.8.4": {"acme/__init__.py": "Inf = 1\n"}, "2.0.2": {"acme/__init__.py": ""}}}):
        (tmp_path / "train.py").write_text("import acme\nacme.Inf\n")
        (tmp_path / "requirements.txt").write_text(f"acme=={release}\n")
        done = run(capsys, "check", str(tmp_path / "train.py"), str(tmp_path / "requirements.txt"), "-f", "json")
    found = [one["detail"] for one in json.loads(done.out)["findings"] if one["rule"] == "code-breaks"]
    assert found == ([f"uses acme.Inf: gone since 2.0 (acme {release})"] if told else [])


@pytest.mark.parametrize(
    ("home", "given", "instead"),
    [
        ("acme/_hidden.py", "acme/ops.py", "from acme.ops import Old"),
        ("acme/moved.py", "acme/ops.py", "from acme.moved import Old"),
        ("acme/_hidden.py", "acme/_ops.py", ""),
    ],
)
def test_what_moved_to_where_nobody_is_to_look_is_taken_from_who_gives_it(tmp_path: Path, home: str, given: str, instead: str) -> None:
    lib = {
        "1.0": {"acme/__init__.py": "", "acme/core.py": "class Old: pass\n"},
        "2.0": {
            "acme/__init__.py": "",
            "acme/core.py": "",
            home: "class Old: pass\n",
            given: f"from acme.{Path(home).stem} import Old\n",
        },
    }
    with atlas_of(tmp_path, {"acme": lib}):
        outline = read_tree(ast.parse("from acme.core import Old\n"), "", "__main__")
        assert [replacement(one) for one in faults_of(outline, Stack({"acme": "2.0"}))] == [instead]


@pytest.mark.usefixtures("atlas")
@pytest.mark.parametrize(
    ("carried", "found"),
    [(("setup.py", "src/acme/__init__.py"), []), (("pyproject.toml", "acme/__init__.py"), []), (("notes.py",), ["code-breaks"]),
     (("setup.py",), ["code-breaks"])],
)  # fmt: skip
def test_a_package_whose_sources_the_project_carries_is_its_own(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, carried: tuple[str, ...], found: list[str]
) -> None:
    for name in carried:
        path = tmp_path / "acme" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    script = tmp_path / "scripts" / "train.py"
    script.parent.mkdir()
    script.write_text("from acme import Old\n")
    (tmp_path / "requirements.txt").write_text("acme==2.0\n")
    done = run(capsys, "check", str(script), str(tmp_path / "requirements.txt"), "-f", "json")
    assert [one["rule"] for one in json.loads(done.out)["findings"]] == found


@pytest.mark.parametrize(("release", "told"), [("3.0.0.dev0", True), ("2.0.0.dev0", False), ("3.1.0.dev0", False), ("4.0.0.dev0", False)])
def test_a_state_of_the_main_branch_lacks_what_the_releases_on_both_sides_of_it_lack(tmp_path: Path, release: str, told: bool) -> None:
    """One that leads to 3.1.0, or to 4.0.0, leads to what nobody has read."""
    releases = {version: {"acme/__init__.py": text} for version, text in (("1.0.0", "Old = 1\n"), ("2.0.0", ""), ("3.0.0", ""))}
    with atlas_of(tmp_path, {"acme": releases}):
        assert bool(edges("import acme\nacme.Old()\n", Stack({"acme": release}))) is told
