"""What a pyproject.toml states: the standard tables, and what uv, PDM, Hatch, Flit and setuptools keep beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.sources.declared.pyproject import collect_pyproject
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation
from tests.sources.declared import LINUX, WINDOWS, by_label, defects, skips, told, versions, written

STANDARD = """\
[build-system]
requires = ["setuptools>=61", "torch==2.4.0"]
build-backend = "setuptools.build_meta"

[project]
name = "My.Trainer"
version = "1.0"
requires-python = ">=3.10,<3.13"
dependencies = [
  # the stack
  "torch>=2.4,<2.6",
  "Transformers==4.48.0",
  "triton>=3; sys_platform == 'linux'",
  "pywin32; sys_platform == 'win32'",
]

[project.optional-dependencies]
cu118 = ["bitsandbytes==0.41.0"]
cu124 = ["bitsandbytes==0.45.0"]
train = ["peft>=0.10", "my-trainer[cu124,missing]"]
all = ["my_trainer[train]", "my-trainer[cu118]; sys_platform == 'win32'"]
same = ["torch"]

[dependency-groups]
test = ["pytest>=8"]
Dev_Tools = [{include-group = "test"}, "ruff==0.6.0", "my-trainer[train]"]
"""


def collect(folder: Path, text: str, installation: Installation = LINUX) -> tuple[Variant, ...]:
    return collect_pyproject(written(folder, "pyproject.toml", text), installation)


def test_the_standard_tables_with_every_line(tmp_path: Path) -> None:
    variants = collect(tmp_path, STANDARD)
    assert told(variants[0]) == {
        "python": ("<3.13,>=3.10", 8),
        "torch": ("<2.6,>=2.4", 11),
        "transformers": ("4.48.0", 12),
        "triton": (">=3", 13),
    }
    assert by_label(variants) == {
        "": {"torch": "<2.6,>=2.4", "transformers": "4.48.0", "triton": ">=3"},
        "extra cu118": {"bitsandbytes": "0.41.0"},
        "extra cu124": {"bitsandbytes": "0.45.0"},
        "extra train": {"peft": ">=0.10", "bitsandbytes": "0.45.0"},
        "extra all": {"peft": ">=0.10", "bitsandbytes": "0.45.0"},
        "group test": {"pytest": ">=8"},
        "group Dev_Tools": {"pytest": ">=8", "ruff": "0.6.0", "peft": ">=0.10", "bitsandbytes": "0.45.0"},
        "build system": {"setuptools": ">=61", "torch": "2.4.0"},
    }
    everything = next(each for each in variants if each.label == "group Dev_Tools")
    assert {name: line for name, (_, line) in told(everything).items()} == {
        "python": 8,
        "torch": 11,
        "transformers": 12,
        "triton": 13,
        "pytest": 25,
        "ruff": 26,
        "peft": 20,
        "bitsandbytes": 19,
    }
    assert versions(variants[-1]) == {"setuptools": ">=61", "torch": "2.4.0"}, "what builds the project lives apart from it"
    assert all(each.collected.defects == () and each.collected.skips == () for each in variants)


def test_an_exact_pin_is_one_version_and_the_rest_are_ranges(tmp_path: Path) -> None:
    values = {fact.name: fact.value for fact in collect(tmp_path, STANDARD)[0].collected.facts}
    assert isinstance(values["packages.transformers"], Exact)
    assert isinstance(values["packages.torch"], Ranged)
    assert isinstance(values["python"], Ranged)


def test_markers_are_those_of_the_installation(tmp_path: Path) -> None:
    found = by_label(collect(tmp_path, STANDARD, WINDOWS))
    assert found[""] == {"torch": "<2.6,>=2.4", "transformers": "4.48.0", "pywin32": "any"}
    variants = collect(tmp_path, STANDARD, WINDOWS)
    merged = next(each for each in variants if each.label == "extra all")
    assert [rule for rule, _, _ in defects(merged)] == ["requirement-unsatisfiable"], "on Windows all asks for both"


def test_a_project_that_does_not_admit_our_python_is_read_for_one_that_it_does(tmp_path: Path) -> None:
    text = (
        "[project]\nname = 'a'\nrequires-python = '==3.8.*'\n"
        "dependencies = ['torch==2.4.1; python_version < \"3.9\"', 'torch==2.6.0; python_version >= \"3.9\"']\n"
    )
    assert versions(collect(tmp_path, text, Installation())[0]) == {"torch": "2.4.1"}


UV = """\
[project]
name = "a"
dependencies = ["torch>=2.4", "transformers", "peft>=0.10", "flash-attn", "xformers==0.0.28", "numpy"]

