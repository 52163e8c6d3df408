"""``tokenizer``: does the snapshot's tokenizer load, encode, pad, and speak its own chat template under the transformers installed?

The faults: from transformers 4.34 on a slow tokenizer that sets its attributes after ``super().__init__()`` cannot be constructed,
from 4.45 on one whose ``_pad`` does not take ``padding_side`` cannot encode; before tokenizers 0.20 newer files cannot be read; role
tokens that a template writes and the tokenizer takes apart; and an answer that ends in a token at which generation does not stop.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeAlias

from envdoctor.facts.fact import Facts
from envdoctor.probes.probe import CHILDREN, Probe
from envdoctor.probes.verdict import Ruling, Verdict
from envdoctor.records import replace

Judgement: TypeAlias = "tuple[Ruling, str]"

NAME = "tokenizer"

_SUSPICIONS = (
    ("model.tokenizer_init", "after-super", "its attributes are set after super().__init__()"),
    ("model.tokenizer_pad_signature", "without-padding-side", "its _pad does not take padding_side"),
)
_CHAT = frozenset({"chat", "instruct", "it"})
_NO_CONSENT = "the tokenizer is code of the snapshot's own, which is run only with --trust-remote-code"
_PADDING_SIDE = "unexpected keyword argument 'padding_side'"
_NOT_YET_SET = re.compile(r"has no attribute|'property' object cannot be interpreted as an integer")
_READ_ONLY = re.compile(r"has no setter|can't set attribute")
_FILE_UNREAD = "data did not match any variant of untagged enum"
_MARKS: tuple[str | re.Pattern[str], ...] = (_PADDING_SIDE, _FILE_UNREAD, _NOT_YET_SET, _READ_ONLY)


def parameters(facts: Facts, trust: bool = False) -> Mapping[str, object] | str:
    """What the child shall load, or why it must not or cannot. ``trust``: the user consented to run the snapshot's own code."""
    path = facts.text("model.path")
    if path is None:
        return "no local snapshot: the tokenizer's files are needed"
    own = facts.value("model.tokenizer_remote_code")
    if own is True and not trust:
        return _NO_CONSENT
    return {
        "path": str(Path(path).absolute()),
        "trust": trust and own is not False,
        "suspects": [words for name, value, words in _SUSPICIONS if own is True and facts.value(name) == value],
        "chat_model": _calls_itself_chat(facts.text("model.id"), path),
    }


def _calls_itself_chat(*names: str | None) -> bool:
    """A base model often comes with the template of its chat siblings, and does no harm by it."""
    words = {word for name in names if name is not None for word in re.split(r"[^a-z]+", Path(name).name.lower())}
    return not _CHAT.isdisjoint(words)


def judge(measured: Mapping[str, object], params: Mapping[str, object]) -> Judgement:
    """What the measurement shows. Pure; anything unexpected in it is inconclusive.

    Where the facts suspect the class itself, that it loads, encodes and pads refutes the suspicion, and what else was
    seen is only told.
    """
    failures = _rows(measured.get("failures"))
    crash = next((fault for fault in map(_crash, failures) if fault is not None), None)
    if crash is not None:
        return "confirmed", crash
    padding = measured.get("padding")
    sides = {str(key): value for key, value in padding.items()} if isinstance(padding, Mapping) else {}
    early = next((row for row in failures if row.get("during") in ("loading", "encoding")), None)
    if early is not None and params.get("trust") is not True and "trust_remote_code=True" in str(early.get("message")):
        return "inconclusive", _NO_CONSENT
    if early is not None or not isinstance(measured.get("class"), str) or not isinstance(padding, Mapping):
        return "inconclusive", _told(early) if early is not None else "the tokenizer was not loaded and encoded"
    works, doubts = _padded(sides, failures, measured)
    faults = [*_misplaced(sides), *_split(measured), *_end(measured, params)]
    suspects = params.get("suspects")
    if isinstance(suspects, (list, tuple)) and suspects and not doubts and not _misplaced(sides):
        return "refuted", "; ".join([f"though {' and '.join(map(str, suspects))}, {works}", *faults])
    if faults:
        return "confirmed", "; ".join(faults)
    doubts += [_told(row) for row in failures if row.get("during") in ("decoding", "rendering the chat template")]
    if measured.get("comes_back") is False:
        doubts.append("a plain sentence does not come back as it was, which some tokenizers do on purpose")
    if doubts:
        return "inconclusive", "; ".join(doubts)
    if measured.get("comes_back") is not True:
        return "inconclusive", "encoding and decoding were not compared"
    return "refuted", "; ".join([works, "text comes back", *_chat(measured)])


