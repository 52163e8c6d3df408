"""``envdoctor fix``: what it prints, what it writes, and when it writes nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.remedies.remedy import Move, Remedy
from tests.cli.run import run

REQUIREMENTS = "torch==2.3.1\ntransformers==4.38.2  # the model needs it\npeft==0.11.1\naccelerate==0.27.2\n"
MENDED = REQUIREMENTS.replace("peft==0.11.1", "peft==0.12.0")
# A run in which the plan decides: float16 LoRA with the default optimizer.
PLAN = "finetuning_type: lora\nstage: sft\ndo_train: true\nmodel_name_or_path: THUDM/chatglm3-6b\n"
FACTS_STATED = (
    "plan.method=lora", "plan.load_dtype=float16", "plan.quant=none", "plan.fp16=false", "plan.bf16=false", "plan.optimizer=adamw_torch",
    "plan.optimizer_eps=1e-8", "model.type=chatglm",
)  # fmt: skip
FACTS = [word for statement in FACTS_STATED for word in ("--set", statement)]
RULE = "peft-fp16-adapter-nan"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS)
    return tmp_path


def test_the_diff_is_printed_and_nothing_is_written(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    ran = run(capsys, "fix", "--offline", "requirements.txt", *FACTS)
    assert ran.status == 1
    assert (project / "requirements.txt").read_text() == REQUIREMENTS
    head, _, rest = ran.out.partition("@@ -1,4 +1,4 @@\n")
    assert head == "envdoctor 0.1.0: packages of requirements.txt\n\n--- requirements.txt\n+++ requirements.txt\n"
    diff, _, rest = rest.partition("\n\n")
    assert diff.splitlines() == [
        " torch==2.3.1",
        " transformers==4.38.2  # the model needs it",
        "-peft==0.11.1",
        "+peft==0.12.0",
        " accelerate==0.27.2",
    ]
    assert f"  [{RULE}]\n" in rest
    assert "peft 0.11.1 -> 0.12.0" in rest
    assert "proof    metadata: " in rest
    assert "uv was not asked: --offline" in " ".join(rest.split())
    assert "\n1 file would change; --write writes it and checks again\n" in rest


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch program here")
def test_what_is_printed_is_a_patch(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "requirements.txt").write_text("torch==2.3.1   \n\npeft==0.11.1")
    printed = run(capsys, "fix", "--offline", "requirements.txt", *FACTS).out
    subprocess.run(["patch", "-p0"], input=printed, text=True, check=True, capture_output=True)
    assert (project / "requirements.txt").read_text() == "torch==2.3.1   \n\npeft==0.12.0"


def test_what_is_written_is_checked_again_and_then_nothing_is_left(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    ran = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS)
    assert (ran.status, (project / "requirements.txt").read_text()) == (0, MENDED)
    assert "\n1 file written: re-checked, the findings are gone\n" in ran.out
    again = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS)
    assert (again.status, (project / "requirements.txt").read_text()) == (0, MENDED)
    assert "nothing to fix: 0 errors" in again.out


def test_the_report_has_the_diffs(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    told = run(capsys, "fix", "--offline", "requirements.txt", *FACTS, "--format", "json")
    assert told.status == 1
    (diff,) = told.json["diffs"]
    assert (diff["file"], diff["written"]) == ("requirements.txt", False)
    assert "-peft==0.11.1\n+peft==0.12.0\n" in diff["diff"]
    assert told.json["remedy"]["pins"] == {"peft": "==0.12.0"}
    assert told.json["remedy"]["verified"] == "metadata"
    assert told.json["remedy"]["changes"][0]["before"] == "0.11.1"
    assert told.json["left"] == [RULE]
    assert told.json["summary"]["exit_code"] == 1
    written = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS, "--format", "json")
    assert (written.status, written.json["left"], written.json["diffs"][0]["written"]) == (0, [], True)


def test_a_file_that_is_clean_is_let_be(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "requirements.txt").write_text(MENDED)
    ran = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS, "--format", "json")
    assert (ran.status, ran.json["diffs"], ran.json["left"]) == (0, [], [])


def test_what_the_project_excuses_is_not_mended(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "envdoctor.toml").write_text(f'[[ignore]]\nrule = "{RULE}"\nreason = "float32 adapters by hand"\n')
    ran = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS, "--format", "json")
    assert (ran.status, ran.json["diffs"]) == (0, [])
    assert (project / "requirements.txt").read_text() == REQUIREMENTS


def test_a_package_stated_in_an_included_file_is_changed_there(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "base.txt").write_text("peft==0.11.1\n")
    (project / "requirements.txt").write_text("-r base.txt\ntorch==2.3.1\n")
    ran = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS)
    assert ran.status == 0
    assert (project / "base.txt").read_text() == "peft==0.12.0\n"
    assert (project / "requirements.txt").read_text() == "-r base.txt\ntorch==2.3.1\n"


def test_a_pin_that_a_file_cannot_be_given_is_refused_and_nothing_is_written(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    hashed = f"peft==0.11.1 --hash=sha256:{'0' * 64}\n"
    (project / "requirements.txt").write_text(hashed)
    ran = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS, "--format", "json")
    assert (ran.status, ran.json["diffs"], ran.json["left"]) == (1, [], [RULE])
    assert [one["what"] for one in ran.json["refused"]] == ["requirements.txt: peft==0.12.0"]
    assert "hash" in ran.json["refused"][0]["why"]
    assert (project / "requirements.txt").read_text() == hashed


def test_stated_packages_have_no_file_to_write_to(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "freeze.txt").write_text(REQUIREMENTS.replace("  # the model needs it", ""))
    ran = run(capsys, "fix", "--offline", "--facts", "freeze.txt", *FACTS, "--format", "json")
    assert (ran.status, ran.json["diffs"], ran.json["left"]) == (1, [], [RULE])
    assert ran.json["commands"] == ['pip install "peft==0.12.0"']


def test_possible_findings_are_mended_where_they_count(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "requirements.txt").write_text("transformers==4.42.4\npeft>=0.5  # the adapter\n")
    careful = run(capsys, "fix", "--offline", "requirements.txt", "--as-of", "2026-11-01")
    assert careful.status == 0
    assert "not changed: check -v explains them, --strict fixes" in " ".join(careful.out.split())
    ran = run(capsys, "fix", "--offline", "--strict", "--write", "requirements.txt", "--as-of", "2026-11-01", "--format", "json")
    assert "peft-encoder-decoder-cache-import" in ran.json["remedy"]["clears"]
    assert (project / "requirements.txt").read_text().startswith("transformers==4.42.4\npeft>=0.5,<0.14  # the adapter\n")
    assert (ran.status, ran.json["left"]) == (0, [])


@pytest.mark.parametrize("words", [["--facts", "-"]])
def test_facts_that_cannot_be_read_again_are_refused(capsys: pytest.CaptureFixture[str], project: Path, words: list[str]) -> None:
    ran = run(capsys, "fix", "--write", *words)
    assert ran.status == 2
    assert "--facts -: found --write" in ran.err


def test_a_file_in_which_the_finding_stays_is_put_back(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two statements of the package, of which one is not in a file that can be written."""
    from envdoctor.edits import registry

    edit = registry.edit_packages

    def clumsy(*arguments: object) -> object:
        return tuple(type(one)(one.path, one.before, one.before + b"# mended\n", one.done) for one in edit(*arguments))  # type: ignore[arg-type]

    monkeypatch.setattr("envdoctor.app.mending.edit_packages", clumsy)
    ran = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS, "--format", "json")
    assert ran.status == 2
    assert f"found {RULE} when it was checked again" in ran.err
    assert (project / "requirements.txt").read_text() == REQUIREMENTS
    assert json.loads(ran.out)["error"]["next"].startswith("nothing was written")


