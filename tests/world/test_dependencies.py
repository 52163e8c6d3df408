"""What releases require of others, as the bundled table has it."""

from __future__ import annotations

import subprocess
import sys

from packaging.markers import Marker
from packaging.requirements import Requirement

from envdoctor.world.dependencies import Dependency, dependencies, extra_dependencies, rows, versions
from envdoctor.world.releases import day_of, listed, release_texts, releases, requires_python, yanked
from tests.each import each


def test_what_binds_a_version_and_what_does_not() -> None:
    bound = dependencies("peft", "0.14.0")
    assert bound is not None
    assert {one.name for one in bound} == {"numpy", "packaging", "torch", "accelerate", "huggingface-hub"} & {one.name for one in bound}
    assert Dependency("accelerate", ">=0.21.0") in bound
    assert all(one.specifier for one in bound)
    every = dependencies("peft", "0.14.0", unbound=True)
    assert every is not None
    assert set(bound) < set(every)
    assert {one.name for one in every if not one.specifier} == {"psutil", "pyyaml", "transformers", "tqdm", "safetensors"}


def test_the_extras_of_a_requirement_are_told() -> None:
    found = dependencies("datasets", "2.19.0") or ()
    assert [one for one in found if one.name == "fsspec"] == [Dependency("fsspec", "<=2024.3.1,>=2023.1.0", "", ("http",))]


def test_what_an_extra_adds() -> None:
    torch = extra_dependencies("transformers", "4.40.0", "torch") or ()
    assert {one.name for one in torch} == {"torch", "accelerate"}
    assert Dependency("accelerate", ">=0.21.0") in torch
    assert not {one.name for one in dependencies("transformers", "4.40.0", unbound=True) or ()} & {"torch", "accelerate"}
    assert extra_dependencies("transformers", "4.40.0", "no-such-extra") == ()
    assert extra_dependencies("transformers", "4.40.0", "dev") == ()
    assert extra_dependencies("transformers", "99.0", "torch") is None


def test_a_release_is_the_same_with_fewer_zeros_at_its_end() -> None:
    assert dependencies("torchaudio", "0.10") == dependencies("torchaudio", "0.10.0") == (Dependency("torch", "==1.10.0"),)
    assert dependencies("torchaudio", "0.10.0.0") == dependencies("torchaudio", "0.10.0")
    assert dependencies("torchaudio", "0.1") is None
    assert extra_dependencies("transformers", "4.40", "torch") == extra_dependencies("transformers", "4.40.0", "torch")
    assert day_of("torch", "2.8") == day_of("torch", "2.8.0") is not None
    assert yanked("transformers", "4.46") == yanked("transformers", "4.46.0")
    assert requires_python("numpy", "2.0") == requires_python("numpy", "2.0.0") != ""
    assert day_of("torch", "2") == day_of("torch", "2.0.0")
    assert day_of("torch", "2.80") is None


def test_rows_hold_every_release_of_the_table_once() -> None:
    for name in ("transformers", "peft", "numpy", "gradio"):
        told = [version for _, some in rows(name) for version in some]
        assert sorted(told) == sorted(versions(name))
        assert all(one.specifier for required, _ in rows(name) for one in required)


def test_almost_every_release_with_a_wheel_is_in_the_table() -> None:
    wheels = [(name, release.version) for name in listed() for release in releases(name) if release.wheel]
    known = sum(dependencies(name, version) is not None for name, version in wheels)
    assert known > 0.99 * len(wheels) > 10_000


@each("name", sorted(listed()))
def test_every_row_is_a_requirement_that_can_be_judged(name: str) -> None:
    assert set(versions(name)) <= set(release_texts(name))
    seen = {one for version in versions(name) for one in dependencies(name, version, unbound=True) or ()}
    for one in seen:
        extras = f"[{','.join(one.extras)}]" if one.extras else ""
        requirement = Requirement(f"{one.name}{extras}{one.specifier}")
        assert (requirement.name, requirement.extras) == (one.name, set(one.extras))
        assert "extra" not in one.marker
        if one.marker:
            Marker(one.marker)


def test_importing_reads_nothing() -> None:
    code = (
        "import envdoctor.world.dependencies as d, envdoctor.world.tables as t; assert t.table.cache_info().currsize == 0\n"
        "d.as_of(); assert t.table.cache_info().currsize == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
