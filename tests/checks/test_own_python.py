"""What a script takes of the standard library, by the Python that is stated."""

from __future__ import annotations

import ast

import pytest

from envdoctor.atlas.reading import read_tree
from envdoctor.atlas.stack import Stack
from envdoctor.checks.own_python import python_hits
from envdoctor.facts.fact import Origin


def told(text: str, python: str) -> list[tuple[str, int | None, str]]:
    outline = read_tree(ast.parse(text), text, "__main__")
    hits = python_hits(outline, Stack({}, python=python), lambda line: Origin("a.py", "a.py", line))
    return [(hit.edge, hit.line, hit.advice) for hit in hits]


@pytest.mark.parametrize(
    ("text", "python", "expected"),
    [
        ("import imp\n", "3.12.1", ("imp", 1, "use importlib")),
        ("import asyncore.x\n", "3.12", ("asyncore", 1, "run it with Python 3.11")),
        ("from collections import Mapping\n", "3.10", ("collections.Mapping", 1, "from collections.abc import Mapping")),
        (
            "import inspect\n\ndef f(x):\n    return inspect.getargspec(x)\n",
            "3.11",
            ("inspect.getargspec", 4, "write inspect.getfullargspec"),
        ),
        ("from typing import Self\n", "3.10", ("typing.Self", 1, "run it with Python 3.11 or later")),
        ("import tomllib\n", "3.10", ("tomllib", 1, "run it with Python 3.11 or later")),
    ],
)
def test_what_the_python_lacks(text: str, python: str, expected: tuple[str, int, str]) -> None:
    assert told(text, python) == [expected]


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("import imp\n", "3.11"),
        ("import imp\n", ""),
        ("from collections.abc import Mapping\n", "3.12"),
        ("from typing import Self\n", "3.11"),
        ("try:\n    import tomllib\nexcept ImportError:\n    import tomli as tomllib\n", "3.10"),
        ("import sys\nif sys.version_info < (3, 12):\n    import imp\n", "3.12"),
        ("import sys\nif sys.version_info >= (3, 11):\n    from typing import Self\n", "3.10"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from typing import Self\n", "3.10"),
        # setuptools brings it.
        ("from distutils.util import strtobool\n", "3.12"),
        # A module of somebody's own.
        ("from parser import parse\n", "3.12"),
        ("import impala\nfrom parsers import parser\n", "3.12"),
    ],
)
def test_what_it_has_or_the_script_provides_for(text: str, python: str) -> None:
    assert told(text, python) == []


def test_a_name_is_told_once_with_its_lines() -> None:
    text = "import collections\na = collections.Mapping\nb = collections.Mapping\nc = collections.Mapping\n"
    outline = read_tree(ast.parse(text), text, "__main__")
    (hit,) = python_hits(outline, Stack({}, python="3.12"), lambda line: Origin("a.py", "a.py", line))
    assert hit.line == 2
    assert hit.detail == (
        "takes collections.Mapping: gone since Python 3.10 (Python 3.12); from collections.abc import Mapping; also on lines 3, 4"
    )
    assert hit.witness == "from collections import Mapping"
