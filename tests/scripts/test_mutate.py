"""Mutants: what is changed and what is not, and that a test meets the change."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCE = '''"""A module."""

from typing import Literal

LIMIT = 3


def admits(number: Literal[1, 2], names: "list[str]") -> bool:
    """Whether 1 is there."""
    if number < 0:
        raise ValueError(f"no number: {number + 1}")
    found = [name for name in names if name]
    return bool(found) and number != LIMIT
'''


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return import_module("mutate")


def test_what_decides_is_changed_and_words_and_types_are_not(mutate: Any) -> None:
    assert [(one.line, one.before, one.after) for one in mutate.mutants(SOURCE)] == [
        (5, "3", "4"),
        (10, "if number < 0:", "if not number < 0:"),
        (10, "number < 0", "number <= 0"),
        (10, "number < 0", "number >= 0"),
        (10, "0", "1"),
        (12, "for name in names if name", "for name in names"),
        (13, "return bool(found) and number != LIMIT", "return None"),
        (13, "bool(found) and number != LIMIT", "bool(found) or number != LIMIT"),
        (13, "bool(found) and number != LIMIT", "number != LIMIT"),
        (13, "bool(found) and number != LIMIT", "bool(found)"),
        (13, "number != LIMIT", "number == LIMIT"),
    ]


@pytest.mark.large
def test_every_mutant_is_a_module_that_differs_in_one_place(mutate: Any) -> None:
    source = (ROOT / "envdoctor" / "rules" / "conditions.py").read_text(encoding="utf-8")
    whole = ast.dump(ast.parse(source))
    found = mutate.mutants(source)
    assert len(found) > 200
    for mutant in found[::20]:
        tree = mutate.mutated(source, mutant.number)
        assert ast.dump(tree) != whole
        compile(tree, "x", "exec")


@pytest.mark.large
@pytest.mark.skipif(sys.platform == "win32", reason="children are forked")
def test_a_mutant_that_no_test_notices_is_told(tmp_path: Path) -> None:
    tests = tmp_path / "test_it.py"
    command = [sys.executable, "scripts/mutate.py", "envdoctor/errors.py", str(tests), "--sample", "2", "--jobs", "1"]
    tests.write_text("import envdoctor.errors\ndef test_it(): pass\n")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].endswith("0 killed, 2 survived, 0 endless")
    assert all(line.startswith("envdoctor/errors.py:") for line in done.stdout.splitlines())
    source = repr((ROOT / "envdoctor" / "errors.py").read_text(encoding="utf-8"))
    tests.write_text(
        "import ast, envdoctor.errors\n"
        "def test_it():\n"
        f"    code = compile(ast.parse({source}), envdoctor.errors.__file__, 'exec')\n"
        "    assert envdoctor.errors.__spec__.loader.get_code('envdoctor.errors') == code\n"
    )
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1].endswith("2 killed, 0 survived, 0 endless")) == (0, True)
