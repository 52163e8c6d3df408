"""Error text to rules: which rule's symptom a log shows, in constant memory.

A symptom is a literal fragment. It is found by its rarest word, so that no pattern is tried on a line that cannot hold it and
nothing can be made to backtrack.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from typing import TypeAlias

from envdoctor.logs.unwrapping import plain_line, shown_line
from envdoctor.records import dataclass, field
from envdoctor.rules.rule import Rule

_WORD = re.compile(r"[a-z_]+")
_NUMBER = re.compile(r"\d+")
_MIXED = re.compile(r"\b[A-Z]\w*[a-z]\w*[A-Z]\w{3,}")
_QUOTED = re.compile(r"['\"`]([\w.]+)['\"`]")
_CALLED = re.compile(r"(\w+)\(\)")
_NO_DIGITS = str.maketrans("", "", "0123456789")

# A shorter fragment has too many neighbours; so much of one has to be there, in pieces of this size.
_TYPED, _ALIKE, _BLOCK = 28, 0.9, 3
# From so many letters on a word is a name, and so much of it has to be there.
_LONG, _NEARLY = 8, 0.8

# A symptom as it is compared, the rule whose it is, and how the rule writes it.
Candidate: TypeAlias = "tuple[str, str, str]"


@dataclass(frozen=True, slots=True)
class Shown:
    """A symptom of a rule, where it was first seen: ``line`` counts from 1."""

    rule: str
    symptom: str
    line: int
    text: str


@dataclass(slots=True)
class Signatures:
    """The symptoms of many rules, ready to be looked for; anchors and likenesses are without digits."""

    by_anchor: Mapping[str, tuple[tuple[str, Candidate], ...]]
    found: dict[str, Shown] = field(default_factory=dict)

    def candidates(self, line: str) -> list[Candidate]:
        """The symptoms that this line, as ``plain_line`` makes it, or one that differs by its digits only may show."""
        bare = " ".join(line.translate(_NO_DIGITS).split())
        words = set(_WORD.findall(bare))
        return [one for word in words & self.by_anchor.keys() for likeness, one in self.by_anchor[word] if likeness in bare]

    def try_candidates(self, candidates: list[Candidate], line: str, number: int, raw: str) -> list[Candidate]:
        """Note what the line shows of these symptoms; those that are left."""
        left = []
        for one in candidates:
            symptom, rule, original = one
            known = self.found.get(rule)
            if known is not None and len(symptom) <= len(known.symptom):
                continue
            if symptom in line and not _is_spelt_otherwise(original, raw):
                self.found[rule] = Shown(rule, original, number, shown_line(raw))
            else:
                left.append(one)
        return left

    def match_misspelt(self, line: str, number: int, raw: str) -> None:
        """Note the one symptom that a line shows but for a letter here and there, as people type what they read."""
        words = set(_WORD.findall(line))
        near: dict[str, tuple[float, Candidate]] = {}
        for found in self.by_anchor.values():
            for likeness, one in found:
                own = set(_WORD.findall(likeness))
                # Another number is another error.
                alike = len(one[0]) >= _TYPED and 2 * len(words & own) >= len(own) and _NUMBER.findall(one[0]) == _NUMBER.findall(line)
                if alike and _has_names(own, words) and _has_quoted(one[0], line):
                    near[one[1]] = max(near.get(one[1], (0.0, one)), (_alikeness(one[0], line), one))
        for share, one in near.values():
            if share >= _ALIKE:
                self.found[one[1]] = Shown(one[1], one[2], number, shown_line(raw))

    def match(self, line: str, number: int, raw: str) -> None:
        """Note what one line shows."""
        self.try_candidates(self.candidates(line), line, number, raw)


def _is_spelt_otherwise(symptom: str, raw: str) -> bool:
    """Whether a name of a symptom stands in a line with other capitals, as a name of its own: LlamaTokenizer is not LLaMATokenizer."""
    for name in _MIXED.findall(symptom):
        shown = re.search(re.escape(name), raw, re.IGNORECASE)
        if shown is not None and shown[0] != name and not shown[0].islower() and not shown[0].isupper():
            return True
    return False


def _has_names(own: set[str], words: set[str]) -> bool:
    """Whether each long word of a symptom stands in a line but for a letter or two: the name of another thing is another error."""
    return all(get_close_matches(word, words, n=1, cutoff=_NEARLY) for word in own - words if len(word) >= _LONG)


def _has_quoted(symptom: str, line: str) -> bool:
    """Whether each name that a symptom quotes, or calls, stands so in a line but for a letter or two, however short it is."""
    return all(
        get_close_matches(name, names, n=1, cutoff=_NEARLY)
        for names, wanted in ((one.findall(line), one.findall(symptom)) for one in (_QUOTED, _CALLED))
        for name in wanted
    )


def _alikeness(symptom: str, line: str) -> float:
    """How much of a symptom stands in a line, in its order, by letters."""
    blocks = SequenceMatcher(None, symptom, line, autojunk=False).get_matching_blocks()
    within = [block for block in blocks if block.size >= _BLOCK]
    spread = within[-1].b + within[-1].size - within[0].b if within else 0
    return sum(block.size for block in within) / max(len(symptom), spread)


def signatures(rules: Iterable[Rule]) -> Signatures:
    """Prepare the symptoms of all rules that are not withdrawn."""
    entries: list[tuple[str, Candidate]] = []
    for rule in rules:
        if rule.withdrawn is None:
            plain = [(plain_line(text), text) for text in rule.symptoms]
            entries += [(" ".join(text.translate(_NO_DIGITS).split()), (text, rule.id, original)) for text, original in plain]
    frequency = Counter(word for likeness, _ in entries for word in set(_WORD.findall(likeness)))
    by_anchor: dict[str, list[tuple[str, Candidate]]] = defaultdict(list)
    for entry in entries:
        anchor = _anchor(entry[0], frequency)
        if anchor is not None:
            by_anchor[anchor].append(entry)
    return Signatures({word: tuple(found) for word, found in by_anchor.items()})


def _anchor(likeness: str, frequency: Mapping[str, int]) -> str | None:
    """The rarest word that is whole in the fragment: one at its edge may be the half of a longer word in a log."""
    words = [match[0] for match in _WORD.finditer(likeness) if match.start() > 0 and match.end() < len(likeness)]
    return min(words or _WORD.findall(likeness), key=lambda word: (frequency[word], -len(word)), default=None)
