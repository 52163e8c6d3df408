"""Computed findings put to the test: the line of Python that shows each, run where the release is installed that it speaks of.

    python benchmarks/witnesses.py run --home DIR [--count 100] [--minutes 60] [--wheels DIR] [--pythons DIR]
    python benchmarks/witnesses.py count

`run` draws at random over all that the imports of packages take of others and do not always find: a package and a provider, an edge
between them, a release on either side for which `check` tells of it. It installs the provider as of the day its release came out, runs
the line in the probe's own child, and writes what came of it to benchmarks/witnesses.jsonl. A finding is *true* if the line fails and its
last words name what was taken, *false* if it runs to its end, and *open* if it ends otherwise. Called again it goes on. torch, and what is
built for one release of it, is no provider here; what requires torch gets that of the executed stacks, and is drawn from its day on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from stack_environments import UV
from stack_tables import PYTHONS, TORCH

from envdoctor.atlas.breaks import takes_of
from envdoctor.atlas.distributions import top_of, tops_of
from envdoctor.atlas.masks import read
from envdoctor.atlas.shelf import open_package, package_names
from envdoctor.atlas.stack import Stack
from envdoctor.checks.atlas import IMPORT_BREAKS, hits_of
from envdoctor.probes.runner import run_child
from envdoctor.probes.witness import PROBE, judge
from envdoctor.records import dataclass
from envdoctor.uv.environments import NotBuiltError, Venv
from envdoctor.world.dependencies import dependencies
from envdoctor.world.releases import releases

KEPT = Path(__file__).resolve().parent / "witnesses.jsonl"
SEED = 20261127
# Long, for a machine that has other things to do: a slow import is no hanging one.
INSTALL_SECONDS, RUN_SECONDS = 600.0, 300.0
_TRIES = 40
# Their environments take gigabytes, or a compiler.
COSTLY = frozenset(
    ("torch", "torchvision", "torchaudio", "torchtext", "torchdata", "triton", "vllm", "sglang", "xformers", "flash-attn", "deepspeed",
     "auto-gptq", "autoawq", "gptqmodel", "mamba-ssm", "causal-conv1d", "bitsandbytes", "ray", "megatron-core", "dgl", "lmdeploy")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Drawn:
    """One finding: two releases that do not go together, and the line that shows it."""

    package: str
    release: str
    provider: str
    other: str
    day: str
    edge: str
    line: str


def draw(number: int) -> Drawn | None:
    """The finding of this number: the same in every run, as long as the atlas is. None where nothing is told of what was drawn."""
    chance = random.Random(f"{SEED}:{number}")
    packages = sorted(package_names())
    for _ in range(_TRIES):
        package = chance.choice(packages)
        edges = _edges(package)
        if not edges:
            continue
        take, mask = chance.choice(edges)
        found = takes_of(package)
        assert found is not None
        provider = _owners().get(top_of(found[1].take(take).name), "")
        bound = open_package(provider) if provider not in COSTLY else None
        if bound is None or provider == package:
            continue
        bad = read(found[1].take(take).bad, bound.volume.places)
        ours, theirs = _places(mask), _places(bad)
        if not ours or not theirs:
            continue
        release, place = found[0].volume.releases[chance.choice(ours)], chance.choice(theirs)
        other, day = bound.volume.releases[place], bound.volume.days[place]
        hits = [one for one in hits_of(Stack({package: release, provider: other}), ()) if one.rule == IMPORT_BREAKS]
        told = [one for one in hits if one.packages == (package, provider)]
        if told and day and (day >= TORCH[-1].since or not wants_torch(provider, other)):
            return Drawn(package, release, provider, other, day, told[0].edge, told[0].witness)
    return None


def wants_torch(provider: str, release: str) -> bool:
    return any(one.name == "torch" for one in dependencies(provider, release, unbound=True) or ())


@cache
def _edges(package: str) -> tuple[tuple[int, int], ...]:
    """What the import of a package takes of others and does not always find, with its own releases that do."""
    found = takes_of(package)
    if found is None:
        return ()
    rows: dict[int, int] = {}
    for top in tops_of(package, found[0].volume.tops):
        for one in found[1].entry(top) or ():
            if one.kind == "take":
                rows[one.take] = rows.get(one.take, 0) | one.mask
    return tuple(rows.items())


@lru_cache(maxsize=1)
def _owners() -> Mapping[str, str]:
    bounds = [bound for name in package_names() if (bound := open_package(name)) is not None]
    return {top: bound.volume.name for bound in bounds for top in tops_of(bound.volume.name, bound.volume.tops)}


def _places(mask: int) -> list[int]:
    return [place for place in range(mask.bit_length()) if mask >> place & 1]


def pythons_of(drawn: Drawn) -> Iterator[str]:
    """The Pythons of the time of the provider's release, the newest first."""
    told = next((one.requires_python for one in releases(drawn.provider) if one.version == drawn.other), None)
    from packaging.specifiers import SpecifierSet

    torch = wants_torch(drawn.provider, drawn.other)
    for python in [TORCH[-1].python] if torch else reversed(PYTHONS[max(drawn.day[:4], "2022")]):
        if told is None or SpecifierSet(told).contains(f"{python}.9"):
            yield python


