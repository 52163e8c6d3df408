"""``numpy-abi``: can this torch and this numpy hand arrays to each other?

The fault: torch before 2.3 is compiled for numpy 1. With numpy 2 it is imported with a warning and has no numpy from then on
(pytorch/pytorch#132179); training fails at the first metric or data set that crosses, and some arrays change their dtype silently.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.probe import CHILDREN, Probe
from envdoctor.probes.verdict import Ruling

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "numpy-abi"

_UNAVAILABLE = "numpy is not available"
_WAYS = 4


def parameters(facts: Facts) -> Mapping[str, object] | str:
    """Nothing of the plan changes this experiment; where a package is known to be absent there is none."""
    missing = [package for package in ("numpy", "torch") if facts.lacks(package)]
    return f"{' and '.join(missing)} not installed" if missing else {}


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive."""
    ways = measured.get("ways")
    if not isinstance(ways, Mapping) or not ways:
        return "inconclusive", "nothing was handed between numpy and torch"
    if measured.get("numpy_alone") is not True:
        return "inconclusive", "numpy does not compute by itself: another fault than its ABI"
    broken = {str(name): outcome for name, outcome in ways.items() if outcome is not True}
    refused = [name for name, outcome in broken.items() if _UNAVAILABLE in _message(outcome).lower()]
    dtype = measured.get("float64_becomes")
    if refused:
        also = f"; a float64 array becomes a {dtype} tensor without a word" if isinstance(dtype, str) and dtype != "float64" else ""
        return "confirmed", f"torch has no numpy: {', '.join(refused)}: {_message(broken[refused[0]])}{also}"
    if broken:
        name, outcome = next(iter(broken.items()))
        return "inconclusive", f"{name}: {_message(outcome) or 'wrong values'}: another fault than an ABI that does not fit"
    if len(ways) != _WAYS or dtype != "float64":
        return "inconclusive", f"{len(ways)} of {_WAYS} ways were measured, and a float64 array becomes {_message(dtype) or dtype}"
    return "refuted", "arrays go from numpy to torch and back, and keep their dtype"


def _message(outcome: object) -> str:
    return " ".join(str(outcome.get("message", "")).split())[:300] if isinstance(outcome, Mapping) else ""


PROBE = Probe(
    name=NAME,
    shows="whether torch and numpy can hand arrays to each other",
    needs=("torch", "numpy"),
    cost="2 to 8 s on one CPU core, nearly all of it imports",
    script=CHILDREN / "numpy_abi.py",
    parameters=parameters,
    judge=judge,
    timeout=90.0,
    memory_bytes=8 << 30,
)
