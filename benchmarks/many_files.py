"""What a check of many requirements files in one run costs, against pip's own reader of the same files.

    python benchmarks/many_files.py [--files 300] [--runs 5]
    python benchmarks/many_files.py --code FOLDER --python ENV [--files 1000] [--runs 1]

Writes FILES requirements files of some 15 lines into a temporary folder: every one another stack out of the releases of three years,
so that few share anything, and some have errors. Runs `envdoctor check --each --offline` over all of them, and beside it a Python that
parses the same lines with packaging. Wall and CPU seconds (median) and peak memory (most) of each child are printed, and the ratio.

With ``--code`` it is the first FILES Python files of a folder, given as scripts of one run against an environment, and beside it a Python
that parses them; what was kept of an earlier run is not used, but for what the first run reads of the installed packages.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PACKAGES = {
    "torch": ("2.0.1", "2.1.2", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0"),
    "transformers": ("4.31.0", "4.36.2", "4.40.2", "4.44.2", "4.46.3", "4.48.3", "4.51.3"),
    "peft": ("0.5.0", "0.7.1", "0.10.0", "0.12.0", "0.13.2", "0.15.2"),
    "accelerate": ("0.21.0", "0.25.0", "0.30.1", "0.34.2", "1.1.1"),
    "trl": ("0.7.4", "0.8.6", "0.9.6", "0.12.2"),
    "bitsandbytes": ("0.41.3", "0.43.1", "0.44.1", "0.45.5"),
    "datasets": ("2.14.7", "2.18.0", "2.21.0", "3.1.0"),
    "numpy": ("1.24.4", "1.26.4", "2.0.2", "2.1.3"),
    "tokenizers": ("0.13.3", "0.15.2", "0.19.1", "0.20.3"),
    "sentencepiece": ("0.1.99", "0.2.0"),
    "protobuf": ("3.20.3", "4.25.5"),
    "huggingface-hub": ("0.16.4", "0.20.3", "0.25.2"),
}
OTHERS = ("tqdm", "pyyaml", "rich>=13", "wandb", "scikit-learn>=1.2", "pandas<3", "fire", "gradio>=3.50", "einops==0.7.0")
BARE = """
import pathlib, sys
from packaging.requirements import Requirement
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.txt")):
    for line in path.read_text().splitlines():
        Requirement(line.partition(" #")[0])
"""


def write(folder: Path, files: int) -> list[str]:
    draw = random.Random(6)
    paths = []
    for number in range(files):
        lines = []
        for name in draw.sample(sorted(PACKAGES), 8):
            release = draw.choice(PACKAGES[name])
            form = draw.choice(("{}=={}", "{}>={}", "{}~={}", "{}=={}  # pinned", "{}<={}", "{}"))
            lines.append(form.format(name, release))
        lines += draw.sample(OTHERS, 6)
        path = folder / f"p{number:03}" / "requirements.txt"
        path.parent.mkdir()
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        paths.append(str(path))
    return paths


def measured(words: list[str], environ: dict[str, str]) -> tuple[float, float, int, str]:
    """Wall seconds, CPU seconds, peak bytes and output of a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return wall, cpu, after.ru_maxrss * 1024, done.stdout


PARSING = """
import ast, sys
for name in sys.stdin.read().split("\\n"):
    ast.parse(open(name, encoding="utf-8").read())
"""


def measure_code(folder: Path, python: str, most: int, runs: int) -> int:
    """CPU seconds of a check of many scripts, and of parsing them alone."""
    paths = sorted(map(str, folder.rglob("*.py")))[:most]
    size = sum(os.path.getsize(path) for path in paths)
    with tempfile.TemporaryDirectory() as cache:
        environ = {**os.environ, "XDG_CACHE_HOME": cache}
        check = [sys.executable, "-m", "envdoctor", "check", "--offline", "--isolated", "--format", "json", "--python", python]
        measured([*check, paths[0]], environ)
        print(f"{len(paths)} files, {size / 1e6:.1f} MB")
        for _ in range(runs):
            for kind in ("verdict", "each"):
                for kept in (Path(cache) / "envdoctor").glob(f"{kind}-*"):
                    kept.unlink()
            parsing = subprocess.run(
                [sys.executable, "-c", f"import resource\n{PARSING}\nprint(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))"],
                input="\n".join(paths), capture_output=True, text=True, check=True,
            )  # fmt: skip
            alone = float(parsing.stdout)
            wall, cpu, peak, _ = measured([*check, *paths], environ)
            again, *_ = measured([*check, *paths], environ)
            print(
                f"{wall:.1f} s wall, {cpu:.1f} s CPU, peak {peak / 2**20:.0f} MiB, {again:.1f} s wall the second time; "
                f"parsing alone {alone:.1f} s CPU: ratio {cpu / alone:.1f}"
            )
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=300)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--code", type=Path, help="a folder of Python files")
    parser.add_argument("--python", help="for --code: an environment")
    options = parser.parse_args()
    if options.code is not None:
        return measure_code(options.code, options.python, options.files, options.runs)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        paths = write(Path(folder), options.files)
        environ = {**os.environ, "XDG_CACHE_HOME": cache}
        check = [sys.executable, "-m", "envdoctor", "check", "--each", "--offline", "--isolated", "--format", "json", *paths]
        bare = [sys.executable, "-c", BARE, folder]
        *_, out = measured(check, environ)
        report = json.loads(out)
        print(f"{options.files} files: {report['summary']['error']} errors, {report['summary']['possible']} possible")
        rows = {
            "check --each": [measured(check, environ) for _ in range(options.runs)],
            "packaging alone": [measured(bare, environ) for _ in range(options.runs)],
        }
        wall = {}
        for name, runs in rows.items():
            wall[name] = statistics.median(run[0] for run in runs)
            cpu = statistics.median(run[1] for run in runs)
            peak = max(run[2] for run in runs) / 2**20
            print(f"{name}: {wall[name]:.2f} s wall, {cpu:.2f} s CPU, peak {peak:.0f} MiB")
        print(f"ratio {wall['check --each'] / wall['packaging alone']:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
