"""What was meant to be examined and could not be is said, and the run does not end well; what was not meant for us is passed over."""

from __future__ import annotations

import json
import os
import venv
from pathlib import Path

import pytest

from tests.cli.run import run

FACTS = ("--facts", str(Path(__file__).parents[2] / "fixtures" / "stacks" / "healthy.toml"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


LOST = {
    "requirements.txt": "-r nothere.txt\n",
    "empty/requirements.txt": "",
    "Pipfile.lock": '{"a": 1}',
    "uv.lock": "",
    "x.ipynb": "{}",
    "train.py": "import transformers\ndef (\n",
    "plan.yaml": "a: 1\n",
    "environment.yml": "dependencies: torch\n",
    "model/config.json": "{}",
}


@pytest.mark.parametrize("name", LOST)
def test_a_named_target_that_gave_nothing_is_told_and_ends_with_2(capsys: pytest.CaptureFixture[str], folder: Path, name: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(LOST[name])
    (folder / "good.txt").write_text("torch==2.1.2\n")
    target = "model" if name.startswith("model/") else name
    ran = run(capsys, "check", target, "good.txt", "--isolated", "--format", "json")
    assert ran.status == 2
    assert [entry for entry in ran.json["skipped"] if entry.get("unexamined")]
    assert run(capsys, "check", target, "good.txt", "--isolated", "--allow-empty").status == 0
    text = run(capsys, "check", target, "good.txt", "--isolated")
    assert (text.status, "was not examined" in " ".join(text.out.split())) == (2, True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 100\n"),
        ("Dockerfile", "FROM scratch\n"),
    ],
)
def test_a_well_formed_file_that_declares_nothing_is_skipped(
    capsys: pytest.CaptureFixture[str], folder: Path, name: str, text: str
) -> None:
    (folder / name).write_text(text)
    ran = run(capsys, "check", name, "--isolated", "--format", "json", *FACTS)
    assert ran.status == 0
    (skipped,) = [entry for entry in ran.json["skipped"] if name in entry["what"]]
    assert not skipped.get("unexamined")


@pytest.mark.parametrize(
    ("name", "text"),
    [("data.json", '{"a": 1}\n{"a": 2}\n'), ("Cargo.lock", "[[package]]\nname = 'a'\n"), ("plan.yaml", "a: 1\n"), ("t.yaml", "")],
)
def test_among_many_files_one_that_nobody_meant_for_us_is_passed_over(
    capsys: pytest.CaptureFixture[str], folder: Path, name: str, text: str
) -> None:
    (folder / name).write_text(text)
    (folder / "requirements.txt").write_text("torch==2.1.2\n")
    assert run(capsys, "check", "--each", "--isolated", name, "requirements.txt").status == 0
    assert run(capsys, "check", "--each", "--isolated", name).status == 0


@pytest.mark.parametrize("text", ["", "[]", '{"version": "1", "installed": []}', "# nothing\n"])
def test_facts_that_state_nothing_are_an_error(capsys: pytest.CaptureFixture[str], folder: Path, text: str) -> None:
    (folder / "facts").write_text(text)
    ran = run(capsys, "check", "--facts", "facts")
    assert (ran.status, ran.out) == (2, "")


def test_a_value_that_a_fact_does_not_have_is_an_error_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "check", "--set", "plan.method=lorra", *FACTS)
    assert ran.status == 2
    assert "found plan.method = lorra" in ran.err
    assert "did you mean `lora`?" in ran.err


@pytest.mark.parametrize(
    ("word", "goal"),
    [("sft", "sft"), ("RM", "reward"), ("reward-modeling", "reward"), ("simpo", "simpo"), ("dreambooth", "dreambooth")],
)
def test_a_method_that_says_only_what_is_learned_loses_no_finding(capsys: pytest.CaptureFixture[str], word: str, goal: str) -> None:
    stack = ("--set", "packages.peft=0.11.1", "--set", f"plan.method={word}")
    ran = run(capsys, "check", *stack, "--format", "json")
    assert ran.status == 0
    assert {one["status"] for one in ran.json["findings"] if one["rule"] == "peft-fp16-adapter-nan"} == {"possible"}
    assert "what is trained: lora, qlora or full" in " ".join(run(capsys, "check", *stack).out.split())
    assert f"plan.objective = {goal} " in run(capsys, "facts", *stack).out


def test_a_method_that_says_only_that_there_is_training_is_judged_as_unstated(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "check", "--set", "packages.peft=0.11.1", "--set", "plan.method=train", "--format", "json")
    assert ran.status == 0
    assert {one["status"] for one in ran.json["findings"] if one["rule"] == "peft-fp16-adapter-nan"} == {"possible"}


@pytest.mark.parametrize(("stated", "read"), [("^1.7.7", ">=1.7.7,<2"), ("~1.7", ">=1.7,<1.8"), ("~=1.7.7", "~=1.7.7"), ("^x", "^x")])
def test_a_range_in_the_words_of_poetry_is_read(capsys: pytest.CaptureFixture[str], stated: str, read: str) -> None:
    out = run(capsys, "facts", "--set", f"packages.pytorch-lightning={stated}").out
    assert f"packages.pytorch-lightning = {read}" in out


def test_a_goal_that_is_stated_stands_whatever_the_method_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "facts", "--set", "plan.method=sft", "--set", "plan.objective=kto", *FACTS).out
    assert "plan.objective = kto " in out
    assert "plan.objective = sft " not in out


