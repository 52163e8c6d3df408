"""How much one must read: lines until the cause, and until the line to paste, of reports that were kept or are printed now.

    python benchmarks/screens.py FILE...              # check each of these requirements files, at 80 columns
    python benchmarks/screens.py --printed REPORT...  # count in what was printed and kept before

A cause is the first line that says of a finding what is wrong; a line to paste is one that installs something. Lines count from 1.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

# The title of a finding stands beside its severity, and stood below it before.
_CAUSE = re.compile(r"^(?:error|warning): (?P<title>.+)|^(?:error|warning)  (?P<id>[\w-]+)$")


def count(report: str) -> tuple[int, int, int, int]:
    """Errors and warnings by their count; lines in all; the first line that says what is wrong; the first line to paste (0: none)."""
    lines = report.rstrip("\n").split("\n")
    found = [(number, match) for number, line in enumerate(lines, 1) if (match := _CAUSE.match(line))]
    counted = re.search(r"^(\d+) errors?, (\d+) warnings?", report, re.MULTILINE)
    findings = int(counted[1]) + int(counted[2]) if counted else 0
    cause = found[0][0] + int(found[0][1]["id"] is not None) if found else 0
    paste = next((number for number, line in enumerate(lines, 1) if re.match(r" +(?:\S+ +)?pip install ", line)), 0)
    return findings, len(lines), cause, paste


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--printed", action="store_true")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args(words)
    print("| file | findings | lines | cause | line to paste |\n|---|---|---|---|---|")
    for file in options.files:
        report = file.read_text(encoding="utf-8") if options.printed else _check(file)
        print(f"| {file} | {' | '.join(map(str, count(report)))} |")
    return 0


def _check(file: Path) -> str:
    command = [sys.executable, "-m", "envdoctor", "check", file.name]
    return subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
