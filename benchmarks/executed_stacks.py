"""Stacks that are built and really imported: what breaks when one package moves, and what `check` knows of it.

    python benchmarks/executed_stacks.py build --home DIR [--draw 4] [--minutes 60] [--wheels DIR ...] [--pythons DIR]
    python benchmarks/executed_stacks.py repeat --home DIR [--draw 4] [--bases N ...] [--wheels DIR ...] [--pythons DIR]
    python benchmarks/executed_stacks.py count
    python benchmarks/executed_stacks.py score [--part judged-4] [--list]

`build` draws a release of a consumer at random (the seed is in stack_draws.py), installs it as of the day it came out, and tries its
import and its main names, each by itself: those that work are the *control*, a script. Then one package that was installed with it is
moved to another release with --no-deps, and the script is run; and so on for a few packages. All of it is written down as it happens to
benchmarks/executed_stacks/: `bases.jsonl` (an environment with its freeze and its script), `development.jsonl` and `judged.jsonl`
(a third and two thirds of the moved stacks, by a hash of their ids: the judged ones are kept from whoever works on envdoctor),
`exclusions.jsonl` (what could not be installed, did not import before anything was moved, or took too long). Called again it goes on.
Each later drawing has other bases, and is kept for one judgement as a whole: `bases-4.jsonl`, `judged-4.jsonl`, `exclusions-4.jsonl`.

`score` gives each stack's whole freeze to `envdoctor check --facts - script.py` and counts. A failing stack is *known* if a matched
error names the package that was moved, or the one in whose file the exception arose; a working one is *accused* by any matched error.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from stack_draws import DRAWS, Base, Move, draw_base, draw_moves
from stack_environments import Stack, TooLongError
from stack_scores import cause_of, print_score

from envdoctor.facts.names import canonical
from envdoctor.uv.environments import NotBuiltError

KEPT = Path(__file__).resolve().parent / "executed_stacks"
PARTS = ("development", "judged", "judged-2", "judged-3", "judged-4", "judged-5", "judged-6", "judged-7", "judged-8")
# No pair of packages may be more than a tenth of all.
MOST_OF_A_PAIR = 30
LEAST_FREE_GIB = 5
MOST_UNMET = 8
_VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


def parts_of(drawing: int) -> tuple[str, ...]:
    return PARTS[:2] if drawing == 1 else (named(PARTS[1], drawing),)


def named(what: str, drawing: int) -> str:
    """The file of a drawing: the first one's is called as it always was."""
    return what if drawing == 1 else f"{what}-{drawing}"


def part_of(stack: str, drawing: int = 1) -> str:
    """Of the first drawing a third is for development, by the hash of the stack's id; later ones are kept as a whole."""
    if drawing != 1:
        return named(PARTS[1], drawing)
    return PARTS[0] if int(hashlib.sha256(stack.encode()).hexdigest(), 16) % 3 == 0 else PARTS[1]


def script_of(module: str, names: list[str]) -> str:
    """The import of a module and of names: ``name`` of the module itself, ``other.module:name``."""
    places: dict[str, list[str]] = {}
    for name in names:
        inside, _, what = name.rpartition(":")
        places.setdefault(inside or module, []).append(what)
    return "".join([f"import {module}\n", *(f"from {place} import {', '.join(what)}\n" for place, what in places.items())])


def rows(name: str) -> list[dict[str, Any]]:
    path = KEPT / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def keep(name: str, row: Mapping[str, object]) -> None:
    KEPT.mkdir(exist_ok=True)
    with (KEPT / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, separators=(",", ":")) + "\n")


def exclude(drawing: int, number: int, what: str, why: str, said: str) -> None:
    keep(named("exclusions", drawing), {"base": number, "what": what, "why": why, "said": said[:500]})


