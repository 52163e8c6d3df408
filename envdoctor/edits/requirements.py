"""Pins written into a requirements file and those that it includes: versions change, and nothing else does.

A wish is given in the whole tree or not at all: two statements of one package that disagree would be worse than either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from envdoctor.edits.edit import Edited, Pin, Refusal, RefusedError
from envdoctor.edits.requirement_statements import MOST_LINES, RequirementsFile, Statement, read_tree, understood
from envdoctor.edits.specifier import admits, bounded, pinned, wished
from envdoctor.edits.splice import Splice, document_of, lines_of, spliced
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.names import canonical
from envdoctor.records import dataclass, field
from envdoctor.world.installation import Installation


def edit_requirements(path: Path, pins: Sequence[Pin], installation: Installation) -> tuple[Edited, ...]:
    """The file and every file that it includes, in the order in which they are met, with the pins in them.

    Statements whose marker does not hold for the installation are left alone. A package that no requirement states is added to
    the end of the first file. What was refused stands with the file that is the reason, or with the first.

    Raises:
        EnvdoctorError: the file cannot be read, or is in an encoding that cannot be written back.
    """
    editing = _Editing(read_tree(path), installation)
    for pin in pins:
        if any(canonical(other.package) == canonical(pin.package) and other is not pin for other in editing.given):
            editing.refuse(editing.home, pin, "another wish for the package was given before")
        else:
            editing.give(pin)
    return editing.edited()


@dataclass(slots=True)
class _Planned:
    """What one wish changes: spans of files, and lines at the end of the first."""

    splices: list[tuple[RequirementsFile, Splice]] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    changed: list[tuple[RequirementsFile, Statement]] = field(default_factory=list)
    holds: RequirementsFile | None = None


class _RefusedHereError(Exception):
    def __init__(self, file: RequirementsFile, why: str) -> None:
        self.file, self.why = file, why
        super().__init__(why)


class _Editing:
    def __init__(self, tree: list[RequirementsFile], installation: Installation) -> None:
        self.tree, self.installation = tree, installation
        self.home = next((file for file in tree if not file.linked and not file.constraint), tree[0])
        self.hashing = any(file.hashing for file in tree)
        self.indexes = {index for file in tree for index in file.indexes}
        self.given: list[Pin] = []
        self.splices: dict[int, list[Splice]] = {id(file): [] for file in tree}
        self.done: dict[int, list[Pin]] = {id(file): [] for file in tree}
        self.refused: dict[int, list[Refusal]] = {id(file): [] for file in tree}
        self.added: list[str] = []

    def refuse(self, file: RequirementsFile, pin: Pin, why: str) -> None:
        self.refused[id(file)].append(Refusal(pin, why))

    def give(self, pin: Pin) -> None:
        self.given.append(pin)
        try:
            planned = self._planned(pin)
        except _RefusedHereError as error:
            self.refuse(error.file, pin, error.why)
            return
        for file, splice in planned.splices:
            self.splices[id(file)].append(splice)
        self.added += planned.added
        touched = dict.fromkeys([*(id(file) for file, _ in planned.splices), *([id(self.home)] if planned.added else [])])
        for key in touched or [id(planned.holds or self.home)]:
            self.done[key].append(pin)

    def _planned(self, pin: Pin) -> _Planned:
        if sum(file.lines for file in self.tree) > MOST_LINES:
            raise _RefusedHereError(self.home, f"more than {MOST_LINES} lines: the rest is not read")
        here, elsewhere = self._statements(pin)
        stated = [(file, one) for file, one in here if not file.constraint]
        planned = _Planned(holds=stated[0][0] if stated else None)
        if not pin.specifier:
            for file, one in stated:
                if one.requirement.direct:
                    raise _RefusedHereError(file, f"line {one.line.number}: {one.name} is taken from a URL")
                planned.splices.append((file, Splice(one.line.start, one.line.end, "")))
            return planned
        for file, one in here:
            self._restated(pin, file, one, planned)
        if not stated and pin.added:
            self._add(pin, elsewhere, planned)
        self._indexed(pin, planned)
        return planned

    def _statements(self, pin: Pin) -> tuple[list[tuple[RequirementsFile, Statement]], list[tuple[RequirementsFile, Statement]]]:
        """The statements of a package that hold here, and those whose marker says otherwise."""
        here: list[tuple[RequirementsFile, Statement]] = []
        elsewhere: list[tuple[RequirementsFile, Statement]] = []
        for file in self.tree:
            for one in file.statements:
                if one.name != canonical(pin.package):
                    continue
                applies = one.expanded.applies(self.installation)
                if applies is None:
                    raise _RefusedHereError(file, f"line {one.line.number}: its marker cannot be read")
                (here if applies else elsewhere).append((file, one))
        return here, elsewhere

    def _restated(self, pin: Pin, file: RequirementsFile, one: Statement, planned: _Planned) -> None:
        """A statement with the wished version; one that only constrains is changed where it would contradict."""
        place = f"line {one.line.number}: "
        try:
            if file.constraint and not one.expanded.direct and (not pin.exact or admits(one.expanded.version, pin.specifier)):
                if not pin.exact:
                    bounded(one.expanded, pin.specifier)
                return
            new = wished(one.expanded, pin)
        except RefusedError as error:
            raise _RefusedHereError(file, place + str(error)) from None
        if new is None:
            return
        if one.requirement.variable:
            raise _RefusedHereError(file, f"{place}the environment variable {one.requirement.variable} is in it")
        changes = [_changed(one, new)]
        if one.hashes:
            changes.append(self._hashed(pin, file, one))
        elif self.hashing:
            raise _RefusedHereError(file, f"{place}it has no hashes, and others have: pip refuses that")
        planned.splices += [(file, change) for change in changes]
        planned.changed.append((file, one))

    def _hashed(self, pin: Pin, file: RequirementsFile, one: Statement) -> Splice:
        """The hashes of the wished release in place of those that stand there, laid out as they are."""
        if not (pin.exact and pin.hashes):
            raise _RefusedHereError(file, f"line {one.line.number} has hashes, and those of {pin.package}{pin.specifier} are not known")
        spans = [one.line.span(*span) for span in one.hashes]
        text = file.document.text
        gaps = [text[end:start] for (_, end), (start, _) in pairwise(spans)]
        if any(gap.strip(" \t\r\n\\") for gap in gaps):
            raise _RefusedHereError(file, f"line {one.line.number}: other options stand between its hashes")
        before = text[: spans[0][0]]
        lead = before[len(before.rstrip(" \t\r\n\\")) :]
        between = gaps[0] if gaps else lead if "\\" in lead else f" \\{file.newline}    "
        return Splice(spans[0][0], spans[-1][1], between.join(f"--hash={value}" for value in pin.hashes))

    def _add(self, pin: Pin, elsewhere: Sequence[tuple[RequirementsFile, Statement]], planned: _Planned) -> None:
        if self.home.linked or self.home.constraint:
            raise _RefusedHereError(self.home, "it is a symbolic link written as text")
        if self.hashing:
            raise _RefusedHereError(self.home, f"its lines have hashes: a line for {pin.package} without them would be refused by pip")
        for file, one in elsewhere:
            # Its line would hold on that platform as well.
            if not file.constraint and (one.expanded.direct or not (pin.exact and admits(one.expanded.version, pin.specifier))):
                why = f"line {one.line.number} states it for another platform, and a line for all would contradict it"
                raise _RefusedHereError(file, why)
        planned.added.append(f"{pin.package}{pin.specifier}")

    def _indexed(self, pin: Pin, planned: _Planned) -> None:
        """The index that has the wished build, named once, before what needs it."""
        if not pin.index or not (planned.splices or planned.added) or pin.index.rstrip("/") in self.indexes:
            return
        refusing = next((file for file in self.tree if file.no_index), None)
        if refusing is not None:
            raise _RefusedHereError(refusing, "it says --no-index, and the build is on an index of its own")
        self.indexes.add(pin.index.rstrip("/"))
        option = f"--extra-index-url {pin.index}"
        if planned.added:
            planned.added.insert(0, option)
            return
        file, one = planned.changed[0]
        planned.splices.append((file, Splice(one.line.start, one.line.start, option + file.newline)))

    def edited(self) -> tuple[Edited, ...]:
        """Every file as it is to be; where what was written is not read back as wished, nothing is changed anywhere."""
        home = id(self.home)
        if self.added:
            self.splices[home].append(_at_the_end(self.home, self.added))
        found = [self._edited(file) for file in self.tree]
        wrong = [file for file, one in zip(self.tree, found, strict=True) if one is None]
        if wrong:
            refused = tuple(Refusal(pin, "the file would not be read back as wished") for pin in self.given)
            return tuple(Edited(file.path, file.before, file.before, refused=refused if file is wrong[0] else ()) for file in self.tree)
        return tuple(one for one in found if one is not None)

    def _edited(self, file: RequirementsFile) -> Edited | None:
        splices, done, refused = self.splices[id(file)], tuple(self.done[id(file)]), tuple(self.refused[id(file)])
        text = file.document.text
        try:
            new = spliced(text, splices)
            after = file.document.encoded(new)
        except ValueError:
            return None
        if new == text:
            return Edited(file.path, file.before, file.before, done, refused)
        if not self._reads_back(file, new, after, done):
            return None
        return Edited(file.path, file.before, after, done, refused, lines_of(text, splices, text.splitlines(keepends=True)))

    def _reads_back(self, file: RequirementsFile, new: str, after: bytes, done: Iterable[Pin]) -> bool:
        """Whether a file with these bytes states what was wished, and of everything else what it stated before."""
        try:
            document = document_of(after, str(file.path))
        except EnvdoctorError:
            return False
        if document.text != new or document.encoding != file.document.encoding:
            return False
        again = understood(file.path, after, document, constraint=file.constraint)
        names = {canonical(pin.package): pin for pin in done}
        others, still = ([one.line.text for one in read.statements if one.name not in names] for read in (file, again))
        if others != still or again.includes != file.includes or not file.indexes <= again.indexes:
            return False
        return all(
            self._says(names[one.name], one, file.constraint)
            for one in again.statements
            if one.name in names and one.expanded.applies(self.installation)
        )

    @staticmethod
    def _says(pin: Pin, one: Statement, constraint: bool) -> bool:
        if constraint:
            return not pin.exact or admits(one.expanded.version, pin.specifier)
        if not pin.specifier:
            return False
        try:
            return pinned(one.expanded.version, pin.specifier) is None if pin.exact else bounded(one.expanded, pin.specifier) is None
        except RefusedError:
            return False


def _changed(one: Statement, new: str) -> Splice:
    r"""A version in place of the one that a statement has; what both begin with stays, a ``\\`` in the midst of it as well."""
    old, first = one.requirement.version, one.requirement.start
    same = next((n for n, (before, after) in enumerate(zip(old, new, strict=False)) if before != after), min(len(old), len(new)))
    start, end = one.line.span(first + same, first + len(old))
    return Splice(start, end, new[same:])


def _at_the_end(file: RequirementsFile, lines: Sequence[str]) -> Splice:
    r"""Lines behind the last one of a file, in its own line ends; one that ends in ``\`` would take them in, and is ended first."""
    text, newline = file.document.text, file.newline
    last = (text.splitlines() or [""])[-1]
    ended = not text or text.splitlines(keepends=True)[-1] != last
    lead = ("" if ended else newline) + (newline if last.endswith("\\") and not last.lstrip().startswith("#") else "")
    return Splice(len(text), len(text), lead + newline.join(lines) + (newline if ended else ""))


__all__ = ["edit_requirements"]
