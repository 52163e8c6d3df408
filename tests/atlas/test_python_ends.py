"""Where the import of a release ends, by the Python that runs it."""

from __future__ import annotations

import pytest

from envdoctor.survey.python_ends import End, find_end

INNER = "from dataclasses import dataclass\n@dataclass\nclass Inner:\n    size: int = 1\n"
OUTER = "from dataclasses import dataclass, field\nfrom .b import Inner\n@dataclass\nclass Outer:\n    inner: Inner = Inner()\n"


def end(**files: str) -> End | None:
    """``pkg__a`` is the module pkg.a, ``pkg`` the package itself."""
    sources = {"pkg/__init__.py": b"from . import a\n"}
    for name, content in files.items():
        path = "pkg/__init__.py" if name == "pkg" else f"{name.replace('__', '/')}.py"
        sources[path] = content.encode()
    return find_end(sources, ["pkg"])


@pytest.mark.parametrize(
    ("content", "minor", "line", "why"),
    [
        ("import os\nimport imp\n", 12, 2, "imports imp"),
        ("from asyncore import dispatcher\n", 12, 1, "imports asyncore"),
        ("from collections import Mapping\n", 10, 1, "takes collections.Mapping"),
        ("import collections\nclass A(collections.Mapping):\n    pass\n", 10, 2, "takes collections.Mapping"),
        ("import inspect\nSPEC = inspect.getargspec(print)\n", 11, 2, "takes inspect.getargspec"),
        ("import cgi\nfrom collections import Mapping\n", 10, 2, "takes collections.Mapping"),
        ("import inspect\ndef f(x=inspect.getargspec):\n    pass\n", 11, 2, "takes inspect.getargspec"),
    ],
)
def test_what_the_standard_library_gave_up(content: str, minor: int, line: int, why: str) -> None:
    assert end(pkg__a=content) == End(minor, "pkg/a.py", line, why)


@pytest.mark.parametrize(
    "content",
    [
        "try:\n    import imp\nexcept ImportError:\n    imp = None\n",
        "import sys\nif sys.version_info < (3, 12):\n    import imp\n",
        "def load():\n    import imp\n    return imp\n",
        "import collections\ndef check(x):\n    return isinstance(x, collections.Mapping)\n",
        "import collections\nMapping = getattr(collections, 'abc', collections).Mapping\n",
        # setuptools brings it.
        "from distutils.version import LooseVersion\n",
        "import impala\nimport cgitb_of_mine\n",
        "raise ImportError('never loaded')\nimport imp\n",
        "this is no Python of today\nimport imp\n",
    ],
)
def test_what_is_provided_for_is_let_be(content: str) -> None:
    assert end(pkg__a=content) is None


def test_a_module_that_the_import_does_not_reach_is_let_be() -> None:
    assert end(pkg="", pkg__a="import imp\n") is None
    through = {"pkg": "from .b import x\n", "pkg__b": "from pkg.a import y\nx = 1\n", "pkg__a": "y = 1\nimport imp\n"}
    assert end(**through) == End(12, "pkg/a.py", 2, "imports imp")


def test_a_default_without_a_hash() -> None:
    told = End(11, "pkg/a.py", 5, "the default of Outer.inner is an instance of Inner, which has no hash")
    assert end(pkg__a=OUTER, pkg__b=INNER) == told
    assert end(pkg__a=OUTER.replace("= Inner()", "= field(default=Inner())"), pkg__b=INNER) == told
    assert end(pkg__a=OUTER.replace("from .b", "from .c"), pkg__b=INNER, pkg__c="from .b import Inner\n") == told
    qualified = OUTER.replace("from .b import Inner", "from . import b").replace("= Inner()", "= b.Inner()")
    why = "the default of Outer.inner is an instance of b.Inner, which has no hash"
    assert end(pkg__a=qualified, pkg__b=INNER) == End(11, "pkg/a.py", 5, why)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("= Inner()", "= field(default_factory=Inner)"),
        ("inner: Inner", "inner: ClassVar[Inner]"),
        ("import dataclass, field", "import field\nfrom pydantic.dataclasses import dataclass"),
        ("@dataclass\nclass Outer", "class Outer"),
    ],
)
def test_a_default_that_may_be_one(old: str, new: str) -> None:
    assert old in OUTER
    assert end(pkg__a=OUTER.replace(old, new), pkg__b=INNER) is None


@pytest.mark.parametrize(
    "inner",
    [
        INNER.replace("@dataclass", "@dataclass(frozen=True)"),
        INNER.replace("@dataclass", "@dataclass(eq=False)"),
        INNER.replace("@dataclass", "@dataclass(unsafe_hash=True)"),
        INNER + "    def __hash__(self):\n        return 1\n",
        INNER.replace("@dataclass\n", ""),
        "from elsewhere import Inner\n",
    ],
)
def test_an_instance_that_has_a_hash(inner: str) -> None:
    assert end(pkg__a=OUTER, pkg__b=inner) is None
