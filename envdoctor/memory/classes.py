"""A model that a script loads to classify, or without any head, whatever its published configuration says of a language model's head.

``AutoModelForSequenceClassification`` and ``...ForTokenClassification`` put a linear layer to the classes in the place of the one to the
vocabulary (modeling_layers.py of transformers 5.0.0, ``GenericForSequenceClassification`` and ``GenericForTokenClassification``; before
it each model's own file). ``AutoModel`` loads what stands below the head.
"""

from __future__ import annotations

import re

from envdoctor.facts.fact import Facts
from envdoctor.facts.uses import CODE_USES

_CLASSIFIES = re.compile(r"transformers\.(?:\w+\.)*\w+For(?:Sequence|Token)Classification\b(?P<rest>.*)")
_SPEAKS = re.compile(r"transformers\.(?:\w+\.)*\w+(?:For(?:CausalLM|ConditionalGeneration|Seq2SeqLM)|LMHeadModel)\b")
_BARE = re.compile(r"transformers\.AutoModel(?:\.from_(?:pretrained|config)\b.*)?")
# Whatever brings a head of its own: other classes that speak, trainers that load a model by its name, and values beside logits.
_BRINGS_A_HEAD = re.compile(r".*(?:For(?:CausalLM|ConditionalGeneration|Seq2SeqLM)|LMHead)|trl\.|transformers\.pipeline\b")
_LABELS = re.compile(r"[(,]num_labels=(?P<count>\d{1,6})[,)]")
_DEFAULT = 2


def classes_of(facts: Facts) -> int | None:
    """The classes of the model that a script loads to classify, 2 (transformers' default) where it does not say; None where it loads none,
    or one that speaks as well."""
    uses = facts.value(CODE_USES)
    if not isinstance(uses, tuple):
        return None
    found = list(filter(None, map(_CLASSIFIES.match, uses)))
    if not found or any(map(_SPEAKS.match, uses)):
        return None
    counts = {int(told["count"]) for one in found for told in _LABELS.finditer(one["rest"])}
    return max(counts, default=_DEFAULT)


def is_bare(facts: Facts) -> bool:
    """Whether a script loads a model without a head, and none with one."""
    uses = facts.value(CODE_USES)
    return isinstance(uses, tuple) and any(map(_BARE.fullmatch, uses)) and not any(map(_BRINGS_A_HEAD.match, uses))


__all__ = ["classes_of", "is_bare"]