[project.optional-dependencies]
cpu = ["torch==2.5.1"]
gpu = ["torch==2.5.1", "flash-attn"]

[tool.uv]
dev-dependencies = ["pytest"]
constraint-dependencies = ["numpy<2", "safetensors<0.5"]
override-dependencies = ["peft==0.13.0"]
exclude-dependencies = ["xformers"]
environments = ["sys_platform == 'win32'"]
conflicts = [[{ extra = "cpu" }, { extra = "gpu" }]]

[[tool.uv.index]]
name = "pytorch-cu124"
url = "https://download.pytorch.org/whl/cu124"
explicit = true

[tool.uv.sources]
transformers = { git = "https://user:secret@github.com/huggingface/transformers", rev = "v4.48.0" }
torch = [
  { index = "pytorch-cpu", extra = "cpu" },
  { index = "pytorch-cu124", extra = "gpu", marker = "sys_platform == 'linux'" },
]
flash-attn = { url = "https://example.org/flash_attn-2.7.0+cu12-cp311-cp311-linux_x86_64.whl" }
"""


def test_what_uv_keeps(tmp_path: Path) -> None:
    variants = collect(tmp_path, UV)
    assert by_label(variants) == {
        "": {
            "torch": ">=2.4",
            "transformers": "4.48.0",
            "peft": "0.13.0",
            "flash-attn": "2.7.0+cu12",
            "numpy": "<2",
            "present": "('flash-attn',)",
        },
        "extra cpu": {"torch": "2.5.1"},
        "extra gpu": {"torch": "2.5.1", "cuda": "12.4"},
        "group dev": {"pytest": "any"},
    }
    lines = told(variants[0])
    assert (lines["peft"][1], lines["flash-attn"][1], lines["numpy"][1]) == (12, 28, 3)
    assert skips(variants[0], tmp_path) == [
        ("pyproject.toml:14", "the project is locked for other environments than the one that is looked at"),
    ]


def test_what_pdm_keeps(tmp_path: Path) -> None:
    text = """\
[project]
name = "a"
dependencies = ["torch", "peft", "vllm"]
[tool.pdm.dev-dependencies]
lint = ["ruff==0.6.0", "-e file:///${PROJECT_ROOT}/sub#egg=sub"]
[tool.pdm.resolution]
excludes = ["vllm"]
[tool.pdm.resolution.overrides]
torch = "2.5.1"
peft = ">=0.11,<0.12"
"""
    variants = collect(tmp_path, text)
    assert by_label(variants) == {"": {"torch": "2.5.1", "peft": "<0.12,>=0.11"}, "group lint": {"ruff": "0.6.0"}}
    assert told(variants[0])["torch"] == ("2.5.1", 9)
    assert skips(variants[0], tmp_path) == [("pyproject.toml:5", "an editable requirement, its version is not known")]


def test_what_hatch_keeps(tmp_path: Path) -> None:
    text = """\
