"""Pinned names that are one letter from a package that has the pinned release."""

from __future__ import annotations

import pytest

from envdoctor.checks.misspelt_names import misspelt_names
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value


def told(name: str, release: str, source: str = "requirements.txt", *, closed: bool = False) -> list[str]:
    fact = Fact(f"packages.{name}", parse_value(f"packages.{name}", release), Origin(source, source, 1))
    return [hit.advice for hit in misspelt_names(Facts(closed=closed).with_facts([fact]))]


@pytest.mark.parametrize(
    ("name", "release", "meant"),
    [
        ("transformer", "4.31.0", "transformers"),
        ("acelerate", "0.24.1", "accelerate"),
        ("bitsandbytse", "0.41.1", "bitsandbytes"),
        ("deepspeeed", "0.12.3", "deepspeed"),
        ("pytorch-lighting", "1.5.10", "pytorch-lightning"),
        ("torchvison", "0.15.2+cu118", "torchvision"),
    ],
)
def test_the_name_to_write_is_told(name: str, release: str, meant: str) -> None:
    assert told(name, release) == [f"write {meant}=={release}"]


@pytest.mark.parametrize(
    ("name", "release"),
    [
        ("transformers", "4.31.0"),
        # No such release of the neighbour; a range; a release that half of all projects have.
        ("transformer", "4.31.99"),
        ("transformer", ">=4.31.0"),
        ("acelerate", "0.1.0"),
        # Projects of their own; packages that a digit tells apart; a name that a listed package requires.
        ("dataset", "1.6.2"),
        ("nvidia-nccl-cu14", "2.27.3"),
        ("distribute", "2023.5.0"),
        ("two-letters-aheadd", "4.31.0"),
    ],
)
def test_what_may_be_a_project_of_its_own_is_let_be(name: str, release: str) -> None:
    assert told(name, release) == []


def test_what_is_installed_has_its_name() -> None:
    assert told("transformer", "4.31.0", "installed in /env") == told("transformer", "4.31.0", closed=True) == []


@pytest.mark.parametrize(
    ("name", "asked", "advice"),
    [
        ("sklearn", "1.2.2", "write scikit-learn==1.2.2"),
        ("sklearn", "", "write scikit-learn"),
        ("cv2", ">=4.8", "write opencv-python>=4.8"),
        ("pytorch", "2.0.1", "write torch==2.0.1"),
        ("bs4", "4.12.2", "write beautifulsoup4==4.12.2"),
        ("sklearn", "0.0", None),
        ("bs4", "", None),
        ("scikit-learn", "", None),
    ],
)
def test_the_name_of_a_module_is_no_package(name: str, asked: str, advice: str | None) -> None:
    assert told(name, asked) == ([] if advice is None else [advice])


def test_the_name_of_a_module_that_somebody_states_is_let_be() -> None:
    assert told("sklearn", "1.2.2", "facts.toml") == []
