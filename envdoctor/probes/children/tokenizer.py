"""The snapshot's own tokenizer, loaded by the patient's transformers: encoded, padded on both sides, and its chat template rendered.

The snapshot's code runs only where ``trust`` says so. What is measured: each part that raised, with whether the snapshot's
constructor was then inside that of the base class; where a padded row has its padding; whether text comes back; which markers of the
rendered template the tokenizer knows and yet takes apart; and what follows an answer, against the ids at which generation stops.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

TEXTS = ("a line", "a longer line of text with more words in it")
SENTENCE = "the quick brown fox jumps over the lazy dog."
ANSWER = "abc"
MARKER = re.compile(r"<\|[^|<>\s'\"{}]{1,48}\|>|<\uff5c[^\uff5c<>\s'\"{}]{1,48}\uff5c>|<(?:start|end)_of_turn>")
MOST_MARKERS = 16
MOST_BYTES = 1 << 20
# MemoryError and the errors of an import are the bootstrap's to tell.
EXPECTED = (ValueError, TypeError, AttributeError, KeyError, IndexError, AssertionError, RuntimeError, OSError)


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    stage("importing transformers")
    transformers: Any = importlib.import_module("transformers")
    transformers.logging.set_verbosity_error()
    measured: dict[str, Any] = {"failures": []}
    measured["versions"] = {"python": platform.python_version(), "transformers": str(transformers.__version__)}
    stage("loading the tokenizer")
    tokenizer: Any = None
    with _Part(measured, "loading"):
        tokenizer = transformers.AutoTokenizer.from_pretrained(params["path"], trust_remote_code=bool(params["trust"]))
    for name in ("tokenizers", "sentencepiece"):
        if name in sys.modules:
            measured["versions"][name] = str(getattr(sys.modules[name], "__version__", "unknown"))
    if tokenizer is None:
        return measured
    measured["class"] = type(tokenizer).__name__
    measured["own_code"] = _is_own(type(tokenizer).__module__)
    stage("encoding")
    rows: list[list[int]] = []
    with _Part(measured, "encoding"):
        rows = [list(tokenizer(text)["input_ids"]) for text in TEXTS]
    if len(rows) < len(TEXTS):
        return measured
    with _Part(measured, "decoding"):
        ids = tokenizer.encode(SENTENCE, add_special_tokens=False)
        measured["comes_back"] = _bare(tokenizer.decode(ids)) == _bare(SENTENCE)
    stage("padding")
    measured["padding"] = {}
    if len(rows[0]) < len(rows[1]) and _has_padding(tokenizer, measured):
        for side in ("left", "right"):
            with _Part(measured, "padding on the " + side):
                tokenizer.padding_side = side
                measured["padding"][side] = _side(tokenizer(list(TEXTS), padding=True), rows)
    stage("rendering the chat template")
    if getattr(tokenizer, "chat_template", None):
        with _Part(measured, "rendering the chat template", templates=True):
            _template(tokenizer, params["path"], measured)
    return measured


class _Part:
    """One part of the experiment: what it raised is kept, and the next part is tried.

    ``tokenizers`` raises Exception itself for a file that it cannot read, jinja2 errors of its own for a template.
    """

    def __init__(self, measured: dict[str, Any], during: str, *, templates: bool = False) -> None:
        self.failures: list[dict[str, Any]] = measured["failures"]
        self.during = during
        self.templates = templates

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if kind is None or error is None:
            return False
        if self.during == "loading" and issubclass(kind, ImportError) and isinstance(error.__context__, EXPECTED):
            # Where protobuf is missing, transformers trips over it while it looks at the error that matters.
            error = error.__context__
            kind, trace = type(error), error.__traceback__
        of_template = self.templates and (kind.__module__.startswith("jinja2") or issubclass(kind, ImportError))
        if kind is not Exception and not of_template and not issubclass(kind, EXPECTED):
            return False
        self.failures.append(
            {
                "during": self.during,
                "type": kind.__name__,
                "message": str(error)[:2000],
                "in_base_constructor": _in_base_constructor(trace),
            }
        )
        return True


def _in_base_constructor(trace: TracebackType | None) -> bool:
    """Whether a constructor of the snapshot's had called that of transformers' base class when it happened."""
    own = False
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "__init__":
            module = str(trace.tb_frame.f_globals.get("__name__", ""))
            if own and module.startswith("transformers."):
                return True
            own = own or _is_own(module)
        trace = trace.tb_next
    return False


def _is_own(module: str) -> bool:
    return module.startswith("transformers_modules.")


def _has_padding(tokenizer: Any, measured: dict[str, Any]) -> bool:
    """Whether there is a token to pad with; where there is none the end of text is taken, as trainers do."""
    if tokenizer.pad_token is not None:
        return True
    measured["pad_is_end"] = tokenizer.eos_token is not None
    if tokenizer.eos_token is not None:
        tokenizer.pad_token = tokenizer.eos_token
    return bool(measured["pad_is_end"])


def _side(batch: Any, rows: list[list[int]]) -> str:
    """Where the shorter row has its padding; ``neither`` where its own ids are not in place, or its mask says otherwise."""
    short, padded = rows[0], [int(number) for number in batch["input_ids"][0]]
    if len(padded) != len(rows[1]) or [int(number) for number in batch["input_ids"][1]] != rows[1]:
        return "neither"
    missing = len(padded) - len(short)
    mask = batch["attention_mask"][0] if "attention_mask" in batch else None
    flat = isinstance(mask, list) and all(isinstance(number, int) for number in mask)
    left = [0] * missing + [1] * len(short)
    for side, kept, expected in (("left", padded[missing:], left), ("right", padded[: len(short)], left[::-1])):
        # ChatGLM-6B's mask is a matrix, which tells nothing here.
        if kept == short and (not flat or mask == expected):
            return side
    return "neither"


def _template(tokenizer: Any, path: str, measured: dict[str, Any]) -> None:
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": ANSWER}]
    rendered = tokenizer.apply_chat_template(messages, tokenize=False)
    measured["markers"] = []
    for marker in list(dict.fromkeys(MARKER.findall(rendered)))[:MOST_MARKERS]:
        number = tokenizer.convert_tokens_to_ids(marker)
        known = isinstance(number, int) and number != tokenizer.unk_token_id and tokenizer.convert_ids_to_tokens(number) == marker
        pieces = tokenizer.encode(marker, add_special_tokens=False)
        measured["markers"].append({"marker": marker, "known": known, "whole": number in pieces, "pieces": len(pieces)})
    _before, found, tail = rendered.rpartition(ANSWER)
    stops = _stops(tokenizer, path)
    if found and stops:
        ids = tokenizer.encode(tail, add_special_tokens=False) if tail.strip() else []
        special = set(tokenizer.all_special_ids) | set(getattr(tokenizer, "added_tokens_decoder", {}))
        closing = [number for number in ids if number in special]
        measured["end"] = {
            "text": tail[:80],
            "stops": any(number in stops for number in ids),
            "closes_with": str(tokenizer.convert_ids_to_tokens(closing[0])) if closing else None,
            "stop_ids": sorted(stops)[:16],
        }


def _stops(tokenizer: Any, path: str) -> set[int]:
    """The ids at which generation stops: of generation_config.json, where it is there of that alone."""
    for name in ("generation_config.json", "config.json"):
        try:
            with open(os.path.join(path, name), "rb") as stream:
                found = json.loads(stream.read(MOST_BYTES).decode("utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        value = found.get("eos_token_id") if isinstance(found, dict) else None
        ids = {number for number in (value if isinstance(value, list) else [value]) if isinstance(number, int)}
        if ids:
            return ids
    return {tokenizer.eos_token_id} if isinstance(tokenizer.eos_token_id, int) else set()


def _bare(text: str) -> str:
    return "".join(text.split()).casefold()
