"""Scripts of public projects against the releases that they pin, and against the newest: what is said, and whether it is true.

``take FOLDER --mirrors DIR`` writes the files of ``own_code/projects.json`` at their commits. ``judge FOLDER`` prints every error of the
pinned side and of the newest side as a line of JSON. ``try ERRORS PYTHON`` runs the line that shows an error in an environment with the
newest releases. ``recall FOLDER PYTHON --before PYTHON ...`` runs there what the scripts take, and counts of what fails how much is told:
a failure is one of a library's change where the same line runs in one of the environments of earlier days. Those that run in none of them
are printed as unsettled, to be read.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from own_code_uses import uses_of

from envdoctor.app.own_code import read_own
from envdoctor.atlas.own_code import faults_of
from envdoctor.atlas.shelf import open_package, package_names
from envdoctor.atlas.stack import Stack
from envdoctor.checks.own_code import code_hits, edge_of, witness_of
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.facts.versions import Exact
from envdoctor.sources.scripts.script import open_source
from envdoctor.sources.targets import read_target

HERE = Path(__file__).resolve().parent / "own_code"
LIST = re.compile(r"(?i)[^/]*requirements[^/]*\.txt|pyproject\.toml|setup\.cfg|environment[^/]*\.ya?ml")
SEED = 20261126
DRAWN = 200


def main() -> int:
    """Run one of the three steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("take", "judge", "try", "recall"))
    parser.add_argument("place", type=Path, help="the folder of the projects; for try the errors")
    parser.add_argument("python", nargs="?", help="for try: the interpreter of the environment")
    parser.add_argument("--mirrors", type=Path, help="for take: a folder with owner+name/repo, each a git directory")
    parser.add_argument("--projects", type=Path, default=HERE / "projects.json", help="which draw of own_code/")
    parser.add_argument("--before", nargs="+", default=[], help="for recall: interpreters of environments of earlier days")
    options = parser.parse_args()
    projects = json.loads(options.projects.read_text(encoding="utf-8"))
    if options.step == "take":
        for project in projects:
            take(project, options.place, options.mirrors)
    elif options.step == "judge":
        begun, files = time.perf_counter(), 0
        for project in projects:
            for side in ("pinned", "newest"):
                for row in judge(project, options.place, side):
                    print(json.dumps(row))
            files += len(project["files"])
        print(f"{len(projects)} projects, {files} files, {time.perf_counter() - begun:.1f} s", file=sys.stderr)
    elif options.step == "try":
        attempt(options.place, options.python)
    else:
        recall(projects, options.place, options.python, options.before)
    return 0


def folder_of(project: dict, place: Path) -> Path:  # type: ignore[type-arg]
    """Where the files of a project lie."""
    return place / str(project["repo"]).replace("/", "+")


def take(project: dict, place: Path, mirrors: Path) -> None:  # type: ignore[type-arg]
    """The Python and the lists of packages of a project at its commit."""
    target = folder_of(project, place)
    target.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(mirrors / target.name / "repo")]
    listed = subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", "-z", project["commit"]], capture_output=True, check=True
    ).stdout.decode()
    wanted = [
        one for one in listed.split("\0") if one.endswith((".py", ".toml", ".txt", ".yml", ".yaml", ".cfg")) or one in project["files"]
    ]
    for name in wanted:
        shown = subprocess.run([*git, "cat-file", "blob", f"{project['commit']}:{name}"], capture_output=True, check=False)
        if shown.returncode == 0 and len(shown.stdout) < 2**22:
            path = target / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(shown.stdout)


def judge(project: dict, place: Path, side: str) -> Iterator[dict[str, object]]:  # type: ignore[type-arg]
    """What is said of the files of a project against the releases that it pins, or against the newest of the atlas."""
    root = folder_of(project, place)
    for name in project["files"]:
        stack = newest() if side == "newest" else pinned(root, name, project["pins"])
        if not stack.releases:
            continue
        try:
            source = open_source(root / name)
        except EnvdoctorError:
            continue
        if isinstance(source, Skip):
            continue
        outline = read_own(source)
        for fault, hit in zip(faults_of(outline, stack), code_hits(outline, stack, source.origin), strict=True):
            text = [*source.text.split("\n"), ""]
            yield {
                "side": side, "repo": project["repo"], "commit": project["commit"],
                "file": name, "line": hit.line, "edge": edge_of(fault),
                "detail": hit.detail, "witness": witness_of(fault), "text": text[min(fault.line, len(text)) - 1].strip()[:200],
            }  # fmt: skip


def newest() -> Stack:
    """The newest release of every package of the atlas."""
    return Stack({name: bound.volume.releases[-1] for name in package_names() if (bound := open_package(name)) and bound.volume.releases})


