"""What a module gives through its ``__getattr__``, as its source shows it."""

from __future__ import annotations

import types
import warnings

import pytest

from envdoctor.atlas.reading import read_module
from envdoctor.atlas.volume import Volume

NUMPY = """
__future = {"str", "bytes"}
__former = {n: "gone" for n in ["bool", "int"]}
for ta in ["float96", "float128"]:
    try:
        globals()[ta] = getattr(math, ta)
    except NameError:
        pass
def __getattr__(attr):
    import warnings
    if attr == "linalg":
        import os
        return os
    elif attr == "array_api":
        raise AttributeError(attr)
    elif attr in ("core", "rec"):
        if "str" in __future:
            return 3
        else:
            raise AttributeError(attr)
    if attr in __future:
        warnings.warn(attr)
    if attr in __former:
        raise AttributeError(__former[attr])
    raise AttributeError(attr)
"""
TABLE = (
    "_moved = {'old': 1}\ndef __getattr__(name):\n    if name not in _moved:\n        raise AttributeError(name)\n    return _moved[name]\n"
)
KEPT = "def __getattr__(name):\n    if name == 'b':\n        globals()[name] = 1\n        return 1\n    raise AttributeError(name)\n"
PILLOW = """
def __getattr__(name):
    old = {"ANTIALIAS": "LANCZOS"}
    if name in old:
        return old[name]
    message = "no"
    raise AttributeError(message)
"""
SCIPY = """
submodules = ["linalg", "signal"]
def __getattr__(name):
    if name in submodules:
        return name
    else:
        try:
            return globals()[name]
        except KeyError:
            raise AttributeError(name)
"""
STREAMLIT = """
import sys
if not False:
    def __getattr__(name):
        module = sys.modules[__name__]
        raise AttributeError(name, module)
"""
HUB = """
_SOME = {"_auth": ["get_token"], "_tqdm": ["tqdm"]}
_WHERE = {name: module for module, names in _SOME.items() for name in names}
def __getattr__(name):
    if name == "httpx":
        return 1
    if module := _WHERE.get(name):
        return module
    raise AttributeError(name)
"""
STARLETTE = """
__deprecated__ = "ExceptionMiddleware"
def __getattr__(name):
    if name == __deprecated__:
        return name
    raise AttributeError(name)
"""
CLOSED = {
    STARLETTE: {"ExceptionMiddleware"},
    NUMPY: {"linalg", "core", "rec"},
    TABLE: {"old"},
    KEPT: {"b"},
    "def __getattr__(name):\n    raise AttributeError(name)\n": set(),
    PILLOW: {"ANTIALIAS"},
    SCIPY: {"linalg", "signal"},
    HUB: {"httpx", "get_token", "tqdm"},
    "def __getattr__(name):\n    if name == 'a' or name in ['b']:\n        return 1\n    raise AttributeError(name)\n": {"a", "b"},
}
OPEN = [
    "def __getattr__(name):\n    return 1\n",
    "def __getattr__(name):\n    if name == 'a':\n        return 1\n",
    "def __getattr__(name):\n    if name.startswith('a'):\n        return 1\n    raise AttributeError(name)\n",
    "def __getattr__(name):\n    if name == 'a':\n        raise KeyError\n    elif name[0] == 'b':\n        return 1\n    raise KeyError\n",
    "def __getattr__(name):\n    if name == 'a':\n        return 1\n    else:\n        return 2\n    raise AttributeError(name)\n",
    "def __getattr__(name):\n    try:\n        return 1\n    except KeyError:\n        pass\n    raise AttributeError(name)\n",
    "def __getattr__(name):\n    try:\n        return globals()[name.lower()]\n    except KeyError:\n        raise AttributeError(name)\n",
    "t = {a: b for a, b in d.items() for a in b}\ndef __getattr__(name):\n    if t.get(name):\n        return 1\n    raise KeyError\n",
    "x = dir()\ndef __getattr__(name):\n    if name in x:\n        return 1\n    raise AttributeError(name)\n",
]


def answers(text: str, name: str) -> bool:
    module = types.ModuleType("made")
    exec(text, module.__dict__)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(module, name)
    except AttributeError:
        return False
    return True


@pytest.mark.parametrize("text", CLOSED)
def test_a_getattr_that_can_be_read_gives_what_it_gives_when_it_runs(text: str) -> None:
    outline = read_module(text, "made", package=False)
    assert not outline.open
    assert "__getattr__" not in outline.functions
    asked = {*CLOSED[text], "other", "bool", "str", "array_api"}
    assert {name for name in asked if answers(text, name)} == CLOSED[text]
    assert CLOSED[text] <= set(outline.names)
    assert not {"other", "bool", "str", "array_api"} & set(outline.names)


@pytest.mark.parametrize("text", OPEN)
def test_any_other_stays_open(text: str) -> None:
    outline = read_module(text, "made", package=False)
    assert outline.open
    assert "__getattr__" in outline.functions


