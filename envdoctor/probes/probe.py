"""What a probe is: one experiment, told by its module as ``PROBE``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from envdoctor.probes.verdict import Ruling, Verdict
from envdoctor.records import dataclass, field

CHILDREN = Path(__file__).parent / "children"


@dataclass(frozen=True, slots=True)
class Variation:
    """One thing changed: what the child runs then, and the plan facts under which a user would have it."""

    words: str
    params: Mapping[str, object]
    plan: Mapping[str, object] = field(default_factory=dict)


def _none(params: Mapping[str, object]) -> Iterable[Variation]:
    return ()


def _whole(verdict: Verdict, packages: Sequence[str], symptoms: Sequence[str]) -> Verdict:
    return verdict


@dataclass(frozen=True, slots=True)
class Probe:
    """One experiment.

    ``parameters`` gives what the child runs for the facts, or why it cannot be run for them; ``judge`` turns what was measured into a
    ruling and its reason. ``timeout`` is in seconds. ``variations`` are tried one by one where the fault was found: one under which it is
    gone is a cure that was measured. ``about`` is what a verdict that is not inconclusive says of one finding, by the finding's packages
    and the error texts of its rule: an experiment that can meet many faults shows one of them, and not the others. ``gpu`` says
    that the experiment means nothing without one, ``remote_code`` that it can execute files of the snapshot, for which
    ``parameters`` is told by ``trust`` whether the user allows it; ``by_lines`` that it is told by ``lines`` which lines of Python
    show the findings that are computed, with the packages of each; ``proven`` that it was seen to tell a bad stack from a good one on
    the hardware that it needs.
    """

    name: str
    shows: str
    needs: tuple[str, ...]
    cost: str
    script: Path
    parameters: Callable[..., Mapping[str, object] | str]
    judge: Callable[[Mapping[str, object], Mapping[str, object]], tuple[Ruling, str]]
    timeout: float
    memory_bytes: int
    variations: Callable[[Mapping[str, object]], Iterable[Variation]] = _none
    about: Callable[[Verdict, Sequence[str], Sequence[str]], Verdict] = _whole
    gpu: bool = False
    remote_code: bool = False
    by_lines: bool = False
    proven: bool = True