def pinned(root: Path, name: str, pins: list[str]) -> Stack:
    """The releases that a file's own list pins: the nearest folder above it that has one decides, also where that one pins nothing."""
    for folder in Path(name).parents:
        here = lists_of(root / folder)
        if not here:
            continue
        releases: dict[str, str] = {}
        for pin in pins:
            if root / pin not in here or releases:
                continue
            try:
                facts = read_target(str(root / pin)).collected.facts
            except EnvdoctorError:
                continue
            for fact in facts:
                if fact.name.startswith("packages.") and isinstance(fact.value, Exact):
                    releases.setdefault(fact.name.removeprefix("packages."), fact.value.text)
        return Stack(releases)
    return Stack({})


@lru_cache(maxsize=4096)
def lists_of(folder: Path) -> frozenset[Path]:
    """The lists of packages in a folder, and in those below it that hold no Python."""
    inner = [one for one in folder.iterdir() if one.is_dir() and not any(one.rglob("*.py"))] if folder.is_dir() else []
    return frozenset(one for place in (folder, *inner) for one in place.iterdir() if one.is_file() and LIST.fullmatch(one.name))


CHILD = """
import ast, importlib, inspect, json, os, sys, types, warnings
warnings.simplefilter("ignore")
sys.stdout, out = open(os.devnull, "w"), sys.stdout
def M(*modules):
    # What the script imports besides: a module is an attribute of its package once it is loaded.
    for module in modules:
        try:
            importlib.import_module(module)
        except BaseException:
            pass
def compiled(what):
    # Python tells of a class that is compiled what its makers wrote down, or what its base takes.
    for name in ("__new__", "__init__"):
        made = next((vars(one)[name] for one in what.__mro__ if name in vars(one)), None)
        made = getattr(made, "__func__", made)
        if made not in (object.__new__, object.__init__) and not isinstance(made, types.FunctionType):
            return True
    return False
def S(what, method=False):
    # The configurations of transformers take any keyword, and a signature that is copied says nothing: neither does one with an object
    # that nobody passes (``wandb.log`` before there is a run).
    if isinstance(what, type) and (hasattr(what, "model_type") or compiled(what)):
        return None
    try:
        told = inspect.signature(what)
    except (ValueError, TypeError):
        return None
    return None if str(told) == "(**kwargs)" or (not method and next(iter(told.parameters), "") == "self") else told
for line in sys.stdin:
    said = "no error"
    try:
        exec(json.loads(line), {"S": S, "M": M})
    except BaseException as error:
        # What a package sets while a program runs is nothing before that: ``wandb.run``.
        early = isinstance(error, AttributeError) and error.name and error.obj is None
        kind = ["Early"] if early else [one.__name__ for one in type(error).__mro__]
        said = f"{' '.join(kind)}: {error}"
    print(json.dumps(said[:400]), file=out, flush=True)
"""
BREAKS = ("ImportError", "AttributeError", "TypeError")


def run_lines(lines: list[str], python: str) -> dict[str, str]:
    """What each line of Python comes to in an environment, all in one process."""
    told = "".join(f"{json.dumps(line)}\n" for line in lines)
    shown = subprocess.run([python, "-c", CHILD], input=told, capture_output=True, text=True, check=False, timeout=3000)
    found = [json.loads(line) for line in shown.stdout.splitlines()]
    assert len(found) == len(lines), shown.stderr[-2000:]
    return dict(zip(lines, found, strict=True))


def breaks(said: str) -> bool:
    """Whether a line ended as one does that takes what is not there, or passes what is refused."""
    return any(kind in said.partition(":")[0].split(" ") for kind in BREAKS)


def attempt(errors: Path, python: str) -> None:
    """Run what shows each drawn error; an error is true where an ImportError, AttributeError or TypeError ends it."""
    rows = [json.loads(line) for line in errors.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["side"] == "newest"]
    random.Random(SEED).shuffle(rows)
    rows = rows[:DRAWN]
    seen = run_lines(sorted({row["witness"] for row in rows}), python)
    true = 0
    for row in rows:
        true += breaks(seen[row["witness"]])
        if not breaks(seen[row["witness"]]):
            print(json.dumps({**row, "seen": seen[row["witness"]]}))
    print(f"{true} of {len(rows)} true", file=sys.stderr)


