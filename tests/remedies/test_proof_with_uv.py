"""uv itself: with a handful of wheels that exist only here, and with the real index."""

from __future__ import annotations

import platform
import zipfile
from collections.abc import Mapping

import pytest

from envdoctor.remedies.proof import WholeSet, prove, proven
from envdoctor.remedies.remedy import Move, Remedy
from envdoctor.world.installation import Installation
from tests.remedies.universe import stated

pytest.importorskip("uv")

WHEELS: Mapping[str, tuple[str, ...]] = {
    "torch-2.4.1": (),
    "torch-2.4.1+cu118": ("nvidia-cudnn-cu11==9.1",),
    "torch-2.4.0+cu118": ("nvidia-cudnn-cu11==9.1",),
    "nvidia_cudnn_cu11-9.1": (),
    "alpha-1.0": ("beta<2",),
    "alpha-2.0": ("beta>=2",),
    "alpha-2.1": ("beta>=3",),
    "beta-1.0": (),
    "beta-1.5": (),
    "beta-2.0": ("gamma",),
    "beta-2.5": ("gamma",),
    "gamma-1.0": (),
    "gamma-1.1": (),
    "twin-1.0": ("alpha<2.1",),
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A directory of wheels, as the only index."""
    directory = tmp_path_factory.mktemp("wheels")
    for stem, requires in WHEELS.items():
        name, _, version = stem.partition("-")
        info = f"{stem}.dist-info"
        with zipfile.ZipFile(directory / f"{stem}-py3-none-any.whl", "w") as wheel:
            lines = "".join(f"Requires-Dist: {one}\n" for one in requires)
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{lines}")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return directory.as_uri()


def pin(**pins: str) -> Remedy:
    return Remedy({name: f"=={release}" for name, release in pins.items()}, ("a-rule",), ())


# Of any other Python uv looks for an interpreter first, in every place where one may be: the tests below that name one do so on purpose.
HERE = platform.python_version()


def whole(*lines: str, shelf: str = "", python: str = HERE, closed: bool = False, constraints: tuple[str, ...] = ()) -> WholeSet:
    facts = {f"packages.{line.partition('==')[0]}": line.partition("==")[2] for line in lines if "==" in line}
    indexes = ("--no-index", f"--find-links {shelf}") if shelf else ()
    where = Installation().on("linux", "x86_64").with_python(python)
    return WholeSet(stated({"python": python, **facts}, closed=closed), where, () if closed else lines, constraints, indexes)


def test_existing_releases_are_kept_where_they_can_be(shelf: str) -> None:
    found = prove([pin(alpha="2.0")], whole("alpha==1.0", "beta==2.0", "gamma", shelf=shelf))
    assert (found.verified, found.moves) == ("resolver", ()), found.proof
    # gamma 1.0 is not the newest, and stays.
    held = prove([pin(alpha="2.0")], whole("alpha==1.0", "beta==1.0", "gamma==1.0", shelf=shelf, closed=True))
    assert (held.verified, held.moves) == ("resolver", (Move("beta", "1.0", "2.5"),))


def test_a_conflict_is_told_and_the_next_candidate_is_tried(shelf: str) -> None:
    found, refused = proven([pin(alpha="2.1"), pin(alpha="2.0")], whole("alpha==1.0", "twin==1.0", shelf=shelf))
    assert (dict(found.pins), found.verified) == ({"alpha": "==2.0"}, "resolver")
    # A file that lists alpha<2 and beta pulls beta 1.5 in; with alpha 2.0 it moves, and gamma comes.
    assert found.moves == (Move("beta", "1.5", "2.5"), Move("gamma", "", "1.1"))
    assert "alpha" in refused.conflict
    assert "twin depend on alpha<2.1" in refused.conflict
    assert "\n" not in refused.conflict


@pytest.mark.large
def test_a_cuda_build_is_asked_for_where_an_index_has_it(shelf: str) -> None:
    found = prove([pin(torch="2.4.1+cu118")], whole("torch==2.4.0+cu118", shelf=shelf, python="3.10"))
    assert (found.verified, found.moves) == ("resolver", ()), found.proof
    assert found.proof == "uv takes the whole set for Python 3.10, linux x86_64"
    missing = prove([pin(torch="2.3.1+cu118")], whole("torch==2.4.0+cu118", shelf=shelf))
    assert (missing.pins, missing.unfixable) == ({}, ("a-rule",))
    assert "torch==2.3.1+cu118" in missing.conflict


def test_what_the_index_lacks_is_left_out(shelf: str) -> None:
    found = prove([pin(alpha="2.0")], whole("alpha==1.0", "beta==2.0", "gamma==1.0", "our-models==1", shelf=shelf, closed=True))
    assert (found.verified, found.moves) == ("resolver", ()), found.proof
    assert "left out: our-models (" in found.proof


@pytest.mark.network
def test_real_releases_that_exclude_each_other() -> None:
    found, refused = proven([pin(tokenizers="0.19.1"), pin(tokenizers="0.15.2")], whole("transformers==4.38.2", "tokenizers==0.13.3"))
    assert (dict(found.pins), found.verified) == ({"tokenizers": "==0.15.2"}, "resolver")
    assert "transformers==4.38.2 depends on tokenizers>=0.14,<0.19" in refused.conflict


@pytest.mark.network
def test_a_real_release_that_needs_another_to_move() -> None:
    stack = whole("transformers==4.44.2", "peft==0.11.1", "accelerate==0.20.3", "torch==2.4.1")
    found = prove([pin(peft="0.17.1")], stack)
    (accelerate,) = found.moves
    assert (found.verified, accelerate.package, accelerate.before) == ("resolver", "accelerate", "0.20.3")


@pytest.mark.network
def test_real_releases_for_an_old_python() -> None:
    found, refused = proven([pin(transformers="4.49.0"), pin(transformers="4.46.3")], whole("transformers==4.38.2", python="3.8.18"))
    assert (dict(found.pins), found.proof) == ({"transformers": "==4.46.3"}, "uv takes the whole set for Python 3.8, linux x86_64")
    assert "Python>=3.9.0" in refused.conflict


@pytest.mark.network
def test_a_real_cuda_build_stays_one() -> None:
    found = prove([pin(torch="2.4.1+cu118")], whole("torch==2.4.0+cu118", "torchvision==0.19.1"))
    assert (dict(found.pins), found.verified) == ({"torch": "==2.4.1+cu118"}, "resolver")
    assert found.index == "https://download.pytorch.org/whl/cu118"
    assert found.proof.partition("; ")[2] in ("", f"the cu118 build of torch 2.4.1 was not asked for: {found.index} did not answer")
