"""Whether a script loads its model before it makes its training arguments, with which ZeRO-3 begins to divide what is loaded."""

from __future__ import annotations

from envdoctor.sources.scripts.alone import shows_all
from envdoctor.sources.scripts.arguments import arguments_kind
from envdoctor.sources.scripts.reading import Call, Reading

# What fills training arguments from the command line makes them.
_PARSES = ("parse_args_into_dataclasses", "parse_args_and_config", "parse_json_file", "parse_yaml_file", "parse_dict")
# They begin with ZeRO-3 too, from a configuration of their own.
_BEGINS = (("accelerate", ("Accelerator", "DeepSpeedPlugin")), ("deepspeed", ("Init",)), ("transformers", ("HfDeepSpeedConfig",)))


def read_order(reading: Reading, loads: list[Call]) -> None:
    """State that a model is whole when ZeRO-3 begins, where every load stands above the arguments of its own function or module.

    ``from_pretrained`` divides the weights where a ``TrainingArguments`` with such a configuration exists: is_deepspeed_zero3_enabled
    of src/transformers/integrations/deepspeed.py.
    """
    begins = any(call for package, lasts in _BEGINS for call in reading.named(package, *lasts))
    engines = list(reading.named("deepspeed", "initialize"))
    made = [call for call in reading.calls if call.last[:1].isupper() and arguments_kind(reading, call.name)]
    made += reading.methods(*_PARSES)
    if engines and not made and not begins:
        # An engine of one's own takes the model as it was made, by the script or by what it imports of the project's own.
        if loads or shows_all(reading):
            reading.claims.state("plan.zero_init", False, engines[0].line, engines[0].scope)
        else:
            reading.claims.unknown("plan.zero_init", engines[0].line, engines[0].scope, "the model is made elsewhere")
    if not loads or not made or begins:
        return
    first = {scope: min(call.line for call in made if call.scope is scope) for scope in {call.scope for call in made}}
    if all(call.scope in first and call.line < first[call.scope] for call in loads):
        reading.claims.state("plan.zero_init", False, loads[0].line, loads[0].scope)
