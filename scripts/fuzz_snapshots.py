"""Feed hostile snapshots to check, lock and verify: no crash, no hang, nothing written elsewhere, memory bounded.

    python scripts/fuzz_snapshots.py [--seconds 30] [--seed N] [--keep DIR]

Each case is a small valid snapshot to which a few things were done that downloads, disks and enemies do: bytes flipped, files cut,
header lengths and offsets changed, JSON nested or blown up, sparse giants, links in circles or out of the directory, names with escapes,
pipes, files that change while they are read. A child process runs the commands on one case after the other; the parent watches its
time and its memory. What is checked of every case:

- exit status 0, 1 or 2 (3 is an error of our own), in JSON one object;
- at most TIME_LIMIT seconds for a command;
- a peak of at most MEMORY_LIMIT for a process that has read A_PROCESS snapshots: how many there is time for is the machine's affair;
- nothing written but the lock and the cache.

A failing case is kept (``--keep``, default a folder beside the temporary one) and its seed is printed: the same seed makes it again.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import random
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ("chatglm3-6b", "glm-4-9b-chat-hf", "llama-2-7b-hf", "qwen2.5-0.5b-instruct", "damaged/truncated", "damaged/missing-shard")
TIME_LIMIT = 20.0
MEMORY_LIMIT = 300 * 2**20
A_PROCESS = 50
LARGE = 2**30

Mutation = Callable[[random.Random, Path], None]


def some_file(draw: random.Random, folder: Path, *endings: str) -> Path | None:
    # What was made a sparse giant is not read whole again.
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.stat().st_size < 10**8)
    chosen = [path for path in files if not endings or path.name.endswith(endings)]
    return draw.choice(chosen) if chosen else None


def flip(draw: random.Random, folder: Path) -> None:
    path = some_file(draw, folder)
    if path is not None and path.stat().st_size:
        data = bytearray(path.read_bytes())
        for _ in range(draw.randint(1, 8)):
            data[draw.randrange(min(len(data), 4096))] = draw.randrange(256)
        path.write_bytes(data)


def cut(draw: random.Random, folder: Path) -> None:
    path = some_file(draw, folder)
    if path is not None:
        os.truncate(path, draw.randint(0, path.stat().st_size))


def header_length(draw: random.Random, folder: Path) -> None:
    path = some_file(draw, folder, ".safetensors")
    if path is not None:
        length = draw.choice((0, 1, 7, 2**16, 10**8 - 1, 10**8, 10**8 + 1, 2**31, 2**63, 2**64 - 1))
        data = path.read_bytes()
        path.write_bytes(struct.pack("<Q", length) + data[8:])


def dense_header(draw: random.Random, folder: Path) -> None:
    """As many tensors as fit: what a header of some MB can cost."""
    path = some_file(draw, folder, ".safetensors")
    if path is not None:
        count = draw.choice((10, 10_000, 200_000))
        header = json.dumps({f"t{n}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for n in range(count)}, separators=(",", ":"))
        path.write_bytes(struct.pack("<Q", len(header)) + header.encode())


def offsets(draw: random.Random, folder: Path) -> None:
    path = some_file(draw, folder, ".safetensors")
    if path is not None:
        data = path.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        try:
            header = json.loads(data[8 : 8 + length])
            name = draw.choice([key for key in header if key != "__metadata__"])
            header[name][draw.choice(("shape", "data_offsets", "dtype"))] = draw.choice(
                ([0, 2**63], [-1, 4], [], "F16", None, [2**40, 2**40], {"a": 1}, [[1]], [1.5, 2], "\x1b[31m")
            )
        except (ValueError, KeyError, IndexError, TypeError, RecursionError):
            return
        raw = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(raw)) + raw + data[8 + length :])


def json_value(draw: random.Random, folder: Path) -> None:
    """One value of a configuration file replaced by another kind."""
    path = some_file(draw, folder, ".json")
    if path is None:
        return
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        key = draw.choice(sorted(value))
    except (ValueError, IndexError, TypeError, AttributeError, RecursionError):
        return
    value[key] = draw.choice(
        (
            None,
            [],
            {},
            -1,
            2**70,
            1e308,
            "",
            "x" * 100_000,
            "../../etc/passwd",
            "\x1b]0;owned\x07",
            ["\u202e"],
            {"a": {"b": [1]}},
            [[[]]],
            True,
        )
    )
    path.write_text(json.dumps(value), encoding="utf-8")


def json_bomb(draw: random.Random, folder: Path) -> None:
    path = some_file(draw, folder, ".json")
    if path is not None:
        size = draw.choice((1_000, 100_000, 2_000_000))
        path.write_text(
            draw.choice(
                (
                    "[" * size,
                    '{"a":' * size,
                    "[" + "{}," * size + "1]",
                    '{"a": "' + "\\u0041" * size + '"}',
                    "9" * size,
                    "{" + '"a":1,' * size + '"a":2}',
                )
            ),
            encoding="utf-8",
        )


def sparse_giant(draw: random.Random, folder: Path) -> None:
    path = some_file(draw, folder)
    if path is not None:
        os.truncate(path, draw.choice((10**7, 10**7, 10**8, 10**10)))


def python_bomb(draw: random.Random, folder: Path) -> None:
    path = some_file(draw, folder, ".py") or folder / "modeling_evil.py"
    size = draw.choice((100, 5_000, 100_000))
    path.write_text(
        draw.choice(
            (
                "(" * size,
                "x = " + "-" * size + "1\n",
                "x = " + "1+" * size + "1\n",
                "class A(" + "A," * size + "): pass\n",
                "def f():\n" + "".join(" " * (n % 90) + "if x:\n" for n in range(min(size, 95))),
                "import transformers\n" * size,
                "# -*- coding: utf-7 -*-\nopen('owned','w')\n",
                "\0" * size,
            )
        ),
        encoding="utf-8",
    )


def links(draw: random.Random, folder: Path) -> None:
    name = draw.choice(("loop", "config.json", "model.safetensors", "tokenizer.json", "sub"))
    path = folder / name
    if path.is_dir() and not path.is_symlink():
        return
    path.unlink(missing_ok=True)
    path.symlink_to(
        draw.choice(
            (
                ".",
                "..",
                "loop",
                "/",
                "/etc/passwd",
                "/dev/zero",
                "/proc/self/mem",
                "no such file",
                "x" * 250,
                str(folder.parent / "outside.txt"),
            )
        )
    )


def names(draw: random.Random, folder: Path) -> None:
    name = draw.choice(
        ("a\nb.json", "\x1b[2Jx.py", "..x", " ", "-rf", "tokenizer\u202e.json", "é" * 60, "model-00001-of-99999.safetensors", "x" * 250)
    )
    (folder / name).write_bytes(draw.choice((b"", b"{}", b"\xff\xfe", b"version https://git-lfs.github.com/spec/v1\n")))
    if draw.random() < 0.3:
        try:
            os.mkdir(os.fsencode(folder) + b"/\xff\xfe.d")
        except OSError:
            return


def odd_kinds(draw: random.Random, folder: Path) -> None:
    path = folder / draw.choice(("config.json", "generation_config.json", "modeling_x.py", "model.safetensors", "tokenizer.json", "x.lock"))
    if path.is_dir() and not path.is_symlink():
        return
    path.unlink(missing_ok=True)
    if draw.random() < 0.5:
        os.mkfifo(path)
    else:
        path.mkdir()


def deep(draw: random.Random, folder: Path) -> None:
    path = folder
    for _ in range(draw.choice((5, 100))):
        path = path / "d"
    path.mkdir(parents=True, exist_ok=True)
    (path / "config.json").write_text("{}")


def crowd(draw: random.Random, folder: Path) -> None:
    for number in range(draw.choice((100, 3000))):
        (folder / f"part-{number}.bin").touch()


def index_names(draw: random.Random, folder: Path) -> None:
    tensors = {
        f"t{n}": draw.choice(("../x", "/etc/passwd", "model.safetensors", "\0", "a" * 5000, "\x1b[31m", ".", ""))
        for n in range(draw.choice((1, 50)))
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": -1}, "weight_map": tensors}))


def bad_lock(draw: random.Random, folder: Path) -> None:
    path = folder / "envdoctor.lock"
    if path.is_dir():
        return
    path.unlink(missing_ok=True)
    path.write_text(
        draw.choice(
            (
                "",
                "x = [",
                "format = 1\n" * 3,
                "format = 1\n[files]\n'../../x' = { size = -1 }\n",
                "format = 1\n[files]\n'config.json' = { size = 1 }\n",
                f"format = 1\n[files]\n'config.json' = {{ size = 1, sha256 = '{'0' * 64}' }}\n[fields.'config.json']\n'\\u001b[2J' = '1'\n",
                "".join(["format = 1\n[files]\n", *(f"'{n}' = {{ size = 0, sha256 = '{'0' * 64}' }}\n" for n in range(20_000))]),
                "a." * 5000 + "b = 1\n",
                'format = 1\na = { k = """\n""", ' + "b." * 200_000 + 'b = 1, z = "" }\n',
                'format = 1\na = "' + '\\"' * 500_000 + "." * 20 + "\n",
                "[" * 10_000,
                "format = 'x'\nfiles = 3\n",
            )
        ),
        encoding="utf-8",
    )


def adapter(draw: random.Random, folder: Path) -> None:
    """An adapter in the place of the model, or beside it."""
    if draw.random() < 0.7 and not (folder / "config.json").is_dir():
        (folder / "config.json").unlink(missing_ok=True)
    text = json.dumps({"peft_type": "LORA", "r": 8, "base_model_name_or_path": "..", "target_modules": ["q_proj"], "corda_config": None})
    (folder / "adapter_config.json").write_text(text[: draw.choice((len(text), len(text), 20))])
    if draw.random() < 0.7:
        header = json.dumps({"base_model.model.q_proj.lora_A.weight": {"dtype": "F16", "shape": [8, 2], "data_offsets": [0, 32]}}).encode()
        (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(draw.choice((32, 31, 0))))


MUTATIONS: tuple[Mutation, ...] = (
    flip, flip, cut, cut, header_length, dense_header, offsets, offsets, json_value, json_value, json_value, json_bomb, sparse_giant,
    python_bomb, links, names, odd_kinds, deep, crowd, index_names, bad_lock, adapter,
)  # fmt: skip


def make(seed: int, folder: Path) -> None:
    """The case of a seed, in a folder that is not there yet."""
    draw = random.Random(seed)
    shutil.copytree(ROOT / "fixtures" / draw.choice(FIXTURES), folder)
    for _ in range(draw.randint(1, 4)):
        draw.choice(MUTATIONS)(draw, folder)


def commands(seed: int, folder: Path) -> list[list[str]]:
    stack = ["--facts", str(ROOT / "fixtures/stacks/healthy.toml")]
    if any(path.stat().st_size > LARGE for path in folder.rglob("*") if path.is_file()):
        # To hash zeros for ten seconds shows nothing; to look at such a file must take none.
        return [["check", str(folder), *stack]]
    rows = [["check", str(folder), *stack], ["lock", str(folder), *stack], ["verify", str(folder)], ["check", str(folder), *stack]]
    if seed % 4 == 0:
        rows.append(["check", str(folder), *stack, "--full"])
    return rows


# --- the child ---------------------------------------------------------------------------------------------------------


def run_case(seed: int, folder: Path) -> str | None:
    """What is wrong with a case; None where all is as it should be."""
    from envdoctor.cli import main

    outside = {path: _state(path) for path in folder.parent.iterdir() if path != folder}
    for words in commands(seed, folder):
        before = _listing(folder)
        spoken, complaint = io.StringIO(), io.StringIO()
        restless = _Restless(folder) if seed % 5 == 0 else None
        with redirect_stdout(spoken), redirect_stderr(complaint):
            status = main([*words, "--format", "json"])
        if restless is not None:
            restless.stop()
        if status not in (0, 1, 2):
            return f"{words[0]}: exit {status}\n{complaint.getvalue()}"
        try:
            json.loads(spoken.getvalue())
        except ValueError:
            return f"{words[0]}: exit {status}, no JSON: {spoken.getvalue()[:200]!r}"
        new = _listing(folder) - before - {"envdoctor.lock"}
        if new and restless is None:
            return f"{words[0]}: wrote {sorted(new)}"
    if {path: _state(path) for path in folder.parent.iterdir() if path != folder} != outside:
        return "something beside the directory was written"
    return None


def _listing(folder: Path) -> set[str]:
    return {os.path.relpath(os.path.join(root, name), folder) for root, _, files in os.walk(folder) for name in files}


def _state(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"


class _Restless:
    """Somebody who writes into the directory while it is read."""

    def __init__(self, folder: Path) -> None:
        self._over = threading.Event()
        self._files = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink() and path.stat().st_size < 10**6]
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        number = 0
        while self._files and not self._over.wait(0.0005):
            number += 1
            path = self._files[number % len(self._files)]
            try:
                if number % 3:
                    os.truncate(path, path.stat().st_size // 2 + number % 100)
                else:
                    os.replace(path, path.with_name("moved.tmp"))
                    os.replace(path.with_name("moved.tmp"), path)
            except OSError:
                continue

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def child() -> None:
    """Read seeds and folders, answer each with a line of JSON."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in sys.stdin:
        seed, folder = json.loads(line)
        try:
            problem = run_case(seed, Path(folder))
        except BaseException as error:  # noqa: BLE001 - whatever escapes is the finding
            problem = f"{type(error).__name__}: {error}"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        answers.write(json.dumps([problem, peak]) + "\n")
        answers.flush()


