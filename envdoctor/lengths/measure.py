"""The lengths of a training file under a snapshot's own tokenizer, counted by a child in the patient's interpreter."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.lengths.data_file import EXPECTED, why_not
from envdoctor.lengths.routes import Routes, routes_of
from envdoctor.lengths.values import Lengths, LongRow, Refusal, Refused, TokenizerUsed
from envdoctor.probes.runner import Outcome, plain, run_child
from envdoctor.sources.model.snapshot import read_snapshot

CHILD = Path(__file__).parent / "children" / "count.py"
SECONDS = 1800.0
"""After this time the rows counted so far are what is told."""
_GRACE = 120.0
_MEMORY_BYTES = 6 << 30


def measure_lengths(
    data: Path,
    model: Path,
    interpreter: Path | None,
    *,
    trust: bool,
    told: Callable[[str], None] | None,
    seconds: float = SECONDS,
) -> Lengths | Refused:
    """Count the tokens of every row of ``data`` with the tokenizer of the snapshot in ``model``.

    The libraries are looked for in ``interpreter``, the patient's, and then in the doctor's own. No code of the snapshot is run but
    with ``trust``, and then only where its files alone do not tell. ``told`` hears how far it is, as ``run_child`` says.
    """
    refused = why_not(data)
    if refused is not None:
        return refused
    try:
        routes = routes_of(read_snapshot(model), trust)
    except EnvdoctorError as error:
        return Refused(error.place, error.found, error.expected, error.next_step)
    reasons = list(routes.reasons)
    for number, python in enumerate(_interpreters(interpreter)):
        outcome = run_child(
            python,
            CHILD,
            {
                "data": str(data.absolute()),
                "routes": list(routes.routes),
                "template": routes.template,
                "variables": dict(routes.variables),
                "glm": routes.glm,
                "seconds": seconds,
            },
            timeout=seconds + _GRACE,
            memory_bytes=_MEMORY_BYTES,
            told=told,
        )
        patients = number == 0 and interpreter is not None
        where = "in the examined environment" if patients else "in the doctor's own"
        if outcome.measured is None:
            reasons.append(f"{where} the count {outcome.failure}")
        elif "cannot" in outcome.measured:
            cannot = outcome.measured["cannot"]
            reasons += [f"{where} {plain(str(one))}" for one in (cannot if isinstance(cannot, list) else [])]
        else:
            return _understood(outcome, data, routes, python, patients)
    return _nothing_counts(model, routes, reasons)


def _interpreters(interpreter: Path | None) -> list[Path]:
    own = Path(sys.executable)
    return [own] if interpreter is None or interpreter.absolute() == own.absolute() else [interpreter, own]


def _nothing_counts(model: Path, routes: Routes, reasons: list[str]) -> Refused:
    if routes.consent and not routes.routes:
        found, next_step = "a tokenizer that is code of the snapshot's own", "consent with --trust-remote-code, where you have read it"
    elif any("git-lfs pointer" in reason for reason in reasons):
        found, next_step = "no tokenizer that was downloaded", "git lfs pull"
    elif not routes.routes:
        found, next_step = "no tokenizer", "download the tokenizer's files too"
    else:
        libraries = list(dict.fromkeys(str(route["library"]) for route in routes.routes))
        missing = [name for name in libraries if any(f"{name} is not installed" in reason for reason in reasons)]
        found = "a tokenizer that nothing here can read"
        next_step = f"pip install {missing[0]}" if missing else "download the tokenizer's files again, or upgrade its library"
        if routes.consent:
            next_step += ", or consent with --trust-remote-code"
    why = "; ".join(dict.fromkeys(reasons))
    return Refused(plain(str(model)), f"{found} ({why})" if why else found, "a tokenizer with which the rows can be counted", next_step)


def _understood(outcome: Outcome, data: Path, routes: Routes, python: Path, patients: bool) -> Lengths | Refused:
    """What the child measured, in our words."""
    measured, place = outcome.measured or {}, plain(str(data))
    unreadable = measured.get("unreadable")
    if isinstance(unreadable, dict):
        return Refused(place, plain(str(unreadable.get("found"))), EXPECTED, plain(str(unreadable.get("next_step"))))
    try:
        lengths = _lengths(measured, outcome.seconds, place, routes, python, patients)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        found = f"an answer of the counting process that is none ({type(error).__name__}: {error})"
        return Refused(place, plain(found), "lengths", "report it, with the file's first line")
    if lengths.rows:
        return lengths
    if not lengths.refusals:
        return Refused(place, "a file without a row", EXPECTED, "give the file that holds the rows")
    first = lengths.refusals[0]
    unit = "element" if measured.get("array") is True else "line"
    found = f"none of {lengths.refused} rows that can be counted; {unit} {first.line}: {first.why}"
    known = "rows with text, messages, conversations, instruction and output, prompt and completion, or prompt, chosen and rejected"
    return Refused(place, found, known, "bring the rows into one of these formats")


def _lengths(measured: Mapping[str, object], seconds: float, place: str, routes: Routes, python: Path, patients: bool) -> Lengths:
    library = plain(str(measured["library"]))
    file = routes.files[_whole(measured["route"])] if library else ""
    chats, rendered = measured["chats"] is True, measured["rendered"] is True
    glm = chats and routes.glm
    answers = _table(measured["answers"])
    of, answered = _whole(answers["of"]), _whole(answers["rows"])
    step, kind = _whole(measured["step"]), str(measured["kind"])
    return Lengths(
        data=place,
        rows=_whole(measured["rows"]),
        histogram=tuple((_whole(length), _whole(count)) for length, count in _list(measured["histogram"])),
        tokens=_whole(measured["tokens"]),
        longest=max((_whole(tokens) for tokens, _line in _list(measured["longest"])), default=0),
        longest_rows=tuple(LongRow(_whole(tokens), _whole(line)) for tokens, line in _list(measured["longest"])),
        form=plain(str(measured["form"])),
        joined=_joined(plain(str(measured["joined"])), chats, rendered, glm),
        template="ChatGLM's own prompt format" if glm else "the snapshot's chat template" if rendered else "",
        tokenizer=TokenizerUsed(library, file, str(python), patients),
        refused=_whole(measured["refused"]),
        refusals=tuple(Refusal(_whole(line), plain(str(why))) for line, why in _list(measured["refusals"])),
        reasons=tuple((plain(str(why)), _whole(count)) for why, count in _list(measured["reasons"])),
        notes=tuple(_notes(measured, routes, chats and not rendered and not glm, library)),
        step=step,
        whole=measured["whole"] is True,
        sequences=2 if kind == "preference pairs" else 1,
        answer_share=_whole(answers["tokens"]) / of if of else None,
        answer_rows=answered,
        seconds=seconds,
    )


def _joined(joined: str, chats: bool, rendered: bool, glm: bool) -> str:
    if glm:
        return f"{joined}, each after the token of its role, as ChatGLM3's and GLM-4's own scripts join them"
    if rendered:
        return f"{joined}, rendered by the snapshot's chat template"
    return f"{joined}, their contents joined by line ends" if chats else joined


def _notes(measured: Mapping[str, object], routes: Routes, bare: bool, library: str) -> list[str]:
    notes = []
    unused = plain(str(measured["template_unused"]))
    if bare:
        why = f"the snapshot's chat template was not used ({unused})" if routes.template else "the snapshot has no chat template"
        notes.append(f"{why}: what a trainer writes around each turn, some tokens, is not counted")
    overhead = _whole(measured["overhead"])
    if overhead > 0:
        notes.append(f"a trainer that puts rows into the snapshot's chat template adds about {overhead} tokens to each")
    if measured["also_text"] is True:
        notes.append("the rows have a column text too, which is what a trainer may take")
    if measured["kind"] == "preference pairs":
        notes.append("a trainer makes two sequences of each row, the chosen and the rejected, both padded to the longest in the batch")
    if measured["kind"] == "text":
        notes.append("some trainers end each text with one more token, which is not counted")
    if library.startswith(("sentencepiece", "tiktoken")):
        alone = f"counted by {library.split(' ')[0]} from the vocabulary alone"
        notes.append(f"{alone}: near to the tokenizer's own count, which may clean the text before")
    if _whole(measured["step"]) > 1:
        notes.append(f"lengths are rounded up to multiples of {_whole(measured['step'])}")
    if measured["whole"] is not True:
        notes.append("the time was up before the end of the file: these are its first rows")
    return notes


def _whole(value: object) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r:.40} is no whole number")
    return value


def _list(value: object) -> list[list[object]]:
    if not isinstance(value, list) or not all(isinstance(one, list) and len(one) == 2 for one in value):
        raise TypeError("not a list of pairs")
    return value


def _table(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError("not a table")
    return value
