"""What the lengths mean for a plan: in tokens, in padding, and in what would save."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.lengths.advice import advice_on, micro_batches_above
from envdoctor.lengths.values import Lengths, TokenizerUsed

from .test_batches import MANY, histogram_of

LENGTHS = Lengths(
    data="train.jsonl",
    rows=1000,
    histogram=((100, 900), (400, 90), (3000, 9), (6001, 1)),
    tokens=900 * 100 + 90 * 400 + 9 * 3000 + 6001,
    longest=6001,
    longest_rows=(),
    form="messages of role and content",
    joined="the turns of a chat, rendered by the snapshot's chat template",
    template="the snapshot's chat template",
    tokenizer=TokenizerUsed("tokenizers 0.22.1", "tokenizer.json", "python", True),
)


def lengths_of(lengths: list[int]) -> Lengths:
    return replace(LENGTHS, rows=len(lengths), histogram=histogram_of(lengths), tokens=sum(lengths), longest=max(lengths))


def test_the_longest_row_decides_the_memory_and_the_rest_the_waste() -> None:
    advice = advice_on(LENGTHS, 4, None)
    assert (advice.now.worst_batch, advice.now.longest, advice.now.micro_batches) == (4 * 6001, 6001, 250)
    assert advice.fixed is None
    assert round(advice.now.waste, 2) == 0.50
    assert (advice.batch_p50, advice.batch_p90, advice.batch_p99) == (100, 400, 3000)
    assert [(saving.name, round(saving.saved, 2), round(saving.memory_saved, 2)) for saving in advice.savings] == [
        ("pack", 0.49, 0.0),
        ("sort", 0.46, 0.0),
        ("group-by-length", 0.39, 0.0),
        ("filter-p99", 0.39, 0.93),
        ("truncate-p99", 0.36, 0.93),
    ]


def test_a_sequence_length_cuts_rows_and_bounds_the_worst_batch() -> None:
    advice = advice_on(LENGTHS, 2, 2048)
    assert (advice.now.worst_batch, advice.now.rows_cut, advice.now.tokens_lost) == (4096, 10, 9 * 952 + 3953)
    assert advice.fixed is not None
    assert advice.fixed.padded == 1000 * 2048
    assert micro_batches_above(LENGTHS, 2, 2048, 4095) == pytest.approx(9.95, abs=0.01)
    assert micro_batches_above(LENGTHS, 2, 2048, 4096) == 0


def test_every_saving_says_its_numbers() -> None:
    words = {saving.name: saving.words for saving in advice_on(LENGTHS, 2, 2048).savings}
    assert words == {
        "sort": "sort all rows by length: 0 % padding, but every epoch meets them in the same order",
        "pack": "pack rows into 73 of 2048 tokens: 2 % padding instead of 23 %, 37 micro-batches instead of 500, each of 4096 tokens",
        "filter-p99": "drop the 10 rows longer than 400 tokens (1 % of the rows, 21 % of the tokens): micro-batches of at most 800 tokens"
        " instead of 4096",
        "group-by-length": "group rows of like length into micro-batches: 5.7 % padding instead of 23 %, and the worst micro-batch"
        " comes first",
        "truncate-p99": "cut rows at 400 tokens (10 rows, 18 % of the tokens): micro-batches of at most 800 tokens instead of 4096",
    }


def test_one_row_at_a_time_has_nothing_to_group() -> None:
    advice = advice_on(LENGTHS, 1, None)
    assert advice.now.waste == pytest.approx(0)
    assert {saving.name for saving in advice.savings}.isdisjoint({"group-by-length", "sort", "pack"})


@pytest.mark.parametrize(("rows", "seq_len", "accumulation"), [(0, None, 1), (1, 0, 1), (1, None, 0)])
def test_no_batch_is_refused(rows: int, seq_len: int | None, accumulation: int) -> None:
    with pytest.raises(ValueError, match="micro-batches of"):
        advice_on(LENGTHS, rows, seq_len, accumulation)


@given(MANY, st.integers(1, 9), st.none() | st.integers(1, 60), st.integers(1, 3))
def test_costs_account_for_every_row_and_token(rows: list[int], batch: int, seq_len: int | None, accumulation: int) -> None:
    lengths = lengths_of(rows)
    advice = advice_on(lengths, batch, seq_len, accumulation)
    costs = [advice.now, *(saving.cost for saving in advice.savings)] + ([advice.fixed] if advice.fixed is not None else [])
    for cost in costs:
        assert cost.rows + cost.rows_lost == len(rows)
        assert cost.tokens + cost.tokens_lost == sum(rows)
        assert cost.padded >= cost.tokens - 1e-6 * (1 + cost.tokens)
        assert 0 <= cost.waste <= 1
        assert cost.micro_batches >= 1 or cost.arrangement == "packed"
        assert cost.worst_batch <= batch * max(cost.longest, 1)
    assert all(saving.saved > 0 or saving.memory_saved > 0 for saving in advice.savings)
    assert advice.batch_p50 <= advice.batch_p90 <= advice.batch_p99 <= advice.now.longest
