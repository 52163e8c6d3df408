"""What an estimate of memory costs: wall and CPU seconds and peak memory of `envdoctor fit`, and of `--exact` in a given stack.

    python benchmarks/fit.py [--stack PYTHON] [--runs 5]

The model is a config.json of GLM-4-9B alone, the plan LoRA at 6001 tokens with checkpointing. `--stack` names an interpreter with torch,
transformers and peft: the model is then run there under fake tensors, and what the whole family of processes takes is printed too.
The closed form is compared with a Python that starts and reads the same config.json.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

MODEL = Path(__file__).resolve().parent.parent / "fixtures" / "memory" / "glm-4-9b"
SETTINGS = (
    "plan.method=lora", "plan.lora_r=8", "plan.load_dtype=bfloat16", "plan.batch_size=1", "plan.seq_len=6001", "plan.attn=sdpa",
    "plan.gradient_checkpointing=true", "plan.optimizer=adamw_torch", "plan.padding=false",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", type=Path, help="an interpreter with torch, transformers and peft")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    command = [sys.executable, "-m", "envdoctor", "fit", str(MODEL), "--gpu", "H800", "--format", "json", *settings]
    if options.stack is not None:
        command += ["--python", str(options.stack)]
    bare = [sys.executable, "-c", f"import json, pathlib; json.loads(pathlib.Path({str(MODEL / 'config.json')!r}).read_text())"]
    floor = measured("python and json alone", bare, options.runs)
    closed = measured("closed form", command, options.runs)
    print(f"closed form / python and json: {closed / floor:.1f} x CPU")
    if options.stack is not None:
        measured("--exact", [*command, "--exact"], max(1, options.runs // 2))


def measured(name: str, command: list[str], runs: int) -> float:
    """Median CPU seconds; wall time and the most memory of any process of the family are printed with it."""
    walls, cpus = [], []
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        done = subprocess.run(command, capture_output=True, check=False, env=os.environ | {"PYTHONHASHSEED": "0"})
        walls.append(time.perf_counter() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
        if done.returncode > 1:
            sys.exit(done.stderr.decode())
        if command[-1] == "--exact" and json.loads(done.stdout)["method"] != "fake-tensors":
            sys.exit(f"--exact was not measured: {done.stdout.decode()[-1000:]}")
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    print(f"{name}: {statistics.median(walls):.2f} s wall, {statistics.median(cpus):.2f} s CPU, at most {most} MiB of one process")
    return statistics.median(cpus)


if __name__ == "__main__":
    main()
