"""Ask the package index, through uv, what the releases of the tracked packages require, and bundle the answer.

    python scripts/refresh_dependencies.py [NAME ...] [--jobs 2] [--cache DIR] [--output FILE]

What a release requires never changes once it is out, so that only releases that are not in the bundle yet are asked for; releases and
their Pythons are those of `envdoctor/data/releases.json`, which `scripts/refresh_releases.py` makes. uv is given exact pins to resolve
and reads the metadata of each as it always does, from the index's metadata files or the end of the wheel; nothing is built or
installed, and whether the pins agree with each other does not matter. The metadata lies in uv's cache then. Kept of it are
the requirements of no extra that bound a version. A release that comes without a wheel, or whose wheels uv cannot use under any of a
few Pythons on Linux, is left out: nothing is known of it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from envdoctor.environments import uv_command, uv_environ
from envdoctor.releases import as_of, releases, tracked

BUNDLE = Path(__file__).resolve().parent.parent / "envdoctor" / "data" / "dependencies.json"
PYTHONS = ("3.10", "3.8", "3.7", "3.12", "3.6")
PLATFORM = "x86_64-manylinux_2_40"
TIMEOUT_S = 300
# How many pins a run is given, and which of a release's Pythons. Pins that contradict each other end a run before all were read: what is
# left goes again in smaller company, at last alone.
ROUNDS = ((12, 0), (4, 0), (1, 0), (12, 1), (1, 1), (12, 2), (1, 2))


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a wheel says of itself, as far as it is kept."""

    name: str
    version: str
    requires: tuple[str, ...]


class _NotMetadataError(Exception):
    """Bytes that are not what uv keeps of a wheel."""


def read_cached(data: bytes) -> Metadata:
    """A wheel's metadata as uv's cache has it: a msgpack array of name, version, requirements, and more that is not read.

    Raises:
        ValueError: it is something else.
    """
    try:
        _, at = _head(data, 0, 0x90, 0x0F, {0xDC: 2, 0xDD: 4})
        name, at = _text(data, at)
        version, at = _text(data, at)
        count, at = _head(data, at, 0x90, 0x0F, {0xDC: 2, 0xDD: 4})
        requires = []
        for _ in range(count):
            text, at = _text(data, at)
            requires.append(text)
    except (_NotMetadataError, IndexError, UnicodeDecodeError):
        raise ValueError("not what uv keeps of a wheel's metadata") from None
    return Metadata(name, version, tuple(requires))


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = _head(data, at, 0xA0, 0x1F, {0xD9: 1, 0xDA: 2, 0xDB: 4})
    if at + size > len(data):
        raise _NotMetadataError
    return data[at : at + size].decode(), at + size


def _head(data: bytes, at: int, short: int, mask: int, long: Mapping[int, int]) -> tuple[int, int]:
    """The length of an array or a text, and where its content starts."""
    byte = data[at]
    if byte & ~mask == short:
        return byte & mask, at + 1
    if byte not in long:
        raise _NotMetadataError
    end = at + 1 + long[byte]
    return int.from_bytes(data[at + 1 : end], "big"), end


def kept(requires: Iterable[str]) -> list[str]:
    """The requirements that are of no extra and bound a version: ``name specifier`` with the marker behind ``;``, in order.

    One that cannot be read, or that is taken from a URL, bounds nothing that is known.
    """
    found = []
    for line in requires:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        marker = str(requirement.marker) if requirement.marker else ""
        if requirement.url or not requirement.specifier or "extra" in marker:
            continue
        found.append(canonicalize_name(requirement.name) + str(requirement.specifier) + (f" ; {marker}" if marker else ""))
    return sorted(set(found))


def pythons(requires_python: str | None) -> list[str]:
    """The Pythons to try a release under, likeliest first."""
    try:
        admitted = SpecifierSet(requires_python or "")
    except InvalidSpecifier:
        return list(PYTHONS)
    return [python for python in PYTHONS if admitted.contains(f"{python}.99") or admitted.contains(f"{python}.0")]


def batches(wanted: Iterable[tuple[str, str]], size: int) -> Iterator[list[tuple[str, str]]]:
    """Groups of releases of different packages, which one run of uv can be asked for together."""
    by_package: dict[str, list[str]] = defaultdict(list)
    for name, version in wanted:
        by_package[name].append(version)
    while by_package:
        names = sorted(by_package, key=lambda name: -len(by_package[name]))[:size]
        yield [(name, by_package[name].pop()) for name in names]
        by_package = defaultdict(list, {name: rest for name, rest in by_package.items() if rest})