def requirements_of(base: Base) -> tuple[list[str], list[str]]:
    wanted = base.consumer.package if base.version is None else f"{base.consumer.package}=={base.version}"
    # A virtual environment of Python below 3.12 is born with setuptools, and many a package counted on it.
    born = [] if base.python in ("3.12", "3.13") else ["setuptools"]
    torch = ["torch"] if base.torch else []
    return [wanted, *base.consumer.beside, *torch, *born], [f"torch=={base.torch.version}", *base.torch.fitting] if base.torch else []


def build_base(stack: Stack, base: Base, drawing: int) -> tuple[dict[str, str], list[str], str] | None:
    """The freeze, what the consumer declares, and the control; None where there is none, which is written down."""
    consumer, label = base.consumer, f"{base.consumer.package} {base.version or ''} {base.day} python {base.python}"
    requirements, constraints = requirements_of(base)
    start = time.monotonic()
    try:
        stack.build(base.python, base.day, requirements, constraints, builds=consumer.builds, torch=base.torch is not None)
        installed = stack.venv.freeze()
        found = stack.ask({"package": consumer.package, "module": consumer.module, "names": list(consumer.names)})
        if not found.get("names"):
            said = f"{found.get('exception')}: {found.get('message')}" if "names" not in found else json.dumps(found["lacking"])
            exclude(drawing, base.number, label, "control", said)
            return None
        script = script_of(consumer.module, found["names"])
        # Names that failed may have left modules half imported: the script is tried by itself.
        again = stack.ask({"script": script}) if found["lacking"] else {}
        if "exception" in again:
            exclude(drawing, base.number, label, "control", f"{again['exception']}: {again['message']}")
            return None
    except (NotBuiltError, TooLongError) as error:
        exclude(drawing, base.number, label, "install" if isinstance(error, NotBuiltError) else "time", str(error))
        return None
    keep(
        named("bases", drawing),
        {
            "base": base.number, "consumer": consumer.package, "version": found["version"], "day": base.day, "python": found["python"],
            "script": script, "lacking": found["lacking"], "freeze": [f"{name}=={version}" for name, version in installed.items()],
            "unmet": stack.venv.unmet(), "seconds": round(time.monotonic() - start, 1),
        },
    )  # fmt: skip
    return installed, found["requires"], script


def try_moves(stack: Stack, base: Base, drawing: int, installed: Mapping[str, str], script: str, moves: Iterable[Move], end: float) -> int:
    """How many moves were tried; what the one before had moved is put back with the next."""
    back: dict[str, str] = {}
    tried = 0
    prefix = "" if drawing == 1 else f"{drawing}:"
    for move in moves:
        label = f"{base.consumer.package}=={installed[canonical(base.consumer.package)]} python{base.python} {move.provider}=={move.after}"
        ident = hashlib.sha256(f"{prefix}{base.number} {label}".encode()).hexdigest()[:12]
        pins = {**back, move.provider: f"{move.provider}=={move.after}"}
        tried += 1
        try:
            stack.move(*pins.values())
            back = {move.provider: f"{move.provider}=={move.before.split('+')[0]}"}
            now = stack.venv.freeze()
            if {**installed, move.provider: now.get(move.provider, "")} != now:
                exclude(drawing, base.number, label, "freeze", "more than one package moved")
                return tried
            found = stack.ask({"script": script})
        except NotBuiltError as error:
            exclude(drawing, base.number, label, "install", str(error))
        except TooLongError as error:
            exclude(drawing, base.number, label, "time", str(error))
        else:
            row = {
                "stack": ident, "base": base.number, "consumer": base.consumer.package,
                "version": installed[canonical(base.consumer.package)], "provider": move.provider, "from": move.before,
                "to": now[move.provider], "outcome": "failed" if "exception" in found else "works", **found,
                "unmet": [line for line in stack.venv.unmet() if f"`{move.provider}" in line][:MOST_UNMET],
            }  # fmt: skip
            keep(part_of(ident, drawing), row)
        if time.monotonic() > end:
            break
    return tried


