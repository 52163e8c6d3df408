"""Versions that are no final releases, at bounds that mostly are: packaging is the oracle of every answer that is given."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from envdoctor.facts.unfinished import admits, is_prerelease
from tests.each import each

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


@each(
    ("version", "clause", "expected"),
    [
        ("2.0.0", "<2", False),
        ("2.0.0", ">2", False),
        ("2.0.0", ">2.0rc1", True),
        ("2.0.0", "<2.0.post1", True),
        ("2.0.0+cpu", ">2.0", False),
        ("2.0rc1", "<2.0", None),
        ("2.0.post1", ">2.0", None),
        ("2.0.dev3", "<2.0", None),
        ("0.8.0", ">=0.8.0-rc4", True),
        ("0.8.0rc4", "==0.8.0-rc4", True),
    ],
)
def test_a_final_release_at_a_bound_is_told(version: str, clause: str, expected: bool | None) -> None:
    assert admits(clause, version) is expected
    assert expected in (None, SpecifierSet(clause).contains(Version(version), prereleases=True))


@given(versions)
def test_a_prerelease_is_what_packaging_finds_one(version: str) -> None:
    assert is_prerelease(version) in (None, Version(version).is_prerelease)
