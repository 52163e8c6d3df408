"""Error text to rules: which rule's symptom a log shows, line by line in constant memory.

A symptom is a literal fragment. It is found by its rarest word, so that no pattern is tried on a line that cannot hold it and
nothing can be made to backtrack: a log of a million lines takes seconds.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from envdoctor.logs.out_of_memory import OutOfMemory
from envdoctor.records import dataclass, field
from envdoctor.rules.rule import Rule

# Cursor and colour sequences, and window titles: what a terminal would act on, without the text between.
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_WORD = re.compile(r"[a-z0-9_]+")
_QUOTES = str.maketrans({"`": "'", "\u2018": "'", "\u2019": "'", '"': "'", "\u201c": "'", "\u201d": "'"})
_LONGEST_LINE = 4000
_LOSS = re.compile(
    r"(?<![a-z_])(eval_loss|train_loss|loss|grad_norm)'?\s{0,3}[:=]?\s{0,3}'?(nan|-?inf|-?\d{1,20}(?:\.\d{0,20})?(?:e[+-]?\d{1,3})?)(?![a-z0-9.])"
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A symptom of a rule, where it was first seen: ``line`` counts from 1."""

    rule: str
    symptom: str
    line: int
    text: str


@dataclass(slots=True)
class Signatures:
    """The symptoms of many rules, ready to be looked for."""

    by_anchor: Mapping[str, tuple[tuple[str, str, str], ...]]
    found: dict[str, Shown] = field(default_factory=dict)
    curve: _LossCurve = field(default_factory=lambda: _LossCurve())
    memory: OutOfMemory = field(default_factory=OutOfMemory)

    def read(self, lines: Iterable[str]) -> None:
        """Look at the lines of a log, in order."""
        for number, raw in enumerate(lines, start=1):
            line = plain_line(raw)
            self._match(line, number, raw)
            for event in (*self.curve.read(line), *self.memory.read(line)):
                self._match(event, number, raw)

    def _match(self, line: str, number: int, raw: str) -> None:
        words = set(_WORD.findall(line))
        for word in words & self.by_anchor.keys():
            for symptom, rule, original in self.by_anchor[word]:
                known = self.found.get(rule)
                if (known is None or len(symptom) > len(known.symptom)) and symptom in line:
                    self.found[rule] = Shown(rule, original, number, _ANSI.sub("", raw).strip()[:300])


class _LossCurve:
    """Events of a training log that no single fragment shows: told as lines of their own."""

    def __init__(self) -> None:
        self.was_positive = False
        self.zeros = 0
        self.told: set[str] = set()

    def read(self, line: str) -> Iterator[str]:
        """``loss falls to 0.0``, ``loss is nan``, ``grad_norm is nan``, ``eval_loss is nan``: each once."""
        if "loss" not in line and "grad_norm" not in line:
            return
        for name, text in _LOSS.findall(line):
            value = float(text)
            if value != value:
                yield from self._tell(f"{name} is nan")
            elif name == "loss" and value == 0.0:
                self.zeros += 1
                if self.zeros >= 2 or (self.was_positive and self.zeros) or "grad_norm is nan" in self.told or "nan" in line:
                    yield from self._tell("loss falls to 0.0")
            elif name == "loss":
                self.was_positive = self.was_positive or value > 0
                self.zeros = 0

    def _tell(self, event: str) -> Iterator[str]:
        if event not in self.told:
            self.told.add(event)
            yield event


def plain_line(raw: str) -> str:
    """A line as it is compared: without colours, what a carriage return overwrote, case, and differences of quotes and spaces."""
    text = raw if len(raw) <= _LONGEST_LINE else raw[: _LONGEST_LINE // 2] + " " + raw[-_LONGEST_LINE // 2 :]
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = next((part for part in reversed(text.split("\r")) if part.strip()), "")
    return " ".join(text.translate(_QUOTES).lower().split())


def signatures(rules: Iterable[Rule]) -> Signatures:
    """Prepare the symptoms of all rules that are not withdrawn."""
    entries = [(plain_line(text), rule.id, text) for rule in rules if rule.withdrawn is None for text in rule.symptoms]
    frequency = Counter(word for symptom, _, _ in entries for word in set(_WORD.findall(symptom)))
    by_anchor: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for entry in entries:
        anchor = _anchor(entry[0], frequency)
        if anchor is not None:
            by_anchor[anchor].append(entry)
    return Signatures({word: tuple(found) for word, found in by_anchor.items()})


def _anchor(symptom: str, frequency: Mapping[str, int]) -> str | None:
    """The rarest word that is whole in the fragment: one at its edge may be the half of a longer word in a log."""
    words = [match[0] for match in _WORD.finditer(symptom) if match.start() > 0 and match.end() < len(symptom)]
    return min(words or _WORD.findall(symptom), key=lambda word: (frequency[word], -len(word)), default=None)