[project]
name = "a"
dependencies = ["torch==2.5.1"]
[project.optional-dependencies]
peft = ["peft==0.13.0"]
[dependency-groups]
qa = ["mypy"]
[tool.hatch.envs.default]
dependencies = ["pytest", "{root:uri}/vendored"]
features = ["peft"]
[tool.hatch.envs.test]
extra-dependencies = ["coverage"]
[tool.hatch.envs.lint]
detached = true
dependencies = ["ruff"]
dependency-groups = ["qa"]
"""
    variants = collect(tmp_path, text)
    assert {each.label: versions(each) for each in variants} == {
        "": {"torch": "2.5.1"},
        "extra peft": {"torch": "2.5.1", "peft": "0.13.0"},
        "group qa": {"torch": "2.5.1", "mypy": "any"},
        "env default": {"torch": "2.5.1", "pytest": "any", "peft": "0.13.0"},
        "env test": {"torch": "2.5.1", "pytest": "any", "coverage": "any", "peft": "0.13.0"},
        "env lint": {"ruff": "any", "mypy": "any"},
    }
    assert ("pyproject.toml:9", "{root:uri}/vendored: Hatch fills in what stands in braces") in skips(variants[0], tmp_path)


def test_what_flit_kept_before_the_standard(tmp_path: Path) -> None:
    text = """\
[tool.flit.metadata]
module = "a"
requires-python = ">=3.9"
requires = ["torch==2.5.1"]
[tool.flit.metadata.requires-extra]
test = ["pytest", "a[doc]"]
doc = ["sphinx"]
"""
    variants = collect(tmp_path, text)
    assert by_label(variants) == {"": {"torch": "2.5.1"}, "extra test": {"pytest": "any", "sphinx": "any"}, "extra doc": {"sphinx": "any"}}
    assert told(variants[0])["python"] == (">=3.9", 3)


DYNAMIC = """\
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[project]
name = "a"
dynamic = ["version", "dependencies", "optional-dependencies"]
"""


def test_requirements_files_of_setuptools_are_followed(tmp_path: Path) -> None:
    written(tmp_path, "requirements.txt", "# the stack\ntorch==2.5.1\n")
    written(tmp_path, "req/train.txt", "peft>=0.10\n")
    written(tmp_path.parent, "outside.txt", "secret-of-another-project\n")
    text = (
        DYNAMIC
        + """\