def test_a_hub_id_that_is_nowhere_is_not_examined(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    ran = run(capsys, "check", "nobody/no-such-model", "--format", "json", *FACTS)
    assert (ran.status, [entry["what"] for entry in ran.json["skipped"] if entry.get("unexamined")]) == (2, ["nobody/no-such-model"])


@pytest.mark.parametrize("name", ["a" * 300, "a\0b", "a\udcffb"])
def test_no_name_is_an_internal_error(capsys: pytest.CaptureFixture[str], folder: Path, name: str) -> None:
    for words in (
        ["check", name],
        ["check", "--root", name],
        ["check", "--rules", name, *FACTS],
        ["check", "--python", name],
        ["rules", "lint", name],
    ):
        assert run(capsys, *words).status == 2, words


def test_what_is_read_is_never_written_over(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    (folder / "requirements.txt").write_text("torch==2.1.2\n")
    for words in (["--output", "requirements.txt"], ["--write-baseline", "requirements.txt"]):
        assert run(capsys, "check", "requirements.txt", "--isolated", *words).status == 2
    assert (folder / "requirements.txt").read_text() == "torch==2.1.2\n"


def test_a_report_that_cannot_be_written_leaves_the_old_one(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "report.json").write_text("old")

    def no_room(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_room)
    assert run(capsys, "check", "--output", "report.json", "--format", "json", *FACTS).status == 2
    assert (folder / "report.json").read_text() == "old"
    assert [path.name for path in folder.iterdir()] == ["report.json"]


@pytest.fixture
def bare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The environment of a shell, with nothing in it."""
    home = folder / "bare"
    venv.create(home)
    monkeypatch.setenv("VIRTUAL_ENV", str(home))
    return home


def test_a_shell_without_torch_is_not_the_machine_that_is_named(capsys: pytest.CaptureFixture[str], folder: Path, bare: Path) -> None:
    (folder / "lora.yaml").write_text("model_name_or_path: a/b\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: x\n")
    ran = run(capsys, "check", "--isolated", "lora.yaml", "--target", "linux-x86_64,python=3.9,gpu=H100", "--format", "json")
    assert "sources-disagree" not in ran.out
    assert [(skip["what"], skip["why"].partition(" has ")[2]) for skip in ran.json["skipped"]] == [
        ("the installed stack", "neither torch nor transformers: it is not the environment of that machine")
    ]
    assert run(capsys, "check", "--isolated", "lora.yaml", "--format", "json").json["skipped"][:1] != ran.json["skipped"]


@pytest.mark.parametrize("form", ["text", "json", "junit", "markdown", "sarif"])
def test_no_line_of_a_file_becomes_a_command_of_a_ci_log(capsys: pytest.CaptureFixture[str], folder: Path, form: str) -> None:
    (folder / "requirements.txt").write_text(f"torch==2.1.2\n{'x' * 55} ::stop-commands::tok\n##[error]y\n")
    out = run(capsys, "check", "requirements.txt", "--isolated", "--format", form).out
    assert "##[" not in out
    assert not [line for line in out.splitlines() if line.lstrip().startswith("::")]
    if form in ("json", "sarif"):
        assert json.loads(out)


def test_a_shell_without_torch_is_not_the_machine_that_a_facts_file_describes(
    capsys: pytest.CaptureFixture[str], folder: Path, bare: Path
) -> None:
    (folder / "lora.yaml").write_text(
        "model_name_or_path: baichuan-inc/Baichuan-7B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: x\n"
    )
    (folder / "machine.toml").write_text('[gpu]\nname = "A100 40GB"\n')
    described = run(capsys, "check", "--isolated", "lora.yaml", "--facts", "machine.toml", "--format", "json").json
    assert [one["rule"] for one in described["findings"] if one["status"] == "matched"] == []
    here = run(capsys, "check", "--isolated", "lora.yaml", "--format", "json").json
    assert "sentencepiece-missing" in [one["rule"] for one in here["findings"] if one["status"] == "matched"]


def test_a_described_machine_of_which_no_package_is_known_is_no_error(capsys: pytest.CaptureFixture[str], folder: Path, bare: Path) -> None:
    (folder / "empty.py").write_text("import pytorch_lightning as pl\ntrainer = pl.Trainer(max_epochs=4)\n")
    (folder / "machine.toml").write_text('[gpu]\nname = "A100 40GB"\n')
    ran = run(capsys, "check", "--isolated", "empty.py", "--facts", "machine.toml", "--format", "json")
    assert (ran.status, ran.json["findings"]) == (0, [])
    assert [skip["what"] for skip in ran.json["skipped"]] == ["the installed stack"]


def test_a_shell_without_torch_lacks_nothing_of_the_packages_that_are_set(
    capsys: pytest.CaptureFixture[str], folder: Path, bare: Path
) -> None:
    said = ("packages.torch=2.5.0", "packages.transformers=4.46.3", "model.id=THUDM/glm-4-9b", "plan.batch_size=4", "gpu.name=H100")
    words = [word for one in said for word in ("--set", one)]
    ran = run(capsys, "check", "--isolated", *words, "--format", "json")
    assert [one["rule"] for one in ran.json["findings"] if one["status"] == "matched"] == ["torch-2-5-0-sdpa-mask-nan"]
    assert run(capsys, "check", "--isolated", *words).out.startswith("envdoctor 0.1.0: packages stated by --set\n")
    # Who names the environment says that it is the one.
    named = run(capsys, "check", "--isolated", *words, "--python", str(bare / "bin" / "python"), "--format", "json")
    assert "tiktoken-missing" in [one["rule"] for one in named.json["findings"]]


def test_a_shell_without_torch_says_that_the_packages_come_of_against(capsys: pytest.CaptureFixture[str], folder: Path, bare: Path) -> None:
    (folder / "train.py").write_text("import transformers\n")
    ran = run(capsys, "check", "--isolated", "train.py", "--against", "transformers==4.57.6")
    assert ran.out.startswith("envdoctor 0.1.0: packages stated by --against, train.py\n")
