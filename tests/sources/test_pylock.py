"""What a pylock.toml (PEP 751) installs, held against packaging's own reader of the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.files.toml import parse_toml
from envdoctor.sources.declared.pylock import collect_pylock
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation
from tests.sources.declared import LINUX, WINDOWS, by_label, defects, skips, told, versions, written

LOCK = """\
lock-version = "1.0"
environments = ["sys_platform == 'linux'", "sys_platform == 'win32'"]
requires-python = ">=3.10"
extras = ["train", "Both.Of_them"]
dependency-groups = ["dev", "base"]
default-groups = ["base"]
created-by = "by-hand"

[[packages]]
name = "attrs"
version = "23.1.0"
marker = "'base' in dependency_groups"
wheels = [{ name = "attrs-23.1.0-py3-none-any.whl", url = "https://example.org/attrs-23.1.0-py3-none-any.whl", hashes = { sha256 = "00" } }]

[[packages]]
name = "colorama"
version = "0.4.6"
marker = "sys_platform == 'win32'"

[[packages]]
name = "numpy"
marker = "python_version < '3.12'"
version = "1.26.4"

[[packages]]
name = "numpy"
version = "2.1.0"
marker = "python_version >= '3.12'"

[[packages]]
name = "peft"
version = "0.13.0"
marker = "'train' in extras or 'both-of-them' in extras"
[packages.vcs]
type = "git"
url = "https://github.com/huggingface/peft"
commit-id = "abc"

[[packages]]
name = "pytest"
version = "8.0.0"
marker = "'dev' in dependency_groups and 'train' not in extras"

[[packages]]
name = "sdist-of-ours"
[packages.directory]
path = "."
"""


NAMELESS = "no package: it has no name that a package can have"


def collect(folder: Path, text: str, installation: Installation = LINUX) -> tuple[Variant, ...]:
    return collect_pylock(written(folder, "pylock.toml", text), installation)


def test_extras_groups_markers_and_lines(tmp_path: Path) -> None:
    variants = collect(tmp_path, LOCK)
    assert told(variants[0]) == {"python": (">=3.10", 3), "attrs": ("23.1.0", 11), "numpy": ("1.26.4", 23)}
    assert by_label(variants) == {
        "": {"attrs": "23.1.0", "numpy": "1.26.4"},
        "extra train": {"peft": "0.13.0"},
        "extra Both.Of_them": {"peft": "0.13.0"},
        "group dev": {"pytest": "8.0.0"},
    }
    assert all(skips(each, tmp_path) == [("pylock.toml:44", "sdist-of-ours: its version is not stated")] for each in variants)
    assert all(each.collected.closed and not each.collected.defects for each in variants)


def test_a_lock_for_other_environments_is_said_and_not_taken_for_complete(tmp_path: Path) -> None:
    mac = Installation({**LINUX.stated, "sys_platform": "darwin"})
    first = collect(tmp_path, LOCK, mac)[0]
    assert skips(first, tmp_path)[0] == ("pylock.toml:2", "the lock was made for other environments than the one that is looked at")
    assert not first.collected.closed


def selected(text: str, installation: Installation, extras: list[str], groups: list[str]) -> dict[str, str]:
    pylock = pytest.importorskip("packaging.pylock", reason="packaging before 26 reads no pylock.toml")
    environment: Any = installation.environment()
    table = parse_toml(text.encode(), "generated")
    chosen = pylock.Pylock.from_dict(table).select(environment=environment, tags=[], extras=extras, dependency_groups=groups)
    return {str(package.name): str(package.version) for package, _ in chosen}


VCS = '[packages.vcs]\ntype = "git"\nurl = "https://example.org/x"\ncommit-id = "abc"\n'
MARKERS = st.recursive(
    st.sampled_from(
        [
            "sys_platform == 'linux'",
            "sys_platform == 'win32'",
            "python_version < '3.12'",
            "'x' in extras",
            "'y-z' in extras",
            "'x' not in extras",
            "'g' in dependency_groups",
            "'d' in dependency_groups",
            '"g" not in dependency_groups',
        ]
    ),
    lambda inner: st.one_of(st.tuples(inner, inner).map(" or ".join), st.tuples(inner, inner).map(lambda two: f"({two[0]}) and {two[1]}")),
    max_leaves=4,
)


@given(st.lists(st.one_of(st.none(), MARKERS), min_size=1, max_size=6), st.sampled_from([LINUX, WINDOWS]))
def test_the_same_packages_are_selected_as_packaging_selects(
    tmp_path_factory: pytest.TempPathFactory, markers: list[str | None], installation: Installation
) -> None:
    text = 'lock-version = "1.0"\ncreated-by = "us"\nextras = ["x", "y-z"]\ndependency-groups = ["g", "d"]\ndefault-groups = ["d"]\n'
    for place, marker in enumerate(markers):
        text += f'[[packages]]\nname = "p{place}"\nversion = "1.{place}"\n'
        text += (f'marker = """{marker}"""\n' if marker else "") + VCS
    found = {each.label: versions(each) for each in collect(tmp_path_factory.mktemp("l"), text, installation)}
    for label, extras, groups in (
        ("", [], ["d"]),
        ("extra x", ["x"], ["d"]),
        ("extra y-z", ["y-z"], ["d"]),
        ("group g", [], ["g", "d"]),
    ):
        assert found.get(label, found[""]) == selected(text, installation, extras, groups)


@pytest.mark.parametrize(
    ("text", "skipped", "wrong"),
    [
        ("", [("pylock.toml", "written for version none of the format; it is read as 1.0")], []),
        ("lock-version = '2.0'\n", [("pylock.toml:1", "written for version 2.0 of the format; it is read as 1.0")], []),
        ("lock-version = '1.0'\npackages = 'torch'\n", [("pylock.toml:2", "packages is text, not a list of packages")], []),
        (
            "lock-version = '1.0'\nextras = 3\n[[packages]]\nname = 7\n",
            [("pylock.toml:4", NAMELESS)],
            [],
        ),
        (
            "lock-version = '1.0'\n[[packages]]\nname = 'a'\nversion = '1'\nmarker = \"'x' in things\"\n",
            [],
            [
                (
                    "requirement-malformed",
                    "\"'x' in things\" is no marker: Expected a marker variable or quoted string",
                    4,
                )
            ],
        ),
        ("lock-version = '1.0'\nrequires-python = 3\n[[packages]]\nname = 'a'\nversion = '1'\n", [], []),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path: Path, text: str, skipped: list[tuple[str, str]], wrong: list[tuple[str, str, int]]) -> None:
    first = collect(tmp_path, text)[0]
    assert (skips(first, tmp_path), defects(first)) == (skipped, wrong)


def test_a_damaged_lock_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError) as raised:
        collect(tmp_path, "lock-version = '1.0\n")
    assert raised.value.place == f"{tmp_path / 'pylock.toml'}, line 2, column 1"


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("pylock.toml", True), ("pylock.dev.toml", True), ("pylock..toml", False), ("pylock.a.b.toml", False), ("my-pylock.toml", False)],
)
def test_it_is_known_by_its_name(name: str, is_one: bool) -> None:
    try:
        from packaging.pylock import is_valid_pylock_path
    except ImportError:
        return
    assert is_valid_pylock_path(Path(name)) == is_one
