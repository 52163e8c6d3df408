"""A release that is proposed finds what it requires: one that does not is no cure, even where the release before it did not either."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import run

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

XFORMERS = {"torch": "2.4.0", "torchvision": "0.19.0", "torchaudio": "2.4.0", "xformers": "0.0.28.post3"}
OLD_VLLM = {"vllm": "0.4.0", "torch": "2.7.0+cu128", "torchvision": "0.22.0+cu128"}
VLLM = {"vllm": "0.17.1", "transformers": "5.3.0", "torch": "2.8.0", "depyf": "0.19.0", "llguidance": "1.7.6"}


@pytest.mark.parametrize(
    ("stated", "cure", "not_that"),
    [
        # 0.0.28.post1 requires torch 2.4.1, 0.0.27.post2 requires 2.4.0.
        (XFORMERS, '"xformers==0.0.27.post2"', "xformers==0.0.28"),
        # 0.5.3.post1 requires torch 2.3.1, 0.11.0 requires 2.8.0 and depyf 0.19.0.
        (VLLM, '"vllm==0.11.0"', "vllm==0.5"),
        # 0.2.5 asks for any torch from 2.1.1 on, and was compiled before there was a 2.2; of 0.1.3 nobody knows what it asks for.
        (OLD_VLLM, '"vllm==0.9.0"', "vllm==0.1"),
    ],
)
def test_a_proposed_release_finds_what_it_requires(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], stated: dict[str, str], cure: str, not_that: str
) -> None:
    facts = tmp_path / "facts.toml"
    facts.write_text("[packages]\n" + "".join(f'"{name}" = "{version}"\n' for name, version in stated.items()), encoding="utf-8")
    ran = run(capsys, "check", "--facts", str(facts), every_rule=True)
    assert cure in ran.out
    assert not_that not in ran.out
