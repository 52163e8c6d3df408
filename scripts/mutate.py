"""Change a module in one place at a time and see whether its tests notice.

    python scripts/mutate.py MODULE.py TESTS... [--sample 60] [--seed 0] [--line N ...] [--profile full] [--jobs 2] [--list]

    python scripts/mutate.py envdoctor/facts/versions.py tests/facts
    python scripts/mutate.py envdoctor/engine/likelihood.py tests/engine --line 129

A mutant is the module with one comparison turned, condition negated, operator or constant exchanged, clause or statement left out.
Types, docstrings and messages stay as they are. No file is written: every mutant is imported in a process of its own in place of the
module, and TESTS are run until one fails. What survives is shown with its line; docs/testing.md says what to think of it.

The exit status is 1 where a mutant survived.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

ROOT = Path(__file__).resolve().parent.parent
KILLED, SURVIVED, ENDLESS = "killed", "survived", "endless"

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot,
    ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """The ``number``-th change that a module allows, and what it looks like."""

    number: int
    line: int
    before: str
    after: str


def variants(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in the place of a node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        for table in (_COMPARED, _TURNED):
            if other := table.get(type(node.ops[0])):
                yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
        for place in range(len(node.values)):
            rest = [value for number, value in enumerate(node.values) if number != place]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp) and (operator := _CALCULATED.get(type(node.op))):
        yield ast.BinOp(node.left, operator(), node.right)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.If | ast.While):
        yield type(node)(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield ast.comprehension(node.target, node.iter, [], node.is_async)
    elif isinstance(node, ast.Constant):
        yield from constants(node)
    elif isinstance(node, ast.Return) and not (node.value is None or isinstance(node.value, ast.Constant)):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Break):
        yield ast.Continue()
    elif isinstance(node, ast.Continue):
        yield ast.Break()
    elif isinstance(node, ast.AugAssign | ast.Delete) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield ast.Pass()


def constants(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int | float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node.value, str) and node.value:
        yield ast.Constant(node.value + "\ue0ff")


# Fields in which nothing is decided: types, and the words of errors.
_LEFT_ALONE = frozenset(("annotation", "returns", "decorator_list", "type_comment", "exc", "format_spec"))


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every node that may be exchanged: what it hangs on, the field and the place there, and the node."""
    for field, value in ast.iter_fields(tree):
        if field in _LEFT_ALONE or isinstance(tree, ast.Import | ast.ImportFrom | ast.MatchValue):
            continue
        for place, node in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(node, ast.AST) or is_said(node, tree):
                continue
            yield tree, field, place, node
            yield from places(node)


def is_said(node: ast.AST, parent: ast.AST) -> bool:
    """Whether a node decides nothing: a docstring, words between values, a name for a type, a list of names."""
    if isinstance(node, ast.Constant) and isinstance(parent, ast.JoinedStr):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return True
    if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).endswith("TypeAlias"):
        return True
    return isinstance(parent, ast.Module) and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def mutants(source: str) -> list[Mutant]:
    found: list[Mutant] = []
    line = 0
    for _, _, _, node in places(ast.parse(source)):
        line = getattr(node, "lineno", line)
        for other in variants(node):
            found.append(Mutant(len(found), line, shown(node), shown(other)))
    return found


def shown(node: ast.AST) -> str:
    """A node as one line of source; of a statement with a body its head."""
    if isinstance(node, ast.comprehension):
        return " ".join(["for", ast.unparse(node.target), "in", ast.unparse(node.iter), *(f"if {ast.unparse(test)}" for test in node.ifs)])
    return ast.unparse(ast.fix_missing_locations(node)).splitlines()[0]


def mutated(source: str, number: int) -> ast.Module:
    """The module with its ``number``-th change."""
    tree = ast.parse(source)
    seen = 0
    for parent, field, place, node in places(tree):
        for other in variants(node):
            if seen == number:
                ast.copy_location(other, node)
                if place is None:
                    setattr(parent, field, other)
                else:
                    getattr(parent, field)[place] = other
                return ast.fix_missing_locations(tree)
            seen += 1
    raise IndexError(number)


