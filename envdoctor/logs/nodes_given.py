"""Ranks that vLLM counts on one node: whether there are as many GPUs as it wants, or it counts those of other nodes too."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure

_RANKS = re.compile(
    r"local_world_size \((?P<many>\d{1,5})\) must be less than or equal to the number of visible devices \((?P<few>\d{1,4})\)"
)
# Worker.init_device in vllm/v1/worker/gpu_worker.py: 0.11.1 asserts it of each start, 0.11.2 only where data is split without Ray.
_OF_ALL, _LATER = "==0.11.1", ">=0.11.2"
# GPUs of the nodes that most people have.
_OF_A_NODE = 8


def judge_ranks(failure: Failure, facts: Facts) -> Hit | None:
    """More ranks than this node has GPUs: https://github.com/vllm-project/vllm/pull/28873."""
    shown = _RANKS.search(failure.message)
    if shown is None:
        return None
    many, few = int(shown["many"]), int(shown["few"])
    stated = facts.value("packages.vllm")
    mended = isinstance(stated, Exact) and admits(_OF_ALL, stated) is False
    here = f"this node shows {few} GPU{'' if few == 1 else 's'}, and vLLM holds all {many} ranks against them"
    one = f"tensor_parallel_size times pipeline_parallel_size of at most {few} on one node, and CUDA_VISIBLE_DEVICES with all of its GPUs"
    pins: tuple[tuple[str, str], ...] = ()
    if many > _OF_A_NODE and not mended:
        # So many are meant for several nodes, which Ray starts.
        detail, pins = (
            f"{here}: 0.11.1 asks this of each start, also where Ray spreads them over several nodes; 0.11.2 does not",
            (("vllm", _LATER),),
        )
        advice, by_hand = "", one
    else:
        detail, by_hand = here, ""
        advice = f"{one}; over several nodes distributed_executor_backend='ray' (and no vllm 0.11.1, which asks this under Ray as well)"
    return Hit(
        "error-of-the-run",
        True,
        detail=detail,
        packages=("vllm",),
        pins=pins,
        edge="vllm:ranks-of-a-node",
        headline=f"vLLM wants {many} GPUs on a node that has {few}",
        advice=advice,
        by_hand=by_hand,
    )
