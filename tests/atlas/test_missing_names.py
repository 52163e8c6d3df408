"""What a release does not have, told from what its source shows: nothing is missing that it gives in another way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.atlas.answers import answer
from envdoctor.atlas.masks import write
from envdoctor.atlas.missing import missing, refused
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import places
from envdoctor.atlas.volume import Volume
from tests.atlas.wheels import atlas_of
from tests.cli.run import run

BOLT = {
    "1.0": {"bolt/__init__.py": "", "bolt/rec.py": "def make(): pass\ndef old(): pass\n"},
    "2.0": {"bolt/__init__.py": "from bolt import _rec as rec\n", "bolt/_rec.py": "def make(): pass\n"},
    "3.0": {"bolt/__init__.py": "", "bolt/_rec.py": "def make(): pass\n"},
}
NUMPY = {
    "1.24.4": {"numpy/__init__.py": "", "numpy/core.py": "def kept(): pass\n"},
    "1.26.4": {"numpy/__init__.py": "", "numpy/core.py": "def kept(): pass\n", "numpy/dtypes.py": "__all__ = []\n"},
}


def gone(package: str, name: str, *, imported: bool = False) -> str:
    bound = open_package(package)
    assert bound is not None
    return write(missing(bound.volume, name, imported=imported), bound.volume.releases)


def test_a_module_that_became_a_name_of_its_parent_still_gives_what_is_asked_of_it(tmp_path: Path) -> None:
    with atlas_of(tmp_path, {"bolt": BOLT}):
        assert gone("bolt", "bolt.rec.make") == "3.0-"
        assert gone("bolt", "bolt.rec:make", imported=True) == "2.0-"


@pytest.mark.parametrize(("name", "releases"), [("numpy.dtypes.StringDType", "1.24.4"), ("numpy.dtypes:StringDType", "1.24.4")])
def test_what_compiled_code_puts_into_a_module_is_missing_where_the_module_is(tmp_path: Path, name: str, releases: str) -> None:
    with atlas_of(tmp_path, {"numpy": NUMPY}):
        assert gone("numpy", name, imported=":" in name) == releases


RAY = {
    "2.0.0": {"ray/__init__.py": "def init(): pass\n", "ray/serve/__init__.py": "def run(): pass\n"},
    "2.9.0": {"ray/__init__.py": "def init(): pass\nfrom ray import serve\n", "ray/serve/__init__.py": "def run(): pass\n"},
}


@pytest.mark.parametrize("name", ["ray:serve", "ray.serve:run", "ray.serve.run", "ray.serve.llm"])
def test_nothing_is_missing_below_a_part_that_nobody_read(tmp_path: Path, name: str) -> None:
    with atlas_of(tmp_path, {"ray": RAY}):
        assert gone("ray", name, imported=":" in name) == ""
        assert gone("ray", "ray:shutdown", imported=True) == "2.0.0-"


def test_a_name_of_a_part_that_nobody_read_is_not_answered_for(tmp_path: Path) -> None:
    with atlas_of(tmp_path, {"ray": RAY}):
        told = answer("ray.serve.run")
        assert told is not None
        assert (told.there, told.gone) == (0, 0)


def test_a_function_that_took_the_name_of_a_module_is_there_before_and_after(tmp_path: Path) -> None:
    releases = {
        "0.1": {"metrics/__init__.py": "from metrics.load import load\n", "metrics/load.py": "def load(path): pass\n"},
        "0.2": {"metrics/__init__.py": "from metrics.loading import load\n", "metrics/loading.py": "def load(path): pass\n"},
    }
    with atlas_of(tmp_path, {"metrics": releases}):
        told = answer("metrics.load")
        assert told is not None
        assert (told.kind, told.there, told.gone) == ("function", 0b11, 0)


def test_a_folder_that_several_packages_fill_is_judged_by_the_one_whose_part_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audio = {"3.1.1": {"pyannote/__init__.py": "", "pyannote/audio/__init__.py": "class Pipeline: pass\n"}}
    script = tmp_path / "run.py"
    script.write_text("from pyannote.core import Segment\nfrom pyannote.audio import Pipeline\nfrom pyannote.audio import Gone\n", "utf-8")
    stack = tmp_path / "requirements.txt"
    stack.write_text("pyannote-audio==3.1.1\n", encoding="utf-8")
    with atlas_of(tmp_path, {"pyannote-audio": audio}):
        told = run(capsys, "check", str(script), str(stack), "--format", "json")
    assert [one["edge"] for one in json.loads(told.out)["findings"] if "edge" in one] == ["pyannote.audio.Gone"]


def test_a_name_that_a_function_puts_into_its_module_is_there(tmp_path: Path) -> None:
    source = "def set_up():\n    global Core, Gui\n    from other import Core, Gui\nset_up()\n"
    with atlas_of(tmp_path, {"plots": {"1.0": {"plots/__init__.py": "", "plots/compat.py": source}}}):
        assert gone("plots", "plots.compat:Core", imported=True) == ""
        assert gone("plots", "plots.compat:Other", imported=True) == "1.0-"


def test_whatever_a_module_takes_of_one_that_no_wheel_shows_may_be_there(tmp_path: Path) -> None:
    with atlas_of(tmp_path, {"fast": {"1.0": {"fast/__init__.py": "from fast._compiled import *\n", "fast/plain.py": "x = 1\n"}}}):
        assert gone("fast", "fast:Tensor", imported=True) == ""
        assert gone("fast", "fast.plain:Tensor", imported=True) == "1.0-"


def test_a_name_that_a_with_statement_binds_is_there(tmp_path: Path) -> None:
    source = "from tools import trying\nwith trying() as _imports:\n    import extra\n"
    with atlas_of(tmp_path, {"plots": {"1.0": {"plots/__init__.py": source}}}):
        assert gone("plots", "plots:_imports", imported=True) == ""


def test_nothing_is_missing_of_a_compiled_class_that_only_a_stub_shows(tmp_path: Path) -> None:
    stub = "class Generator:\n    def shuffle(self, x): ...\n"
    files = {"dice/__init__.py": "", "dice/_core.cpython-311.so": "", "dice/_bare.cpython-311.so": ""}
    releases = {"1.0": {**files, "dice/_core.pyi": stub}, "2.0": {**files, "dice/_core.pyi": "class Generator: ...\n"}}
    with atlas_of(tmp_path, {"dice": releases}):
        assert gone("dice", "dice._core.Generator.shuffle") == ""
        assert gone("dice", "dice._bare.inner:Thing", imported=True) == ""


def test_a_method_of_which_there_are_overloads_alone_is_there(tmp_path: Path) -> None:
    plain = "class Dice:\n    def roll(self, n): pass\n    def old(self): pass\n"
    overloads = (
        "from typing import overload\nclass Dice:\n    @overload\n    def roll(self, n): ...\n    @overload\n    def roll(self): ...\n"
    )
    with atlas_of(tmp_path, {"dice": {"1.0": {"dice/__init__.py": plain}, "2.0": {"dice/__init__.pyi": overloads}}}):
        assert gone("dice", "dice.Dice.roll") == ""
        assert gone("dice", "dice.Dice.old") == "2.0-"


def test_a_release_in_which_nothing_was_found_is_judged_by_those_beside_it() -> None:
    releases = ("1.4.0", "1.4.1", "1.13.1", "1.13.2", "1.13.3")
    volume = Volume("package optimum\ntop optimum\n" + "".join(f"release {one}\n" for one in releases), lambda _: None)
    assert [places(volume, one) for one in releases] == [(), (), (2,), (2, 4), (4,)]


def test_a_release_before_the_first_that_was_read_is_judged_by_it_within_a_minor_release_from_1_0_on() -> None:
    volume = Volume("package acme\ntop acme\nrelease 0.3.8\nrelease 1.26.20\nrelease 2.0.7\n", lambda _: None)
    later = Volume("package acme\ntop acme\nrelease 1.26.20\nrelease 2.0.7\n", lambda _: None)
    assert [places(volume, one) for one in ("0.3.7", "0.2.9", "1.26.9")] == [(), (), (0, 1)]
    assert [places(later, one) for one in ("1.26.9", "1.25.11", "1.26.9rc1", "0.26.3")] == [(0,), (), (), ()]


def test_a_keyword_that_the_package_itself_passes_on_by_its_new_name_is_taken_until_it_stops(tmp_path: Path) -> None:
    old = "def fetch(name, *, use_auth_token=None): pass\n"
    new = "def fetch(name, *, token=None): pass\n"
    releases = {version: {"huggingface_hub/__init__.py": text} for version, text in (("0.10.1", old), ("0.36.0", new), ("1.0.0", new))}
    with atlas_of(tmp_path, {"huggingface-hub": releases}):
        bound = open_package("huggingface-hub")
        assert bound is not None
        for keyword, bad in (("use_auth_token", "1.0.0-"), ("token", "0.10.1")):
            assert write(refused(bound.volume, "huggingface_hub:fetch", f"1,{keyword}="), bound.volume.releases) == bad


def test_what_a_module_takes_for_itself_is_not_exported_by_a_star_where_another_one_defines_it(tmp_path: Path) -> None:
    init = "from linear._solve import *\nfrom linear._special import *\n"
    solve = "from numbers import triu, Number\n__all__ = ['solve']\ndef solve(): pass\n"
    releases = {
        "1.12": {"linear/__init__.py": init, "linear/_solve.py": solve, "linear/_special.py": "def triu(m): pass\n"},
        "1.13": {"linear/__init__.py": init, "linear/_solve.py": solve, "linear/_special.py": ""},
    }
    with atlas_of(tmp_path, {"linear": releases}):
        assert gone("linear", "linear:triu", imported=True) == "1.13-"
        assert gone("linear", "linear:Number", imported=True) == ""  # nobody else defines it: it may be listed


def test_what_a_star_hands_on_stays_where_its_definition_moves_to_a_module_that_lists_what_it_exports(tmp_path: Path) -> None:
    """``altair.vegalite.api`` takes all of v5, then of v6; ``jiwer`` took its default from one module beside the other that has it."""
    five, six = "Kind = list\n", "__all__ = ['Kind']\nKind = list\n"
    releases = {
        "5.0": {"plots/__init__.py": "from plots.v5 import *\n", "plots/v5.py": five},
        "6.0": {"plots/__init__.py": "from plots.v6 import *\n", "plots/v6.py": six},
    }
    passing = "from words.rules import default\n"
    star = "from words.measures import *\nfrom words.rules import *\n"
    words = {
        "2.0": {"words/__init__.py": star, "words/measures.py": passing, "words/rules.py": "__all__ = ['default']\ndefault = []\n"},
        "3.0": {"words/__init__.py": star, "words/measures.py": "", "words/rules.py": "__all__ = ['default']\ndefault = []\n"},
    }
    with atlas_of(tmp_path, {"plots": releases, "words": words}):
        assert gone("plots", "plots:Kind", imported=True) == ""
        assert gone("words", "words:default", imported=True) == ""


def test_what_a_package_puts_into_another_module_by_a_function_is_not_missing(tmp_path: Path) -> None:
    """``sklearn.experimental`` and the graveyard of Lightning: executed with scikit-learn 1.9.1 and pytorch-lightning 2.6.6."""
    asking = "def __getattr__(name):\n    raise AttributeError(name)\n"
    learn = {
        "1.9.1": {
            "sklearn/__init__.py": "",
            "sklearn/impute/__init__.py": asking,
            "sklearn/experimental/__init__.py": "",
            "sklearn/experimental/enable_iterative_imputer.py": "",
        }
    }
    old = {"pytorch_lightning/__init__.py": "", "pytorch_lightning/plugins.py": "class MixedPrecisionPlugin: pass\nclass DDPPlugin: pass\n"}
    new = {"pytorch_lightning/__init__.py": "", "pytorch_lightning/plugins.py": "", "pytorch_lightning/_graveyard/__init__.py": ""}
    with atlas_of(tmp_path, {"scikit-learn": learn, "pytorch-lightning": {"1.6": old, "2.1": new}}):
        asked = ("sklearn.impute:IterativeImputer", "sklearn.impute:OtherImputer")
        assert [gone("scikit-learn", name, imported=True) for name in asked] == ["", "1.9.1-"]
        asked = ("pytorch_lightning.plugins:MixedPrecisionPlugin", "pytorch_lightning.plugins:DDPPlugin")
        assert [gone("pytorch-lightning", name, imported=True) for name in asked] == ["", "2.1-"]


def test_what_matplotlib_puts_into_the_module_of_a_backend_is_not_missing(tmp_path: Path) -> None:
    backend = "class _BackendTk:\n    pass\nclass FigureCanvasTk: pass\n"
    text = "from matplotlib._tk import _BackendTk, FigureCanvasTk\n@_BackendTk.export\nclass _BackendTkAgg(_BackendTk): pass\n"
    files = {"matplotlib/__init__.py": "", "matplotlib/_tk.py": backend, "matplotlib/tkagg.py": text, "matplotlib/other.py": ""}
    with atlas_of(tmp_path, {"matplotlib": {"3.9": files}}):
        asked = ("matplotlib.tkagg:FigureCanvas", "matplotlib.other:FigureCanvas")
        assert [gone("matplotlib", name, imported=True) for name in asked] == ["", "3.9-"]


def test_what_stands_in_for_a_missing_library_gives_its_own_imports_to_the_top_of_transformers(tmp_path: Path) -> None:
    # from transformers import requires_backends (simpletransformers/ner/ner_model.py): there wherever TensorFlow, say, is not installed.
    with atlas_of(tmp_path, {"transformers": {"4.30.2": {"transformers/__init__.py": "class Kept: pass\n"}}}):
        assert gone("transformers", "transformers:requires_backends", imported=True) == ""
        assert gone("transformers", "transformers.DummyObject") == ""
        assert gone("transformers", "transformers:Other", imported=True) == "4.30.2-"


def test_a_member_that_went_is_told_although_a_metaclass_adds_others(tmp_path: Path) -> None:
    """gradio 3.36.1 has ``Button.update``, and 5.6.0 and 6.31.0 have it of ``Row`` alone: each executed."""
    old = "class Block:\n    pass\nclass Button(Block):\n    @staticmethod\n    def update(value): pass\nclass Row(Button): pass\n"
    new = (
        "class Meta(type): pass\nclass Block(metaclass=Meta): pass\nclass Button(Block): pass\n"
        "class Row(Block):\n    def update(self): pass\n"
    )
    with atlas_of(tmp_path, {"gradio": {"3.36.1": {"gradio/__init__.py": old}, "5.6.0": {"gradio/__init__.py": new}}}):
        asked = ("gradio.Button.update", "gradio.Row.update", "gradio.Button.click")
        assert [gone("gradio", name, imported=False) for name in asked] == ["5.6.0-", "", ""]


def test_a_class_has_what_is_imported_in_its_body(tmp_path: Path) -> None:
    """transformers 5.2 moved methods of its Trainer into functions that the class imports; executed with 5.24.0."""
    old = "class Trainer:\n    def rates(self): pass\n    def other(self): pass\n"
    new = "class Trainer:\n    from acme.parts import rates\n"
    files = {"acme/parts.py": "def rates(self): pass\n"}
    with atlas_of(tmp_path, {"acme": {"5.1": {"acme/__init__.py": old, **files}, "5.2": {"acme/__init__.py": new, **files}}}):
        assert [gone("acme", f"acme.Trainer.{name}", imported=False) for name in ("rates", "other")] == ["", "5.2-"]


def test_a_class_has_what_a_decorator_takes_from_another_one(tmp_path: Path) -> None:
    """pandas 2.2.3 has ``DatetimeIndex.year`` by ``inherit_names``, and 3.1.1 writes it out: both executed."""
    head = "def inherit_names(names, delegate): return lambda kind: kind\n"
    old = head + "@inherit_names(['year'], object)\nclass Index: pass\nclass Plain: pass\n"
    new = "class Index:\n    year = 1\nclass Plain:\n    year = 1\n"
    with atlas_of(tmp_path, {"acme": {"2.2": {"acme/__init__.py": old}, "3.1": {"acme/__init__.py": new}}}):
        assert [gone("acme", name, imported=False) for name in ("acme.Index.year", "acme.Plain.year")] == ["", "2.2"]
