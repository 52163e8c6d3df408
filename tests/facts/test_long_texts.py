"""What a file has of versions that were written to be long is read, and not kept: a process that reads many files stays small."""

from __future__ import annotations

from envdoctor.facts import histories, points
from envdoctor.facts.histories import History, satisfiable
from envdoctor.facts.versions import exact, parse_version, version_condition

LONG = ".".join("1" * 300)
KNOWN = ("1.0", "2.0")


def test_a_usual_text_is_read_once_and_a_long_one_each_time() -> None:
    assert exact("1.2.3") is exact("1.2.3")
    assert exact(LONG) == exact(LONG)
    assert exact(LONG) is not exact(LONG)
    assert parse_version(LONG) is not parse_version(LONG)
    assert version_condition(f">={LONG}") is not version_condition(f">={LONG}")


def test_the_points_of_a_long_release_are_not_kept() -> None:
    before = points._kept_next_keys.cache_info().currsize, points._kept_of_key.cache_info().currsize
    assert satisfiable(f">={LONG}", KNOWN)
    assert not satisfiable(f">={LONG},<{LONG}", KNOWN)
    assert (points._kept_next_keys.cache_info().currsize, points._kept_of_key.cache_info().currsize) == before


def test_a_list_keeps_so_many_answers_and_no_more() -> None:
    one = History(KNOWN)
    condition = version_condition(">=1.0")
    for number in range(histories._MOST_ANSWERS + 10):
        assert one.relation(condition, f"=={number + 3}.0") is True
    assert len(one._relations) <= histories._MOST_ANSWERS
    assert len(one._admitted) <= histories._MOST_ANSWERS
    assert one.relation(condition, f"=={LONG}") is True
    assert one.relation(condition, f"=={LONG}") is True
    assert not any(LONG in admitted for _, admitted in one._relations)
