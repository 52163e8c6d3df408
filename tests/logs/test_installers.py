"""What installers say when they give up, in each one's own words."""

# ruff: noqa: E501 - as the installers print it

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.builds import judge_build
from envdoctor.logs.installers import read_refusal
from envdoctor.logs.refusal import Refusal
from envdoctor.logs.refusals import judge_refusal
from envdoctor.logs.unwrapping import bare_line
from tests.cli.run import run

PIP1 = """ERROR: Cannot install -r requirements.txt (line 2) and tokenizers==0.13.3 because these package versions have conflicting dependencies.

The conflict is caused by:
    The user requested tokenizers==0.13.3
    transformers 4.40.0 depends on tokenizers<0.20 and >=0.19

To fix this you could try to:
1. loosen the range of package versions you've specified
ERROR: ResolutionImpossible: for help visit https://pip"""
PIP2 = """ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. This behaviour is the source of the following dependency conflicts.
torchvision 0.15.2 requires torch==2.0.1, but you have torch 2.1.0 which is incompatible.
fastai 2.7.12 requires torch<2.1,>=1.7, but you have torch 2.1.0 which is incompatible."""
PIP3 = """ERROR: Could not find a version that satisfies the requirement torch==1.13.1 (from versions: 2.2.0, 2.2.1, 2.2.2, 2.3.0)
ERROR: No matching distribution found for torch==1.13.1"""
PIP4 = """ERROR: Package 'llamafactory' requires a different Python: 3.8.10 not in '>=3.9.0'"""
UV = """  × No solution found when resolving dependencies:
  ╰─▶ Because transformers==4.40.0 depends on tokenizers>=0.19,<0.20 and you
      require tokenizers==0.13.3, we can conclude that your requirements and
      transformers==4.40.0 are incompatible.
      And because you require transformers==4.40.0, we can conclude that your
      requirements are unsatisfiable."""
UV2 = """  × No solution found when resolving dependencies:
  ╰─▶ Because torch==2.1.0 has no wheels with a matching Python ABI tag (e.g.,
      `cp313`) and you require torch==2.1.0, we can conclude that your
      requirements are unsatisfiable."""
UV3 = """  × No solution found when resolving dependencies:
  ╰─▶ Because the current Python version (3.8.20) does not satisfy Python>=3.10
      and vllm==0.11.0 depends on Python>=3.10, we can conclude that vllm==0.11.0 cannot be used."""
POETRY = """Because no versions of peft match >0.10.0,<0.11.0
 and peft (0.10.0) depends on accelerate (>=0.21.0), peft (>=0.10.0,<0.11.0) requires accelerate (>=0.21.0).
So, because myproj depends on both peft (^0.10.0) and accelerate (0.20.3), version solving failed."""
CONDA = """LibMambaUnsatisfiableError: Encountered problems while solving:
  - package pytorch-2.0.1-py3.8_cuda11.7_cudnn8.5.0_0 requires python >=3.8,<3.9.0a0, but none of the providers can be installed
  - nothing provides cuda-nvcc >=12 needed by foo-1.2-0
"""
MAMBA = """error    libmamba Could not solve for environment specs
    The following packages are incompatible
    ├─ numpy 2.0**  is requested and can be installed;
    └─ pytorch 2.0.1**  is not installable because there are no viable options
       ├─ pytorch 2.0.1 would require
       │  └─ numpy >=1.19,<2 , which conflicts with any installable versions previously reported;
       └─ pytorch 2.0.1 conflicts with any installable versions previously reported."""
PIXI = """  × failed to solve the conda requirements of environment 'default' for platform 'linux-64'
  ╰─▶ Cannot solve the request because of: The following packages are incompatible
      ├─ python 3.13.* can be installed with any of the following options:
      │  └─ python 3.13.0
      └─ pytorch 2.1.* cannot be installed because there are no viable options:
         └─ pytorch 2.1.0 would require
            └─ python >=3.8,<3.9.0a0, which cannot be installed because there are no viable options"""


def read(text: str) -> Refusal:
    found = read_refusal([(number, bare_line(line)) for number, line in enumerate(text.split("\n"), 1)])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "tool", "words"),
    [
        (PIP1, "pip", ["tokenizers==0.13.3 is asked for", "transformers 4.40.0 requires tokenizers<0.20,>=0.19"]),
        (
            UV,
            "uv",
            [
                "transformers 4.40.0 requires tokenizers>=0.19,<0.20",
                "tokenizers==0.13.3 is asked for",
                "transformers==4.40.0 is asked for",
            ],
        ),
        (
            POETRY,
            "poetry",
            ["peft 0.10.0 requires accelerate>=0.21.0", "peft>=0.10.0,<0.11 is asked for", "accelerate==0.20.3 is asked for"],
        ),
        (CONDA, "conda", ["pytorch 2.0.1 requires python>=3.8,<3.9.0a0", "foo 1.2 requires cuda-nvcc>=12"]),
        (MAMBA, "mamba", ["numpy==2.0.* is asked for", "pytorch==2.0.1.* is asked for", "pytorch 2.0.1 requires numpy>=1.19,<2"]),
        (PIXI, "mamba", ["python==3.13.* is asked for", "pytorch==2.1.* is asked for", "pytorch 2.1.0 requires python>=3.8,<3.9.0a0"]),
    ],
)
def test_who_asks_for_what_of_whom(text: str, tool: str, words: list[str]) -> None:
    found = read(text)
    assert found.tool == tool
    assert [one.words() for one in found.asked] == words


