"""peft that meets a type of adapter which its tables lack: KeyError: 'BONE' in peft/config.py or peft_model.py."""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, version_condition
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.adapter_kinds import is_kind, releases_of

_QUOTED = re.compile(r"['\"]?(?:PeftType\.)?([A-Z][A-Z0-9_]{2,30})['\"]?")


def judge_adapter_kind(failure: Failure, facts: Facts) -> Hit | None:
    """Which releases of peft have the type; None where the stated release has it, and the key is something else."""
    found = _QUOTED.fullmatch(failure.message.strip())
    asks = any(frame.package == "peft" and "MAPPING" in frame.text for frame in failure.frames)
    if failure.kind != "KeyError" or found is None or not asks or not is_kind(found[1]):
        return None
    kind, peft = found[1], facts.value("packages.peft")
    first, last = releases_of(kind)
    admitted = f">={first},<={last}" if last else f">={first}"
    if isinstance(peft, Exact) and version_condition(admitted).admits(peft):
        return None
    span = f"peft has {kind} up to {last}, from {first} on" if last else f"peft has {kind} from {first} on"
    return Hit("snapshot-adapter-type-unknown", True, (), detail=span, packages=("peft",), pins=(("peft", admitted),), edge=f"peft:{kind}")
