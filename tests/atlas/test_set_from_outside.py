"""What a package does to its classes from outside: a constructor that drops what it does not take refuses no call."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from envdoctor.atlas.own_code import faults_of
from envdoctor.atlas.reading import read_tree
from envdoctor.atlas.set_from_outside import drops_what_it_does_not_take
from envdoctor.atlas.stack import Stack
from tests.atlas.wheels import atlas_of


@pytest.mark.parametrize(
    ("package", "release", "name", "drops"),
    [
        ("albumentations", "2.0.8", "albumentations:GaussNoise", True),
        ("albumentations", "1.4.10", "albumentations.augmentations.transforms:ImageCompression", True),
        ("albumentations", "1.4.2", "albumentations:GaussNoise", False),
        ("albumentations", "2.0.8", "albumentations:from_dict", False),
        ("torchvision", "0.20.0", "torchvision.transforms:Resize", False),
    ],
)
def test_transforms_of_albumentations_drop_keywords(package: str, release: str, name: str, drops: bool) -> None:
    assert drops_what_it_does_not_take(package, release, name) is drops


def test_a_script_that_passes_such_a_keyword_is_told_of_the_releases_alone_that_refuse_it(tmp_path: Path) -> None:
    before, after = "class Noise:\n    def __init__(self, var_limit=1): pass\n", "class Noise:\n    def __init__(self, std=1): pass\n"
    releases = {"1.3.1": before, "1.4.2": after, "2.0.8": after}
    text = "from albumentations import Noise\nNoise(var_limit=5)\n"
    outline = read_tree(ast.parse(text), text, "__main__")
    with atlas_of(tmp_path, {"albumentations": {release: {"albumentations/__init__.py": code} for release, code in releases.items()}}):
        told = {release: [fault.line for fault in faults_of(outline, Stack({"albumentations": release}))] for release in releases}
    assert told == {"1.3.1": [], "1.4.2": [2], "2.0.8": []}
