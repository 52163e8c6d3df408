"""Whose compiled code put a message together, where no text that was read holds it as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.logs.diagnosed import findings

BOUND = (
    "TypeError: __init__(): incompatible constructor arguments. The following argument types are supported:\n"
    "    1. torch._C.Future(arg0: Sequence[torch.device])\n\nInvoked with: 2"
)


@pytest.mark.parametrize(
    ("log", "package", "releases"),
    [
        ("TypeError: ormqr(): argument 'input' (position 1) must be Tensor, not RangeIndex", "torch", "releases 1.10.2-"),
        ("TypeError: torch.is_anomaly_enabled() takes no arguments (3 given)", "torch", "releases 1.10.2-"),
        (BOUND, "torch", "releases 1.10.2-"),
        ("ValueError: assignment destination is read-only", "numpy", "releases 1.21.6-"),
        ("Exception: expected ident at line 1 column 2", "tokenizers", "releases 0.11.2-"),
        ("RuntimeError: Internal: src/trainer_interface.cc(332) [(sentence_iterator_ != nullptr)]", "sentencepiece", "releases 0.1.99-"),
        ("TypeError: in method 'SentencePieceProcessor_Load', argument 1 of type 'int'", "sentencepiece", "releases 0.1.99-0.2.1"),
        ("TypeError: Can't extract `str` to `Vec`", "tokenizers", "releases 0.13.3-"),
        ("ValueError: expected tuple of length 2, but got tuple of length 5", "tokenizers", "releases 0.13.3-"),
        ('ValueError: "least" is not a valid tiebreaker', "pyarrow", "compiled code"),
        ('TypeError: "some" is not a valid value set', "pyarrow", "compiled code"),
        ("TypeError: torch._C.ScriptMethod: No constructor defined!", "torch", "compiled code"),
        ("RuntimeError: Invalid device string: 'gpu0'", "torch", "compiled code"),
    ],
)
def test_the_form_of_a_sentence_tells_whose_code_made_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str, package: str, releases: str
) -> None:
    first = findings(capsys, tmp_path, log)[0]
    assert (first["packages"], first["status"]) == ([package], "possible")
    assert first["detail"].endswith(releases)


@pytest.mark.parametrize(
    "log",
    [
        "TypeError: reshape() takes exactly 1 argument (0 given)",
        "AttributeError: type object 'int' has no attribute 'name'",
        "ValueError: expected ident at line 1 column 2",
        "Exception: the line 1 has no column 2",
    ],
)
def test_what_python_or_anybody_says_is_laid_on_nobody(capsys: pytest.CaptureFixture[str], tmp_path: Path, log: str) -> None:
    assert findings(capsys, tmp_path, log) == []
