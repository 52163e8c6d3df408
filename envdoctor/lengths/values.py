"""What is known of the lengths of training data, and what its arrangements in batches would cost."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Literal, TypeAlias

from envdoctor.records import dataclass

Histogram: TypeAlias = tuple[tuple[int, int], ...]
"""(length in tokens, how many rows are that long), by growing length; every count is at least 1."""

Arrangement = Literal["random", "grouped", "sorted", "packed", "padded_to_length"]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the lengths cannot be told at all: the four parts of an ``EnvdoctorError``."""

    place: str
    found: str
    expected: str
    next_step: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """One line that was not counted. ``line`` counts from 1; in a JSON array it is the number of the element."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class LongRow:
    """One of the longest rows and where it stands: a line from 1, or the number of an array's element."""

    tokens: int
    line: int


@dataclass(frozen=True, slots=True)
class TokenizerUsed:
    """What counted: ``library`` with its release (``tokenizers 0.22.1``), the snapshot's ``file`` ("" for rows that came as ids).

    ``interpreter`` is the one that it ran in, and ``patients`` says that it is that of the environment that is examined.
    """

    library: str
    file: str
    interpreter: str
    patients: bool


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths in tokens of every row that could be read, before any truncation. There is at least one row.

    ``form`` names the format of the rows (``messages``, ``alpaca``, ``prompt and completion``, ...) and ``joined`` says in words how one
    row became one text. ``template`` is what rendered a chat: ``the snapshot's chat template``, ..., "" where none was used.
    ``notes`` are sentences that a reader of the numbers has to know, such as what the count is only near to.

    ``rows`` is the number of rows in ``histogram``, ``tokens`` their exact sum and ``longest`` the exact longest. ``step`` is 1 but for
    data of very many lengths, where those of the histogram (and so the percentiles) are rounded up to its multiples.
    ``longest_rows`` are a few, the longest first.
    ``refused`` counts the lines that were not counted and ``refusals`` are the first of them; ``reasons`` are all of the reasons with
    their counts, most frequent first. Blank lines are neither. ``whole`` is False where the time was up before the end of the file.
    ``sequences`` is how many sequences a trainer makes of one row: 2 for preference pairs, of which the longer is counted here.
    ``answer_share`` is the part of the tokens that stands in answers (what labels are usually made of), None where it is not known;
    ``answer_rows`` the number of rows that it was measured on.
    """

    data: str
    rows: int
    histogram: Histogram
    tokens: int
    longest: int
    longest_rows: tuple[LongRow, ...]
    form: str
    joined: str
    template: str
    tokenizer: TokenizerUsed
    refused: int = 0
    refusals: tuple[Refusal, ...] = ()
    reasons: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    step: int = 1
    whole: bool = True
    sequences: int = 1
    answer_share: float | None = None
    answer_rows: int = 0
    seconds: float = 0.0

    @property
    def mean(self) -> float:
        return self.tokens / self.rows

    def percentile(self, part: float) -> int:
        """The smallest length that at least ``part`` (0 to 1) of the rows do not exceed."""
        return quantile(self.histogram, part)

    @property
    def p50(self) -> int:
        return self.percentile(0.50)

    @property
    def p90(self) -> int:
        return self.percentile(0.90)

    @property
    def p95(self) -> int:
        return self.percentile(0.95)

    @property
    def p99(self) -> int:
        return self.percentile(0.99)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one epoch costs when the rows are put into micro-batches in one way.

    ``tokens`` are those of the rows themselves, ``padded`` those that the GPU computes: with padding, the expectation over the order of
    the rows, on one GPU. ``micro_batches`` is their number per epoch. ``worst_batch`` is the most tokens of one micro-batch with padding
    (rows x longest), which decides the memory; ``longest`` is how long its rows are.
    ``rows_lost`` are dropped, ``tokens_lost`` are not trained on (dropped or cut off). ``rows_cut`` are shortened.
    """

    arrangement: Arrangement
    rows: int
    tokens: int
    padded: float
    micro_batches: int
    worst_batch: int
    longest: int
    rows_lost: int = 0
    rows_cut: int = 0
    tokens_lost: int = 0

    @property
    def waste(self) -> float:
        """The part of the computed tokens that is padding, 0 to 1."""
        return max(0.0, 1 - self.tokens / self.padded) if self.padded else 0.0


@dataclass(frozen=True, slots=True)
class Saving:
    """One change to the data or to the order, and what it brings against the rows in random order as they are.

    ``name`` is one of ``filter-p99``, ``filter-p95``, ``truncate-p99``, ``truncate-p95``, ``group-by-length``, ``sort``, ``pack``;
    ``words`` say it to a person, with its numbers; ``setting`` is what a plan would state for it ("" where it is work on the data).
    ``saved`` is the part of all computed tokens that falls away, be they padding or rows that are lost; negative where it costs more;
    ``memory_saved`` the part of the worst micro-batch.
    """

    name: str
    words: str
    setting: str
    cost: Cost
    saved: float
    memory_saved: float


@dataclass(frozen=True, slots=True)
class LengthAdvice:
    """What the lengths mean for micro-batches of ``rows`` rows, cut at ``seq_len`` tokens (None: never).

    ``now`` is the cost as it is: random order, each micro-batch padded to its longest row. ``fixed`` is the cost of padding every row to
    ``seq_len`` instead, None without one. ``worst_batch`` of ``now`` is met in every epoch: whatever batch the longest row falls into is
    padded to it. ``batch_p50`` ... are lengths in tokens that a random micro-batch is padded to or less with that probability;
    ``savings`` are in the order of what they save, most first, and only those that save anything of computation or memory.
    """

    rows: int
    seq_len: int | None
    now: Cost
    fixed: Cost | None
    batch_p50: int
    batch_p90: int
    batch_p99: int
    savings: tuple[Saving, ...]


def quantile(histogram: Histogram, part: float) -> int:
    """The smallest length that at least ``part`` (0 to 1) of the rows do not exceed."""
    reached = list(accumulate(count for _length, count in histogram))
    return histogram[min(bisect_left(reached, part * reached[-1]), len(histogram) - 1)][0]
