"""Releases that a file refuses by itself."""

from __future__ import annotations

import ast

import pytest

from envdoctor.atlas.outline import Outline
from envdoctor.atlas.own_demands import demands_of
from envdoctor.atlas.stack import Stack
from envdoctor.checks.own_demands import AT_IMPORT, WHEN_CALLED, demand_hits
from envdoctor.facts.fact import Origin

HEAD = "import sys\nimport mmcv\nimport torch\nfrom packaging import version\n"
LIMITS = """MMCV_MIN, OTHER = "1.0", "2.0"
MMCV_MAX = "1.2.7"
limit = digit_version(MMCV_MAX)
now = digit_version(mmcv.__version__)
"""


def told(text: str, python: str = "", **releases: str) -> list[tuple[str, int | None, tuple[tuple[str, str], ...]]]:
    outline = Outline(said=demands_of(ast.parse(HEAD + text).body))
    stack = Stack({name.replace("_", "-"): release for name, release in releases.items()}, python=python)
    return [(hit.rule, (hit.line or 0) - 4, hit.pins) for hit in demand_hits(outline, stack, lambda line: Origin("a.py", "a.py", line))]


@pytest.mark.parametrize(
    ("text", "line", "pin"),
    [
        ("assert version.parse(mmcv.__version__) < version.parse('1.5')\n", 1, "<1.5"),
        (f"{LIMITS}assert (now <= limit), 'too new'\n", 5, "<=1.2.7"),
        (f"{LIMITS}assert version.parse('1.0') <= now <= limit\n", 5, ">=1.0,<=1.2.7"),
        ("if version.parse(mmcv.__version__) >= version.parse('1.5'):\n    raise ImportError('x')\n", 1, "<1.5"),
        ("if not version.parse(mmcv.__version__) < version.parse('1.5'):\n    print('x')\n    sys.exit(1)\n", 1, "<1.5"),
        ("assert tuple(int(x) for x in mmcv.__version__.split('.')[:2]) <= (1, 5)\n", 1, "<1.6"),
        ("assert mmcv.__version__.startswith('1.5')\n", 1, "==1.5.*"),
        ("assert mmcv.__version__ == '1.5.0'\n", 1, "==1.5.0"),
        ("assert mmcv.__version__.startswith('1.5.')\n", 1, "==1.5.*"),
        ("major, minor = map(int, mmcv.__version__.split('.')[:2])\nassert (major, minor) < (1, 5)\n", 2, "<1.5"),
        ("from importlib.metadata import version as of\nassert version.parse(of('mmcv-full')) < version.parse('1.5')\n", 2, "<1.5"),
        ("from transformers.utils.versions import require_version\nrequire_version('mmcv-full>=1.0,<1.5', 'to fix')\n", 2, ">=1.0,<1.5"),
        ("import importlib.metadata\nassert version.parse(importlib.metadata.version('mmcv-full')) < version.parse('1.5')\n", 2, "<1.5"),
    ],
)
def test_a_release_that_the_file_refuses(text: str, line: int, pin: str) -> None:
    assert told(text, mmcv_full="1.7.0") == [(AT_IMPORT, line, (("mmcv-full", pin),))]


def test_of_two_distributions_of_one_module_either_may_be_the_one_that_is_imported() -> None:
    text = "assert version.parse(mmcv.__version__) < version.parse('1.5')\n"
    assert told(text, mmcv="1.7.0", mmcv_full="1.2.2") == []
    assert len(told(text, mmcv="1.7.0", mmcv_full="1.6.0")) == 1


def test_what_a_function_refuses_is_told_as_that() -> None:
    text = (
        "class Model:\n    def __init__(self):\n        now = version.parse(torch.__version__)\n        assert now < version.parse('2.0')\n"
    )
    assert [(rule, line) for rule, line, _ in told(text, torch="2.1.0+cu121")] == [(WHEN_CALLED, 4)]
    assert told(text, torch="1.13.1+cu117") == []


def test_a_python_that_the_file_refuses() -> None:
    text = "if sys.version_info < (3, 9):\n    raise RuntimeError('x')\n"
    assert [rule for rule, _, _ in told(text, python="3.8.10")] == [AT_IMPORT]
    assert told(text, python="3.9") == told(text) == []
    assert told("assert sys.version_info > (3, 9)\n", python="3.9.1") == []
    # Its caller comes to it under an older Python alone.
    assert told("def f():\n    assert sys.version_info < (3, 9)\n", python="3.11") == []


@pytest.mark.parametrize(
    "text",
    [
        "assert version.parse(mmcv.__version__) < version.parse('1.8')\n",
        # The code provides for it, or comes to it in some cases alone.
        "try:\n    assert version.parse(mmcv.__version__) < version.parse('1.5')\nexcept AssertionError:\n    pass\n",
        "if torch.cuda.is_available():\n    assert version.parse(mmcv.__version__) < version.parse('1.5')\n",
        "if version.parse(mmcv.__version__) >= version.parse('1.5'):\n    print('untested')\n",
        "if version.parse(mmcv.__version__) >= version.parse('1.5') and strict:\n    raise ImportError('x')\n",
        "def f():\n    if old:\n        return 1\n    assert version.parse(mmcv.__version__) < version.parse('1.5')\n",
        # A number that is bound again, one that is handed in, and a text that is compared with a release.
        "MAX = '1.5'\nMAX = '1.9'\nassert version.parse(mmcv.__version__) < version.parse(MAX)\n",
        "MAX = '1.5'\ndef f(MAX):\n    assert version.parse(mmcv.__version__) < version.parse(MAX)\n",
        "assert mmcv.__version__ < version.parse('1.5')\n",
        # As text 1.7.0 is above 1.10.
        "assert mmcv.__version__ >= '1.10'\n",
        "assert mmcv.__version__ == '1.7.0+cu113'\n",
        "assert mmcv.__version__.startswith('1.7.0')\n",
        "from . import mmcv\nfrom .version import __version__\nassert __version__ < '1.0'\n",
    ],
)
def test_what_it_takes_or_provides_for(text: str) -> None:
    assert told(text, mmcv="1.7.0") == []


def test_an_example_asks_for_its_own_release() -> None:
    text = "from transformers.utils import check_min_version\ncheck_min_version('4.41.0.dev0')\n"
    assert [(rule, pins) for rule, _, pins in told(text, transformers="4.40.2")] == [(AT_IMPORT, (("transformers", ">=4.41.0.dev0"),))]
    assert told(text, transformers="4.41.0") == []
    assert told(text.replace("transformers.utils", "own"), transformers="4.40.2") == []


def test_numbers_in_another_order_are_not_read() -> None:
    text = "major, minor = map(int, mmcv.__version__.split('.')[:2])\nassert (minor, major) < (1, 5)\nassert (major, other) < (1, 5)\n"
    assert told(text, mmcv_full="1.7.0") == []
