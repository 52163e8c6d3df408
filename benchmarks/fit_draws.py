"""The closed form of `fit` held to the models' own code on plans drawn at random.

    python benchmarks/fit_draws.py --seed 1 --count 300 --output answers.jsonl [--sharded] PYTHON [PYTHON ...]
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
import random
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from envdoctor.facts.fact import Fact, Facts, Origin  # noqa: E402
from envdoctor.facts.values import parse_value  # noqa: E402
from envdoctor.memory.config import read_architecture  # noqa: E402
from envdoctor.memory.exact import CHILD, child_params, unmeasurable  # noqa: E402
from envdoctor.memory.situation import Planned, planned  # noqa: E402
from envdoctor.uv.environments import describe  # noqa: E402

MODELS = ROOT / "tests" / "memory" / "counted.json"
FAMILIES = (
    "Llama-3.2-3B", "Mistral-7B-v0.1", "Qwen2.5-7B", "Qwen3-8B", "gemma-2b", "gemma-2-2b", "gemma-3-1b", "phi-2", "Phi-3-mini-4k",
    "gpt2-xl", "pythia-6.9b", "gpt_bigcode-santacoder", "bloom-7b1", "opt-6.7b", "falcon-40b", "gpt-j-6b", "starcoder2-3b",
    "stablelm-3b-4e1t", "PowerLM-3b", "OLMo-7B", "OLMo-2-7B", "command-r-v01", "glm-4-9b-chat-hf", "SmolLM3-3B", "Minitron-4B",
    "bert-large-uncased", "roberta-large", "distilbert-base-uncased", "Mixtral-8x7B-v0.1", "Qwen3-30B-A3B",
)  # fmt: skip
COMMON = ("Llama-3.2-3B", "Mistral-7B-v0.1", "Qwen2.5-7B", "Qwen3-8B", "gemma-2-2b", "Phi-3-mini-4k")
_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts")
_CLASSIFY = ("bert", "roberta", "distilbert")
EXPERTS = 8
MIB = 2**20


def draw(seed: int, number: int, versions: Mapping[str, str]) -> dict[str, Any]:
    """A model and the facts of a plan, the same for a seed and number in every run."""
    chance = random.Random(f"{seed}:{number}")
    name = chance.choice(FAMILIES if chance.random() < 0.6 else COMMON)
    layers = chance.randint(2, 4)
    config = _cut(json.loads(MODELS.read_text())["models"][name]["config"], layers, None if chance.random() < 0.6 else 8192)
    facts: dict[str, Any] = {f"packages.{package}": f"=={release}" for package, release in versions.items()}
    method = chance.choice(("full", "lora", "lora", "qlora"))
    facts["plan.method"] = method
    half = chance.choice(("bfloat16", "bfloat16", "float16"))
    facts["plan.load_dtype"] = chance.choice((half, half, "float32"))
    if chance.random() < 0.7:
        facts["plan.bf16" if half == "bfloat16" else "plan.fp16"] = True
    rows = chance.choice((1, 2, 4, 8))
    facts.update({"plan.batch_size": rows, "plan.seq_len": chance.choice((128, 256, 512, 1024, 2048))})
    facts["plan.padding"] = rows > 1 and chance.random() < 0.6
    facts["plan.gradient_checkpointing"] = chance.random() < 0.5
    facts["plan.gradient_accumulation"] = chance.choice((1, 1, 4))
    facts["plan.attn"] = chance.choice(("sdpa", "sdpa", "eager", "flash_attention_2"))
    if facts["plan.attn"] == "flash_attention_2" and Version(versions["transformers"]) < Version("4.48"):
        # There it is played by SDPA, which copies keys and values for every head.
        facts["plan.attn"] = "sdpa"
    facts["plan.optimizer"] = chance.choice(("adamw_torch", "adamw_torch", "adamw_torch_fused", "adamw_8bit", "paged_adamw_8bit", "sgd"))
    facts["plan.outputs_kept"] = chance.random() < 0.3
    if method != "full":
        facts["plan.lora_r"] = chance.choice((8, 16, 64))
        facts["plan.lora_targets"] = ["all-linear"]
        facts["plan.lora_dropout"] = chance.choice((0.0, 0.05))
    if method == "qlora":
        facts["plan.kbit_preparation"] = chance.random() < 0.7
        facts["plan.double_quant"] = chance.random() < 0.5
        facts["plan.load_dtype"] = half
    return {"seed": seed, "number": number, "model": name, "config": config, "facts": facts}


def draw_sharded(seed: int, number: int, versions: Mapping[str, str]) -> dict[str, Any]:
    """The same with FSDP over several GPUs, of either kind and as three releases of accelerate prepare it."""
    drawn = draw(seed, number, versions)
    chance, facts = random.Random(f"sharded:{seed}:{number}"), drawn["facts"]
    if facts["plan.method"] == "qlora":
        facts["plan.method"] = "lora"
        for name in ("plan.kbit_preparation", "plan.double_quant"):
            facts.pop(name)
    facts.update({"plan.distributed": "fsdp", "gpu.count": chance.choice((2, 4, 8)), "plan.fsdp_version": chance.choice((1, 2))})
    facts["packages.accelerate"] = "==" + chance.choice(("1.10.1", "1.13.0", "1.15.0"))
    return drawn


def _cut(config: dict[str, Any], layers: int, vocabulary: int | None) -> dict[str, Any]:
    config = {**config, **({field: layers for field in _LAYERS if field in config} or {"num_hidden_layers": layers})}
    config.update({field: EXPERTS for field in _EXPERTS if field in config})
    if "layer_types" in config:
        config["layer_types"] = config["layer_types"][:layers]
    if config["model_type"] in _CLASSIFY:
        config["architectures"] = ["ForSequenceClassification"]
    if vocabulary is not None:
        config.update(vocab_size=vocabulary, pad_token_id=0, bos_token_id=1, eos_token_id=1)
    return config


def situation(drawn: Mapping[str, Any]) -> Planned:
    origin = Origin("draw")
    facts = Facts({name: Fact(name, parse_value(name, value), origin) for name, value in drawn["facts"].items()})
    return planned(facts, read_architecture(drawn["config"]))


def params(drawn: Mapping[str, Any], debug: bool) -> dict[str, Any]:
    config = drawn["config"]
    chosen = any(field in config for field in _EXPERTS)
    return {**child_params(config, situation(drawn).plan, None), "debug": debug, "experts": EXPERTS if chosen else 0}


def run(interpreters: list[Path], options: argparse.Namespace) -> None:
    seed, count, first, output, jobs = options.seed, options.count, options.first, options.output, options.jobs
    only = set(options.only) if options.only else None
    how = draw_sharded if options.sharded else draw
    environment = {**os.environ, "PYTORCH_JIT": "0", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_OFFLINE": "1"}
    children, releases = [], []
    for one in interpreters:
        command = [str(one), str(Path(__file__).with_name("fit_child.py")), str(CHILD)]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        children.append(subprocess.Popen(command, text=True, env=environment, **pipes))
        releases.append(_releases(one))
    waiting: list[list[dict[str, Any]]] = [[] for _ in children]
    answered = {(one["seed"], one["number"]) for one in map(json.loads, output.read_text().splitlines())} if output.exists() else set()
    with output.open("a") as out:
        for number in range(first, first + count):
            if (only is not None and number not in only) or (seed, number) in answered:
                continue
            place = number % len(children)
            drawn = how(seed, number, releases[place])
            if unmeasurable(situation(drawn).plan) is None:
                waiting[place].append(drawn)
        _ask(children, waiting, out, jobs)


def _ask(children: list[Any], waiting: list[list[dict[str, Any]]], out: Any, jobs: int) -> None:
    from threading import Lock, Semaphore, Thread

    lock, slots = Lock(), Semaphore(jobs)

    def follow(child: Any, drawn: list[dict[str, Any]]) -> None:
        for one in drawn:
            with slots:
                child.stdin.write(json.dumps(params(one, debug=True)) + "\n")
                child.stdin.flush()
                answer = json.loads(child.stdout.readline() or '{"refused": "the interpreter is gone"}')
            with lock:
                out.write(json.dumps({**one, "measured": answer}) + "\n")
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
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="with --judge, write the answers in short")
    options = parser.parse_args()
    if options.judge is not None and options.keep is not None:
        keep(options.judge, options.keep)
    if options.judge is None:
        run(options.interpreters, options)
    judge(options.judge or options.output, options.show)


if __name__ == "__main__":
    main()