def full_pairs() -> set[tuple[str, str]]:
    pairs = Counter((canonical(row["consumer"]), row["provider"]) for part in PARTS for row in rows(part))
    return {pair for pair, count in pairs.items() if count >= MOST_OF_A_PAIR}


def had_before(drawing: int) -> set[tuple[str, str]]:
    """What earlier drawings had: consumers with their releases, or with the day of a base that took what was newest then."""
    earlier = [row for one in range(1, drawing) for row in rows(named("bases", one))]
    return {(row["consumer"], row[what]) for row in earlier for what in ("version", "day")}


def build(home: Path, drawing: int, minutes: float, wheels: list[Path], pythons: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    interpreters = {one: path for one in _VERSIONS for path in pythons.glob(f"{one}.*/bin/python")}
    stack = Stack(home.resolve(), interpreters, wheels)
    end = time.monotonic() + minutes * 60
    done = {row["base"] for name in ("bases", "exclusions") for row in rows(named(name, drawing))}
    before = had_before(drawing)
    number = max(done, default=-1) + 1
    while time.monotonic() < end:
        base = draw_base(number, DRAWS[drawing], before)
        number += 1
        if base.torch and shutil.disk_usage(home).free < LEAST_FREE_GIB * 2**30:
            exclude(drawing, base.number, base.consumer.package, "disk", f"less than {LEAST_FREE_GIB} GiB free")
            continue
        start, moved = time.monotonic(), 0
        built = build_base(stack, base, drawing)
        if built is not None:
            installed, requires, script = built
            draw = DRAWS[drawing]
            count = draw.moves_with_torch if base.torch else draw.moves
            moves = draw_moves(base, installed, requires, count, full_pairs(), draw)
            moved = try_moves(stack, base, drawing, installed, script, moves, end)
        what = f"{moved} moves" if built else "no control"
        print(f"{base.number} {base.consumer.package} {base.version} {base.day}: {what}, {time.monotonic() - start:.0f} s", flush=True)


def repeat(home: Path, drawing: int, wheels: list[Path], pythons: Path, chosen: set[int] | None) -> None:
    """Every stack again, from its whole freeze; what came of it the second time is what counts, and what differs is told."""
    interpreters = {one: path for one in _VERSIONS for path in pythons.glob(f"{one}.*/bin/python")}
    stack = Stack(home.resolve(), interpreters, wheels)
    for base in rows(named("bases", drawing)):
        again = [row for part in parts_of(drawing) for row in rows(part) if row["base"] == base["base"] and not row.get("repeated")]
        if not again or (chosen is not None and base["base"] not in chosen):
            continue
        try:
            stack.rebuild(base["python"].rpartition(".")[0], base["freeze"])
            control = stack.ask({"script": base["script"]})
        except (NotBuiltError, TooLongError) as error:
            control = {"exception": "", "message": str(error)}
        told = {} if "exception" in control else repeat_moves(stack, base, again)
        for row in again:
            if row["stack"] not in told:
                label = f"{row['consumer']}=={row['version']} python{base['python']} {row['provider']}=={row['to']}"
                exclude(drawing, base["base"], label, "repeat", str(control.get("message", "not installed again")))
        for part in parts_of(drawing):
            kept = [told.get(row["stack"], row) for row in rows(part) if row not in again or row["stack"] in told]
            (KEPT / f"{part}.jsonl").write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept), "utf-8")
        other = [row["stack"] for row in again if row["stack"] in told and told[row["stack"]]["outcome"] != row["outcome"]]
        print(f"{base['base']} {base['consumer']} {base['version']}: {len(told)} of {len(again)} again, otherwise: {other}", flush=True)


