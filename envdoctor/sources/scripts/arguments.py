"""What a script gives TrainingArguments, or a class derived from it: TRL's configurations, its own dataclasses."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from envdoctor.facts.fact import Skip
from envdoctor.sources.plans.deepspeed_differs import ARGUMENTS, DIFFERS, differing
from envdoctor.sources.plans.fsdp import VERSIONS, fsdp_configuration, wrap_of
from envdoctor.sources.plans.refused_arguments import KEYS, OPEN, REFUSED, refused
from envdoctor.sources.plans.training_arguments import DEFAULTS, DIRECT, FIELDS, STRATEGIES
from envdoctor.sources.scripts.adapters import read_checkpointing_kwargs
from envdoctor.sources.scripts.deepspeed import read_configuration, settings_of
from envdoctor.sources.scripts.kinds import Known, Symbol
from envdoctor.sources.scripts.loading import read_model_kwargs
from envdoctor.sources.scripts.names import LOCAL
from envdoctor.sources.scripts.outline import Scope
from envdoctor.sources.scripts.reading import Call, Reading

_PLAIN = ("TrainingArguments", "Seq2SeqTrainingArguments")
_TRL = (
    "SFTConfig", "DPOConfig", "GRPOConfig", "KTOConfig", "ORPOConfig", "CPOConfig", "BCOConfig", "RewardConfig", "RLOOConfig", "GKDConfig",
    "OnlineDPOConfig", "NashMDConfig", "XPOConfig", "PRMConfig",
)  # fmt: skip
# What TRL's configurations have other defaults for, in some release or other.
_TRL_OWN = frozenset(
    ("plan.learning_rate", "plan.gradient_checkpointing", "plan.gradient_checkpointing_kwargs", "plan.bf16", "plan.remove_unused_columns",
     "plan.batch_size", "plan.gradient_accumulation", "plan.max_grad_norm")
)  # fmt: skip
_DIRECT = (
    *DIRECT,
    ("max_seq_length", "plan.seq_len"),
    ("max_length", "plan.seq_len"),
    ("packing", "plan.packing"),
    ("use_vllm", "plan.vllm"),
    ("use_liger", "plan.liger"),
    ("max_completion_length", "plan.completion_len"),
    ("steps_per_generation", "plan.generation_steps"),
)
ASKED_OF_ARGUMENTS = frozenset((*(fact for fact, _ in DEFAULTS), *(fact for _, fact in _DIRECT), "plan.distributed", "plan.offload"))
"""Facts that training arguments decide, also where they leave them out."""
# An attribute that is set later is no argument, and no release refuses it; of these it matters that they are set at all.
_OBEYED_LATER = frozenset(
    ("batch_eval_metrics", "ddp_backend", "ddp_find_unused_parameters", "eval_accumulation_steps", "fsdp_config", "prediction_loss_only")
)
# Settings that count as on by being given: a number, a path.
_GIVEN = (("neftune_noise_alpha", "plan.neftune"), ("resume_from_checkpoint", "plan.resume"), ("torch_compile_backend", "plan.compile"))

# What unsloth's configurations of trl hand on under the name that the release takes (unsloth/models/rl_config_compat.py, 2026.10.9).
_HANDED_ON = frozenset(("warmup_ratio",))


def arguments_kind(reading: Reading, name: str) -> str:
    """``transformers`` for TrainingArguments and what derives from it, ``trl`` for TRL's own, "" for anything else."""
    if any(reading.is_kind(name, package, *_PLAIN) for package in ("transformers", "swift")):
        return "transformers"
    if reading.is_kind(name, "sentence_transformers", "SentenceTransformerTrainingArguments"):
        return "transformers"
    if reading.is_kind(name, "unsloth", "UnslothTrainingArguments"):
        return "trl"
    return "trl" if reading.is_kind(name, "trl", *_TRL) else ""


def read_arguments(reading: Reading) -> None:
    """State what every construction of training arguments says; of those that the command line fills, their own defaults."""
    calls = reading.few([call for call in reading.calls if call.last[:1].isupper() and arguments_kind(reading, call.name)])
    provided = [call for call in calls if reading.is_provided(call)]
    for call in calls:
        kind = arguments_kind(reading, call.name)
        handed_on = _HANDED_ON if kind == "trl" and reading.imports("unsloth") else frozenset()
        _made(reading, call, kind, _spared(reading, call, provided) | handed_on)
    _from_command_line(reading)


