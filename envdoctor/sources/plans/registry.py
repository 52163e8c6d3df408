"""Which dialect a mapping of settings is written in: the first that recognises it."""

from __future__ import annotations

from envdoctor.sources.plans.accelerate import ACCELERATE
from envdoctor.sources.plans.axolotl import AXOLOTL
from envdoctor.sources.plans.deepspeed import DEEPSPEED
from envdoctor.sources.plans.finetune_demo import FINETUNE_DEMO
from envdoctor.sources.plans.llama_factory import LLAMA_FACTORY
from envdoctor.sources.plans.others import NO_PLANS, OTHERS
from envdoctor.sources.plans.reader import Dialect, Table, text_keys
from envdoctor.sources.plans.swift import SWIFT
from envdoctor.sources.plans.torchtune import TORCHTUNE
from envdoctor.sources.plans.trainer import TRAINING_ARGUMENTS

# Specific ones first: their settings are partly TrainingArguments' own.
READ: tuple[Dialect, ...] = (
    FINETUNE_DEMO, SWIFT, LLAMA_FACTORY, DEEPSPEED, AXOLOTL, ACCELERATE, TORCHTUNE, TRAINING_ARGUMENTS,
)  # fmt: skip


def dialect_of(table: Table) -> Dialect | None:
    """The dialect of a plan; one without ``read`` is only known by name, None is no known tool's."""
    keys = text_keys(table)
    return next((dialect for dialect in (*NO_PLANS, *READ, *OTHERS) if dialect.recognises(table, keys)), None)
