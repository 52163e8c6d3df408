import json
from pathlib import Path

import pytest

import envdoctor.world.torch_builds as module
from envdoctor.world.torch_builds import (
    TorchBuild,
    cuda_builds,
    nearest_variant,
    other_variants,
    releases_listed,
    runs_on,
    torch_build,
    variants,
)


def _build(*sm: str, ptx: str | None = None) -> TorchBuild:
    return TorchBuild("9.9", "cu999", "99.9", sm, ptx, False, "", "")


@pytest.mark.parametrize(
    ("version", "variant", "cuda"),
    [
        ("2.5.0+cu118", "cu118", "11.8"),
        ("2.5.1", "cu124", "12.4"),
        ("2.0", "cu117", "11.7"),
        ("2.10.0", "cu128", "12.8"),
        ("2.15.0", "cu132", "13.2"),
        ("2.13.0+cpu", "cpu", None),
        ("2.1.0+cpu.cxx11.abi", "cpu", None),
        ("2.9.0.dev20250701+cpu", "cpu", None),
        ("2.1.2+cu121.with.pypi.cudnn", "cu121", "12.1"),
    ],
)
def test_a_version_names_its_build(version: str, variant: str, cuda: str | None) -> None:
    build = torch_build(version)
    assert build is not None
    assert (build.variant, build.cuda) == (variant, cuda)


@pytest.mark.parametrize(
    "version",
    ["2.9.1+rocm6.3", "2.5.0a0+872d972e41.nv24.8", "2.8.0.dev20250601+cu128", "1.4.0", "99.0.0", "2.6.0+xpu", "2.6.0+git123", "", "x"],
)
def test_a_build_of_another_kind_is_unknown(version: str) -> None:
    assert torch_build(version) is None


def test_a_variant_that_is_not_listed_has_its_cuda_and_no_targets() -> None:
    build = torch_build("2.3.0+cu999")
    assert build is not None
    assert (build.cuda, build.sm) == ("99.9", ())
    assert runs_on(build, "9.0") is None


def test_the_variants_of_a_release() -> None:
    assert variants("2.5.1") == variants("2.5") == ("cu118", "cu121", "cu124")
    assert variants("2.11.0", "aarch64") == ("cu126", "cu128", "cu130")
    assert variants("99.0") == variants("nightly") == ()


@pytest.mark.parametrize(
    ("version", "capability", "runs"),
    [
        ("2.8.0", "6.1", False),  # GTX 1080 with the default wheel of 2.8
        ("2.8.0+cu126", "6.1", True),
        ("2.7.1", "6.1", True),
        ("2.10.0", "7.0", True),  # V100
        ("2.11.0", "7.0", False),
        ("2.11.0+cu126", "7.0", True),
        ("2.7.0+cu128", "7.0", False),
        ("2.5.1", "12.0", False),  # RTX 5090
        ("2.7.0", "12.0", False),
        ("2.7.0+cu128", "12.0", True),
        ("2.8.0", "12.0", True),
        ("2.8.0", "12.1", True),
        ("2.8.0", "10.3", True),
        ("2.5.1", "8.9", True),  # RTX 4090, by code for 8.6
        ("2.0.0", "9.0", False),  # H100 with the default wheel of 2.0
        ("2.0.0+cu118", "9.0", True),
        ("2.8.0", "8.7", False),  # Jetson Orin
        ("2.1.0+cu118", "3.7", True),
        ("2.13.0", "13.0", None),  # only PTX could serve it, which no wheel of that release was seen to have
        ("2.13.0", "7.0", False),
        ("2.13.0+cpu", "8.0", False),
    ],
)
def test_which_gpu_a_wheel_runs_on(version: str, capability: str, runs: bool | None) -> None:
    build = torch_build(version)
    assert build is not None
    assert runs_on(build, capability) is runs


def test_compiled_code_runs_on_later_minors_of_its_major_and_ptx_on_all_later_gpus() -> None:
    assert [runs_on(_build("sm_80"), text) for text in ("7.5", "8.0", "8.6", "8.7", "8.9", "9.0")] == [
        False,
        True,
        True,
        False,
        True,
        False,
    ]
    assert [runs_on(_build("sm_80", ptx="compute_80"), text) for text in ("7.5", "8.7", "9.0", "12.1")] == [False, True, True, True]
    assert [runs_on(_build("sm_86"), text) for text in ("8.0", "8.6")] == [False, True]
    assert [runs_on(_build("sm_87"), text) for text in ("8.6", "8.7", "8.9")] == [False, True, False]
    assert [runs_on(_build("sm_101"), text) for text in ("10.0", "10.1", "10.3", "11.0")] == [False, True, False, True]
    assert [runs_on(_build("sm_100"), text) for text in ("10.0", "10.1", "10.3", "11.0")] == [True, False, True, False]


def test_a_capability_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match=r"sm_86.*expected a compute capability"):
        runs_on(_build("sm_80"), "sm_86")


def test_the_table_is_whole() -> None:
    table = json.loads((Path(module.__file__).parent.parent / "data" / "torch_builds.json").read_text("utf-8"))
    grades = {"measured", "script", "documented", "quoted"}
    for row in table["builds"]:
        assert row["evidence"] in grades
        assert row["sources"]
        assert set(row["sources"]) <= set(table["sources"])
    for release in releases_listed():
        defaults = [variant for variant in variants(release) if (build := torch_build(f"{release}+{variant}")) and build.pypi_default]
        assert len(defaults) == 1, release
    assert releases_listed()[0] == "1.8"
    assert releases_listed()[-1] == "2.15"
    assert [build.release for build in cuda_builds("12.4")] == ["2.4", "2.5", "2.6"]


def test_a_build_that_a_release_never_had() -> None:
    assert other_variants("2.5.0+cu126") == ("cu118", "cu121", "cu124")
    assert nearest_variant("2.5.0+cu126") == "2.5.0+cu124"
    assert nearest_variant("2.6.0+cu117") == "2.6.0+cu118"
    for there in ("2.5.0+cu124", "2.5.0", "2.5.0+cpu", "2.5.0+rocm6.2", "99.0+cu124", "2.9.0+cu129"):
        assert (other_variants(there), nearest_variant(there)) == ((), "")