class Exchanged(SourceFileLoader):
    """Finds one module, and loads something else in its place."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        super().__init__(name, str(path))
        self.code = code

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return importlib.util.spec_from_file_location(name, self.path, loader=self) if name == self.name else None

    def get_code(self, fullname: str) -> CodeType:
        return self.code


def module_of(path: Path) -> str:
    parts = path.resolve().relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def examine(path: Path, source: str, number: int | None, words: Sequence[str], folder: Path, seconds: float) -> None:
    """In a child: run pytest with these words on the mutant, or on the module as it is, and end with its status."""
    import pytest

    tree = ast.parse(source) if number is None else mutated(source, number)
    sys.meta_path.insert(0, Exchanged(module_of(path), path, compile(tree, str(path), "exec")))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.setsid()
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    status = 1
    try:
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", "--hypothesis-seed=0", "-W", "ignore"]
        status = pytest.main([*options, f"--basetemp={folder}", *words])
    finally:
        os._exit(status)


def judge(path: Path, source: str, chosen: Sequence[Mutant], words: Sequence[str], folder: Path, jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Every mutant with what became of it, as they come; ``folder`` is where their tests write."""
    running: dict[int, Mutant | None] = {}

    def start(mutant: Mutant | None, seconds: float) -> None:
        child = os.fork()
        if child == 0:
            examine(path, source, None if mutant is None else mutant.number, words, folder / str(os.getpid()), seconds)
        running[child] = mutant

    def ended() -> tuple[Mutant | None, int]:
        child, status = os.wait()
        shutil.rmtree(folder / str(child), ignore_errors=True)
        return running.pop(child), os.waitstatus_to_exitcode(status)

    began = time.monotonic()
    start(None, 600)
    if ended()[1] != 0:
        sys.exit("the tests do not pass as it is, or there are none")
    seconds = 20 + 10 * (time.monotonic() - began)
    waiting = list(reversed(chosen))
    while waiting or running:
        while waiting and len(running) < jobs:
            start(waiting.pop(), seconds)
        mutant, status = ended()
        assert mutant is not None
        yield mutant, SURVIVED if status == 0 else ENDLESS if status == -signal.SIGKILL else KILLED


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("module", type=Path)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="as many mutants, drawn by the seed (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--line", type=int, action="append", default=[], help="only mutants of this line")
    parser.add_argument("--profile", help="how many examples a law gets: quick (the default) or full")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--list", action="store_true", help="only say what would be changed")
    options = parser.parse_args()
    source = options.module.read_text(encoding="utf-8")
    every = [mutant for mutant in mutants(source) if not options.line or mutant.line in options.line]
    chosen = random.Random(options.seed).sample(every, min(options.sample, len(every))) if options.sample else every
    if options.list:
        print("\n".join(f"{mutant.line}: {mutant.before}  ->  {mutant.after}" for mutant in every))
        return 0
    sys.path.insert(0, str(ROOT))
    import hypothesis.strategies  # noqa: F401 - read once, for all children
    import packaging.specifiers  # noqa: F401
    import pytest  # noqa: F401
    import yaml  # noqa: F401

    counts = dict.fromkeys((KILLED, SURVIVED, ENDLESS), 0)
    with tempfile.TemporaryDirectory() as folder:
        words = (*([f"--hypothesis-profile={options.profile}"] if options.profile else []), *options.tests)
        for mutant, what in judge(options.module, source, chosen, words, Path(folder), options.jobs):
            counts[what] += 1
            if what == SURVIVED:
                print(f"{options.module}:{mutant.line}: {mutant.before}  ->  {mutant.after}", flush=True)
    print(f"{options.module}: {len(chosen)} of {len(every)} mutants, " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts[SURVIVED] else 0


if __name__ == "__main__":
    sys.exit(main())
