"""setup.cfg of a setuptools project: requirements and extras, each with its line."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.sources.declared.setup_cfg import collect_setup_cfg, read_config
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

FILE = """\
[metadata]
name = fine-tune
version = attr: fine_tune.__version__

[options]
packages = find:
python_requires = >=3.9
install_requires =
    torch>=2.1,<3
    # a comment
    transformers[torch]==4.46.0  # pinned
    numpy<2; python_version < "3.13"
    numpy<1.20; python_version < "3.8"

    peft>=0.13.%%

[options.extras_require]
quant =
    bitsandbytes>=0.44
    auto-gptq; sys_platform == "win32"
deep = deepspeed==0.15.4; accelerate>=1.0
dev =
    %(quant)s
    %(docs)s
    fine_tune[deep]
docs = sphinx
nothing =
    auto-gptq; sys_platform == "win32"

[flake8]
max-line-length: 120
"""
HERE = Installation({"sys_platform": "linux"}).with_python("3.11")


def write(folder: Path, text: str) -> Path:
    path = folder / "setup.cfg"
    path.write_bytes(text.encode())
    return path


def shown(variant: Variant) -> dict[str, tuple[str, int | None]]:
    return {fact.name.removeprefix("packages."): (str(fact.value), fact.origin.line) for fact in variant.collected.facts}


def test_a_whole_file(tmp_path: Path) -> None:
    path = write(tmp_path, FILE)
    variants = {variant.label: shown(variant) for variant in collect_setup_cfg(path, HERE)}
    base = {
        "python": (">=3.9", 7),
        "torch": ("<3,>=2.1", 9),
        "transformers": ("4.46.0", 11),
        "numpy": ("<2", 12),
    }
    assert variants == {
        "": base,
        "extra quant": base | {"bitsandbytes": (">=0.44", 19)},
        "extra deep": base | {"deepspeed": ("0.15.4", 21), "accelerate": (">=1.0", 21)},
        "extra dev": base | {"bitsandbytes": (">=0.44", 19), "deepspeed": ("0.15.4", 21), "accelerate": (">=1.0", 21), "sphinx": ("", 26)},
        "extra docs": base | {"sphinx": ("", 26)},
    }
    first = collect_setup_cfg(path, HERE)[0].collected
    assert [(defect.rule, defect.line, defect.file) for defect in first.defects] == [("requirement-malformed", 15, str(path))]
    assert first.skips == ()
    assert all(fact.origin.file == str(path) for fact in first.facts)


def test_markers_are_judged_under_a_python_that_the_project_admits(tmp_path: Path) -> None:
    text = "[options]\npython_requires = ==3.7.*\ninstall_requires =\n  numpy<1.20; python_version < '3.8'\n"
    (variant,) = collect_setup_cfg(write(tmp_path, text), Installation())
    assert shown(variant) == {"python": ("==3.7.*", 2), "numpy": ("<1.20", 4)}


def test_files_are_followed_inside_the_project(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "requirements.txt").write_text("torch==2.1.0\n-r base.txt\n")
    (folder / "base.txt").write_text("\nnumpy\n")
    (folder / "dev.txt").write_text("# dev\npytest\n-r base.txt\n")
    (tmp_path / "outside.txt").write_text("scipy\n")
    text = (
        "[options]\ninstall_requires = file: requirements.txt, missing.txt\n"
        "[options.extras_require]\ndev = file: dev.txt\nlost =\n  file:\n  ../outside.txt\ncode = attr: x.y\n"
    )
    base, dev = collect_setup_cfg(write(folder, text), HERE)
    assert shown(base) == {"torch": ("2.1.0", 1), "numpy": ("", 2)}
    assert (dev.label, shown(dev)) == ("extra dev", {"torch": ("2.1.0", 1), "numpy": ("", 2), "pytest": ("", 2)})
    assert [(Path(skip.what).name, skip.why) for skip in base.collected.skips] == [
        ("setup.cfg:2", "file: missing.txt: No such file or directory"),
        ("setup.cfg:7", "file: ../outside.txt lies outside the project: setuptools refuses it"),
        ("setup.cfg:8", "code = attr: x.y: made when the project is built"),
    ]


def test_a_marker_in_a_list_of_one_line_is_an_entry_to_setuptools(tmp_path: Path) -> None:
    (base,) = collect_setup_cfg(write(tmp_path, "[options]\ninstall_requires = numpy; python_version < '3.13'\n"), HERE)
    assert shown(base) == {"numpy": ("", 2)}
    assert [(defect.rule, defect.line) for defect in base.collected.defects] == [("requirement-malformed", 2)]


def test_settings_of_other_programs_are_said_to_be_that(tmp_path: Path) -> None:
    (variant,) = collect_setup_cfg(write(tmp_path, "[flake8]\nignore = E501\n"), HERE)
    assert variant.collected.facts == ()
    (skip,) = variant.collected.skips
    assert "no install_requires" in skip.why


@pytest.mark.parametrize(
    ("data", "place"),
    [(b"torch==2.1\n", "line 1, column 1"), (b"\n  x = 1\n", "line 2, column 3"), (b"[a]\nb = \xff\n", "line 2: found bytes")],
)
def test_what_is_no_ini_file(tmp_path: Path, data: bytes, place: str) -> None:
    path = tmp_path / "setup.cfg"
    path.write_bytes(data)
    with pytest.raises(EnvdoctorError, match=place):
        collect_setup_cfg(path, HERE)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(EnvdoctorError, match="No such file"):
        collect_setup_cfg(tmp_path / "setup.cfg", HERE)


def test_references_in_a_circle_end(tmp_path: Path) -> None:
    text = "[options.extras_require]\na =\n  %(b)s\n  torch\nb =\n  %(a)s\n" + "  %(a)s\n" * 1000
    labels = [variant.label for variant in collect_setup_cfg(write(tmp_path, text), HERE)]
    assert labels[:2] == ["", "extra a"]


WORDS = st.from_regex(r"[a-z][a-z0-9_.>=<-]{0,10}", fullmatch=True)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z.]{0,8}", fullmatch=True).filter(lambda name: name != "default"),
        st.dictionaries(
            WORDS.filter(lambda key: not set("=:") & set(key)),
            st.lists(st.one_of(WORDS, st.just("# c"), st.just("")), max_size=4),
            max_size=4,
        ),
        max_size=4,
    ),
    st.sampled_from(["=", " = ", ": "]),
)
def test_values_are_those_of_configparser(
    tmp_path_factory: pytest.TempPathFactory, sections: dict[str, dict[str, list[str]]], separator: str
) -> None:
    text = ""
    for section, values in sections.items():
        text += f"[{section}]\n"
        for key, rows in values.items():
            text += f"{key}{separator}" + "".join(f"\n    {row}" for row in rows) + "\n"
    oracle = configparser.ConfigParser(interpolation=None)
    oracle.optionxform = str  # type: ignore[method-assign,assignment]
    oracle.read_string(text)
    path = write(tmp_path_factory.mktemp("cfg"), text)
    config = read_config(path)
    lines = text.split("\n")
    for section, values in sections.items():
        for key in values:
            found = config.value(section, key)
            assert [row.text for row in found] == [part for part in oracle[section][key].split("\n") if part]
            assert all(row.text in lines[row.line - 1] for row in found)
