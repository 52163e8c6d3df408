"""What an installation brings along is small, and everything else is imported only when it is asked for."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from envdoctor.files.toml import read_toml
from envdoctor.probes.registry import PROBES
from tests.modules import name_of_call, nodes, tree

ROOT = Path(__file__).parent.parent
PROJECT: dict[str, Any] = read_toml(ROOT / "pyproject.toml")["project"]
IMPORTED_AS = {"pyyaml": "yaml"}
# In the interpreter that is examined there is what the user trains with; the callback is imported by the training itself.
OF_THE_PATIENT = ("children/", "integrations/")


def names(requirements: list[str]) -> set[str]:
    """The modules that distributions are imported as."""
    found = {re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements}
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in found}


CORE = names(PROJECT["dependencies"])
EXTRAS = {extra: names(listed) for extra, listed in PROJECT["optional-dependencies"].items()}
MODULES = [
    path
    for path in sorted((ROOT / "envdoctor").rglob("*.py"))
    if not any(part in path.relative_to(ROOT).as_posix() for part in OF_THE_PATIENT)
]


def third_party(node: ast.AST) -> set[str]:
    """The third-party packages that one piece of code imports."""
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
    elif isinstance(node, ast.Call) and name_of_call(node).rpartition(".")[2] == "import_module" and isinstance(node.args[0], ast.Constant):
        modules = [str(node.args[0].value)]
    return {module.partition(".")[0] for module in modules} - {"envdoctor"} - sys.stdlib_module_names


def imports(parts: Iterable[ast.AST]) -> set[str]:
    return {name for part in parts for name in third_party(part)}


def at_once(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported: all but the bodies of its functions."""
    for part in ast.iter_child_nodes(node):
        yield part
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from (inner for outer in (*part.decorator_list, part.args) for inner in ast.walk(outer))
        elif not isinstance(part, ast.Lambda):
            yield from at_once(part)


def test_an_installation_brings_five_packages() -> None:
    assert {"packaging", "rich", "yaml", "huggingface_hub", "tomli"} == CORE


def test_nothing_else_is_imported_before_a_function_asks_for_it() -> None:
    early = {(path.relative_to(ROOT).as_posix(), name) for path in MODULES for name in imports(at_once(tree(path))) if name not in CORE}
    assert early == set()


def test_what_a_function_asks_for_is_an_extra() -> None:
    known = CORE.union(*(names for extra, names in EXTRAS.items() if extra != "dev"))
    assert {(path.name, name) for path in MODULES for name in imports(nodes(path)) if name not in known} == set()


def test_the_extras_for_probes_are_what_probes_need() -> None:
    """``needs`` is what ``envdoctor probe --list`` shows; what is said of it in words (a GPU, one of several) cannot be installed."""
    for extra, on_gpu in (("probe", False), ("probe-gpu", True)):
        needed = {word for probe in PROBES.values() if probe.gpu is on_gpu for word in probe.needs if " " not in word}
        assert needed == EXTRAS[extra]


def test_every_probe_imports_only_what_its_extra_brings() -> None:
    """Beside what it looks at if it is there, which it imports behind a condition."""
    for probe in PROBES.values():
        (run,) = (part for part in tree(probe.script).body if isinstance(part, ast.FunctionDef) and part.name == "run")
        always = imports(node for part in run.body if isinstance(part, (ast.Assign, ast.AnnAssign, ast.Expr)) for node in ast.walk(part))
        assert always <= EXTRAS["probe-gpu" if probe.gpu else "probe"], probe.name
