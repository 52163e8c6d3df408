"""What only an import of a script leads to is cured for that import: a neighbour that fails in the same way is no cure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run

LOADERS = {"diffusers/__init__.py": "", "diffusers/loaders.py": "from transformers import SiglipVisionModel\nclass Mixin: pass\n"}
ATLAS = {
    "diffusers": dict.fromkeys(("0.32.0", "0.32.1", "0.32.2", "0.33.0"), LOADERS),
    "transformers": {
        "4.36.1": {"transformers/__init__.py": ""},
        "4.36.2": {"transformers/__init__.py": ""},
        "4.37.0": {"transformers/__init__.py": "class SiglipVisionModel: pass\n"},
    },
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


def test_the_cure_holds_for_what_the_script_imports(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    listed, script = tmp_path / "requirements.txt", tmp_path / "train.py"
    listed.write_text("diffusers==0.32.1\ntransformers==4.36.1\n", encoding="utf-8")
    script.write_text("from diffusers.loaders import Mixin\n", encoding="utf-8")
    ran = run(capsys, "check", "--offline", "--isolated", "--format", "json", str(listed), str(script))
    report = json.loads(ran.out)
    assert report["findings"][0]["rule"] == "import-breaks"
    pins = report["remedy"]["pins"]
    assert pins == report["findings"][0]["fixes"][0]["pins"]
    assert not pins.get("diffusers", "").startswith(("==0.32", "==0.33"))
    cured = {"diffusers": "==0.32.1", "transformers": "==4.36.1", **pins}
    listed.write_text("".join(f"{name}{pin}\n" for name, pin in cured.items()), encoding="utf-8")
    assert run(capsys, "check", "--offline", "--isolated", str(listed), str(script)).status == 0
    listed.write_text("diffusers==0.32.1\ntransformers==4.36.1\n", encoding="utf-8")
    script.write_text("import diffusers\n", encoding="utf-8")
    assert run(capsys, "check", "--offline", "--isolated", str(listed), str(script)).status == 0
