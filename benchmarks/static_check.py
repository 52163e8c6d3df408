"""What a static check costs, beside `pip check` and `uv pip check` of the same stack, in one run.

    python benchmarks/static_check.py STACK [--runs 15]

STACK is a virtual environment with the packages of a training stack and pip in it (about 90 packages). Each command is run
in turn, so that all see the same machine; the least and the median of the CPU seconds (user + system, children included) are printed,
the ratio of the medians to that of `pip check`, and the peak memory. Of a machine that does other work as well the least says more.
Bytecode is compiled first. `uv pip check` is left out where there is no uv.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODEL = ROOT / "fixtures" / "chatglm3-6b"
PLAN = ROOT / "fixtures" / "plans" / "chatglm3-lora.yaml"


def cost(command: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """CPU seconds and peak MiB of one run."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        sys.exit(f"{command} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stack", type=Path)
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    python = options.stack / "bin" / "python"
    compileall.compile_dir(str(ROOT / "envdoctor"), quiet=2)
    check = [sys.executable, "-m", "envdoctor", "check", str(MODEL), str(PLAN), "--python", str(options.stack)]
    on_model = [sys.executable, "-m", "envdoctor", "check", str(MODEL), "--python", str(options.stack)]
    uv = shutil.which("uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "pip check": [str(python), "-m", "pip", "check"],
        **({} if uv is None else {"uv pip check": [uv, "pip", "check", "--python", str(python)]}),
        "envdoctor check": [sys.executable, "-m", "envdoctor", "check", "--python", str(options.stack)],
        "envdoctor check MODEL PLAN.yaml": check,
        "envdoctor check MODEL": on_model,
        "envdoctor check MODEL --format json": [*on_model, "--format", "json"],
    }
    with tempfile.TemporaryDirectory() as cache:
        environ = {**os.environ, "XDG_CACHE_HOME": cache}
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        measured: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for run in range(options.runs + 1):
            for name, command in commands.items():
                found = cost(command, environ)
                if run:
                    measured[name].append(found)
    median = {name: statistics.median(cpu for cpu, _ in runs) for name, runs in measured.items()}
    rows = {
        name: {
            "least_cpu_s": round(min(cpu for cpu, _ in runs), 4),
            "median_cpu_s": round(median[name], 4),
            "of_pip_check": round(median[name] / median["pip check"], 2),
            "peak_mib": round(max(m for _, m in runs), 1),
        }
        for name, runs in measured.items()
    }
    print(json.dumps({"runs": options.runs, "rows": rows}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
