"""Settings that transformers gave to every configuration until 5, and gives to none by itself since.

PretrainedConfig of configuration_utils.py in the wheels of 4.57.6, 5.0.0 and 5.14.1;
https://github.com/flybirdxx/ComfyUI-Qwen-TTS/issues/101
"""

from __future__ import annotations

from envdoctor.atlas.shelf import open_package
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callables_named import classes_of
from envdoctor.logs.callers import caller_of
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named

ATTRIBUTE = "error-attribute-missing"
_UNTIL_5 = {
    "pad_token_id": "None", "bos_token_id": "None", "eos_token_id": "None", "sep_token_id": "None", "decoder_start_token_id": "None",
    "is_decoder": "False", "add_cross_attention": "False", "cross_attention_hidden_size": "None", "tie_word_embeddings": "True",
    "tie_encoder_decoder": "False", "torchscript": "False", "pruned_heads": "{}", "finetuning_task": "None", "tokenizer_class": "None",
    "prefix": "None", "task_specific_params": "None",
}  # fmt: skip

# transformers sets them in its own where they are read, and the configurations of the others are of no transformers class.
_OTHER_CONFIGS = ("transformers", "peft", "trl", "diffusers", "datasets", "accelerate")


def judge_default(one: MissingMember, failure: Failure, facts: Facts) -> Hit | None:
    """The configuration of a project's own that counts on such a setting; None where it is no such class, or before 5."""
    default, stated = _UNTIL_5.get(one.name), facts.value("packages.transformers")
    if default is None or not one.cls.endswith("Config") or (isinstance(stated, Exact) and admits("<5", stated)):
        return None
    if any(bound is not None and any(classes_of(bound, one.cls)) for bound in map(open_package, _OTHER_CONFIGS)):
        return None
    ran = f"transformers {stated.text}" if isinstance(stated, Exact) else "a transformers from 5 on"
    caller = caller_of(failure, "transformers")
    asks = f"{caller.words(facts, 'transformers', 'asks for')}; " if caller.package else ""
    return Hit(
        ATTRIBUTE,
        True,
        (("packages.transformers", "not <5"),),
        detail=f"until 4.57 transformers gave every configuration {one.name} = {default}, and {ran} gives it to those alone that set it "
        f"themselves; {asks}{one.cls} is of the project or of the model's own code, which was written for transformers 4",
        packages=named("transformers", caller.package),
        pins=(("transformers", "<5"),),
        edge=f"transformers:default:{one.cls}.{one.name}"[:160],
        headline=f"{one.cls} has no {one.name}: transformers 5 no longer gives it to every configuration",
        by_hand=f"getattr(config, '{one.name}', {default}) in that line, {one.name}={default} in {one.cls}; or the newest state of the "
        "project or the model's code, where it knows transformers 5",
    )
