"""Words that are counted once say what the library says, and where they could not, the library is asked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.lengths.children.words import CHECKED, Words

PATTERN = r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
IN_ASCII = r"(?i:'s|'t)|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
SPLIT = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
SPECIAL = {"content": "<|end|>", "lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
BY_BYTES: dict[str, Any] = {
    "added_tokens": [SPECIAL],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, BYTES]},
    "model": {"type": "BPE", "vocab": {}},
}
BY_SPACES: dict[str, Any] = {
    "added_tokens": [SPECIAL],
    "normalizer": {
        "type": "Sequence",
        "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}],
    },
    "pre_tokenizer": None,
    "model": {"type": "BPE", "vocab": {"▁the": 1, "▁▁": 2, "ing": 3}},
}


class Model:
    """Two characters of a word are a token, whatever they are."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def tokenize(self, word: str) -> list[str]:
        self.asked.append(word)
        return [word[place : place + 2] for place in range(0, len(word), 2)]


class Backend:
    def __init__(self) -> None:
        self.model = Model()
        self.asked: list[str] = []

    def encode(self, text: str, *, add_special_tokens: bool) -> list[str]:
        assert not add_special_tokens
        self.asked.append(text)
        return [text[place : place + 2] for place in range(0, len(text), 2)]

    def num_special_tokens_to_add(self, _: bool) -> int:
        return 1


class Library:
    """What the library itself makes of texts: by the same words, or by one token more."""

    library = "tokenizers 0"

    def __init__(self, told: dict[str, Any], more: int = 0) -> None:
        self.cuts = re.compile(IN_ASCII if told["pre_tokenizer"] else " *[^ ]+| +")
        self.start = "" if told["pre_tokenizer"] else " "
        self.more = more
        self.asked: list[str] = []

    def count(self, texts: list[str], special: bool) -> list[int]:
        self.asked += texts
        return [self._one(text) + special + self.more for text in texts]

    def _one(self, text: str) -> int:
        parts = text.split("<|end|>")
        words = [word for part in parts if part for word in self.cuts.findall(self.start + part)]
        return len(parts) - 1 + sum(-(-len(word) // 2) for word in words)


def opened(tmp_path: Path, told: dict[str, Any], more: int = 0, backend: Backend | None = None) -> tuple[Words, Library, Model]:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(told))
    library, asked = Library(told, more), backend or Backend()
    return Words(library, asked, str(path)), library, asked.model


@pytest.mark.parametrize("told", [BY_BYTES, BY_SPACES], ids=["bytes", "spaces"])
def test_a_word_is_asked_for_once_and_the_library_for_the_first_texts(tmp_path: Path, told: dict[str, Any]) -> None:
    words, library, model = opened(tmp_path, told)
    texts = ["the cat's hat  is 42<|end|>\n\nthe hat", "", "the", "<|end|>the cat"] * CHECKED
    expected = Library(told).count(texts, True)
    assert words.count(texts, True) == expected
    seen = len(library.asked)
    assert words.count(texts, True) == expected
    assert words.count(texts, False) == [tokens - 1 for tokens in expected]
    assert len(library.asked) == seen
    assert len(model.asked) == len(set(model.asked))


def test_pieces_with_letters_beyond_ascii_are_the_librarys_and_texts_with_tokens_that_take_spaces(tmp_path: Path) -> None:
    told = {**BY_BYTES, "added_tokens": [SPECIAL, {**SPECIAL, "content": "<mask>", "lstrip": True}]}
    backend = Backend()
    words, library, _ = opened(tmp_path, told, backend=backend)
    plain = ["the hat"] * CHECKED
    words.count(plain, False)
    library.asked.clear()
    around = "the cat " * 20
    words.count([*plain, around + "größer " + around + "größer hat", "a <mask>"], False)
    assert library.asked == ["a <mask>"]
    assert backend.asked == [" größer"]


@given(st.lists(st.sampled_from(["the", " ", " ", "  ", "\n", "\t", "'s", "12", ".", "hat\n", "Hat", "<|end|>", "x" * 70]), max_size=80))
def test_no_word_crosses_a_space_that_a_text_is_cut_at(parts: list[str]) -> None:
    text = "".join(parts)
    for told in (BY_BYTES, BY_SPACES):
        with TemporaryDirectory() as folder:
            words, library, _ = opened(Path(folder), told)
            assert words.count(["the hat"] * CHECKED, False)
            library.asked.clear()
            assert words.count([text, text], False) == [Library(told).count([text], False)[0]] * 2
            assert not library.asked


def test_words_that_say_something_else_are_given_up(tmp_path: Path) -> None:
    words, library, _ = opened(tmp_path, BY_BYTES, more=1)
    texts = ["the hat"] * 3
    first = words.count(texts, False)
    assert first == words.count(texts, False) == library.count(texts, False)
    assert len(library.asked) == 9


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"type": "Unigram", "vocab": []}},
        {"model": {"type": "BPE", "vocab": {}, "dropout": 0.1}},
        {"normalizer": {"type": "Lowercase"}},
        {"pre_tokenizer": {"type": "BertPreTokenizer"}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{**SPLIT, "pattern": {"Regex": r"\p{Han}+|\P{L}"}}, BYTES]}},
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [SPLIT, {**BYTES, "add_prefix_space": True}]}},
        {"normalizer": BY_SPACES["normalizer"], "pre_tokenizer": None, "model": {"type": "BPE", "vocab": {"of▁the": 1}}},
    ],
)
def test_a_tokenizer_that_is_not_understood_is_left_to_the_library(tmp_path: Path, change: dict[str, Any]) -> None:
    words, library, model = opened(tmp_path, {**BY_BYTES, **change})
    words.count(["the hat"] * 2 * CHECKED, False)
    words.count(["the hat"], False)
    assert len(library.asked) == 2 * CHECKED + 1
    assert not model.asked
