"""Set up and pass the tests, in an environment of its own.

    python3 scripts/test.py             lint, types, the quick suite: no torch, about 100 MB of tools
    python3 scripts/test.py --probes    the probe tests: real environments with torch, about 1 GB (5 GB where only a CUDA build is found)
    python3 scripts/test.py --network   the tests that ask the package index
    python3 scripts/test.py --fuzz      hostile snapshots for half a minute, hostile input files for ten seconds a reader

Everything is installed into .venv-test beside this project; nothing else is touched.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-test"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
QUICK = "not probe and not network"


def call(*command: str | Path) -> None:
    print("+", " ".join(map(str, command)), flush=True)
    # What is compiled once need not be compiled again by each of a thousand children.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run([str(word) for word in command], cwd=ROOT, env=environ)
    if done.returncode:
        sys.exit(done.returncode)


def prepare() -> None:
    if not (BIN / "python").exists() and not (BIN / "python.exe").exists():
        call(sys.executable, "-m", "venv", VENV)
    call(BIN / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", ".[dev]")


def main(words: list[str]) -> int:
    unknown = set(words) - {"--probes", "--network", "--fuzz"}
    if unknown:
        print(__doc__)
        return 2
    if sys.version_info < (3, 10):
        print(f"envdoctor itself needs Python 3.10 or later; this is {sys.version.split()[0]} (the environment it examines may be 3.8)")
        return 2
    prepare()
    python = BIN / "python"
    if "--probes" in words:
        call(python, "-m", "pytest", "-q", "-m", "probe", "tests")
        return 0
    if "--network" in words:
        call(python, "-m", "pytest", "-q", "-m", "network", "tests")
        return 0
    if "--fuzz" in words:
        # The same seeds each time, as below; by hand each day has others.
        call(python, "scripts/fuzz_snapshots.py", "--seconds", "30")
        call(python, "scripts/fuzz_inputs.py", "--seconds", "10", "--seed", "0")
        return 0
    call(python, "-m", "ruff", "check", ".")
    call(python, "-m", "ruff", "format", "--check", ".")
    call(python, "-m", "mypy", "envdoctor", "tests", "scripts", "benchmarks")
    call(BIN / "envdoctor", "rules", "lint", "rules")
    suite = (python, "-m", "pytest", "-q", "-n", "auto", "--dist", "loadfile")
    # Being watched line by line takes longer than the tests themselves: the laws, which run each line a hundred times, go unwatched and
    # get all their examples for it. A gate must say the same of the same commit; `pytest` by itself draws anew each time.
    call(*suite, "-m", f"not hypothesis and {QUICK}", "--cov", "--cov-report=term:skip-covered", "tests")
    call(*suite, "-m", f"hypothesis and {QUICK}", "--hypothesis-profile=full", "--hypothesis-seed=0", "tests")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
