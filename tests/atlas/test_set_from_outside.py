"""What a package does to its classes from outside: a constructor that drops what it does not take refuses no call."""

from __future__ import annotations

import pytest

from envdoctor.atlas.set_from_outside import drops_what_it_does_not_take


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