def about(verdict: Verdict, packages: Collection[str], symptoms: Collection[str]) -> Verdict:
    """Of the crash that the rule is about: a class that cannot be constructed says nothing of its ``_pad``, a template of neither."""
    failures = _rows(verdict.measured.get("failures"))
    crashes = [str(row.get("message", "")) for row in failures if _crash(row) is not None]
    met = {mark for message in crashes for mark in _MARKS if _marked(mark, message)}
    wanted = {mark for mark in _MARKS for symptom in symptoms if _marked(mark, symptom)}
    if not wanted:
        return verdict
    if met:
        return verdict if met & wanted else verdict.but("another fault was met first")
    if verdict.verdict == "refuted":
        return verdict
    padding = verdict.measured.get("padding")
    sides = {str(key): value for key, value in padding.items()} if isinstance(padding, Mapping) else {}
    works, doubts = _padded(sides, failures, verdict.measured)
    if doubts or _misplaced(sides) or not isinstance(verdict.measured.get("class"), str):
        return verdict.but("another fault than this one was met")
    return replace(verdict, verdict="refuted", reason=f"{works}, though {verdict.reason}", cured_by=())


def _marked(mark: str | re.Pattern[str], text: str) -> bool:
    return mark in text if isinstance(mark, str) else mark.search(text) is not None


def _crash(row: Mapping[str, object]) -> str | None:
    """The fault of which this failure is the mark, in words, or None."""
    kind, message, during = (str(row.get(key, "")) for key in ("type", "message", "during"))
    if kind == "TypeError" and _PADDING_SIDE in message and during != "rendering the chat template":
        return f"{_told(row)}: its _pad does not take padding_side, which this transformers hands to it"
    if during != "loading":
        return None
    if _FILE_UNREAD in message:
        return f"{_told(row)}: the installed tokenizers cannot read this tokenizer.json"
    if row.get("in_base_constructor") is not True:
        return None
    if kind == "AttributeError" and _READ_ONLY.search(message):
        return f"{_told(row)}: the base constructor sets a special token that the snapshot's class makes read-only"
    if kind in ("AttributeError", "TypeError") and _NOT_YET_SET.search(message):
        return f"{_told(row)}: the base constructor of this transformers asks for what the snapshot's class sets only after it"
    return None


def _padded(sides: Mapping[str, object], failures: list[Mapping[str, object]], measured: Mapping[str, object]) -> tuple[str, list[str]]:
    """What works, in words, and what was not shown. A class that pads on one side whatever it is told does so on purpose."""
    refused = [row for row in failures if str(row.get("during")).startswith("padding on the ")]
    doubts = [_told(row) for row in refused if not (row.get("type") == "AssertionError" and row.get("during") == "padding on the right")]
    found = {str(value) for value in sides.values() if value in ("left", "right")}
    if not found:
        doubts.append("no row was padded" + (": there is no token to pad with" if measured.get("pad_is_end") is False else ""))
    where = "on both sides" if len(found) == 2 else f"on the {found.pop()} only" if found else "on no side"
    tail = " with the end of text, as it has no padding token" if measured.get("pad_is_end") is True else ""
    return f"{measured.get('class')} loads, encodes and pads {where}{tail}", doubts


def _misplaced(sides: Mapping[str, object]) -> list[str]:
    return [f"padded on the {side}, a row loses its own ids or its mask" for side, value in sides.items() if value == "neither"]


def _split(measured: Mapping[str, object]) -> list[str]:
    markers = _rows(measured.get("markers"))
    split = [str(row.get("marker")) for row in markers if row.get("known") is True and row.get("whole") is False]
    return [f"the chat template writes {', '.join(split)}, which the tokenizer knows and takes apart all the same"] if split else []


def _end(measured: Mapping[str, object], params: Mapping[str, object]) -> list[str]:
    end = measured.get("end")
    if params.get("chat_model") is not True or not isinstance(end, Mapping):
        return []
    if end.get("stops") is not False or not isinstance(end.get("closes_with"), str):
        return []
    return [f"an answer ends with {end['closes_with']}, at which generation does not stop (it stops at {end.get('stop_ids')})"]


def _chat(measured: Mapping[str, object]) -> list[str]:
    """What the template shows besides: nothing of it is a fault."""
    end = measured.get("end")
    words = []
    whole = sum(row.get("whole") is True for row in _rows(measured.get("markers")))
    if whole:
        words.append(f"{whole} marker{'s' if whole > 1 else ''} of the chat template {'are' if whole > 1 else 'is'} one id each")
    if isinstance(end, Mapping):
        stops = end.get("stops") is True
        words.append("an answer ends with a token that stops generation" if stops else "no token after an answer stops generation")
    return words


def _told(row: Mapping[str, object]) -> str:
    message = " ".join(str(row.get("message", "")).split())[:300]
    return f"{row.get('during', 'a part')} failed: {row.get('type', 'an error')}: {message}"


def _rows(value: object) -> list[Mapping[str, object]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, (list, tuple)) else []


PROBE = Probe(
    name=NAME,
    shows="whether the snapshot's tokenizer loads, encodes, pads and speaks its own chat template",
    needs=("transformers",),
    cost="2 to 10 s on one CPU core, nearly all of it imports",
    script=CHILDREN / "tokenizer.py",
    parameters=parameters,
    judge=judge,
    timeout=120.0,
    memory_bytes=8 << 30,
    about=about,
    remote_code=True,
)
