"""Raise messages in an environment by wrong calls that nobody chose, and draw a set of them.

    ENV/bin/python raise_messages.py raise SEED a.json a.names             # wrong calls; a.names: what the packages of the environment offer
    ENV/bin/python raise_messages.py others SEED a.json a.names b.names ... # names and keywords that the others have and this one lacks
    python raise_messages.py draw SEED NUMBER KNOWN.jsonl a.json b.json ... > messages-2.jsonl

A call is a public function, class or method of one of ``SHARE``, with arguments drawn by their names, annotations and defaults, one or two of
them wrong. Kept is what a ``raise`` or ``assert`` of one of these packages said, or its compiled code (Cython's frames, or a call without a
frame of its own); not what the interpreter itself says of types, nor a text of fewer than three words. Names and keywords that another
of the environments has and this one lacks give the messages of Python itself about them. Nothing is written outside a folder of its own,
no process is started and no address is called: an audit hook refuses these.
"""

# ruff: noqa: BLE001, E501 - whatever a wrong call raises is what is looked for, and the tables are wide
from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import json
import linecache
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from offered_names import NOT_CALLED, callable_of, line_of, names_of, parameters
from wrong_arguments import Things

# Of each package no more rows are drawn than this; seconds of calls in each environment.
SHARE = {
    "transformers": (62, 150), "diffusers": (34, 60), "datasets": (38, 60), "peft": (34, 60), "trl": (30, 60), "accelerate": (32, 40),
    "huggingface_hub": (30, 40), "numpy": (30, 30), "pandas": (24, 40), "tokenizers": (16, 30), "pydantic": (10, 20), "pyarrow": (8, 20),
    "torch": (5, 30), "safetensors": (4, 10), "evaluate": (3, 15), "sentence_transformers": (4, 25), "sklearn": (4, 20),
    "torchmetrics": (4, 20), "lightning": (4, 25), "einops": (3, 10), "tiktoken": (3, 10), "fsspec": (3, 15), "wandb": (2, 15),
    "httpx": (2, 10), "gguf": (2, 10), "sentencepiece": (2, 10),
}  # fmt: skip
MISSING = 26
# So much of these seconds is spent, counted as time of the processor.
PART = 0.025
OF_PYTHON = re.compile(
    r"object is not (?:iterable|subscriptable|callable)|object does not support|missing \d+ required|positional argument|unsupported operand"
    r"|has no attribute|not supported between instances|indices must be|unhashable type|expected str, bytes or os\.PathLike|argument of type"
    r"|can only concatenate|must be real number|cannot be interpreted as an integer|a bytes-like object|object has no len|cannot unpack"
    r"|not enough values|too many values|No such file or directory|Is a directory|list index out of range|takes no keyword arguments"
    r"|unexpected keyword argument|^argument '|object cannot be converted|expected at (?:most|least)|NoneType|not a mapping|must be str"
    r"|descriptor '|No module named|cannot import name|invalid literal for int|could not convert string to float|maximum recursion"
    r"|sequence item \d|after \* must|after \*\* must|keywords must be strings|is not a real number|integer division|division by zero",
)
WORD = re.compile(r"[A-Za-z]{2,}")


class TooLongError(BaseException):
    pass


def guard(folder: str) -> None:
    """Refuse what would reach out of the folder."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.kill", "socket.connect", "pty.spawn"):
            raise PermissionError(event)
        if event == "socket.getaddrinfo":
            raise OSError(event)
        if event == "open" and isinstance(arguments[0], (str, bytes)) and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            path = os.path.abspath(os.fsdecode(arguments[0]))
            if not path.startswith((folder, "/dev/null")):
                raise PermissionError(event)
        if event in ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.symlink", "os.link", "os.chmod", "os.truncate", "shutil.rmtree"):
            for path in arguments[:2] if event in ("os.rename", "os.symlink", "os.link") else arguments[:1]:
                if isinstance(path, (str, bytes)) and not os.path.abspath(os.fsdecode(path)).startswith(folder):
                    raise PermissionError(event)

    sys.addaudithook(refuse)


def told(error: BaseException, package: str, tops: dict[str, list[str]]) -> dict[str, Any] | None:
    """The row of an error, where it is one of a package's own."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    numbers = [number for _, number in traceback.walk_tb(error.__traceback__)]
    if not frames or isinstance(error, (TooLongError, KeyboardInterrupt, SystemExit, GeneratorExit, RecursionError, MemoryError)):
        return None
    lines = "".join(traceback.format_exception_only(type(error), error)).rstrip("\n").split("\n")
    words = str(error)
    if len(WORD.findall(words)) < 3 or len("\n".join(lines)) > 2500 or len(lines) > 20:
        return None
    inner, number = frames[-1], numbers[-1]
    top = str(inner.f_globals.get("__name__", "")).partition(".")[0]
    line = linecache.getline(inner.f_code.co_filename, number).strip()
    own = top == "__main__"
    if top in SHARE and line.startswith(("raise ", "assert ")):
        how = "raised"
    elif top in SHARE and inner.f_code.co_filename.endswith((".pyx", ".pxi", ".pxd")) and not OF_PYTHON.search(words):
        how = "compiled"
    elif (own or top == package) and package in ("numpy", "tokenizers", "safetensors", "torch", "sentencepiece", "pandas", "pyarrow"):
        if OF_PYTHON.search(words) or isinstance(error, (AttributeError, ImportError, OSError, NotImplementedError)):
            return None
        if own and type(error).__module__ == "builtins" and package in ("pandas",):
            return None
        how, top = "compiled", package
    else:
        return None
    distribution = (tops.get(top) or [top])[0]
    return {"how": how, "package": distribution, "top": top, "exception": type(error).__name__, "lines": lines}


