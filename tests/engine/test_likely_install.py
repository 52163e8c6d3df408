"""What an installer would take of what files leave open."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.requirements import Requirement

from envdoctor.engine.likely_install import ELSEWHERE, taken
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import ABSENT, Exact, Ranged, exact, version_condition
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.world.dependencies import dependencies
from envdoctor.world.installation import Installation
from envdoctor.world.releases import known_until, release_texts


def declared(*lines: str, python: str = "3.11") -> Facts:
    """What requirements state, as a file of them would."""
    found = Declarations(Installation().on("linux", "x86_64").with_python(python))
    for number, line in enumerate(lines, 1):
        found.require(line, "requirements.txt", number)
    facts = [*found.collected().facts, Fact("python", exact(python), Origin("--set"))]
    return Facts({fact.name: fact for fact in facts})


def versions(facts: Facts) -> dict[str, str]:
    return {
        name.removeprefix("packages."): str(fact.value)
        for name, fact in facts.items()
        if name.startswith("packages.") and isinstance(fact.value, Exact)
    }


def test_an_open_range_is_the_newest_release_of_the_day() -> None:
    with known_until("2024-06-15"):
        found = taken(declared("torch>=2.2.0"))
    assert versions(found)["torch"] == "2.3.1"
    assert found["packages.torch"].origin == Origin("what an installer takes on 2024-06-15", "requirements.txt", 1)


def test_what_a_package_needs_is_taken_too_with_the_line_that_needs_it() -> None:
    with known_until("2024-06-15"):
        found = taken(declared("einops", "transformers==4.41.2"))
    assert versions(found)["tokenizers"] == "0.19.1"
    assert found["packages.tokenizers"].origin == Origin("taken for transformers on 2024-06-15", "requirements.txt", 2)


def test_a_release_whose_needs_contradict_a_pin_is_not_taken() -> None:
    with known_until("2024-06-15"):
        found = versions(taken(declared("transformers", "tokenizers==0.13.3")))
    assert found["tokenizers"] == "0.13.3"
    assert found["transformers"] == "4.33.3"


def test_what_a_pin_needs_is_as_firm_as_the_pin() -> None:
    """gradio 6.18 and later need huggingface-hub 1; uv takes the same releases."""
    with known_until("2026-11-21"):
        found = versions(taken(declared("gradio", "transformers==4.42.4", "torch>=2.0", "sentencepiece")))
    assert {name: found[name] for name in ("gradio", "gradio-client", "huggingface-hub", "numpy", "pandas")} == {
        "gradio": "6.17.3", "gradio-client": "2.5.0", "huggingface-hub": "0.36.2", "numpy": "1.26.4", "pandas": "3.0.6",
    }  # fmt: skip


def test_who_asks_too_much_gives_way_and_nobody_is_given_up_for_it() -> None:
    """tokenizers 0.14 needs huggingface-hub before 0.18: accelerate, datasets and multiprocess give way; uv takes the same releases."""
    lines = ("torch>=2.0.1", "tokenizers>=0.14.0", "transformers==4.35.0", "accelerate", "tqdm", "deepspeed", "datasets", "tensorboardX")
    with known_until("2026-11-21"):
        found = versions(taken(declared(*lines)))
    wanted = {
        "accelerate": "0.32.1", "datasets": "2.14.7", "dill": "0.3.7", "huggingface-hub": "0.17.3", "multiprocess": "0.70.15",
        "numpy": "1.26.4", "pandas": "3.0.6", "tokenizers": "0.14.1",
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


def test_pins_that_contradict_each_other_leave_open_what_they_share() -> None:
    with known_until("2026-11-21"):
        found = versions(taken(declared("transformers==4.35.0", "tokenizers==0.19.1", "accelerate", "einops")))
    assert found["tokenizers"] == "0.19.1"
    assert found["einops"] == "0.8.2"
    assert "accelerate" in found


CLAUSES = st.tuples(st.sampled_from(("==", "===", "!=", ">=", "<=", "<", ">", "~=")), st.sampled_from(("1.20", "1.21.0", "1.26.4", "2.0")))


@given(st.lists(CLAUSES, min_size=1, max_size=3))
def test_whatever_a_line_asks_for_is_taken_from_what_it_admits(clauses: list[tuple[str, str]]) -> None:
    line = f"numpy{', '.join(map(''.join, clauses))}"
    with known_until("2024-06-15"):
        found = versions(taken(declared(line, "einops")))
    assert found["einops"] == "0.8.0"
    assert "numpy" not in found or Requirement(line).specifier.contains(found["numpy"])


def test_a_package_that_is_elsewhere_is_not_taken_and_asks_for_nothing() -> None:
    with known_until("2024-06-15"):
        found = taken(declared("einops", "peft==0.11.1"), elsewhere=["transformers", "torch"])
    assert not {"transformers", "torch", "tokenizers"} & versions(found).keys()
    assert {"einops", "peft", "accelerate", "numpy", "safetensors"} <= versions(found).keys()
    assert found["packages.transformers"].origin.source == ELSEWHERE


def test_a_constraint_narrows_and_installs_nothing() -> None:
    with known_until("2024-06-15"):
        found = versions(taken(declared("torch"), ["torch<2.1", "peft==0.6.0"]))
    assert found["torch"] == "2.0.1"
    assert "peft" not in found


def test_withdrawn_releases_and_those_of_another_python_are_not_taken() -> None:
    with known_until("2024-06-15"):
        found = versions(taken(declared("numpy", python="3.8")))
    assert found["numpy"] == "1.24.4"


@pytest.mark.parametrize(
    "facts",
    [
        Facts(),
        Facts({"packages.torch": Fact("packages.torch", exact("2.5.0"), Origin("--set"))}),
        Facts(declared("torch").by_name, closed=True),
    ],
    ids=["nothing", "stated by hand", "all that there is"],
)
def test_nothing_is_taken_where_nothing_is_left_open(facts: Facts) -> None:
    assert taken(facts) is facts


def test_what_is_stated_of_a_release_or_of_its_absence_stays_as_it_was_said() -> None:
    """numpy and tokenizers are needed by what the file names: what is known of them by hand is not overwritten."""
    said = {
        "packages.numpy": Fact("packages.numpy", exact("1.26.3"), Origin("--set")),
        "packages.tokenizers": Fact("packages.tokenizers", ABSENT, Origin("--set")),
        "packages.safetensors": Fact("packages.safetensors", Ranged(">=0.4"), Origin("--set")),
    }
    facts = declared("transformers==4.41.2", "peft==0.11.1").with_facts(said.values())
    with known_until("2024-06-15"):
        found = taken(facts)
    assert {name: found[name] for name in ("packages.numpy", "packages.tokenizers")} == {
        name: said[name] for name in ("packages.numpy", "packages.tokenizers")
    }
    assert found["packages.peft"] is facts["packages.peft"]
    assert found["packages.safetensors"].value == exact("0.4.3")


def test_a_package_that_is_not_tracked_stays_as_it_is() -> None:
    facts = declared("our-own-tools>=4.27", "torch==2.3.1")
    assert taken(facts).value("packages.our-own-tools") == facts.value("packages.our-own-tools")


RANGES = st.sampled_from(["", ">=1", "<2", ">=0.20,<1", "==2.*", "!=4.40.0", ">=4.30,<4.40", "<=0.13", "~=4.31.0"])
NAMES = ["torch", "transformers", "peft", "accelerate", "tokenizers", "numpy", "datasets", "gradio", "huggingface-hub", "pandas", "trl"]
WANTED = st.dictionaries(st.sampled_from(NAMES), RANGES, min_size=1)
PINS = st.sampled_from(["transformers==4.42.4", "transformers==5.0.0", "numpy==1.26.4", "tokenizers==0.14.1", "datasets==2.14.7"])


@given(WANTED)
def test_what_is_taken_is_a_release_that_the_file_admits(wanted: dict[str, str]) -> None:
    facts = declared(*(f"{name}{text}" for name, text in wanted.items()))
    for name, version in versions(taken(facts)).items():
        assert version in release_texts(name)
        assert version_condition(wanted.get(name, "")).admits(exact(version))


@given(WANTED, PINS | st.none(), st.sampled_from(["3.8", "3.10", "3.11", "3.13"]))
def test_what_is_taken_agrees_with_what_else_is_taken(wanted: dict[str, str], pin: str | None, python: str) -> None:
    pins = [] if pin is None else [pin]
    lines = [*pins, *(f"{name}{text}" for name, text in wanted.items() if not any(pin.startswith(f"{name}==") for pin in pins))]
    found = versions(taken(declared(*lines, python=python)))
    here = Installation().on("linux", "x86_64").with_python(python)
    for name, version in found.items():
        for one in dependencies(name, version) or ():
            if one.name in found and (not one.marker or here.applies(Marker(one.marker))):
                assert version_condition(one.specifier).admits(exact(found[one.name])), (name, version, one)


@given(WANTED, st.randoms())
def test_the_order_of_the_lines_is_of_no_matter(wanted: dict[str, str], chance: Random) -> None:
    lines = [f"{name}{text}" for name, text in wanted.items()]
    mixed = list(lines)
    chance.shuffle(mixed)
    assert versions(taken(declared(*mixed))) == versions(taken(declared(*lines)))


@pytest.mark.parametrize(
    ("torch", "system", "major"), [("1.4.0", "linux", "1"), ("1.7.0", "linux", "1"), ("1.4.0", "windows", "1"), ("1.13.1", "linux", "2")]
)
def test_what_is_taken_runs_on_a_python_that_the_pinned_torch_has_wheels_for(torch: str, system: str, major: str) -> None:
    """numpy 2 has no wheel for Python 3.8 or older, and torch 1.4 none for a newer one."""
    facts = {name: fact for name, fact in declared(f"torch=={torch}", "h5py").items() if name != "python"}
    found = taken(Facts(facts).with_facts([Fact("os", system, Origin("facts.toml"))]))
    assert versions(found)["numpy"].partition(".")[0] == major
