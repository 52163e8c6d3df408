"""What a uv.lock installs here: for the project, and with each extra, group and member."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.versions import Exact
from envdoctor.sources.declared.uv_lock import collect_uv_lock
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation
from tests.sources.declared import LINUX, WINDOWS, by_label, defects, skips, told, versions, written

# As uv writes it: forks by platform, an extra that conflicts with a group, an extra that takes in another, a package from a URL.
LOCK = """\
version = 1
revision = 3
requires-python = ">=3.10, <3.13"
resolution-markers = [
    "sys_platform == 'linux'",
    "sys_platform != 'linux'",
]
conflicts = [[
    { package = "trainer", extra = "new" },
    { package = "trainer", group = "old" },
]]

[manifest]
members = ["trainer", "tools"]

[[package]]
name = "attrs"
version = "23.1.0"
source = { registry = "https://example.org/pypi" }

[[package]]
name = "peft"
version = "0.10.0"
source = { registry = "https://example.org/pypi" }
resolution-markers = [
    "sys_platform == 'linux'",
]
dependencies = [
    { name = "torch", version = "2.5.1", source = { registry = "https://example.org/pypi" }, marker = "sys_platform != 'linux'" },
]

[[package]]
name = "peft"
version = "0.13.0"
source = { registry = "https://example.org/pypi" }
dependencies = [
    { name = "torch", version = "2.5.1+cu124", source = { registry = "https://example.org/cu" }, marker = "sys_platform == 'linux'" },
]

[package.optional-dependencies]
test = [
    { name = "attrs" },
]

[[package]]
name = "tools"
version = "0.1"
source = { editable = "packages/tools" }
dependencies = [
    { name = "wheel-from-url" },
]

[[package]]
name = "torch"
version = "2.5.1"
source = { registry = "https://example.org/pypi" }
resolution-markers = [
    "sys_platform != 'linux'",
]

[[package]]
name = "torch"
version = "2.5.1+cu124"
source = { registry = "https://example.org/cu" }
resolution-markers = [
    "sys_platform == 'linux'",
]

[[package]]
name = "trainer"
version = "1.0"
source = { editable = "." }
dependencies = [
    { name = "torch", version = "2.5.1", source = { registry = "https://example.org/pypi" }, marker = "sys_platform != 'linux'" },
    { name = "torch", version = "2.5.1+cu124", source = { registry = "https://example.org/cu" }, marker = "sys_platform == 'linux'" },
    { name = "winonly", marker = "sys_platform == 'win32'" },
    { name = "attrs", marker = "extra == 'extra-7-trainer-new' or extra == 'group-7-trainer-old'" },
]

[package.optional-dependencies]
all = [
    { name = "trainer", extra = ["new"] },
]
new = [
    { name = "peft", version = "0.13.0", source = { registry = "https://example.org/pypi" }, extra = ["test"] },
]

[package.dev-dependencies]
old = [
    { name = "peft", version = "0.10.0", source = { registry = "https://example.org/pypi" } },
]

[[package]]
name = "unreached"
version = "9.9"
source = { registry = "https://example.org/pypi" }

[[package]]
name = "wheel-from-url"
version = "1.4"
source = { url = "https://example.org/wheel_from_url-1.4-py3-none-any.whl" }

[[package]]
name = "winonly"
version = "3"
source = { git = "https://example.org/winonly?rev=abc#abc" }
"""


def collect(folder: Path, text: str, installation: Installation = LINUX) -> tuple[Variant, ...]:
    return collect_uv_lock(written(folder, "uv.lock", text), installation)


def line_of(version: str, name: str) -> int:
    rows = LOCK.split("\n")
    return next(n + 1 for n, row in enumerate(rows) if row == f'version = "{version}"' and rows[n - 1] == f'name = "{name}"')


def test_what_is_installed_always_and_with_each_choice(tmp_path: Path) -> None:
    variants = collect(tmp_path, LOCK)
    assert told(variants[0]) == {
        "python": (" <3.13,>=3.10", 3),
        "torch": ("2.5.1+cu124", line_of("2.5.1+cu124", "torch")),
        "trainer": ("1.0", line_of("1.0", "trainer")),
    }
    assert by_label(variants) == {
        "": {"torch": "2.5.1+cu124", "trainer": "1.0"},
        "extra all": {"peft": "0.13.0", "attrs": "23.1.0"},
        "extra new": {"peft": "0.13.0", "attrs": "23.1.0"},
        "group old": {"peft": "0.10.0", "attrs": "23.1.0"},
        "member tools": {"tools": "0.1", "wheel-from-url": "1.4"},
    }
    assert all(each.collected.closed and not each.collected.skips and not each.collected.defects for each in variants)
    assert all(isinstance(fact.value, Exact) for each in variants for fact in each.collected.facts if fact.name != "python")


def test_another_platform_takes_another_fork(tmp_path: Path) -> None:
    assert versions(collect(tmp_path, LOCK, WINDOWS)[0]) == {"torch": "2.5.1", "trainer": "1.0", "winonly": "3"}


def test_a_lock_for_another_python_is_read_for_that(tmp_path: Path) -> None:
    text = """\
version = 1
requires-python = "==3.9.*"
[[package]]
name = "p"
source = { virtual = "." }
dependencies = [
  { name = "torch", version = "2.0.0", marker = "python_full_version < '3.10'" },
  { name = "torch", version = "2.1.0", marker = "python_full_version >= '3.10'" },
]
[[package]]
name = "torch"
version = "2.0.0"
[[package]]
name = "torch"
version = "2.1.0"
"""
    assert told(collect(tmp_path, text, Installation())[0]) == {"python": ("==3.9.*", 2), "torch": ("2.0.0", 12)}


def test_the_lock_of_a_script_starts_at_its_requirements(tmp_path: Path) -> None:
    text = """\
