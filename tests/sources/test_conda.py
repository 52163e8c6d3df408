"""Conda's environment files: match specs, names of PyPI, what pip installs after conda."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected
from envdoctor.sources.declared.conda import collect_conda, is_conda
from envdoctor.sources.declared.conda_spec import cuda_of, on_pypi, parse_match_spec
from envdoctor.world.installation import Installation

HERE = Installation({"sys_platform": "linux", "platform_machine": "x86_64"})
FILE = """\
name: fine-tune
channels:
  - pytorch
  - nvidia::label
dependencies:
  - python=3.10
  - pip
  - pytorch==2.1.0=py3.10_cuda11.8_cudnn8.7.0_0
  - pytorch-cuda=12.1  # says less than the build
  - conda-forge::transformers>=4.40,<5
  - numpy 1.26.*
  - "scipy =1.11"
  - pandas[version='>=2,<3']
  - scikit-learn=1.0|=1.2
  - libgcc-ng=11.2.0
  - accelerate
  - peft=0.12
  - xformers  # [win]
  - triton  # [linux64]
  - pip:
      - -r more.txt
      - peft==0.13.2
      - accelerate
      - bitsandbytes==0.44.0 ; python_version < "3.11"
      - git+https://x.org/tr.git
      - torch-geometric=2.1