def try_out(drawn: Drawn, venv: Venv, interpreters: Mapping[str, Path], wheels: Path | None) -> dict[str, Any]:
    """What came of a finding's line."""
    row: dict[str, Any] = {name: getattr(drawn, name) for name in ("package", "release", "provider", "other", "edge", "line")}
    until = (date.fromisoformat(drawn.day) + timedelta(days=1)).isoformat()
    why = "no Python for it"
    wanted = [f"{drawn.provider}=={drawn.other}", *([] if drawn.provider == "setuptools" else ["setuptools"])]
    if wants_torch(drawn.provider, drawn.other):
        wanted += [f"torch=={TORCH[-1].version}", *(("--find-links", str(wheels)) if wheels else ())]
    for python in pythons_of(drawn):
        try:
            venv.make(str(interpreters[python]))
            venv.install("--no-build", "--exclude-newer", f"{until}T00:00:00Z", *wanted)
        except NotBuiltError as error:
            why = str(error)[:300]
            continue
        params = {"lines": [drawn.line], "about": {}, "packages": [drawn.provider], "seconds": RUN_SECONDS, "seconds_each": RUN_SECONDS}
        outcome = run_child(venv.interpreter, PROBE.script, params, timeout=2 * RUN_SECONDS, memory_bytes=PROBE.memory_bytes)
        if outcome.measured is None:
            return row | {"python": python, "word": "open", "said": outcome.failure}
        ruling, said = judge(outcome.measured, params)
        said = re.sub(r" \(/[^()]*\)", "", said)  # where the environment lies
        return row | {"python": python, "word": word_of(drawn.line, ruling, said), "said": said.removeprefix(f"{drawn.line}: ")}
    return row | {"word": "not built", "said": why}


def word_of(line: str, ruling: str, said: str) -> str:
    """``true`` where the last words name what the line takes: a package that is not there fails with other ones."""
    if ruling == "refuted":
        return "false"
    taken = re.split(r"[\s.();,]+", line.strip(" ;"))
    names = {taken[-1]} if "inspect" not in line else set(re.findall(r"\w+(?==None)", line)) | {"argument", "arguments", "Descriptors"}
    # Of a module that is gone what it held is gone as well.
    gone = re.search(r"No module named '([\w.]+)'", said)
    module = re.match(r"(?:from|import) ([\w.]+)", line)
    if ruling == "confirmed" and gone and module and f"{module[1]}.".startswith(f"{gone[1]}."):
        return "true"
    words = set(re.findall(r"\w+", said.removeprefix(line)))
    return "true" if ruling == "confirmed" and names & words else "open"


def run(home: Path, count: int, minutes: float, wheels: Path | None, pythons: Path) -> None:
    interpreters = {one: path for one in ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13") for path in pythons.glob(f"{one}.*/bin/python")}
    done = {row["number"] for row in rows()}
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_")) and name != "VIRTUAL_ENV"}
    venv = Venv(home / "environment", environ=environ | {"UV_CACHE_DIR": str(home / "cache")}, seconds=INSTALL_SECONDS, program=UV)
    home.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + minutes * 60
    for number in range(count):
        if number in done or time.monotonic() > end:
            continue
        drawn = draw(number)
        row = {"word": "nothing told"} if drawn is None else try_out(drawn, venv, interpreters, wheels)
        with KEPT.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"number": number, **row}, separators=(",", ":")) + "\n")
        print(number, row["word"], row.get("line", ""), row.get("said", "")[:120], flush=True)


def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in KEPT.read_text("utf-8").splitlines()] if KEPT.exists() else []


def count() -> None:
    found = rows()
    words = Counter(row["word"] for row in found)
    pairs = {(row["package"], row["provider"]) for row in found if row["word"] in ("true", "false", "open")}
    print(f"{len(found)} drawn over {len(pairs)} pairs of packages: {', '.join(f'{share} {word}' for word, share in words.most_common())}")
    for row in found:
        if row["word"] in ("false", "open"):
            print(f"  {row['word']}: {row['edge']} ({row['provider']} {row['other']}): {row['said'][:160]}")


def main(words: list[str]) -> None:
    parser = argparse.ArgumentParser(description="The lines of Python that show computed findings, run.")
    jobs = parser.add_subparsers(dest="job", required=True)
    running = jobs.add_parser("run", help="draw findings, build environments and run their lines")
    running.add_argument("--home", type=Path, required=True, metavar="DIR", help="where environments are built")
    running.add_argument("--count", type=int, default=100, help="how many findings (default: 100)")
    running.add_argument("--minutes", type=float, default=60.0, help="none is begun after them (default: 60)")
    running.add_argument(
        "--pythons", type=Path, default=Path.home() / ".pyenv/versions", metavar="DIR", help="interpreters, as pyenv lays them"
    )
    running.add_argument("--wheels", type=Path, metavar="DIR", help="wheels beside the index, for torch")
    jobs.add_parser("count", help="what came of them")
    asked = parser.parse_args(words)
    if asked.job == "run":
        run(asked.home.resolve(), asked.count, asked.minutes, asked.wheels, asked.pythons)
    else:
        count()


if __name__ == "__main__":
    main(sys.argv[1:])
