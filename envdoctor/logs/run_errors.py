"""Errors of a run that say what happened and not why: for each what it means, what is behind it most often, and what to do.

They are torch's, NCCL's and the loaders' own sentences, the same in all releases. No release is accused of them.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.card_sentences import CARDS, NO_DISTRIBUTED, REFUSED
from envdoctor.logs.common_sentences import COMMON, NEAR
from envdoctor.logs.composite_configs import judge_taken
from envdoctor.logs.dataclass_defaults import judge_dataclass_default
from envdoctor.logs.declared_fields import judge_declared
from envdoctor.logs.endless_calls import judge_endless
from envdoctor.logs.everyday_sentences import BESIDE, EVERYDAY, ROWS
from envdoctor.logs.given_sentences import GIVEN
from envdoctor.logs.gpu_of_its_cuda import judge_older_cuda
from envdoctor.logs.kernel_sentences import KERNELS
from envdoctor.logs.no_nccl import judge_no_nccl
from envdoctor.logs.own_code import innermost_own
from envdoctor.logs.paired_sentences import PAIRED
from envdoctor.logs.run_sentences import SENTENCES
from envdoctor.logs.served_sentences import SERVING
from envdoctor.logs.shapes import judge_shape
from envdoctor.logs.specifiers import admits
from envdoctor.logs.stated_card import judge_card
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.unequal_sizes import judge_unequal_sizes
from envdoctor.logs.wording import place_of
from envdoctor.world.import_names import package_of

RUN = "error-of-the-run"
OF_INPUT = "error-of-what-was-given"
_ALL = (*SENTENCES, *KERNELS, *SERVING, *PAIRED, *EVERYDAY, *COMMON, *GIVEN, *CARDS)
_INPUTS = frozenset((*ROWS, *GIVEN))
# The end of the edge of what failed in a copy of DataParallel's.
COPIED = "it-failed-in-a-copy-that"
# Names with an underscore before them are torch's own, which its releases have or lack.
_WRAPPED = re.compile(rf"'(?:(?:Distributed)?DataParallel|DeepSpeedZeRoOffload)' object has no attribute '[a-z]|{NO_DISTRIBUTED}")
# The ends of the edges of what a kernel's own assertion says.
ASSERTED = ("an-id-is-not-below-the", "a-label-is-not-below-the")
_HAND_ON = frozenset(("torch", "accelerate", "peft"))


def judge_beside(line: str) -> Hit | None:
    """What a line of a compiler or a command means that an error's own text does not quote."""
    found = next((one for one in (*BESIDE, *NEAR, *REFUSED) if re.search(one.says, line)), None)
    if found is None:
        return None
    edge = f"code:{'-'.join(re.findall(r'[a-z0-9]+', found.means.lower())[:6])}"
    return Hit(RUN, True, detail=found.behind, edge=edge, headline=found.means, advice=found.advice)


def judge_wrapped(failure: Failure, facts: Facts) -> Hit | None:
    """What an attribute means that a wrapper for several GPUs does not hand on or have; None where it is the wrapper's own."""
    shown = _WRAPPED.search(failure.told)
    return judge_known(failure, facts) if shown is not None else None


def judge_known(failure: Failure, facts: Facts) -> Hit | None:
    """What an error of the run means; None where it is none of those that are known."""
    of_card = judge_older_cuda(failure.told, facts) or judge_card(failure.told, facts)
    if (told := judge_shape(failure) or of_card or judge_no_nccl(failure, facts)) is not None:
        return told
    default = judge_dataclass_default(failure, facts) or judge_declared(failure, facts)
    if (told := default or judge_endless(failure) or judge_taken(failure, facts) or judge_unequal_sizes(failure)) is not None:
        return told
    found, shown = next(((one, shown) for one in _ALL if (shown := re.search(one.says, failure.told))), (None, None))
    python = facts.value("python")
    if found is None or shown is None or (found.refuted and isinstance(python, Exact) and admits(found.refuted, python)):
        return None
    at = next((frame for frame in reversed(failure.frames) if frame.package and frame.package not in _HAND_ON), None)
    where = f"in {at.module or at.package}{f', {at.function}' if at.function else ''}" if at is not None else ""
    own = innermost_own(failure)
    if own is not None:
        at, where = None, f"{place_of(own)}: `{own.text[:100]}`" if own.text else where
    owner = found.package or (package_of(at.package) if at is not None and at.package != "transformers_modules" else "")
    return Hit(
        OF_INPUT if found in _INPUTS else RUN,
        True,
        detail="; ".join(filter(None, (found.behind, where))),
        packages=(owner,) if owner else (),
        pins=tuple((name, shown.expand(spec)) for name, spec in found.pins),
        edge=f"{owner or 'code'}:{'-'.join(re.findall(r'[a-z0-9]+', found.means.lower())[:6])}",
        headline=found.means,
        advice=found.advice,
    )