def test_what_pip_installed_and_left_broken() -> None:
    assert [(one.words(), have) for one, have in read(PIP2).left] == [
        ("torchvision 0.15.2 requires torch==2.0.1", "2.1.0"),
        ("fastai 2.7.12 requires torch<2.1,>=1.7", "2.1.0"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "specifier", "why", "python"),
    [
        (PIP3, "torch", "==1.13.1", "no release", ""),
        (PIP4, "llamafactory", "", "python", "3.8.10"),
        (UV2, "torch", "==2.1.0", "no wheel", ""),
        (UV3, "vllm", "==0.11.0", "python", "3.8.20"),
    ],
)
def test_of_what_nothing_fits(text: str, name: str, specifier: str, why: str, python: str) -> None:
    one = read(text).unavailable[0]
    assert (one.name, one.specifier, one.why, one.python) == (name, specifier, why, python)


def test_the_releases_that_pip_saw() -> None:
    assert read(PIP3).unavailable[0].offered == ("2.2.0", "2.2.1", "2.2.2", "2.3.0")


@pytest.mark.parametrize("text", ["", "Collecting torch\nSuccessfully installed torch-2.1.0\n", "{'loss': 1.0}\n"])
def test_where_no_installer_gave_up_there_is_no_refusal(text: str) -> None:
    assert read_refusal([(number, line) for number, line in enumerate(text.split("\n"), 1)]) is None


def test_two_pins_of_ones_own_contradict_each_other_and_conda_lists_what_was_asked() -> None:
    text = (
        "ERROR: Cannot install transformers==4.30.0 and transformers==4.30.2 because these package versions have conflicting dependencies.\n"
        "The conflict is caused by:\n    The user requested transformers==4.30.0\n    The user requested transformers==4.30.2\n"
    )
    refusal = read_refusal(list(enumerate(text.splitlines(), 1)))
    assert refusal is not None
    (hit,) = judge_refusal(refusal, Facts({}))
    assert hit.pins == (("transformers", "==4.30.2"), ("transformers", "==4.30.0"))
    conda = (
        "UnsatisfiableError: The following specifications were found to be in conflict:\n  - pytorch=1.8.0\n"
        "  - torchvision=0.9.1 -> cudatoolkit[version='10.2|10.2.*'] -> __cuda[version='>=10.2']\n"
    )
    refusal = read_refusal(list(enumerate(conda.splitlines(), 1)))
    assert refusal is not None
    assert {(one.name, one.specifier) for one in refusal.asked} == {("pytorch", "==1.8.0"), ("torchvision", "==0.9.1")}


def told(text: str) -> list[Hit]:
    refusal = read(text)
    return list(judge_refusal(refusal, Facts({})))


def test_two_releases_that_ask_for_what_does_not_go_together_are_moved_to_the_nearest_that_do() -> None:
    text = (
        "ERROR: Cannot install -r requirements.txt (line 10) because these package versions have conflicting dependencies.\n"
        "The conflict is caused by:\n    transformers 4.32.1 depends on tokenizers!=0.11.3, <0.14 and >=0.11.1\n"
        "    vllm 0.6.3 depends on tokenizers>=0.19.1\n"
    )
    (hit,) = told(text)
    assert hit.pins == (("transformers", "==4.40.0"), ("vllm", "==0.4.0.post1"))


def test_a_local_label_makes_no_other_release_and_the_installer_is_told() -> None:
    text = (
        "  × No solution found when resolving dependencies:\n"
        "  ╰─▶ Because vllm==0.5.1 depends on torch==2.3.0, we can conclude that vllm==0.5.1 and torch{sys_platform == 'linux'}==2.3.0+cu118 "
        "are\n      incompatible.\n"
    )
    (hit,) = told(text)
    assert hit.packages == ("uv", "torch")


def test_what_conda_asks_of_a_build_is_not_looked_up_among_wheels() -> None:
    text = (
        "The following packages are incompatible\n├─ pytorch-cuda 12.1** is requested and can be installed;\n"
        "└─ torchaudio 2.0.2** is not installable because there are no viable options\n"
        "   └─ torchaudio 2.0.2 would require\n      └─ pytorch-cuda 11.7.* , which conflicts with any installable versions\n"
    )
    assert [name for hit in told(text) for name, _ in hit.pins] == ["pytorch-cuda"]