def call_packages(packages: list[str], seed: int, names: Path) -> None:
    """Wrong calls of packages, one after the other, each until its time is over; each error is a line of the file behind descriptor 3."""
    warnings.simplefilter("ignore")
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    tops: dict[str, list[str]] = {key: list(value) for key, value in importlib.metadata.packages_distributions().items()}
    things = Things(random.Random(seed), folder)
    for name in things.makers:
        things.get(name)
    if not names.exists():
        names.write_text("\n".join(line_of(package, *found) for package in SHARE for found in names_of(package)) + "\n", encoding="utf-8")

    def ring(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, ring)
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - as long as the process
    guard(folder)
    with os.fdopen(os.dup(3), "a", encoding="utf-8") as out:
        for package in packages:
            things.chance = random.Random(f"{seed} {package}")
            for row in call_package(package, things, tops):
                row["lines"] = [line.replace(folder, "/tmp/run") for line in row["lines"]]
                out.write(json.dumps(row) + "\n")
                out.flush()
            out.write(json.dumps({"done": package}) + "\n")
            out.flush()


def call_package(package: str, things: Things, tops: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    """The errors of one package, each wording once."""
    chance = things.chance
    instances = [one for name in things.by_package.get(package, []) if (one := things.get(name)) is not None]
    public = list(names_of(package))
    seen: set[str] = set()
    until = time.process_time() + PART * SHARE[package][1]
    while public and time.process_time() < until:
        if instances and chance.random() < 0.4:
            holder = chance.choice(instances)
            name = chance.choice([name for name in dir(type(holder)) if not name.startswith("_") and not NOT_CALLED.search(name)])
            place, one = f"{type(holder).__name__}().{name}", getattr(type(holder), name, None)
            one = one.__get__(holder) if inspect.isfunction(one) else getattr(holder, name, None) if callable(one) else None
        else:
            place, module, name = chance.choice(public)
            one = callable_of(package, module, name)
            if inspect.isclass(one) and chance.random() < 0.5:
                names = [
                    name for name in vars(one) if not name.startswith("_") and isinstance(vars(one)[name], (classmethod, staticmethod))
                ]
                if names:
                    name = chance.choice(names)
                    place, one = f"{place}.{name}", getattr(one, name)
        if not callable(one):
            continue
        found = parameters(one)
        values, keywords = ([things.wrong() for _ in range(chance.randrange(4))], {}) if found is None else things.arguments(found)
        row = None
        try:
            signal.setitimer(signal.ITIMER_REAL, 4)
            made = one(*values, **keywords)
            if inspect.isgenerator(made):
                next(made, None)
        except BaseException as error:
            signal.setitimer(signal.ITIMER_REAL, 0)
            try:
                row = told(error, package, tops)
            except BaseException:
                row = None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if row is None or (key := wording(row["lines"])) in seen:
            continue
        seen.add(key)
        try:
            row["release"] = importlib.metadata.version(row["package"])
            row["call"] = f"{place}({', '.join([*map(short, values), *(f'{k}={short(v)}' for k, v in keywords.items())])})"
        except BaseException:
            continue
        yield row


def short(value: Any) -> str:
    return (
        repr(value).replace("\n", " ")[:60]
        if isinstance(value, (str, int, float, list, dict, tuple, type(None)))
        else f"<{type(value).__name__}>"
    )


def wording(lines: list[str]) -> str:
    """A message without what is filled in: numbers, what is quoted, what is in brackets."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^\]]*\]|\{[^}]*\}|\([^)]*\)|<[^>]*>|\S*[/\d]\S*", "", " ".join(lines))
    return " ".join(re.findall(r"[A-Za-z_]{2,}", text))[:160].lower()


def raise_all(seed: int, output: Path, names: Path) -> None:
    """All packages in one process; where it breaks, another one goes on with the next package."""
    output.write_text("", encoding="utf-8")
    environ = {
        **os.environ, "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "WANDB_MODE": "disabled", "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1", "HOME": tempfile.mkdtemp(), "TQDM_DISABLE": "1",
    }  # fmt: skip
    # Those last whose compiled code ends the process when it is called wrongly; the others in another order for every other seed.
    left = sorted(SHARE, key=lambda name: (name in ("numpy", "pandas"), list(SHARE).index(name) * (-1) ** seed))
    while left:
        start = time.monotonic()
        with output.open("a", encoding="utf-8") as out:
            os.dup2(out.fileno(), 3)
            command = [sys.executable, __file__, "packages", str(seed), str(names.resolve()), *left]
            quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            ended = subprocess.run(command, env=environ, pass_fds=(3,), timeout=2400, check=False, **quiet).returncode
        rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
        done = {row["done"] for row in rows if "done" in row}
        left = [package for package in left if package not in done][1 if ended else 0 :]
        print(f"ended with {ended} after {time.monotonic() - start:.0f} s; {len(rows) - len(done)} errors by now, left: {left}", flush=True)
        if not ended:
            break


def ask_for_others(seed: int, output: Path, lists: list[Path]) -> None:
    """Names and keywords that another environment has and this one has not."""
    here: dict[str, set[str]] = {}
    there: dict[str, set[str]] = {}
    for number, path in enumerate(lists):
        for line in path.read_text(encoding="utf-8").splitlines():
            if not line:
                continue
            place, *keywords = line.split()
            (here if number == 0 else there).setdefault(place, set()).update(keywords)
    chance = random.Random(seed)
    tops = importlib.metadata.packages_distributions()
    wanted: list[tuple[str, str]] = []
    for place, names in there.items():
        if place not in here:
            wanted.append((place, ""))
        elif "*" not in here[place]:
            wanted += [(place, keyword) for keyword in sorted(names - here[place] - {"*"})]
    by_package: dict[str, list[tuple[str, str]]] = {}
    for one in wanted:
        by_package.setdefault(one[0].partition(".")[0].partition(":")[0], []).append(one)
    asked = [one for found in by_package.values() for one in chance.sample(found, min(16, len(found)))]
    with output.open("a", encoding="utf-8") as out:
        for place, keyword in asked:
            module, _, name = place.partition(":")
            top = module.partition(".")[0]
            try:
                if keyword:
                    getattr(importlib.import_module(module), name)(**{keyword: None})
                elif chance.random() < 0.5:
                    exec(f"from {module} import {name}", {})
                else:
                    getattr(importlib.import_module(module), name)
            except (TypeError, ImportError, AttributeError) as error:
                words = str(error)
                if (keyword or name) not in words or "missing" in words:
                    continue
                words = re.sub(r"\([^()]*site-packages/", "(/usr/lib/python3.11/site-packages/", words)
                distribution = tops[top][0]
                row = {
                    "how": "missing", "package": distribution, "top": top, "exception": type(error).__name__, "call": f"{place}({keyword})",
                    "lines": [f"{type(error).__name__}: {words}"], "release": importlib.metadata.version(distribution),
                }  # fmt: skip
                out.write(json.dumps(row) + "\n")
            except BaseException:
                continue


def draw(seed: int, number: int, known: Path, found: list[Path]) -> None:
    """Rows by chance, each wording once, none that is known, of each package no more than its share."""
    seen = {wording(json.loads(line)["lines"]) for line in known.read_text(encoding="utf-8").splitlines()}
    rows = [json.loads(line) for path in found for line in path.read_text(encoding="utf-8").splitlines() if "done" not in json.loads(line)]
    print(f"{len(rows)} errors", file=sys.stderr)
    random.Random(seed).shuffle(rows)
    left = {top: share for top, (share, _) in SHARE.items()}
    left["missing"] = MISSING
    drawn: list[dict[str, Any]] = []
    for row in rows:
        top = row.pop("top")
        quota = "missing" if row["how"] == "missing" else top
        key = " ".join(row["lines"]) if quota == "missing" else wording(row["lines"])
        if key in seen or left[quota] <= 0 or len(drawn) >= number:
            continue
        seen.add(key)
        left[quota] -= 1
        row = {name: row[name] for name in ("how", "package", "release", "exception", "lines", "call")} | {"url": None}
        drawn.append({"id": f"n{len(drawn) + 1:03d}", **row})
    for row in drawn:
        print(json.dumps(row))
    print(f"{len(drawn)} drawn", file=sys.stderr)


def main(words: list[str]) -> None:
    if words[0] == "raise":
        raise_all(int(words[1]), Path(words[2]), Path(words[3]))
    elif words[0] == "others":
        ask_for_others(int(words[1]), Path(words[2]), [Path(word) for word in words[3:]])
    elif words[0] == "packages":
        call_packages(words[3:], int(words[1]), Path(words[2]))
    else:
        draw(int(words[1]), int(words[2]), Path(words[3]), [Path(word) for word in words[4:]])


if __name__ == "__main__":
    main(sys.argv[1:])
