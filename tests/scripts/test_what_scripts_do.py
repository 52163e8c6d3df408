"""The reader by which the recall on own code is measured: what it runs is what the script does."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

_SPEC = importlib.util.spec_from_file_location("own_code", Path(__file__).parent.parent.parent / "benchmarks" / "own_code.py")
assert _SPEC is not None
assert _SPEC.loader is not None
READER = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(READER)


def run(text: str) -> dict[str, bool]:
    """Which lines of a script end as one does that takes what is not there."""
    body = ast.parse(text).body
    lines = {line: READER.beside(line, body) for _, _, line in READER.uses_of(body)}
    seen = READER.run_lines(sorted(set(lines.values())), sys.executable)
    return {line: READER.breaks(seen[run]) for line, run in lines.items()}


def test_what_is_loaded_elsewhere_in_the_file_is_there() -> None:
    assert not any(run("import xml\ntree = xml.dom.minidom.parseString\ndef later():\n    import xml.dom.minidom\n").values())
    assert run("import xml\ntree = xml.dom.pulldom.START_ELEMENT\n")["import xml as it; it.dom.pulldom"]


def test_a_name_that_two_imports_bind_is_asked_for_nothing() -> None:
    found = run("from string import capwords as name\nname(1, sep=2)\nfrom textwrap import dedent as name\nname(1)\n")
    assert list(found) == ["from string import capwords", "from textwrap import dedent"]


def test_the_signature_of_a_compiled_class_refuses_nothing() -> None:
    found = run("import itertools, string\nitertools.chain(later=1)\nstring.Template(later=1)\n")
    calls = {line.split(";")[0]: failed for line, failed in found.items() if "bind" in line}
    assert calls == {"import itertools as it": False, "import string as it": True}


def test_what_a_script_sets_and_what_a_package_sets_later_are_no_failures() -> None:
    assert list(run("import sys\nsys.last_value = 1\n")) == ["import sys"]
    found = run("import builtins\nbuiltins.list.__hash__.later\nbuiltins.list.later\n")
    assert not found["import builtins as it; it.list.__hash__.later"]
    assert found["import builtins as it; it.list.later"]
