"""What a condition admits of releases in a row is what it admits of each of them."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from envdoctor.facts.versions import exact, version_condition
from envdoctor.remedies.in_order import InOrder
from envdoctor.world.releases import as_of, release_texts

numbers = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda some: ".".join(map(str, some)))
texts = st.one_of(numbers, numbers, st.tuples(numbers, st.sampled_from(("rc1", ".post1", ".dev2"))).map("".join))
clauses = st.one_of(
    st.tuples(st.sampled_from(("<", "<=", ">", ">=", "==", "!=")), texts).map("".join),
    st.tuples(st.sampled_from(("==", "!=", "~=1.", "== ", "~= 0.")), numbers, st.just(".*")).map(
        lambda found: "".join(found[:2]) if "~" in found[0] else "".join(found)
    ),
    numbers.map("==={}".format),
)
conditions = st.lists(st.lists(clauses, max_size=3).map(",".join), min_size=1, max_size=2).map(" || ".join)


@given(st.lists(texts, max_size=12), conditions, st.booleans())
def test_releases_are_admitted_as_each_by_itself(releases: Sequence[str], text: str, ordered: bool) -> None:
    known = [exact(one) for one in releases]
    if ordered:
        known.sort(key=lambda one: one.key or ())
    condition = version_condition(text)
    admitted = InOrder(known).admitted(text)
    assert [bool(admitted >> place & 1) for place in range(len(known))] == [condition.admits(one) for one in known]


def test_a_series_ends_where_the_next_one_begins() -> None:
    known = [exact(one) for one in ("1.4.9", "1.5", "1.5.0.post1", "1.5.12", "1.6", "2.0")]

    def admitted(text: str) -> list[str]:
        found = InOrder(known).admitted(text)
        return [one.text for place, one in enumerate(known) if found >> place & 1]

    assert admitted("==1.5.*") == ["1.5", "1.5.0.post1", "1.5.12"]
    assert admitted("~=1.5") == ["1.5", "1.5.0.post1", "1.5.12", "1.6"]
    assert admitted("!=1.5.*,<2 || ===2.0") == ["1.4.9", "1.6", "2.0"]


def test_all_of_torch() -> None:
    known = tuple(map(exact, release_texts("torch")))
    assert known, as_of()
    for text in ("~=2.1.0", "==2.*", ">=1.13,!=2.0.*", "<2.1.1"):
        admitted = InOrder(known).admitted(text)
        assert [bool(admitted >> place & 1) for place in range(len(known))] == [version_condition(text).admits(one) for one in known]
