"""Names that modules hand on to each other when they are asked for: what such an import loads is followed to its end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.atlas.wheels import atlas_of
from tests.cli.run import run

LAZY = (
    "_import_structure = {{{here!r}: [{name!r}]}}\nimport sys\nfrom .lazy import _LazyModule\n"
    "sys.modules[__name__] = _LazyModule(__name__, globals()['__file__'], _import_structure, module_spec=__spec__)\n"
)
LAZY_MODULE = "class _LazyModule:\n    def __init__(self, *a, **k): pass\n    def __getattr__(self, name): pass\n"
DIFFUSERS = {
    "diffusers/__init__.py": LAZY.format(here="pipelines", name="StableDiffusionPipeline"),
    "diffusers/lazy.py": LAZY_MODULE,
    "diffusers/pipelines/__init__.py": LAZY.format(here="stable", name="StableDiffusionPipeline").replace(".lazy", "..lazy"),
    "diffusers/pipelines/stable.py": "from transformers import SiglipVisionModel\nclass StableDiffusionPipeline: pass\n",
}
ATLAS = {
    "diffusers": {"0.32.1": DIFFUSERS},
    "transformers": {
        "4.36.1": {"transformers/__init__.py": ""},
        "4.37.0": {"transformers/__init__.py": "class SiglipVisionModel: pass\n"},
    },
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


@pytest.mark.parametrize(("release", "status"), [("4.36.1", 1), ("4.37.0", 0)])
def test_what_a_name_leads_to_over_two_modules_that_hand_it_on_is_missed(
    release: str, status: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    listed, script = tmp_path / "requirements.txt", tmp_path / "train.py"
    listed.write_text(f"diffusers==0.32.1\ntransformers=={release}\n", encoding="utf-8")
    script.write_text("from diffusers import StableDiffusionPipeline\n", encoding="utf-8")
    ran = run(capsys, "check", "--offline", "--isolated", str(listed), str(script))
    assert ran.status == status
    assert ("diffusers/pipelines/stable.py:1" in ran.out) is bool(status)
