"""What a plan of TRL uses of it: ``trl grpo --use_vllm`` and a recipe make ``GRPOConfig(use_vllm=True)``, as a script writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.fact import Fact
from envdoctor.facts.uses import CODE_USES, SOME
from envdoctor.sources.plans.reader import Reader, Table

_TRAINERS = {"sft": "SFT", "dpo": "DPO", "grpo": "GRPO", "kto": "KTO", "orpo": "ORPO", "cpo": "CPO", "reward": "Reward", "rloo": "RLOO"}
# Fields that one configuration alone has, by which a recipe says whose it is.
_TELL = (
    ("grpo", frozenset(("num_generations", "reward_funcs", "reward_weights", "scale_rewards"))),
    ("sft", frozenset(("packing", "dataset_text_field", "assistant_only_loss", "completion_only_loss", "eval_packing"))),
    ("kto", frozenset(("desirable_weight", "undesirable_weight"))),
)
_OF_OTHERS = frozenset(("rloo_k", "num_sample_generations", "lmbda", "beta"))
_CONFIG = re.compile(r"(?P<kind>SFT|DPO|GRPO|KTO|ORPO|CPO|Reward|RLOO)Config")
_PLAIN = re.compile(r"[\w./+-]+")


def kind_of_recipe(keys: frozenset[str]) -> str | None:
    """The command of TRL that a file of settings is for, where its fields say it."""
    kinds = [kind for kind, fields in _TELL if keys & fields]
    return kinds[0] if len(kinds) == 1 and not (keys & _OF_OTHERS and kinds[0] == "sft") else None


def kind_of_configuration(name: str) -> str | None:
    """The command whose configuration a class is: ``GRPOConfig``."""
    found = _CONFIG.fullmatch(name)
    return found["kind"].lower() if found is not None else None


def say_config_uses(reader: Reader, kind: str | None, settings: Table, *, trains: bool = True) -> None:
    """State that the configuration of a command is made with these settings, and its trainer with that; ``trains``: by TRL's own script."""
    stem = _TRAINERS.get(kind or "")
    if stem is None:
        return
    given = ", ".join(_given(settings))
    trainer = (f"trl.{stem}Trainer", f"trl.{stem}Trainer.train") if trains else ()
    uses = ("trl", f"trl.{stem}Config", f"trl.{stem}Config({given})", *trainer)
    reader.facts[CODE_USES] = Fact(CODE_USES, uses, reader.origin())  # a call is as long as it is


def _given(settings: Table) -> Iterator[str]:
    for name, value in settings.items():
        if not isinstance(name, str) or not name.isidentifier():
            continue
        constant = value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and _PLAIN.fullmatch(value))
        yield f"{name}={value if constant else SOME}"


__all__ = ["kind_of_configuration", "kind_of_recipe", "say_config_uses"]
