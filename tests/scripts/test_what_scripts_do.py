"""The reader by which the recall on own code is measured: what it runs is what the script does."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
try:
    READER = importlib.import_module("own_code")
finally:
    sys.path.remove(str(BENCHMARKS))


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


def test_an_object_is_asked_by_its_class() -> None:
    text = "import string\nmade = string.Template('a')\nmade.substitute(a=1)\nmade.gone()\nmade.template\n"
    text += "other = string.Template('a')\nother = 1\nother.gone()\n"
    found = run(text)
    assert found["import string as it; it.Template.gone"]
    call = "import string as it; it.Template.substitute; s = S(it.Template.substitute, True); s and s.bind_partial(a=None)"
    assert found[call] is False
    assert sum("gone" in line or "Template.template" in line for line in found) == 1


def test_what_a_project_has_itself_and_what_unsloth_replaces_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    for name in ("pkg/__init__.py", "own.py"):
        (tmp_path / name).write_text("")
    assert READER.own_names(tmp_path) == {"pkg", "own"}
    body = ast.parse("import unsloth\nfrom trl import SFTTrainer\n").body
    assert READER.is_wrapped("from trl import SFTTrainer", body)
    assert not READER.is_wrapped("from peft import LoraConfig", body)
    assert not READER.is_wrapped("from trl import SFTTrainer", body[1:])


def test_a_signature_whose_object_nobody_passes_refuses_nothing(tmp_path: Path) -> None:
    (tmp_path / "wrapped.py").write_text("class Run:\n    def log(self, data): pass\nlog = Run.log\n")
    line = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import wrapped as it; s = S(it.log); s and s.bind(None)"
    assert READER.run_lines([line], sys.executable) == {line: "no error"}
