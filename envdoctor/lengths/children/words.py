"""Tokens counted word by word, each word once: what the library itself says of a text, where no token crosses from word to word.

A byte-level BPE cuts a text into words by a pattern, and merges inside of them. Each of these patterns begins a word at a space that
follows anything but white space, so that a text is cut there first, and what stands between is counted once. Python's patterns know the
letters of ASCII as the library's do; a piece with others is the library's to count. A BPE of SentencePiece cuts nothing, but no token of
its vocabulary may hold a space behind something else: then no merge crosses there. Whatever is understood here, the first texts are
counted both ways.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

MOST_WORDS = 400_000
LONGEST_WORD = 64
CHECKED = 400
"""Texts that are counted both ways before the words are believed."""
_OF_BYTE_LEVEL = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_CLASSES = {"L": "A-Za-z", "N": "0-9", "Lu": "A-Z", "Ll": "a-z", "M": "", "Lt": "", "Lm": "", "Lo": "", "Nd": "0-9"}


class Words:
    """Asks ``fast`` for what it cannot count by words."""

    @property
    def in_python(self) -> bool:
        return self._one is not None

    def __init__(self, fast: Any, backend: Any, path: str) -> None:
        self.library = fast.library
        self._fast = fast
        self._more = int(backend.num_special_tokens_to_add(False))
        self._checked = 0
        self._one = _reader(backend, path)

    def count(self, texts: list[str], special: bool) -> list[int]:
        one = self._one
        if one is None:
            return list(self._fast.count(texts, special))
        counts = [one(text) for text in texts]
        if special:
            counts = [found if found < 0 else found + self._more for found in counts]
        unread = [place for place, found in enumerate(counts) if found < 0]
        if len(unread) < len(counts) and self._checked < CHECKED:
            return self._compared(texts, counts, special)
        for place, found in zip(unread, self._fast.count([texts[place] for place in unread], special) if unread else ()):  # noqa: B905
            counts[place] = found
        return counts

    def _compared(self, texts: list[str], counts: list[int], special: bool) -> list[int]:
        told = list(self._fast.count(texts, special))
        for by_words, found in zip(counts, told):  # noqa: B905
            if by_words >= 0:
                self._checked += 1
                if by_words != found:
                    self._one = None
        return told


_TANGLED = -1 << 40
"""For a piece next to which there is more white space than one space: how much of it belongs to which word, its neighbours decide."""


class _Known(dict):  # type: ignore[type-arg]
    """How many tokens each word is."""

    def __init__(self, ask: Callable[[str], int]) -> None:
        self._ask = ask

    def __missing__(self, word: str) -> int:
        tokens = self._ask(word)
        if len(self) < MOST_WORDS and len(word) <= LONGEST_WORD:
            self[word] = tokens
        return tokens


def _reader(backend: Any, path: str) -> Callable[[str], int] | None:
    """A function that counts one text, or says -1; None where the tokenizer.json at ``path`` is none that is understood."""
    try:
        with open(path, "rb") as stream:
            told = json.load(stream)
        model = told["model"]
        if model.get("type") != "BPE" or model.get("dropout") or model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
            return None
        plain, odd = _added(told.get("added_tokens") or [])
        pattern = _pattern(told.get("normalizer"), told.get("pre_tokenizer"))
        if pattern is not None:
            return _of_bytes(backend, re.compile(pattern, re.ASCII), plain, odd)
        start = _spaces(told.get("normalizer"), told.get("pre_tokenizer"))
        if start is None or any(re.search("[^\u2581]\u2581", token) for token in model["vocab"]):
            return None
        return _of_spaces(backend.model, start, plain, odd)
    except (AttributeError, KeyError, OSError, RecursionError, TypeError, ValueError, re.error):
        return None


def _added(tokens: Iterable[Any]) -> tuple[Any, Any]:
    """Patterns of the tokens that are cut out of a text before all else, and of those that take more with them or are sought later."""
    plain: list[str] = []
    odd: list[str] = []
    for token in tokens:
        takes_more = token.get("lstrip") or token.get("rstrip") or token.get("single_word") or token.get("normalized")
        (odd if takes_more else plain).append(token["content"])
    return _any_of(plain), _any_of(odd) if any(odd) else None


def _any_of(texts: list[str]) -> Any:
    return re.compile("|".join(map(re.escape, sorted(filter(None, texts), key=len, reverse=True))) or "(?!)")


def _pattern(normalizer: Any, cutter: Any) -> str | None:
    """The pattern of a byte-level BPE's words, over ASCII. Composition (NFC, NFKC) leaves ASCII as it is."""
    if normalizer is not None and normalizer.get("type") not in ("NFC", "NFKC"):
        return None
    steps = cutter.get("pretokenizers", [cutter]) if cutter is not None else []
    if not steps or steps[-1].get("type") != "ByteLevel" or steps[-1].get("add_prefix_space"):
        return None
    uses = steps[-1].get("use_regex", True)
    if len(steps) == 1 and uses:
        return _in_ascii(_OF_BYTE_LEVEL)
    cut = steps[0]
    if len(steps) != 2 or uses or cut.get("type") != "Split" or cut.get("behavior") != "Isolated" or cut.get("invert"):
        return None
    return _in_ascii(cut["pattern"]["Regex"])


