"""What pinned lines leave no choice of."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.app.brought import say_what_is_required
from envdoctor.cli import main
from envdoctor.engine.required_pins import with_required_pins
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value
from envdoctor.facts.versions import exact
from envdoctor.world.installation import Installation

LINUX = Installation().on("linux", "x86_64")
SCRIPT = """from transformers import AutoModelForCausalLM, BitsAndBytesConfig
AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-7b-hf", quantization_config=BitsAndBytesConfig(load_in_4bit=True))
"""


def declared(*lines: str, **other: str) -> Facts:
    facts = [
        Fact(
            f"packages.{line.partition('==')[0]}",
            parse_value("packages.x", f"=={line.partition('==')[2]}"),
            Origin("r.txt", "r.txt", number),
        )
        for number, line in enumerate(lines, 1)
    ]
    facts += [Fact(name, parse_value(name, value), Origin("--set")) for name, value in other.items()]
    return Facts({fact.name: fact for fact in facts}, False)


def brought(facts: Facts, where: Installation = LINUX, *elsewhere: str) -> dict[str, str]:
    after = with_required_pins(facts, where, elsewhere)
    return {name.removeprefix("packages."): f"{fact.value} {fact.origin.source}" for name, fact in after.items() if name not in facts}


def test_a_pin_brings_what_it_requires_exactly_and_that_in_its_turn() -> None:
    assert brought(declared("torch==2.6.0"))["triton"] == "3.2.0 required by torch 2.6.0"
    found = brought(declared("vllm==0.6.3"))
    assert found["torch"] == "2.4.0 required by vllm 0.6.3"
    assert found["triton"] == "3.0.0 required by torch 2.4.0"
    assert not any(name.startswith("nvidia-") for name in found)


def test_a_label_of_the_pin_changes_nothing_of_it() -> None:
    assert brought(declared("torch==2.6.0+cu124"))["triton"].startswith("3.2.0")


@pytest.mark.parametrize("where", [Installation().on("windows", "x86_64"), Installation().on("macos", "arm64")])
def test_a_marker_that_does_not_hold_brings_nothing(where: Installation) -> None:
    assert "triton" not in brought(declared("torch==2.6.0"), where)


def test_the_stated_system_outranks_where_markers_are_evaluated() -> None:
    assert "triton" not in brought(declared("torch==2.6.0", os="windows"))


def test_what_a_line_or_a_url_says_of_the_package_stays() -> None:
    facts = declared("torch==2.6.0", "triton==3.1.0")
    assert str(with_required_pins(facts, LINUX).value("packages.triton")) == "3.1.0"
    assert "triton" not in brought(declared("torch==2.6.0"), LINUX, "triton")


def test_of_two_required_releases_none_is_taken() -> None:
    assert "torch" not in brought(declared("vllm==0.6.3", "torchvision==0.20.1"))


def test_what_nobody_pinned_in_a_file_brings_nothing() -> None:
    facts = Facts({"packages.torch": Fact("packages.torch", parse_value("packages.torch", "==2.6.0"), Origin("--set"))}, False)
    assert brought(facts) == {}
    closed = Facts(dict(declared("torch==2.6.0").items()), True)
    assert brought(closed) == {}


def test_a_list_of_requirements_is_an_error_where_a_pin_leaves_no_other_choice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.6.0\nbitsandbytes==0.43.0\ntransformers==4.46.3\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    texts = [str(tmp_path / "requirements.txt"), str(tmp_path / "train.py")]
    assert main(["check", *texts, "--set", "os=linux", "--set", "machine=x86_64"]) == 1
    out = " ".join(capsys.readouterr().out.replace("|", " ").split())
    assert "error: this bitsandbytes imports triton.ops, which triton 3.2 removed" in out
    assert "with triton 3.2.0 (required by torch 2.6.0, line 1)" in out
    assert 'fix: pip install "bitsandbytes==0.45.1"' in out
    assert main(["check", *texts, "--set", "os=windows"]) == 0


def test_what_a_launcher_installs_before_the_run_brings_its_own_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "setup.sh").write_text("pip install torch==2.4.1\npip install triton\npip install bitsandbytes==0.43.1\n")
    assert main(["check", str(tmp_path / "setup.sh"), "--set", "os=linux", "--set", "machine=x86_64"]) == 0
    assert "triton.ops" not in capsys.readouterr().out


def test_an_extra_and_a_third_package_are_not_held_to_a_release_that_nobody_states(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "setup.sh").write_text("pip install torch==2.0.1\npip install deepspeed==0.11.1\n")
    main(["check", str(tmp_path / "setup.sh"), "--set", "os=linux", "--set", "machine=x86_64", "-f", "json"])
    assert "extra-requirement-unmet" not in capsys.readouterr().out


def test_a_build_of_torch_that_was_never_made_has_the_nearest_in_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.5.0+cu126\ntransformers==4.57.1\n")
    assert main(["check", str(tmp_path / "requirements.txt")]) == 1
    out = " ".join(capsys.readouterr().out.replace("|", " ").split())
    assert "torch 2.5.0+cu126 was never released: that release was built for cu118, cu121, cu124" in out
    assert 'fix: pip install "torch==2.5.0+cu124" --extra-index-url https://download.pytorch.org/whl/cu124' in out


@pytest.mark.parametrize(
    ("line", "torch", "near"),
    [
        ("torchaudio==2.6.0+cu128", "2.6.0", "torchaudio==2.6.0+cu126"),
        ("torchvision==0.21.0+cu128", "2.6.0", "torchvision==0.21.0+cu126"),
        ("torchvision==0.16.0+cu117", "2.1.0", "torchvision==0.16.0+cu118"),
    ],
)
def test_a_build_beside_torch_that_was_never_made_is_helped_by_no_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, torch: str, near: str
) -> None:
    (tmp_path / "requirements.txt").write_text(f"{line}\n")
    assert main(["check", str(tmp_path / "requirements.txt")]) == 1
    out = " ".join(capsys.readouterr().out.replace("|", " ").split())
    assert f"was never released: it goes with torch {torch}, and both were built for" in out
    assert f'fix: pip install "{near}" --extra-index-url' in out
    assert "build-label-without-its-index" not in out


@pytest.mark.parametrize(
    "lines",
    [
        "torch==2.6.0+cpu\n",
        "--index-url https://download.pytorch.org/whl/cpu\ntorch==2.6.0\n",
        "--extra-index-url https://download.pytorch.org/whl/rocm6.2.4\ntorch==2.6.0\n",
    ],
)
@pytest.mark.large
def test_a_build_for_no_cuda_brings_no_triton(tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"{lines}bitsandbytes==0.43.0\n")
    (tmp_path / "train.py").write_text(SCRIPT)
    main(["check", str(tmp_path / "requirements.txt"), str(tmp_path / "train.py"), "--set", "os=linux", "--set", "machine=x86_64"])
    assert "triton.ops" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("packages", "torch"),
    [
        ({"vllm": "0.8.2"}, "2.6.0"),
        ({"torchvision": "0.15.2+cu118", "transformers": "4.40.0"}, "2.0.1"),
        ({"vllm": "0.8.2", "torch": "2.7.0+cu128"}, "2.7.0+cu128"),
        ({"vllm": "0.8.2", "torchvision": "0.15.2"}, None),
        ({"peft": "0.12.0"}, None),
    ],
)
def test_a_described_stack_has_the_torch_that_its_builds_leave_no_choice_of(packages: dict[str, str], torch: str | None) -> None:
    lines = [
        Fact(f"packages.{name}", parse_value(f"packages.{name}", text), Origin("facts.toml", "facts.toml", 1))
        for name, text in packages.items()
    ]
    found = say_what_is_required(Facts().with_facts(lines), (), None)
    assert found.value("packages.torch") == (None if torch is None else exact(torch))
    assert "packages.triton" not in found