# One extra needs an older tokenizers, the other a newer one than the older transformers takes.
APART = (
    '[project]\nname = "demo"\nversion = "0"\ndependencies = []\n[project.optional-dependencies]\n'
    'one = ["transformers==4.38.2", "tokenizers==0.19.1"]\ntwo = ["transformers==4.41.0", "tokenizers==0.20.3"]\n'
)


def test_extras_get_pins_that_agree_and_each_pin_says_which_it_is_for(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "pyproject.toml").write_text(APART)
    ran = run(capsys, "fix", "--offline", "--write", "pyproject.toml")
    assert ran.status == 0
    both = '"transformers==4.40.0", "tokenizers==0.19.1"'
    assert (project / "pyproject.toml").read_text().splitlines()[-2:] == [f"one = [{both}]", f"two = [{both}]"]
    pins = ran.out.partition("  pins ")[2].partition("  proof ")[0]
    assert [line.strip() for line in pins.splitlines() if " -> " in line or " for " in line] == [
        "transformers 4.38.2 -> 4.40.0",
        "tokenizers 0.20.3 -> 0.19.1",
        "for extra two",
    ]
    assert "  or  " not in ran.out


def test_extras_for_which_no_pins_agree_are_told_and_left(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    text = APART + 'three = ["transformers==4.38.2", "tokenizers==0.20.3"]\nfour = ["transformers==4.41.0", "tokenizers<0.15"]\n'
    (project / "pyproject.toml").write_text(text)
    ran = run(capsys, "fix", "--offline", "--write", "pyproject.toml", "--format", "json")
    assert (ran.status, ran.json["diffs"], (project / "pyproject.toml").read_text()) == (1, [], text)
    why = "the choices that the files offer need different releases of it, and none was found that suits all"
    assert ran.json["refused"] == [{"what": name, "why": why} for name in ("tokenizers",)]
    assert "transformers-4-35-2-tokenizers-window" in ran.json["left"]


def test_a_warning_is_left_to_fix_until_it_is_fixed(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "freeze.txt").write_text("openai==1.55.2\nhttpx==0.28.0\n")
    ran = run(capsys, "fix", "--offline", "--facts", "freeze.txt", "--set", "python=3.11", "--set", "plan.code_uses=openai,openai.OpenAI")
    assert ran.status == 1
    assert '\n  run      pip install "openai==1.55.3"\n' in ran.out
    assert ran.out.endswith("\nnothing was changed: run the line above, then check again\n")
    assert all(len(line) <= 80 for line in ran.out.splitlines())


@pytest.mark.skipif(shutil.which("patch") is None, reason="no patch program here")
def test_a_patch_keeps_carriage_returns_and_names_with_blanks(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "a b").mkdir()
    (project / "a b" / "base.txt").write_bytes(b"torch==2.3.1\r\npeft==0.11.1\t# \xc3\xa4\r\n")
    printed = run(capsys, "fix", "--offline", "a b/base.txt", *FACTS).out
    subprocess.run(["patch", "-p0", "--binary"], input=printed.encode(), check=True, capture_output=True)
    assert (project / "a b" / "base.txt").read_bytes() == b"torch==2.3.1\r\npeft==0.12.0\t# \xc3\xa4\r\n"


def test_a_file_under_two_names_is_one_file(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "link.txt").symlink_to("requirements.txt")
    ran = run(capsys, "fix", "--offline", "--write", "link.txt", "requirements.txt", *FACTS, "--format", "json")
    assert (ran.status, [one["file"] for one in ran.json["diffs"]]) == (0, ["link.txt"])
    assert (project / "link.txt").is_symlink()
    assert (project / "requirements.txt").read_text() == MENDED


def _proven(monkeypatch: pytest.MonkeyPatch, **told: object) -> None:
    """What a resolver says of the first set of pins."""
    monkeypatch.setattr("envdoctor.app.proving.proven", lambda remedies, *_, **__: (replace(remedies[0], **told),))


def test_what_only_a_constraint_holds_is_moved_there_and_added_nowhere(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves = (Move("huggingface-hub", "0.20.3", "0.23.0"), Move("filelock", "", "3.1"))
    _proven(monkeypatch, verified="resolver", moves=moves, proof="said")
    text = f"-c cons.txt\n{REQUIREMENTS}"
    (project / "requirements.txt").write_text(text)
    (project / "cons.txt").write_text("huggingface-hub==0.20.3  # known good\nfilelock<4\n")
    ran = run(capsys, "fix", "--write", "requirements.txt", *FACTS)
    assert ran.status == 0
    assert (project / "requirements.txt").read_text() == text.replace("peft==0.11.1", "peft==0.12.0")
    assert (project / "cons.txt").read_text() == "huggingface-hub==0.23.0  # known good\nfilelock<4\n"
    assert "\n  moves    huggingface-hub 0.20.3 -> 0.23.0, filelock new -> 3.1\n" in ran.out


def test_where_uv_refuses_every_set_its_words_are_shown_and_what_else_helps(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = "Because only-here==1.0 depends on peft<0.12 and you require peft==0.12.0, your requirements are unsatisfiable."
    _proven(monkeypatch, pins={}, clears=(), changes=(), unfixable=(RULE,), conflict=refused, proof="uv refuses the set of pins")
    ran = run(capsys, "fix", "--write", "requirements.txt", *FACTS)
    assert (ran.status, (project / "requirements.txt").read_text()) == (1, REQUIREMENTS)
    told = " ".join(ran.out.split())
    assert f"conflict {refused}" in told
    assert f"left: {RULE}: no pin clears it; after get_peft_model: " in told
    assert "would change" not in told


def test_a_resolution_clears_what_could_not_be_resolved() -> None:
    from envdoctor.app.proving import _clear_resolved

    before = Remedy({"a": "==1"}, ("one",), ("requirements-unresolvable", "two"), "resolver")
    assert _clear_resolved(before) == Remedy({"a": "==1"}, ("one", "requirements-unresolvable"), ("two",), "resolver")
    assert _clear_resolved(replace(before, verified="metadata")) == replace(before, verified="metadata")


NAN_PLAN = (
    "base_model: org/glm\nadapter: lora\nsequence_len: 2048\nmicro_batch_size: 1\noptimizer: adamw_torch\nfp16: false\nbf16: false\n"
    "datasets:\n  - path: x\n    type: alpaca\n"
)
NAN_STACK = ("packages.peft=0.11.1", "packages.transformers=4.38.2", "model.type=chatglm", "model.dtype=float16", "plan.load_dtype=float16",
             "plan.optimizer_eps=1e-8")  # fmt: skip
NAN = [word for statement in NAN_STACK for word in ("--set", statement)]


def test_a_plan_takes_the_first_cure_that_its_tool_has_a_setting_for(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    (project / "lora.yaml").write_text(NAN_PLAN)
    ran = run(capsys, "fix", "--offline", "--write", "lora.yaml", *NAN)
    assert ran.status == 0
    assert (project / "lora.yaml").read_text() == NAN_PLAN.replace("adamw_torch", "adamw_torch_fused")
    assert "\n  plan     plan.optimizer = adamw_torch_fused\n" in ran.out
    # The one or the other: nothing has to be installed.
    assert "  pins  " not in ran.out
    assert "  run  " not in ran.out
    assert 'pip install "peft==0.12.0"\n' in ran.out.partition("\n  or  ")[2]


def test_a_plan_is_let_be_where_the_pins_are_needed_anyway(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    """Of two findings that pins clear, the plan could clear one."""
    (project / "lora.yaml").write_text(NAN_PLAN)
    words = [*NAN, "--set", "packages.tokenizers=0.19.1"]
    ran = run(capsys, "fix", "--offline", "--write", "lora.yaml", *words, "--format", "json")
    assert (ran.status, ran.json["diffs"], ran.json["settings"]) == (1, [], {})
    assert (project / "lora.yaml").read_text() == NAN_PLAN
    assert [line.partition(" install ")[2] for line in ran.json["commands"]] == ['"peft==0.12.0" "tokenizers==0.15.2"']


def test_a_plan_is_judged_beside_the_pins_that_are_written(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    """4-bit weights under FSDP need a newer transformers than is stated, which the pins bring."""
    plan = "base_model: org/llama\nadapter: lora\nload_in_8bit: true\nfsdp:\n  - full_shard\nsequence_len: 2048\nmicro_batch_size: 1\n"
    (project / "axolotl.yml").write_text(f"{plan}datasets:\n  - path: x\n    type: alpaca\n")
    (project / "requirements.txt").write_text("transformers==4.36.0\ntokenizers==0.19.1\naccelerate==0.30.1\n")
    ran = run(capsys, "fix", "--offline", "--write", "axolotl.yml", "requirements.txt", "--format", "json")
    assert (ran.status, ran.json["settings"]) == (0, {"plan.quant": "4bit"})
    assert "load_in_8bit: false\nload_in_4bit: true\n" in (project / "axolotl.yml").read_text()
    assert (project / "requirements.txt").read_text() == "transformers==4.40.0\ntokenizers==0.19.1\naccelerate==0.30.1\n"


def test_code_and_locks_are_refused_with_the_line_that_helps(capsys: pytest.CaptureFixture[str], project: Path) -> None:
    pins = '    "transformers==4.38.2",\n    "tokenizers==0.19.1",\n'
    (project / "setup.py").write_text(f'from setuptools import setup\nsetup(name="x", install_requires=[\n{pins}])\n')
    code = run(capsys, "fix", "--offline", "--write", "setup.py", "--format", "json")
    assert (code.status, code.json["diffs"]) == (1, [])
    assert code.json["refused"] == [{"what": "setup.py:4: tokenizers==0.15.2", "why": "code: change tokenizers to ==0.15.2 by hand"}]
    rows = (
        f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = {{ registry = "https://pypi.org/simple" }}\n'
        for name, version in (("transformers", "4.38.2"), ("tokenizers", "0.19.1"))
    )
    (project / "uv.lock").write_text(f'version = 1\nrequires-python = ">=3.10"\n{"".join(rows)}')
    lock = run(capsys, "fix", "--offline", "--write", "uv.lock", "--format", "json")
    assert (lock.status, lock.json["diffs"], lock.json["commands"]) == (1, [], ["uv lock --upgrade-package tokenizers==0.15.2"])


def test_an_interrupted_run_leaves_the_files_as_they_were(
    capsys: pytest.CaptureFixture[str], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt comes when all files are written and before they are checked again."""
    from envdoctor.app.check import examine
    from envdoctor.app.request import Request

    seen: list[str] = []

    def interrupted(request: Request, **how: int) -> object:
        seen.append((project / "requirements.txt").read_text())
        if len(seen) > 1:
            raise KeyboardInterrupt
        return examine(request, most_searched=how["most_searched"])

    monkeypatch.setattr("envdoctor.app.fix.examine", interrupted)
    ran = run(capsys, "fix", "--offline", "--write", "requirements.txt", *FACTS)
    assert (ran.status, seen) == (130, [REQUIREMENTS, MENDED])
    assert (project / "requirements.txt").read_text() == REQUIREMENTS
    assert [path.name for path in project.iterdir()] == ["requirements.txt"]
