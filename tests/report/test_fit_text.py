"""The fit report on a screen: whole pages, as they are read at 80 columns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from envdoctor.facts.fact import Skip
from envdoctor.memory.budget import usable_of
from envdoctor.memory.estimate import GIB, Assumption
from envdoctor.memory.fits import verdict
from envdoctor.report.fit import FitReport
from envdoctor.report.fit_text import bar, render
from envdoctor.report.fit_words import gpu_words, plan_words
from tests.report.fits import ESTIMATE, HOSTILE, PLAN, gib, report, too_much

EXPECTED = Path(__file__).parent / "expected"
PAGES = {
    "fit-yes": report(96.0, name="H20"),
    "fit-tight": report(),
    "fit-no": too_much(),
    "fit-unknown": report(None, name=""),
    "fit-exact": replace(report(), closed_form=ESTIMATE, estimate=replace(ESTIMATE, method="fake-tensors", notes=())),
}


@pytest.mark.parametrize("name", PAGES)
def test_the_whole_screen_at_80_columns(name: str) -> None:
    text = render(PAGES[name])
    assert text == (EXPECTED / f"{name}.txt").read_text(encoding="utf-8")
    assert all(len(line) <= 80 or "--set" in line for line in text.splitlines())


@pytest.mark.parametrize("width", [60, 72, 100])
@pytest.mark.parametrize("name", PAGES)
def test_no_line_is_wider_than_asked_but_one_to_paste(name: str, width: int) -> None:
    for line in render(PAGES[name], width=width).splitlines():
        assert len(line) <= width or "--set" in line


def test_a_terminal_without_blocks_has_the_same_report_in_ascii() -> None:
    text = render(report(), blocks=False)
    assert text.isascii()
    assert without_bars(text) == without_bars(render(report()))


def without_bars(text: str) -> list[str]:
    return [re.sub(r"  [#█▉▊▋▌▍▎▏| ]+$", "", line) for line in text.splitlines()]


def test_colour_marks_the_verdict_and_says_nothing_that_words_do_not() -> None:
    coloured = render(too_much(), colour=True)
    assert "\x1b[1;31mdoes not fit\x1b[0m: " in coloured
    assert coloured.replace("\x1b[1;31m", "").replace("\x1b[0m", "") == render(too_much())


def hostile() -> FitReport:
    return replace(
        too_much(),
        model=HOSTILE,
        gpu=HOSTILE,
        stack=HOSTILE,
        assumptions=(Assumption("plan.attn", HOSTILE, HOSTILE),),
        notes=(HOSTILE,),
        skipped=(Skip(HOSTILE, HOSTILE),),
        refused=HOSTILE,
        useless=(HOSTILE,),
    )


def test_names_from_files_do_nothing_to_the_terminal() -> None:
    text = render(hostile())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "evil\\x1b[2J" in text


def test_a_line_to_paste_is_whole() -> None:
    lines = [line.split("GiB  ", 1)[1] for line in render(too_much(), width=60).splitlines() if "--set plan" in line]
    assert lines == ["--set plan.gradient_checkpointing=true --set plan.method=qlora --set plan.quant=4bit"]


@pytest.mark.parametrize("blocks", [True, False])
def test_a_bar_grows_with_what_it_shows(blocks: bool) -> None:
    drawn = [len(bar(part / 100, 40, blocks=blocks)) for part in range(101)]
    assert drawn == sorted(drawn)
    assert drawn[0] == 1
    assert drawn[-1] == 40


@pytest.mark.parametrize(
    ("card", "told"),
    [(None, "is not known"), (24.0, "23.6 GiB usable"), (16.0, "the least of it does not fit"), (96.0, "the most of it fits")],
)
def test_where_the_answer_is_a_range_no_figure_in_it_is_shown(card: float | None, told: str) -> None:
    wide = replace(report().estimate, allocated=gib(20, 75.56, 79.25), guessed=True)
    memory = None if card is None else usable_of(card) * GIB
    text = " ".join(render(replace(report(), estimate=wide, verdict=verdict(wide, memory))).split())
    assert "20.5 to 83.7 GiB at the peak, by what was not stated" in text
    assert told in text
    assert "allocated 20.0 to 79.2" in text
    assert "needed 20.5 to 83.7" in text


def test_a_plan_tells_the_kernels_that_its_trainer_brings() -> None:
    cut = replace(PLAN, liger=True, cut_loss=True, lora_kernels=frozenset({"mlp"}))
    told = [
        " ".join(render(replace(report(), plan=plan)).split()) for plan in (cut, replace(PLAN, liger=True), replace(PLAN, unsloth=True))
    ]
    assert "cut cross entropy, adapters in kernels" in told[0]
    assert "Liger kernels" in told[1]
    assert "a loss in pieces" in " ".join(render(replace(report(), plan=replace(cut, loss_rows=256))).split())
    assert "adapters in kernels" not in told[1] + told[2]
    inside = replace(PLAN, state_dtype="bfloat16", in_backward=True)
    assert f"{PLAN.optimizer} with bfloat16 states in the backward" in " ".join(render(replace(report(), plan=inside)).split())


def test_ranks_that_share_a_model_are_told_with_what_each_has() -> None:
    plan = replace(PLAN, method="full", adapter=None, tokens=2048, gpus=2, sharding="megatron", tensor=4, spread=True, pipeline=2)
    words = plan_words(replace(report(), plan=replace(plan, experts_over=4)))
    assert "1 row of 8192 tokens (2048 tokens on each GPU)" in words
    assert words.endswith("16 GPUs (Megatron, each layer cut in 4, layers in stages: 2, experts cut in 4)")
    assert gpu_words(replace(report(), plan=plan)).startswith("16 x NVIDIA H800")
