"""What tools of the command line say in lines that are no errors of Python's: who refused a word, a file or a machine."""

from __future__ import annotations

from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.clap_messages import judge_clap
from envdoctor.logs.hub_kernels import judge_kernels
from envdoctor.logs.quoted_errors import judge_command
from envdoctor.logs.reading import Reading
from envdoctor.logs.unread_by_uv import judge_unread


def judge_tools(reading: Reading, facts: Facts) -> Iterator[tuple[Hit, int, str]]:
    """The findings with their lines and texts."""
    lines = reading.lines
    for told in (judge_command(lines), judge_clap(lines, facts), judge_unread(lines), judge_kernels(lines, facts)):
        if told is not None:
            yield told