def test_a_loop_that_puts_named_names_into_the_module_is_read() -> None:
    outline = read_module(NUMPY, "made", package=False)
    assert {"float96", "float128"} <= set(outline.names)
    assert read_module("globals().update(x)\n" + NUMPY, "made", package=False).open


@pytest.mark.parametrize(
    ("text", "open_too"),
    [
        ("if TYPE_CHECKING:\n    from .a import b\nelse:\n    lazy_import(\n        globals(), {'b': '.a'})\n", True),
        ("__getattr__, __dir__ = attach(globals(), x)\n", True),
        ("attach(globals())\n", True),
        ("__all__ = sorted(globals())\nnames = dict(globals())\n", False),
        ("exec('x = 1', globals())\n", False),
    ],
)
def test_a_module_that_hands_its_own_table_on_may_have_any_name(text: str, open_too: bool) -> None:
    assert read_module(text, "made", package=True).open is open_too


HELD = """module acme 1.0-
n sys extra
i lazy acme.imports:lazy
l Model acme.model:Model
"""


@pytest.mark.parametrize(("said", "gives"), [("lazy", "lazy_import"), ("extra", "extra_objects"), ("", "")])
def test_what_was_read_before_is_open_where_it_binds_what_gives_more(said: str, gives: str) -> None:
    text = HELD.replace(said, gives) if said else HELD
    volume = Volume("package acme\ntop acme\nrelease 1.0\nrelease 2.0\n", {"acme": text}.get)
    assert volume.provides("acme", "Model").there == 0b11
    assert volume.provides("acme", "Other").gone == (0 if gives else 0b11)


def test_a_class_that_stands_for_the_function_gives_its_members() -> None:
    text = "@api.caching_module_getattr\nclass __getattr__:\n    old = api.deprecated('3.7')(f)\n    def older(self): return 1\n"
    assert {"old", "older"} <= set(read_module(text, "made", package=False).names)


TRANSFORMERS = """module transformers 4.57.6-
n sys
l ViTImageProcessor transformers.models.vit:ViTImageProcessor
l ViTFeatureExtractor transformers.models.vit:ViTFeatureExtractor\t4.57.6
l ViTImageProcessorFast transformers.models.vit:ViTImageProcessorFast\t4.57.6
"""


def test_transformers_5_makes_others_of_tokenizers_and_image_processors_and_of_no_feature_extractor() -> None:
    volume = Volume("package transformers\ntop transformers\nrelease 4.57.6\nrelease 5.0.0\n", {"transformers": TRANSFORMERS}.get)
    assert volume.provides("transformers", "ViTFeatureExtractor").gone == 0b10
    assert volume.provides("transformers", "ViTImageProcessorFast").gone == 0
    # MPNetTokenizer has a converter, and becomes another tokenizer that has the same; Bloom's has none.
    assert volume.provides("transformers", "MPNetTokenizerFast").gone == 0
    assert volume.provides("transformers", "BloomTokenizerFast").gone == 0b11
    assert volume.provides("transformers", "MT5Tokenizer").gone == 0b11


MEMBERS = """
import sys
from enum import IntEnum
class Kind(IntEnum):
    LOW = 0
class Way(IntEnum):
    UP = 1
module = sys.modules[__name__]
for enum in (Kind, Way):
    for item in enum:
        setattr(module, item.name, item.value)
"""


def test_members_of_enumerations_that_a_module_sets_on_itself_are_its_names() -> None:
    found = read_module(MEMBERS, "acme", package=False)
    assert not found.open
    assert {"LOW", "UP"} <= set(found.names)
    module = types.ModuleType("acme")
    import sys

    sys.modules["acme"] = module
    exec(MEMBERS, module.__dict__)
    assert module.LOW == 0
    assert read_module(MEMBERS + "\nsetattr(module, input(), 1)\n", "acme", package=False).open
    assert read_module(MEMBERS.replace("item.name,", "item.name.lower(),"), "acme", package=False).open


def test_a_module_that_names_itself_in_its_refusal_has_no_other_names() -> None:
    assert not read_module(STREAMLIT, "acme", package=False).open
    assert read_module(STREAMLIT + "\nsys.modules[__name__] = object()\n", "acme", package=False).open


def test_to_read_from_the_own_table_adds_no_name() -> None:
    for text in ("print(globals()['__doc__'] % locals())", "def f(): return globals()['x']", "class A:\n    locals().update(a=1)"):
        assert not read_module(text, "acme", package=False).open
    for text in ("globals()[input()] = 1", "own = locals()", "vars().update(a=1)", "globals().update(a=1)", "locals()[input()] = 1"):
        assert read_module(text, "acme", package=False).open


def test_what_the_makers_have_in_their_own_house_brings_no_name() -> None:
    text = "try:\n    from pytorch.vision.io import read_video\nexcept ImportError:\n    pass\nfrom .image import read_image\n"
    found = read_module(text, "acme", package=True)
    assert "read_image" in found.links
    assert "read_video" not in {*found.links, *found.names}
