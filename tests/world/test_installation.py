"""Markers for a machine that need not be this one, held against packaging's own evaluation."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker, default_environment

from envdoctor.world.installation import Installation

SYSTEMS = {
    "linux": ("linux", "Linux", "posix"),
    "windows": ("win32", "Windows", "nt"),
    "macos": ("darwin", "Darwin", "posix"),
}
PYTHONS = st.tuples(st.integers(6, 15), st.none() | st.integers(0, 20))
COMPARED = {
    "python_version": ["3.8", "3.9", "3.10", "3.11", "3.12"],
    "python_full_version": ["3.8.0", "3.10.4", "3.11.9", "3.12.0"],
    "sys_platform": ["linux", "win32", "darwin"],
    "platform_system": ["Linux", "Windows", "Darwin"],
    "os_name": ["posix", "nt"],
    "platform_machine": ["x86_64", "AMD64", "arm64", "aarch64"],
    "extra": ["train", "dev"],
}


def _here() -> dict[str, str]:
    return {name: str(value) for name, value in default_environment().items()}


@st.composite
def markers(draw: st.DrawFn) -> str:
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(sorted(COMPARED)))
        operator = draw(st.sampled_from(["==", "!="] if "python" not in name else ["==", "!=", "<", "<=", ">", ">="]))
        parts.append(f'{name} {operator} "{draw(st.sampled_from(COMPARED[name]))}"')
    return draw(st.sampled_from([" and ", " or "])).join(parts)


@given(
    text=markers(),
    system=st.sampled_from(sorted(SYSTEMS)),
    machine=st.sampled_from(["x86_64", "arm64", "aarch64"]),
    python=PYTHONS,
    extra=st.sampled_from(["", "train", "dev"]),
)
def test_a_marker_holds_as_packaging_says_of_that_machine(
    text: str, system: str, machine: str, python: tuple[int, int | None], extra: str
) -> None:
    minor, patch = python
    version = f"3.{minor}" if patch is None else f"3.{minor}.{patch}"
    platform, name, os_name = SYSTEMS[system]
    there: dict[str, str | AbstractSet[str]] = {
        **_here(),
        "python_version": f"3.{minor}",
        "python_full_version": f"3.{minor}.{patch or 0}",
        "sys_platform": platform,
        "platform_system": name,
        "os_name": os_name,
        "platform_machine": "AMD64" if (system, machine) == ("windows", "x86_64") else machine,
        "extra": extra,
    }
    found = Installation().on(system, machine).with_python(version)
    assert found.applies(Marker(text), extra) is Marker(text).evaluate(there)
    # In whatever order it is told.
    assert Installation().with_python(version).on(system, None).on(None, machine).applies(Marker("python_version > '3'"))


@given(
    text=markers()
    | st.sampled_from(["", "no marker", "python_version", "os_name == os_name", "(extra == '' or os_name == 'nt')", "a < 'b'"]),
    system=st.sampled_from(sorted(SYSTEMS)),
    machine=st.sampled_from(["x86_64", "arm64", "aarch64"]),
    python=PYTHONS,
)
def test_the_text_of_a_marker_holds_as_the_marker_does(text: str, system: str, machine: str, python: tuple[int, int | None]) -> None:
    minor, patch = python
    there = Installation().on(system, machine).with_python(f"3.{minor}" if patch is None else f"3.{minor}.{patch}")
    for one in (there, Installation()):
        try:
            expected = one.applies(Marker(text))
        except ValueError:
            expected = False
        assert one.holds(text) is expected
    assert there.python == f"3.{minor}"


def test_what_nobody_told_is_of_this_interpreter() -> None:
    assert Installation().python == default_environment()["python_version"]
    assert Installation().environment() == {**default_environment(), "extra": ""}
    assert Installation().on(None, None) == Installation()
    assert Installation().applies(None)


@pytest.mark.parametrize(
    ("admits", "python"),
    [
        (">=3.8", None),
        (">=3.12,<3.13", "3.12"),
        ("<3.10", "3.9"),
        ("==3.9.*", "3.9"),
        (">=3.99", None),
        ("no range", None),
        ("", None),
    ],
)
def test_a_project_that_does_not_admit_our_python_is_judged_for_the_newest_that_it_admits(
    monkeypatch: pytest.MonkeyPatch, admits: str, python: str | None
) -> None:
    ours = {**_here(), "python_version": "3.11", "python_full_version": "3.11.7"}
    monkeypatch.setattr("envdoctor.world.installation._here", lambda: ours)
    assert Installation().admitted_by(admits).environment()["python_version"] == (python or "3.11")
    assert Installation().with_python("3.8").admitted_by(admits) == Installation().with_python("3.8")


RANGES = (">=3.8", "<3.12", "!=3.10.*", "==3.9.*", "<3.9", ">=3.13", "~=3.10")


@given(st.lists(st.sampled_from(RANGES), min_size=1, max_size=3).map(",".join))
def test_the_python_taken_is_one_that_the_project_admits(admits: str) -> None:
    from packaging.specifiers import SpecifierSet

    python = Installation().admitted_by(admits).environment()["python_version"]
    wanted = SpecifierSet(admits)
    any_is = [f"3.{minor}" for minor in range(6, 15) if any(wanted.contains(f"3.{minor}.{patch}") for patch in (0, 99))]
    ours = Installation().environment()
    if wanted.contains(ours["python_full_version"], prereleases=True) or not any_is:
        assert python == ours["python_version"]
    else:
        assert python == any_is[-1]
