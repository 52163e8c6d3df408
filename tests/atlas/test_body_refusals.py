"""What a function's signature takes and its body refuses: read from the source, told of calls, and never of what is let through."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

import pytest

from envdoctor.atlas.own_code import faults_of, replacement
from envdoctor.atlas.reading import read_contents, read_tree
from envdoctor.atlas.renames import certain_renames
from envdoctor.atlas.signatures import of_call, read, read_call, refusal
from envdoctor.atlas.stack import Stack
from envdoctor.checks.atlas import hits_of
from envdoctor.checks.own_code import code_hits
from envdoctor.facts.fact import Origin
from tests.atlas.wheels import Sources, atlas_of

# As pandas has it: a mark that stands for "not given", and a function beside it that looks at it.
READERS = """
from acme import lib
def _refine(sep, names, prefix):
    kept = {}
    if names is not lib.no_default and prefix is not lib.no_default:
        raise ValueError("one of them")
    return kept
def read(path, sep=",", names=lib.no_default, prefix=lib.no_default):
    kwds = _refine(sep, names, prefix)
    return kwds
"""
BODIES = {
    "def f(a=None, b=None):\n    if a is not None and b is not None:\n        raise ValueError": "a=,b=,!a~&b~",
    "def f(a=None):\n    if a:\n        raise TypeError('gone')\n    return 1": "a=,!a~",
    "def f(a=None, b=None):\n    if a is not None or b is not None:\n        raise TypeError": "a=,b=,!a~,!b~",
    "def f(a, **kw):\n    old = kw.pop('old', None)\n    if kw:\n        raise TypeError": "a,*-,old=",
    "def f(a, **kw):\n    old = kw.pop('old', None)\n    if old is not None:\n        raise TypeError\n    g(**kw)": "a,**,!old~",
    "def g(b, *, c=1): ...\ndef f(a, **kw):\n    x = g(a, **kw)\n    return x": "a,**>acme.x:g",
    "class K:\n    def make(self): ...\ndef f(a, **kw):\n    return K.make(a, **kw)": "a,**>acme.x:K.make",
}
OPEN = (
    # What is passed on to a test cannot be told from the call, or the body may have ended or put something else in its place.
    "def f(a=None, b=1):\n    if a is not None and b > 3:\n        raise ValueError",
    "def f(a=None):\n    a = a or other()\n    if a is not None:\n        raise ValueError",
    "def f(a=None, c=0):\n    if c:\n        return 1\n    if a is not None:\n        raise ValueError",
    "def f(a=None):\n    for x in y:\n        return x\n    if a is not None:\n        raise ValueError",
    "def f(a=None):\n    if a is not None:\n        raise ValueError\n    yield 1",
    "async def f(a=None):\n    if a is not None:\n        raise ValueError",
    "def f(a=None):\n    if a is not None:\n        if other:\n            return 1\n        raise ValueError",
    "def f(a=None):\n    try:\n        if a is not None:\n            raise ValueError\n    except ValueError:\n        pass",
    "def f(a=mark):\n    if a is not other:\n        raise ValueError",
)
TAKES_MORE = (
    "def f(a, **kw):\n    b = kw.pop()\n    if kw:\n        raise TypeError",
    "def f(a, **kw):\n    b = kw.pop(*names)\n    if kw:\n        raise TypeError",
    "def f(a, **kw):\n    kw.update(other)\n    if kw:\n        raise TypeError",
    "def f(a, **kw):\n    if 'b' in kw:\n        b = kw['b']\n    if kw:\n        raise TypeError",
    "def g(b): ...\ndef f(a, **kw):\n    kw['c'] = 1\n    return g(a, **kw)",
    "def g(b): ...\ndef f(a, **kw):\n    if a:\n        return 1\n    return g(a, **kw)",
    "from other import g\ndef f(a, **kw):\n    return g(a, **kw)",
)


def signature(text: str) -> str:
    return read_contents(text, "acme.x", package=False).functions["f"]


def test_first_statements_say_what_is_refused() -> None:
    assert {text: signature(text) for text in BODIES} == BODIES


@pytest.mark.parametrize("text", OPEN)
def test_what_the_call_alone_does_not_decide_is_not_told(text: str) -> None:
    assert "!" not in signature(text)


@pytest.mark.parametrize("text", TAKES_MORE)
def test_other_keywords_may_be_taken(text: str) -> None:
    assert signature(text) == "a,**"


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("f(b=[1])", "refuses b"),
        ("f(b=None)", None),
        ("f(b=value)", None),
        ("f(c=None, d=value)", "refuses c and d together"),
        ("f(c=1)", None),
        ("f(1, 2, d=3)", None),
    ],
)
def test_none_is_let_through_where_the_body_lets_it(call: str, why: str | None) -> None:
    told = read("a=,b=,c=,d=,!b~,!c&d")
    (node,) = ast.parse(call).body
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    assert told is not None
    assert refusal(told, read_call(of_call(node.value))) == why


def acme(readers: str, more: Mapping[str, str] | None = None) -> Sources:
    return {"acme/__init__.py": "from acme.readers import read\n", "acme/lib.py": "no_default = object()\n", "acme/readers.py": readers,
            **(more or {})}  # fmt: skip


PLAIN = READERS.replace("if names", "if False and names")
ONWARD = "from acme.inner import Made\ndef read(path, **kwargs):\n    return Made.make(path, **kwargs)\n"
INNER = "class Made:\n    @classmethod\n    def make(cls, path, {}=None): ...\n"


def here(line: int) -> Origin:
    return Origin("train.py", None, line)


class TestScripts:
    def told(self, script: str, release: str) -> list[str]:
        outline = read_tree(ast.parse(script), script, "__main__")
        return [hit.detail for hit in code_hits(outline, Stack({"acme": release}), here)]

    def test_what_is_refused_together_is_told_since_when(self, tmp_path: Path) -> None:
        with atlas_of(tmp_path, {"acme": {"1.0": acme(PLAIN), "2.0": acme(READERS)}}):
            script = "import acme\nacme.read('x', names=None, prefix=None)\nacme.read('x', names=['a'])\n"
            assert self.told(script, "1.0") == []
            said = "calls acme.read(names, prefix): its signature takes them, and its body refuses them together since 2.0 (acme 2.0)"
            assert self.told(script, "2.0") == [said]

    def test_a_keyword_that_nobody_down_the_line_takes(self, tmp_path: Path) -> None:
        releases = {
            "1.0": acme(ONWARD, {"acme/inner.py": INNER.format("closed")}),
            "2.0": acme(ONWARD, {"acme/inner.py": INNER.format("b")}),
        }
        with atlas_of(tmp_path, {"acme": releases}):
            script = "import acme\nacme.read('x', closed='left')\n"
            assert self.told(script, "1.0") == []
            assert len(self.told(script, "2.0")) == 1
            assert self.told("import acme\nacme.read('x', b=1)\n", "2.0") == []

    def test_nothing_is_renamed_and_no_line_is_claimed_to_show_it(self, tmp_path: Path) -> None:
        with atlas_of(tmp_path, {"acme": {"1.0": acme(PLAIN), "2.0": acme(READERS)}}):
            script = "import acme\nacme.read('x', names=None, prefix=None)\n"
            outline = read_tree(ast.parse(script), script, "__main__")
            (fault,) = faults_of(outline, Stack({"acme": "2.0"}))
            assert (replacement(fault), certain_renames(fault)) == ("", ())
            (hit,) = code_hits(outline, Stack({"acme": "2.0"}), here)
            assert hit.witness == ""


FIELD = "def Field(default=None, **extra):\n    regex = extra.pop('regex', None)\n{}    return Made(**extra)\n"
REFUSES = "    if regex is not None:\n        raise TypeError('use pattern')\n"


def test_what_a_package_passes_when_it_is_imported(tmp_path: Path) -> None:
    field = {version: {"acme/__init__.py": FIELD.format(text)} for version, text in (("1.0", ""), ("2.0", REFUSES))}
    user = {
        "0.1": {"user/__init__.py": "from acme import Field\nclass A:\n    a = Field(regex='^a$')\n"},
        "0.2": {"user/__init__.py": "from acme import Field\nclass A:\n    a = Field(regex=None)\n"},
    }
    with atlas_of(tmp_path, {"acme": field, "user": user}):
        stacks = [Stack({"acme": release, "user": version}) for release in ("1.0", "2.0") for version in ("0.1", "0.2")]
        told = [[(hit.edge, hit.witness) for hit in hits_of(stack, ())] for stack in stacks]
    assert told == [[], [], [("user:acme.Field(0,regex=)", "import user")], []]