def recall(projects: list[dict], place: Path, python: str, before: list[str]) -> None:  # type: ignore[type-arg]
    """Run every import, attribute and call of the scripts that is under no condition; of those that fail, which were told?

    What fails and runs in an environment of ``before`` fails for a change; without any all that fails counts.
    """
    releases = json.loads(subprocess.run([python, "-c", RELEASES], capture_output=True, text=True, check=True).stdout)
    stack = Stack({name: release for name, release in releases.items() if open_package(name) is not None})
    tops = {top for name in stack.releases if (bound := open_package(name)) for top in bound.volume.tops}
    uses: dict[tuple[str, str], list[tuple[int, str, str]]] = {}
    told: dict[tuple[str, str], set[int]] = {}
    for project in projects:
        for name in project["files"]:
            try:
                source = open_source(folder_of(project, place) / name)
            except EnvdoctorError:
                continue
            if isinstance(source, Skip):
                continue
            key = str(project["repo"]), name
            own = own_names(folder_of(project, place))
            listed = [one for one in uses_of(source.body) if (top := one[2].split(" ")[1].split(".")[0]) in tops and top not in own]
            listed = [one for one in listed if not is_wrapped(one[2], source.body)]
            uses[key] = [(at, line, beside(line, source.body)) for _, at, line in listed]
            told[key] = {line for fault in faults_of(read_own(source), stack) for line in (fault.line, *fault.more)}
    lines = sorted({line for some in uses.values() for _, line, _ in some})
    seen = run_lines(sorted({run for some in uses.values() for _, line, run in some for run in (line, run)}), python)
    failing: dict[str, list[tuple[tuple[str, str], int, str]]] = {}
    for key, some in uses.items():
        for at, line, run in some:
            if breaks(seen[run]) and is_a_change(line, seen[run], seen):
                failing.setdefault(line, []).append((key, at, seen[run]))
    # A failure counts once, however many scripts have it; it is told where every script that has it is told of.
    known = {line: all(at in told[key] for key, at, _ in where) for line, where in failing.items()}
    ran = {line for other in before for line, said in run_lines(sorted(map(strictly, failing)), other).items() if not breaks(said)}
    settled = {line for line in failing if not before or strictly(line) in ran}
    for line, where in sorted(failing.items()):
        if not known[line] or line not in settled:
            row = {"line": line, "where": where[0][:2], "seen": where[0][2], "told": known[line]}
            print(json.dumps(row if line in settled else {**row, "unsettled": True}))
    told_ones = sum(known[line] for line in settled)
    left = f"; {len(failing) - len(settled)} more ran in no earlier environment, {sum(known[one] for one in failing.keys() - settled)} told"
    print(f"{len(lines)} lines, {len(settled)} fail for a change, {told_ones} of them were told{left}", file=sys.stderr)


@lru_cache(maxsize=4096)
def own_names(root: Path) -> frozenset[str]:
    """The modules and packages that a project has itself: what a file takes under such a name may be the project's."""
    return frozenset(one.parent.name if one.name == "__init__.py" else one.stem for one in root.rglob("*.py"))


def is_wrapped(line: str, body: list[ast.stmt]) -> bool:
    """Whether a file loads unsloth, which puts its own trainers and settings in the place of trl's."""
    if line.split(" ")[1].split(".")[0] != "trl":
        return False
    nodes = (node for item in body for node in ast.walk(item))
    names = (alias.name if isinstance(node, ast.Import) else node.module or "" for node in nodes
             if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names)  # fmt: skip
    return any(name.partition(".")[0] == "unsloth" for name in names)


def strictly(line: str) -> str:
    """A line as it shows that a call was taken: what has no signature that Python can tell shows nothing."""
    return line.replace("; s and s.bind(", "; s.bind(")


def beside(line: str, body: list[ast.stmt]) -> str:
    """A line as it is run in its file: once everything is loaded that the file imports of the same package, wherever it does."""
    top = line.split(" ")[1].split(".")[0]
    found: dict[str, None] = {}
    for node in (node for item in body for node in ast.walk(item)):
        if isinstance(node, ast.Import):
            found.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.update({node.module: None, **dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")})
    modules = [one for one in found if one.partition(".")[0] == top and "." in one]
    # Of an import alone nothing else in the file matters.
    return f"M({', '.join(map(repr, modules))}); {line}" if ";" in line else line


def is_a_change(line: str, said: str, seen: dict[str, str]) -> bool:
    """Whether a line fails for the package that it takes from, and not for its import alone, or for another that is not installed."""
    top = line.split(" ")[1].split(".")[0]
    first = line.partition(" as it;")[0] if " as it;" in line else ""
    # What another library registers with torch when it is imported is no change of torch.
    if top == "google" or "; it.ops." in line or (first and first in seen and breaks(seen[first])):
        return False
    absent = said.partition("No module named ")[2].strip("'")
    # The whole package is absent, or it is a folder of the project's own.
    return not absent or (absent.split(".")[0] == top and absent != top and top not in ("scripts", "utils"))


RELEASES = """
import json, importlib.metadata as m
print(json.dumps({d.metadata["Name"].lower().replace("_", "-"): d.version for d in m.distributions()}))
"""


if __name__ == "__main__":
    sys.exit(main())
