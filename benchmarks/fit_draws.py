"""The closed form of `fit` held to the models' own code on plans drawn at random.

    python benchmarks/fit_draws.py --seed 1 --count 300 --output answers.jsonl [--sharded] [--ask] PYTHON [PYTHON ...]
    python benchmarks/fit_draws.py --judge answers.jsonl [--show 20] [--keep FILE]

Each interpreter has torch, transformers and peft; the draws are dealt to them in turn, and those that are answered are not asked again. A
draw is a model of tests/memory/counted.json with a few layers and facts of a plan, read as `fit` reads them; `fit --exact`'s child runs it
under fake tensors. The closed form is computed anew by --judge, so that answers are kept while it is worked on. A figure counts on a seed
that nobody has looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from envdoctor.facts.fact import Fact, Facts, Origin  # noqa: E402
from envdoctor.facts.values import parse_value  # noqa: E402
from envdoctor.memory.config import read_architecture  # noqa: E402
from envdoctor.memory.exact import CHILD, child_params, unmeasurable  # noqa: E402
from envdoctor.memory.situation import Planned, planned  # noqa: E402
from envdoctor.uv.environments import describe  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fit_space import AGAIN_FROM, EXPERTS, TRIES, draw_of, draw_sharded, has_experts  # noqa: E402

MIB = 2**20


def situation(drawn: Mapping[str, Any]) -> Planned:
    origin = Origin("draw")
    facts = Facts({name: Fact(name, parse_value(name, value), origin) for name, value in drawn["facts"].items()})
    return planned(facts, read_architecture(drawn["config"]))


def params(drawn: Mapping[str, Any], debug: bool) -> dict[str, Any]:
    config = drawn["config"]
    chosen = has_experts(config)
    return {**child_params(config, situation(drawn).plan, None), "debug": debug, "text_alone": True, "experts": EXPERTS if chosen else 0}


def run(interpreters: list[Path], options: argparse.Namespace) -> None:
    seed, count, first, output, jobs = options.seed, options.count, options.first, options.output, options.jobs
    only = set(options.only) if options.only else None
    environment = {**os.environ, "PYTORCH_JIT": "0", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
    children, releases = [], []
    for one in interpreters:
        command = [str(one), str(Path(__file__).with_name("fit_child.py")), str(CHILD)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        children.append(subprocess.Popen(command, text=True, env=environment, **pipes))
        releases.append(_releases(one))
    waiting: list[list[int]] = [[] for _ in children]
    answered = {(one["seed"], one["number"]) for one in map(json.loads, output.read_text().splitlines())} if output.exists() else set()
    for number in range(first, first + count):
        if (only is None or number in only) and (seed, number) not in answered:
            waiting[number % len(children)].append(number)

    def drawn(number: int, again: int) -> dict[str, Any] | None:
        versions = releases[number % len(children)]
        if again >= (TRIES if seed >= AGAIN_FROM else 1):
            return None
        return (draw_sharded if options.sharded else draw_of)(seed, number, versions, again)

    with output.open("a") as out:
        _ask(children, waiting, drawn, out, jobs, debug=not options.ask)


def _ask(
    children: list[Any],
    waiting: list[list[int]],
    drawn: Callable[[int, int], dict[str, Any] | None],
    out: Any,
    jobs: int,
    *,
    debug: bool,
) -> None:
    from threading import Lock, Semaphore, Thread

    lock, slots = Lock(), Semaphore(jobs)

    def answer(child: Any, one: Mapping[str, Any]) -> dict[str, Any]:
        with slots:
            child.stdin.write(json.dumps(params(one, debug)) + "\n")
            child.stdin.flush()
            told: dict[str, Any] = json.loads(child.stdout.readline() or '{"refused": "the interpreter is gone"}')
        return told

    def follow(child: Any, numbers: list[int]) -> None:
        for number in numbers:
            refused: list[str] = []
            last: dict[str, Any] | None = None
            while (one := drawn(number, len(refused))) is not None:
                reason = unmeasurable(situation(one).plan)
                measured = answer(child, one) if reason is None else {"refused": reason}
                last = {**one, "measured": measured, "refused before": list(refused)}
                if "allocated" in measured:
                    break
                refused.append(f"{one['model']}: {measured.get('refused')}")
            if last is not None:
                with lock:
                    out.write(json.dumps(last) + "\n")
                    out.flush()
        child.stdin.close()
        child.wait()

    threads = [Thread(target=follow, args=each) for each in zip(children, waiting, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _releases(interpreter: Path) -> dict[str, str]:
    installed = describe(interpreter).installed
    return {**{name: installed[name].split("+")[0] for name in ("torch", "transformers", "peft")}, "bitsandbytes": "0.45.5"}


def judged(answers: Path) -> Iterator[tuple[float, dict[str, Any], Any]]:
    """Each answer with a number: how far the closed form is from it, as a share of it."""
    for line in answers.read_text().splitlines():
        one = json.loads(line)
        if "allocated" not in one["measured"]:
            continue
        estimate = situation(one).estimate()
        yield estimate.peak.total / one["measured"]["allocated"] - 1, one, estimate


def judge(answers: Path, show: int) -> None:
    found = sorted(judged(answers), key=lambda each: -abs(each[0]))
    lines = [json.loads(line) for line in answers.read_text().splitlines()]
    refused: dict[str, int] = {}
    for one in lines:
        if "allocated" not in one["measured"]:
            said = str(one["measured"].get("refused"))[:90]
            refused[said] = refused.get(said, 0) + 1
        for before in one.get("refused before", ()):
            said = "drawn again: " + before.partition(": ")[2][:90]
            refused[said] = refused.get(said, 0) + 1
    sizes = sorted(abs(error) for error, _, _ in found)
    if sizes:
        low = sum(error < -0.10 for error, _, _ in found)
        print(
            f"{len(sizes)} of {len(lines)} measured: median {statistics.median(sizes):.2%}, "
            f"95th percentile {sizes[int(0.95 * (len(sizes) - 1))]:.2%}, largest {sizes[-1]:.1%}, too low by more than 10 %: {low}"
        )
        _calibration(found)
    for said, times in sorted(refused.items(), key=lambda each: -each[1]):
        print(f"  not measured {times}: {said}")
    for error, one, estimate in found[:show]:
        _tell(error, one, estimate)


def _calibration(found: list[tuple[float, dict[str, Any], Any]]) -> None:
    """Which share of the counted figures a range holds that is so many times as wide as the one that `fit` shows."""
    held = []
    for wide in (0.1, 0.25, 0.5, 1.0, 2.0):
        within = 0
        for _, one, estimate in found:
            expected, shown = estimate.allocated.expected, estimate.allocated
            low, high = expected - wide * (expected - shown.low), expected + wide * (shown.high - expected)
            within += low <= one["measured"]["allocated"] <= high
        held.append(f"{wide:g} x the range {within / len(found):.1%}")
    print("held by " + ", ".join(held))


def keep(answers: Path, output: Path) -> None:
    """The answers in short: what was drawn is drawn again from its seed, number and releases."""
    lines = [json.loads(line) for line in answers.read_text().splitlines()]
    table = [
        {
            "seed": one["seed"],
            "number": one["number"],
            **({"again": one["again"]} if one.get("again") else {}),
            "releases": [one["facts"][f"packages.{name}"].strip("=") for name in ("torch", "transformers", "peft", "bitsandbytes")],
            **(
                {"allocated": one["measured"]["allocated"]}
                if "allocated" in one["measured"]
                else {"refused": one["measured"]["refused"][:120]}
            ),
        }
        for one in sorted(lines, key=lambda one: int(one["number"]))
    ]
    output.write_text("".join(json.dumps(each) + "\n" for each in table))


def _tell(error: float, one: Mapping[str, Any], estimate: Any) -> None:
    told = {name: value for name, value in one["facts"].items() if value is not False and name != "packages.bitsandbytes"}
    shown = " ".join(f"{name.rpartition('.')[2]}={value}" for name, value in told.items())
    measured = one["measured"]
    most = max(measured["moments"], key=lambda moment: moment["allocated"])
    sizes = f"{estimate.peak.total / MIB:.0f} for {measured['allocated'] / MIB:.0f} MiB"
    print(f"\n{error:+.1%} #{one['number']} {one['model']} {sizes}: {shown}")
    print("   counted at", most["name"], {term: round(value / MIB) for term, value in most["terms"].items() if value > MIB})
    print("   closed at", estimate.peak.name, {term: round(value / MIB) for term, value in estimate.peak.terms.items() if value > MIB})
    for size, *made in measured.get("debug", {}).get("top at " + most["name"], [])[:6]:
        print(f"     {size / MIB:8.1f} MiB {made}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreters", type=Path, nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, nargs="*")
    parser.add_argument("--output", type=Path, default=Path("answers.jsonl"))
    parser.add_argument("--jobs", type=int, default=2, help="how many interpreters work at once")
    parser.add_argument("--sharded", action="store_true", help="plans under FSDP")
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--ask", action="store_true", help="only ask: nothing is told of a seed that is to be judged later")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="with --judge, write the answers in short")
    options = parser.parse_args()
    if options.judge is not None and options.keep is not None:
        keep(options.judge, options.keep)
    if options.judge is None:
        run(options.interpreters, options)
    if options.ask:
        return
    judge(options.judge or options.output, options.show)


if __name__ == "__main__":
    main()
