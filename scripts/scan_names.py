"""Ask the atlas for what an installed environment shows: names, members and keywords that are there and are called missing.

    python scripts/scan_names.py there PYTHON [PACKAGE ...]           # what is there and would be called missing or refused
    python scripts/scan_names.py gone EARLIER PYTHON [PACKAGE ...]    # what EARLIER has, PYTHON has not, and would not be told

PYTHON and EARLIER are interpreters of throw-away environments: every module of the packages is imported there. A package is asked about
where the atlas has the release that is installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from envdoctor.atlas.callables import has_member
from envdoctor.atlas.missing import missing, refused, refuses_at
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.volume import Volume
from envdoctor.facts.names import canonical

CHILD = """
import importlib, importlib.metadata, inspect, json, os, pkgutil, sys, types, warnings
warnings.simplefilter("ignore")
kept = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
out = os.fdopen(kept, "w")
SKIPPED = {"tests", "test", "testing", "conftest", "__main__", "setup", "examples", "benchmarks", "_examples"}
def say(**row):
    print(json.dumps(row), file=out, flush=True)
def takes(what):
    # Keywords, and whether any other is taken; None where Python does not tell.
    if isinstance(what, type):
        for name in ("__new__", "__init__"):
            made = next((vars(one)[name] for one in what.__mro__ if name in vars(one)), None)
            made = getattr(made, "__func__", made)
            if made not in (object.__new__, object.__init__) and not isinstance(made, types.FunctionType):
                return None
    try:
        told = inspect.signature(what)
    except (ValueError, TypeError, RecursionError, AttributeError, NameError):
        return None
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [one.name for one in told.parameters.values() if one.kind in named]
def walk(name):
    try:
        module = importlib.import_module(name)
    except BaseException as error:
        return
    show(name, module)
    for one in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if one.name not in SKIPPED:
            walk(name + "." + one.name)
def show(name, module):
    try:
        names = dir(module)
    except BaseException:
        return
    top = name.partition(".")[0]
    listed, of = [], []
    for one in names:
        try:
            what = getattr(module, one)
        except BaseException:
            continue
        kind = type(what)
        home = str(getattr(what, "__module__", "") or "") if not isinstance(what, types.ModuleType) else what.__name__
        listed.append(one)
        if home.partition(".")[0] == top and not isinstance(what, types.ModuleType):
            of.append(one)
        if home != name:
            continue
        if isinstance(what, type):
            try:
                members = dir(what)
            except BaseException:
                continue
            methods = {}
            for member in members:
                if member.startswith("_"):
                    continue
                try:
                    inner = inspect.getattr_static(what, member)
                    bound = getattr(what, member)
                except BaseException:
                    continue
                if isinstance(inner, (types.FunctionType, classmethod, staticmethod)) and getattr(bound, "__module__", "") == name:
                    told = takes(bound)
                    if told:
                        methods[member] = told[1:] if isinstance(inner, types.FunctionType) else told
            say(module=name, kind="class", name=one, members=members, methods=methods, takes=takes(what))
        elif callable(what):
            say(module=name, kind="function", name=one, takes=takes(what))
    say(module=name, kind="module", names=listed, own=of)
for top in sys.argv[1:]:
    walk(top)
"""

LINES = """
import importlib, json, os, sys, warnings
warnings.simplefilter("ignore")
kept = os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
out = os.fdopen(kept, "w")
for line in sys.stdin:
    module, name = json.loads(line)
    said = "there"
    try:
        space = {}
        exec(f"from {module} import {name}" if name else f"import {module}", space)
    except ImportError as error:
        said = f"{type(error).__name__}: {error}"
    except BaseException as error:
        said = "?"
    print(json.dumps(said[:200]), file=out, flush=True)
"""

VERSIONS = "import json, importlib.metadata as m; print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"


def main() -> int:
    """Print what the atlas says otherwise than an environment, a line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("there", "gone"))
    parser.add_argument("python", nargs="+", help="interpreters, then packages")
    options = parser.parse_args()
    count = 1 if options.what == "there" else 2
    pythons, wanted = options.python[:count], options.python[count:]
    asked = said = 0
    for name, volume, place in installed(pythons[0], wanted):
        rows = list(shown(pythons[0], volume))
        lines = contradicted(volume, place, rows) if options.what == "there" else untold(volume, rows, pythons[1])
        for line in lines:
            said += 1
            print(f"{name} {line}", flush=True)
        asked += sum(len(some) for row in rows for some in row.values() if isinstance(some, list))
        print(f"{name} {volume.releases[place]}: {len(rows)} rows", file=sys.stderr, flush=True)
    print(f"{asked} asked, {said} said otherwise", file=sys.stderr)
    return 0


