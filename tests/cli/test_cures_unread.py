"""A release that the atlas has not read clears no break that was computed of its neighbours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run

ATLAS = {
    "evaluate": {one: {"evaluate/__init__.py": "from xxhash import Old\n"} for one in ("0.4.1", "0.4.2", "0.4.3")},
    "xxhash": {
        "3.3.0": {"xxhash/__init__.py": ""},
        "3.4.1": {"xxhash/__init__.py": ""},
        "3.5.0": {"xxhash/__init__.py": "class Old: pass\n"},
    },
}


@pytest.fixture(scope="module", autouse=True)
def _made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS):
        yield


def test_the_cure_is_a_release_that_was_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    # xxhash 3.2.0 and evaluate 0.4.0 are nearer, and nobody knows what is in them.
    listed = tmp_path / "requirements.txt"
    listed.write_text("evaluate==0.4.1\nxxhash==3.3.0\n", encoding="utf-8")
    report = json.loads(run(capsys, "check", "--offline", "--isolated", "--format", "json", str(listed)).out)
    assert [one["rule"] for one in report["findings"]] == ["import-breaks"]
    assert report["remedy"]["pins"] == {"xxhash": "==3.5.0"}
