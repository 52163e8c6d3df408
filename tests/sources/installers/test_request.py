"""What commands ask installers for, by their arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.sources.installers.request import Request, read_request
from envdoctor.sources.shell.text import Argument


def request(text: str) -> Request | None:
    return read_request(tuple(Argument(word, 1) for word in text.split()))


def words(arguments: tuple[Argument, ...]) -> list[str]:
    return [argument.text for argument in arguments]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("pip install a b==1", ["a", "b==1"]),
        ("pip3 --no-cache-dir install -q --no-cache-dir a", ["a"]),
        ("/opt/venv/bin/python3.11 -u -m pip --quiet install -i https://x a", ["a"]),
        ("python -mpip install a", ["a"]),
        ("uv --no-progress pip install --system a -p 3.11 b", ["a", "b"]),
        ("python -m uv pip install a", ["a"]),
        ("pip install --index-url=https://x --trusted-host h --timeout 5 --retries 3 a", ["a"]),
        ("pip install --config-settings k=v --global-option=--x --no-binary :all: a", ["a"]),
        ("pip install -fhttps://x -Uq a", ["a"]),
        ("pip install -- a -b", ["a", "-b"]),
        ("uv pip install --reinstall-package x --extra-index-url u --index-strategy s --link-mode copy a", ["a"]),
        ("poetry install --no-root", []),
        ("conda install -y -c pytorch -c nvidia pytorch==2.1.0 pytorch-cuda=11.8", ["pytorch==2.1.0", "pytorch-cuda=11.8"]),
        ("micromamba install -y -n base -c conda-forge python=3.10", ["python=3.10"]),
        ("apt-get install -y --no-install-recommends -t jammy python3 git", ["python3", "git"]),
    ],
)
def test_options_with_values_are_told_from_what_is_wanted(text: str, wanted: list[str]) -> None:
    found = request(text)
    assert found is not None
    assert (found.action, words(found.wanted)) == ("install", wanted)


def test_files_projects_indexes_and_flags() -> None:
    found = request(
        "pip install -r a.txt --requirement=b.txt -c c.txt -e .[x] -e git+https://y -i https://i --extra-index-url https://e -U --no-deps z"
    )
    assert found is not None
    assert words(found.files) == ["a.txt", "b.txt"]
    assert words(found.constraints) == ["c.txt"]
    assert words(found.projects) == [".[x]", "git+https://y"]
    assert found.indexes == (("index", "https://i"), ("extra", "https://e"))
    assert (found.upgrade, found.no_deps, words(found.wanted)) == (True, True, ["z"])


@pytest.mark.parametrize(
    ("text", "tool", "action", "into", "python"),
    [
        ("/opt/venv/bin/pip install a", "pip", "install", "/opt/venv", None),
        ("pip3.9 install a", "pip", "install", None, "3.9"),
        ("python3.11 -m pip install a", "pip", "install", None, "3.11"),
        ("pip install --target /deps a", "pip", "install", "/deps", None),
        ("uv pip install --python /opt/v/bin/python a", "uv", "install", "/opt/v", None),
        ("uv pip sync r.txt", "uv", "install", None, None),
        ("pip uninstall -y a", "pip", "uninstall", None, None),
        ("python3.12 -m venv /opt/venv", "venv", "create", "/opt/venv", "3.12"),
        ("virtualenv -p python3.9 env", "venv", "create", "env", "3.9"),
        ("uv venv --python 3.11 --seed /v", "venv", "create", "/v", "3.11"),
        ("uv venv", "venv", "create", ".venv", None),
        ("uv python install 3.12", "uv", "interpreter", None, "3.12"),
        ("uv sync --frozen --python=3.10", "uv-project", "install", None, "3.10"),
        ("conda create -n train python=3.10 -y", "conda", "create", "train", None),
        ("conda env create -f environment.yml -n e", "conda", "environment-file", "e", None),
        ("mamba env update --file=env.yml -p /opt/conda/envs/q", "conda", "environment-file", "/opt/conda/envs/q", None),
        ("micromamba create -f env.yaml", "conda", "environment-file", None, None),
        ("conda remove torch", "conda", "uninstall", None, None),
        ("pyenv install 3.10.13", "system", "interpreter", None, "3.10.13"),
        ("python setup.py develop", "pip", "install", None, None),
    ],
)
def test_where_it_goes_and_which_python(text: str, tool: str, action: str, into: str | None, python: str | None) -> None:
    found = request(text)
    assert found is not None
    assert (found.tool, found.action, found.into, found.python) == (tool, action, into, python)


@pytest.mark.parametrize(
    "text",
    [
        "pip", "pip list", "pip download a", "pip wheel -r r.txt", "python train.py install", "python -c import", "python -m build", "uv",
        "uv tool install ruff", "pipx install a", "conda clean -ya", "conda", "apt-get update", "npm install x", "poetry lock", "python",
        "python setup.py build", "pyenv global system",
    ],
)  # fmt: skip
def test_what_installs_nothing_into_an_environment(text: str) -> None:
    assert request(text) is None


def test_extras_and_groups_of_projects() -> None:
    uv = request("uv sync --extra train --extra=vllm --group dev --all-extras --no-dev")
    poetry = request("poetry install --with dev,test -E a --extras b --only main")
    pdm = request("pdm sync -G train --prod")
    assert uv is not None
    assert poetry is not None
    assert pdm is not None
    assert (uv.extras, uv.groups) == (("*",), ("dev",))
    assert (poetry.extras, poetry.groups) == (("a", "b"), ("dev", "test", "main"))
    assert pdm.groups == ("train",)


OPTION = st.sampled_from(["-U", "-q", "--no-cache-dir", "--pre", "-i u", "--timeout 9", "--log=f", "-f u", "--no-deps"])
NAME = st.sampled_from(["torch", "peft==0.5", "trl>=0.7,<1", "a[b,c]~=1.0", "./x.whl"])


@given(
    st.lists(st.tuples(NAME, st.lists(OPTION, max_size=2)), min_size=1),
    st.sampled_from(["pip", "python -m pip", "uv pip", "/v/bin/pip3.10"]),
)
def test_what_is_wanted_is_read_back_between_options(rows: list[tuple[str, list[str]]], program: str) -> None:
    found = request(f"{program} install " + " ".join(" ".join([*options, name]) for name, options in rows))
    assert found is not None
    assert words(found.wanted) == [name for name, _ in rows]
    assert found.upgrade is any("-U" in options for _, options in rows)