"""


def write(folder: Path, text: str, name: str = "environment.yml") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def shown(found: Collected) -> dict[str, tuple[str, int | None]]:
    return {fact.name.removeprefix("packages."): (str(fact.value), fact.origin.line) for fact in found.facts if fact.name != "present"}


def read(folder: Path, text: str) -> Collected:
    (variant,) = collect_conda(write(folder, text), HERE)
    assert variant.label == ""
    return variant.collected


def test_a_whole_file(tmp_path: Path) -> None:
    write(tmp_path, "\ndatasets>=2.14\n", "more.txt")
    found = read(tmp_path, FILE)
    assert shown(found) == {
        "python": ("==3.10.*", 6),
        "cuda": ("11.8", 8),
        "torch": ("2.1.0", 8),
        "transformers": ("<5,>=4.40", 10),
        "numpy": ("==1.26.*", 11),
        "scipy": ("==1.11.*", 12),
        "pandas": ("<3,>=2", 13),
        "accelerate": ("", 23),
        "triton": ("", 19),
        "datasets": (">=2.14", 2),
        "peft": ("0.13.2", 22),
        "bitsandbytes": ("0.44.0", 24),
    }
    assert [(Path(skip.what).name, skip.why) for skip in found.skips] == [
        ("environment.yml:14", "scikit-learn =1.0|=1.2: a version that Python's own specifiers cannot say"),
        ("environment.yml:25", "git+https://x.org/tr.git: a repository, its version is not known"),
    ]
    assert [(defect.rule, defect.line) for defect in found.defects] == [("requirement-malformed", 26)]


def test_markers_are_judged_under_the_python_of_the_file_unless_one_was_named(tmp_path: Path) -> None:
    path = write(tmp_path, FILE)
    assert "bitsandbytes" not in shown(collect_conda(path, HERE.with_python("3.12"))[0].collected)


@pytest.mark.parametrize(
    ("text", "name", "specifier", "build", "channel"),
    [
        ("numpy", "numpy", "", "", ""),
        ("NumPy=1.26", "numpy", "==1.26.*", "", ""),
        ("numpy=1.26.*", "numpy", "==1.26.*", "", ""),
        ("numpy=1.26*", "numpy", "==1.26.*", "", ""),
        ("numpy==1.26.4", "numpy", "==1.26.4", "", ""),
        ("numpy 1.26.4", "numpy", "==1.26.4", "", ""),
        ("numpy 1.26.4 py310_0", "numpy", "==1.26.4", "py310_0", ""),
        ("numpy=1.26.4=py310_0", "numpy", "==1.26.4", "py310_0", ""),
        ("numpy=1.26.*=py310_0", "numpy", "==1.26.*", "py310_0", ""),
        ("numpy >=1.26 , <2.0a0", "numpy", ">=1.26,<2.0a0", "", ""),
        ("numpy>=1.26.*", "numpy", ">=1.26", "", ""),
        ("numpy<2", "numpy", "<2", "", ""),
        ("numpy!=1.26.*,>1", "numpy", "!=1.26.*,>1", "", ""),
        ("numpy=*", "numpy", "", "", ""),
        ("numpy=*=*mkl*", "numpy", "", "*mkl*", ""),
        ("numpy=1.26|2.0", "numpy", None, "", ""),
        ("pytorch::pytorch>=2.0", "pytorch", ">=2.0", "", "pytorch"),
        ("conda-forge/linux-64::pytorch=2.1=cuda118*", "pytorch", "==2.1", "cuda118*", "conda-forge/linux-64"),
        ("pytorch[version='>=2.0,<3',build=\"*cuda*\"]", "pytorch", ">=2.0,<3", "*cuda*", ""),
    ],
)
def test_match_specs(text: str, name: str, specifier: str | None, build: str, channel: str) -> None:
    spec = parse_match_spec(text)
    assert spec is not None
    assert (spec.name, spec.specifier, spec.build, spec.channel) == (name, specifier, build, channel)


@pytest.mark.parametrize("text", ["", "=1.2", "[x]", "*", "a" * 1000])
def test_what_is_no_match_spec(text: str) -> None:
    assert parse_match_spec(text) is None


@pytest.mark.parametrize(
    ("name", "python"),
    [("pytorch", "torch"), ("pytorch-lightning", "pytorch-lightning"), ("tensorflow-gpu", "tensorflow-gpu"), ("libpng", None),
     ("cudnn", None), ("_openmp_mutex", None), ("ld_impl_linux-64", None), ("python", None), ("sentencepiece", "sentencepiece"),
     ("cuda", None), ("zeromq", None), ("pyzmq", "pyzmq"), ("numpy-base", None), ("ros-jazzy-rclpy", None),
     ("xxhash", None), ("python-xxhash", "xxhash"), ("lmdb", None), ("python-lmdb", "lmdb")],
)  # fmt: skip
def test_names_of_pypi(name: str, python: str | None) -> None:
    assert on_pypi(name) == python


@pytest.mark.parametrize(
    ("text", "cuda"),
    [
        ("cudatoolkit=11.8", "11.8"), ("cudatoolkit=11.8.0", "11.8"), ("pytorch-cuda=12.1", "12.1"), ("cuda-version 12.4.*", "12.4"),
        ("cuda-version>=12.1,<12.5", ">=12.1,<12.5"), ("cudatoolkit", ""), ("pytorch=2.1=py3.10_cuda12.1_cudnn8_0", "12.1"),
        ("pytorch=2.1=cuda118*", "11.8"), ("pytorch=2.1=cuda112py310h1_0", "11.2"), ("pytorch=2.1=py3.10_cpu_0", ""),
        ("numpy=1.26=cuda118", ""),
    ],
)  # fmt: skip
def test_cuda_of_a_package(text: str, cuda: str) -> None:
    spec = parse_match_spec(text)
    assert spec is not None
    assert cuda_of(spec) == cuda


@pytest.mark.parametrize(
    ("packages", "cuda", "skipped"),
    [
        (["pytorch=2.1", "cudatoolkit=11.8"], "11.8", 0),
        (["cudatoolkit=11.8"], "11.8", 0),
        (["cudatoolkit=11.8", "{pip: [torch==2.1.0]}"], None, 1),
        (["pytorch=1.13", "cudatoolkit=11.7", "{pip: [torch==2.1.0]}"], None, 1),
        (["pytorch=2.1", "pytorch-cuda=12.1", "{pip: [torch]}"], "12.1", 0),
    ],
)
def test_a_toolkit_is_not_the_cuda_of_a_torch_from_pip(tmp_path: Path, packages: list[str], cuda: str | None, skipped: int) -> None:
    found = read(tmp_path, "dependencies:\n" + "".join(f"- {package}\n" for package in packages))
    assert shown(found).get("cuda", (None, 0))[0] == cuda
    assert len(found.skips) == skipped


def test_pip_replaces_what_conda_installed_where_it_asks_for_something_else(tmp_path: Path) -> None:
    text = "dependencies:\n- numpy=1.26\n- scipy=1.10\n- pandas=2.1\n- pip:\n  - numpy>=1.20\n  - scipy==1.11.1\n  - pandas @ file:///x\n"
    found = read(tmp_path, text)
    assert shown(found) == {"numpy": (">=1.20,==1.26.*", 6), "scipy": ("1.11.1", 7)}
    assert found.defects == ()


def test_templates_are_said_and_the_rest_is_read(tmp_path: Path) -> None:
    text = "{% set v = '2.1' %}\ndependencies:\n- numpy=1.26\n{% if gpu %}\n- pytorch=2.1\n{% endif %}\n"
    text += "- scipy={{ v }}\n- '{{ name }}'\n- pandas\n"
    found = read(tmp_path, text)
    assert shown(found) == {"numpy": ("==1.26.*", 3), "pandas": ("", 9)}
    assert [Path(skip.what).name for skip in found.skips] == ["environment.yml:4", "environment.yml:7", "environment.yml:8"]


def test_several_documents(tmp_path: Path) -> None:
    first, second = collect_conda(write(tmp_path, "dependencies:\n- numpy=1.26\n---\ndependencies:\n- numpy=2.0\n"), HERE)
    assert (shown(first.collected), shown(second.collected)) == ({"numpy": ("==1.26.*", 2)}, {"numpy": ("==2.0.*", 5)})
    assert (first.label, second.label) == ("", "document 2")


def test_an_explicit_list(tmp_path: Path) -> None:
    text = (
        "# platform: linux-64\n@EXPLICIT\n"
        "https://conda.anaconda.org/pytorch/linux-64/pytorch-2.1.0-py3.10_cuda11.8_cudnn8.7.0_0.tar.bz2#aa\n"
        "https://conda.anaconda.org/conda-forge/linux-64/scikit-learn-1.3.0-py310h1_0.conda\n"
        "https://conda.anaconda.org/conda-forge/linux-64/python-3.10.12-h1_0_cpython.conda\n"
        "https://conda.anaconda.org/conda-forge/linux-64/libgcc-ng-13.1.0-h1_0.conda\n"
    )
    path = write(tmp_path, text, "spec-file.txt")
    assert is_conda(path)
    assert shown(collect_conda(path, HERE)[0].collected) == {
        "python": ("3.10.12", 5),
        "cuda": ("11.8", 3),
        "torch": ("2.1.0", 3),
        "scikit-learn": ("1.3.0", 4),
    }


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("metadata: {}\npackage:\n- name: numpy\n", 1, "a lock of conda-lock, which is not read"),
        ("working_dir: ./\nexcludes: [a]\n", 1, "no list of dependencies: none of conda's environments"),
        ("\n- a\n", 2, "no list of dependencies: none of conda's environments"),
        ("dependencies:\n- [a]\n", 2, "a list within the list of packages"),
        ("dependencies:\n- {{ name }}\n", 2, "part of a template, not filled in"),
        ("dependencies:\n- npm: [a]\n", 2, "npm: neither a package nor a list for pip"),
    ],
)
def test_what_is_none_of_it_is_said(tmp_path: Path, text: str, line: int, why: str) -> None:
    found = read(tmp_path, text)
    assert (found.facts, found.defects) == ((), ())
    assert [(Path(skip.what).name, skip.why) for skip in found.skips] == [(f"environment.yml:{line}", why)]


@pytest.mark.parametrize(
    ("text", "found"),
    [("dependencies: [a\n", "line 2, column 1"), ("\t- a", "line 1"), ("# nothing\n", "nothing but comments"),
     ("a: " + "[" * 50, "nested too deeply"),
     ("a: \x00", "YAML"), ("a: *b\n", "line 1, column 4")],
)  # fmt: skip
def test_what_is_no_yaml(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(EnvdoctorError, match=found):
        read(tmp_path, text)


def test_a_list_of_aliases_has_an_end(tmp_path: Path) -> None:
    found = read(tmp_path, "x: &x\n  pip: [" + "a," * 4000 + "]\ndependencies:\n" + "- *x\n" * 20_000)
    assert "more than 5000 packages" in found.skips[0].why


@pytest.mark.parametrize(
    ("name", "text", "is_one"),
    [
        ("environment.yml", "dependencies:\n  - numpy\n", True),
        ("environment-gpu.yaml", "name: x\ndependencies: # c\n# c\n- numpy\n", True),
        ("env.yml", "dependencies: [numpy]\n", True),
        ("gpu.yml", "channels: [a]\ndependencies:\n- numpy\n", True),
        ("gpu.yml", "dependencies:\n- numpy\n", False),
        ("environment.yml", "model: x\n", False),
        ("runtime_env.yaml", "working_dir: ./\npip: [a]\n", False),
        ("action.yml", "dependencies:\n  a: b\n", False),
        ("environment.json", "dependencies:\n- numpy\n", False),
    ],
)
def test_what_is_a_file_of_conda(tmp_path: Path, name: str, text: str, is_one: bool) -> None:
    assert is_conda(write(tmp_path, text, name)) is is_one


def test_a_missing_file(tmp_path: Path) -> None:
    assert not is_conda(tmp_path / "environment.yml")
    with pytest.raises(EnvdoctorError, match="No such file"):
        collect_conda(tmp_path / "environment.yml", HERE)


NAMES = st.from_regex(r"[a-z][a-z0-9]{1,8}", fullmatch=True).filter(lambda name: on_pypi(name) == name and name not in ("none", "torch"))
VERSIONS = st.lists(st.integers(0, 99), min_size=1, max_size=3).map(lambda parts: ".".join(map(str, parts)))
FORMS = {"=": "=={}.*", "==": "{}", ">=": ">={}", " ": "{}", " =": "=={}.*", "!=": "!={}"}


@given(
    st.lists(
        st.tuples(NAMES, st.sampled_from(sorted(FORMS)), VERSIONS, st.booleans(), st.booleans()), max_size=6, unique_by=lambda row: row[0]
    )
)
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str, bool, bool]]) -> None:
    text, expected = "dependencies:\n  - pip\n", {}
    for name, form, version, quoted, channel in rows:
        expected[name] = (FORMS[form].format(version), text.count("\n") + 1)
        spec = f"{'conda-forge::' if channel else ''}{name}{form}{version}"
        text += f'  - "{spec}"\n' if quoted else f"  - {spec}  # c\n\n"
    found = read(tmp_path_factory.mktemp("conda"), text)
    assert shown(found) == expected
    assert (found.defects, found.skips) == ((), ())


@given(st.text(st.characters(codec="utf-8"), max_size=80))
def test_any_entry_is_read_or_said(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = write(tmp_path_factory.mktemp("conda"), f"dependencies:\n- {text}\n")
    try:
        variants = collect_conda(path, HERE)
    except EnvdoctorError as error:
        found, place = 0, error.place
    else:
        found, place = len(variants), str(path)
    assert found > 0 or place.startswith(str(path))


def test_what_conda_installs_asks_no_index_for_a_wheel(tmp_path: Path) -> None:
    found = read(tmp_path, "dependencies:\n  - python=3.13\n  - pytorch=2.4.1\n  - pip:\n      - pyarrow==17.0.0\n")
    assert [fact.value for fact in found.facts if fact.name == "present"] == [("torch",)]


@pytest.mark.parametrize(
    ("channels", "lines", "of_its_channel"),
    [
        (["pytorch", "conda-forge"], ["pytorch=1.13.1", "mkl=2024.1.0"], True),
        (["https://conda.anaconda.org/pytorch/linux-64"], ["pytorch=2.1"], True),
        (["conda-forge", "pytorch"], ["pytorch=1.13.1"], False),
        (["conda-forge"], ["pytorch::pytorch=1.12.*"], True),
        (["pytorch"], ["conda-forge::pytorch=2.4"], False),
        ([], ["pytorch=2.1.0=py3.10_cuda11.8_cudnn8.7.0_0"], True),
        ([], ["pytorch=2.1.0=cuda118py310hffed1d1_0"], False),
        (["pytorch"], ["torchvision==0.13.1", "pip", "pip: torch==1.12.1"], True),
        (["pytorch"], ["torchvision==0.13.1", "pip", "pip: torch==2.4.0"], False),
        (["pytorch"], ["numpy", "pip", "pip: torch==2.4.0"], False),
    ],
)
def test_torch_of_pytorchs_own_channel_is_told_apart(tmp_path: Path, channels: list[str], lines: list[str], of_its_channel: bool) -> None:
    rows = [f"  - {line}" for line in lines if not line.startswith("pip:")]
    rows += [f"  - pip:\n    - {line[5:]}" for line in lines if line.startswith("pip:")]
    found = read(tmp_path, "\n".join(["channels:", *(f"  - {one}" for one in channels or ["nvidia"]), "dependencies:", *rows]))
    present = next((fact.value for fact in found.facts if fact.name == "present"), ())
    assert isinstance(present, tuple)
    assert ("pytorch::torch" in present) is of_its_channel


def test_mkl_of_conda_is_a_package(tmp_path: Path) -> None:
    assert shown(read(tmp_path, "channels: [pytorch]\ndependencies:\n  - pytorch=1.12.1\n  - mkl=2024.1.0\n"))["mkl"] == ("==2024.1.0.*", 4)


@pytest.mark.parametrize(
    ("of_conda", "of_pip", "told"),
    [
        ("pytorch=2.0.1", "torch==2.0.1+cu118", ["build-label-without-its-index"]),
        ("numpy", "torchvision==0.15.2+cpu", ["build-label-without-its-index"]),
        ("numpy", "--extra-index-url https://download.pytorch.org/whl/cu118\n      - torch==2.0.1+cu118", []),
        ("numpy", "torch\n      - flash-attn==2.5.8", ["built-apart-from-torch"]),
        ("pytorch=2.3.0", "flash-attn==2.5.8", []),
    ],
)
def test_what_pip_is_given_here_is_judged_as_in_a_file_of_its_own(tmp_path: Path, of_conda: str, of_pip: str, told: list[str]) -> None:
    found = read(tmp_path, f"dependencies:\n  - python=3.10\n  - {of_conda}\n  - pip:\n      - {of_pip}\n")
    assert [defect.rule for defect in found.defects] == told
