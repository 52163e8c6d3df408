"""What every test has: no user cache, no user environment, no deadline on a busy machine."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import venv
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from envdoctor.rules import rulebook
from envdoctor.rules.stored import store

# How fast or how often an example is found says nothing about the law, only about the machine and the draw.
_UNHURRIED = (HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large)
settings.register_profile("quick", deadline=None, suppress_health_check=_UNHURRIED, max_examples=5)
settings.register_profile("full", settings.get_profile("quick"), max_examples=100)
settings.register_profile("soak", settings.get_profile("quick"), max_examples=3000, print_blob=True)
settings.load_profile("quick")

# Hundreds of children are started here; where none may keep what it compiled, each compiles the whole program anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A test is about what it states, not about whatever the releases of its examples hold; those of the atlas name one of their own.
os.environ["ENVDOCTOR_ATLAS"] = ""

# A job in the background inherits a SIGINT that is ignored, and a child that is to be interrupted would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

# As the program itself does: ten thousand tests are many objects, and hardly any of them is garbage.
gc.set_threshold(200_000, 30, 30)


def pytest_collection_finish() -> None:
    """What was collected lives to the end: no search for garbage need walk through it."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """One last search, that no destructor goes unseen; pytest makes five more, for which then nothing is left to walk through."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def tmp_path_factory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[pytest.TempPathFactory]:
    """Directories by a count of our own: pytest reads the whole directory above to find the next number, which the laws ask for
    thousands of times."""
    numbers = count()

    def mktemp(basename: str, numbered: bool = True) -> Path:
        path = tmp_path_factory.getbasetemp() / (f"{basename}{next(numbers)}" if numbered else basename)
        path.mkdir(mode=0o700)
        return path

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tmp_path_factory, "mktemp", mktemp)
        yield tmp_path_factory


@pytest.fixture(scope="session", autouse=True)
def _alone(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Iterator[None]:
    """No test reads or writes the user's cache, and none examines an environment that it did not name."""
    base = tmp_path_factory.getbasetemp()
    _compile_shipped_rules(base / "cache" / "envdoctor", pytestconfig)
    with pytest.MonkeyPatch.context() as patch:
        # Whoever asks for the same pins gets the environment that was built for the first.
        if not os.environ.get("ENVDOCTOR_PROBE_CACHE"):
            patch.setenv("ENVDOCTOR_PROBE_CACHE", str(base / "environments"))
        patch.setenv("XDG_CACHE_HOME", str(base / "cache"))
        patch.setenv("COLUMNS", "80")
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "NO_COLOR"):
            patch.delenv(name, raising=False)
        # What a machine's own Python holds is another thing on each machine.
        empty = base / "an-empty-environment"
        venv.create(empty)
        patch.setenv("PATH", f"{empty / 'bin'}{os.pathsep}{os.environ['PATH']}")
        yield


def _compile_shipped_rules(cache: Path, config: pytest.Config) -> None:
    """As any cache has them after a first run; what the last test run compiled is taken while no rule changed."""
    cache.mkdir(parents=True)
    name = f"rules-{rulebook._stamp(rulebook.shipped_rules())}.json"
    place = config.cache.mkdir("compiled-rules") / name
    if not place.exists():
        for old in place.parent.glob("rules-*.json"):
            old.unlink(missing_ok=True)
        part = place.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(store(rulebook.compile_rules(rulebook.shipped_rules())))
        part.replace(place)
    shutil.copyfile(place, cache / name)


@pytest.fixture
def fixtures() -> Path:
    """The small real situations that come with the project."""
    return Path(__file__).parent.parent / "fixtures"
