"""Poetry's constraints in the words of PEP 440, and the dependencies of tool.poetry."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from envdoctor.facts.poetry_ranges import admits, alternatives, hull, one_specifier
from envdoctor.sources.declared.pyproject import collect_pyproject
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation
from tests.sources.declared import LINUX, WINDOWS, by_label, defects, skips, told, versions, written


@pytest.mark.parametrize(
    ("constraint", "specifier"),
    [
        ("^1.2.3", ">=1.2.3,<2"),
        ("^0.2.3", ">=0.2.3,<0.3"),
        ("^0.0.3", ">=0.0.3,<0.0.4"),
        ("^0.0", ">=0.0,<0.1"),
        ("^0", ">=0,<1"),
        ("^0.46b0", ">=0.46b0,<0.47"),
        ("^1.2.3.4", ">=1.2.3.4,<2"),
        ("~1.2.3", ">=1.2.3,<1.3"),
        ("~1.2", ">=1.2,<1.3"),
        ("~1", ">=1,<2"),
        ("~=1.4.2", "~=1.4.2"),
        ("1.2.3", "==1.2.3"),
        ("=1.2.3", "==1.2.3"),
        ("2.5.1+cu124", "==2.5.1+cu124"),
        ("1.*", "==1.*"),
        ("!=1.5.*", "!=1.5.*"),
        ("*", ""),
        ("", ""),
        (">= 1.0 , < 2", ">=1.0,<2"),
        (">=1 <2 !=1.5", ">=1,<2,!=1.5"),
        ("^1.2 || ^2.0", ">=1.2,<3"),
        ("<1.5 || >1.5", "!=1.5"),
        ("<1.5 || >=1.8", "!=1.5.*,!=1.6.*,!=1.7.*"),
        ("^2.7 | ^3.2", ">=2.7,<4,!=3.0.*,!=3.1.*"),
        ("^1.0 || *", ""),
        ("~2.7 || ~3.5", None),
        ("1.0 || 1.1", None),
        (">=1,!=1.2 || ^3", None),
    ],
)
def test_a_constraint_as_one_range(constraint: str, specifier: str | None) -> None:
    assert one_specifier(alternatives(constraint)) == specifier


@pytest.mark.parametrize("constraint", ["@latest", "^", "1.2 - 2.0", "^^1", "2.x", ">", "~*", "^1.2 || @", "1" * 1001, "^1.2.three"])
def test_what_is_no_constraint_is_refused(constraint: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        alternatives(constraint)


RELEASES = st.lists(st.integers(0, 3), min_size=1, max_size=3).map(lambda numbers: ".".join(map(str, numbers)))
CLAUSES = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["^", "~", ">=", "<", ">", "<=", "!=", ""]), RELEASES), RELEASES.map(lambda text: f"{text}.*")
)
CONSTRAINTS = st.lists(st.lists(CLAUSES, min_size=1, max_size=2).map(",".join), min_size=1, max_size=3).map(" || ".join)


@given(CONSTRAINTS, st.lists(st.integers(0, 4), min_size=1, max_size=4).map(lambda numbers: ".".join(map(str, numbers))))
def test_the_one_range_admits_what_any_alternative_does(constraint: str, version: str) -> None:
    choices = alternatives(constraint)
    admitted = any(SpecifierSet(choice).contains(version) for choice in choices)
    assert admits(constraint, version) == admitted
    one = one_specifier(choices)
    if one is not None:
        assert SpecifierSet(one).contains(version) == admitted
    if admitted:
        assert SpecifierSet(hull(choices)).contains(version)


PROJECT = """\
[tool.poetry]
name = "server"
[tool.poetry.dependencies]
python = ">=3.9,<3.13"
torch = { version = "^2.4", optional = true, source = "pytorch-cu121" }
transformers = "^4.45"
Numpy = [
  { version = "^1.26", python = "<3.12" },
  { version = "^2.0", python = "^3.12" },
]
triton = { version = "~3.1", markers = "platform_machine == 'x86_64'", extras = ["build", "tests"] }
pywin32 = { version = "*", platform = "win32" }
uvloop = { version = "*", platform = "linux || darwin" }
peft = { git = "https://github.com/huggingface/peft.git", tag = "v0.13.0" }
vendored = { path = "../vendored", develop = true }
kernels = [
  { url = "https://example.org/kernels-0.1.1+cu123-cp310-cp310-linux_x86_64.whl", python = "~3.10", optional = true },
  { url = "https://example.org/kernels-0.1.1+cu123-cp311-cp311-linux_x86_64.whl", python = "~3.11", optional = true },
]
datasets = { version = "2.14.0 || 2.16.0", optional = true }

[tool.poetry.extras]
torch = ["torch"]
quantize = ["kernels", "datasets"]
all = ["torch", "kernels", "datasets", "missing"]

[tool.poetry.dev-dependencies]
black = "24.1.0"
[tool.poetry.group.dev.dependencies]
pytest = "^7.3"
[tool.poetry.group.docs]
optional = true
include-groups = ["dev"]
[tool.poetry.group.docs.dependencies]
sphinx = "*"

