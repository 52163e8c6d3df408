"""The run that an image starts by itself: CMD and ENTRYPOINT, as a launcher's line."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.cli import main
from envdoctor.facts.fact import STARTED, Fact
from envdoctor.sources.docker.dockerfile import collect_dockerfile
from envdoctor.world.installation import Installation

LINUX = Installation({"sys_platform": "linux", "platform_machine": "x86_64"})
PLAN = "model_name_or_path: meta-llama/Llama-3.1-8B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: x\noutput_dir: o\n"
HEAD = "FROM python:3.11\nENV NCCL_P2P_DISABLE=1\nWORKDIR /app\nCOPY . /app\n"


def started(tmp_path: Path, end: str, head: str = HEAD) -> dict[str, Fact]:
    """What is said of the run, without defaults."""
    (tmp_path / "conf").mkdir(exist_ok=True)
    (tmp_path / "conf" / "sft.yaml").write_text(PLAN)
    (tmp_path / "run.sh").write_text("#!/bin/bash\nllamafactory-cli train conf/sft.yaml\n")
    path = tmp_path / "Dockerfile"
    path.write_text(head + end + "\n")
    first = collect_dockerfile(path, LINUX)[0].collected
    return {fact.name: fact for fact in first.facts if fact.origin.source.startswith(STARTED)}


@pytest.mark.parametrize(
    "end",
    [
        'CMD ["llamafactory-cli", "train", "conf/sft.yaml"]',
        "CMD llamafactory-cli train conf/sft.yaml",
        'ENTRYPOINT ["llamafactory-cli"]\nCMD ["train", "/app/conf/sft.yaml"]',
        "ENV PLAN=conf/sft.yaml\nENTRYPOINT llamafactory-cli train conf/sft.yaml\nCMD ignored",
        'ENTRYPOINT ["bash", "-c"]\nCMD ["llamafactory-cli train conf/sft.yaml"]',
        'ENTRYPOINT ["./run.sh"]',
        "CMD bash run.sh",
        "CMD conda run -n base llamafactory-cli train conf/sft.yaml",
        'CMD ["sleep", "1"]\nCMD ["llamafactory-cli", "train", "conf/sft.yaml"]',
    ],
)
def test_the_plan_of_the_run_is_read(tmp_path: Path, end: str) -> None:
    found = started(tmp_path, end)
    assert found["plan.method"].value == "lora"
    assert found["model.id"].value == "meta-llama/Llama-3.1-8B"


@pytest.mark.parametrize(
    "end",
    [
        'CMD ["sleep", "infinity"]',
        "CMD bash",
        'CMD ["llamafactory-cli", "train", "conf/sft.yaml"]\nCMD ["bash"]',
        'CMD ["python", "app.py"]',
        "",
    ],
)
def test_an_image_that_starts_no_known_run_says_nothing_of_one(tmp_path: Path, end: str) -> None:
    assert started(tmp_path, end) == {}


def test_an_entrypoint_takes_the_command_of_the_stage_before_away(tmp_path: Path) -> None:
    stages = "FROM python:3.11 AS base\nWORKDIR /app\nCOPY . /app\n{}\nFROM base\n"
    kept = stages.format('ENTRYPOINT ["llamafactory-cli"]\nCMD ["train", "conf/sft.yaml"]')
    assert started(tmp_path, "", kept)["plan.method"].value == "lora"
    gone = stages.format('CMD ["train", "conf/sft.yaml"]')
    assert "plan.method" not in started(tmp_path, 'ENTRYPOINT ["llamafactory-cli"]', gone)


@pytest.mark.parametrize("command", ["cd /x && llamafactory-cli train conf/sft.yaml", "llamafactory-cli train /other/conf/sft.yaml"])
def test_a_plan_that_lies_elsewhere_in_the_image_is_not_taken_for_one_beside_the_dockerfile(tmp_path: Path, command: str) -> None:
    found = started(tmp_path, f"CMD {command}")
    assert "plan.method" not in found
    assert found["plan.whole"].value is False
    skipped = collect_dockerfile(tmp_path / "Dockerfile", LINUX)[0].collected.skips
    assert any(skip.why.endswith("the plan of llamafactory-cli is not beside the script") for skip in skipped)


def test_the_run_says_where_it_stands(tmp_path: Path) -> None:
    served = started(tmp_path, 'CMD ["vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"]')
    assert served["plan.method"].value == "inference"
    assert (served["plan.method"].origin.file, served["plan.method"].origin.line) == (str(tmp_path / "Dockerfile"), 5)


def test_a_plan_named_beside_the_image_replaces_the_run_that_it_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started(tmp_path, 'RUN pip install transformers==4.46.3\nCMD ["vllm", "serve", "Qwen/Qwen2.5-7B-Instruct"]')
    plan = tmp_path / "conf" / "sft.yaml"
    main(["check", str(tmp_path / "Dockerfile"), str(plan), "-f", "json"])
    told = capsys.readouterr().out
    assert "sources-disagree" not in told
    assert "Qwen2.5" not in told


def test_what_the_image_starts_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    started(tmp_path, 'RUN pip install llamafactory==0.9.3 accelerate==1.8.1\nCMD ["llamafactory-cli", "webui"]')
    assert main(["check", str(tmp_path / "Dockerfile")]) == 1
    assert "error: LLaMA-Factory 0.9.3 refuses this accelerate at start-up" in capsys.readouterr().out


def test_a_command_that_rules_wait_for_is_one_of_the_image(tmp_path: Path) -> None:
    found = started(tmp_path, 'CMD ["ray", "start", "--head"]', "FROM python:3.11\n")
    assert found["plan.code_uses"].value == ("$ ray start",)


def test_a_program_that_rules_wait_for_is_run_while_the_image_is_built(tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"

    def used(text: str) -> object:
        path.write_text(text)
        image = collect_dockerfile(path, LINUX)[-1].collected
        return next((fact.value for fact in image.facts if fact.name == "plan.code_uses"), None)

    base = "FROM python:3.11 AS one\nRUN pip install evaluate && evaluate-cli create x\n"
    assert used(base) == ("$ evaluate-cli create",)
    assert used(base + "FROM one\nENV TORCHDYNAMO_DISABLE=1\n") == (
        "env:TORCHDYNAMO_DISABLE=1", "torch.compile(disable=True)", "$ evaluate-cli create",
    )  # fmt: skip
    assert used("FROM python:3.11\nRUN tts --text a --model_name b/c\n") == ("$ tts --model_name b/c",)
    assert used("FROM python:3.11\nRUN if $A; then evaluate-cli create x; fi\n") is None


@pytest.mark.parametrize(
    ("end", "model"),
    [
        ('CMD ["--model", "google/gemma-3-27b-it"]', "google/gemma-3-27b-it"),
        ('ENTRYPOINT ["bash"]\nCMD ["--model", "google/gemma-3-27b-it"]', None),
        ("CMD --model google/gemma-3-27b-it", None),
    ],
)
def test_what_follows_the_entrypoint_of_an_image_that_is_known(tmp_path: Path, end: str, model: str | None) -> None:
    found = started(tmp_path, end, "FROM vllm/vllm-openai:v0.7.3\n").get("model.id")
    assert (found.value if found is not None else None) == model
