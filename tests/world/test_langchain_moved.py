"""Where the modules went that langchain gave up with 1.0."""

from __future__ import annotations

import pytest

from envdoctor.world.successors import successor


@pytest.mark.parametrize(
    ("module", "package"),
    [
        ("langchain.text_splitter", "langchain-text-splitters"),
        ("langchain.vectorstores", "langchain-community"),
        ("langchain.document_loaders.pdf", "langchain-community"),
        ("langchain.chains", "langchain-classic"),
        ("langchain.memory.buffer", "langchain-classic"),
    ],
)
def test_the_package_that_has_it_now_is_named(module: str, package: str) -> None:
    assert f"pip install {package}, and" in successor(module)


@pytest.mark.parametrize("symbol", ["langchain.agents", "langchain.chains.LLMChain", "langchain_core.prompts"])
def test_what_is_still_there_or_is_a_class_is_left_to_the_releases(symbol: str) -> None:
    assert successor(symbol) == ""
