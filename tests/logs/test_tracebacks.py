"""Errors and frames out of logs, however they were printed."""

from __future__ import annotations

import pytest

from envdoctor.logs.tracebacks import Failure, decisive, read_failures
from envdoctor.logs.unwrapping import bare_line, unpack

PLAIN = """\
Traceback (most recent call last):
  File "/home/u/run.py", line 3, in <module>
    main()
  File "/opt/venv/lib/python3.10/site-packages/peft/auto.py", line 32, in <module>
    from transformers import EncoderDecoderCache
ImportError: cannot import name 'EncoderDecoderCache' from 'transformers' (/opt/venv/lib/python3.10/site-packages/transformers/__init__.py)
"""
RANKS = "\n".join(f"[rank{rank}]: {line}" for rank in (0, 1) for line in PLAIN.splitlines())
RAY = "\n".join(f"(TrainWorker pid=123, ip=10.0.0.1) {line}" for line in PLAIN.splitlines())
ACTIONS = "\n".join(f"2024-06-11T09:02:13.1234567Z {line}" for line in PLAIN.splitlines())
COMPOSE = "\n".join(f"trainer-1  | {line}" for line in PLAIN.splitlines())
MAIL = "\n".join(f"> {line}" for line in PLAIN.splitlines())
COLOURED = PLAIN.replace("ImportError", "\x1b[31mImportError\x1b[0m").replace("  File", "\x1b[36m  File\x1b[0m")
JSON_LOG = '{"level": "error", "message": "' + PLAIN.replace('"', '\\"').replace("\n", "\\n") + '"}'
RICH = """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /home/u/run.py:3 in <module>                                                 │
│                                                                              │
│ ❱ 3 main()                                                                   │
│                                                                              │
│ /opt/venv/lib/python3.10/site-packages/peft/auto.py:32 in <module>           │
│                                                                              │
│    31 import os                                                              │
│ ❱  32 from transformers import EncoderDecoderCache                           │
╰──────────────────────────────────────────────────────────────────────────────╯
ImportError: cannot import name 'EncoderDecoderCache' from 'transformers'
(/opt/venv/lib/python3.10/site-packages/transformers/__init__.py)
"""
NOTEBOOK = """\
---------------------------------------------------------------------------
ImportError                               Traceback (most recent call last)
Cell In[3], line 1
----> 1 main()

File /opt/venv/lib/python3.10/site-packages/peft/auto.py:32
     31 import os
---> 32 from transformers import EncoderDecoderCache

ImportError: cannot import name 'EncoderDecoderCache' from 'transformers' (/opt/venv/lib/python3.10/site-packages/transformers/__init__.py)
"""
OLD_NOTEBOOK = """\
---------------------------------------------------------------------------
ImportError                               Traceback (most recent call last)
<ipython-input-5-0a1b2c3d> in <module>
----> 1 main()

/opt/venv/lib/python3.10/site-packages/peft/auto.py in <module>
     31 import os
---> 32 from transformers import EncoderDecoderCache

ImportError: cannot import name 'EncoderDecoderCache' from 'transformers' (/opt/venv/lib/python3.10/site-packages/transformers/__init__.py)
"""


def failures(log: str) -> tuple[Failure, ...]:
    return read_failures([(number, bare_line(line)) for number, raw in enumerate(log.split("\n"), 1) for line in unpack(raw)])


@pytest.mark.parametrize("log", [PLAIN, RANKS, RAY, ACTIONS, COMPOSE, MAIL, COLOURED, JSON_LOG, RICH, NOTEBOOK, OLD_NOTEBOOK])
def test_one_error_however_it_was_printed(log: str) -> None:
    (one,) = failures(log)
    assert one.kind == "ImportError"
    assert one.message.startswith("cannot import name 'EncoderDecoderCache' from 'transformers' (/opt/venv/")
    assert one.packages == ("peft",)
    inner = one.frames[-1]
    assert (inner.path.rpartition("/")[2], inner.line, inner.text) == ("auto.py", 32, "from transformers import EncoderDecoderCache")
    assert inner.module == "peft.auto"


def test_chained_errors_are_each_one_and_the_last_decides() -> None:
    log = (
        PLAIN
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + PLAIN.replace("ImportError: cannot", "RuntimeError: Failed to import transformers.trainer because of the following error: cannot")
    )
    first, last = failures(log)
    assert (first.kind, first.chained, last.kind, last.chained) == ("ImportError", False, "RuntimeError", True)
    assert decisive((first, last)) is last


def test_what_tells_of_another_process_does_not_decide() -> None:
    log = (
        PLAIN
        + '  File "/x/site-packages/torch/distributed/run.py", line 9, in run\n'
        + "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n"
    )
    found = failures(log)
    last = decisive(found)
    assert [one.kind for one in found] == ["ImportError", "ChildFailedError"]
    assert last is not None
    assert last.kind == "ImportError"


def test_an_error_in_a_sentence_is_one_without_frames() -> None:
    (one,) = failures("When I run it I get `AttributeError: 'Linear' object has no attribute 'ds_grads_remaining'` every time")
    assert (one.kind, one.frames) == ("AttributeError", ())
    assert one.message.startswith("'Linear' object has no attribute")


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("/opt/venv/lib/python3.10/site-packages/peft/auto.py", "peft"),
        ("C:\\venv\\Lib\\site-packages\\transformers\\trainer.py", "transformers"),
        ("/usr/lib/python3/dist-packages/torch/nn/modules/module.py", "torch"),
        ("/usr/lib/python3.10/importlib/__init__.py", ""),
        ("/home/u/LLaMA-Factory/src/llamafactory/train/sft/workflow.py", "llamafactory"),
        ("/home/u/trl-main/trl/trainer/sft_trainer.py", "trl"),
        ("/root/.cache/huggingface/modules/transformers_modules/THUDM/chatglm/modeling.py", "transformers_modules"),
        ("/home/u/project/train.py", ""),
    ],
)
def test_whose_a_file_is(path: str, package: str) -> None:
    (one,) = failures(f'Traceback (most recent call last):\n  File "{path}", line 9, in f\nValueError: no\n')
    assert one.raised_in == package


def test_a_log_without_errors_has_none() -> None:
    assert failures("{'loss': 1.2}\nINFO: all is well\nSaving model checkpoint to out/checkpoint-500\n") == ()


def test_a_traceback_that_was_pasted_as_one_line_or_indented_as_a_whole() -> None:
    (one,) = failures(" ".join(PLAIN.splitlines()))
    assert (one.kind, one.packages) == ("ImportError", ("peft",))
    (other,) = failures("\n".join(f"      {line}" for line in PLAIN.splitlines()))
    assert (other.kind, other.packages) == ("ImportError", ("peft",))


def test_a_message_goes_on_over_what_an_object_prints_of_itself_and_ends_before_a_report() -> None:
    text = "ValueError: Invalid kind: SGD (\nGroup 0\n    lr: 0.1\n). Known kinds are: a, b\n- torch: 2.1.0\n- peft: 0.9.0"
    (failure,) = read_failures(enumerate(text.splitlines(), 1))
    assert failure.message == "Invalid kind: SGD ( Group 0 lr: 0.1 ). Known kinds are: a, b"
    text = "ValueError: Unknown encoding x.\nPlugins found: ['a']\ntiktoken version: 0.9.0 (are you on latest?)"
    (failure,) = read_failures(enumerate(text.splitlines(), 1))
    assert failure.message.endswith("tiktoken version: 0.9.0 (are you on latest?)")