def installed(python: str, wanted: list[str]) -> Iterator[tuple[str, Volume, int]]:
    """The packages of an environment that the atlas has in the release that is installed."""
    told = json.loads(subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True).stdout)
    for name, version in sorted((canonical(name), version.partition("+")[0]) for name, version in told.items()):
        bound = open_package(name) if not wanted or name in wanted else None
        if bound is not None and version in bound.volume.places:
            yield name, bound.volume, bound.volume.places[version]


def shown(python: str, volume: Volume) -> Iterator[dict[str, object]]:
    """What the modules of a package show; an import that ends the process ends what is shown of that top-level name."""
    with TemporaryDirectory() as folder:
        for top in volume.tops:
            path = Path(folder) / "shown"
            with path.open("w") as out:
                subprocess.run([python, "-c", CHILD, top], stdout=out, stderr=subprocess.DEVNULL, check=False, timeout=3000, cwd=folder)
            for line in path.read_text(encoding="utf-8").splitlines():
                if line.endswith("}"):
                    yield json.loads(line)


def contradicted(volume: Volume, place: int, rows: list[dict[str, object]]) -> Iterator[str]:
    """What is there at run time, and is missing or refused by the atlas."""
    for row in rows:
        module = str(row["module"])
        if row["kind"] == "module":
            if missing(volume, module, imported=True) >> place & 1:
                yield f"module {module}"
                continue
            names = [one for one in row["names"] if not one.startswith("__")]  # type: ignore[attr-defined]
            yield from (f"name {module}:{name}" for name in names if missing(volume, f"{module}:{name}", imported=True) >> place & 1)
            yield from (f"attribute {module}.{name}" for name in names if missing(volume, f"{module}.{name}", imported=False) >> place & 1)
            continue
        full = f"{module}:{row['name']}"
        yield from (f"keyword {full}({one})" for one in row["takes"] or () if is_refused(volume, full, one, place))  # type: ignore[attr-defined]
        if row["kind"] == "class":
            members = [one for one in row["members"] if lacks(volume, module, str(row["name"]), one, place)]  # type: ignore[attr-defined]
            yield from (f"member {full}.{one}" for one in members if missing(volume, f"{full}.{one}", imported=False) >> place & 1)
            for method, told in row["methods"].items():  # type: ignore[attr-defined]
                yield from (f"keyword {full}.{method}({one})" for one in told if is_refused(volume, f"{full}.{method}", one, place))


def is_refused(volume: Volume, name: str, keyword: str, place: int) -> bool:
    """Whether a release is said to refuse a keyword."""
    call = f"0,{keyword}=,*"
    return refuses_at(volume, name, call, (place,)) and bool(refused(volume, name, call) >> place & 1)


def lacks(volume: Volume, module: str, name: str, member: str, place: int) -> bool:
    """Whether a class of a release is said to lack a member: asked first, since all releases are asked after that."""
    found = volume.follow(module, name, place)
    return found is not None and has_member(volume, *found, member, place) is False


def untold(volume: Volume, rows: list[dict[str, object]], python: str) -> Iterator[str]:
    """What an earlier environment has of the package's own, a later one has no more, and the atlas does not call missing there."""
    told = json.loads(subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True).stdout)
    now = {canonical(name): version.partition("+")[0] for name, version in told.items()}.get(volume.name, "")
    if now not in volume.places:
        return
    place = volume.places[now]
    wanted = [(str(row["module"]), str(name)) for row in rows if row["kind"] == "module" for name in ["", *row["own"]]]  # type: ignore[misc]
    lines = "".join(f"{json.dumps(one)}\n" for one in wanted)
    ran = subprocess.run([python, "-c", LINES], input=lines, capture_output=True, text=True, check=False, timeout=3000)
    for (module, name), line in zip(wanted, ran.stdout.splitlines(), strict=False):
        seen = json.loads(line)
        full = f"{module}:{name}" if name else module
        if seen not in ("there", "?") and not missing(volume, full, imported=True) >> place & 1:
            yield f"untold {full}\t{seen}"


if __name__ == "__main__":
    sys.exit(main())
