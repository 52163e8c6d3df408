"""The bundled list of releases."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from itertools import pairwise

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from envdoctor.world.releases import (
    Release,
    as_of,
    day_of,
    exists,
    known_until,
    listed,
    newest,
    prereleases,
    release_texts,
    releases,
    tracked,
)


def test_known_releases() -> None:
    by_version = {release.version: release for release in releases("peft")}
    assert by_version["0.11.1"] == Release("0.11.1", "2024-05-17", yanked=False, requires_python=">=3.8.0", wheel=True)
    assert release_texts("torch")[0] == "1.0.0"
    assert [version for version in release_texts("torch") if version.startswith("2.5.")] == ["2.5.0", "2.5.1"]
    yanked = {release.version for release in releases("transformers") if release.yanked}
    assert {"4.25.0", "4.46.0", "4.52.0"} <= yanked
    assert "4.48.0" not in yanked
    assert not any(release.wheel for release in releases("flash-attn"))


def test_the_day_of_a_release() -> None:
    assert [day_of("PEFT", "0.11.1"), day_of("peft", "0.11.99"), day_of("peft", "0.11.1+x"), day_of("no-such-package", "1")] == [
        "2024-05-17",
        None,
        None,
        None,
    ]
    for name in ("torch", "numpy"):
        assert [day_of(name, release.version) for release in releases(name)] == [release.date for release in releases(name)]
    with known_until("2024-05-16"):
        assert day_of("peft", "0.11.1") is None


def test_names_are_normalised() -> None:
    assert releases("huggingface_hub") == releases("HuggingFace.-_Hub") != ()


def test_untracked_package_has_no_releases() -> None:
    assert releases("no-such-package") == ()
    assert release_texts("no-such-package") == ()
    assert newest("no-such-package") is None
    assert exists("no-such-package", "1.0") is None
    assert "no-such-package" not in tracked()


@pytest.mark.parametrize(
    ("name", "version", "expected"),
    [
        ("torch", "2.5.0", True),
        ("torch", "2.5", True),
        ("torch", "2.5.0+cu118", True),
        ("torch", "v2.5.0", True),
        ("torch", " 2.5.0 ", True),
        ("torch", "0!2.5.0", True),
        ("torch", "2.5.2", False),
        ("torch", "2.5.2+cu118", False),
        ("torch", "99.0", False),
        ("torch", "2.4.0a0+07cecf4168.nv24.5", None),
        ("torch", "2.6.0.dev20241112+cu124", None),
        ("transformers", "4.46.0", True),
        ("transformers", "4.48.5", False),
        ("transformers", "5.0.0rc1", True),
        ("transformers", "v5.0.0-rc.1", True),
        ("transformers", "5.0.0rc99", False),
        ("transformers", "4.41.0.dev0", False),
        ("transformers", "4.41.0.dev0+g1234567", None),
        ("peft", "0.3.0dev", False),
        ("peft", "0.3.0.dev0", False),
        ("torch", "2.6.0rc1", None),
        ("numpy", "2.5.0.dev0", None),
        ("scipy", "1.11.1", True),
        ("Pillow", "9.4.0", True),
        ("pillow", "9.4.7", False),
        ("flash_attn", "2.5.9.post1", True),
        ("flash_attn", "2.5.9.post9", False),
    ],
)
def test_exists(name: str, version: str, expected: bool | None) -> None:
    assert exists(name, version) is expected


@pytest.mark.parametrize("text", ["", "latest", "2.5.*", ">=2", "2.5.0+"])
def test_exists_wants_a_version(text: str) -> None:
    with pytest.raises(InvalidVersion):
        exists("torch", text)


def test_newest_is_the_last_release_that_is_not_yanked() -> None:
    for name in listed():
        kept = [release.version for release in releases(name) if not release.yanked]
        assert newest(name) == str(max(map(Version, kept)))


def test_the_bundle_is_in_order_and_complete() -> None:
    assert {"torch", "transformers", "peft", "accelerate", "bitsandbytes", "tokenizers", "safetensors", "huggingface-hub"} <= tracked()
    assert tracked() | {"scipy", "gradio", "pydantic", "opencv-python"} <= listed()
    made = date.fromisoformat(as_of())
    for name in listed():
        assert name == name.lower().replace("_", "-").replace(".", "-")
        versions = [Version(text) for text in release_texts(name)]
        assert versions
        assert all(earlier < later for earlier, later in pairwise(versions)), name
        assert not any(version.is_prerelease or version.local for version in versions)
        for release in releases(name):
            assert release.date is None or date.fromisoformat(release.date) <= made
            SpecifierSet(release.requires_python or "")
        known = prereleases(name)
        assert known is not None
        early = [Version(text) for text in known]
        assert all(version.is_prerelease for version in early)
        assert early == sorted(set(early))


def test_importing_reads_nothing() -> None:
    code = (
        "import envdoctor.world.releases as r, envdoctor.world.tables as t; assert t.table.cache_info().currsize == 0\n"
        "r.as_of(); assert t.table.cache_info().currsize == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_day_hides_what_came_after_it() -> None:
    with known_until("2023-05-02"):
        assert (release_texts("peft")[-1], as_of(), exists("peft", "0.11.1")) == ("0.2.0", "2023-05-02", False)
    assert exists("peft", "0.11.1") is True


def test_what_is_known_of_packages_that_nobody_lists() -> None:
    assert prereleases("no-such-package") is None
    assert exists("no-such-package", "1.0rc1") is None
    assert "no-such-package" not in listed()