[tool.setuptools.dynamic]
dependencies = { file = ["requirements.txt", "../outside.txt", "missing.txt"] }
[tool.setuptools.dynamic.optional-dependencies]
train = { file = "req/train.txt" }
"""
    )
    variants = collect(tmp_path, text)
    assert by_label(variants) == {"": {"torch": "2.5.1"}, "extra train": {"peft": ">=0.10"}}
    (torch,) = variants[0].collected.facts
    assert (torch.origin.file, torch.origin.line) == (str(tmp_path / "requirements.txt"), 2)
    assert skips(variants[0], tmp_path) == [
        ("pyproject.toml:8", "../outside.txt: outside of the project, it is not read"),
        ("pyproject.toml:8", "missing.txt: No such file or directory"),
    ]


def test_a_file_that_links_out_of_the_project_is_not_read(tmp_path: Path) -> None:
    written(tmp_path.parent, "outside.txt", "torch==1.0\n")
    (tmp_path / "requirements.txt").symlink_to(tmp_path.parent / "outside.txt")
    variants = collect(tmp_path, DYNAMIC + "[tool.setuptools.dynamic]\ndependencies = { file = 'requirements.txt' }\n")
    assert versions(variants[0]) == {}
    assert [why for _, why in skips(variants[0], tmp_path)][1:] == ["requirements.txt: outside of the project, it is not read"]


@pytest.mark.parametrize(
    ("beside", "backend", "why"),
    [
        ("setup.py", "setuptools.build_meta", "stated in setup.py"),
        ("", "setuptools.build_meta", "stated in setup.py or setup.cfg, which are not beside it"),
        ("", "mesonpy", "filled in by mesonpy when the project is built"),
    ],
)
def test_dynamic_dependencies_that_nothing_tells(tmp_path: Path, beside: str, backend: str, why: str) -> None:
    if beside:
        written(tmp_path, beside, "")
    variants = collect(tmp_path, DYNAMIC.replace("setuptools.build_meta", backend))
    assert [each.label for each in variants] == [""]
    assert skips(variants[0], tmp_path) == [("pyproject.toml:6", f"dependencies and optional-dependencies: dynamic, {why}")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[tool.ruff]\nline-length = 100\n[tool.black]\n", "it has settings of tools only (black, ruff)"),
        ("", "it states no project"),
        ("[project]\nname = 'a'\nversion = '1'\n", "it declares no dependencies"),
    ],
)
def test_a_file_without_dependencies_says_what_it_is(tmp_path: Path, text: str, why: str) -> None:
    (only,) = collect(tmp_path, text)
    assert (only.collected.facts, skips(only, tmp_path)) == ((), [("pyproject.toml", why)])


@pytest.mark.parametrize(
    ("text", "detail", "line"),
    [
        ("[project]\ndependencies = 3\n", "project.dependencies: found a number, expected a list of requirements", 2),
        ("[project]\ndependencies = 'torch'\n", "project.dependencies: found text, expected a list of requirements", 2),
        ("[project]\ndependencies = [\n'torch',\n4]\n", "project.dependencies: found a number, expected a requirement as text", 4),
        ("project = 1\n", "project: found a number, expected a table", 1),
        (
            "[project]\n[project.optional-dependencies]\na = true\n",
            "project.optional-dependencies.a: found a boolean, expected a list of requirements",
            3,
        ),
        ("[[project.optional-dependencies]]\n", "project.optional-dependencies: found a list, expected a table", 1),
        ("[dependency-groups]\na = 1979-05-27\n", "dependency-groups.a: found a date or time, expected a list of requirements", 2),
        (
            "[dependency-groups]\na = [{include = 'b'}]\n",
            "dependency-groups.a: found a table, expected a requirement as text, or include-group",
            2,
        ),
        ("[dependency-groups]\na = [\n{include-group = 'b'}]\n", "group a includes b, which is no group of this file", 3),
        ("[dependency-groups]\na = [{include-group = 'A'}]\n", "group a includes itself, by way of A", 2),
        (
            "[dependency-groups]\na = [{include-group = 'b'}]\nb = [{include-group = 'a'}]\n",
            "group b includes itself, by way of a",
            3,
        ),
        ("[project]\nrequires-python = '3.10'\n", "'3.10' is no range of Pythons", 2),
        ("[project]\nrequires-python = 3.10\n", "project.requires-python: found a number, expected a range of Pythons as text", 2),
        ("[tool]\nuv = 1\n", "tool.uv: found a number, expected a table", 2),
    ],
)
def test_what_cannot_be_is_a_defect_with_its_line(tmp_path: Path, text: str, detail: str, line: int) -> None:
    first = collect(tmp_path, text)[0]
    assert ("requirement-malformed", detail, line) in defects(first)


def test_one_bad_requirement_does_not_hide_the_others(tmp_path: Path) -> None:
    (only,) = collect(tmp_path, "[project]\ndependencies = ['torch==2.5.1', 'peft >= = 1', 7, 'trl']\n")
    assert versions(only) == {"torch": "2.5.1", "trl": "any"}
    assert [(rule, line) for rule, _, line in defects(only)] == [("requirement-malformed", 2)] * 2


def test_extras_that_name_each_other_come_to_an_end(tmp_path: Path) -> None:
    text = "[project]\nname = 'a'\n[project.optional-dependencies]\nx = ['a[y]', 'torch']\ny = ['a[x]', 'peft', 'a']\n"
    assert by_label(collect(tmp_path, text)) == {
        "": {},
        "extra x": {"torch": "any", "peft": "any"},
        "extra y": {"torch": "any", "peft": "any"},
    }


def test_groups_that_include_each_other_many_times_are_read_once(tmp_path: Path) -> None:
    rows = ["[dependency-groups]", "g0 = ['torch==2.5.1']"]
    rows += [f"g{n} = [{{include-group = 'g{n - 1}'}}, {{include-group = 'g{n - 1}'}}]" for n in range(1, 60)]
    variants = collect(tmp_path, "\n".join(rows))
    assert versions(variants[-1]) == {"torch": "2.5.1"}
    assert variants[-1].label == "group g59"


def test_what_is_more_than_any_project_states_is_said_and_the_rest_not_read(tmp_path: Path) -> None:
    names = ", ".join(f"'p{number}'" for number in range(300))
    rows = ["[project]", f"dependencies = [{names}]", "[project.optional-dependencies]"]
    variants = collect(tmp_path, "\n".join([*rows, *(f"x{number} = ['torch']" for number in range(200))]))
    assert len(variants) == 66
    assert skips(variants[0], tmp_path) == [
        ("pyproject.toml", "more than 20000 requirements in all its extras and groups: the rest is not read")
    ]


@pytest.mark.parametrize(
    ("data", "place", "found"),
    [
        (b"[project]\ndependencies = [\n'a'\n", "line 4, column 1", "no TOML: Unclosed array (at end of document)"),
        (b"[project]\nname = = 1\n", "line 2, column 8", "no TOML: Invalid value (at line 2, column 8)"),
        (b"[project]\nname = '\xff'\n", "line 2, column 9", "bytes that are not UTF-8"),
        ("[project]\n".encode("utf-16"), "line 1, column 1", "bytes that are not UTF-8"),
        (b"x = 1\n" + b"a." * 50 + b"a = 1\n", "line 2, column 1", "a key of more than 40 parts"),
    ],
)
def test_what_is_no_toml_is_refused_with_its_place(tmp_path: Path, data: bytes, place: str, found: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(data)
    with pytest.raises(EnvdoctorError) as raised:
        collect_pyproject(path, LINUX)
    assert raised.value.place == f"{path}, {place}"
    assert raised.value.found == found


@pytest.mark.parametrize("kind", ["missing", "directory", "large"])
def test_what_cannot_be_read_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "pyproject.toml"
    if kind == "directory":
        path.mkdir()
    elif kind == "large":
        with path.open("wb") as file:
            file.truncate(2**33)
    with pytest.raises(EnvdoctorError) as raised:
        collect_pyproject(path, LINUX)
    assert raised.value.place == str(path)


def test_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(b"\xef\xbb\xbf" + STANDARD.replace("\n", "\r\n").encode())
    assert [told(each) for each in collect_pyproject(path, LINUX)] == [told(each) for each in collect(tmp_path, STANDARD)]


NAMES = st.sampled_from(["torch", "Transformers", "peft", "trl", "my-lib", "other.lib"])
SPECIFIERS = st.sampled_from(["", "==1.2.3", ">=1,<2", "~=1.4", "!=1.5", "==2.5.1+cu124", "<=0.9.post1"])


@given(
    base=st.dictionaries(NAMES, SPECIFIERS, max_size=4),
    extras=st.dictionaries(st.sampled_from(["x", "y-z", "w.v"]), st.dictionaries(NAMES, SPECIFIERS, max_size=3), max_size=3),
    blanks=st.lists(st.integers(0, 2), min_size=20, max_size=20),
)
def test_what_is_written_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, base: dict[str, str], extras: dict[str, dict[str, str]], blanks: list[int]
) -> None:
    rows, pauses = ["[project]", "name = 'a'"], iter(blanks)

    def write(key: str, table: dict[str, str]) -> dict[str, tuple[str, int]]:
        rows.append(f"{key} = [")
        lines = {}
        for name, specifier in table.items():
            rows.extend(["  # torch==9.9"] * next(pauses))
            rows.append(f"  {json.dumps(name + specifier)},")
            lines[name.lower().replace(".", "-")] = (specifier, len(rows))
        rows.append("]")
        return lines

    always = write("dependencies", base)
    rows.append("[project.optional-dependencies]")
    wanted = {"": always} | {f"extra {name}": write(json.dumps(name), table) for name, table in extras.items()}
    folder = tmp_path_factory.mktemp("p")
    variants = collect(folder, "\n".join(rows) + "\n")
    for variant in variants:
        own = wanted[variant.label]
        lines = {name: line for name, (_, line) in {**always, **own}.items()}
        assert {name: line for name, (_, line) in told(variant).items()} == lines
        for name, (specifier, _) in {**always, **own}.items():
            if name not in always or variant.label == "" or always[name] == own.get(name):
                shown = versions(variant)[name]
                assert set((shown if shown != "any" else "").split(",")) == set(specifier.removeprefix("==").split(",")), (name, shown)
