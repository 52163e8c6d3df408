"""Feed hostile input files to every reader: no crash, no hang, memory bounded.

    python scripts/fuzz_inputs.py [READER ...] [--seconds 10] [--seed N]

Each reader starts from the small valid files of ``tests/data/inputs`` and a few of its own, and gets them as downloads, editors and
enemies leave them: bytes flipped, lines doubled, cut, shuffled or glued, tokens of other languages, deep nesting, very long lines,
other encodings. ``--seconds`` is the time for each reader. What is checked of every case:

- the reader returns, or raises EnvdoctorError: every other exception is an error of our own;
- at most TIME_LIMIT seconds for a file;
- at most MEMORY_LIMIT more than before while a file is read;
- every text that would be shown is printable, and every line told lies in a file.

A failing case is written to ``fuzz-READER-SEED`` in the working directory, and its seed is printed: the same seed makes it again.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.sources.readers import READERS
from envdoctor.sources.targets import read_target

ROOT = Path(__file__).resolve().parent.parent
SEEDS = ROOT / "tests" / "data" / "inputs"
TIME_LIMIT = 10.0
MEMORY_LIMIT = 300 * 2**20
_MOST_BYTES, _MOST_DOUBLED = 2**20, 8 * 2**20
# The file name by which each reader is chosen.
EXAMPLES = {reader.name: reader.example for reader in READERS}
TOKENS = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\x1b[31m", b"\xe2\x80\xae", b"\xef\xbc\x8c", b"\\\n", b"'''", b'"""',
    b"${", b"${A:-", b"$(", b"<<EOF\n", b"==", b"===", b"~=", b">=", b",", b";", b"@ ", b"[", b"]", b"{", b"}", b"((((", b"#", b"-r ",
    b"-c requirements.txt", b"-e .", b"--hash=sha256:", b"&a [*a]", b"!!python/object:os.system x", b"? ", b"- - - - ", b"<<: *x",
    b"1e999", b"0x7fffffffffffffffffff", b"-inf", b".nan", b"2024-13-45", b"import os\n", b"lambda: 0", b"f'{x}'", b"*args", b"**k",
    b"FROM x AS y\n", b"ARG A=${A}\n", b"RUN ", b"{{ x }}", b"%pip install x\n", b"torch==2.5.0\n",
)  # fmt: skip


def seeds(reader: str, name: str) -> list[bytes]:
    found = [path.read_bytes() for path in sorted(SEEDS.rglob("*")) if path.is_file() and path.name == name]
    if not found:
        sys.exit(f"{reader}: no seed called {name} under {SEEDS.relative_to(ROOT)}")
    return found


