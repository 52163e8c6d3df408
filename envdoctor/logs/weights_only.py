"""``torch.load`` reads weights alone since torch 2.6, unless it is told otherwise: whose call it is, and what the file holds besides.

Several packages' own files are met by the same sentence; which one was loaded, it does not say.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.own_code import innermost_own
from envdoctor.logs.run_errors import RUN
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe, named, place_of
from envdoctor.world.import_names import package_of

WEIGHTS = "torch:weights-only"
_SAYS = re.compile(r"Weights only load failed|WeightsUnpickler error")
_GLOBAL = re.compile(r"Unsupported (?:global: GLOBAL|class) (?P<name>[A-Za-z_][\w.]{1,150}\w)")
# torch/serialization.py and what is called on the way to it.
_LOADERS = frozenset(("torch", "lightning", "pytorch-lightning", "fsspec"))
# https://github.com/pytorch/pytorch/releases/tag/v2.6.0
_SINCE = "2.6"


def judge_weights_only(failure: Failure, facts: Facts) -> Hit | None:
    """The finding of a file that ``torch.load`` refuses; None where the stated torch loads whole objects by itself."""
    if not _SAYS.search(failure.told):
        return None
    torch = facts.value("packages.torch")
    older = isinstance(torch, Exact) and admits(f"<{_SINCE}", torch)
    caller = next((name for frame in reversed(failure.frames) if frame.package and (name := package_of(frame.package)) not in _LOADERS), "")
    inner = [frame for frame in failure.frames if package_of(frame.package) not in _LOADERS]
    own = inner[-1] if inner and not inner[-1].package else innermost_own(failure)
    who = (
        f"the project's own {place_of(own)} asks for that"
        if own is not None
        else f"{describe(caller, facts)} asks for that"
        if caller
        else ""
    )
    held = _GLOBAL.search(failure.told)
    allowed = f"torch.serialization.add_safe_globals([{held['name']}])" if held is not None else "torch.serialization.add_safe_globals"
    asks = "weights_only=True was asked for" if older else f"torch.load does so by itself from {_SINCE} on"
    return Hit(
        RUN,
        True,
        detail="; ".join(filter(None, (asks, f"the file holds {held['name']}" if held is not None else "", who))),
        packages=named("torch", caller if own is None else ""),
        pins=() if older else (("torch", f"<{_SINCE}"),),
        edge=WEIGHTS,
        headline="The file holds more than weights, and torch.load was to read weights alone",
        advice=f"for a file whose source you trust torch.load(..., weights_only=False), or {allowed}; where the call is a package's, "
        "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1",
    )
