"""Where the code of a snapshot comes from."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.checks.hit import Hit
from envdoctor.coherence.auto_map import CHECKS
from envdoctor.facts.fact import Defect
from envdoctor.sources.model.snapshot import read_snapshot
from tests.coherence.situations import rules, run, situation, snapshot

ELSEWHERE = {"AutoConfig": "owner/name--configuration_x.X", "AutoModel": "owner/name--modeling_x.X"}


def test_code_of_another_repository(tmp_path: Path) -> None:
    read = snapshot(tmp_path, {"config.json": {"model_type": "x", "auto_map": ELSEWHERE}, "modeling_x.py": b"", "configuration_x.py": b""})
    (one,) = run(CHECKS, read)
    assert one == Defect(
        "snapshot-code-elsewhere",
        "auto_map takes the code for AutoConfig, AutoModel from owner/name, at whatever its newest commit is",
        str(tmp_path / "config.json"),
        3,
    )


def test_code_of_another_repository_that_nobody_runs_or_whose_commit_is_asked_for(tmp_path: Path) -> None:
    read = snapshot(tmp_path, {"config.json": {"model_type": "x", "auto_map": ELSEWHERE}})
    assert len(run(CHECKS, read, situation(read, plan_trust_remote_code=True))) == 1
    assert run(CHECKS, read, situation(read, plan_trust_remote_code=False)) == []
    uses = ("transformers.AutoModel.from_pretrained(code_revision=abc, trust_remote_code=True)",)
    assert run(CHECKS, read, situation(read, plan_trust_remote_code=True, plan_code_uses=uses)) == []


def test_code_that_is_not_there(tmp_path: Path) -> None:
    files: dict[str, object] = {
        "config.json": {"model_type": "x", "auto_map": {"AutoModel": "modeling_x.X", "AutoConfig": "configuration_x.X"}},
        "configuration_x.py": b"",
    }
    read = snapshot(tmp_path, files)
    (one,) = run(CHECKS, read, situation(read, plan_trust_remote_code=True))
    assert isinstance(one, Hit)
    assert (one.rule, one.outcome, one.missing) == ("snapshot-remote-code-missing", True, ())
    assert one.detail == "modeling_x.py, which auto_map names for AutoModel, is not there"
    (one,) = run(CHECKS, read)
    assert isinstance(one, Hit)
    assert (one.outcome, one.missing) == (None, ("plan.trust_remote_code",))
    assert run(CHECKS, read, situation(read, plan_trust_remote_code=False)) == []


def test_a_tokenizer_of_the_first_form(tmp_path: Path) -> None:
    read = snapshot(tmp_path, {"config.json": {"model_type": "chatglm"}, "tokenizer_config.json": {"auto_map": ["tokenization_x.X", None]}})
    (one,) = run(CHECKS, read)
    assert isinstance(one, Hit)
    # No release of transformers has a class for chatglm: the code is run in any case.
    assert (one.rule, one.outcome, one.file) == ("snapshot-remote-code-missing", True, str(tmp_path / "tokenizer_config.json"))


@pytest.mark.parametrize(
    "auto_map", [None, {}, [], 3, {"AutoModel": 3}, {"AutoModel": [None, 3]}, {"AutoModel": "../up.X"}, {"AutoModel": "X"}]
)
def test_what_names_no_module(tmp_path: Path, auto_map: object) -> None:
    assert run(CHECKS, snapshot(tmp_path, {"config.json": {"model_type": "x", "auto_map": auto_map}})) == []


@pytest.mark.parametrize("name", ["chatglm3-6b", "chatglm3-6b-2024-02", "glm-4-9b-chat-hf", "llama-2-7b-hf", "qwen2.5-0.5b-instruct"])
def test_the_fixtures_have_their_code(fixtures: Path, name: str) -> None:
    assert rules(run(CHECKS, read_snapshot(fixtures / name))) == []
