"""How fast files are hashed, against what the machine's cores can do and against other tools.

    python benchmarks/hashing.py [--gb 4] [--files 8] [--rounds 5] [--python PYTHON] [--directory DIR]

Files of random bytes are made in a temporary directory, which is removed again, and stay in the page cache. In every round
all contenders run in turn, each in a process of its own: `openssl speed -evp sha256` on one core (16 KiB blocks, counted by
CPU time) times the usable cores, which is the limit; envdoctor on all cores; the loop of `hf cache verify` (huggingface_hub);
model-signing as it comes and with a worker per core. PYTHON has the other tools installed (this interpreter if not given);
what it lacks is left out, and said so.

GB/s are decimal and of the wall clock, the best and the median of the rounds. "of CPU" is what the same work would reach if its
CPU time alone counted: bytes x cores / CPU seconds, children included, at its best. On a machine that others use as well, the wall
clock says little and "of CPU" stays. "again" is the second run with the digest cache, which reads no file.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PIECE = 1 << 20

# Each prints the wall and CPU seconds of hashing all files of sys.argv[1], children that were waited for included.
_TIMED = """
import os, sys, time
root, cores = sys.argv[1], int(sys.argv[2])
paths = sorted(os.path.join(root, name) for name in os.listdir(root))
{before}
cpu, start = sum(os.times()[:4]), time.perf_counter()
{work}
wall = time.perf_counter() - start
print("seconds", wall, sum(os.times()[:4]) - cpu)
"""

_ENVDOCTOR = """
from envdoctor.hashing.pool import Job, digest_all
jobs = [Job(path, False) for path in paths]
def work(**options):
    outcomes = digest_all(jobs, **options)
    assert all(outcome.digest for outcome in outcomes), outcomes
"""

_AGAIN = """
from envdoctor.hashing.cache import DigestCache
from envdoctor.hashing.pool import Job, digest_all
"""

_AGAIN_WORK = """
outcomes = digest_all([Job(path, False) for path in paths], cache=DigestCache.open())
assert all(outcome.cached for outcome in outcomes) == (len(sys.argv) > 3), outcomes
"""

_HF = """
from huggingface_hub.utils.sha import sha_fileobj
"""

_HF_WORK = """
for path in paths:
    with open(path, "rb") as file:
        sha_fileobj(file)
