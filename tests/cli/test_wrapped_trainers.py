"""unsloth puts trainers of its own in the place of trl's: a script is judged with the module of its project that loads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from envdoctor.files.json_file import read_bounded
from tests.cli.run import run

TRAIN = "from loading import load\nfrom trl import SFTTrainer\n\nmodel, words = load()\nSFTTrainer(model=model, tokenizer=words)\n"


@pytest.mark.parametrize(
    ("loading", "told"),
    [
        ("from transformers import AutoModel\n", True),
        ("from unsloth import FastModel\n", False),
        # The names of trl were taken before this runs.
        ("def load():\n    import unsloth\n", True),
        ("# import unsloth\nimport unslothed\n", True),
    ],
)
def test_the_module_beside_a_script_may_load_what_wraps_the_trainers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, loading: str, told: bool
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "loading.py").write_text(loading)
    (tmp_path / "stack.toml").write_text('[packages]\ntrl = "0.19.1"\n')
    done = run(capsys, "check", str(tmp_path / "train.py"), "--facts", str(tmp_path / "stack.toml"), "-f", "json")
    rules = [one["rule"] for one in json.loads(done.out)["findings"] if one["severity"] == "error" and one["status"] == "matched"]
    assert rules == (["trl-tokenizer-argument-removed"] if told else [])
    assert done.status == int(told)


def test_a_script_is_read_once_for_its_plan_its_names_and_its_wrapper(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "loading.py").write_text("")
    read: list[str] = []
    where = "envdoctor.sources.scripts.script.read_bounded"

    def counted(path: Path, most: int) -> bytes:
        read.append(Path(path).name)
        return read_bounded(path, most)

    monkeypatch.setattr(where, counted)
    run(capsys, "check", str(tmp_path / "train.py"), "--set", "packages.trl=0.19.1")
    assert read.count("train.py") == 1
