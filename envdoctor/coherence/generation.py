"""Whether generation_config.json can be saved again after training: what the rule on sampling flags does not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.files.text import plain
from envdoctor.sources.model.generation_flags import is_set
from envdoctor.sources.model.snapshot import Snapshot, table_of

_OUTPUTS = ("output_attentions", "output_hidden_states", "output_scores", "output_logits")
_FULL = frozenset(("full", "freeze", "pretrain"))
_NAME = "generation_config.json"

# The first release that refuses to save, and the first that saves an unchanged configuration with a warning.
_REFUSED_SINCE = "4.37.0"
_REFUSED_UNTIL = "5.23.0"
_NEGATIVE_PAD_SINCE = "4.41.0"
_OUTPUTS_SINCE = "4.45.0"


def refused_at_save(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """What else than sampling flags makes transformers refuse to save the configuration, and the model with it.

    Adapters are saved without it.
    """
    document = snapshot.generation
    transformers = facts.value("packages.transformers")
    if document is None or facts.value("plan.save") is not True or facts.text("plan.method") not in _FULL:
        return
    if not isinstance(transformers, (Exact, Ranged)):
        return
    for key, since, why in _refusals(table_of(document)):
        outcome = version_condition(f">={since},<{_REFUSED_UNTIL}").relation(transformers)
        if outcome is True:
            yield Hit(
                "snapshot-generation-config-unsavable",
                True,
                because=(("packages.transformers", f"refuses to save it from {since} on"), ("plan.save", "the model is saved")),
                detail=f"{key} is {_shown(table_of(document)[key])} {why}",
                packages=("transformers",),
                pins=(("transformers", f">={_REFUSED_UNTIL}"),),
                file=snapshot.directory.place(_NAME),
                line=document.line_of(key),
            )


CHECKS = (refused_at_save,)


def _refusals(table: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    if table.get("num_beams", 1) == 1:
        if table.get("early_stopping", False) not in (False, None):
            yield "early_stopping", _REFUSED_SINCE, "and num_beams is 1"
        if is_set(table.get("length_penalty"), 1.0):
            yield "length_penalty", _REFUSED_SINCE, "and num_beams is 1"
    pad = table.get("pad_token_id")
    if type(pad) is int and pad < 0:
        yield "pad_token_id", _NEGATIVE_PAD_SINCE, "and no token has a negative id"
    if table.get("return_dict_in_generate") is not True:
        yield from ((key, _OUTPUTS_SINCE, "and return_dict_in_generate is not true") for key in _OUTPUTS if table.get(key) is True)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) >= 2**63:
        return "a number too large"
    return plain(str(value), 60)