"""

_SIGNING = """
from model_signing.hashing import Config
"""


@dataclass
class Contender:
    """Something that hashes all files; ``python`` and ``code`` are how."""

    name: str
    python: str
    code: str
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def run(self, directory: Path, cores: int, environ: dict[str, str], *more: str) -> tuple[float, float]:
        done = subprocess.run(
            [self.python, "-c", self.code, str(directory), str(cores), *more], capture_output=True, text=True, env=environ, check=False
        )
        if done.returncode:
            sys.exit(f"{self.name} failed:\n{done.stderr}")
        wall, cpu = (float(number) for number in done.stdout.split("seconds")[-1].split())
        return wall, cpu


def openssl_speed() -> float | None:
    """Bytes per second that one core digests by `openssl speed`, in blocks of 16 KiB; None without openssl."""
    if shutil.which("openssl") is None:
        return None
    command = ["openssl", "speed", "-mr", "-evp", "sha256", "-seconds", "1", "-bytes", "16384"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("+F:"))
    return float(line.rsplit(":", 1)[1])


def make_files(directory: Path, count: int, size: int) -> None:
    """Files that differ from each other and within themselves, read once so that they lie in the page cache."""
    piece = os.urandom(PIECE)
    for number in range(count):
        with (directory / f"model-{number + 1:05}-of-{count:05}.safetensors").open("wb") as file:
            for written in range(0, size, PIECE):
                head = number.to_bytes(4, "big") + written.to_bytes(8, "big")
                file.write((head + piece[len(head) :])[: size - written])
            file.flush()
            os.fsync(file.fileno())
    for path in directory.iterdir():
        with path.open("rb", buffering=0) as raw:
            while raw.read(PIECE):
                pass


def contenders(python: str) -> list[Contender]:
    """Those at hand; of the others it is said that they are left out."""
    found = [
        Contender("envdoctor", sys.executable, _TIMED.format(before=_ENVDOCTOR, work="work()")),
        Contender("envdoctor, 1 thread", sys.executable, _TIMED.format(before=_ENVDOCTOR, work="work(threads=1)")),
    ]
    others = [
        ("huggingface_hub.utils.sha", "hf cache verify (its loop)", _TIMED.format(before=_HF, work=_HF_WORK)),
        ("model_signing.hashing", "model-signing", _TIMED.format(before=_SIGNING, work="Config().hash(root)")),
        (
            "model_signing.hashing",
            "model-signing, worker per core",
            _TIMED.format(before=_SIGNING, work="Config().use_file_serialization(max_workers=cores).hash(root)"),
        ),
    ]
    for module, name, code in others:
        tried = subprocess.run([python, "-c", f"import {module}"], capture_output=True, text=True, check=False)
        if tried.returncode:
            print(f"left out: {name}: {(tried.stderr.strip().splitlines() or ['it cannot be imported'])[-1]}")
        else:
            found.append(Contender(name, python, code))
    return found


def table(rows: list[Contender], volume: int, cores: int, limits: list[float]) -> None:
    """Print what was measured, and the ratios that matter."""
    limit = max(limits, default=0.0) * cores
    if limits:
        print(f"{cores} x openssl speed -evp sha256: best {limit / 1e9:.3f} GB/s, median {statistics.median(limits) * cores / 1e9:.3f}")
    else:
        print("left out: openssl speed: no openssl")
    ours = rows[0]
    print(f"{'':32} {'best':>7} {'median':>7} {'of CPU':>7}   of the limit: best, of CPU   envdoctor is x times: best, of CPU")
    for row in rows:
        best, median = (volume / seconds / 1e9 for seconds in (min(row.wall), statistics.median(row.wall)))
        used = 1 if row.name.endswith("1 thread") or "loop" in row.name else cores
        by_cpu = volume * used / min(row.cpu) / 1e9
        of_limit = f"{best * 1e9 / limit:12.1%} {by_cpu * 1e9 / limit:8.1%}" if limit else f"{'-':>12} {'-':>8}"
        ours_by_cpu = volume * cores / min(ours.cpu) / 1e9
        print(
            f"{row.name:32} {best:7.3f} {median:7.3f} {by_cpu:7.3f}   {of_limit}"
            f"{'':18} {min(row.wall) / min(ours.wall):10.2f} {ours_by_cpu / by_cpu:7.2f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gb", type=float, default=4, help="2^30 bytes in all")
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--directory", type=Path, help="where the temporary directory is made")
    options = parser.parse_args()
    size = int(options.gb * (1 << 30)) // options.files
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limits: list[float] = []
    with tempfile.TemporaryDirectory(dir=options.directory) as holder:
        files = Path(holder, "files")
        files.mkdir()
        make_files(files, options.files, size)
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(Path(holder, "cache"))}
        rows = contenders(options.python)
        for number in range(options.rounds):
            speed = openssl_speed()
            if speed is not None:
                limits.append(speed)
            for row in rows[number % len(rows) :] + rows[: number % len(rows)]:
                wall, cpu = row.run(files, cores, environ)
                row.wall.append(wall)
                row.cpu.append(cpu)
        again = Contender("again", sys.executable, _TIMED.format(before=_AGAIN, work=_AGAIN_WORK))
        first = again.run(files, cores, environ)
        seconds = [again.run(files, cores, environ, "known") for _ in range(max(3, options.rounds))]
    print(json.dumps({"gb": options.gb, "files": options.files, "rounds": options.rounds, "cores": cores}))
    table(rows, size * options.files, cores, limits)
    best = min(wall for wall, _ in seconds)
    print(f"again, nothing changed: {best * 1000:.1f} ms, {best / min(first[0], *rows[0].wall):.2%} of the first")
    return 0


if __name__ == "__main__":
    sys.exit(main())
