"""The house as it is drawn: imports flow one way, one place speaks, every module says what it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

from envdoctor.rules.rulebook import load_rulebook
from tests.modules import name_of_call, nodes, tree

PACKAGE = Path(__file__).parent.parent / "envdoctor"
MODULES = sorted(PACKAGE.rglob("*.py"), key=lambda path: path.relative_to(PACKAGE).as_posix())

# From facts to words. A module imports from earlier rows only, and from its own room.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("__init__", "errors", "records"),
    ("files",),
    ("facts", "hashing", "syntax"),
    ("world",),
    ("atlas", "probes", "uv"),
    ("sources/machine", "sources/shell", "sources/stated"),
    ("sources/declared", "sources/model", "sources/plans"),
    ("sources/installers",),
    ("sources/launches",),
    ("sources/docker",),
    ("sources/scripts",),
    ("sources",),
    ("checks", "rules", "snapshot"),
    ("engine",),
    ("code", "coherence", "edits", "logs", "refresh"),
    ("lengths", "memory", "remedies", "survey"),
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


def offenders(paths: Iterable[Path], wrong: Callable[[Path], Iterable[str]]) -> list[str]:
    """What is wrong in each of these files, after the file's name: one test asks about all of them, and tells of all at once."""
    return [f"{name_of(path)}: {what}" for path in paths for what in wrong(path)]


DOCTOR = [path for path in MODULES if not in_patient(path)]
QUIET = [path for path in DOCTOR if area_of(path) not in ("cli", "__main__")]


def test_imports_flow_one_way() -> None:
    def against_the_flow(path: Path) -> Iterator[str]:
        here = area_of(path)
        if here not in LAYER_OF:
            yield f"give {here} its place in LAYERS"
            return
        for module in sorted(imported(path)):
            package, _, rest = module.partition(".")
            there = room_of(rest.replace(".", "/") or "__init__")
            if package == "envdoctor" and there != here and LAYER_OF[there] >= LAYER_OF[here]:
                yield f"imports {module}"

    assert offenders(MODULES, against_the_flow) == []


def test_every_place_in_the_house_is_lived_in() -> None:
    assert {area_of(path) for path in MODULES} == set(LAYER_OF)


def test_the_page_on_the_house_has_every_room_in_order() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = [room for row in LAYERS for room in row if room != "__init__"]
    assert re.findall(r"^\| `([\w/]+)` \|", page, re.MULTILINE) == rooms


def test_the_doctor_never_imports_the_stack_that_it_examines() -> None:
    assert offenders(DOCTOR, lambda path: sorted({module.partition(".")[0] for module in imported(path)} & STACK)) == []


def test_only_the_command_line_speaks_and_exits() -> None:
    def loud(path: Path) -> Iterator[str]:
        for node in nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "exit", "quit", "input"):
                yield f"line {node.lineno}: {node.func.id}"
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                told = f"{node.value.id}.{node.attr}"
                # A copy of the process has to end without a word of what the process itself has still to say.
                if told == "os._exit" and name_of(path) == "app/ahead.py":
                    continue
                if told in ("sys.exit", "sys.stdout", "sys.stderr", "os._exit", "os.abort"):
                    yield f"line {node.lineno}: {told}"
            if isinstance(node, ast.Name) and node.id == "SystemExit":
                yield f"line {node.lineno}: SystemExit"

    assert offenders(QUIET, loud) == []


def test_nothing_that_was_read_is_run() -> None:
    """No eval, exec, unpickling or shell anywhere in the doctor."""

    def dangerous(path: Path) -> Iterator[str]:
        yield from sorted({module.partition(".")[0] for module in imported(path)} & {"pickle", "dill", "shelve", "marshal", "imp"})
        for node in nodes(path):
            if not isinstance(node, ast.Call):
                continue
            called = name_of_call(node)
            if called in ("eval", "exec", "__import__", "os.system", "os.popen", "yaml.load"):
                yield f"line {node.lineno}: {called}"
            if any(keyword.arg == "shell" for keyword in node.keywords):
                yield f"line {node.lineno}: a shell"

    assert offenders(DOCTOR, dangerous) == []


def test_every_module_is_short_and_says_what_it_is() -> None:
    def unkempt(path: Path) -> Iterator[str]:
        if not ast.get_docstring(tree(path)):
            yield "no docstring"
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES:
            yield f"{lines} lines, more than {MOST_LINES}"

    assert offenders(MODULES, unkempt) == []


def test_every_rule_that_code_decides_has_its_page() -> None:
    """The ids that code reports, as its literals have them, are those of the rules that say ``check``."""
    pages = {rule.id for rule in load_rulebook().rules if rule.check is not None}
    code, reported = set(), set()
    for node in (node for path in MODULES for node in nodes(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            code.add(node.value)
        if isinstance(node, ast.Call) and name_of_call(node) in ("Hit", "Defect") and node.args:
            first = node.args[0]
            reported |= {first.value} if isinstance(first, ast.Constant) and isinstance(first.value, str) else set()
    assert pages - code == set(), "a page whose id no code reports"
    assert reported - pages == set(), "reported by code, and no page says it"
