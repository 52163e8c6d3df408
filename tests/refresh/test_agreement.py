"""What the wheels of a release require in common."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from envdoctor.refresh.agreement import agreed
from envdoctor.world.dependencies import dependencies


@pytest.mark.parametrize(
    ("wheels", "found"),
    [
        ([["numpy>=1.26.0", "sympy"], ["numpy>=1.24.2", "sympy"], ["numpy>=1.21.6", "sympy"]], ["numpy>=1.21.6", "sympy"]),
        ([["torch==2.2.0"], ["torch==2.1.2"]], ["torch<=2.2.0,>=2.1.2"]),
        ([["numpy<2.3,>=1.26"], ["numpy<2,>=1.22"]], ["numpy<2.3,>=1.22"]),
        ([["numpy<2,>=1.26"], ["numpy<=2,>1.26"]], ["numpy<=2,>=1.26"]),
        ([["numpy>=1.26"], ["numpy"]], ["numpy"]),
        ([["numpy>=1.26"], ["numpy<2"]], ["numpy"]),
        ([["a!=1.5,>=2"], ["a!=1.5,>=1"]], ["a!=1.5,>=1"]),
        ([["a==1.*"], ["a==2.*"]], ["a"]),
        ([["a~=1.4"], ["a~=1.4,!=1.5"]], ["a~=1.4"]),
        ([["setuptools", "jinja2"], ["jinja2"]], ["jinja2"]),
        ([["[cuda] nvidia-x==12.1"], ["[cuda] nvidia-x==12.3"]], ["[cuda] nvidia-x<=12.3,>=12.1"]),
        ([["[cuda] x>=1"], ["x>=1"]], []),
        ([["x[b,c]>=2"], ["x[b,c]>=1"]], ["x[b,c]>=1"]),
        ([['x>=2 ; python_version < "3.9"'], ['x>=1 ; python_version < "3.9"']], ['x>=1 ; python_version < "3.9"']),
        ([['x>=2 ; python_version < "3.9"'], ["x>=2"]], []),
        ([["x>=1", "x<3"], ["x>=2", "x<3"]], ["x<3,>=1"]),
        ([["x>=2"], []], []),
    ],
)
def test_never_more_than_any_wheel_asks(wheels: Sequence[Sequence[str]], found: Sequence[str]) -> None:
    assert agreed(wheels) == found


VERSIONS = [f"{major}.{minor}" for major in range(3) for minor in range(4)]
CLAUSES = st.builds("{}{}".format, st.sampled_from(["==", "!=", ">=", "<=", ">", "<", "~="]), st.sampled_from(VERSIONS))
RANGES = st.lists(CLAUSES, max_size=3).map(",".join)


@given(st.lists(RANGES, min_size=1, max_size=4))
def test_what_a_wheel_admits_is_admitted(ranges: list[str]) -> None:
    (line,) = agreed([[f"x{one}"] for one in ranges])
    common = SpecifierSet(line.removeprefix("x"))
    for version in map(Version, [*VERSIONS, "0.1.post1", "1.0.1", "2.5", "3"]):
        if any(version in SpecifierSet(one) for one in ranges):
            assert version in common


@given(RANGES, st.integers(1, 4))
def test_wheels_that_are_alike_require_what_each_does(admitted: str, times: int) -> None:
    (line,) = agreed([[f"x{admitted}"]] * times)
    assert SpecifierSet(line.removeprefix("x")) == SpecifierSet(admitted)


@pytest.mark.parametrize("name", ["onnxruntime", "onnxruntime-gpu"])
def test_a_requirement_of_one_python_is_not_that_of_a_release(name: str) -> None:
    """numpy 1.26.0 is what the wheels for Python 3.12 ask for; those for 3.8 to 3.10 ask for 1.21.6."""
    found = dependencies(name, "1.18.0")
    assert found is not None
    assert [one.specifier for one in found if one.name == "numpy"] == [">=1.21.6"]
