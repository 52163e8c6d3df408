"""A name with other capitals is another name: transformers has LlamaTokenizer, and no release has LLaMATokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("LLaMATokenizer", "llama-tokenizer-class-misspelled"),
        ("llamatokenizer", "llama-tokenizer-class-misspelled"),
        ("LlamaTokenizer", "tokenizer-class-unknown-to-transformers"),
    ],
)
def test_the_rule_of_the_name_as_it_is_spelt(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, rule: str) -> None:
    (tmp_path / "log").write_text(f"ValueError: Tokenizer class {name} does not exist or is not currently imported.\n")
    assert f"[{rule}" in run(capsys, "diagnose", str(tmp_path / "log")).out