def ask(pins: Sequence[tuple[str, str]], python: str, cache: Path) -> None:
    """Have uv read the metadata of some releases into its cache; it does not matter what it makes of them together."""
    words = ["pip", "compile", "-", "--no-build", "--quiet", "--no-header", "--no-config", "--python-version", python]
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(
            [*uv_command("refresh_dependencies.py"), *words, "--python-platform", PLATFORM, "--cache-dir", str(cache.resolve())],
            input="".join(f"{name}=={version}\n" for name, version in pins),
            env={**uv_environ(os.environ), "UV_PYTHON_DOWNLOADS": "never"},
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )


def cached(cache: Path, name: str) -> dict[str, list[str]]:
    """What the cache has of a package, by version."""
    found = {}
    for path in sorted(cache.glob(f"wheels-*/*/{name}/*.msgpack")):
        metadata = read_cached(path.read_bytes())
        if canonicalize_name(metadata.name) == name:
            found[metadata.version] = kept(metadata.requires)
    return found


def render(today: str, listed: str, packages: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """The bundle as JSON, every different requirement once and one package a line.

    ``today`` and ``listed`` are the days on which it and the list of releases were made. A package's rows are places in
    ``requirements``, and the versions that require just these.
    """
    texts = sorted({line for table in packages.values() for lines in table.values() for line in lines})
    place = {line: number for number, line in enumerate(texts)}
    lines = []
    for name in sorted(packages):
        rows: dict[tuple[int, ...], list[str]] = {}
        for version, requires in packages[name].items():
            rows.setdefault(tuple(place[line] for line in requires), []).append(version)
        lines.append(f"  {json.dumps(name)}: {json.dumps([[list(row), ' '.join(versions)] for row, versions in rows.items()])}")
    said = ",\n  ".join(map(json.dumps, texts))
    days = f' "as_of": {json.dumps(today)},\n "releases_as_of": {json.dumps(listed)},\n'
    return f'{{\n{days} "requirements": [\n  {said}\n ],\n "packages": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def read_bundle(path: Path) -> dict[str, dict[str, list[str]]]:
    """What each release of each package requires; nothing where there is no bundle yet."""
    if not path.exists():
        return {}
    bundle = json.loads(path.read_text(encoding="utf-8"))
    texts = bundle["requirements"]
    return {
        name: {version: [texts[number] for number in row] for row, versions in rows for version in versions.split()}
        for name, rows in bundle["packages"].items()
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", help="packages to refresh; default: all that are tracked")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="runs of uv at a time (default: 2)")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="uv's cache to read into; default: one that is removed afterwards")
    parser.add_argument("--output", metavar="FILE", type=Path, default=BUNDLE)
    options = parser.parse_args(arguments)
    names = sorted({canonicalize_name(name) for name in options.names or tracked()})
    packages = read_bundle(options.output)
    with tempfile.TemporaryDirectory() as temporary:
        cache = options.cache or Path(temporary)
        wanted = {
            (name, release.version): pythons(release.requires_python)
            for name in names
            for release in releases(name)
            if release.wheel and release.version not in packages.get(name, {})
        }
        asked = len(wanted)
        for size, turn in ROUNDS:
            by_python: dict[str, list[tuple[str, str]]] = defaultdict(list)
            for release_, under in wanted.items():
                if turn < len(under):
                    by_python[under[turn]].append(release_)
            runs = [(batch, python) for python, some in by_python.items() for batch in batches(some, size)]
            if runs:
                print(f"{len(wanted)} releases to read, {len(runs)} runs of uv", flush=True)
            with ThreadPoolExecutor(options.jobs) as pool:
                list(pool.map(lambda run: ask(run[0], run[1], cache), runs))
            for name in names:
                packages.setdefault(name, {}).update(cached(cache, name))
            wanted = {key: under for key, under in wanted.items() if key[1] not in packages[key[0]]}
    known = {name: {r.version: packages[name][r.version] for r in releases(name) if r.version in packages[name]} for name in packages}
    today = datetime.now(timezone.utc).date().isoformat()
    options.output.write_text(render(today, as_of(), known), encoding="utf-8", newline="\n")
    for name in names:
        print(f"{name}: {len(known[name])} of {len(releases(name))} releases")
    print(f"{asked - len(wanted)} of {asked} releases read; {options.output.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
