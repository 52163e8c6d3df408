"""A setting of a language model that is asked of the configuration around it, which has it one part below; a name of a model's code that
transformers has taken since.

https://github.com/vllm-project/vllm-ascend/pull/1803, https://github.com/Enemyx-net/VibeVoice-ComfyUI/issues/213
"""

from __future__ import annotations

import re

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.shelf import open_package
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.callables_named import classes_of
from envdoctor.logs.callers import caller_of
from envdoctor.logs.config_defaults import judge_default
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe, named
from envdoctor.world.architectures import span_of

ATTRIBUTE, RUN = "error-attribute-missing", "error-of-the-run"
_PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
_OF_TEXT = frozenset(
    ("hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads", "num_key_value_heads", "intermediate_size", "head_dim",
     "max_position_embeddings", "rope_theta", "rope_scaling", "rms_norm_eps", "sliding_window", "num_experts", "num_local_experts",
     "layer_types", "hidden_act", "attention_dropout", "bos_token_id", "eos_token_id", "pad_token_id", "num_experts_per_tok", "use_cache")
)  # fmt: skip
_TAKEN = re.compile(
    r"'(?:<class ')?(?P<name>[\w.-]{3,160}?)'?>?' is already used by a Transformers "
    r"(?P<kind>model|config|tokenizer|processor|image processor)"
)


def judge_composite(one: MissingMember, failure: Failure, facts: Facts) -> Hit | None:
    """The part of a configuration that has the setting, or who no longer gives it; None where the class has no such part in any release."""
    bound = open_package("transformers") if one.cls.endswith("Config") and one.name in _OF_TEXT else None
    for symbol in classes_of(bound, one.cls) if bound is not None else ():
        own = look_up(f"{symbol}.{one.name}")
        if own is None or own.there:
            return None
        part = next((name for name in _PARTS if (told := look_up(f"{symbol}.{name}")) is not None and told.there), "")
        if not part:
            return None
        caller = caller_of(failure, "transformers")
        return Hit(
            ATTRIBUTE,
            True,
            (),
            detail=f"{one.cls} of {describe('transformers', facts)} holds the settings of several models, and {one.name} of the language "
            f"model is in its {part}; {caller.words(facts, 'transformers', 'asks for')} at the top, as text models have it",
            packages=named(caller.package, "transformers"),
            edge=f"{caller.package or 'code'}:{one.cls}.{one.name}",
            headline=f"{one.name} is asked of a configuration that has it one part below",
            advice=f"config.{part}.{one.name} (config.get_text_config().{one.name} serves both kinds of models) in that line; "
            f"a release of {caller.package or 'that code'} that knows models of several parts",
        )
    return judge_default(one, failure, facts)


def judge_taken(failure: Failure, facts: Facts) -> Hit | None:
    """A model that a project registers, and that transformers has itself since a release: the releases before that."""
    told = _TAKEN.search(failure.told)
    if told is None:
        return None
    name, first = told["name"].rpartition(".")[2], ""
    bound = open_package("transformers")
    if told["kind"] == "config":
        span = span_of(told["name"])
        first = span[0].first if span is not None else ""
        name = told["name"]
    elif bound is not None:
        found = [answer for one in classes_of(bound, name) if (answer := look_up(one)) is not None and answer.there]
        place = min((stretches(one.there)[0][0] for one in found), default=0)
        first = bound.volume.releases[place] if place else ""
    came = f"{name} is in transformers itself from {first} on" if first else f"transformers has one by the name {name}"
    return Hit(
        RUN,
        True,
        detail=f"{describe('transformers', facts)}: {came}; the project brings its own by that name and registers it",
        packages=("transformers",),
        pins=(("transformers", f"<{first}"),) if first else (),
        edge=f"transformers:taken:{name}"[:160],
        headline="A model of the project's own has a name that transformers has taken since",
        advice="register(..., exist_ok=True) in the project's own code; or the model of transformers, and no registration",
    )
