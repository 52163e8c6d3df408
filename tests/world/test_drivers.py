import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.world.drivers import driver_floor, driver_runs, toolkit_driver


def test_the_oldest_driver_of_a_cuda_major() -> None:
    assert [driver_floor(cuda, "linux") for cuda in ("11.8", "12.1", "12.8", "13.0", "13.2.1")] == [
        "450.80.02",
        "525.60.13",
        "525.60.13",
        "580",
        "580",
    ]
    assert [driver_floor(cuda, "windows") for cuda in ("11.8", "12.4")] == ["452.39", "528.33"]
    assert [driver_floor(*pair) for pair in (("10.2", "linux"), ("14.0", "linux"), ("12.1", "macos"), ("none", "linux"))] == [None] * 4


def test_the_driver_that_came_with_a_toolkit() -> None:
    assert toolkit_driver("12.4", "linux") == toolkit_driver("12.4.1", "linux") == "550.54.14"
    assert toolkit_driver("12.4", "windows") == "551.61"
    assert toolkit_driver("13.0", "windows") is toolkit_driver("12.7", "linux") is toolkit_driver("12", "linux") is None


@pytest.mark.parametrize(
    ("driver", "cuda", "system", "runs"),
    [
        ("535.104.05", "12.8", "linux", True),
        ("535.104.05", "13.0", "linux", False),
        ("580.65.06", "13.2", "linux", True),
        ("470.182.03", "12.1", "linux", False),
        ("470.182.03", "11.8", "linux", True),
        ("610.43.02", "10.2", "linux", True),
        ("440.33.01", "10.2", "linux", True),
        ("418.87", "10.2", "linux", False),
        ("527.41", "12.0", "windows", True),  # older than the floor of CUDA 12, and the driver of 12.0 itself
        ("527.41", "12.1", "windows", False),
        ("561.17", "12.4", "windows", True),
        ("535", "12.1", "linux", True),
        ("525", "12.1", "linux", None),  # a series: 525.53 does not, 525.60.13 does
        ("450.80", "11.8", "linux", None),
        ("450", "12.1", "linux", False),
        ("11.4", "12.1", "linux", False),  # what nvidia-smi prints as CUDA Version
        ("12.2", "12.8", "linux", True),
        ("535.104.05", "14.0", "linux", None),
        ("535.104.05", "12.1", "macos", None),
        ("CUDA 11.0 level", "12.1", "linux", None),
        ("535.\x00", "12.1", "linux", None),
        ("\u0665\u0663\u0665.1", "12.1", "linux", None),
    ],
)
def test_whether_a_driver_runs_a_cuda(driver: str, cuda: str, system: str, runs: bool | None) -> None:
    assert driver_runs(driver, cuda, system) is runs


@given(
    st.integers(400, 700), st.integers(400, 700), st.sampled_from(("11.8", "12.1", "12.8", "13.0")), st.sampled_from(("linux", "windows"))
)
def test_a_newer_driver_runs_all_that_an_older_one_runs(one: int, other: int, cuda: str, system: str) -> None:
    """Of a series, 525, it may be unknown whether it does: some of its releases do."""
    older, newer = (driver_runs(str(driver), cuda, system) for driver in sorted((one, other)))
    assert older is not True or newer is True
    assert newer is not False or older is False