def repeat_moves(stack: Stack, base: Mapping[str, Any], again: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    said = ("exception", "message", "cause", "frames", "signal", "seconds", "outcome")
    told = {}
    back: dict[str, str] = {}
    for row in again:
        try:
            stack.move(*{**back, row["provider"]: f"{row['provider']}=={row['to']}"}.values())
            back = {row["provider"]: f"{row['provider']}=={row['from'].split('+')[0]}"}
            found = stack.ask({"script": base["script"]})
        except (NotBuiltError, TooLongError):
            continue
        same = {name: value for name, value in row.items() if name not in said}
        told[row["stack"]] = same | {"outcome": "failed" if "exception" in found else "works", **found, "repeated": True}
    return told


def stacks(part: str) -> Iterator[dict[str, Any]]:
    """Each stack with its base's script and Python, and its whole freeze."""
    drawing = next(number for number in DRAWS if part in parts_of(number))
    bases = {row["base"]: row for row in rows(named("bases", drawing))}
    for row in rows(part):
        base = bases[row["base"]]
        freeze = dict(pin.split("==", 1) for pin in base["freeze"]) | {row["provider"]: row["to"]}
        pins = [f"{name}=={version}" for name, version in freeze.items()]
        yield row | {"script": base["script"], "python": base["python"], "freeze": pins}


def count() -> None:
    for part in PARTS:
        found = rows(part)
        failed = [row for row in found if row["outcome"] == "failed"]
        print(f"{part}: {len(found)} stacks, {len(failed)} failing; {dict(Counter(cause_of(row) for row in failed).most_common())}")
    everything = [row for part in PARTS for row in rows(part)]
    for what, chosen in (("stacks", everything), ("failing", [row for row in everything if row["outcome"] == "failed"])):
        pairs = Counter((row["consumer"], row["provider"]) for row in chosen)
        most = ", ".join(f"{one} with {other} {share}" for (one, other), share in pairs.most_common(5))
        print(f"{what}: {len(chosen)} over {len(pairs)} pairs of packages, {len({one for one, _ in pairs})} consumers; most: {most}")
    bases, excluded = ([row for number in DRAWS for row in rows(named(what, number))] for what in ("bases", "exclusions"))
    print(f"bases: {len(bases)}; exclusions: {dict(Counter(row['why'] for row in excluded))}")


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Stacks that are built and really imported.")
    jobs = parser.add_subparsers(dest="job", required=True)
    building = jobs.add_parser("build", help="build and import stacks, and write down what came of it")
    building.add_argument("--minutes", type=float, default=60.0, help="no base is begun after them (default: 60)")
    pythons = Path.home() / ".pyenv/versions"
    repeating = jobs.add_parser("repeat", help="every stack again from its freeze")
    repeating.add_argument("--bases", type=int, nargs="*", help="only those of these bases")
    for one in (building, repeating):
        one.add_argument("--draw", type=int, choices=DRAWS, default=max(DRAWS), help="which drawing (default: the last)")
        one.add_argument("--home", type=Path, required=True, metavar="DIR", help="where environments are built")
        one.add_argument("--wheels", type=Path, nargs="*", default=[], metavar="DIR", help="directories of wheels beside the index")
        one.add_argument("--pythons", type=Path, default=pythons, metavar="DIR", help="interpreters, as pyenv lays them")
    jobs.add_parser("count", help="what there is")
    scoring = jobs.add_parser("score", help="give every freeze to `check`, and count what it knows")
    scoring.add_argument("--part", choices=PARTS, default=PARTS[0], help="which stacks (default: development)")
    scoring.add_argument("--list", action="store_true", help="one line for each stack")
    asked = parser.parse_args(words)
    if asked.job == "build":
        build(asked.home, asked.draw, asked.minutes, asked.wheels, asked.pythons)
    elif asked.job == "repeat":
        repeat(asked.home, asked.draw, asked.wheels, asked.pythons, None if asked.bases is None else set(asked.bases))
    elif asked.job == "count":
        count()
    else:
        print_score(stacks(asked.part), each=asked.list)


if __name__ == "__main__":
    main(sys.argv[1:])
