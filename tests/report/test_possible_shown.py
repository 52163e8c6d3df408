"""What may be: the report says what it is, what to state, and what to try."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.cli import main

LOG = """Traceback (most recent call last):
  File "/home/u/train.py", line 3, in <module>
    trainer.train()
  File "/opt/lib/python3.10/site-packages/transformers/trainer.py", line 1885, in train
    return inner_training_loop(
  File "/opt/lib/python3.10/site-packages/accelerate/accelerator.py", line 1995, in backward
    loss.backward(**kwargs)
KeyError: 'weird'
"""


def test_an_error_that_nothing_explains_says_below_whom_it_was_raised_and_what_to_try(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    log, facts = tmp_path / "train.log", tmp_path / "facts.toml"
    log.write_text(LOG)
    facts.write_text('python = "3.10"\n')
    main(["diagnose", str(log), "--facts", str(facts)])
    told = " ".join(capsys.readouterr().out.split())
    assert "it was raised below transformers (transformers/trainer.py:1885, in train), in accelerate, which does what it is told" in told
    assert "to try: where it worked before: the releases of these packages from that day" in told
