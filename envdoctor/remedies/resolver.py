"""uv's word on the pins of a remedy: what of the whole set it takes, what moves along, and what it could not be asked about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from envdoctor.facts.versions import exact
from envdoctor.records import dataclass, field, replace
from envdoctor.remedies.indexes import blamed, given_up, has_build, index_for, index_line, index_of, label_of
from envdoctor.remedies.metadata import metadata_agrees, withdrawn
from envdoctor.remedies.remedy import Move, Remedy
from envdoctor.remedies.whole_set import WholeSet, head
from envdoctor.uv.asking import Answer, NoIndexError, Question, Run, answer, named, public
from envdoctor.world.releases import tracked

Accepts = Callable[[Mapping[str, str]], str]
"""Judges exact pins (``==1.2`` by package): the pins of a remedy and what moves with them. Why they are refused, or nothing."""

_PIN = re.compile(r"==\s*[^,*\s]+")
_PREAMBLE = re.compile(r"No solution found when resolving dependencies:?\s+(?=\S)")
_YANKED = re.compile(r"`([\w.-]+)==[^`]+` is yanked")
# What torch requires of these depends on the build.
_OF_A_BUILD = ("triton", "nvidia-", "cuda-")
_MOST_TOLD = 4


@dataclass(slots=True)
class Resolver:
    """What was asked of uv so far about one set; ``silent`` are index lines that did not answer.

    ``lost`` are labels of builds that the other indexes do not have. ``narrowed`` says that too many packages of an environment are on
    none, and that only the tracked ones are asked about.
    """

    whole: WholeSet
    run: Run | None
    silent: list[str] = field(default_factory=list)
    narrowed: bool = False
    lost: frozenset[str] = frozenset()
    _before: dict[str, str] | None = None
    _resolved: bool = False
    _unpinned: dict[str, str] | None = None

    def judge(self, remedy: Remedy, relaxed: bool, accepts: Accepts | None) -> Remedy | str:
        """The remedy with its proof, or what is said against it."""
        told = withdrawn(remedy.pins)
        if told:
            return told
        labels = self._labels(remedy.pins)
        found = self._ask(self._requirements(remedy, relaxed), self._constraints(remedy, relaxed), labels, frozenset(remedy.pins))
        if found.gave_up and not self.whole.declared and not self.narrowed:
            self.narrowed = True
            return self.judge(remedy, relaxed, accepts)
        if found.conflict:
            return _PREAMBLE.sub("", found.conflict)
        yanked = [name for warning in found.warnings for name in _YANKED.findall(warning) if name in remedy.pins]
        if yanked:
            return f"{yanked[0]} {remedy.pins[yanked[0]][2:]} was withdrawn (yanked)"
        for name in remedy.removes:
            if name in found.taken:
                return f"{name} comes back: {', '.join(found.taken[name].via) or 'the set'} requires it"
        unheard = self._unheard(labels)
        moves, before = self._moves(remedy, found, unheard, relaxed)
        refusal = accepts({**remedy.pins, **{one.package: f"=={one.after}" for one in moves if one.after}}) if accepts else ""
        if refusal:
            return refusal
        return self._told(remedy, found, moves, before, unheard)

    def can_relax(self, remedy: Remedy) -> bool:
        """Whether anything beside the pins is held where it is by an exact pin."""
        strict, free = ((self._requirements(remedy, relaxed), self._constraints(remedy, relaxed)) for relaxed in (False, True))
        return strict != free

    def taken(self, remedy: Remedy) -> Answer:
        """What uv takes with the pins of a remedy: nothing else moved, or where that is refused and can be, with the rest free to.

        Raises:
            EnvdoctorError: no uv, or no index that answers.
        """
        labels = self._labels(remedy.pins)
        for relaxed in (False, True):
            found = self._ask(self._requirements(remedy, relaxed), self._constraints(remedy, relaxed), labels, frozenset(remedy.pins))
            if found.gave_up and not self.whole.declared and not self.narrowed:
                self.narrowed = True
                return self.taken(remedy)
            if not found.conflict or not (remedy.pins or remedy.removes) or not self.can_relax(remedy):
                break
        return found

    def asked_indexes(self, remedy: Remedy) -> tuple[str, ...]:
        """The indexes beside the default one that answer for a remedy, as lines of a requirements file."""
        return self._indexes(self._labels(remedy.pins))

    def _told(self, remedy: Remedy, found: Answer, moves: tuple[Move, ...], before: bool, unheard: frozenset[str]) -> Remedy | str:
        unproven = [name for name in remedy.pins if name in found.left_out]
        verified = "resolver"
        of = "the tracked packages" if self.narrowed else "the others" if found.left_out else "the whole set"
        words = [f"uv takes {of} for {self.whole.where()}"]
        if self.narrowed:
            words.append("the other packages were left out: too many of them are on no package index that was asked")
        if unproven:
            verdict = metadata_agrees(remedy.pins, self.whole.stated, remedy.removes)
            if verdict.verified == "refused":
                return verdict.conflict
            verified = verdict.verified
            words.append(verdict.proof)
        left = [f"{name} ({why})" for name, why in found.left_out.items()]
        if left:
            more = f" and {len(left) - _MOST_TOLD} more" if len(left) > _MOST_TOLD else ""
            words.append(f"left out: {', '.join(left[:_MOST_TOLD])}{more}")
        if found.late_patch:
            words.append("not for its first patch releases")
        if before:
            words.append("what is there contradicts itself already, whatever the pins")
        for label in sorted(unheard):
            pins = [f"{name} {pin[2:].partition('+')[0]}" for name, pin in remedy.pins.items() if label_of(name, pin) == label]
            which = f"build of {pins[0]} was" if pins else "builds were"
            why = "did not answer" if index_line(label) in self.silent else "does not tell the days of its builds"
            words.append(f"the {label} {which} not asked for: {index_of(label)} {why}")
            if any(has_build(name, pin[2:]) is not True for name, pin in remedy.pins.items() if name == "torch" and label_of(name, pin)):
                verified = "none"
                words.append("whether there is such a build is not known")
        told = {index_line(label) for label in unheard}
        words += [f"{_address(line)} did not answer" for line in self.silent if line in self.whole.indexes and line not in told]
        words += given_up(remedy.pins, self.whole.releases())
        return replace(remedy, verified=verified, moves=moves, proof=beside(words, remedy), index=index_for(remedy.pins) or remedy.index)

    def _ask(
        self,
        requirements: tuple[str, ...],
        constraints: tuple[str, ...],
        labels: frozenset[str],
        pinned: frozenset[str],
        *,
        first: bool = False,
    ) -> Answer:
        """uv's answer, without the indexes that do not answer.

        Raises:
            EnvdoctorError: the default index does not answer, or uv does not.
        """
        spared = frozenset() if self.whole.declared else frozenset(self.whole.releases()) - pinned
        preferences = {} if first else self.before()
        while True:
            lines = self._indexes(labels)
            question = Question(requirements, constraints, preferences, lines, labels - self._unheard(labels), spared)
            try:
                found = answer(question, self.whole.installation, day=self.whole.day, run=self.run)
            except NoIndexError as error:
                dead = blamed(error.said, lines)
                if not dead:
                    raise
                self.silent += dead
                continue
            # Where PyTorch's own index is silent, the project's may know nothing of its builds; and where only releases until a day
            # count, uv passes over builds of which an index does not tell the day.
            unsure = [label for label in question.labels if self.whole.day is not None or index_line(label) in self.silent]
            lost = frozenset(label for label in unsure if f"+{label}" in found.conflict)
            if not lost:
                return found
            self.lost |= lost

    def _indexes(self, labels: frozenset[str]) -> tuple[str, ...]:
        lines = dict.fromkeys((*self.whole.indexes, *(index_line(label) for label in sorted(labels))))
        return tuple(line for line in lines if line not in self.silent)

    def _unheard(self, labels: frozenset[str]) -> frozenset[str]:
        """The labels that no index was asked for: one of the project's own may have any build."""
        heard = self._indexes(frozenset())
        silent = frozenset(label for label in labels if index_line(label) in self.silent and not heard)
        return silent | (labels & self.lost)

    def before(self) -> dict[str, str]:
        """The releases that are there, or would be taken, without any pin: what is kept where it can be."""
        if self._before is None:
            self._before = stated = self.whole.releases()
            if not self.whole.stated.closed:
                found = self._ask(self.whole.requirements(), self.whole.constraints, self._labels({}), frozenset(), first=True)
                self._resolved = not found.conflict
                # Where nothing can be resolved as it stands, what only a constraint holds is kept where it can be as well.
                held = {name: told.version for name, told in found.taken.items()} if self._resolved else self.whole.constrained()
                self._before = {**held, **stated}
        return self._before

    def _labels(self, pins: Mapping[str, str]) -> frozenset[str]:
        """The labels of PyTorch's builds in the set; that of another torch goes with it."""
        versions = {**self.whole.releases(), **{name: pin[2:] for name, pin in pins.items()}}
        return frozenset(label for name, version in versions.items() if (label := label_of(name, version)))

    def _requirements(self, remedy: Remedy, relaxed: bool) -> tuple[str, ...]:
        lines: dict[str, None] = {}
        left = dict(remedy.pins)
        for line in self.whole.requirements():
            name = named(line)
            if self.narrowed and name not in tracked():
                continue
            if name in remedy.pins:
                left.pop(name, None)
                lines[f"{head(line)}{remedy.pins[name]}"] = None
            elif name not in remedy.removes:
                lines[head(line) if relaxed and _PIN.fullmatch(line[len(head(line)) :].strip()) else line] = None
        return (*lines, *(f"{name}{pin}" for name, pin in left.items()))

    def _constraints(self, remedy: Remedy, relaxed: bool) -> tuple[str, ...]:
        kept = (line for line in self.whole.constraints if named(line) not in {*remedy.pins, *remedy.removes})
        return tuple(line for line in kept if not (relaxed and _PIN.fullmatch(line[len(head(line)) :].strip())))

    def _moves(self, remedy: Remedy, found: Answer, unheard: frozenset[str], relaxed: bool) -> tuple[tuple[Move, ...], bool]:
        """What moves beside the pins, and whether anything else would have to without them."""
        before, known = self.before(), self._resolved or self.whole.stated.closed
        moves = []
        for name, told in found.taken.items():
            was = before.get(name, "")
            if name not in remedy.pins and (was or known) and not _same(was, told.version):
                moves.append(Move(name, was, told.version))
        if self._resolved:
            gone = (name for name in before if name not in {*found.taken, *found.left_out, *remedy.pins, *remedy.removes})
            moves += [Move(name, before[name], "") for name in gone]
        if unheard:  # those of the default build say nothing of the one that is meant
            moves = [one for one in moves if not one.package.startswith(_OF_A_BUILD)]
        if not (relaxed and self.whole.stated.closed and any(one.before for one in moves)):
            return tuple(sorted(moves, key=lambda one: one.package)), False
        without = self._without_pins()
        own = [one for one in moves if not (one.before and _same(without.get(one.package, ""), one.after))]
        return tuple(sorted(own, key=lambda one: one.package)), len(own) < len(moves)

    def _without_pins(self) -> dict[str, str]:
        """What uv would take of the packages that are there, with none of the pins."""
        if self._unpinned is None:
            nothing = Remedy({}, (), ())
            found = self._ask(self._requirements(nothing, True), self._constraints(nothing, True), self._labels({}), frozenset())
            self._unpinned = {name: told.version for name, told in found.taken.items()}
        return self._unpinned


def beside(words: Iterable[str], remedy: Remedy) -> str:
    """What was asked and answered, and behind it what the search had to say of its own."""
    return "; ".join(dict.fromkeys(filter(None, (*words, remedy.proof))))


def _address(line: str) -> str:
    from envdoctor.sources.declared.requirement_line import without_credentials

    return without_credentials(line.partition(" ")[2])


def _same(before: str, after: str) -> bool:
    """Whether two versions are one release; the label of a build is not looked at."""
    if not before or not after:
        return before == after
    one, other = (exact(public(f"=={text}")[2:]) for text in (before, after))
    return one.text == other.text or (one.key is not None and one.key == other.key)


__all__ = ["Accepts", "Resolver", "beside"]
