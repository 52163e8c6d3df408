"""The snapshot's tokenizer, by whichever library can read its files, as one question: how many tokens has each of these texts?"""

from __future__ import annotations

import base64
import binascii
import importlib
import os
import re
import runpy
from typing import Any

MOST_RANKS = 16 << 20
_LOADING = (ImportError, OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError, IndexError, AssertionError)


class CannotCountError(Exception):
    """This library does not count with these files; the text says why."""


class Fast:
    """tokenizer.json, by ``tokenizers``: many threads, and exactly what transformers' fast tokenizers do."""

    def __init__(self, backend: Any, library: str) -> None:
        backend.no_truncation()
        backend.no_padding()
        self.library = library
        self.backend = backend
        self._encode = getattr(backend, "encode_batch_fast", backend.encode_batch)

    def count(self, texts: list[str], special: bool) -> list[int]:
        return [len(encoding) for encoding in self._encode(texts, add_special_tokens=special)]


class Pieces:
    """A vocabulary that knows no added tokens: texts are cut at those first, each of which is one token."""

    def __init__(self, encode: Any, library: str, added: list[str], begins_with: int) -> None:
        self.library = library
        self._encode = encode
        self._begins_with = begins_with
        # One that is a word of its own would be found inside of other words.
        marked = sorted((text for text in added if text and not text.isalnum()), key=len, reverse=True)
        self._added = re.compile("|".join(map(re.escape, marked))) if marked else None

    def count(self, texts: list[str], special: bool) -> list[int]:
        counts = [self._begins_with if special else 0] * len(texts)
        parts, owners = [], []
        for owner, text in enumerate(texts):
            between = self._added.split(text) if self._added is not None else [text]
            counts[owner] += len(between) - 1
            for part in between:
                if part:
                    parts.append(part)
                    owners.append(owner)
        for place, ids in enumerate(self._encode(parts)):
            counts[owners[place]] += len(ids)
        return counts


class Slow:
    """Any tokenizer of transformers', one text at a time. ``tokenize`` does not pad, which old classes cannot under newer releases."""

    def __init__(self, tokenizer: Any, library: str) -> None:
        self.library = library
        self._tokenizer = tokenizer
        self._begins_with = 0
        try:
            self._begins_with = int(tokenizer.num_special_tokens_to_add())
        except (TypeError, ValueError, AttributeError, NotImplementedError):
            self._begins_with = 1

    def count(self, texts: list[str], special: bool) -> list[int]:
        more = self._begins_with if special else 0
        return [len(self._tokenizer.tokenize(text)) + more for text in texts]


def open_counter(route: dict[str, Any]) -> Any:
    """The counter of one route: ``library``, the ``path`` of its file (for transformers of the directory), and what goes with it.

    Raises:
        CannotCountError: the library is not there, or refuses the file.
    """
    name = route["library"]
    try:
        library: Any = importlib.import_module(name)
    except ImportError as error:
        absent = isinstance(error, ModuleNotFoundError) and error.name == name
        raise CannotCountError(f"{name} is not installed" if absent else f"{name} cannot be imported: {error}") from None
    said = f"{name} {getattr(library, '__version__', '')}".strip()
    try:
        counter = _OPEN[name](library, route, said)
        counter.count(["a line"], True)
    except MemoryError:
        raise
    except Exception as error:
        # tokenizers raises Exception itself for a file that it cannot read.
        if type(error) is not Exception and not isinstance(error, _LOADING):
            raise
        raise CannotCountError(f"{said} cannot read {os.path.basename(route['path'])}: {str(error)[:300]}") from None
    return counter


def _fast(library: Any, route: dict[str, Any], said: str) -> Any:
    return Fast(library.Tokenizer.from_file(route["path"]), said)


def by_words(counter: Any, route: dict[str, Any]) -> Any:
    """The same counter, which remembers words where that says the same; for files that are worth the preparation."""
    if route["library"] != "tokenizers":
        return counter
    here = os.path.dirname(os.path.abspath(__file__))
    return runpy.run_path(os.path.join(here, "words.py"))["Words"](counter, counter.backend, route["path"])


def _pieces(library: Any, route: dict[str, Any], said: str) -> Any:
    processor = library.SentencePieceProcessor()
    processor.Load(route["path"])
    return Pieces(processor.encode, said, route["added"], route["begins_with"])


def _ranks(library: Any, route: dict[str, Any], said: str) -> Any:
    with open(route["path"], "rb") as stream:
        data = stream.read(MOST_RANKS + 1)
    if len(data) > MOST_RANKS:
        raise ValueError(f"more than {MOST_RANKS >> 20} MiB of ranks")
    ranks = {}
    for line in data.split(b"\n"):
        token, _, rank = line.strip().partition(b" ")
        if token:
            try:
                ranks[base64.b64decode(token)] = int(rank)
            except binascii.Error:
                raise ValueError("a line that is no base64") from None
    encoding = library.Encoding("snapshot", pat_str=route["pattern"], mergeable_ranks=ranks, special_tokens={})
    threads = os.cpu_count() or 1
    return Pieces(lambda texts: encoding.encode_ordinary_batch(texts, num_threads=threads), said, route["added"], route["begins_with"])


def _any(library: Any, route: dict[str, Any], said: str) -> Any:
    library.logging.set_verbosity_error()
    tokenizer = library.AutoTokenizer.from_pretrained(route["path"], trust_remote_code=bool(route["trust"]))
    backend = getattr(tokenizer, "backend_tokenizer", None)
    said = f"{type(tokenizer).__name__} of {said}"
    return Slow(tokenizer, said) if backend is None else Fast(backend, said)


_OPEN = {"tokenizers": _fast, "sentencepiece": _pieces, "tiktoken": _ranks, "transformers": _any}
