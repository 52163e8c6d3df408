"""DeepSpeed as a script asks for it: a configuration, a plugin of accelerate's, an engine of its own loop."""

from __future__ import annotations

from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.files.paths import is_file
from envdoctor.files.text import plain
from envdoctor.sources.scripts.kinds import Known
from envdoctor.sources.scripts.reading import Call, Reading

# What DeepSpeedPlugin takes where neither the call nor the environment says it (accelerate/utils/dataclasses.py).
_STAGE = 2
_OFFLOAD = {(False, False): "none", (True, False): "optimizer", (False, True): "parameters", (True, True): "both"}


def read_engines(reading: Reading) -> None:
    """``DeepSpeedPlugin(zero_stage=3)`` of accelerate, and ``deepspeed.initialize(config=...)``."""
    for call in reading.named("accelerate", "DeepSpeedPlugin"):
        if "hf_ds_config" in call.keywords:
            read_configuration(reading, call, "hf_ds_config")
        else:
            _plugin(reading, call)
    for call in reading.named("deepspeed", "initialize"):
        keyword = next((name for name in ("config", "config_params") if name in call.keywords), None)
        if keyword is not None:
            read_configuration(reading, call, keyword)
        else:
            reading.claims.state("plan.deepspeed", True, call.line, call.scope)


def _plugin(reading: Reading, call: Call) -> None:
    claims, line = reading.claims, call.line
    claims.state("plan.deepspeed", True, line, call.scope)
    stage = reading.value(call, "zero_stage")
    if "zero_stage" in call.keywords and (stage is None or stage.value not in (1, 2, 3)):
        claims.unknown("plan.distributed", line, call.scope, "zero_stage= of no constant value")
    elif call.whole:
        claims.state("plan.distributed", f"zero{stage.value if stage is not None else _STAGE}", line, call.scope)
    devices = [reading.value(call, name) for name in ("offload_optimizer_device", "offload_param_device")]
    given = [name in call.keywords for name in ("offload_optimizer_device", "offload_param_device")]
    if all(one is not None or not told for one, told in zip(devices, given, strict=True)) and call.whole:
        optimizer, weights = (one is not None and one.value in ("cpu", "nvme") for one in devices)
        claims.state("plan.offload", _OFFLOAD[optimizer, weights], line, call.scope)
    if "gradient_accumulation_steps" in call.keywords:
        known = reading.value(call, "gradient_accumulation_steps")
        claims.say("plan.gradient_accumulation", known, call.line_of("gradient_accumulation_steps"), call.scope)


def read_configuration(reading: Reading, call: Call, keyword: str) -> None:
    """State what a DeepSpeed configuration says: a dict, or the path of one, which is read as a plan of its own."""
    expression, scope = call.keywords.get(keyword, (None, call.scope))
    line = call.line_of(keyword)
    known = reading.of(expression, scope)
    table = reading.evaluator.table(expression, scope)
    if table is not None:
        reading.claims.state("plan.deepspeed", True, line, call.scope)
        inner = reading.evaluator.table(*table.entries["zero_optimization"]) if "zero_optimization" in table.entries else None
        stage = reading.of(*inner.entries["stage"]) if inner is not None and "stage" in inner.entries else None
        if stage is not None and stage.value in (1, 2, 3):
            reading.claims.state("plan.distributed", f"zero{stage.value}", line, call.scope)
    elif known is None:
        reading.claims.unknown("plan.deepspeed", line, call.scope, f"{keyword}= of no constant value")
        reading.claims.unknown("plan.distributed", line, call.scope, f"{keyword}= of no constant value")
    elif isinstance(known.value, str) and known.value:
        reading.claims.say("plan.deepspeed", Known(True, known.default, known.line), line, call.scope)
        _configuration(reading, known.value, line)


def _configuration(reading: Reading, named: str, line: int) -> None:
    """Stage and offload from the DeepSpeed configuration that a script names, where it lies beside it or a few levels above."""
    from envdoctor.sources.plans.plan import collect_plan

    if "\0" in named or len(named) > 1024:
        return
    folder = Path(reading.source.path).parent
    places = [folder / up / named for up in ("", "..", "../..")]
    reading.claims.looked_for.extend(map(str, places))
    try:
        found = next(filter(is_file, places), None)
        facts = collect_plan(found).facts if found is not None else ()
    except (OSError, EnvdoctorError) as error:
        reading.claims.skips.append(Skip(plain(named), plain(str(error))))
        return
    if found is None:
        reading.claims.skips.append(Skip(reading.source.place(line), plain(f"the DeepSpeed configuration {named} was not found beside it")))
    for fact in facts:
        if fact.name in ("plan.distributed", "plan.offload", "plan.max_grad_norm"):
            reading.claims.adopt(fact)
