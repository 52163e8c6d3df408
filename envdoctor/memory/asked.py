"""What is asked of the facts of a plan, with a list of what was assumed in their absence."""

from __future__ import annotations

from envdoctor.facts.fact import Facts, NotUnderstood
from envdoctor.facts.versions import Exact
from envdoctor.memory.estimate import Assumption
from envdoctor.memory.implied import least_trl
from envdoctor.memory.stack import at_least

_MOST = 2**24
# Trainers whose ways are read somewhere here. One of another name is a loop of its own, of which nothing but what is stated is known.
_TRAINERS = frozenset((
    "own", "transformers", "trl", "accelerate", "llamafactory", "axolotl", "ms-swift", "unsloth", "torchtune", "litgpt", "torchtitan",
    "megatron", "nemo", "lightning", "prime-rl", "deepspeed", "fms-hf-tuning",
))  # fmt: skip

# The first release of TRL that was read with ``chunked_nll`` (sft_config.py: not in 1.6.0).
CHUNKED_SINCE = "1.7.1"
# TRL's configurations checkpoint unless they are told not to (sft_config.py; not in 0.20.0).
CHECKPOINTS_IN_TRL = "0.22.0"
_DECIDE = "2025.12"


def trainer_of(facts: Facts) -> str | None:
    """Who trains, as a plan states it: "own" for a name that nothing is known of."""
    stated = facts.text("plan.trainer")
    return stated if stated is None or stated in _TRAINERS else "own"


class Reader:
    """Facts of a plan, with a list of what was assumed in their absence."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.assumed: list[Assumption] = []

    def text(self, name: str) -> str | None:
        return self.facts.text(name)

    @property
    def trainer(self) -> str | None:
        """Who trains: what is stated, or Unsloth where a script loads its model with it, or a plan of another trainer asks for it."""
        stated, uses = trainer_of(self.facts), self.words("plan.code_uses") or ()
        if stated in ("llamafactory", "ms-swift"):
            return "unsloth" if "unsloth" in uses else stated
        return "unsloth" if any(use.startswith("unsloth.Fast") for use in uses) else stated

    @property
    def chunked_by_trl(self) -> bool:
        """Whether TRL is asked for a loss in pieces: there is but one of its own."""
        return self.trainer == "trl" and self.text("plan.fused_loss") == "chunked_cross_entropy"

    def of_trl(self, bound: str) -> bool:
        """Whether TRL trains, in a release that is a bound or later: as is stated, or as what it is asked for tells."""
        release = self.facts.value("packages.trl")
        least = release.text if isinstance(release, Exact) else CHUNKED_SINCE if self.chunked_by_trl else least_trl(self.facts)
        return self.trainer == "trl" and bool(least) and at_least(least, bound)

    def flag(self, name: str) -> bool | None:
        value = self.facts.value(name)
        return value if isinstance(value, bool) else None

    def number(self, name: str) -> int | None:
        value = self.facts.value(name)
        whole = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= _MOST
        return int(value) if whole and isinstance(value, (int, float)) else None

    def words(self, name: str) -> tuple[str, ...] | None:
        value = self.facts.value(name)
        return value if isinstance(value, tuple) else None

    def in_words(self, name: str) -> str | None:
        """What was stated of a fact and not understood."""
        value = self.facts.value(name)
        return value.text if isinstance(value, NotUnderstood) else None

    def assume(self, name: str, value: object, why: str = "") -> None:
        self.assumed.append(Assumption(name, value, why))

    def number_or(self, name: str, default: int, why: str = "") -> int:
        stated = self.number(name)
        if stated is None:
            self.assume(name, default, why)
        return default if stated is None else stated


def arguments_may_decide(reader: Reader) -> bool:
    """Whether Unsloth's checkpointing may be off although its loader was told to checkpoint.

    From 2025.12 on (not in 2025.11.1) its trainers call ``for_training(use_gradient_checkpointing=args.gradient_checkpointing)``
    (unsloth/models/rl.py, 2025.12.1 to 2026.10.9), which is False unless it is set where TRL is older than its own default. Four runs of
    0.5B to 3B took 6.2, 2.3, 4.5 and 6.2 GiB where 5.9, 2.7, 4.4 and 6.3 are counted so, and 3.6, 2.0, 3.2 and 4.2 with checkpointing
    (benchmarks/unseen/memory-6.json, 77 to 79; memory-9.json, 76). What ``--set`` states is how it is.
    """
    facts, name = reader.facts, "plan.gradient_checkpointing"
    release, unsloth = facts.value("packages.trl"), facts.value("packages.unsloth")
    older = isinstance(release, Exact) and not at_least(release.text, CHECKPOINTS_IN_TRL)
    known = name in facts and facts[name].origin.source == "--set"
    return reader.trainer == "unsloth" and older and not known and (not isinstance(unsloth, Exact) or at_least(unsloth.text, _DECIDE))
