"""What every test has: no user cache, no user environment, no deadline on a busy machine."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How fast or how often an example is found says nothing about the law, only about the machine and the draw.
_UNHURRIED = (HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("quick", deadline=None, suppress_health_check=_UNHURRIED, max_examples=30)
settings.register_profile("full", settings.get_profile("quick"), max_examples=100)
settings.register_profile("soak", settings.get_profile("quick"), max_examples=3000, print_blob=True)
settings.load_profile("quick")

# Hundreds of children are started here; where none may keep what it compiled, each compiles the whole program anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# As the program itself does: ten thousand tests are many objects, and hardly any of them is garbage.
gc.set_threshold(200_000, 30, 30)


def pytest_collection_finish() -> None:
    """What was collected lives to the end: no search for garbage need walk through it."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _environments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One directory of real environments for all modules: whoever asks for the same pins gets what was built for the first."""
    with pytest.MonkeyPatch.context() as patch:
        if not os.environ.get("ENVDOCTOR_PROBE_CACHE"):
            patch.setenv("ENVDOCTOR_PROBE_CACHE", str(tmp_path_factory.getbasetemp() / "environments"))
        yield


@pytest.fixture(autouse=True)
def _alone(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache, and none examines an environment that it did not name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fixtures() -> Path:
    """The small real situations that come with the project."""
    return Path(__file__).parent.parent / "fixtures"
