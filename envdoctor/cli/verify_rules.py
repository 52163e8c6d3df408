"""``envdoctor rules verify``: check the claims of rules on the released wheels."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from envdoctor.boundaries import Boundary, UnreadableClaimError, boundary_of, holds_in
from envdoctor.errors import EnvdoctorError
from envdoctor.releases import release_texts
from envdoctor.report.plain import printable
from envdoctor.rulebook import cache_directory, rule_files, shipped_rules
from envdoctor.toml import read_toml


def run(options: argparse.Namespace) -> int:
    """Print every claim with what was seen; exit status 1 when one no longer holds.

    The wheels are downloaded by package name with pip and kept in the cache directory.
    """
    if options.offline:
        raise EnvdoctorError("rules verify", found="--offline", expected="a network: released wheels are downloaded", next_step="leave --offline out")
    wrong = checked = 0
    for path in [file for text in options.paths or [str(shipped_rules())] for file in _files(Path(text))]:
        for table in read_toml(path).get("boundary", []):
            checked += 1
            problem = _problem(boundary_of(table))
            wrong += problem is not None
            boundary = boundary_of(table)
            side = f"first {boundary.first}" if boundary.first else f"last {boundary.last}"
            print(printable(f"{'ok   ' if problem is None else 'WRONG'} {path.stem}: {boundary.package} {side}: {boundary.claim} {boundary.text}"))
            if problem is not None:
                print(printable(f"      {problem}"))
    print(f"{checked} claims, {wrong} wrong")
    return int(wrong > 0)


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else rule_files(path)


def _problem(boundary: Boundary) -> str | None:
    """What contradicts the claim, or None where both sides of the bound were seen to be as claimed."""
    try:
        other = boundary.neighbour(release_texts(boundary.package))
        if not holds_in(boundary, _wheel(boundary.package, boundary.release())):
            return f"not true of {boundary.release()}"
        if other is not None and holds_in(boundary, _wheel(boundary.package, other)):
            return f"true of {other} as well"
    except UnreadableClaimError as error:
        return str(error)
    return None


def _wheel(package: str, release: str) -> Path:
    """The wheel of a release, downloaded once.

    Raises:
        EnvdoctorError: pip cannot have it.
    """
    folder = cache_directory() / "wheels" / f"{package}-{release}"
    found = sorted(folder.glob("*.whl"))
    if not found:
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--ignore-requires-python", "-d", str(folder)]
        done = subprocess.run([*command, f"{package}=={release}"], capture_output=True, text=True, check=False)
        found = sorted(folder.glob("*.whl"))
        if not found:
            reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise EnvdoctorError(f"{package} {release}", found=reason, expected="a wheel that pip can download", next_step="check the network")
    return found[0]
