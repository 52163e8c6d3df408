"""Lines with a range of releases, beside pins that none of these goes with."""

from __future__ import annotations

import pytest

from envdoctor.checks.ranges_together import ranges_together
from tests.checks.test_declared_together import declared


@pytest.mark.parametrize(
    ("packages", "said"),
    [
        ({"gradio": ">=4.0.0", "pydantic": "==1.9.0"}, "gradio >=4.0.0 requires pydantic"),
        ({"pydantic": "==1.9.0", "gradio": ">=4.0,<5"}, "gradio >=4.0,<5 requires pydantic"),
        ({"vllm": ">=0.8.0,<0.9", "torch": "==2.5.1+cu124"}, "vllm >=0.8.0,<0.9 requires torch==2.6.0"),
        # Some release of the range goes with the pin.
        ({"gradio": ">=3.0", "pydantic": "==1.9.0"}, None),
        ({"gradio": "*", "pydantic": "==1.9.0"}, None),
        ({"vllm": ">=0.8.0", "torch": "==2.7.0"}, None),
        # What a build of torch requires of its compiler depends on the index.
        ({"torch": ">=2.5,<2.6", "triton": "==2.1.0"}, None),
        ({"peft": ">=0.10", "transformers": "==4.40.0"}, None),
    ],
)
def test_a_pin_that_no_release_of_a_range_goes_with(packages: dict[str, str], said: str | None) -> None:
    found = [hit.detail for hit in ranges_together(declared(packages))]
    assert len(found) == (said is not None)
    assert all(said is not None and detail.startswith(said) for detail in found)


def test_a_stack_that_is_there_has_been_resolved() -> None:
    assert ranges_together(declared({"gradio": ">=4.0.0", "pydantic": "==1.9.0"}, file="environment.lock")) == ()
