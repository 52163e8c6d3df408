"""Hold a folder of real remote code against a range of transformers releases, and print what is found.

    python scripts/try_remote_code.py CODE RELEASES [--only TEXT] [--details] [--json FILE]

CODE holds one folder a snapshot; RELEASES one folder a release, named by its version, with a ``site-packages`` in it (an
unpacked wheel is enough). Nothing is imported. Where a folder has no auto_map, the classes that look like entries are taken.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from envdoctor.code.examine import entries_of, examine
from envdoctor.code.library import InstalledLibrary
from envdoctor.sources.model.model_directory import ModelDirectory

_BASE = re.compile(r"PreTrained|Tokenizer|Config|ProcessorMixin|ImageProc")
_MODEL = re.compile(r"For(CausalLM|ConditionalGeneration)$|LMHeadModel$")


def settings_of(folder: Path, name: str) -> dict[str, object]:
    path = folder / name
    data = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return data if isinstance(data, dict) else {}


def entries(folder: Path) -> tuple[str, ...]:
    names = ("config.json", "tokenizer_config.json", "processor_config.json", "preprocessor_config.json")
    mapped = entries_of(*(settings_of(folder, name).get("auto_map") for name in names))
    modules = {entry.rpartition("--")[2].partition(".")[0] for entry in mapped}
    return (*mapped, *(entry for path in sorted(folder.glob("*.py")) if path.stem not in modules for entry in guessed(path)))


def guessed(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    bases = {node.name: [ast.unparse(base) for base in node.bases] for node in classes}
    parents = {base for listed in bases.values() for base in listed}
    ends = [name for name, listed in bases.items() if name not in parents and any(_BASE.search(base) for base in listed)]
    models = [name for name in bases if _MODEL.search(name)]
    yield from (f"{path.stem}.{name}" for name in (models or ends))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("code", type=Path)
    parser.add_argument("releases", type=Path)
    parser.add_argument("--only", default="", help="only snapshots whose folder contains this text")
    parser.add_argument("--release", default="", help="comma-separated releases instead of all")
    parser.add_argument("--details", action="store_true", help="every finding with its line")
    parser.add_argument("--json", type=Path, help="write the findings here as well")
    options = parser.parse_args()
    wanted = set(filter(None, options.release.split(",")))
    releases = sorted((path.name for path in options.releases.iterdir() if (path / "site-packages").is_dir()), key=Version)
    releases = [name for name in releases if not wanted or name in wanted]
    folders = sorted({path.parent for path in options.code.rglob("*.py") if options.only in str(path.parent)})
    libraries = {name: InstalledLibrary([options.releases / name / "site-packages"], {"transformers": name}) for name in releases}
    rows: list[dict[str, object]] = []
    for folder in folders:
        found: dict[str, dict[str, str]] = {}
        label = folder.relative_to(options.code)
        for release, library in libraries.items():
            directory = ModelDirectory(folder)
            for hit in examine(directory, entries(folder), library, settings_of(folder, "config.json")):
                symbol = hit.detail.partition(":")[0]
                place = f"{Path(hit.file or '').name}:{hit.line}"
                found.setdefault(f"{hit.rule.removeprefix('remote-code-')} {symbol} {place}", {})[release] = hit.detail
                row = {"code": str(label), "release": release, "rule": hit.rule, "symbol": symbol, "place": place}
                rows.append({**row, "detail": hit.detail})
        print(f"\n{label}")
        for key, told in sorted(found.items()):
            print(f"  {key}: {spans(list(told), releases)}")
            if options.details:
                print(f"      {list(told.values())[-1]}")
    print(f"\n{len(folders)} folders x {len(releases)} releases; findings by rule: {dict(Counter(str(row['rule']) for row in rows))}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def spans(have: list[str], releases: list[str]) -> str:
    parts: list[list[str]] = []
    for name in releases:
        if name in have:
            if parts and releases.index(parts[-1][-1]) == releases.index(name) - 1:
                parts[-1].append(name)
            else:
                parts.append([name])
    return ", ".join(part[0] if len(part) == 1 else f"{part[0]}..{part[-1]}" for part in parts)


if __name__ == "__main__":
    main()