def _in_ascii(pattern: str) -> str:
    """The pattern with Unicode's classes as what they are in ASCII, for Python: whatever it may find, it finds nothing between.

    Raises:
        ValueError: a class that is not known.
    """
    made, inside, place = [], False, 0
    while place < len(pattern):
        letter = pattern[place]
        named = re.match(r"\\p\{(\^?)(\w+)\}", pattern[place:])
        if named:
            if named[1] or named[2] not in _CLASSES or not (inside or _CLASSES[named[2]]):
                raise ValueError(named[0])
            made.append(_CLASSES[named[2]] if inside else f"[{_CLASSES[named[2]]}]")
            place += len(named[0])
            continue
        if letter == "\\":
            if pattern[place + 1 : place + 2] in ("P", "p", "X", "R", "h", "H"):
                raise ValueError(pattern[place : place + 2])
            made.append(pattern[place : place + 2])
            place += 2
            continue
        inside = (letter == "[" or inside) and letter != "]"
        made.append(letter)
        place += 1
    return "".join(made)


def _between_spaces(whole: Callable[[str], int]) -> Callable[[str], int]:
    """The same count of a text, piece by piece between its spaces, each piece once."""
    short = _Known(whole)
    after = _Known(lambda piece: _TANGLED if not piece or piece[0].isspace() or piece[-1].isspace() else whole(" " + piece))
    count: Callable[[str], int] = after.__getitem__
    of_short: Callable[[str], int] = short.__getitem__

    def one(part: str) -> int:
        if len(part) <= LONGEST_WORD:
            return of_short(part)
        begun, *pieces = part.split(" ")
        found = 0
        if begun:
            found = _TANGLED if pieces and begun[-1].isspace() else of_short(begun) if len(begun) <= LONGEST_WORD else whole(begun)
        found += sum(map(count, pieces))
        return found if found >= 0 else whole(part)

    return one


def _of_bytes(backend: Any, pattern: Any, plain: Any, odd: Any) -> Callable[[str], int]:
    # What OpenAI's table makes of the bytes of ASCII: the printable ones stay, the others follow on 256 in their order.
    table = {code: chr(256 + place) for place, code in enumerate([*range(33), 127])}
    model = backend.model
    known = _Known(lambda word: len(model.tokenize(word.translate(table))))
    find, count = pattern.findall, known.__getitem__

    def whole(part: str) -> int:
        return sum(map(count, find(part))) if part.isascii() else len(backend.encode(part, add_special_tokens=False))

    return _cut_at(plain, odd, "", _between_spaces(whole))


def _cut_at(plain: Any, odd: Any, never: str, count: Callable[[str], int]) -> Callable[[str], int]:
    """The count of a text whose added tokens are one each; -1 for one that is not understood."""

    def one(text: str) -> int:
        if (odd is not None and odd.search(text)) or (never and never in text):
            return -1
        parts = plain.split(text)
        return len(parts) - 1 + sum(map(count, parts))

    return one


def _spaces(normalizer: Any, cutter: Any) -> str | None:
    """What is put before each part of a text, where spaces are all that is changed; None where more is."""
    if cutter is not None and not (cutter.get("type") == "Split" and cutter.get("pattern") == {"String": " "}):
        return None
    steps = normalizer.get("normalizers", [normalizer]) if normalizer is not None else []
    start = ""
    for step in steps:
        if step.get("type") == "Prepend" and step.get("prepend") == "\u2581":
            start = " "
        elif not (step.get("type") == "Replace" and step.get("pattern") == {"String": " "} and step.get("content") == "\u2581"):
            return None
    return start if steps else None


def _of_spaces(model: Any, start: str, plain: Any, odd: Any) -> Callable[[str], int]:
    known = _Known(lambda word: len(model.tokenize(word.replace(" ", "\u2581"))))
    find, count = re.compile(" *[^ ]+| +").findall, known.__getitem__
    of_part = _between_spaces(lambda part: sum(map(count, find(part))))
    return _cut_at(plain, odd, "\u2581", lambda part: of_part(start + part) if part else 0)
