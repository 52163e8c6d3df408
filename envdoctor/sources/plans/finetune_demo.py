"""The finetune_demo of ChatGLM3 and GLM-4."""

from __future__ import annotations

from envdoctor.sources.plans.arguments import read_arguments
from envdoctor.sources.plans.peft import read_peft
from envdoctor.sources.plans.reader import Dialect, Reader, Table


def _recognises(table: Table, _: frozenset[str]) -> bool:
    return isinstance(table.get("training_args"), dict)


def _read(reader: Reader, table: Table) -> None:
    """``training_args`` beside ``peft_config`` and the lengths; without a peft_config all weights are trained.

    Rows are cut to max_input_length + max_output_length + 1 tokens, and nothing is evaluated without a
    val_file: https://github.com/THUDM/ChatGLM3/blob/main/finetune_demo/finetune_hf.py
    """
    arguments = table["training_args"]
    if isinstance(arguments, dict):
        read_arguments(reader, arguments, "training_args")
    data = table.get("data_config")
    if isinstance(data, dict) and not data.get("val_file"):
        reader.say("plan.evaluate", False, "data_config")
    lengths = [table.get("max_input_length"), table.get("max_output_length")]
    if all(type(length) is int for length in lengths):
        reader.say("plan.seq_len", sum(length for length in lengths if isinstance(length, int)) + 1, "max_input_length")
    peft = table.get("peft_config")
    if isinstance(peft, dict):
        read_peft(reader, peft)
    elif peft is None:
        reader.say("plan.method", "full", "training_args")
    reader.default("plan.trainer", "transformers", reader.origin())


FINETUNE_DEMO = Dialect("finetune_demo", _recognises, _read)
