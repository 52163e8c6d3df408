"""What packages print over several lines when a compiled part of theirs does not load."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.logs.ffmpeg import TRIED, judge_ffmpeg
from envdoctor.logs.xformers_built_for import judge_xformers

__all__ = ["TRIED", "judge_listed"]


def judge_listed(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[Hit, int, str]]:
    yield from judge_ffmpeg(lines)
    yield from judge_xformers(lines)
