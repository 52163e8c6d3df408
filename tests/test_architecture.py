"""The house as it is drawn: imports flow one way, one place speaks, every module says what it is."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "envdoctor"
MODULES = sorted(PACKAGE.rglob("*.py"), key=lambda path: path.relative_to(PACKAGE).as_posix())

# From facts to words. A module imports from earlier rows only, and from its own room.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__init__", "errors"),
    ("files",),
    ("facts", "hashing"),
    ("world",),
    ("probes", "uv"),
    ("sources/machine", "sources/shell", "sources/stated"),
    ("sources/declared", "sources/model", "sources/plans"),
    ("sources/installers",),
    ("sources/docker", "sources/launches"),
    ("sources/scripts",),
    ("sources",),
    ("checks", "rules", "snapshot"),
    ("engine",),
    ("code", "coherence", "edits", "logs", "refresh"),
    ("lengths", "memory", "remedies"),
    ("report",),
    ("policy",),
    ("app",),
    ("cli",),
    ("__main__",),
    ("integrations",),
)
LAYER_OF = {area: number for number, row in enumerate(LAYERS) for area in row}

# What runs in the interpreter that is examined: it may import the stack, and answers on its own stdout.
PATIENT = ("probes/children/", "memory/children/", "lengths/children/", "sources/machine/scan_snippet.py", "integrations/")
STACK = {"torch", "transformers", "peft", "accelerate", "bitsandbytes", "deepspeed", "trl", "datasets", "numpy"}
MOST_LINES = 400


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a file, walked once for all that is asked of it."""
    return tuple(ast.walk(tree(path)))


def room_of(module: str) -> str:
    """The room of a module below envdoctor, by its path with slashes: the longest that LAYERS names."""
    parts = module.split("/")
    return next((room for end in range(len(parts), 0, -1) if (room := "/".join(parts[:end])) in LAYER_OF), parts[0])


def area_of(path: Path) -> str:
    return room_of(name_of(path).removesuffix(".py"))


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules that a file names in import statements, wherever they stand."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)}: a relative import"
            names.add(node.module or "")
            if node.module == "envdoctor":
                names.update(
                    f"envdoctor.{alias.name}"
                    for alias in node.names
                    if (PACKAGE / alias.name).is_dir() or (PACKAGE / f"{alias.name}.py").is_file()
                )
    return frozenset(names)


def in_patient(path: Path) -> bool:
    return name_of(path).startswith(PATIENT)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_flow_one_way(path: Path) -> None:
    here = area_of(path)
    assert here in LAYER_OF, f"give {here} its place in LAYERS"
    for module in imported(path):
        package, _, rest = module.partition(".")
        if package != "envdoctor":
            continue
        there = room_of(rest.replace(".", "/") or "__init__")
        assert there == here or LAYER_OF[there] < LAYER_OF[here], f"{name_of(path)} imports {module}"


def test_every_place_in_the_house_is_lived_in() -> None:
    assert {area_of(path) for path in MODULES} == set(LAYER_OF)


def test_the_page_on_the_house_has_every_room_in_order() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [room for row in LAYERS for room in row if room != "__init__"]
    assert re.findall(r"^\| `([\w/]+)` \|", page, re.MULTILINE) == rooms


@pytest.mark.parametrize("path", [path for path in MODULES if not in_patient(path)], ids=name_of)
def test_the_doctor_never_imports_the_stack_that_it_examines(path: Path) -> None:
    assert {module.partition(".")[0] for module in imported(path)} & STACK == set()


@pytest.mark.parametrize(
    "path", [path for path in MODULES if area_of(path) not in ("cli", "__main__") and not in_patient(path)], ids=name_of
)
def test_only_the_command_line_speaks_and_exits(path: Path) -> None:
    loud = set()
    for node in nodes(path):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "exit", "quit", "input"):
            loud.add(node.func.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            told = f"{node.value.id}.{node.attr}"
            if told in ("sys.exit", "sys.stdout", "sys.stderr", "os._exit", "os.abort"):
                loud.add(told)
        if isinstance(node, ast.Name) and node.id == "SystemExit":
            loud.add("SystemExit")
    assert loud == set()


@pytest.mark.parametrize("path", [path for path in MODULES if not in_patient(path)], ids=name_of)
def test_nothing_that_was_read_is_run(path: Path) -> None:
    """No eval, exec, unpickling or shell anywhere in the doctor."""
    assert {module.partition(".")[0] for module in imported(path)} & {"pickle", "dill", "shelve", "marshal", "imp"} == set()
    for node in nodes(path):
        if isinstance(node, ast.Call):
            assert not (isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec", "__import__"))
            assert not any(keyword.arg == "shell" for keyword in node.keywords)
            if isinstance(node.func, ast.Attribute):
                assert ast.unparse(node.func) not in ("os.system", "os.popen", "yaml.load")


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_is_short_and_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree(path)), f"{name_of(path)} has no docstring"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
