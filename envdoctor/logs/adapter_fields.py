"""The first field of a saved adapter that an older peft refuses, and the nearest release that has all of what was saved with it.

peft names the first unknown field in alphabetical order: what comes before it was unknown to the peft that saved as well, or is known here.
So loftq_config tells of a peft from 0.7 to 0.9, since 0.10 would have named layer_replication. Fields as the rule
adapter-config-unknown-field has them, from the wheels; those of 0.9.0 and 0.10.0 run with transformers of 2023.
"""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import RefusedKeyword, Statement

_RULE = "adapter-config-unknown-field"
_SUFFICES = {
    "loftq_config": "0.9.0",
    "megatron_config": "0.9.0",
    "use_rslora": "0.9.0",
    "use_dora": "0.9.0",
    "layer_replication": "0.10.0",
}
_LAST_THAT_REFUSES = "0.13.2"


def judge_adapter_field(statement: Statement | None, facts: Facts) -> Hit | None:
    """The nearest peft that takes a field; None where it is another call, or a stated peft takes it."""
    if not isinstance(statement, RefusedKeyword) or statement.function.rpartition(".")[0] not in ("", "LoraConfig"):
        return None
    enough, stated = _SUFFICES.get(statement.keyword), facts.value("packages.peft")
    if (
        enough is None
        or statement.function.rpartition(".")[2] != "__init__"
        or (isinstance(stated, Exact) and not admits(f">=0.6,<{enough}", stated))
    ):
        return None
    here = f"peft {stated.text}" if isinstance(stated, Exact) else "a peft before it"
    return Hit(
        "error-argument-refused",
        True,
        (("packages.peft", f"not >={enough}"),),
        detail=f"{statement.keyword} is among the fields of a peft up to {enough}, and {here} refuses what it does not know, up to "
        f"{_LAST_THAT_REFUSES}",
        packages=("peft",),
        pins=(("peft", f"=={enough}"), ("peft", f">={enough}")),
        edge=f"peft:adapter:{statement.keyword}",
        headline="The adapter was saved by a newer peft, and this one refuses its configuration",
        by_hand="the release with which it was saved, for both; or take the fields that this one does not know out of adapter_config.json, "
        "where they are null, false or empty",
        over=(_RULE,),
    )
