"""Scripts of public projects against the releases that they pin, and against the newest: what is said, and whether it is true.

``take FOLDER --mirrors DIR`` writes the files of ``own_code/projects.json`` at their commits. ``judge FOLDER`` prints every error of the
pinned side and of the newest side as a line of JSON. ``try ERRORS PYTHON`` runs the line that shows an error in an environment with the
newest releases. ``recall FOLDER PYTHON`` runs there what the scripts take, and counts of what fails how much is told.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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
        recall(projects, options.place, options.python)
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
    """The releases that the nearest list of a project pins."""
    releases: dict[str, str] = {}
    for pin in sorted(pins, key=lambda one: -len(common(name, one))):
        try:
            facts = read_target(str(root / pin)).collected.facts
        except EnvdoctorError:
            continue
        for fact in facts:
            if fact.name.startswith("packages.") and isinstance(fact.value, Exact):
                releases.setdefault(fact.name.removeprefix("packages."), fact.value.text)
        if releases:
            break
    return Stack(releases)


def common(one: str, other: str) -> str:
    """The folder that two paths share."""
    both = zip(Path(one).parts[:-1], Path(other).parts[:-1], strict=False)
    shared = []
    for left, right in both:
        if left != right:
            break
        shared.append(left)
    return "/".join(shared)


CHILD = """
import ast, importlib, inspect, json, os, sys, warnings
warnings.simplefilter("ignore")
sys.stdout, out = open(os.devnull, "w"), sys.stdout
def S(what):
    # The configurations of transformers take any keyword, and a signature that is copied says nothing.
    if isinstance(what, type) and hasattr(what, "model_type"):
        return None
    try:
        told = inspect.signature(what)
        return None if str(told) == "(**kwargs)" else told
    except (ValueError, TypeError):
        return None
for line in sys.stdin:
    said = "no error"
    try:
        exec(json.loads(line), {"S": S})
    except BaseException as error:
        kind = [one.__name__ for one in type(error).__mro__]
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


def recall(projects: list[dict], place: Path, python: str) -> None:  # type: ignore[type-arg]
    """Run every import, attribute and call of the scripts that is under no condition; of those that fail, which were told?"""
    releases = json.loads(subprocess.run([python, "-c", RELEASES], capture_output=True, text=True, check=True).stdout)
    stack = Stack({name: release for name, release in releases.items() if open_package(name) is not None})
    tops = {top for name in stack.releases if (bound := open_package(name)) for top in bound.volume.tops}
    uses: dict[tuple[str, str], list[tuple[str, int, str]]] = {}
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
            uses[key] = [one for one in uses_of(source.body) if one[2].split(" ")[1].split(".")[0] in tops]
            told[key] = {line for fault in faults_of(read_own(source), stack) for line in (fault.line, *fault.more)}
    lines = sorted({line for some in uses.values() for _, _, line in some})
    seen = run_lines(lines, python)
    failing = {line for line in lines if breaks(seen[line]) and is_a_change(line, seen)}
    # A failure counts once, however many scripts have it; it is told where every script that has it is told of.
    known = {line: all(at in told[key] for key, some in uses.items() for _, at, one in some if one == line) for line in failing}
    for line in sorted(failing):
        if not known[line]:
            where = next((key, at) for key, some in uses.items() for _, at, one in some if one == line)
            print(json.dumps({"line": line, "where": where, "seen": seen[line]}))
    print(f"{len(lines)} lines, {len(failing)} fail, {sum(known.values())} of them were told", file=sys.stderr)


def is_a_change(line: str, seen: dict[str, str]) -> bool:
    """Whether a line fails for the package that it takes from, and not for its import alone, or for another that is not installed."""
    top = line.split(" ")[1].split(".")[0]
    first = line.partition(" as it;")[0] if " as it;" in line else ""
    # What another library registers with torch when it is imported is no change of torch.
    if top == "google" or "; it.ops." in line or (first and first in seen and breaks(seen[first])):
        return False
    absent = seen[line].partition("No module named ")[2].strip("'")
    # The whole package is absent, or it is a folder of the project's own.
    return not absent or (absent.split(".")[0] == top and absent != top and top not in ("scripts", "utils"))


RELEASES = """
import json, importlib.metadata as m
print(json.dumps({d.metadata["Name"].lower().replace("_", "-"): d.version for d in m.distributions()}))
"""


def uses_of(body: list[ast.stmt]) -> Iterator[tuple[str, int, str]]:
    """The imports, attributes and calls of a file that stand under no ``if``, ``try`` or ``with``, each as a line that can be run alone.

    Nothing of envdoctor's own reader is used here.
    """
    names: dict[str, str] = {}
    stores = {node.id for item in body for node in ast.walk(item) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    stores |= {node.arg for item in body for node in ast.walk(item) if isinstance(node, ast.arg)}
    waiting: list[ast.AST] = list(body)
    plain: list[ast.AST] = []
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.If | ast.Try | ast.With | ast.IfExp | ast.BoolOp | ast.While):
            continue
        plain.append(node)
        waiting += ast.iter_child_nodes(node)
    for node in plain:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                if alias.name != "*":
                    names[alias.asname or alias.name] = f"from {node.module} import {alias.name} as it"
                    yield "import", node.lineno, f"from {node.module} import {alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    f"import {alias.name} as it" if alias.asname else f"import {alias.name.partition('.')[0]} as it"
                )
                yield "import", node.lineno, f"import {alias.name}"
    for node in plain:
        function = node.func if isinstance(node, ast.Call) else node
        chain: list[str] = []
        while isinstance(function, ast.Attribute):
            chain.insert(0, function.attr)
            function = function.value
        if (
            not isinstance(function, ast.Name)
            or function.id not in names
            or function.id in stores
            or not (chain or isinstance(node, ast.Call))
        ):
            continue
        taken = f"{names[function.id]}; {'.'.join(['it', *chain])}"
        if not isinstance(node, ast.Call):
            yield "attribute", node.lineno, taken  # type: ignore[attr-defined]
        elif not any(isinstance(one, ast.Starred) for one in node.args) and all(one.arg for one in node.keywords) and len(chain) < 2:
            passed = ", ".join([*["None"] * len(node.args), *(f"{one.arg}=None" for one in node.keywords)])
            # What has no signature that Python can tell refuses nothing here.
            call = f"{taken}; s = S({'.'.join(['it', *chain])}); s and s.bind({passed})"
            yield "call", node.lineno, f"{call}"


if __name__ == "__main__":
    sys.exit(main())
