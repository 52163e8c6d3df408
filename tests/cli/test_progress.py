"""Nobody looks at a terminal that says nothing: how far long work is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from envdoctor.app.check import check
from envdoctor.app.diagnose import diagnose
from envdoctor.app.request import Request
from envdoctor.app.watch import Watch


class Seen:
    """What a watch is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.watch = Watch(stages=self._stages)

    @contextmanager
    def _stages(self, subject: str, cost: str) -> Iterator[Callable[[str], None]]:
        self.told.append(subject)
        yield self.told.append


@pytest.mark.large
def test_many_files_are_counted_and_few_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"requirements-{number}.txt" for number in range(9)]
    for name in names:
        (tmp_path / name).write_text("numpy==1.26.4\n")
    seen = Seen()
    check(Request(targets=tuple(names), each=True, watch=seen.watch))
    assert seen.told == ["checking 9 situations", *(f"{number} done" for number in range(1, 10))]
    few = Seen()
    check(Request(targets=tuple(names[:3]), each=True, watch=few.watch))
    assert few.told == []


def test_what_was_read_of_a_log_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    seen = Seen()
    diagnose(Request(settings=("packages.numpy=1.26.4",), watch=seen.watch), (b"step 1\n" * 1000 for _ in range(2)), "train.log")
    assert seen.told == ["reading train.log", "1,000 lines", "2,000 lines"]
