"""Pipfile and Pipfile.lock: packages, categories and the Python that pipenv is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.sources.declared.pipfile import collect_pipfile, collect_pipfile_lock
from envdoctor.world.installation import Installation

HERE = Installation({"sys_platform": "linux"})
PIPFILE = """\
[[source]]
name = "pypi"
url = "https://pypi.org/simple"

[[source]]
name = "cuda"
url = "https://download.pytorch.org/whl/cu118"

[requires]
python_version = "3.10"

[packages]
torch = {version = "==2.1.2", index = "cuda"}
Transformers = "*"
numpy = "1.26.4"
peft = ">=0.13,<1"
safetensors = {version = ">=0.4", extras = ["torch"]}
xformers = {version = "*", sys_platform = "== 'win32'"}
triton = {version = "==2.1.0", markers = "python_version < '3.11'"}
tr = {git = "https://u:pw@x.org/tr.git", ref = "v4.36.2"}
local = {path = "./local", editable = true}
flash-attn = {file = "https://x.org/flash_attn-2.5.8-cp310-cp310-linux_x86_64.whl"}
odd = 3

[packages.accelerate]
version = "==1.0.1"

[dev-packages]
pytest = "*"
peft = "==0.13.2"

[docs]
sphinx = "~=7.1"

[scripts]
train = "python train.py"
"""


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def shown(found: Collected) -> dict[str, tuple[str, int | None]]:
    return {fact.name.removeprefix("packages."): (str(fact.value), fact.origin.line) for fact in found.facts}


BASE = {
    "python": ("==3.10.*", 10),
    "cuda": ("11.8", 13),
    "torch": ("2.1.2", 13),
    "transformers": ("", 14),
    "numpy": ("1.26.4", 15),
    "peft": ("<1,>=0.13", 16),
    "safetensors": (">=0.4", 17),
    "triton": ("2.1.0", 19),
    "flash-attn": ("2.5.8", 22),
    "accelerate": ("1.0.1", 26),
}


def test_a_whole_pipfile(tmp_path: Path) -> None:
    path = write(tmp_path, "Pipfile", PIPFILE)
    base, dev, docs = collect_pipfile(path, HERE)
    assert (base.label, shown(base.collected)) == ("", BASE | {"accelerate": ("1.0.1", 25)})
    assert dev.label == "group dev"
    assert shown(dev.collected) == BASE | {"accelerate": ("1.0.1", 25), "pytest": ("", 29), "peft": ("0.13.2", 30)}
    assert (docs.label, shown(docs.collected)["sphinx"]) == ("group docs", ("~=7.1", 33))
    assert [(Path(skip.what).name, skip.why) for skip in base.collected.skips] == [
        ("Pipfile:20", "tr, git+https://***@x.org/tr.git: a repository at the tag v4.36.2, which states no release"),
        ("Pipfile:21", "local, ./local: a file or path, its version is not known"),
    ]
    assert [(defect.rule, defect.line) for defect in base.collected.defects] == [("requirement-malformed", 23)]
    assert all(fact.origin.file == str(path) for fact in base.collected.facts)


def test_a_python_that_somebody_named_wins(tmp_path: Path) -> None:
    path = write(tmp_path, "Pipfile", PIPFILE)
    assert "triton" not in shown(collect_pipfile(path, HERE.with_python("3.12"))[0].collected)


@pytest.mark.parametrize(("text", "place"), [("[packages\n", "Pipfile, line 1"), ("a = 1\na = 2\n", "Pipfile, line 2")])
def test_what_is_no_toml(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(EnvdoctorError, match=place):
        collect_pipfile(write(tmp_path, "Pipfile", text), HERE)


@pytest.mark.parametrize(
    "text", ["", "packages = 3\n", "[packages]\n", "[requires]\npython_version = 3.1\n", "source = 3\n[dev-packages]\n"]
)
def test_a_pipfile_that_states_nothing(tmp_path: Path, text: str) -> None:
    (variant,) = collect_pipfile(write(tmp_path, "Pipfile", text), HERE)
    assert variant.collected == Collected()


LOCK = {
    "_meta": {"hash": {"sha256": "aa"}, "pipfile-spec": 6, "requires": {"python_version": "3.10"}, "sources": []},
    "default": {
        "torch": {"hashes": ["sha256:aa"], "index": "cuda", "version": "==2.1.2+cu118"},
        "huggingface-hub": {"extras": ["cli"], "markers": "python_version >= '3.8'", "version": "==0.20.1"},
        "pywin32": {"markers": "sys_platform == 'win32'", "version": "==306"},
        "tr": {"git": "https://x.org/tr.git", "ref": "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"},
        "wrong": "==1",
    },
    "develop": {"pytest": {"version": "==8.2.0"}, "torch": {"version": "==2.1.2+cu118"}},
}


def test_a_whole_lock(tmp_path: Path) -> None:
    text = json.dumps(LOCK, indent=4)
    path = write(tmp_path, "Pipfile.lock", text)
    lines = {line.strip(): number for number, line in enumerate(text.splitlines(), start=1)}
    base, dev = collect_pipfile_lock(path, HERE)
    expected = {
        "python": ("==3.10.*", lines['"requires": {']),
        "torch": ("2.1.2+cu118", 13),
        "huggingface-hub": ("0.20.1", lines['"huggingface-hub": {']),
    }
    assert (base.label, shown(base.collected)) == ("", expected)
    assert dev.label == "group dev"
    assert shown(dev.collected) == expected | {"torch": ("2.1.2+cu118", 41), "pytest": ("8.2.0", lines['"pytest": {'])}
    assert [skip.why for skip in base.collected.skips] == [
        "tr, git+https://x.org/tr.git: a repository at the commit 0a1b2c3d4e5f, which states no release"
    ]
    assert [defect.line for defect in base.collected.defects] == [lines['"wrong": "==1"']]


@pytest.mark.parametrize(
    ("text", "found"),
    [("", "an empty file"), ("[]", "no object"), ("{", "the end of the file"), ("[" * 100_000, "nested too deeply"), ("<html>", "HTML")],
)
def test_what_is_no_lock(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(EnvdoctorError, match=found):
        collect_pipfile_lock(write(tmp_path, "Pipfile.lock", text), HERE)


def test_names_and_missing_files(tmp_path: Path) -> None:
    for collect, name in ((collect_pipfile, "Pipfile"), (collect_pipfile_lock, "Pipfile.lock")):
        with pytest.raises(EnvdoctorError, match=name):
            collect(tmp_path / name, HERE)


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True).filter(lambda name: name not in ("none", "torch"))
VERSIONS = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
TABLES = st.dictionaries(NAMES, VERSIONS, max_size=5)


@given(TABLES, TABLES, st.sampled_from([None, 1, 4]), st.booleans())
def test_what_a_lock_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, default: dict[str, str], develop: dict[str, str], indent: int | None, bare: bool
) -> None:
    develop = {f"dev{name}": version for name, version in develop.items()}
    lock = {
        "default": {name: {"version": f"=={version}"} for name, version in default.items()},
        "develop": {name: {"version": version if bare else f"=={version}"} for name, version in develop.items()},
    }
    text = json.dumps(lock, indent=indent)
    variants = collect_pipfile_lock(write(tmp_path_factory.mktemp("lock"), "Pipfile.lock", text), HERE)
    rows = text.split("\n")
    line = {
        name: 1 if indent is None else next(n for n, row in enumerate(rows, 1) if f'"{name}": {{' in row) for name in (*default, *develop)
    }
    expected = {name: (version, line[name]) for name, version in default.items()}
    assert shown(variants[0].collected) == expected
    assert len(variants) == 1 + bool(develop)
    if develop:
        assert shown(variants[1].collected) == expected | {name: (version, line[name]) for name, version in develop.items()}


@given(TABLES, st.booleans())
def test_what_a_pipfile_writes_is_read(tmp_path_factory: pytest.TempPathFactory, packages: dict[str, str], tables: bool) -> None:
    text = "# a comment\n\n[packages]\n"
    expected = {}
    for name, version in packages.items():
        expected[name] = (version, text.count("\n") + 1)
        text += f'{name} = {{version = "=={version}"}}\n' if tables else f'"{name}"  =  "=={version}" # c\n'
    (variant,) = collect_pipfile(write(tmp_path_factory.mktemp("pipfile"), "Pipfile", text), HERE)
    assert shown(variant.collected) == expected
