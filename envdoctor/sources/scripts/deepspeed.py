"""DeepSpeed as a script asks for it: a configuration, a plugin of accelerate's, an engine of its own loop."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.files.paths import is_file
from envdoctor.files.text import plain
from envdoctor.sources.plans.deepspeed import makes_fused_adam
from envdoctor.sources.plans.plan_file import read_plan
from envdoctor.sources.scripts.kinds import Known, Table
from envdoctor.sources.scripts.reading import Call, Reading

# What DeepSpeedPlugin takes where neither the call nor the environment says it (accelerate/utils/dataclasses.py).
_STAGE = 2
_OF_FILES = ("plan.distributed", "plan.offload", "plan.max_grad_norm", "plan.deepspeed_fused_adam", "plan.deepspeed_optimizer")
_OF_AN_ENGINE = ("plan.gradient_accumulation", "plan.fp16", "plan.bf16")
_DEEPEST = 3
_OFFLOAD = {(False, False): "none", (True, False): "optimizer", (False, True): "parameters", (True, True): "both"}


def read_engines(reading: Reading) -> None:
    """``DeepSpeedPlugin(zero_stage=3)`` of accelerate, and ``deepspeed.initialize(config=...)``."""
    for call in reading.named("accelerate", "DeepSpeedPlugin"):
        if "hf_ds_config" in call.keywords:
            read_configuration(reading, call, "hf_ds_config", by_itself=True)
        else:
            _plugin(reading, call)
    for call in reading.named("deepspeed", "initialize"):
        keyword = next((name for name in ("config", "config_params") if name in call.keywords), None)
        if keyword is not None:
            read_configuration(reading, call, keyword, by_itself=True)
        else:
            reading.claims.state("plan.deepspeed", True, call.line, call.scope)


def _plugin(reading: Reading, call: Call) -> None:
    claims, line = reading.claims, call.line
    claims.state("plan.deepspeed", True, line, call.scope)
    begins = reading.value(call, "zero3_init_flag")
    if begins is not None and begins.value is False:
        claims.say("plan.zero_init", begins, call.line_of("zero3_init_flag"), call.scope)
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


def read_configuration(reading: Reading, call: Call, keyword: str, *, by_itself: bool = False) -> None:
    """State what a DeepSpeed configuration says: a dict, or the path of one, which is read as a plan of its own.

    ``by_itself``: no training arguments stand beside it, so that the accumulation is the configuration's.
    """
    expression, scope = call.keywords.get(keyword, (None, call.scope))
    line = call.line_of(keyword)
    known = reading.of(expression, scope)
    table = reading.evaluator.table(expression, scope)
    if table is not None:
        reading.claims.state("plan.deepspeed", True, line, call.scope)
        _written(reading, table, call, line, by_itself=by_itself)
    elif known is None:
        reading.claims.unknown("plan.deepspeed", line, call.scope, f"{keyword}= of no constant value")
        reading.claims.unknown("plan.distributed", line, call.scope, f"{keyword}= of no constant value")
    elif isinstance(known.value, str) and known.value:
        reading.claims.say("plan.deepspeed", Known(True, known.default, known.line), line, call.scope)
        _configuration(reading, known.value, line, by_itself=by_itself)


def _written(reading: Reading, table: Table, call: Call, line: int, *, by_itself: bool) -> None:
    """A configuration that is written out as a dict."""
    claims, zero = reading.claims, _below(reading, table, "zero_optimization")
    stage = None if zero is None else reading.of(*zero.entries.get("stage", (None, call.scope)))
    if stage is not None and stage.value in (1, 2, 3):
        claims.state("plan.distributed", f"zero{stage.value}", line, call.scope)
    elif (stage is not None and stage.value == 0) or (table.whole and "zero_optimization" not in table.entries):
        claims.state("plan.distributed", "ddp", line, call.scope)
    if by_itself:
        _of_engine(reading, table, call, line)
    if zero is not None and zero.whole:
        moved = [_moves(reading, zero, name) for name in ("offload_optimizer", "offload_param")]
        if None not in moved:
            claims.state("plan.offload", _OFFLOAD[bool(moved[0]), bool(moved[1])], line, call.scope)
    if by_itself and "gradient_accumulation_steps" in table.entries:
        claims.say("plan.gradient_accumulation", reading.of(*table.entries["gradient_accumulation_steps"]), line, call.scope)


def _of_engine(reading: Reading, table: Table, call: Call, line: int) -> None:
    """The dtype, the clipping and the optimizer of a configuration, where no training arguments stand beside it."""
    claims = reading.claims
    for name, fact in (("fp16", "plan.fp16"), ("bf16", "plan.bf16")):
        inner = _below(reading, table, name)
        enabled = None if inner is None or "enabled" not in inner.entries else reading.of(*inner.entries["enabled"])
        if enabled is not None and isinstance(enabled.value, bool):
            claims.say(fact, enabled, line, call.scope)
        elif name not in table.entries and table.whole:
            claims.state(fact, False, line, call.scope)
    if "gradient_clipping" in table.entries:
        claims.say("plan.max_grad_norm", reading.of(*table.entries["gradient_clipping"]), line, call.scope)
    elif table.whole:
        claims.state("plan.max_grad_norm", 0.0, line, call.scope)
    made = _below(reading, table, "optimizer")
    if made is None and "optimizer" not in table.entries and table.whole:
        claims.state("plan.deepspeed_optimizer", "scheduler" in table.entries, line, call.scope)
        claims.state("plan.deepspeed_fused_adam", False, line, call.scope)
    elif made is not None:
        claims.state("plan.deepspeed_optimizer", True, line, call.scope)
        kind = reading.of(*made.entries["type"]) if "type" in made.entries else None
        inner = _below(reading, made, "params")
        is_plain = inner is None or "torch_adam" not in inner.entries
        if kind is not None and made.whole and is_plain and "legacy_fusion" not in made.entries:
            claims.state("plan.deepspeed_fused_adam", makes_fused_adam({"type": kind.value}), line, call.scope)


def _below(reading: Reading, table: Table, name: str) -> Table | None:
    return reading.evaluator.table(*table.entries[name]) if name in table.entries else None


def _moves(reading: Reading, zero: Table, name: str) -> bool | None:
    """Whether a part is moved off the GPU; None where it is not shown."""
    if name not in zero.entries:
        return False
    inner = _below(reading, zero, name)
    if inner is None or not inner.whole:
        return None
    device = reading.of(*inner.entries["device"]) if "device" in inner.entries else Known("cpu")
    return None if device is None else device.value in ("cpu", "nvme")


def _configuration(reading: Reading, named: str, line: int, *, by_itself: bool) -> None:
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
        if fact.name in _OF_FILES or (by_itself and fact.name in _OF_AN_ENGINE):
            reading.claims.adopt(fact)


def settings_of(reading: Reading, call: Call, keyword: str) -> Mapping[object, object] | None:
    """The configuration that a call is given, as far as it is constant: a dict, or the file that a constant path names."""
    table = reading.evaluator.table(*call.keywords[keyword]) if keyword in call.keywords else None
    if table is not None:
        return _plain(reading, table)
    known = reading.value(call, keyword)
    if known is None or known.default or not isinstance(known.value, str) or not 0 < len(known.value) <= 1024 or "\0" in known.value:
        return None
    folder = Path(reading.source.path).parent
    places = [folder / up / known.value for up in ("", "..", "../..")]
    try:
        found = next(filter(is_file, places), None)
        value = read_plan(found).value if found is not None else None
    except (OSError, EnvdoctorError):
        return None
    return value if isinstance(value, dict) else None


def _plain(reading: Reading, table: Table, depth: int = 0) -> Mapping[object, object]:
    plain_values: dict[object, object] = {}
    for name, entry in table.entries.items():
        inner = reading.evaluator.table(*entry) if depth < _DEEPEST else None
        known = None if inner is not None else reading.of(*entry)
        plain_values[name] = (
            _plain(reading, inner, depth + 1) if inner is not None else known.value if known and not known.default else None
        )
    return plain_values
