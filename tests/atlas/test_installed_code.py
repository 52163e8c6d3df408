"""Releases that the atlas has not read: from their installed source, or told as unknown."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.atlas.test_atlas import LIB, USER
from tests.atlas.wheels import atlas_of
from tests.cli.run import run

SCRIPT = "import acme\nfrom acme import Kept\nacme.Old()\nKept(1, c=2)\nKept(1, e=2)\n"
NEW = {
    "acme/__init__.py": "from .core import Kept\nfrom .moved import Old\n",
    "acme/core.py": "class Kept:\n    def __init__(self, a, e=1): self.y = a\n",
    "acme/moved.py": "class Old: pass\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user-cache"))
    (tmp_path / "train.py").write_text(SCRIPT)
    with atlas_of(tmp_path, {"acme": LIB, "user": USER}):
        yield tmp_path


def install(folder: Path, version: str, files: dict[str, str], url: dict[str, Any] | None = None) -> Path:
    """An environment with this release of acme, as pip leaves it."""
    prefix = folder / "env"
    site = prefix / "lib" / "python3.11" / "site-packages"
    info = site / f"acme-{version}.dist-info"
    info.mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text("home = /nowhere\nversion = 3.11.7\n")
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: acme\nVersion: {version}\n")
    rows = []
    for name, text in files.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(text)}")
    (info / "RECORD").write_text("\n".join(rows) + "\n")
    if url is not None:
        (info / "direct_url.json").write_text(json.dumps(url))
    return prefix


def check(capsys: pytest.CaptureFixture[str], folder: Path, *words: str) -> tuple[int, list[str], Any]:
    done = run(capsys, "check", str(folder / "train.py"), *words, "-f", "json")
    told = json.loads(done.out)
    return done.status, [one["detail"] for one in told["findings"] if one["rule"] == "code-breaks"], told


class TestInstalled:
    def test_a_newer_release_is_read_from_its_source(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        env = install(folder, "3.0", NEW)
        expected = ["calls acme.Kept(c): the call is refused: gone since 3.0 (acme 3.0); write e= for c="]
        assert check(capsys, folder, "--python", str(env))[:2] == (1, expected)
        assert "acme 3.0 (newer than 2.0): read from its source: acme/__init__.py" in run(
            capsys, "check", str(folder / "train.py"), "--python", str(env)
        ).out.replace("\n           ", " ")
        # What was kept says the same.
        assert list((folder / "user-cache" / "envdoctor" / "outlines").glob("acme-*.json"))
        assert check(capsys, folder, "--python", str(env))[1] == expected
        # Of another content it is read anew.
        path = env / "lib" / "python3.11" / "site-packages" / "acme" / "core.py"
        path.write_text(path.read_text().replace("e=1", "c=1"))
        assert check(capsys, folder, "--python", str(env))[1] == [
            "calls acme.Kept(e): the call is refused by every release that was read (acme 3.0)"
        ]

    def test_a_file_that_was_edited_is_read_as_it_is(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        env = install(folder, "2.0", dict(LIB["2.0"]))
        assert [one.split(":")[0] for one in check(capsys, folder, "--python", str(env))[1]] == ["uses acme.Old", "calls acme.Kept(e)"]
        first = env / "lib" / "python3.11" / "site-packages" / "acme" / "__init__.py"
        first.write_text("from .core import Kept\nfrom .moved import Old\n")
        status, told, report = check(capsys, folder, "--python", str(env))
        assert (status, [one.split(":")[0] for one in told]) == (1, ["calls acme.Kept(e)"])
        assert "acme 2.0 (edited after it was installed): read from its source: acme/__init__.py" in json.dumps(report)

    def test_a_file_that_was_only_copied_is_not_read(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        env = install(folder, "2.0", dict(LIB["2.0"]))
        for path in (env / "lib" / "python3.11" / "site-packages" / "acme").iterdir():
            os.utime(path, (path.stat().st_mtime + 1000,) * 2)
        assert "read from its source" not in json.dumps(check(capsys, folder, "--python", str(env))[2])

    @pytest.mark.parametrize(
        "url", [{"url": "https://x.invalid/acme.git", "vcs_info": {"vcs": "git"}}, {"url": "file:///x", "dir_info": {}}]
    )
    def test_a_fork_under_a_known_number_is_read(self, capsys: pytest.CaptureFixture[str], folder: Path, url: dict[str, Any]) -> None:
        env = install(folder, "2.0", NEW, url)
        told = check(capsys, folder, "--python", str(env))[1]
        assert [one.split(":")[0] for one in told] == ["calls acme.Kept(c)"]

    def test_an_editable_install_is_read_where_its_finder_says(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        env = install(folder, "2.0", {}, {"url": "file:///x", "dir_info": {"editable": True}})
        for name, text in NEW.items():
            path = folder / "work" / name.replace("acme/", "sources/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        finder = env / "lib" / "python3.11" / "site-packages" / "__editable___acme_2_0_finder.py"
        finder.write_text(f"import sys\nMAPPING: dict[str, str] = {{'acme': {str(folder / 'work' / 'sources')!r}}}\nNAMESPACES = {{}}\n")
        told = check(capsys, folder, "--python", str(env))[1]
        assert [one.split(":")[0] for one in told] == ["calls acme.Kept(c)"]


class TestUnread:
    def test_an_upgrade_to_a_release_that_nobody_read_is_not_silently_fine(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        (folder / "requirements.txt").write_text("acme==1.0\n")
        status, told, report = check(capsys, folder, str(folder / "requirements.txt"), "--against", "acme==9.0")
        assert (status, told) == (2, [])
        skip = next(one for one in report["skipped"] if "acme" in one["what"])
        assert skip == {
            "what": "--against acme==9.0",
            "why": "the atlas has not read this release (its newest is 2.0); what is taken from it is not judged",
            "unexamined": True,
        }

    def test_it_says_by_which_release_another_is_judged(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        (folder / "requirements.txt").write_text("acme==1.0\n")
        _, _, report = check(capsys, folder, str(folder / "requirements.txt"), "--against", "acme==1.0.5")
        assert "judged by 1.0 and 1.1, where they agree" in json.dumps(report["skipped"])

    def test_a_pin_that_nobody_read_is_told(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        (folder / "requirements.txt").write_text("acme==9.0\n")
        status, told, report = check(capsys, folder, str(folder / "requirements.txt"))
        assert (status, told) == (0, [])
        assert "acme 9.0" in [one["what"] for one in report["skipped"]]

    def test_no_fix_of_an_upgrade_goes_back_from_it(self, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        (folder / "requirements.txt").write_text("acme==1.0\n")
        report = check(capsys, folder, str(folder / "requirements.txt"), "--against", "acme==2.0")[2]
        assert [one["rule"] for one in report["findings"]].count("code-breaks") == 2
        assert "acme==1" not in json.dumps([one["fixes"] for one in report["findings"]]) + json.dumps(report["remedy"])
