"""Signatures, tests of a release, stored outlines and the library's ways of naming things."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging import version

from envdoctor.code.gates import Gates
from envdoctor.code.history import load_history
from envdoctor.code.known import KNOWN, rules_for, symbol_of
from envdoctor.code.library import InstalledLibrary
from envdoctor.code.outline import method_of, module_shape
from envdoctor.code.shape import Arguments, DamagedError, pack, unpack
from envdoctor.code.shelf import Shelf
from tests.code.worlds import LIBRARY, brief, found, library, write

NAMES = ("a", "b", "c", "d")

# --- signatures, against Python itself -----------------------------------------------------------------


@st.composite
def signatures(draw: st.DrawFn) -> str:
    names = list(draw(st.permutations(NAMES)))[: draw(st.integers(0, 4))]
    cut = sorted(draw(st.lists(st.integers(0, len(names)), min_size=2, max_size=2)))
    defaults = draw(st.integers(0, cut[1]))
    parts = [name + ("=0" if place >= cut[1] - defaults else "") for place, name in enumerate(names[: cut[1]])]
    if cut[0]:
        parts.insert(cut[0], "/")
    keywords = [name + draw(st.sampled_from(("", "=0"))) for name in names[cut[1] :]]
    star = draw(st.booleans())
    parts += ["*args"] if star else ["*"] if keywords else []
    return ", ".join([*parts, *keywords, *(["**kwargs"] if draw(st.booleans()) else [])])


@given(signatures(), st.integers(0, 5), st.sets(st.sampled_from((*NAMES, "e"))))
@example("a, /, **kwargs", 0, {"a"})
def test_a_call_is_refused_exactly_when_python_refuses_it(written: str, count: int, keywords: set[str]) -> None:
    namespace: dict[str, object] = {}
    exec(f"def f({written}): pass", namespace)  # written by the strategy above
    function = namespace["f"]
    assert callable(function)
    node = ast.parse(f"def f({written}): pass").body[0]
    assert isinstance(node, ast.FunctionDef)
    told = method_of(node, bound=False).signature
    try:
        function(*range(count), **dict.fromkeys(keywords))
        accepted = True
    except TypeError:
        accepted = False
    refusal = told.refusal(Arguments(count, tuple(keywords)))
    twice = set(told.positional[told.only : count]) & keywords  # a name given twice is not looked for
    assert (refusal is None) == accepted or (refusal is None and bool(twice))
    assert told.refusal(Arguments(count, tuple(keywords), 3)) is None or refusal is not None


# --- tests of a release, against what Python makes of them ----------------------------------------

TESTS = (
    "int(transformers.__version__.split('.')[1]) >= 42",
    "int(transformers.__version__.split('.')[0]) > 4 or int(transformers.__version__.split('.')[1]) < 44",
    "version.parse(transformers.__version__) >= version.parse('4.45.0')",
    "version.parse('4.30') <= version.parse(transformers.__version__) < version.parse('4.50')",
    "not transformers.__version__ >= '4.42'",
    "transformers.__version__.startswith('4.')",
    "[int(transformers.__version__.split('.')[0]), 1] == [5, 1]",
    "version.parse(transformers.__version__).major == 5",
    "transformers.__version__ != '4.42.0'",
    "version.parse(transformers.__version__).release[:2] == (4, 42)",
)


@given(st.sampled_from(TESTS), st.sampled_from((4, 5)), st.integers(0, 60), st.integers(0, 4))
def test_a_branch_is_the_one_that_python_takes(test: str, major: int, minor: int, micro: int) -> None:
    release = f"{major}.{minor}.{micro}"
    gates = Gates({"transformers": release})
    for statement in ast.parse("import transformers\nfrom packaging import version").body:
        gates.learn(statement)
    expected = eval(test, {"transformers": SimpleNamespace(__version__=release), "version": version, "int": int})  # one of TESTS
    decided = gates.decide(ast.parse(test, mode="eval").body)
    assert decided is expected or (decided is None and "release[:2]" in test)


@pytest.mark.parametrize(
    "test", ["x > 1", "torch.__version__ > '2'", "is_available()", "transformers.__version__", "f(transformers.__version__) > 1"]
)
def test_what_is_no_test_of_a_known_release_is_not_decided(test: str) -> None:
    gates = Gates({"transformers": "4.40.0"})
    gates.learn(ast.parse("import transformers").body[0])
    assert gates.decide(ast.parse(test, mode="eval").body) is None


# --- outlines on the shelf -----------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_an_outline_survives_json(name: str, tmp_path: Path) -> None:
    text = (write(tmp_path, LIBRARY) / name).read_text(encoding="utf-8")
    shape = module_shape(ast.parse(text), text, "transformers")
    assert unpack(json.loads(json.dumps(pack(shape)))) == shape


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=10) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
)


@given(json_values)
def test_other_json_is_no_outline(value: object) -> None:
    with pytest.raises(DamagedError):
        unpack(value)


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"format":1,"label":"x","modules":[]}', b"\xff\xfe", b"[" * 100_000])
def test_a_damaged_shelf_is_an_empty_one(tmp_path: Path, damage: bytes) -> None:
    site = write(tmp_path / "site", LIBRARY)
    first = InstalledLibrary([site], {"transformers": "5.0.0"}, tmp_path / "cache")
    assert first.provides("transformers", "PreTrainedModel") is True
    first.save()
    (file,) = (tmp_path / "cache").iterdir()
    file.write_bytes(damage)
    again = InstalledLibrary([site], {"transformers": "5.0.0"}, tmp_path / "cache")
    assert again.provides("transformers", "PreTrainedModel") is True
    again.save()
    assert json.loads(file.read_bytes())["format"] == 1


def test_a_kept_outline_goes_with_the_file_that_it_is_of(tmp_path: Path) -> None:
    site = write(tmp_path / "site", LIBRARY)
    for extra in ("", "def added(): ...\n"):
        (site / "transformers" / "utils.py").write_text(extra)
        kept = InstalledLibrary([site], {"transformers": "5.0.0"}, tmp_path / "cache")
        assert kept.provides("transformers.utils", "added") is bool(extra)
        kept.save()


def test_a_shelf_that_cannot_be_written_is_not(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the directory belongs")
    shelf = Shelf(tmp_path / "cache", "label")
    shelf.put_texts("key", ["a"])
    shelf.save()
    assert (tmp_path / "cache").is_file()


# --- names of a library --------------------------------------------------------------------------


def test_names_of_the_newer_import_structure(tmp_path: Path) -> None:
    changes = {
        "transformers/__init__.py": """
            from .utils import _LazyModule, define_import_structure
            _import_structure = {"configuration_utils": ["PretrainedConfig"]}
            _import_structure["generation"] = ["GenerationMixin"]
            _import_structure["generation"].extend(["LogitsProcessor"])
            _LEGACY_MODULE_ALIASES = {"tokenization_utils_fast": "tokenization_utils"}
            import_structure = define_import_structure(Path(__file__).parent / "models", prefix="models")
            sys.modules[__name__] = _LazyModule(__name__, globals()["__file__"], import_structure)
        """,
        "transformers/models/llama/__init__.py": """
            from ...utils import _LazyModule, define_import_structure
            sys.modules[__name__] = _LazyModule(__name__, __file__, define_import_structure(__file__))
        """,
        "transformers/models/llama/modeling_llama.py": """
            class LlamaModel: ...
            class Hidden: ...
            __all__ = [
                "LlamaModel",
            ]
        """,
    }
    lib = library(tmp_path, changes)
    assert [lib.provides("transformers", name) for name in ("LlamaModel", "LogitsProcessor", "Hidden", "AnyTokenizer")] == [
        True,
        True,
        False,
        None,
    ]
    assert [lib.provides("transformers.models.llama", name) for name in ("LlamaModel", "Hidden", "modeling_llama")] == [True, False, True]
    assert lib.has_module("transformers.tokenization_utils_fast") is True
    assert lib.provides("transformers.tokenization_utils_fast", "PreTrainedTokenizer") is True
    made = lib.find_class("transformers", "LlamaModel")
    assert made is not None
    assert made.module == "transformers.models.llama.modeling_llama"


def test_what_the_source_does_not_tell_is_not_told(tmp_path: Path) -> None:
    changes = {
        "transformers/open.py": "def __getattr__(name): ...\n",
        "transformers/attached.py": "__getattr__, __dir__, __all__ = attach(__name__)\n",
        "transformers/broken.py": "def (:\n",
        "transformers/starred.py": "from elsewhere import *\n",
        "transformers/round.py": "from .round import *\n",
        "transformers/space/inner.txt": "",
    }
    lib = library(tmp_path, changes)
    for module in ("open", "attached", "broken", "starred", "round"):
        assert lib.provides(f"transformers.{module}", "anything") is None
    assert lib.has_module("transformers.space") is None
    assert lib.has_module("not_installed.module") is None


# --- the bundled table ---------------------------------------------------------------------------


def test_the_table_knows_when_members_came_and_went() -> None:
    history = load_history()
    assert history.words("module transformers.utils", "LossKwargs") == "transformers 4.47.0 to 4.53.3 have it"
    assert history.words("tokenizer", "batch_encode_plus") == "transformers up to 4.57.6 have it"
    assert (
        history.words("module transformers.utils", "is_flash_attn_available")
        == "transformers 4.34.0 to 4.34.1 and 4.35.1 to 4.38.2 have it"
    )
    assert history.pins("cache", "get_max_length", "4.49.0") == (("transformers", ">=4.36.0,<=4.48.3"), ("transformers", ">=5.13.0"))
    assert history.had("model", "get_head_mask", "4.57.6") is True
    assert history.had("model", "get_head_mask", "5.0.0") is False
    assert history.had("model", "get_head_mask", "9.0.0") is None


def test_every_rule_that_tells_the_same_exists() -> None:
    pages = {path.stem for path in (Path(__file__).parent.parent.parent / "rules").rglob("*.toml")}
    assert {rule for rules in KNOWN.values() for rule in rules} <= pages


def test_a_finding_that_a_rule_tells_is_known_by_its_symbol(tmp_path: Path) -> None:
    code = {"t.py": "from transformers import PreTrainedTokenizer\nclass T(PreTrainedTokenizer):\n    def _pad(self, inputs): ...\n"}
    (hit,) = found(tmp_path, code, ("t.T",))
    assert symbol_of(hit) == "_pad"
    assert "remote-tokenizer-pad-padding-side" in rules_for(hit)
    assert brief([hit]) == [("override-refuses", "_pad", 3)]
