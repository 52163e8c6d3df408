"""What the bundled table of requirements says of pins: agreement, contradiction, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.remedies.metadata import Verdict, metadata_agrees
from envdoctor.world.dependencies import as_of, versions
from tests.remedies.universe import stated

TABLE = f"bundled metadata of {as_of()}"


def test_pins_that_agree_with_everything_stated() -> None:
    facts = stated({"python": "3.10", "packages.transformers": "4.38.2", "packages.accelerate": "0.27.2", "packages.peft": "0.11.1"})
    assert metadata_agrees({"peft": "==0.12.0"}, facts) == Verdict(
        "metadata", f"what peft and the stated packages require of each other agrees ({TABLE})"
    )


def test_a_pin_that_a_stated_release_refuses() -> None:
    verdict = metadata_agrees({"tokenizers": "==0.19.1"}, stated({"python": "3.10", "packages.transformers": "4.38.2"}))
    assert verdict == Verdict(
        "refused",
        f"the {TABLE} speaks against it",
        "transformers 4.38.2 requires tokenizers<0.19,>=0.14, and tokenizers==0.19.1 is asked for",
    )


def test_a_pin_that_needs_more_of_a_stated_range() -> None:
    facts = stated({"python": "3.10", "packages.accelerate": "<0.21"})
    assert metadata_agrees({"peft": "==0.17.1"}, facts).verified == "refused"
    assert metadata_agrees({"peft": "==0.17.1"}, stated({"python": "3.10", "packages.accelerate": "<1"})).verified == "metadata"


def test_a_release_that_does_not_run_on_the_python() -> None:
    facts = stated({"python": "3.8.18", "packages.peft": "0.9.0"})
    verdict = metadata_agrees({"transformers": "==4.49.0"}, facts)
    assert (verdict.verified, verdict.conflict) == ("refused", "transformers 4.49.0 requires Python >=3.9.0, and the Python is 3.8.18")
    assert metadata_agrees({"transformers": "==4.46.3"}, facts).verified == "metadata"


@pytest.mark.parametrize("pins", [{"our-models": "==1.0"}, {"transformers": "==999.0"}, {"peft": "==0.12.0", "our-models": "==1.0"}])
def test_what_is_not_in_the_table_is_said(pins: dict[str, str]) -> None:
    verdict = metadata_agrees(pins, stated({"python": "3.10", "packages.torch": "2.4.1"}))
    name = "our-models 1.0" if "our-models" in pins else "transformers 999.0"
    assert verdict == Verdict("none", f"what {name} requires is not in the {TABLE}")


def test_what_was_at_odds_before_is_said_and_not_held_against_the_pins() -> None:
    facts = stated({"python": "3.10", "packages.transformers": "4.38.2", "packages.tokenizers": "0.19.1", "packages.peft": "0.11.1"})
    verdict = metadata_agrees({"peft": "==0.12.0"}, facts)
    assert verdict.verified == "metadata"
    assert verdict.proof.endswith(
        "; at odds already, whatever the pins: transformers 4.38.2 requires tokenizers<0.19,>=0.14, and tokenizers==0.19.1 is asked for"
    )


def test_an_installed_environment_is_judged_as_well() -> None:
    facts = stated({"python": "3.10", "packages.transformers": "4.38.2", "packages.tokenizers": "0.15.2"}, closed=True)
    assert metadata_agrees({"tokenizers": "==0.19.1"}, facts).verified == "refused"
    assert metadata_agrees({"tokenizers": "==0.15.1"}, facts).verified == "metadata"


def test_a_package_that_another_one_needs_cannot_go() -> None:
    facts = stated({"python": "3.10", "packages.peft": "0.12.0", "packages.accelerate": "0.33.0", "packages.bitsandbytes": "0.43.3"})
    verdict = metadata_agrees({}, facts, removes=("accelerate",))
    assert (verdict.verified, verdict.conflict) == ("refused", "peft 0.12.0 requires accelerate")
    assert metadata_agrees({}, facts, removes=("bitsandbytes",)).verified == "metadata"


def test_a_local_build_requires_what_its_release_does() -> None:
    facts = stated({"python": "3.10", "packages.torchvision": "0.19.1", "packages.torch": "2.4.0+cu118", "cuda": "11.8"})
    assert metadata_agrees({"torch": "==2.4.1+cu118"}, facts).verified == "metadata"
    assert metadata_agrees({"torch": "==2.5.1+cu118"}, facts).verified == "refused"


def test_a_contradiction_is_found_behind_one_that_was_there_before() -> None:
    """transformers 4.36.0 and tokenizers 0.14.0 are at odds about huggingface-hub already."""
    facts = stated({"python": "3.11", "packages.transformers": "4.36.0", "packages.tokenizers": "0.14.0"})
    verdict = metadata_agrees({"accelerate": "==0.33.0"}, facts)
    assert (verdict.verified, verdict.conflict) == (
        "refused",
        "tokenizers 0.14.0 requires huggingface-hub<0.17,>=0.16.4, and accelerate 0.33.0 requires huggingface-hub>=0.21.0",
    )


RELEASES = st.sampled_from(["transformers", "peft", "accelerate", "tokenizers", "huggingface-hub", "numpy", "torch"]).flatmap(
    lambda name: st.tuples(st.just(name), st.sampled_from(versions(name)))
)


@given(st.lists(RELEASES, max_size=6), RELEASES)
def test_stating_a_package_less_never_turns_agreement_into_refusal(some: list[tuple[str, str]], pin: tuple[str, str]) -> None:
    """A contradiction needs two that contradict each other: without one of the stated packages there is none more."""
    facts = {"python": "3.11", **{f"packages.{name}": version for name, version in some}}
    pins = {pin[0]: f"=={pin[1]}"}
    if metadata_agrees(pins, stated(facts)).verified != "refused":
        for name in [name for name in facts if name != "python"]:
            assert metadata_agrees(pins, stated({k: v for k, v in facts.items() if k != name})).verified != "refused"
