"""The third draw and the later ones of ``own_code/``: which public projects are looked at, and which of their commits and files.

``order LISTS --draw N`` prints the names in the order in which they are taken; LISTS is a file of JSON, of each word the names that an
index of public repositories returned for it. What it printed is kept (``own_code/order-12.txt``): what this repository names grows.
``choose ORDER --draw N --mirrors DIR`` prints the first projects that fit, as ``own_code/projects-12.json`` will have them; DIR has
owner+name/repo, each a git directory.
The rule stands in docs/own-code.md.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEEDS = {
    3: 20261128, 4: 20261129, 5: 20270110, 6: 20270401, 7: 20270601,
    8: 20271202, 9: 20271303, 10: 20271602, 11: 20271607, 12: 20271712,
}  # fmt: skip
MOST = {3: 40, 4: 40, 5: 227, 6: 40, 7: 247, 8: 362, 9: 60, 10: 80, 11: 65, 12: 60}
FIRST = {8: 100, 9: 60, 10: 60, 11: 60, 12: 60}
# Folders that hold code which a tool has made or an installer has put there, by the draw that leaves them out besides.
MADE = dict.fromkeys((9, 10, 11, 12), ("unsloth_compiled_cache/",))
# From this draw on a project is left out of whose Python more than half lies in a project that was taken before it.
COPIES = 10
COMMITS = 15
EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
FILES = 150
# The name says another language, or no training.
OTHER = re.compile(
    r"(?i)sdk|webui|web-ui|\bgui\b|cpp|java|rust|swift|\bgo\b|android|\bios\b|\bapi\b|server|docker|awesome|paper|survey|node|\.js|typescript|plugin|extension|comfyui|chat-?ui|mobile|flutter|unity|frontend|fpga"
)
FAMILY = "transformers|trl|peft|datasets|accelerate|diffusers|torch|numpy"
PINS = re.compile(rf"(?im)^[\s\"'-]*(?:{FAMILY})(?:\[[\w,]+\])?\s*==\s*[0-9]")
IMPORTS = re.compile(rf"(?m)^\s*(?:from|import)\s+(?:{FAMILY})\b")
LIST = re.compile(r"(?i)(?:.*/)?(?:[^/]*requirements[^/]*\.txt|pyproject\.toml|setup\.cfg|environment[^/]*\.ya?ml)")


def order(lists: dict[str, list[str]], draw: int) -> list[str]:
    """All names of the lists, shuffled, without those that anything here knows of."""
    known = "\n".join(
        path.read_text(encoding="utf-8", errors="replace").lower()
        for folder in ("docs", "rules", "benchmarks", "README.md", "CHANGELOG.md")
        for path in ([ROOT / folder] if (ROOT / folder).is_file() else sorted((ROOT / folder).rglob("*")))
        if path.is_file()
        and path.suffix in (".md", ".toml", ".json", ".jsonl", ".py")
        and path.name not in (f"lists-{draw}.json", f"projects-{draw}.json")
    )
    names = [name for some in lists.values() for name in some[: FIRST.get(draw, 30)]]
    names = [name for name in dict.fromkeys(names) if name.lower() not in known and not OTHER.search(name)]
    random.Random(SEEDS[draw]).shuffle(names)
    return names


def git(place: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(place), *words], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def choose(name: str, place: Path, number: int) -> dict[str, object] | None:
    """The first of the commits drawn that has a list which pins, and a script which imports; the files of it."""
    draw = random.Random(f"{SEEDS[number]} {name}")
    left_out = ("site-packages/", *MADE.get(number, ()))
    commits = git(place, "rev-list", "--all").split()
    for commit in draw.sample(commits, min(COMMITS, len(commits))):
        listed = git(place, "ls-tree", "-r", "--name-only", "-z", commit).split("\0")
        files = [one for one in listed if one and not any(part in one for part in left_out)]
        pins = [one for one in files if LIST.fullmatch(one) and PINS.search(git(place, "cat-file", "blob", f"{commit}:{one}"))]
        scripts = [one for one in files if one.endswith((".py", ".ipynb"))] if pins else []
        chosen = sorted(draw.sample(scripts, min(FILES, len(scripts))))
        if any(IMPORTS.search(git(place, "cat-file", "blob", f"{commit}:{one}")) for one in chosen if one.endswith(".py")):
            day = git(place, "rev-list", "--max-count=1", "--no-commit-header", "--format=%cs", commit).strip()
            return {"repo": name, "commit": commit, "day": day, "pins": pins, "files": chosen}
    return None


def scripts_at(place: Path, commit: object) -> set[str]:
    """The contents of all that is Python in a project at a commit, but for empty files, as the names that git has for them."""
    listed = [one.split("\t", 1) for one in git(place, "ls-tree", "-r", "-z", str(commit)).split("\0") if one]
    return {head.split()[2] for head, name in listed if name.endswith((".py", ".ipynb"))} - {EMPTY}


def held(place: Path) -> set[str]:
    """All that a project ever held, as the names that git has for it; a snapshot may lack its largest files."""
    return {one.partition(" ")[0] for one in git(place, "rev-list", "--all", "--objects", "--missing=allow-any").splitlines()}


def is_copy(own: set[str], others: Iterable[set[str]]) -> bool:
    """Whether more than half of a project's Python lies in one of the others, at any of its commits."""
    return any(2 * len(own & other) > len(own) for other in others)


def main() -> int:
    """Run one of the two steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("order", "choose"))
    parser.add_argument("place", type=Path, help="LISTS or ORDER")
    parser.add_argument("--draw", type=int, choices=tuple(SEEDS), default=max(SEEDS))
    parser.add_argument("--mirrors", type=Path, help="for choose: a folder with owner+name/repo")
    options = parser.parse_args()
    text = options.place.read_text(encoding="utf-8")
    if options.step == "order":
        print("\n".join(order(json.loads(text), options.draw)))
        return 0
    names = text.split()
    found: list[dict[str, object]] = []
    before: list[set[str]] = []
    looked = there = 0
    for name in names:
        if len(found) == MOST[options.draw]:
            break
        looked += 1
        mirror = options.mirrors / name.replace("/", "+") / "repo"
        if mirror.is_dir():
            there += 1
            project = choose(name, mirror, options.draw)
            if project is None:
                continue
            if options.draw >= COPIES:
                if is_copy(scripts_at(mirror, project["commit"]), before):
                    print(f"{name} is a copy", file=sys.stderr)
                    continue
                before.append(held(mirror))
            found.append(project)
    print(json.dumps(found))
    print(f"{len(found)} of {there} with a snapshot, of {looked} names", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