def test_of_two_lines_of_ones_own_either_may_go() -> None:
    text = (
        "  × No solution found when resolving dependencies:\n"
        "  ╰─▶ Because you require torch==2.6.0 and your project depends on torch==2.7.1, we can conclude that your requirements are "
        "unsatisfiable.\n"
    )
    (hit,) = told(text)
    assert {pin for _, pin in hit.pins} == {"==2.6.0", "==2.7.1"}


def test_uv_is_given_the_label_of_pytorchs_index() -> None:
    text = (
        "uv pip install torch==2.3.1 --index-url https://download.pytorch.org/whl/cpu\n  × No solution found when resolving dependencies:\n"
        "  ╰─▶ Because torch==2.3.1 has no wheels are available with a matching Python implementation and you require torch==2.3.1, we can\n"
        "      conclude that the requirements are unsatisfiable.\n"
    )
    assert [hit.pins for hit in told(text)] == [(("torch", "==2.3.1+cpu"),)]


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ("cu131", "no index cu131 is known"),
        ("cu121", "torch 2.10.0 is built for cu126, cu128, cu130 and not for cu121"),
        ("cu128", "torch==2.10.0 exists, and the installer found nothing to install"),
    ],
)
def test_what_pytorchs_own_index_lacks(index: str, words: str) -> None:
    text = (
        f"Looking in indexes: https://download.pytorch.org/whl/{index}\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.10.0 (from versions: none)\n"
    )
    (hit,) = told(text)
    assert words in hit.detail


@pytest.mark.parametrize(
    ("text", "name", "lacks"),
    [
        (
            "ERROR: Failed building wheel for flash_attn\nFailed to build flash_attn\n"
            "ERROR: Failed to build installable wheels for some pyproject.toml based projects (flash_attn)",
            "flash-attn",
            "what was pasted",
        ),
        (
            "ERROR: Failed to build installable wheels for some pyproject.toml based projects (tokenizers, sentencepiece)",
            "tokenizers",
            "what was pasted",
        ),
        (
            "ModuleNotFoundError: No module named 'torch'\nhint: This error likely indicates that `flash-attn@2.7.3` depends\n"
            "on `torch`, but doesn't declare it as a build dependency. If",
            "flash-attn",
            "its build imports torch",
        ),
        (
            'File "C:\\Temp\\pip-install-7czi3fmk\\flash-attn_6da82b15991a4532b7dc3a5aefc5ec40\\setup.py", line 19, in <module>\n'
            "    import torch\nModuleNotFoundError: No module named 'torch'",
            "flash-attn",
            "its build imports torch",
        ),
        (
            "ModuleNotFoundError: No module named 'pkg_resources'\n"
            "ERROR: Failed to build 'mitdeeplearning' when getting requirements to build wheel",
            "mitdeeplearning",
            "its build imports pkg_resources, which setuptools no longer has from 82 on",
        ),
    ],
)
def test_whose_build_failed(text: str, name: str, lacks: str) -> None:
    found = judge_build(list(enumerate(text.splitlines(), 1)), Facts({}))
    assert found is not None
    assert found[0].packages[0] == name
    assert lacks in found[0].said


def test_the_command_of_an_installer_that_failed_is_not_what_it_asks_for(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        "ERROR: Could not find a version that satisfies the requirement torch==2.5.1 (from versions: 2.6.0+cu124)\n"
        "ERROR: No matching distribution found for torch==2.5.1\nTraceback (most recent call last):\n"
        '  File "C:\\app\\installer.py", line 82, in setup_venv\n    subprocess.check_call(\n'
        "subprocess.CalledProcessError: Command 'pip.exe install -U torch==2.5.1 torchvision==0.20.1' returned non-zero exit status 1.\n",
        encoding="utf-8",
    )
    first = run(capsys, "diagnose", str(log), "--set", "os=windows", "--format", "json").json["findings"][0]
    assert (first["rule"], first["packages"]) == ("error-no-distribution", ["torch"])


@pytest.mark.parametrize(("offered", "intel"), [("2.0.0, 2.2.0, 2.2.2", True), ("2.0.0, 2.5.0, 2.6.0", False), ("none", False)])
def test_no_file_of_torch_is_an_intel_mac_where_the_list_ends_with_its_last_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, offered: str, intel: bool
) -> None:
    log = tmp_path / "log.txt"
    log.write_text(
        f"ERROR: Could not find a version that satisfies the requirement torch==2.7.0 (from versions: {offered})\n"
        "ERROR: No matching distribution found for torch==2.7.0\n"
    )
    ran = run(capsys, "diagnose", str(log), "--format", "json", every_rule=True)
    first = ran.json["findings"][0]
    assert (first["rule"], "Intel processor" in first["detail"]) == ("error-no-distribution", intel)