# --- the parent --------------------------------------------------------------------------------------------------------


class Child:
    def __init__(self, home: Path) -> None:
        environment = {**os.environ, "XDG_CACHE_HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def ask(self, seed: int, folder: Path) -> tuple[str | None, int]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        late = threading.Timer(TIME_LIMIT * len(commands(seed, folder)), self.process.kill)
        late.start()
        try:
            self.process.stdin.write(json.dumps([seed, str(folder)]) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        finally:
            late.cancel()
        if not line:
            return f"the process ended or was too slow (exit {self.process.wait()})", 0
        problem, peak = json.loads(line)
        return problem, peak

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--seed", type=int, help="one case, the one of this seed")
    parser.add_argument("--first", type=int, default=0, help="the seed to begin with")
    parser.add_argument("--keep", type=Path, help="a folder for the cases that fail")
    options = parser.parse_args(words)
    started, seeds, failed, peak, seed = time.monotonic(), 0, 0, 0, options.first if options.seed is None else options.seed
    with tempfile.TemporaryDirectory() as place:
        home, arena = Path(place, "cache"), Path(place, "arena")
        arena.mkdir()
        (arena / "outside.txt").write_text("not yours")
        runner = Child(home)
        while (options.seed is None and time.monotonic() - started < options.seconds) or (options.seed is not None and not seeds):
            folder = arena / f"case-{seed}"
            make(seed, folder)
            problem, peak_now = runner.ask(seed, folder)
            if problem is None and peak_now > MEMORY_LIMIT >= peak:
                problem = f"memory: a peak of {peak_now // 2**20} MiB"
            peak = max(peak, peak_now)
            seeds += 1
            if problem is not None:
                failed += 1
                print(f"seed {seed}: {problem}", flush=True)
                if options.keep is not None:
                    shutil.rmtree(options.keep / folder.name, ignore_errors=True)
                    shutil.copytree(folder, options.keep / folder.name, symlinks=True, ignore=_pipes)
                if runner.process.poll() is not None:
                    runner = Child(home)
            elif seeds % A_PROCESS == 0:
                runner.close()
                runner = Child(home)
            _remove(folder)
            seed += 1
        runner.close()
    print(f"{seeds} snapshots, {failed} failed, peak memory {peak // 2**20} MiB, {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def _pipes(folder: str, names: list[str]) -> list[str]:
    """What is not copied: pipes, and sparse giants, which a copy would fill."""
    paths = {name: Path(folder, name) for name in names}
    return [name for name, path in paths.items() if not (path.is_dir() or (path.is_file() and path.stat().st_size < LARGE))]


def _remove(folder: Path) -> None:
    shutil.rmtree(os.fsencode(folder), ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--child"]:
        child()
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
