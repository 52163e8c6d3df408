"""What changed around an error that nothing explains."""

from __future__ import annotations

import pytest

from envdoctor.atlas.changes import Changes
from envdoctor.checks.hit import Hit
from envdoctor.logs import changed_functions
from envdoctor.logs.changed_functions import tell_changes, with_changes
from envdoctor.logs.tracebacks import Failure, read_failures
from tests.remedies.universe import stated

CHANGES = Changes("""changes trl
read 0.16.0 0.16.1 0.17.0
in trl.trainer.callbacks
Reporter.on_end 0.16.1 0.17.0
in trl.trainer.tables
draw 0.17.0
One.forward 0.17.0
Two.forward 0.17.0
Three.forward 0.17.0
""")
LOG = """Traceback (most recent call last):
  File "/home/u/train.py", line 5, in <module>
    report.on_end(trainer)
  File "/v/lib/python3.10/site-packages/trl/trainer/callbacks.py", line 60, in on_end
    draw(self.rows)
  File "/v/lib/python3.10/site-packages/trl/trainer/tables.py", line 12, in {function}
    return rows[0]
IndexError: list index out of range
"""
PLACE = "trl/trainer/callbacks.py:60, in on_end"
UNKNOWN = Hit("error-raised-by-package", None, detail="no cause is known", packages=("trl",))


@pytest.fixture(autouse=True)
def _atlas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed_functions, "open_changes", {"trl": CHANGES}.get)


def _failure(function: str = "draw") -> Failure:
    return read_failures(enumerate(LOG.format(function=function).splitlines(), 1))[-1]


def test_a_patch_release_that_changed_a_function_on_the_way_is_tried_first() -> None:
    told = with_changes(UNKNOWN, _failure(), stated({"packages.trl": "0.16.0"}))
    assert told.detail == (
        "no cause is known; trl 0.16.1 changed Reporter.on_end (trl/trainer/callbacks.py:60, in on_end), on the way to it"
    )
    assert (told.outcome, told.pins) == (None, (("trl", "==0.16.1"),))


def test_what_a_minor_release_changed_is_no_cure() -> None:
    facts = stated({"packages.trl": "0.16.1"})
    assert with_changes(UNKNOWN, _failure(), facts) == UNKNOWN
    assert list(tell_changes(_failure(), facts)) == ["trl 0.17.0 changed draw (trl/trainer/tables.py:12, in draw), which raised it"]


def test_without_a_stated_release_the_changes_of_what_raised_are_told() -> None:
    assert with_changes(UNKNOWN, _failure(), stated({})) == UNKNOWN
    assert list(tell_changes(_failure(), stated({}))) == ["draw (trl/trainer/tables.py:12, in draw) was changed in trl 0.17.0"]


def test_a_name_that_many_classes_have_tells_no_function() -> None:
    # The next frame out is one function's.
    told = list(tell_changes(_failure("forward"), stated({"packages.trl": "0.16.1"})))
    assert told == [f"trl 0.17.0 changed Reporter.on_end ({PLACE}), on the way to it, as it had been since 0.16.1"]


def test_after_the_newest_release_that_was_read_nothing_is_told() -> None:
    assert list(tell_changes(_failure(), stated({"packages.trl": "0.17.0"}))) == []


def test_a_finding_that_knows_a_cure_is_left_as_it_is() -> None:
    sure = Hit("error-raised-by-package", None, packages=("trl",), pins=(("trl", "<0.16"),))
    assert with_changes(sure, _failure(), stated({"packages.trl": "0.16.0"})) == sure
