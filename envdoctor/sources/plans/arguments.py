"""TrainingArguments: the fields that every tool around transformers' Trainer shares, with their defaults."""

from __future__ import annotations

from envdoctor.facts.fact import Origin
from envdoctor.sources.plans.deepspeed import configuration_of, read_setting
from envdoctor.sources.plans.deepspeed_differs import ARGUMENTS, DIFFERS, differing
from envdoctor.sources.plans.fsdp import read_fsdp
from envdoctor.sources.plans.reader import Reader, Table, is_open, word
from envdoctor.sources.plans.refused_arguments import KEYS, OPEN, REFUSED, refused
from envdoctor.sources.plans.training_arguments import DEFAULTS, FIELDS, SETTINGS, STRATEGIES

_DEFAULT = Origin("default of TrainingArguments")


def read_arguments(reader: Reader, table: Table, *above: str) -> None:
    """TrainingArguments at a path of keys, with their defaults."""
    state_arguments(reader, table, *above)
    names = tuple(sorted(key for key in table if isinstance(key, str) and (above or key in FIELDS)))
    reader.say_names("plan.arguments", names, *above)
    for fact, value in DEFAULTS:
        reader.default(fact, value, _DEFAULT)


def state_arguments(reader: Reader, table: Table, *above: str) -> None:
    """What the fields of TrainingArguments that a table has say, and nothing of those that it lacks."""
    reader.say_settings(table, SETTINGS, *above)
    for key, fact in STRATEGIES:
        # YAML reads an unquoted `no` as false.
        raw = table.get(key)
        if raw is not None:
            reader.say(fact, raw if is_open(raw) else raw is not False and word(raw).lower() != "no", *above, key)
    for key, fact in (("resume_from_checkpoint", "plan.resume"), ("neftune_noise_alpha", "plan.neftune")):
        raw = table.get(key)
        if raw is not None:
            reader.say(fact, raw is not False and word(raw).lower() not in ("false", ""), *above, key)
    for key in ("activation_checkpointing_kwargs", "gradient_checkpointing_kwargs"):
        read_checkpointing_kwargs(reader, table, *above, key)
    for key in ("torch_compile_backend", "torch_compile_mode"):
        if table.get(key):
            reader.say("plan.compile", True, *above, key)
    for key in ("use_cpu", "no_cuda"):
        if table.get(key) is True:
            reader.say("accelerator", "cpu", *above, key)
    read_fsdp(reader, table, *above)
    if table.get("deepspeed"):
        read_setting(reader, table["deepspeed"], *above, "deepspeed")


def say_refused(reader: Reader, table: Table, *, whole: bool = True) -> None:
    """What TrainingArguments refuse of the settings, for who hands them on as they are.

    ``whole``: what is not there has TrainingArguments' own default, and no other that a script may give it.
    """
    given = {key: OPEN if is_open(table[key]) else table[key] for key in KEYS if key in table}
    if not whole:
        given = {"save_strategy": OPEN, **given}
    found = tuple(refused(given))
    if found:
        reader.say(REFUSED, found, KEYS[0] if KEYS[0] in table else "fp16")
    settings = configuration_of(reader, table.get("deepspeed"))
    compared = {key: OPEN if is_open(table[key]) else table[key] for key in ARGUMENTS if key in table}
    if settings and (differ := tuple(differing(settings, compared, whole=False))):
        reader.say(DIFFERS, differ, "deepspeed")


def read_checkpointing_kwargs(reader: Reader, table: Table, *keys: str) -> None:
    """``gradient_checkpointing_kwargs``, the last of a path of keys."""
    kwargs = table.get(keys[-1])
    if kwargs is not None:
        reader.say("plan.gradient_checkpointing_kwargs", True, *keys)
        if isinstance(kwargs, dict):
            reader.say("plan.use_reentrant", kwargs.get("use_reentrant"), *keys, "use_reentrant")
