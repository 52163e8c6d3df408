"""The main job, end to end: a snapshot, a plan and a stack, one command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from envdoctor.world.releases import exists
from tests.cli.run import run

EXPECTED = Path(__file__).parent / "expected"


@pytest.fixture(autouse=True)
def _from_the_project(fixtures: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fixtures.parent)


def stack(name: str) -> list[str]:
    return ["--facts", f"fixtures/stacks/{name}.toml"]


CHATGLM = ["check", "fixtures/chatglm3-6b", "fixtures/plans/chatglm3-lora.yaml"]
SITUATIONS = {
    "chatglm3-bad": [*CHATGLM, *stack("chatglm3-bad")],
    "chatglm3-good": [*CHATGLM, *stack("chatglm3-good")],
    "glm4-torch250": ["check", "fixtures/glm-4-9b-chat-hf", *stack("glm4-torch250")],
    "llama2-qlora": ["check", "fixtures/llama-2-7b-hf", *stack("llama2-qlora")],
    "healthy": ["check", "fixtures/qwen2.5-0.5b-instruct", *stack("healthy")],
    "eight-errors": ["check", "fixtures/stacks/eight-errors.txt"],
    "lfs-pointer": ["check", "fixtures/damaged/lfs-pointer", *stack("healthy")],
}


def normal(text: str) -> str:
    """The report without what changes with every new rule and release list."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"against \d+ rules in \d+\.\d s", "against N rules in 0.1 s", line)
        lines.append(re.sub(r"\b20\d\d-\d\d-\d\d\b", "DATE", line))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_whole_screen_at_80_columns(capsys: pytest.CaptureFixture[str], name: str) -> None:
    ran = run(capsys, *SITUATIONS[name])
    assert ran.err == ""
    assert normal(ran.out) == (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")
    for line in ran.out.splitlines():
        assert len(line) <= 80 or "pip install" in line or "https://" in line


@pytest.mark.parametrize(
    ("name", "errors", "pins"),
    [
        ("chatglm3-bad", ["peft-fp16-adapter-nan"], {"peft": "==0.12.0"}),
        ("chatglm3-good", [], {}),
        ("glm4-torch250", ["torch-2-5-0-sdpa-mask-nan"], {"torch": "==2.5.1+cu118"}),
        (
            "llama2-qlora",
            ["torch-bf16-triu-cuda", "quantization-config-beside-load-in-bits"],
            {"bitsandbytes": "==0.43.2", "tokenizers": "==0.15.2", "transformers": "==4.37.2"},
        ),
        ("healthy", [], {}),
    ],
)
def test_what_is_found_and_what_cures_it(capsys: pytest.CaptureFixture[str], name: str, errors: list[str], pins: dict[str, str]) -> None:
    report = run(capsys, *SITUATIONS[name], "--format", "json").json
    decided = [finding for finding in report["findings"] if finding["status"] == "matched"]
    assert [finding["rule"] for finding in decided if finding["severity"] == "error"] == errors
    assert report["remedy"]["pins"] == pins
    assert report["remedy"]["verified"] == "none"
    assert report["summary"]["exit_code"] == int(report["summary"]["error"] > 0)
    for package, pin in pins.items():
        assert exists(package, pin.removeprefix("=="))


def test_a_change_of_the_plan_is_proposed_before_older_releases(capsys: pytest.CaptureFixture[str]) -> None:
    """The pins that go back are still there for whoever cannot change the plan, and nothing is proposed where none goes back."""
    report = run(capsys, *SITUATIONS["llama2-qlora"], "--format", "json").json
    change = report["remedy_by_change"]
    assert change["set"] == {"plan.load_in_4bit": False, "plan.load_in_8bit": False}
    assert change["pins"] == {"bitsandbytes": "==0.43.2", "torch": "==2.1.0", "triton": "==2.1.0"}
    assert set(change["clears"]) == set(report["remedy"]["clears"])
    settings = [word for name in change["set"] for word in ("--set", f"{name}=false")]
    pins = [word for name, pin in change["pins"].items() for word in ("--set", f"packages.{name}={pin.removeprefix('==')}")]
    assert run(capsys, *SITUATIONS["llama2-qlora"], *settings, *pins, "--fail-on", "warning").status == 0
    assert run(capsys, *SITUATIONS["chatglm3-bad"], "--format", "json").json["remedy_by_change"] is None


def test_no_rule_accuses_the_healthy_stack(capsys: pytest.CaptureFixture[str]) -> None:
    """Of all rules, the newest too: one that calls a good stack broken is worse than a missing one."""
    report = run(capsys, *SITUATIONS["healthy"], "--format", "json", every_rule=True).json
    accusing = [found["rule"] for found in report["findings"] if found["status"] == "matched" and found["severity"] == "error"]
    assert accusing == [], "narrow the rule, or, where it is right, move fixtures/stacks/healthy.toml to releases without the fault"


@pytest.mark.parametrize("name", SITUATIONS)
@pytest.mark.large
def test_text_and_json_agree(capsys: pytest.CaptureFixture[str], name: str) -> None:
    text = run(capsys, *SITUATIONS[name], "--verbose")
    ran = run(capsys, *SITUATIONS[name], "--format", "json")
    assert ran.status == text.status == ran.json["summary"]["exit_code"]
    for finding in ran.json["findings"]:
        assert finding["rule"] in text.out
        for fix in finding["fixes"] if finding["status"] == "matched" else ():
            for package, pin in fix.get("pins", {}).items():
                assert f'"{package}{pin}"' in text.out


def test_the_plan_file_alone_decides_with_the_snapshot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A stack without a word about the plan: dtype, quantization, optimizer and epsilon follow from snapshot, plan and releases."""
    facts = tmp_path / "stack.toml"
    facts.write_text('[packages]\ntorch = "2.1.2"\ntransformers = "4.38.2"\npeft = "0.11.1"\naccelerate = "0.27.2"\n', encoding="utf-8")
    report = run(capsys, *CHATGLM, "--facts", str(facts), "--format", "json").json
    found = next(finding for finding in report["findings"] if finding["rule"] == "peft-fp16-adapter-nan")
    assert found["status"] == "matched"
    sources = {reason["fact"]: reason["source"] for reason in found["because"]}
    assert sources["packages.peft"] == str(facts)
    assert sources["plan.method"] == "fixtures/plans/chatglm3-lora.yaml"
    assert sources["plan.load_dtype"] == "default of transformers 4.38.2 for ChatGLM remote code"


def test_without_a_plan_the_rules_that_wait_for_it_are_possible(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    facts = tmp_path / "stack.toml"
    facts.write_text('[packages]\ntorch = "2.1.2"\ntransformers = "4.38.2"\npeft = "0.11.1"\n', encoding="utf-8")
    ran = run(capsys, "check", "fixtures/chatglm3-6b", "--facts", str(facts))
    assert ran.status == 0
    assert "peft-fp16-adapter-nan" in ran.out
    assert ran.out.splitlines()[-1] == "depends on your plan: add a plan file, or --set plan.method=lora"
    assert run(capsys, "check", "fixtures/chatglm3-6b", "--facts", str(facts), "--strict").status == 1


def test_fail_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, *SITUATIONS["chatglm3-bad"], "--fail-on", "never").status == 0
    assert run(capsys, *SITUATIONS["chatglm3-good"], "--fail-on", "note").status == 1
    assert run(capsys, *SITUATIONS["chatglm3-good"], "--fail-on", "warning").status == 0


def test_set_wins_over_every_source(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, *SITUATIONS["chatglm3-bad"], "--set", "packages.peft=0.12.0", "--set", "gpu.name=RTX 4090", "--format", "json")
    assert ran.status == 0
    assert ran.json["facts"]["packages.peft"] == {"value": "0.12.0", "source": "--set"}


def test_facts_as_toml_can_be_given_back(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = SITUATIONS["chatglm3-bad"][1:]
    written = tmp_path / "facts.toml"
    assert run(capsys, "facts", *words, "--format", "toml", "--output", str(written)).status == 0
    before = run(capsys, *SITUATIONS["chatglm3-bad"], "--format", "json").json
    after = run(capsys, "check", "--facts", str(written), "--format", "json").json
    assert Path(after["facts"].pop("model.path")["value"]) == Path(before["facts"].pop("model.path")["value"]).resolve()
    assert {n: f["value"] for n, f in after["facts"].items()} == {n: f["value"] for n, f in before["facts"].items()}
    assert after["remedy"] == before["remedy"]


def test_a_requirements_target_is_checked_without_an_environment(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "requirements.txt"
    file.write_text("torch==2.1.2\ntransformers==4.38.2\npeft==0.14.0  # newest\n", encoding="utf-8")
    ran = run(capsys, "check", str(file), "--format", "json")
    assert ran.status == 1
    found = ran.json["findings"][0]
    assert found["rule"] == "peft-encoder-decoder-cache-import"
    assert found["location"] == {"file": str(file), "line": 3}


def test_output_goes_to_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "report.txt"
    ran = run(capsys, *SITUATIONS["healthy"], "--output", str(target))
    assert (ran.status, ran.out) == (0, "")
    assert "0 errors" in target.read_text(encoding="utf-8")


def test_facts_from_stdin(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    class Piped(io.StringIO):
        buffer = io.BytesIO(b'[packages]\npeft = "0.14.0"\ntransformers = "4.38.2"\n')

    monkeypatch.setattr(sys, "stdin", Piped())
    ran = run(capsys, "check", "--facts", "-", "--format", "json")
    assert ran.status == 1
    assert ran.json["patient"] == "packages stated in -"


@pytest.mark.parametrize(
    ("settings", "severity"),
    [(["gpu.name=H100"], "error"), (["gpu.name=A100"], "warning"), ([], "warning")],
)
def test_torch_2_5_0_is_an_error_on_hopper_and_a_warning_elsewhere_or_unknown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, settings: list[str], severity: str
) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text(
        '[packages]\ntorch = "2.5.0+cu118"\ntransformers = "4.48.0"\n[plan]\nmethod = "lora"\nbatch_size = 2\n', encoding="utf-8"
    )
    words = [word for setting in settings for word in ("--set", setting)]
    report = run(capsys, "check", "fixtures/glm-4-9b-chat-hf", "--facts", str(facts), *words, "--format", "json").json
    found = next(finding for finding in report["findings"] if finding["rule"] == "torch-2-5-0-sdpa-mask-nan")
    assert (found["status"], found["severity"]) == ("matched", severity)
    assert {fix["pins"]["torch"] for fix in found["fixes"] if fix.get("pins")} == {"==2.5.1+cu118", "==2.4.1+cu118"}


CALLS = """\
id         = "box-takes-no-lid"
title      = "The box takes no lid"
severity   = "error"
effect     = "crash"
confidence = "cited"
details    = "It does not."

[affected]
packages = ["peft >=0.7"]
{waits}
not      = {{ calls = ["lidless"] }}

[[fix]]
code = "leave the lid out"

[[evidence]]
url  = "https://github.com/huggingface/peft/issues/1"
kind = "issue"
says = "It was refused."
"""


@pytest.mark.parametrize("waits", ['calls = ["boxes.Box(lid)"]', 'plan.code_uses = ["Box(lid)"]'])
def test_a_pattern_of_a_rule_of_ones_own_touches_no_reader(capsys: pytest.CaptureFixture[str], tmp_path: Path, waits: str) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "box-takes-no-lid.toml").write_text(CALLS.format(waits=waits), encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("peft==0.8.0\n", encoding="utf-8")
    script = tmp_path / "train.py"
    words = (str(tmp_path / "requirements.txt"), str(script))
    mine = ("--rules", str(tmp_path / "rules"), "--format", "json")

    def told(text: str) -> list[tuple[str, int]]:
        script.write_text(text, encoding="utf-8")
        found = run(capsys, "check", *words, *mine).json["findings"]
        return [(one["status"], one["location"]["line"]) for one in found if one["rule"] == "box-takes-no-lid"]

    called = "import boxes.inner as b\n\nb.Box(size=3, lid=None)\n"
    assert told(called) == [("matched", 1)]
    facts = run(capsys, "check", *words, *mine).json["facts"]
    assert facts["plan.code_uses"]["value"] == ["boxes.inner.Box(lid=None)"]
    assert "plan.code_uses" not in run(capsys, "check", *words, "--format", "json").json["facts"]
    assert told(f"import lidless\n{called}") == []
    assert told("import boxes\ntry:\n    boxes.Box(lid=None)\nexcept TypeError:\n    boxes.Box()\n") == []


def test_without_a_script_a_rule_that_excuses_a_use_is_told_and_cured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    rule = CALLS.format(waits="").replace(">=0.7", "<0.12").replace('code = "leave the lid out"', 'pin = "peft >=0.12"')
    (tmp_path / "rules" / "box-takes-no-lid.toml").write_text(rule, encoding="utf-8")
    (tmp_path / "requirements.txt").write_text("peft==0.8.0\n", encoding="utf-8")
    words = ("check", str(tmp_path / "requirements.txt"), "--rules", str(tmp_path / "rules"), "--format", "json")
    ran = run(capsys, *words)
    (found,) = [one for one in ran.json["findings"] if one["rule"] == "box-takes-no-lid"]
    assert (found["status"], ran.status) == ("matched", 1)
    assert ran.json["remedy"]["pins"] == {"peft": "==0.12.0"}
    (tmp_path / "requirements.txt").write_text("peft==0.12.0\n", encoding="utf-8")
    assert "box-takes-no-lid" not in [one["rule"] for one in run(capsys, *words).json["findings"]]
