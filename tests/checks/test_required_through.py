"""What a package that nobody states requires, where all of its releases that fit agree."""

from __future__ import annotations

import pytest

from envdoctor.checks.required_through import required_through
from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.values import parse_value


def told(**stated: str) -> list[str]:
    names = {name if name == "python" else f"packages.{name.replace('_', '-')}": text for name, text in stated.items()}
    facts = [Fact(name, parse_value(name, text), Origin("facts.toml", "facts.toml", 1)) for name, text in names.items()]
    return [hit.detail for hit in required_through(Facts().with_facts(facts))]


def test_every_release_that_fits_asks_for_a_later_numpy() -> None:
    through = "pyannote-core>=6.0.1, of which every release requires numpy>=2.0"
    assert told(pyannote_audio="4.0.4", numpy="1.26.4", python="3.11") == [
        f"pyannote-audio 4.0.4 requires {through}; numpy 1.26.4 is stated"
    ]


def test_where_each_asks_for_another_release_the_newest_is_named() -> None:
    assert told(transformers="4.34.1", huggingface_hub="0.20.3", python="3.10") == [
        "transformers 4.34.1 requires tokenizers<0.15,>=0.14, of which no release goes with it: the newest requires "
        "huggingface-hub<0.18,>=0.16.4; huggingface-hub 0.20.3 is stated"
    ]


@pytest.mark.parametrize(
    "stated",
    [
        {"pyannote_audio": "4.0.4", "numpy": "2.2.6"},
        {"pyannote_audio": "3.3.2", "numpy": "1.26.4"},
        {"pyannote_audio": "4.0.4"},
        {"vllm": "0.7.3", "torch": "2.4.0"},  # told of what vLLM says itself
        {"transformers": "4.40.0", "numpy": "1.26.4", "peft": "0.10.0", "datasets": "2.19.0", "torch": "2.2.2"},
    ],
)
def test_where_one_release_would_do_nothing_is_told(stated: dict[str, str]) -> None:
    assert told(**stated) == []


def test_a_package_that_is_required_in_no_release_for_the_stated_python() -> None:
    """https://github.com/huggingface/sentence-transformers/issues/1602"""
    through = "sentence-transformers 2.2.1 requires huggingface-hub>=0.8.1, of which no release runs on Python 3.6.9"
    assert told(sentence_transformers="2.2.1", python="3.6.9") == [through]
    assert told(sentence_transformers="2.2.1", python="3.7") == []
    assert told(sentence_transformers="2.2.1", huggingface_hub="0.4.0", python="3.6.9") == []