def mutated(draw: random.Random, data: bytes, others: list[bytes]) -> bytes:
    body = bytearray(data)
    for _ in range(draw.randint(1, 6)):
        del body[_MOST_BYTES:]
        kind = draw.randrange(10)
        place = draw.randrange(len(body) + 1)
        if kind == 0 and body:
            body[draw.randrange(len(body))] = draw.randrange(256)
        elif kind == 1:
            body[place:place] = draw.choice(TOKENS) * draw.choice((1, 1, 2, 50))
        elif kind == 2:
            del body[place : place + draw.choice((1, 5, 40, 400))]
        elif kind == 3:
            lines = bytes(body).split(b"\n")
            draw.shuffle(lines)
            body = bytearray(b"\n".join(lines))
        elif kind == 4:
            lines = bytes(body).split(b"\n")
            at = min(range(len(lines)), key=lambda n: len(lines[n])) if len(body) > 50_000 else draw.randrange(len(lines))
            # A line of a megabyte two hundred times would be the fuzzer's own memory, and not what a reader makes of a file.
            times = min(draw.choice((2, 3, 200)), max(2, _MOST_DOUBLED // (len(lines[at]) + 1)))
            body = bytearray(b"\n".join([*lines[:at], *([lines[at]] * times), *lines[at + 1 :]]))
        elif kind == 5:
            body[place:place] = draw.choice(others)[: draw.choice((30, 300, 3000))]
        elif kind == 6:
            nest = draw.choice((b"[", b"{", b"(", b"- ", b"${a:-", b'{"a":', b"a:\n ", b"not ", b"-", b"a.", b"'", b"\\"))
            body[place:place] = nest * draw.choice((20, 300, 5000))
        elif kind == 7:
            body[place:place] = draw.choice((b"a", b" ", b"\t", b"=", b",", b"9", b"x,y ", b"a==1 ")) * draw.choice((1000, 30000, 200000))
        elif kind == 8:
            text = bytes(body).decode("utf-8", "replace")
            body = bytearray(text.encode(draw.choice(("utf-16", "utf-16-be", "utf-32", "latin-1", "gbk", "utf-8-sig")), "replace"))
        else:
            body = bytearray(bytes(body).replace(b"\n", draw.choice((b"\r", b"\r\n", b"\x0c", b"\xe2\x80\xa8", b"\\\n", b""))))
    return bytes(body)


def objections(found: Collected, path: Path) -> Iterator[str]:
    texts = [(fact.name, fact.origin.source, fact.origin.line) for fact in found.facts]
    texts += [(defect.detail, defect.rule, defect.line) for defect in found.defects]
    texts += [(skip.what, skip.why, None) for skip in found.skips]
    for one, other, line in texts:
        if any(ord(c) < 32 or ord(c) == 127 for c in one + other.replace(str(path), "")):
            yield f"a text with control characters: {one!r}, {other!r}"
        if line is not None and line < 1:
            yield f"line {line}"


def attempt(path: Path) -> str | None:
    """What is wrong with the reading of one file, or None."""
    start = time.perf_counter()
    try:
        target = read_target(str(path))
    except EnvdoctorError as error:
        told = str(error).replace(str(path), "")
        wrong = "an error with control characters" if any(ord(c) < 32 and c != "\n" for c in told) else None
    else:
        every = (target.collected, *(variant.collected for variant in target.others))
        wrong = next((text for one in every for text in objections(one, path)), None)
    took = time.perf_counter() - start
    return f"{took:.1f} s for one file" if took > TIME_LIMIT else wrong


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {2 * TIME_LIMIT:g} s for one file")


def fuzz(reader: str, seconds: float, seed: int) -> bool:
    name = EXAMPLES[reader]
    valid = seeds(reader, name)
    others = [data for other in EXAMPLES.values() for data in seeds(other, other)]
    end, cases = time.perf_counter() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        while time.perf_counter() < end or cases < 20:
            draw = random.Random(f"{reader}-{seed}")
            data = mutated(draw, draw.choice(valid), others)
            path.write_bytes(data)
            signal.setitimer(signal.ITIMER_REAL, 2 * TIME_LIMIT)
            faulthandler.dump_traceback_later(4 * TIME_LIMIT, exit=True)
            before, had = peak(), resident()
            try:
                wrong = attempt(path)
            except (Exception, RecursionError) as error:  # noqa: BLE001 - this is what is looked for
                wrong = f"{type(error).__name__}: {error}"
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
            if wrong is None and peak() > before and peak() - had > MEMORY_LIMIT:
                wrong = f"{(peak() - had) / 2**20:.0f} MiB for one file"
            if wrong is not None:
                kept = Path(f"fuzz-{reader}-{seed}")
                kept.write_bytes(data)
                print(f"{reader}, seed {seed}: {wrong[:300]}; kept as {kept}")
                return False
            cases, seed = cases + 1, seed + 1
    print(f"{reader}: {cases} cases, peak {peak() / 2**20:.0f} MiB")
    return True


def peak() -> int:
    """The most memory that this process has had so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def resident() -> int:
    """The memory that this process has now, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"one of {', '.join(EXAMPLES)} (default: all)")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="the first seed (default: another one each day)")
    options = parser.parse_args()
    for reader in options.readers:
        if reader not in EXAMPLES:
            parser.error(f"no reader {reader!r}: {', '.join(EXAMPLES)}")
    seed = options.seed if options.seed is not None else int(time.time()) // 86400 * 10**6
    signal.signal(signal.SIGALRM, _too_long)
    results = [fuzz(reader, options.seconds, seed) for reader in options.readers or EXAMPLES]
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
