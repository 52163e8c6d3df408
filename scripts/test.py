"""Set up and pass the tests, in an environment of its own.

    python3 scripts/test.py             lint, types, rules, the quick suite: no torch, about 100 MB of tools
    python3 scripts/test.py --coverage  the quick suite again without the laws, watched line by line: at least nine lines in ten are run
    python3 scripts/test.py --laws      the laws alone, with all their examples
    python3 scripts/test.py --large     tests of seconds: files of a size that nobody sends, real children, all that is shipped
    python3 scripts/test.py --probes    the probe tests: real environments with torch, about 1 GB (5 GB where only a CUDA build is found)
    python3 scripts/test.py --network   the tests that ask the package index
    python3 scripts/test.py --fuzz      hostile snapshots for half a minute, hostile input files for ten seconds a reader

Everything is installed into .venv-test beside this project; nothing else is touched. What is installed there stays as it is until
pyproject.toml changes; remove .venv-test to get the newest tools.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-test"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
QUICK = "not probe and not network and not clone and not large"
# What the installed project is made of besides its modules, which are read where they lie.
MADE_OF = ("pyproject.toml", "hatch_build.py", "envdoctor/__init__.py")

SUITE = (PYTHON, "-m", "pytest", "-q", "-n", "auto", "--dist", "worksteal")
# A gate must say the same of the same commit; `pytest` by itself draws examples anew each time.
SAME_EXAMPLES = "--hypothesis-seed=0"

# None of these needs what another one makes, and the tests leave a core idle here and there. The rules are linted by a test.
BESIDE: tuple[tuple[str | Path, ...], ...] = (
    (PYTHON, "-m", "ruff", "check", "."),
    (PYTHON, "-m", "ruff", "format", "--check", "."),
    (PYTHON, "-m", "mypy", "envdoctor", "tests", "scripts", "benchmarks"),
)


def environment() -> dict[str, str]:
    """What is compiled once need not be compiled again by each of a thousand children."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def show(command: tuple[str | Path, ...]) -> list[str]:
    words = [str(word) for word in command]
    print("+", " ".join(words), flush=True)
    return words


def call(*command: str | Path) -> None:
    done = subprocess.run(show(command), cwd=ROOT, env=environment())
    if done.returncode:
        sys.exit(done.returncode)


def listen(command: tuple[str | Path, ...]) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def prepare() -> None:
    made_of = hashlib.sha256(b"\0".join((ROOT / name).read_bytes() for name in MADE_OF)).hexdigest()
    mark = VENV / "made-of"
    if PYTHON.exists() and mark.exists() and mark.read_text() == made_of:
        return
    if not PYTHON.exists():
        call(sys.executable, "-m", "venv", VENV)
    call(PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--editable", ".[dev]")
    mark.write_text(made_of)


def quick() -> int:
    """Everything that a commit must pass: the tests, and beside them what reads the sources."""
    with ThreadPoolExecutor(1) as beside:
        others = [(command, beside.submit(listen, command)) for command in BESIDE]
        status = subprocess.run(show((*SUITE, "-m", QUICK, SAME_EXAMPLES, "tests")), cwd=ROOT, env=environment()).returncode
        for command, other in others:
            show(command)
            print(other.result().stdout, end="", flush=True)
            status = status or other.result().returncode
    print("everything passed" if status == 0 else "not passed: what failed is above")
    return status


def main(words: list[str]) -> int:
    unknown = set(words) - {"--coverage", "--laws", "--large", "--probes", "--network", "--fuzz"}
    if unknown or len(words) > 1:
        print(__doc__)
        return 2
    if sys.version_info < (3, 10):
        print(f"envdoctor itself needs Python 3.10 or later; this is {sys.version.split()[0]} (the environment it examines may be 3.8)")
        return 2
    prepare()
    if not words:
        return quick()
    if words == ["--coverage"]:
        # Being watched takes longer than the tests themselves: the laws, which run each line many times, go unwatched.
        call(*SUITE, "-m", f"not hypothesis and {QUICK}", "--cov", "--cov-report=term:skip-covered", "tests")
    elif words == ["--laws"]:
        call(*SUITE, "-m", f"hypothesis and {QUICK}", "--hypothesis-profile=full", SAME_EXAMPLES, "tests")
    elif words == ["--large"]:
        call(*SUITE, "-m", "large", SAME_EXAMPLES, "tests")
    elif words == ["--probes"]:
        call(PYTHON, "-m", "pytest", "-q", "-m", "probe", "tests")
    elif words == ["--network"]:
        call(PYTHON, "-m", "pytest", "-q", "-m", "network", "tests")
    else:
        # The same seeds each time, as above; by hand each day has others.
        call(PYTHON, "scripts/fuzz_snapshots.py", "--seconds", "30")
        call(PYTHON, "scripts/fuzz_inputs.py", "--seconds", "10", "--seed", "0")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
