"""One all-reduce over the visible GPUs, a process for each GPU.

What is measured: ``gpus`` (visible), ``ranks`` (for each GPU: ``stage`` ``start``, ``joining``, ``reducing`` or ``done``, ``sum`` as its
first and last element say, ``error``, ``seconds`` of the all-reduce, ``status``), ``expected`` sum, ``timed_out``, ``waited`` (seconds
since the last rank came to the all-reduce), ``nccl`` (its release) and the ends of what the ranks wrote. No GPU or no NCCL: ``gpus`` 0, or
``available`` False, and nothing else.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

ELEMENTS = 1 << 20
TAIL = 1500


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing torch")
    torch: Any = importlib.import_module("torch")
    measured: dict[str, Any] = {"versions": {"torch": str(torch.__version__)}, "gpus": 0, "available": False}
    # Neither question makes a CUDA context in this process.
    if not torch.cuda.is_available():
        return measured
    measured["gpus"] = torch.cuda.device_count()
    distributed: Any = importlib.import_module("torch.distributed")
    measured["available"] = bool(distributed.is_available() and distributed.is_nccl_available())
    if not measured["available"] or getattr(torch.version, "hip", None):
        measured["rocm"] = bool(getattr(torch.version, "hip", None))
        return measured
    world = min(measured["gpus"], int(params["most_gpus"]))
    measured["expected"] = world * (world + 1) / 2
    stage(f"reducing over {world} GPUs")
    measured.update(of_all(world, float(params["seconds"]), dict(params["environment"])))
    return measured


def of_all(world: int, seconds: float, environment: dict[str, str]) -> dict[str, Any]:
    """Start every rank, wait for all of them, and end those that do not come back."""
    meeting = os.path.abspath("nccl-meeting")
    environ = {"NCCL_DEBUG": "WARN", **os.environ, **environment}
    processes, outputs = [], []
    for rank in range(world):
        outputs.append(open(f"nccl-{rank}.out", "wb"))  # noqa: SIM115 - closed below, when the ranks have ended
        command = [sys.executable, "-u", __file__, str(rank), str(world), meeting, os.path.abspath(f"nccl-{rank}.jsonl"), str(seconds)]
        processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=outputs[-1], stderr=subprocess.STDOUT, env=environ))
    until = time.monotonic() + seconds
    failed = timed_out = False
    try:
        while any(process.poll() is None for process in processes) and time.monotonic() < until:
            if not failed and any(process.poll() not in (None, 0) for process in processes):
                # The others would wait for it until the time is up.
                failed, until = True, min(until, time.monotonic() + 3.0)
            time.sleep(0.05)
        timed_out = not failed and any(process.poll() is None for process in processes)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        for output in outputs:
            output.close()
    ended = time.monotonic()
    ranks = [told_by(rank, process.returncode) for rank, process in enumerate(processes)]
    # The clock is one for all processes of a machine.
    began = [rank.pop("since") for rank in ranks if "since" in rank]
    return {
        "ranks": ranks,
        "timed_out": timed_out,
        "waited": round(ended - max(began), 1) if began else None,
        "nccl": next((rank.pop("nccl") for rank in ranks if "nccl" in rank), None),
    }


def told_by(rank: int, status: int) -> dict[str, Any]:
    told: dict[str, Any] = {"stage": "start", "sum": None, "error": None, "seconds": None, "status": status}
    path = f"nccl-{rank}.jsonl"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n"):  # a process that was killed may leave half a line
                    told.update(json.loads(line))
    if told["stage"] != "done":
        with open(f"nccl-{rank}.out", "rb") as stream:
            stream.seek(max(0, os.path.getsize(f"nccl-{rank}.out") - TAIL))
            told["output"] = stream.read().decode("utf-8", "replace")
    return told


def main() -> None:
    # This file's directory has names that are those of other packages; with PYTHONSAFEPATH it is not on the path.
    if sys.path and os.path.abspath(sys.path[0]) == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]
    rank, world, meeting, told, seconds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], float(sys.argv[5])

    def tell(**news: Any) -> None:
        with open(told, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(news) + "\n")

    try:
        reduce(rank, world, meeting, seconds, tell)
    except BaseException as error:  # noqa: BLE001 - whatever a rank raises is what is measured
        tell(error={"type": type(error).__name__, "message": str(error)[:2000]})
        os._exit(1)
    # Taking a process group down can hang where using it did not; the end of the process frees the GPU.
    os._exit(0)


def reduce(rank: int, world: int, meeting: str, seconds: float, tell: Callable[..., None]) -> None:
    torch: Any = importlib.import_module("torch")
    distributed: Any = importlib.import_module("torch.distributed")
    tell(stage="joining", nccl=str(torch.cuda.nccl.version()))
    torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl", init_method=f"file://{meeting}", rank=rank, world_size=world, timeout=timedelta(seconds=seconds + 60)
    )
    values = torch.full((ELEMENTS,), float(rank + 1), device=f"cuda:{rank}")
    torch.cuda.synchronize()
    started = time.monotonic()
    tell(stage="reducing", since=started)
    distributed.all_reduce(values)
    torch.cuda.synchronize()
    ends = [float(values.min()), float(values.max())]
    tell(stage="done", sum=[str(end) for end in ends], seconds=round(time.monotonic() - started, 3))


if __name__ == "__main__":
    main()
