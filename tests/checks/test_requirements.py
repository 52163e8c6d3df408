"""Declared requirements against what is installed, with packaging itself as the oracle."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from envdoctor.checks.hit import Hit
from envdoctor.checks.requirements import declared
from envdoctor.files.toml import read_toml
from envdoctor.rules.rule import parse_rule
from envdoctor.sources.machine.interpreter import Installed, marker_environment
from envdoctor.sources.machine.site_packages import Distribution

RULES = Path(__file__).parents[2] / "rules" / "installed"


def installed(*packages: tuple[str, str | None, list[str]], python: str | None = "3.11.7") -> Installed:
    distributions = tuple(Distribution(name, version, tuple(requires), Path(f"{name}.dist-info")) for name, version, requires in packages)
    return Installed(".venv", python, "cpython", "linux", "x86_64", (), distributions)


def hits(*packages: tuple[str, str | None, list[str]], python: str | None = "3.11.7") -> tuple[Hit, ...]:
    environment = installed(*packages, python=python)
    return declared(environment, marker_environment(environment))


def test_a_requirement_that_another_release_does_not_meet_names_both_and_the_cure() -> None:
    found = hits(("peft", "0.17.1", ["torch>=1.13.0", "transformers >=4.30, <5"]), ("torch", "2.5.0", []), ("transformers", "4.20.0", []))
    assert found == (
        Hit(
            rule="declared-requirement-unmet",
            outcome=True,
            because=(("packages.peft", "requires transformers>=4.30,<5"), ("packages.transformers", "not >=4.30,<5")),
            detail="peft 0.17.1 declares transformers>=4.30,<5, and transformers 4.20.0 is installed",
            packages=("peft", "transformers"),
            pins=(("transformers", ">=4.30,<5"),),
        ),
    )


def test_a_requirement_that_is_not_installed_is_named() -> None:
    assert hits(("trl", "0.19.1", ["Typing.Extensions>=4; python_version < '3.12'"])) == (
        Hit(
            rule="declared-requirement-missing",
            outcome=True,
            because=(("packages.trl", "requires typing-extensions>=4"),),
            detail="trl 0.19.1 declares typing-extensions>=4, and typing-extensions is not installed",
            packages=("trl", "typing-extensions"),
            pins=(("typing-extensions", ">=4"),),
        ),
    )


def test_an_installed_release_that_cannot_be_told_is_possible_where_it_matters() -> None:
    [hit] = hits(("peft", "0.17.1", ["torch>=1.13", "numpy"]), ("torch", None, []), ("numpy", None, []))
    assert (hit.rule, hit.outcome, hit.missing) == ("declared-requirement-unmet", None, ("packages.torch",))
    assert hit.detail == "peft 0.17.1 declares torch>=1.13, and the installed release of torch cannot be told"


@pytest.mark.parametrize("line", ["tomli; python_version < '3.11'", "tomli ; (python_version in '3.9 3.10')"])
def test_a_marker_that_waits_for_the_python_is_possible(line: str) -> None:
    [hit] = hits(("x", "1.0", [line]), python=None)
    assert (hit.rule, hit.outcome, hit.missing) == ("declared-requirement-missing", None, ("python",))
    assert hits(("x", "1.0", [line]), python="3.12.1") == ()


def test_the_same_requirement_under_two_markers_is_one_finding() -> None:
    lines = ["numpy>=2; python_version >= '3.11'", "numpy>=2; sys_platform == 'linux'"]
    assert len(hits(("pandas", "2.2.0", lines), ("numpy", "1.26.4", []))) == 1


@pytest.mark.parametrize(
    "line",
    [
        'ruff; extra == "dev"',
        "ruff>=0.1; extra=='dev'",
        'ruff; python_version >= "3.8" and extra == "dev"',
        'ruff; (sys_platform == "linux" or os_name == "nt") and extra == "dev"',
        'ruff ; (extra == "dev" and python_version >= "3")',
        'ruff; (sys_platform == "linux" and extra == "dev") or (sys_platform == "win32" and extra == "dev")',
    ],
)
def test_requirements_of_extras_are_passed_over(line: str) -> None:
    assert hits(("x", "1.0", [line])) == ()


def test_an_extra_that_is_only_one_of_the_ways_does_not_hide_a_requirement() -> None:
    assert len(hits(("x", "1.0", ['ruff; python_version >= "3" or extra == "dev"']))) == 1
    assert len(hits(("x", "1.0", ['ruff; python_version>="3"or extra=="dev"']))) == 1


@pytest.mark.parametrize(
    "line",
    [
        *("numpy>=1.0.*", "torch>>2", "!", "", "a b c", "x; python_versio < '3'", "x @", "pytz>dev"),
        pytest.param("x" * 100_000 + "!", id="a long name"),
        pytest.param("x" + " " * 100_000 + "!", id="a long gap"),
        pytest.param("x>=" + "9" * 10_000, id="a long number"),
        pytest.param("x @ https://e.org ;" + "(" * 20_000, id="a deep marker"),
    ],
)
def test_a_line_that_is_no_requirement_is_damaged_metadata(line: str) -> None:
    [hit] = hits(("old", "1.0", [line]))
    assert (hit.rule, hit.outcome, hit.packages) == ("installed-metadata-broken", True, ("old",))
    assert hit.detail.startswith(f"old 1.0 declares {line[:200]!r}, which cannot be read: ")
    assert len(hit.detail) < 700


@pytest.mark.parametrize(
    ("line", "version", "met"),
    [
        ("torch==2.5.0", "2.5.0+cu124", True),
        ("torch (>=2.0,<2.6)", "2.5.0+cu124", True),
        ("torch>=2.4", "2.4.0a0+git1234", False),
        ("torch~=2.5", "2.6.0", True),
        ("torch===2.5", "2.5.0", False),
        ("torch[opt-einsum] != 2.5.*", "2.5.1", False),
        ("torch @ https://example.org/torch.whl", "1.0", True),
        ("torch<3,>=2,", "2.5", True),
    ],
)
def test_versions_compare_as_in_pip_check(line: str, version: str, met: bool) -> None:
    assert (hits(("x", "1.0", [line]), ("torch", version, [])) == ()) is met


names = st.sampled_from(["torch", "Torch", "numpy", "hf_xet", "hf-xet", "absent"])
specifiers = st.lists(
    st.builds(
        lambda operator, version: operator + version,
        st.sampled_from([">=", "<", "==", "!=", "<=", ">", "~=", " >= "]),
        st.sampled_from(["1.0", "1.26.4", "2.0.0", "2.5", "3.0rc1"]),
    ),
    max_size=2,
).map(",".join)
comparisons = st.one_of(
    st.builds(
        lambda variable, operator, version: f'{variable} {operator} "{version}"',
        st.sampled_from(["python_version", "python_full_version"]),
        st.sampled_from(["<", ">=", "==", "!=", "~=", "in"]),
        st.sampled_from(["3.8", "3.11", "3.11.7", "3.13"]),
    ),
    st.builds(
        lambda variable, operator, value: f"{variable} {operator} '{value}'",
        st.sampled_from(["sys_platform", "platform_system", "platform_machine", "os_name", "implementation_name", "extra"]),
        st.sampled_from(["==", "!="]),
        st.sampled_from(["linux", "Linux", "win32", "posix", "x86_64", "cpython", "dev"]),
    ),
)
markers = st.recursive(
    comparisons,
    lambda inner: st.builds(
        lambda first, word, second, wrap: wrap.format(f"{first} {word} {second}"),
        inner,
        st.sampled_from(["and", "or"]),
        inner,
        st.sampled_from(["{}", "({})"]),
    ),
    max_leaves=4,
)
lines = st.builds(lambda name, specifier, marker: name + specifier + marker, names, specifiers, st.just("") | markers.map("; {}".format))


@given(lines)
def test_every_line_is_judged_as_packaging_judges_it(line: str) -> None:
    have = {"torch": "2.5.0+cu124", "numpy": "1.26.4", "hf-xet": "3.0rc1"}
    environment = installed(("x", "1.0", [line]), *((name, version, []) for name, version in have.items()))
    requirement = Requirement(line)
    name = requirement.name.lower().replace("_", "-")
    expected = None
    if requirement.marker is None or requirement.marker.evaluate({**marker_environment(environment), "extra": ""}):
        if name not in have:
            expected = "declared-requirement-missing"
        elif not requirement.specifier.contains(have[name], prereleases=True):
            expected = "declared-requirement-unmet"
    found = declared(environment, marker_environment(environment))
    assert [(hit.rule, hit.packages) for hit in found] == ([] if expected is None else [(expected, ("x", name))])


@pytest.mark.parametrize(
    ("rule", "severity"),
    [
        ("declared-requirement-unmet", "warning"),
        ("declared-requirement-missing", "note"),
        ("installed-metadata-broken", "warning"),
        ("installed-duplicate-distribution", "warning"),
        ("installed-leftover-distribution", "note"),
    ],
)
def test_every_finding_has_its_page(rule: str, severity: str) -> None:
    page = parse_rule(read_toml(RULES / f"{rule}.toml"), rule)
    assert (page.id, page.check, page.severity) == (rule, rule, severity)
    assert page.fixes
    assert page.evidence
