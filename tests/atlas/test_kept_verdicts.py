"""What was judged of a script is kept, and forgotten when anything that it came from changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from envdoctor.app import own_code
from envdoctor.checks import breaking_pairs
from envdoctor.checks.atlas import atlas_breaks
from envdoctor.facts.fact import Fact, Facts, Origin, Skip
from envdoctor.facts.versions import exact
from envdoctor.facts.vocabulary import NOT_LOADED
from envdoctor.sources.scripts import script as reader
from envdoctor.sources.scripts.source import Source
from tests.atlas.test_atlas import LIB
from tests.atlas.test_installed_code import NEW, check, folder, install
from tests.atlas.wheels import forget, make_atlas

__all__ = ["folder"]

REFUSED = ["calls acme.Kept(c)"]


def site(folder: Path) -> Path:
    return folder / "env" / "lib" / "python3.11" / "site-packages"


def told(capsys: pytest.CaptureFixture[str], folder: Path) -> list[str]:
    return [one.split(":")[0] for one in check(capsys, folder, "--python", str(folder / "env"))[1]]


def test_the_second_run_reads_no_script_and_says_the_same(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = install(folder, "3.0", NEW)
    first = check(capsys, folder, "--python", str(env))[2]
    monkeypatch.setattr(reader, "open_source", None)
    monkeypatch.setattr(own_code, "read_own", None)
    again = check(capsys, folder, "--python", str(env))[2]
    assert "read from its source" in str(first)
    assert again["findings"] == first["findings"] != []
    assert {key for key in first if first[key] != again.get(key)} <= {"elapsed_seconds"}


@pytest.mark.usefixtures("folder")
def test_what_a_script_uses_of_an_environment_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [Fact(f"packages.{name}", exact(release), Origin("installed")) for name, release in (("user", "0.1"), ("acme", "2.0"))]

    def broken(*not_loaded: str) -> list[str]:
        forget()
        return [
            hit.edge
            for hit in atlas_breaks(Facts({fact.name: fact for fact in (*installed, Fact(NOT_LOADED, not_loaded, Origin("script")))}))
        ]

    for again in (False, True):
        if again:
            monkeypatch.setattr(breaking_pairs, "import_breaks", None)
        assert broken("trl") == ["user:acme.Old"]
        assert broken("trl", "user") == []


def test_a_script_is_parsed_once_and_says_what_it_says_alone(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = install(folder, "3.0", NEW)
    parsed: list[str] = []
    whole = reader.open_source

    def parse(path: Path) -> Source | Skip:
        parsed.append(str(path))
        return whole(path)

    monkeypatch.setattr(reader, "open_source", parse)
    once = told(capsys, folder)
    assert once == REFUSED
    assert len(parsed) == len(set(parsed)) > 0
    # Where nothing is handed on, both read it for themselves, and come to the same.
    (folder / "train.py").write_text((folder / "train.py").read_text() + "# again\n")
    parsed.clear()
    monkeypatch.setattr(reader, "hand_on", lambda source: None)
    assert told(capsys, folder) == once
    assert len(parsed) == 2 * len(set(parsed))
    assert str(env)


def test_what_others_may_write_is_not_believed(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    install(folder, "3.0", NEW)
    assert told(capsys, folder) == REFUSED
    kept = list((folder / "user-cache" / "envdoctor").glob("verdict-*"))
    for path in kept:
        path.write_text(path.read_text().replace("calls acme.Kept(c)", "calls acme.Other(c)"))
    assert told(capsys, folder) == ["calls acme.Other(c)"]
    for path in kept:
        path.chmod(0o666)
    assert told(capsys, folder) == REFUSED


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def rewrite(path: Path, old: str, new: str) -> None:
    """Another content under the same size and time."""
    status = path.stat()
    path.write_text(path.read_text().replace(old, new))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size


_TAKES = "class Kept:\n    def __init__(self, a, c=1, e=1): pass\n"
CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "the script, under the same size and time": (lambda at: rewrite(at / "train.py", "c=2", "e=2"), []),
    "a module that the script imports": (lambda at: rewrite(at / "mine.py", "e=1", "b=1"), ["calls acme.Kept(b)", *REFUSED]),
    "a module that was not there": (
        lambda at: write(at / "other.py", "from acme import Kept\nKept(1, b=1)\n"),
        [*REFUSED, "calls acme.Kept(b)"],
    ),
    "a module of the project that goes by the name of the package": (lambda at: write(at / "acme.py", ""), []),
    "a file of the package": (lambda at: write(site(at) / "acme/core.py", _TAKES), []),
    "a file of the package that was not there": (lambda at: write(site(at) / "acme/core/__init__.py", _TAKES), []),
    "where the package is from": (lambda at: write(site(at) / "acme-3.0.dist-info/direct_url.json", '{"dir_info": {}}'), REFUSED),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_seen(capsys: pytest.CaptureFixture[str], folder: Path, what: str) -> None:
    (folder / "train.py").write_text("import mine\nimport other\nfrom acme import Kept\nKept(1, c=2)\n")
    (folder / "mine.py").write_text("from acme import Kept\nKept(1, e=1)\n")
    install(folder, "3.0", NEW)
    assert told(capsys, folder) == REFUSED
    change, after = CHANGES[what]
    change(folder)
    assert sorted(told(capsys, folder)) == sorted(after)
    assert sorted(told(capsys, folder)) == sorted(after)


def test_another_release_or_atlas_is_judged_anew(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    def refused(release: str) -> list[str]:
        (folder / "requirements.txt").write_text(f"acme=={release}\n")
        return [one.split(":")[0] for one in check(capsys, folder, str(folder / "requirements.txt"))[1]]

    before = refused("1.0")
    assert refused("2.0") != before == refused("1.0")
    old = {release: {**files, "acme/core.py": files["acme/core.py"].replace("b=1", "b=1, c=1, e=1")} for release, files in LIB.items()}
    make_atlas(folder, {"acme": old})
    forget()
    assert refused("1.0") == [] != before


@pytest.mark.parametrize("table", ["DECIDING", "_READING"])
def test_what_another_envdoctor_found_is_not_believed(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    install(folder, "3.0", NEW)
    write(folder / "ours" / "one.py", "")
    monkeypatch.setattr(own_code, table, (str(folder / "ours"),))
    assert told(capsys, folder) == REFUSED
    monkeypatch.setattr(own_code, "_examine_scripts", lambda *_: ())
    assert told(capsys, folder) == REFUSED
    write(folder / "ours" / "two.py", "")
    assert told(capsys, folder) == []


def test_a_configuration_that_a_script_names_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from envdoctor.sources.scripts.kept import collect_script

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    script = tmp_path / "train.py"
    script.write_text("from transformers import TrainingArguments\nTrainingArguments('out', deepspeed='ds.json')\n")

    def stage() -> object:
        return {fact.name: fact.value for fact in collect_script(script).facts}.get("plan.distributed")

    assert stage() is None
    for number in (3, 2):
        (tmp_path / "ds.json").write_text(json.dumps({"zero_optimization": {"stage": number}}))
        assert stage() == f"zero{number}"
    assert collect_script(script) == reader.collect_script(script)


def test_what_a_notebook_installs_is_kept_as_it_was_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from envdoctor.sources.scripts.kept import collect_script

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    notebook = tmp_path / "train.ipynb"
    lines = ['!pip install trl==0.9.6 "peft>=0.10" nonsense==x\n', "import torch\n", "torch.backends.cuda.matmul.allow_tf32 = True"]
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": lines}]}))
    first = collect_script(notebook)
    assert {"packages.trl", "packages.peft"} <= {fact.name for fact in first.facts}
    assert first.wanted
    monkeypatch.setattr(reader, "read_script", None)
    assert collect_script(notebook) == first
