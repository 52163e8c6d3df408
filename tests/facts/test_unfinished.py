"""Versions that are no final releases, at bounds that mostly are: packaging is the oracle of every answer that is given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from envdoctor.facts.unfinished import admits

near = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
suffixes = st.sampled_from(["", "", "a0", "a1", "b2", "rc1", "rc10", ".post0", ".post1", ".dev0", ".dev3", "rc1.post2.dev3", "-1", ".a1"])
versions = st.builds(lambda number, suffix, label: number + suffix + label, near, suffixes, st.sampled_from(["", "", "+cpu", "+cu118.1"]))
clauses = st.builds(
    lambda operator, space, version: operator + space + version,
    st.sampled_from(["==", "!=", "<=", ">=", "<", ">", "~=", "==="]),
    st.sampled_from(["", " "]),
    versions | near.map(lambda number: number + ".*"),
)


@given(versions, st.lists(clauses, max_size=3).map(", ".join))
def test_an_answer_is_that_of_packaging(version: str, text: str) -> None:
    found = admits(text, version)
    try:
        expected = SpecifierSet(text).contains(Version(version), prereleases=True)
    except InvalidSpecifier:
        return
    assert found in (None, expected)


@given(near, suffixes.filter(lambda suffix: suffix not in ("-1", ".a1")), near, st.sampled_from(["", "a1", "b2", ".post1", ".dev3"]))
def test_bounds_that_have_nothing_special_are_answered(number: str, suffix: str, bound: str, of_bound: str) -> None:
    for operator in ("==", "!=", ">=", "<="):
        assert admits(f"{operator}{bound}{of_bound}", number + suffix) is not None
