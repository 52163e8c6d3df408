"""Generation configurations that cannot be saved again."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.checks.hit import Hit
from envdoctor.coherence.generation import CHECKS
from envdoctor.sources.model.snapshot import read_snapshot
from tests.coherence.situations import run, situation, snapshot

SAVED = {"plan_method": "full", "plan_save": True}


@pytest.mark.parametrize(
    ("table", "release", "detail"),
    [
        ({"early_stopping": True}, "4.37.0", "early_stopping is true and num_beams is 1"),
        ({"early_stopping": "never", "num_beams": 1}, "5.22.2", "early_stopping is never and num_beams is 1"),
        ({"length_penalty": 0.6}, "4.40.0", "length_penalty is 0.6 and num_beams is 1"),
        ({"pad_token_id": -1}, "4.41.0", "pad_token_id is -1 and no token has a negative id"),
        ({"output_scores": True}, "4.45.0", "output_scores is true and return_dict_in_generate is not true"),
    ],
)
def test_what_is_refused(tmp_path: Path, table: dict[str, object], release: str, detail: str) -> None:
    read = snapshot(tmp_path, {"generation_config.json": table})
    (one,) = run(CHECKS, read, situation(read, transformers=release, **SAVED))
    assert isinstance(one, Hit)
    assert (one.rule, one.outcome, one.detail) == ("snapshot-generation-config-unsavable", True, detail)
    assert one.line == 2
    for stated in ({**SAVED, "plan_save": False}, {**SAVED, "plan_method": "lora"}, {}):
        assert run(CHECKS, read, situation(read, transformers=release, **stated)) == []


@pytest.mark.parametrize(
    ("table", "release"),
    [
        ({"early_stopping": True}, "4.36.2"),
        ({"early_stopping": True}, "5.23.0"),
        ({"pad_token_id": -1}, "4.40.2"),
        ({"output_scores": True}, "4.44.2"),
        ({"early_stopping": True, "num_beams": 4, "length_penalty": 2.0}, "4.48.0"),
        ({"early_stopping": False, "length_penalty": 1, "pad_token_id": 0}, "4.48.0"),
        ({"output_scores": True, "return_dict_in_generate": True}, "4.48.0"),
        # Sampling flags have a rule of their own.
        ({"temperature": 0.9, "top_p": 0.6}, "4.48.0"),
        ({"early_stopping": None, "length_penalty": "much", "pad_token_id": None, "num_beams": []}, "4.48.0"),
    ],
)
def test_what_is_saved(tmp_path: Path, table: dict[str, object], release: str) -> None:
    read = snapshot(tmp_path, {"generation_config.json": table})
    assert run(CHECKS, read, situation(read, transformers=release, **SAVED)) == []


@pytest.mark.parametrize("name", ["glm-4-9b-chat-hf", "llama-2-7b-hf", "qwen2.5-0.5b-instruct", "chatglm3-6b"])
def test_the_fixtures_are_saved(fixtures: Path, name: str) -> None:
    read = read_snapshot(fixtures / name)
    assert run(CHECKS, read, situation(read, transformers="4.48.0", **SAVED)) == []
