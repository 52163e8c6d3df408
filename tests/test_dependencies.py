"""What an installation brings along is small, and everything else is imported only when it is asked for."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from envdoctor.files.toml import read_toml
from envdoctor.probes.registry import PROBES

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


def imports(node: ast.AST, *, in_function: bool = False) -> Iterator[tuple[str, bool]]:
    """The third-party packages that a piece of code imports, and whether only when a function runs."""
    for part in ast.iter_child_nodes(node):
        modules: list[str] = []
        if isinstance(part, ast.Import):
            modules = [alias.name for alias in part.names]
        elif isinstance(part, ast.ImportFrom):
            modules = [part.module or ""]
        elif isinstance(part, ast.Call) and _called(part.func) == "import_module" and isinstance(part.args[0], ast.Constant):
            modules = [str(part.args[0].value)]
        roots = {module.partition(".")[0] for module in modules}
        yield from ((root, in_function) for root in roots - {"envdoctor"} - sys.stdlib_module_names)
        inside = in_function or isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        yield from imports(part, in_function=inside)


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


@cache
def imported(path: Path) -> list[tuple[str, bool]]:
    return list(imports(ast.parse(path.read_text(encoding="utf-8"))))


def test_an_installation_brings_five_packages() -> None:
    assert {"packaging", "rich", "yaml", "huggingface_hub", "tomli"} == CORE


def test_nothing_else_is_imported_before_a_function_asks_for_it() -> None:
    early = {
        (path.relative_to(ROOT).as_posix(), name) for path in MODULES for name, late in imported(path) if not late and name not in CORE
    }
    assert early == set()


def test_what_a_function_asks_for_is_an_extra() -> None:
    known = CORE.union(*(names for extra, names in EXTRAS.items() if extra != "dev"))
    assert {(path.name, name) for path in MODULES for name, _ in imported(path) if name not in known} == set()


def test_the_extras_for_probes_are_what_probes_need() -> None:
    """``needs`` is what ``envdoctor probe --list`` shows; what is said of it in words (a GPU, one of several) cannot be installed."""
    for extra, on_gpu in (("probe", False), ("probe-gpu", True)):
        needed = {word for probe in PROBES.values() if probe.gpu is on_gpu for word in probe.needs if " " not in word}
        assert needed == EXTRAS[extra]


def test_every_probe_imports_only_what_its_extra_brings() -> None:
    """Beside what it looks at if it is there, which it imports behind a condition."""
    for probe in PROBES.values():
        tree = ast.parse(probe.script.read_text(encoding="utf-8"))
        (run,) = (part for part in tree.body if isinstance(part, ast.FunctionDef) and part.name == "run")
        always = {name for part in run.body if isinstance(part, (ast.Assign, ast.AnnAssign, ast.Expr)) for name, _ in imports(part)}
        assert always <= EXTRAS["probe-gpu" if probe.gpu else "probe"], probe.name
