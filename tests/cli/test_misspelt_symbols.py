"""A symbol that is misspelt is told by its neighbours, also in a package whose old releases made names when they were asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.atlas.wheels import forget
from tests.cli.run import run

pytestmark = pytest.mark.large  # the packages that are shipped are bound


@pytest.fixture(autouse=True)
def _shipped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("ENVDOCTOR_ATLAS")
    forget()
    yield
    forget()


def test_a_name_that_only_a_lazy_module_might_have_made_is_misspelt_where_nobody_takes_it(capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "api", "numpy.flaot")
    assert told.status == 2
    assert "perhaps numpy.float96, numpy.float64, numpy.float32" in told.err


def test_one_that_others_take_was_there(capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "api", "numpy.float")
    assert told.status == 1
    assert "numpy 2.5.5 does not have it (gone since 1.24)" in told.out
