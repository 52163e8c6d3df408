"""What stands in the paste itself: a command, a sentence that a terminal broke, the first words of one of two raises."""

from __future__ import annotations

from pathlib import Path

import pytest

from envdoctor.atlas.messages import Message, plain
from envdoctor.logs.quoted_commands import quoted
from envdoctor.logs.sayings import Saying, begun_alike
from tests.logs.diagnosed import findings

FORK = 'pip install "cut-cross-entropy[transformers] @ git+https://github.com/axolotl-ai-cloud/ml-cross-entropy.git@318b7e2"'


@pytest.mark.parametrize(
    ("message", "command"),
    [
        (f"Please install the fork using `{FORK}`", FORK),
        (
            "Run `pip install git+https://github.com/deepseek-ai/FlashMLA.git`.",
            "pip install git+https://github.com/deepseek-ai/FlashMLA.git",
        ),
        ("please install it: pip install flash-attn --no-build-isolation.", "pip install flash-attn --no-build-isolation"),
        ('install the fork using `pip install "cut-cross-entropy @ git+', 'pip install "cut-cross-entropy @ git+...'),
        ("Please run `pip install wandb`", ""),
    ],
)
def test_a_command_that_installs_more_than_a_name_is_quoted(message: str, command: str) -> None:
    assert quoted(message) == command


def test_what_is_to_come_from_a_repository_is_not_pinned_from_the_index(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/v/site-packages/axolotl/integrations/x.py", line 81, in check\n'
        f"ImportError: The fork of cut_cross_entropy is not installed. Please install it using `{FORK}`"
    )
    told = findings(capsys, tmp_path, log)[0]
    assert [fix.get("pins") for fix in told["fixes"]] == [None]
    assert told["fixes"][0]["note"].startswith(FORK)


@pytest.mark.parametrize(
    ("log", "says"),
    [
        (
            "  × Failed to build `auto-gptq==0.7.1`\n  ├─▶ The build backend returned an error\n      [stdout]\n"
            "      requires PyTorch (>=1.13.0) being installed, please install PyTorch first: No\n      module named 'torch'",
            "its build imports torch, which an isolated build does not see",
        ),
        (
            "× Getting requirements to build wheel did not run successfully.\n  pip-install-abcdefgh/flash-attn_"
            + "0" * 32
            + "/setup.py\n      ImportError: No module named\n      'torch'",
            "its build imports torch, which an isolated build does not see",
        ),
        (
            "# uv pip install flash-attn==2.6.1\nerror: Failed to prepare distributions\n"
            "  Caused by: Failed to fetch wheel: flash-attn==2.6.1\n"
            "  Caused by: Build backend failed to determine extra requires with `build_wheel()` with exit status: 1",
            "its setup.py imports torch, which an isolated build does not see",
        ),
    ],
)
def test_a_build_without_torch_is_told_as_that(log: str, says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = findings(capsys, tmp_path, log)[0]
    assert says in told["detail"]
    assert "--no-build-isolation" in told["fixes"][0]["note"]


def _said(text: str) -> Saying:
    return Saying(Message("axolotl", "axolotl.x", "ImportError", "check", "", text, ()), 1, exact=False, here=True, alike=60)


def test_of_two_raises_of_a_function_that_is_meant_whose_first_words_stand_there() -> None:
    first, second = _said("Please install the fork using pip"), _said("The fork of it is not installed. Please install the fork using pip")
    assert begun_alike([first, second], plain("The fork of it is not installed. Please install the fork")) == [second]
    assert begun_alike([first, second], plain("Quoted: Please install the fork using pip")) == [first, second]
