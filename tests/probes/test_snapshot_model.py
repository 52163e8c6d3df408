"""Which model a probe builds."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.probes.snapshot_model import NO_CONSENT, not_testable, source


def facts(**values: object) -> Facts:
    return Facts().with_facts(
        Fact(f"model.{name}", value, Origin("here")) for name, value in values.items() if isinstance(value, str | bool)
    )


def test_the_child_finds_a_snapshot_that_was_named_from_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It works in a directory of its own, where a relative path leads nowhere."""
    monkeypatch.chdir(tmp_path)
    found = source(facts(path="models/qwen", remote_code=False), trust=False)
    assert found == {"path": str(tmp_path / "models/qwen"), "model_type": None, "remote": False}


def test_code_of_the_snapshot_needs_consent() -> None:
    assert source(facts(path="models/chatglm", remote_code=True), trust=False) == NO_CONSENT
    assert isinstance(source(facts(path="models/chatglm", remote_code=True), trust=True), dict)


@pytest.mark.parametrize(
    "message",
    [
        "FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not"
        " installed. Please refer to the documentation",
        "This modeling file requires the following packages that were not found in your environment: einops",
    ],
)
def test_a_package_that_is_not_there_is_no_fault_of_those_that_are(message: str) -> None:
    error = {"during": "building the model", "type": "ImportError", "message": message}
    assert not_testable(error) == f"building the model needs a package that is not installed: {message}"
    assert not_testable({**error, "message": "cannot import name 'HybridCache' from 'transformers'"}) is None