def _spared(reading: Reading, call: Call, provided: list[Call]) -> frozenset[str]:
    """Keywords that a script gives some releases only: not all of the calls between which it chooses have them."""
    if call not in provided:
        return call.chosen
    if len(provided) > 1:
        return call.chosen.union(*(call.keywords.keys() - other.keywords.keys() for other in provided))
    return frozenset(call.keywords) if reading.is_tested(call) else call.chosen


def _made(reading: Reading, call: Call, kind: str, spared: frozenset[str]) -> None:
    claims = reading.claims
    fields = reading.evaluator.namespaces.fields(call.name) if call.name.startswith(LOCAL) else {}
    later = _set_later(reading, call)
    given = {**{name: (default.value, default.scope) for name, default in fields.items()}, **call.keywords, **later}
    for keyword, fact in _DIRECT:
        if keyword in given:
            _say(reading, call, fact, keyword, reading.of(*given[keyword]))
    for keyword, fact in STRATEGIES:
        if keyword in given:
            _say(reading, call, fact, keyword, _strategy(reading.of(*given[keyword])))
    for keyword, fact in _GIVEN:
        if keyword in given:
            _say(reading, call, fact, keyword, _switch(reading.of(*given[keyword])))
    read_checkpointing_kwargs(reading, call)
    _more(reading, call, given)
    found = tuple(refused({key: _shown(reading.of(*given[key])) for key in KEYS if key in given})) if call.whole else ()
    if found:
        claims.state(REFUSED, found, call.line, call.scope)
    if "deepspeed" in call.keywords and "deepspeed" not in later and (settings := settings_of(reading, call, "deepspeed")) is not None:
        compared = {key: _shown(reading.of(*given[key])) for key in ARGUMENTS if key in given}
        if differ := tuple(differing(settings, compared, whole=call.whole and kind == "transformers")):
            claims.state(DIFFERS, differ, call.line_of("deepspeed"), call.scope)
    if not call.whole:
        why = "the training arguments come from a ** that is not shown: give what fills them as well"
        claims.skips.append(Skip(reading.source.place(call.line), why))
        for fact in ("plan.arguments", *(fact for fact, _ in DEFAULTS)):
            claims.unknown(fact, call.line, call.scope, quiet=True)
        claims.leave_open(ASKED_OF_ARGUMENTS)
        return
    own = () if kind == "transformers" else _TRL_OWN
    # A field that the file's own class defines is accepted whatever transformers makes of the name.
    own_fields = reading.evaluator.namespaces.own_fields(call.name)
    set_later = later.keys() - call.keywords.keys() - fields.keys() - _OBEYED_LATER
    names = tuple(sorted(given.keys() - own_fields - spared - set_later))
    claims.state("plan.arguments", names, call.line, call.scope, tuple((name, call.line_of(name)) for name in names))
    for fact, value in DEFAULTS:
        if fact not in own:
            claims.default(fact, value, "default of TrainingArguments")


def _say(reading: Reading, call: Call, fact: str, keyword: str, known: Known | None) -> None:
    reading.claims.say(fact, known, call.line_of(keyword), call.scope, f"{keyword}= of no constant value")


def _shown(known: Known | None) -> object:
    """A value as a plan would have it; what another value may be given in place of is open."""
    if known is None or known.default:
        return OPEN
    value = known.value.last if isinstance(known.value, Symbol) else known.value
    return value if value is None or isinstance(value, (bool, int, float, str)) else OPEN


def _strategy(known: Known | None) -> Known | None:
    if known is None:
        return None
    text = known.value.last if isinstance(known.value, Symbol) else known.value
    if text is None or isinstance(text, (str, bool)):
        return Known(None if text is None else str(text).lower() not in ("no", "false"), known.default, known.line)
    return None


def _switch(known: Known | None) -> Known | None:
    if known is None or known.value is None:
        return known
    plain_value = isinstance(known.value, (bool, int, float, str))
    return Known(known.value not in (False, ""), known.default, known.line) if plain_value else None


def _set_later(reading: Reading, call: Call) -> dict[str, tuple[ast.expr | None, Scope]]:
    """``arguments.fp16 = True`` behind the construction: the value, or unknown where it is set under a condition."""
    parent = reading.outline.parents.get(id(call.node))
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or not isinstance(parent.targets[0], ast.Name):
        return {}
    name = parent.targets[0].id
    later: dict[str, tuple[ast.expr | None, Scope]] = {}
    for store in reading.outline.stores:
        if isinstance(store.target, ast.Name) and store.target.id == name and store.key in FIELDS and store.scope is call.scope:
            runs = reading.evaluator.runs(store.guard)
            if runs is not False:
                later[store.key] = (store.value if runs else None, store.scope)
    return later


