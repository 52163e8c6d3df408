"""Who passed an argument, where a wrapper that hands on all it is given stands between: the project's own code, which can be changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.logs.callers import Caller, caller_of
from envdoctor.logs.tracebacks import Failure, Frame
from tests.cli.run import run

OWN = Frame("/work/sft.py", 31, "<module>", "", "trainer = SFTTrainer(model=model, tokenizer=tok)")
PACKAGES = "/env/lib/python3.10/site-packages"


def called(*between: Frame) -> Caller:
    return caller_of(
        Failure("TypeError", "SFTTrainer.__init__() got an unexpected keyword argument 'tokenizer'", 9, (OWN, *between)), "trl"
    )


@pytest.mark.parametrize(
    ("path", "function", "text"),
    [
        ("huggingface_hub/utils/_deprecation.py", "inner_f", "return f(*args, **kwargs)"),
        ("torch/utils/_contextlib.py", "decorate_context", "return func(*args, **kwargs)"),
        ("transformers/utils/deprecation.py", "wrapped_func", "return func(self, *args, **kwargs)"),
    ],
)
def test_a_wrapper_has_asked_for_nothing(path: str, function: str, text: str) -> None:
    assert called(Frame(f"{PACKAGES}/{path}", 101, function, path.partition("/")[0], text)).package == ""


def test_a_package_that_names_the_argument_has_asked_for_it() -> None:
    path, text = f"{PACKAGES}/autotrain/trainers/clm/train_clm_sft.py", "trainer = SFTTrainer(tokenizer=tokenizer, **trainer_args)"
    frame = Frame(path, 40, "train", "autotrain", text)
    assert called(frame).package == "autotrain"


def test_types_that_do_not_go_together_in_ones_own_line_are_told_as_that(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        'Traceback (most recent call last):\n  File "train.py", line 10, in compute\n    loss = loss / n\n'
        "TypeError: unsupported operand type(s) for /: 'Tensor' and 'NoneType'\n"
    )
    out = " ".join(run(capsys, "diagnose", str(tmp_path / "log")).out.split())
    assert "Tensor and NoneType" in out
    assert "train.py:10, in compute: `loss = loss / n`" in out
