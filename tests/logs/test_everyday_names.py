"""What a project calls its own classes and functions is laid on no package that has one of that name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from envdoctor.logs.everyday_names import is_anybodys_class, is_everyday, is_of_a_snapshot
from tests.atlas.wheels import atlas_of
from tests.logs.diagnosed import NOTHING, findings

ATLAS = {
    "timm": {
        "1.0.0": {
            "timm/__init__.py": "from timm.data import TextImageDataset\n",
            "timm/data.py": "class ImageDataset:\n    def __init__(self, root): pass\n"
            "class TextImageDataset:\n    def __init__(self, root): pass\n"
            "def create_model(name, num_classes=1): pass\ndef load_data(path): pass\n",
        },
        "1.0.9": {
            "timm/__init__.py": "from timm.data import TextImageDataset\n",
            "timm/data.py": "class ImageDataset:\n    def __init__(self, root): pass\n"
            "class TextImageDataset:\n    def __init__(self, root): pass\n"
            "def create_model(name): pass\ndef load_data(path): pass\n",
        },
    }
}


@pytest.fixture(scope="module", autouse=True)
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with atlas_of(tmp_path_factory.mktemp("atlas"), ATLAS) as atlas:
        yield atlas


def test_names_of_everybody() -> None:
    assert all(map(is_everyday, ("load_data", "collate_fn", "image_size", "BatchSampler")))
    assert not any(map(is_everyday, ("nf4_detach", "num_logits_to_keep", "", "_")))
    assert all(map(is_anybodys_class, ("Encoder", "MyTrainer", "CustomModel", "ResNet", "UNet", "ImageDataset")))
    assert not any(map(is_anybodys_class, ("LoraConfig", "Accelerator", "SFTConfig")))


def test_a_class_of_a_repositorys_own_code_is_of_a_package_where_that_is_seen() -> None:
    assert is_of_a_snapshot("ChatGLMTokenizer", ("transformers",))
    assert is_of_a_snapshot("QWenTokenizer", ())
    assert not is_of_a_snapshot("ChatGLMTokenizer", ("diffusers",))
    assert not is_of_a_snapshot("LlamaTokenizer", ())


def test_what_a_package_gives_at_its_top_is_its_own() -> None:
    assert is_anybodys_class("ImageDataset", "timm")
    assert not is_anybodys_class("TextImageDataset", "timm")


@pytest.mark.parametrize(
    "log",
    [
        "TypeError: ImageDataset.__init__() got an unexpected keyword argument 'root_dir'",
        "TypeError: load_data() takes 2 positional arguments but 3 were given",
        "AttributeError: 'Encoder' object has no attribute 'embed_tokens'",
        "TypeError: unsupported operand type(s) for +: 'NoneType' and 'int'",
    ],
)
def test_an_everyday_name_is_laid_on_nobody(log: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert [one for one in findings(capsys, tmp_path, log) if one["packages"] or one["severity"] != "note"] == []


def test_it_is_where_the_package_is_stated(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    stated = f'{NOTHING}[packages]\ntimm = "1.0.9"\n'
    first, *_ = findings(capsys, tmp_path, "TypeError: create_model() got an unexpected keyword argument 'num_classes'", stated)
    assert first["packages"] == ["timm"]


def test_another_functions_name_is_no_misspelling(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sentence = "takes 2 positional arguments but 3 were given"
    assert findings(capsys, tmp_path, f"TypeError: training_step() {sentence}") == []
    assert findings(capsys, tmp_path, f"TypeError: KTOTrainer.log() {sentence}")[0]["rule"] == "trl-log-start-time-transformers-4-47"
