"""PCBench without running a case: is the call of each case compatible with the newer release, by the signatures of the atlas?

``score MIRROR`` judges the cases of a git directory of PCART-tools/PCBench. The releases that PCBench names are older than the atlas, or
lie between those that it has: their wheels are read into a pack first, in the way of any private wheel, and ``ENVDOCTOR_ATLAS`` names it:

    envdoctor atlas build --from WHEELS --output PACK
    ENVDOCTOR_ATLAS=PACK python benchmarks/pcbench.py score MIRROR --part development --show

Which half an API is of is told by a hash of its folder, so that no API is in both.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from envdoctor.atlas.missing import missing, refusal_at, signature_at, split
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.signatures import of_call, read, read_call, shifted
from envdoctor.atlas.volume import Volume

COMMIT = "3a64e2b7"
LIBRARIES = ("torch", "transformers", "numpy", "pandas")
_CASE = re.compile(r"Benchmark/([^/]+)/(.+?)@([^/@]+)-([^/@-]+)/[^/]+#\d+([YN])[YN]/.+\.py")
# How PCBench calls what is imported by another name.
_CALLED = {
    "DataLoader": "torch.utils.data.DataLoader",
    "Styler": "pandas.io.formats.style.Styler",
    "explode": "pandas.DataFrame.explode",
    "melt": "pandas.DataFrame.melt",
}


@dataclass(frozen=True)
class Case:
    """One script, the API that it calls and the two releases; ``compatible`` is what PCBench says."""

    path: str
    library: str
    api: str
    old: str
    new: str
    compatible: bool
    text: str

    @property
    def part(self) -> str:
        """The half that its API is of."""
        folder = f"{self.library}/{self.api}@{self.old}-{self.new}"
        return "judged" if hashlib.sha256(folder.encode()).digest()[0] & 1 else "development"


def main() -> int:
    """Score one half."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("score",))
    parser.add_argument("mirror", type=Path, help="a git directory of PCART-tools/PCBench")
    parser.add_argument("--part", choices=("development", "judged"), default="development")
    parser.add_argument("--show", action="store_true", help="print what was judged wrongly, as lines of JSON")
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    for case in cases(options.mirror):
        if case.part != options.part:
            continue
        verdict, why = judge(case)
        expected = "compatible" if case.compatible else "incompatible"
        counts.setdefault(case.library, Counter())[f"{expected} {verdict}"] += 1
        if options.show and verdict != expected:
            print(json.dumps({"path": case.path, "expected": expected, "said": verdict, "why": why}))
    for library in (*sorted(counts), "all"):
        found = counts.get(library) or sum(counts.values(), Counter())
        print(f"{library}: {told(found)}", file=sys.stderr)
    return 0


def told(found: Counter[str]) -> str:
    """Figures of one library: incompatible is what is to be found; silent counts as compatible."""
    hit, miss = found["incompatible incompatible"], found["incompatible compatible"] + found["incompatible silent"]
    false = found["compatible incompatible"]
    right = hit + found["compatible compatible"] + found["compatible silent"]
    total = sum(found.values())
    measure = 2 * hit / (2 * hit + miss + false) if hit + miss + false else 1.0
    silent = found["compatible silent"] + found["incompatible silent"]
    return f"n {total}, incompatible {hit + miss}, found {hit}, false {false}, silent {silent}, F {measure:.1%}, right {right / total:.1%}"


def cases(mirror: Path) -> Iterator[Case]:
    """The cases of the four libraries, each script once."""
    git = ["git", "-C", str(mirror)]
    listed = subprocess.run([*git, "ls-tree", "-r", "--name-only", COMMIT], capture_output=True, text=True, check=True).stdout
    found = [match for path in listed.splitlines() if (match := _CASE.fullmatch(path)) and match[1] in LIBRARIES]
    asked = "".join(f"{COMMIT}:{match[0]}\n" for match in found).encode()
    data = subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True).stdout
    for match in found:
        head, _, data = data.partition(b"\n")
        size = int(head.split()[2])
        yield Case(match[0], match[1], match[2], match[3], match[4], match[5] == "Y", data[:size].decode("utf-8", "replace"))
        data = data[size + 1 :]


def judge(case: Case) -> tuple[str, str]:
    """Whether all calls of the API are compatible, and why not; silent where the atlas does not know one of the releases or signatures."""
    bound = open_package(case.library)
    calls = list(calls_of(case))
    if bound is None or not calls or not {case.old, case.new} <= bound.volume.places.keys():
        return "silent", "no call" if bound else "no such release"
    volume = bound.volume
    name = full_name(volume, case)
    module, first, rest = split(volume, name)
    before, after = (volume.places[one] for one in (case.old, case.new))
    if missing(volume, name, imported=False) >> after & 1:
        return "incompatible", f"{name} is not there"
    texts = [signature_at(volume, module, first, rest[:1], place) for place in (before, after)]
    old, new = map(read, texts)
    if old is None or new is None:
        return "silent", f"{name}: no signature in {case.old if old is None else case.new}"
    for call in map(read_call, map(of_call, calls)):
        why = refusal_at(volume, texts[1], call, after) or ", ".join(shifted(old, new, call))
        if why and refusal_at(volume, texts[0], call, before) is None:
            return "incompatible", why
    return "compatible", ""


def full_name(volume: Volume, case: Case) -> str:
    """The API as it is imported; its first part may be a class of the library."""
    first, dot, rest = case.api.partition(".")
    name = f"{_CALLED[first]}{dot}{rest}" if first in _CALLED else case.api
    return name if name.partition(".")[0] in volume.tops else f"{case.library}.{name}"


def calls_of(case: Case) -> Iterator[ast.Call]:
    """The calls of a script by the last part of the API's name."""
    last = case.api.rpartition(".")[2]
    for node in ast.walk(ast.parse(case.text)):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
            if called == last or (last == "forward" and called == "model"):
                yield node


if __name__ == "__main__":
    sys.exit(main())
