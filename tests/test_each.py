"""Cases that share a test fail as tellingly as tests of their own."""

from __future__ import annotations

import pytest

from tests.each import each


def test_every_case_that_fails_is_told_with_its_arguments() -> None:
    @each(("number", "half"), [(2, 1), (3, 1), (4, 2), (5, 2)])
    def check(number: int, half: int) -> None:
        assert number == 2 * half, "not twice as much"

    with pytest.raises(pytest.fail.Exception) as failed:
        check()
    told = str(failed.value).splitlines()
    assert told[0] == "2 of 4 cases fail"
    assert [line for line in told if line.startswith("number")] == ["number=3, half=1", "number=5, half=2"]
    assert told.count("not twice as much") == 2


def test_an_error_of_another_kind_is_raised_and_its_case_told(capsys: pytest.CaptureFixture[str]) -> None:
    @each("number", [1, 0], ids=lambda number: f"no. {number}")
    def check(number: int) -> None:
        assert 1 / number

    with pytest.raises(ZeroDivisionError):
        check()
    assert capsys.readouterr().out == "checking number=no. 0\n"


def test_cases_that_all_hold_pass_and_none_at_all_fail() -> None:
    def check(number: int) -> None:
        assert number

    each("number", [1, 2])(check)()
    with pytest.raises(AssertionError, match="no case to check"):
        each("number", [])(check)()
