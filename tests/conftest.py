"""What every test has: no user cache, no user environment, no deadline on a busy machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# How fast or how often an example is found says nothing about the law, only about the machine and the draw.
_UNHURRIED = (HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("unhurried", deadline=None, suppress_health_check=_UNHURRIED)
settings.register_profile("soak", settings.get_profile("unhurried"), max_examples=3000, print_blob=True)
settings.load_profile("unhurried")


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
