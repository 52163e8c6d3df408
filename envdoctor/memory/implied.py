"""What the facts of a run tell of releases that nobody stated: a model is no older than the first transformers that knows it."""

from __future__ import annotations

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.memory.stack import at_least
from envdoctor.world.architectures import oldest, span_of

# Trainers of TRL before the second write to what the first took away (rules/trl/trl-warnings-issued-transformers-5-1.toml).
_WITHOUT_WARNINGS, _FIRST_BESIDE = "5.1.0", "0.27.2"


def least_transformers(facts: Facts) -> str:
    """The first release that knows the kind of model, "" where that is not known, or code of the snapshot's own may do without."""
    kind = facts.text("model.type")
    spans = None if kind is None or facts.value("model.own_config") is True else span_of(kind)
    first = spans[0].first if spans else ""
    return "" if first == oldest() else first


def least_trl(facts: Facts) -> str:
    """The first release of TRL that the model, or the transformers that is stated, leaves room for; "" where that may be any."""
    stated = facts.value("packages.transformers")
    release = stated.text if isinstance(stated, Exact) else least_transformers(facts)
    return _FIRST_BESIDE if release and at_least(release, _WITHOUT_WARNINGS) else ""