def _more(reading: Reading, call: Call, given: Mapping[str, object]) -> None:
    if (searches := reading.value(call, "auto_find_batch_size")) is not None and searches.value is True:
        reading.claims.unknown("plan.batch_size", call.line, call.scope, quiet=True)
    for keyword in ("use_cpu", "no_cuda"):
        known = reading.value(call, keyword)
        if known is not None and known.value is True:
            reading.claims.say("accelerator", Known("cpu", known.default, known.line), call.line_of(keyword), call.scope)
    _fsdp(reading, call)
    if "deepspeed" in given:
        read_configuration(reading, call, "deepspeed")
    if "model_init_kwargs" in call.keywords:
        expression, scope = call.keywords["model_init_kwargs"]
        table = reading.evaluator.table(expression, scope)
        if table is not None:
            read_model_kwargs(reading, table, call, call.line_of("model_init_kwargs"))


def _fsdp(reading: Reading, call: Call) -> None:
    known = reading.value(call, "fsdp")
    if "fsdp" not in call.keywords or (known is not None and not known.value):
        return
    line = call.line_of("fsdp")
    if known is None or not isinstance(known.value, (str, tuple, bool)):
        reading.claims.unknown("plan.distributed", line, call.scope, "fsdp= of no constant value")
        return
    words = " ".join(map(str, known.value)) if isinstance(known.value, tuple) else str(known.value)
    reading.claims.say("plan.distributed", Known("fsdp", known.default, known.line), line, call.scope)
    offload = "both" if "offload" in words.lower() else "none"
    reading.claims.say("plan.offload", Known(offload, known.default, known.line), line, call.scope)
    config = "fsdp_config" in call.keywords
    if not config:
        reading.claims.default("plan.fsdp_state_dict", "full", "default of accelerate")
    settings = _fsdp_settings(reading, call) if config else {}
    if settings is None:
        reading.claims.unknown("plan.fsdp_version", line, call.scope, "fsdp_config= is not shown")
        return
    version = next((settings[name] for name in VERSIONS if settings.get(name) in (1, 2)), None)
    if version is not None:
        reading.claims.say("plan.fsdp_version", Known(version), line, call.scope)
    named: dict[object, object] = dict.fromkeys((*call.keywords, *settings), True)
    reading.claims.say("plan.fsdp_wrap", Known(wrap_of(words.lower(), named), known.default, known.line), line, call.scope)


def _fsdp_settings(reading: Reading, call: Call) -> dict[object, object] | None:
    """The configuration of FSDP: a dict, or the file that a constant names; None where neither is shown."""
    table = reading.evaluator.table(*call.keywords["fsdp_config"])
    if table is not None:
        return {name: None if (known := reading.of(*entry)) is None else known.value for name, entry in table.entries.items()}
    known = reading.value(call, "fsdp_config")
    if known is None or known.default or not isinstance(known.value, str):
        return None
    path = Path(reading.source.path)
    reading.claims.looked_for.append(str(path.parent / known.value))
    found = fsdp_configuration(path, known.value)
    return None if found is None else dict(found)


def _from_command_line(reading: Reading) -> None:
    """Dataclasses that HfArgumentParser fills: the fields that the file gives a default are known so far as nobody says otherwise."""
    spaces = reading.evaluator.namespaces
    seen: set[str] = set()
    for scope in reading.outline.scopes:
        for name in scope.bindings:
            for kind in spaces.classes(name) - seen:
                seen.add(kind)
                if not arguments_kind(reading, kind):
                    continue
                line = next((binding.line for binding in scope.bindings[name]), 1)
                reading.claims.leave_open(ASKED_OF_ARGUMENTS)
                why = "the command line fills the training arguments: give its launcher or a plan file as well"
                reading.claims.skips.append(Skip(reading.source.place(line), why))
                fields = spaces.fields(kind) if kind.startswith(LOCAL) else {}
                for table, change in ((_DIRECT, None), (STRATEGIES, _strategy), (_GIVEN, _switch)):
                    for keyword, fact in table:
                        if keyword in fields and not spaces.is_set(name, keyword):
                            default = fields[keyword]
                            known = reading.of(default.value, default.scope)
                            known = change(known) if change else known
                            if known is not None:
                                reading.claims.say(fact, Known(known.value, default.setting, default.line), default.line, None)
