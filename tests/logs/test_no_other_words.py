"""What is told beside an error, or instead of one, contradicts nothing: whose words they are, what to install, where a text ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run
from tests.logs.diagnosed import findings

# All shipped rules, and the releases that they speak of, are asked.
pytestmark = pytest.mark.large

# Words of Python that a package writes out too, and a sentence that says nothing of whose it is.
ACME = {
    "1.0": {
        "acme/__init__.py": "",
        "acme/args.py": "def parse(name, most, many):\n"
        "    raise TypeError(f'{name}() takes {most} positional arguments but {many} were given')\n"
        "def init(name):\n    raise TypeError(f\"{name}.__init__() got an unexpected keyword argument '{name}'\")\n"
        "class tuple:\n    def __getattr__(self, name):\n        raise AttributeError(f\"'tuple' object has no attribute '{name}'\")\n"
        "def ask(what):\n    raise NotImplementedError(f'{what} does not support the checks of members with the keyword')\n",
    }
}
ZOO = {
    "2025.3.1": {"unsloth_zoo/__init__.py": "", "unsloth_zoo/loss_utils.py": "A = 1\n"},
    "2025.3.9": {"unsloth_zoo/__init__.py": "", "unsloth_zoo/loss_utils.py": "A = 1\ndef _unsloth_get_batch_samples(): pass\n"},
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), {"acme": ACME, "unsloth-zoo": ZOO}) as atlas:
        yield atlas


def report(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, facts: str = 'os = "linux"\n'
) -> str:
    monkeypatch.chdir(tmp_path)
    Path("log.txt").write_text(log + "\n", encoding="utf-8")
    Path("facts.toml").write_text(facts, encoding="utf-8")
    return run(capsys, "diagnose", "log.txt", "--facts", "facts.toml").out


@pytest.mark.parametrize(
    "error",
    [
        "TypeError: DSElasticAgent._set_master_addr_port() takes 3 positional arguments but 4 were given",
        "TypeError: Typer.__init__() got an unexpected keyword argument 'suggest_commands'",
        "AttributeError: 'tuple' object has no attribute 'contiguous'",
    ],
)
def test_what_python_says_is_no_packages_sentence(
    error: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "acme says this" not in report(capsys, tmp_path, monkeypatch, error)


def test_what_the_line_of_a_package_raises_is_that_packages_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (
        'Traceback (most recent call last):\n  File "/x/site-packages/{0}/{1}.py", line {2}, in f\n    {3}\n'
        "NotImplementedError: The dictionary does not support the checks of members with the keyword"
    )
    raises = "raise NotImplementedError("
    assert "acme says this" not in report(capsys, tmp_path, monkeypatch, log.format("tensordict", "base", 29, raises))
    assert "acme" in report(capsys, tmp_path, monkeypatch, log.format("acme", "args", 9, raises))


def test_a_nightly_torch_is_not_taken_back_to_the_release_that_torchvision_was_built_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = (
        "torchvision 0.26.0 requires torch==2.11.0, but you have torch {0} which is incompatible.\n"
        "RuntimeError: operator torchvision::nms does not exist"
    )
    facts = '[packages]\ntorchvision = "0.26.0"\ntorch = "{0}"\n'
    nightly, release = "2.12.0.dev20260411+rocm7.1", "2.12.0"
    told = report(capsys, tmp_path, monkeypatch, log.format(nightly), facts.format(nightly))
    assert "1 error, 0 warnings" in told
    assert "torchvision 0.26.0 requires torch==2.11.0" in told
    assert 'pip install "torch==2.11.0"' not in told
    assert 'pip install "torch==2.11.0"' in report(capsys, tmp_path, monkeypatch, log.format(release), facts.format(release))


DEFAULT = "ValueError: mutable default <class '{}'> for field encoder is not allowed: use default_factory"


def test_a_default_that_python_refuses_is_told_of_the_package_with_the_python_that_fits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    facts = 'python = "3.11.5"\n[packages]\ns3prl = "0.4.13"\n'
    told = findings(capsys, tmp_path, DEFAULT.format("s3prl.upstream.roberta.EncDecBaseConfig"), facts)[0]
    assert told["packages"] == ["s3prl"]
    assert told["fixes"][0]["note"].startswith("uv venv --python 3.10, and install s3prl there; or a later release")
    assert "PACKAGE" not in str(told["fixes"])
    older = findings(capsys, tmp_path, DEFAULT.format("s3prl.upstream.roberta.EncDecBaseConfig"), 'python = "3.10"\n')
    assert not [one for one in older if "written for an older Python" in one["detail"]]
    own = findings(capsys, tmp_path, DEFAULT.format("__main__.Config"), 'python = "3.11"\n')[0]
    assert "written for an older Python" not in own["detail"]
    plain = findings(capsys, tmp_path, DEFAULT.format("list"))
    assert [one["fixes"][0]["note"].partition(",")[0] for one in plain] == ["field(default_factory=list)"]


def test_two_that_are_released_for_each_other_move_together(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = "ImportError: cannot import name '_unsloth_get_batch_samples' from 'unsloth_zoo.loss_utils' (/x/unsloth_zoo/loss_utils.py)"
    told = findings(capsys, tmp_path, log)[0]
    assert told["fixes"][0]["note"].startswith("pip install --upgrade unsloth unsloth-zoo")
    assert not any(fix.get("pins") for fix in told["fixes"])
    stated = findings(capsys, tmp_path, log, '[packages]\nunsloth = "2025.3.9"\nunsloth-zoo = "2025.3.1"\n')[0]
    assert any(fix.get("pins") for fix in stated["fixes"])


def test_what_the_stated_releases_come_to_is_not_denied_below(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = "user requested tokenizers==0.23.1\ntransformers 5.10.2 depends on tokenizers<=0.23.0 and >=0.22.0"
    told = report(capsys, tmp_path, monkeypatch, log, '[packages]\ntransformers = "5.10.2"\ntokenizers = "0.23.1"\n')
    assert "1 error" in told
    assert "nothing that is known explains this log" not in told
    assert "the log itself shows no error" in told


def test_a_text_that_does_not_fit_ends_with_a_whole_clause(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = "RuntimeError: Sizes of tensors must match except in dimension 2. Expected size 32 but got size 64."
    told = report(capsys, tmp_path, monkeypatch, log).replace("\n    | ", " ")
    assert "elsewhere images or features of two sizes\n" in told