version = 1
[manifest]
requirements = [{ name = "peft", specifier = ">=0.13" }]
[[package]]
name = "peft"
version = "0.13.0"
dependencies = [{ name = "torch" }]
[[package]]
name = "torch"
version = "2.5.1"
[[package]]
name = "other"
version = "1"
"""
    path = written(tmp_path, "train.py.lock", text)
    assert versions(collect_uv_lock(path, LINUX)[0]) == {"peft": "0.13.0", "torch": "2.5.1"}


def test_without_a_project_all_are_read_and_the_lock_is_not_taken_for_complete(tmp_path: Path) -> None:
    packages = (("torch", "2.5.1"), ("peft", "1"), ("peft", "2"))
    text = "version = 1\n" + "".join(f"[[package]]\nname = '{name}'\nversion = '{version}'\n" for name, version in packages)
    (only,) = collect(tmp_path, text)
    assert versions(only) == {"torch": "2.5.1"}
    assert not only.collected.closed
    assert skips(only, tmp_path) == [
        ("uv.lock", "it names no project that its packages are locked for: all of them are read"),
        ("uv.lock: peft", "locked as 1 (line 7) and 2 (line 10), and the lock does not tell which of them is installed here"),
    ]


ROOT = "version = 1\n[[package]]\nname = 'p'\nsource = { virtual = '.' }\ndependencies = [{ name = 'torch' }]\n"


@pytest.mark.parametrize(
    ("text", "found", "skipped", "wrong"),
    [
        ("", {}, [("uv.lock", "written for version None of the format; it is read as 1")], []),
        ("version = 1\n", {}, [("uv.lock", "it locks no package")], []),
        ("version = 1\npackage = 3\n", {}, [("uv.lock:2", "package is a number, not a list of packages")], []),
        ("version = 1\npackage = [3]\n", {}, [("uv.lock:2", "no package: it has no name that a package can have")], []),
        (
            f"{ROOT}[[package]]\nname = 'a b'\nversion = '1'\n",
            {},
            [("uv.lock:7", "no package: it has no name that a package can have")],
            [],
        ),
        (f"{ROOT}[[package]]\nname = 'torch'\n", {}, [("uv.lock:6", "torch: its version is not stated")], []),
        (f"{ROOT}[[package]]\nname = 'torch'\nversion = 2\n", {}, [("uv.lock:8", "torch: its version is not stated")], []),
        (
            f"{ROOT}[[package]]\nname = 'torch'\nversion = 'new'\n",
            {},
            [],
            [("requirement-malformed", "'torch ==new' is no requirement: Invalid specifier: '==new'", 8)],
        ),
        (
            f"{ROOT}[[package]]\nname = 'torch'\nversion = '2.5.1'\ndependencies = [{{ name = 'x', marker = 3 }}, 7]\n",
            {"torch": "2.5.1"},
            [],
            [],
        ),
    ],
)
def test_what_cannot_be_read_is_said(
    tmp_path: Path, text: str, found: dict[str, str], skipped: list[tuple[str, str]], wrong: list[tuple[str, str, int]]
) -> None:
    (only,) = collect(tmp_path, text)
    assert (versions(only), skips(only, tmp_path)[: len(skipped)], defects(only)) == (found, skipped, wrong)


def test_a_marker_that_is_none_is_a_defect_and_the_lock_not_complete(tmp_path: Path) -> None:
    text = ROOT.replace("{ name = 'torch' }", "{ name = 'torch', marker = 'on linux' }, { name = 'peft' }")
    (only,) = collect(tmp_path, text + "[[package]]\nname = 'torch'\nversion = '1'\n[[package]]\nname = 'peft'\nversion = '1'\n")
    assert versions(only) == {"peft": "1"}
    assert [rule for rule, _, _ in defects(only)] == ["requirement-malformed"]
    assert not only.collected.closed


def test_a_damaged_lock_is_refused_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, "uv.lock", LOCK[: LOCK.index("[package.dev-dependencies]")] + "[package.dev-dep")
    with pytest.raises(EnvdoctorError) as raised:
        collect_uv_lock(path, LINUX)
    assert raised.value.place == f"{path}, line {LOCK[: LOCK.index('[package.dev-dependencies]')].count(chr(10)) + 1}, column 17"


@given(st.data(), st.integers(2, 12))
def test_what_is_reached_is_what_is_installed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, count: int) -> None:
    """A lock written from a graph: told is the closure of what holds, each package with its line."""
    places = st.integers(0, count - 1)
    edges = data.draw(st.lists(st.tuples(places, places, st.booleans()), max_size=3 * count))
    names = ["root", *(f"p{place}" for place in range(1, count))]
    rows, lines = ["version = 1"], {}
    for place, name in enumerate(names):
        rows += ["", "[[package]]", f'name = "{name}"', f'version = "1.{place}"']
        lines[name] = len(rows)
        source = 'editable = "."' if place == 0 else 'registry = "https://example.org"'
        rows += [f"source = {{ {source} }}", "dependencies = ["]
        for start, end, holds in edges:
            if start == place:
                marker = f"sys_platform {'==' if holds else '!='} 'linux'"
                rows.append(f'  {{ name = "{names[end]}", marker = "{marker}" }},')
        rows.append("]")
    reached, pending = set(), [0]
    while pending:
        place = pending.pop()
        if place not in reached:
            reached.add(place)
            pending += [end for start, end, holds in edges if start == place and holds]
    (only,) = collect(tmp_path_factory.mktemp("l"), "\n".join(rows) + "\n")
    assert told(only) == {names[place]: (f"1.{place}", lines[names[place]]) for place in reached}
