"""What logs and memory samples tell: faults are seen, and what only looks like one is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.integrations.watch import LossWatch, MemoryWatch, Symptom, number

NAN, INF = float("nan"), float("inf")
MIB, GIB = 1 << 20, 1 << 30


def seen(logs: list[dict[str, Any]], *, patience: int = 3, fp16: bool = False) -> list[tuple[str, int]]:
    """Kind and step of what each log tells, logged at steps 1, 2, ..."""
    watch = LossWatch(patience, fp16)
    told = [watch.logged(step, log) for step, log in enumerate(logs, start=1)]
    return [(symptom.kind, symptom.step) for symptom in told if symptom is not None]


@pytest.mark.parametrize(
    ("logs", "expected"),
    [
        ([{"loss": 4.5, "grad_norm": 0.1}, {"loss": NAN, "grad_norm": 0.1}], ("loss-nan", 2)),
        ([{"loss": INF}], ("loss-nan", 1)),
        ([{"loss": 4.5}, {"eval_loss": NAN}], ("loss-nan", 2)),
        ([{"loss": 4.5, "grad_norm": 0.1}, {"loss": 0.0, "grad_norm": NAN}], ("loss-zero", 2)),
        ([{"loss": 0.0, "grad_norm": NAN}], ("loss-zero", 1)),
        # Releases before 4.38 log no gradient norm.
        ([{"loss": 4.5}, {"loss": 0.0}], ("loss-zero", 2)),
        ([{"loss": 0.0}, {"loss": 0.0}, {"loss": 0.0}], ("loss-zero", 3)),
        ([{"loss": 4.5, "grad_norm": NAN}] * 3, ("gradient-nan", 3)),
        ([{"loss": 4.5, "grad_norm": 0.0}] * 3, ("gradient-zero", 3)),
        ([{"loss": 4.5, "grad_norm": 0.1}] + [{"loss": 0.0, "grad_norm": 0.0}] * 3, ("gradient-zero", 4)),
    ],
)
def test_faults_are_seen(logs: list[dict[str, Any]], expected: tuple[str, int]) -> None:
    assert seen(logs)[0] == expected


@pytest.mark.parametrize(
    "logs",
    [
        [{"loss": 4.5 / step, "grad_norm": 1.0 / step} for step in range(1, 200)],
        # Overfitted: rounded to four decimals, with and without a gradient norm.
        [{"loss": loss} for loss in (0.5, 0.02, 0.004, 0.0003, 0.0, 0.0, 0.0, 0.0)],
        [{"loss": loss, "grad_norm": 1e-5} for loss in (0.5, 0.0, 0.0, 0.0, 0.0)],
        [{"loss": 4.5, "grad_norm": NAN}, {"loss": 4.4, "grad_norm": 0.3}] * 5,
        # Reinforcement learning: a batch of equal rewards has neither loss nor gradient.
        [{"loss": 0.1, "grad_norm": 0.2, "reward": 0.4}] + [{"loss": 0.0, "grad_norm": 0.0, "reward": 1.0}] * 9,
        [{"loss": 0.0, "rewards/chosen": 0.0}] * 9,
        [{"train_runtime": 3.4, "epoch": 1.0}, {"eval_accuracy": 0.0}, {}],
        [{"loss": "4.5", "grad_norm": None}, {"loss": True}],
    ],
)
def test_what_only_looks_like_a_fault_is_none(logs: list[dict[str, Any]]) -> None:
    assert seen(logs) == []


def test_a_gradient_scaler_may_look_for_its_scale() -> None:
    """16 halvings lead from 65536 to 1: until then infinite gradients are no fault, after that they are."""
    overflow = {"loss": 4.5, "grad_norm": INF}
    assert seen([overflow] * 17 + [{"loss": 4.4, "grad_norm": 0.3}], fp16=True) == []
    assert seen([overflow] * 18, fp16=True) == [("gradient-nan", 18)]


numbers = st.floats(allow_nan=True, allow_infinity=True) | st.integers() | st.booleans() | st.none() | st.text(max_size=3)


@given(st.lists(st.dictionaries(st.sampled_from(["loss", "grad_norm", "eval_loss", "reward"]), numbers), max_size=12), st.booleans())
def test_any_log_is_read(logs: list[dict[str, Any]], fp16: bool) -> None:
    for kind, _ in seen(logs, fp16=fp16):
        assert kind in ("loss-nan", "loss-zero", "gradient-nan", "gradient-zero")


@given(st.lists(st.tuples(st.floats(1e-4, 1e4), st.floats(1e-6, 1e4)), max_size=30), st.booleans())
def test_a_run_that_learns_is_left_alone(logs: list[tuple[float, float]], fp16: bool) -> None:
    assert seen([{"loss": round(loss, 4), "grad_norm": norm} for loss, norm in logs], fp16=fp16) == []


def grown(samples: list[int], rises: int = 3, growth: int = GIB) -> list[Symptom]:
    watch = MemoryWatch(rises, growth)
    told = [watch.sampled(step, used) for step, used in enumerate(samples)]
    return [symptom for symptom in told if symptom is not None]


def test_memory_that_only_grows_is_seen() -> None:
    assert grown([GIB, 10 * GIB, 10 * GIB + 400 * MIB, 11 * GIB, 11 * GIB, 12 * GIB]) == [
        Symptom("memory-growth", 5, "memory grew 3 times without release, from 10.00 GiB to 12.00 GiB")
    ]


@pytest.mark.parametrize(
    "samples",
    [
        [GIB, 30 * GIB, 30 * GIB, 30 * GIB, 30 * GIB],  # the optimizer's states, once
        [GIB, 10 * GIB, 11 * GIB, 12 * GIB, 10 * GIB, 11 * GIB, 12 * GIB, 10 * GIB],  # grows and is released
        [GIB, *(10 * GIB + step * 2 * MIB for step in range(100))],  # grows, but by little
        [GIB, *(10 * GIB + step * MIB // 2 for step in range(100))],  # noise
        [GIB, 10 * GIB, 20 * GIB, 30 * GIB],  # too few to tell
        [],
    ],
)
def test_memory_that_settles_is_left_alone(samples: list[int]) -> None:
    assert grown(samples) == []


def test_a_system_that_does_not_tell_is_no_growth() -> None:
    assert MemoryWatch(1, 1).sampled(1, None) is None


@given(st.lists(st.integers(0, 1 << 40), max_size=30))
def test_growth_is_told_only_where_it_is(samples: list[int]) -> None:
    for symptom in grown(samples):
        assert max(samples[: symptom.step + 1]) - min(samples[: symptom.step + 1]) >= GIB


class Scalar:
    """As much of a tensor as a log needs."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def numel(self) -> int:
        return len(self.values)

    def item(self) -> float:
        (value,) = self.values
        return value


def test_a_tensor_is_the_number_that_it_holds() -> None:
    assert number(Scalar(0.5)) == 0.5
    assert number(Scalar(1.0, 2.0)) is None
    symptom = LossWatch(3, fp16=False).logged(4, {"loss": 0.0, "grad_norm": Scalar(float("nan"))})
    assert symptom is not None
    assert symptom.kind == "loss-zero"
