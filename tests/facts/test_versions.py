"""Version conditions: packaging is the oracle for points, its VersionRange for ranges."""

from __future__ import annotations

import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from envdoctor.facts.histories import satisfiable
from envdoctor.facts.versions import (
    ABSENT,
    Exact,
    Ranged,
    exact,
    final_key,
    parse_package,
    version_condition,
)
from envdoctor.world.releases import release_texts
from tests.each import each

numbers = st.one_of(st.integers(0, 3), st.sampled_from([9, 10, 11, 2024]))
plain = st.lists(numbers, min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
epochs = st.sampled_from(["", "", "", "", "0!", "1!"])
suffixes = st.sampled_from(["", "", "", "a1", "b2", "rc1", ".post1", ".dev3", "rc1.post2.dev3", "a0", ".post0", "-1"])
locals_ = st.sampled_from(["", "", "", "+cu118", "+CU118", "+cpu", "+07cecf4168.nv24.5", "+cu_11-8"])
versions = st.builds(
    lambda v, epoch, release, suffix, local: v + epoch + release + suffix + local,
    st.sampled_from(["", "", "", "v"]),
    epochs,
    plain,
    suffixes,
    locals_,
)

ordered = st.builds(lambda op, epoch, v, suffix: op + epoch + v + suffix, st.sampled_from([">=", "<=", ">", "<"]), epochs, plain, suffixes)
equal = st.builds(lambda op, v: op + v, st.sampled_from(["==", "!="]), versions)
prefix = st.builds(lambda op, epoch, v: op + epoch + v + ".*", st.sampled_from(["==", "!="]), epochs, plain)
compatible = st.builds(
    lambda v, suffix: "~=" + v + suffix,
    st.lists(numbers, min_size=2, max_size=4).map(lambda parts: ".".join(map(str, parts))),
    st.sampled_from(["", "", "rc1", ".post1"]),
)
identical = versions.map(lambda v: "===" + v)
spaces = st.sampled_from(["", "", " "])
clauses = st.one_of(ordered, ordered, ordered, equal, prefix, compatible, identical)
specifiers = st.lists(st.builds(lambda a, clause, b: a + clause + b, spaces, clauses, spaces), max_size=3).map(",".join)

# Bounds as rules and requirements have them, close enough together to meet often.
near = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
near_clauses = st.one_of(
    st.builds(lambda op, v: op + v, st.sampled_from([">=", "<=", ">", "<", "==", "!=", ">=", "<"]), near),
    st.builds(lambda op, v: op + v + ".*", st.sampled_from(["==", "!="]), near),
    near.filter(lambda v: "." in v).map(lambda v: "~=" + v),
)
near_ranges = st.lists(near_clauses, max_size=3).map(",".join)
near_conditions = st.lists(near_ranges, min_size=1, max_size=2).map(" || ".join)
finals = st.lists(st.integers(0, 4), min_size=1, max_size=5).map(lambda parts: ".".join(map(str, parts)))
known_lists = st.lists(near, max_size=8, unique_by=Version).map(lambda texts: tuple(sorted(texts, key=Version)))


BOUNDS = ("1", "1.0", "1.5", "1.5.0", "1.5.1", "2")
FINALS = ("0.9", "1", "1.0", "1.0.1", "1.4.9", "1.5", "1.5.0", "1.5.0.1", "1.5.1", "1.6", "1.10", "2.0.0", "2.0.1")
POINTS = (*FINALS, "1.5rc1", "1.5.post1", "1.5.dev2")
OPERATORS = ("==", "!=", "<=", ">=", "<", ">", "===", "~=")


@each(("operator", "bound"), [(operator, bound) for operator in OPERATORS for bound in BOUNDS if operator != "~=" or "." in bound])
def test_every_operator_on_both_sides_of_its_bound(operator: str, bound: str) -> None:
    oracle, condition = SpecifierSet(operator + bound), version_condition(operator + bound)
    admitted = [point for point in POINTS if condition.admits(exact(point))]
    assert admitted == [point for point in POINTS if oracle.contains(Version(point), prereleases=True)]
    both = version_condition(f"{operator}{bound}, !=1.5 || ==9.*")
    assert [point for point in POINTS if both.admits(exact(point))] == [
        point for point in admitted if SpecifierSet("!=1.5").contains(point, prereleases=True)
    ]


def test_final_releases_and_what_was_posted_after_them_are_judged_without_packaging(monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs as much to import as all rules do to load, and most stacks hold nothing else."""
    points = [exact(text) for text in ("7.1.2", "7.1.3+cu118", "7.1.9.post1", "7.2", "7.5", "7.6", "7.6.9", "7.7", "7.7.1")]
    for module in ("packaging", "packaging.specifiers", "packaging.version"):
        monkeypatch.setitem(sys.modules, module, None)
    condition = version_condition(">=7.1.3, <7.2 || ==7.5 || >7.6, <=7.7, !=7.6.9")
    assert [point.text for point in points if condition.admits(point)] == ["7.1.3+cu118", "7.1.9.post1", "7.5", "7.7"]
    assert final_key("V7.5.0+CU118") == (7, 5)
    for text in ("==7.9.*", "!=7.8.3+cu118", "===7.1.post1", ">=7.8.post2"):
        assert version_condition(text).text == text


@given(versions, specifiers)
def test_a_point_is_admitted_as_packaging_admits_it(version: str, text: str) -> None:
    assert version_condition(text).admits(exact(version)) == SpecifierSet(text).contains(Version(version), prereleases=True)


@given(versions, st.lists(specifiers, min_size=1, max_size=3))
def test_a_union_admits_what_any_part_admits(version: str, parts: list[str]) -> None:
    expected = any(SpecifierSet(part).contains(Version(version), prereleases=True) for part in parts)
    assert version_condition(" || ".join(parts)).admits(exact(version)) == expected


@given(versions)
def test_the_key_is_the_release_number_of_a_final_release(text: str) -> None:
    version, key = Version(text), final_key(text)
    if version.epoch == 0 and not version.is_prerelease and not version.is_postrelease and "!" not in text:
        assert key is not None
        assert Version(".".join(map(str, key))) == Version(".".join(map(str, version.release)))
    else:
        assert key is None


@given(versions, versions)
def test_keys_order_as_versions_do(a: str, b: str) -> None:
    key_a, key_b = final_key(a), final_key(b)
    assume(key_a is not None and key_b is not None)
    assert key_a is not None
    assert key_b is not None
    public_a, public_b = Version(Version(a).public), Version(Version(b).public)
    assert ((key_a > key_b) - (key_a < key_b)) == ((public_a > public_b) - (public_a < public_b))


@given(versions, specifiers)
def test_the_relation_of_a_point_is_whether_it_is_admitted(version: str, text: str) -> None:
    condition = version_condition(text)
    assert condition.relation(exact(version)) is condition.admits(exact(version))


@given(specifiers)
def test_a_package_that_is_not_installed_satisfies_no_condition(text: str) -> None:
    assert version_condition(text).relation(ABSENT) is False


@given(near_conditions, near_ranges, known_lists)
def test_every_known_release_agrees_with_a_decided_range(condition: str, admitted: str, known: tuple[str, ...]) -> None:
    outcome = version_condition(condition).relation(Ranged(admitted), known)
    inside = [text for text in known if SpecifierSet(admitted).contains(text, prereleases=True)]
    if outcome is not None:
        assert all(version_condition(condition).relation(exact(text)) is outcome for text in inside)


@given(near_conditions, near_ranges, finals)
def test_learning_the_version_never_overturns_a_decided_range(condition: str, admitted: str, learned: str) -> None:
    """Without a list of releases any final release may be the one."""
    outcome = version_condition(condition).relation(Ranged(admitted))
    if outcome is not None and SpecifierSet(admitted).contains(learned, prereleases=True):
        assert version_condition(condition).relation(exact(learned)) is outcome


@given(near_conditions, near_ranges, known_lists.filter(bool), finals)
def test_a_release_that_comes_later_never_overturns_a_decided_range(
    condition: str, admitted: str, known: tuple[str, ...], later: str
) -> None:
    assume(Version(later) > Version(known[-1]))
    outcome = version_condition(condition).relation(Ranged(admitted), known)
    if outcome is not None and SpecifierSet(admitted).contains(later, prereleases=True):
        assert version_condition(condition).relation(exact(later)) is outcome


@given(near_conditions, near_ranges, near_clauses, known_lists)
def test_a_narrower_range_never_overturns_a_decided_one(condition: str, admitted: str, more: str, known: tuple[str, ...]) -> None:
    narrower = f"{admitted},{more}" if admitted else more
    # A range that only versions outside the list satisfy contradicts the list.
    assume(not known or any(SpecifierSet(narrower).contains(text) for text in known))
    wide = version_condition(condition).relation(Ranged(admitted), known)
    narrow = version_condition(condition).relation(Ranged(narrower), known)
    if wide is not None and narrow is not None:
        assert narrow is wide


@given(near_conditions, near_ranges)
def test_ranges_relate_as_the_sets_of_packaging_do(condition: str, admitted: str) -> None:
    pytest.importorskip("packaging.ranges", reason="packaging has VersionRange since 26.3")
    whole = SpecifierSet("<0").to_range()
    for part in condition.split("||"):
        whole = whole.union(SpecifierSet(part.strip()).to_range())
    allowed = SpecifierSet(admitted).to_range()
    outcome = version_condition(condition).relation(Ranged(admitted))
    if allowed.is_disjoint(whole):
        assert outcome is False or not satisfiable(admitted, ())
    elif allowed.is_subset(whole):
        assert outcome is True or not satisfiable(admitted, ())
    # Where the sets overlap, packaging counts pre- and post-releases between two final ones too: no oracle there.


@given(near_ranges)
def test_a_range_is_satisfiable_where_packaging_finds_it_so(admitted: str) -> None:
    pytest.importorskip("packaging.ranges", reason="packaging has VersionRange since 26.3")
    if SpecifierSet(admitted).to_range().is_empty:
        assert not satisfiable(admitted, ())


@given(near_ranges, finals)
def test_a_range_with_a_final_release_in_it_is_satisfiable(admitted: str, final: str) -> None:
    if SpecifierSet(admitted).contains(final):
        assert satisfiable(admitted, ())
        assert satisfiable(admitted, (final,))


@pytest.mark.parametrize(
    ("condition", "admitted", "known", "expected"),
    [
        (">=0.7,<0.12", ">=0.8,<0.10", (), True),
        (">=0.7,<0.12", ">=0.10", (), None),
        (">=0.7,<0.12", ">=0.12", (), False),
        (">=0.7,<0.12", "", (), None),
        ("", "", (), True),
        ("", ">=1", (), True),
        ("<0.7 || >=0.12", ">=0.12", (), True),
        ("<0.7 || >=0.12", ">=0.7,<0.12", (), False),
        ("<2", "<=2", (), None),
        (">1.0", ">=1.0,<1.1", (), None),
        (">1.0", ">=1.0,<1.1", ("1.0", "1.1"), False),
        (">1.0", ">=1.0,<1.1", ("1.0", "1.0.1", "1.1"), None),
        ("==1.5.*", ">=1.5,<1.8", (), None),
        ("~=1.5.1", ">=1.5.1,<1.8", (), None),
        ("==1.5.*", ">=1.5,<1.8", ("1.5", "1.5.2", "1.8"), True),
        ("<2.0", ">=1.0", ("1.0", "1.1"), None),
        (">=2.16", ">2.15,<2.17", ("2.14", "2.15"), None),
        ("==2.5.0", "==2.5.0", (), True),
        (">=1", ">=2,<1", (), None),
        (">=20230101", ">=20240101", (), True),
        (">=20230101", ">=20220101", (), None),
        ("===unheard-of", "", (), False),
        # What ends a prefix, and what lies just above a release, is looked at though nobody names it.
        ("==1.5.*", "", (), None),
        ("==1.5.*", ">=1.5,<1.7", (), None),
        ("~=1.5.1", ">=1.5.1,<1.7", (), None),
        ("==1.*", ">=1.0,<2.1", (), None),
        (">=1.5.0.1", ">1.5,<1.5.1", (), None),
        # Of known releases finals count, and what was posted after them; pre-releases do not.
        ("!=1.8.*", ">=1.0,<2,!=1.8", ("1.0", "1.8rc1", "2.0"), True),
        ("!=1.8.*", ">=1.0,<2,!=1.8", ("1.0", "1.8.post1", "2.0"), None),
    ],
)
def test_relation(condition: str, admitted: str, known: tuple[str, ...], expected: bool | None) -> None:
    assert version_condition(condition).relation(Ranged(admitted), known) is expected


def test_relation_over_real_releases() -> None:
    peft = release_texts("peft")
    condition = version_condition(">=0.7,<0.12")
    assert condition.relation(Ranged(">=0.10,<0.12"), peft) is True
    assert condition.relation(Ranged("~=0.11.0"), peft) is True
    assert condition.relation(Ranged(">=0.12"), peft) is False
    assert condition.relation(Ranged(">=0.10"), peft) is None
    assert version_condition("==2.5.0").relation(Ranged("==2.5.*"), release_texts("torch")) is None


@pytest.mark.parametrize(
    ("admitted", "known", "expected"),
    [
        ("", (), True),
        (">1,<2", (), True),
        (">=2,<1", (), False),
        (">1.0,<1.1", ("1.0", "1.1"), False),
        (">1.0,<1.1", ("1.0", "1.0.1", "1.1"), True),
        (">=9", ("1.0", "1.1"), True),
        ("==1.0.7", ("1.0", "1.1"), True),
        ("==1.0,==1.1", (), False),
        (">=2.0rc1,<2.0", (), False),  # PEP 440: <2.0 admits no pre-release of 2.0
        (">=2.0rc1,<2.0.1", ("1.0",), True),
    ],
)
def test_satisfiable(admitted: str, known: tuple[str, ...], expected: bool) -> None:
    assert satisfiable(admitted, known) is expected


_CLAUSES = (
    "==1.0", "==1.0.0", "==1", "!=1.0", "<1", "<1.0.1", "<=1.0", ">1", ">1.1", ">=1.1", ">=2", "==1.*", "==1.0.*", "!=1.*", "!=1.0.*",
    "~=1.0", "~=1.0.1", "==1.0.1", ">=1.0rc1", "<1.1a1", "===1.0", "==1.0+cpu",
)  # fmt: skip


def test_two_clauses_over_a_list_are_satisfiable_where_some_version_satisfies_both() -> None:
    """Every version that could tell them apart is tried, by packaging; above the list and of those that are named."""
    listed = ("0.9", "1.0", "1.0.1")
    for one in _CLAUSES:
        for other in _CLAUSES:
            text, named = f"{one},{other}", [Version(clause.strip("=!<>~").removesuffix(".*")) for clause in (one, other)]
            steps = [f"1.0.{last}" for last in range(2, 4)] + ["1.1", "1.1.0.0.1", "1.2", "2", "2.0.0.1", "3", "4"]
            tried = [*map(Version, listed), *named, *map(Version, steps)]
            expected = any(SpecifierSet(text).contains(version, prereleases=True) for version in tried)
            assert satisfiable(text, listed) is expected, text


@pytest.mark.parametrize(
    ("text", "condition", "expected"),
    [
        ("2.5.0", "==2.5.0+cu118", False),
        ("2.5.0", "!=2.4 || ==2.5.0+cu118", True),
        ("2.5.0+cu118", "==2.5.0", True),
        ("2.5.0+cu118", "==2.5.0+cu121", False),
        ("2.5.0+cu118", ">2.5.0", False),
        ("2.4.0a0+07cecf4168.nv24.5", ">=2.3", True),
        ("2.4.0a0+07cecf4168.nv24.5", ">=2.4", False),
        ("2.4.0a0+07cecf4168.nv24.5", "<2.4", False),
        ("4.48.0.dev0", ">=4.47.1", True),
        ("0.10.0", ">0.9", True),
        ("1.10", "==1.1", False),
        ("2.5", "==2.5.0", True),
        ("2.8.3.post1", ">2.8.3", False),
        ("2.8.3.post1", ">=2.8.3", True),
        ("2.8.3.post1", "==2.8.3", False),
        ("2.8.3.post1", "~=2.8", True),
        ("2.8.3.post1", "<2.8 || ~=2.9", False),
    ],
)
def test_versions_that_stacks_really_have(text: str, condition: str, expected: bool) -> None:
    assert version_condition(condition).admits(exact(text)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.5.0", Exact("2.5.0", (2, 5))),
        (" 2.5.0+cu118 ", Exact("2.5.0+cu118", (2, 5))),
        ("==2.5.0", Exact("2.5.0", (2, 5))),
        ("===2.5.0", Exact("2.5.0", (2, 5))),
        ("== 2.5rc1", Exact("2.5rc1", None)),
        ("==2.5.*", Ranged("==2.5.*")),
        (">=0.10,<0.12", Ranged(">=0.10,<0.12")),
        ("~=1.4", Ranged("~=1.4")),
        ("==1.0,==2.0", Ranged("==1.0,==2.0")),
        ("", Ranged("")),
        ("*", Ranged("")),
    ],
)
def test_what_a_person_writes_for_a_package(text: str, expected: Exact | Ranged) -> None:
    assert parse_package(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *["not a version", "latest", "2.x", "1.٢", "1..2", "v", "2.5.0+", "9" * 5000],
        *["=1.0", "=>1.0", ">=", "==2.5.*.*", ">=1 <2", ">=1;<2", ">" + "9" * 5000, "~=1"],
    ],
)
def test_what_is_neither_version_nor_specifier(text: str) -> None:
    with pytest.raises((InvalidVersion, InvalidSpecifier)) as caught:
        parse_package(text)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("text", ["foo", "1.0", ">=٢", "==1.٢.*", ">=1.0.*", "~=1", ">=1 || foo", ">=1 | <0.5", "=1", ">=" + "9" * 5000])
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(InvalidSpecifier):
        version_condition(text)


def test_a_text_is_read_up_to_its_limit() -> None:
    for text in (">" + "9" * 4095, "9" * 4096, "9" * 4093 + "rc1"):
        assert str(parse_package(text)) == text
    assert exact("9" * 4096).key == (int("9" * 4096),)
    for text in (">" + "9" * 4096, "9" * 4097):
        with pytest.raises((InvalidVersion, InvalidSpecifier)):
            parse_package(text)
    assert version_condition(">=" + "9" * 4094).admits(exact("1")) is False


def test_values_read_as_they_were_written() -> None:
    assert [str(value) for value in (ABSENT, exact("2.5.0+cu118"), parse_package(">=1, <2"))] == ["not installed", "2.5.0+cu118", ">=1, <2"]