[[tool.poetry.source]]
name = "pytorch-cu121"
url = "https://download.pytorch.org/whl/cu121"
priority = "explicit"
"""


def collect(folder: Path, text: str, installation: Installation = LINUX) -> tuple[Variant, ...]:
    return collect_pyproject(written(folder, "pyproject.toml", text), installation)


def test_dependencies_extras_and_groups_with_every_line(tmp_path: Path) -> None:
    variants = collect(tmp_path, PROJECT)
    assert told(variants[0]) == {
        "python": ("<3.13,>=3.9", 4),
        "transformers": ("<5,>=4.45", 6),
        "numpy": ("<2,>=1.26", 8),
        "triton": ("<3.2,>=3.1", 11),
        "peft": ("0.13.0", 14),
        "uvloop": ("any", 13),
    }
    assert by_label(variants) == {
        "": {"transformers": "<5,>=4.45", "numpy": "<2,>=1.26", "triton": "<3.2,>=3.1", "uvloop": "any", "peft": "0.13.0"},
        "extra torch": {"torch": "<3,>=2.4", "cuda": "12.1"},
        "extra quantize": {"present": "('kernels',)", "kernels": "0.1.1+cu123", "datasets": "<=2.16.0,>=2.14.0"},
        "extra all": {
            "present": "('kernels',)",
            "torch": "<3,>=2.4",
            "cuda": "12.1",
            "kernels": "0.1.1+cu123",
            "datasets": "<=2.16.0,>=2.14.0",
        },
        "group dev": {"black": "24.1.0", "pytest": "<8,>=7.3"},
        "group docs": {"black": "24.1.0", "pytest": "<8,>=7.3", "sphinx": "any"},
    }
    assert told(variants[2])["kernels"] == ("0.1.1+cu123", 18)
    assert skips(variants[0], tmp_path) == [
        (
            "pyproject.toml:20",
            "datasets 2.14.0 || 2.16.0: no one range can tell this; >=2.14.0,<=2.16.0 is taken, which admits more",
        ),
        ("pyproject.toml:15", "vendored, ../vendored: a path, its version is not known"),
    ]


def test_conditions_are_those_of_the_installation(tmp_path: Path) -> None:
    late = Installation({**WINDOWS.stated, "python_version": "3.12", "python_full_version": "3.12.4", "platform_machine": "ARM64"})
    assert versions(collect(tmp_path, PROJECT, late)[0]) == {
        "transformers": "<5,>=4.45",
        "peft": "0.13.0",
        "numpy": "<3,>=2.0",
        "pywin32": "any",
    }


def test_a_python_that_the_project_does_not_admit_gives_way_to_one_that_it_does(tmp_path: Path) -> None:
    text = (
        "[tool.poetry.dependencies]\npython = '~3.8 || ~3.9'\ntorch = [{version='1.13', python='<3.9'}, {version='2.4', python='>=3.9'}]\n"
    )
    variants = collect(tmp_path, text, Installation())
    assert told(variants[0]) == {"python": ("<3.10,>=3.8", 2), "torch": ("2.4", 3)}


def test_beside_the_standard_table_poetry_only_narrows(tmp_path: Path) -> None:
    text = """\
[project]
name = "a"
dependencies = ["torch>=2.4", "peft"]
[project.optional-dependencies]
data = ["datasets"]
[tool.poetry.dependencies]
peft = "0.13.0"
datasets = "^2.14"
unlisted = "1.0"
"""
    assert by_label(collect(tmp_path, text)) == {"": {"torch": ">=2.4", "peft": "0.13.0"}, "extra data": {"datasets": "<3,>=2.14"}}


@pytest.mark.parametrize(
    ("entry", "detail"),
    [
        ("torch = 2", "tool.poetry.dependencies.torch: found a number, expected a version constraint or a table"),
        ("torch = '@latest'", "torch: '@latest' is no version constraint: '@latest' is no version constraint"),
        ("torch = [1]", "tool.poetry.dependencies.torch: found a number, expected a version constraint or a table"),
        ("torch = {version = 2}", "tool.poetry.dependencies.torch.version: found a number, expected a version constraint as text"),
        ("torch = {version = '*', python = '@'}", "torch: '@' is no range of Pythons"),
        ("python = 'three'", "'three' is no range of Pythons"),
    ],
)
def test_what_cannot_be_is_a_defect_with_its_line(tmp_path: Path, entry: str, detail: str) -> None:
    variants = collect(tmp_path, f"[tool.poetry.dependencies]\n{entry}\npeft = '0.13.0'\n")
    assert defects(variants[0]) == [("requirement-malformed", detail, 2)]
    assert versions(variants[0]) == {"peft": "0.13.0"}


def test_a_marker_that_is_none_is_a_defect(tmp_path: Path) -> None:
    variants = collect(tmp_path, "[tool.poetry.dependencies]\ntorch = {version = '2.4', markers = 'on linux'}\n")
    assert [(rule, line) for rule, _, line in defects(variants[0])] == [("requirement-malformed", 2)]
