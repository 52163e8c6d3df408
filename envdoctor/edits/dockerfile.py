"""Pins written into the install commands of a Dockerfile: a word changes, and nothing else does.

Only what decides is changed: of two commands that install a package, the one whose release the image holds in the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from envdoctor.edits.dockerfile_commands import InstallCommand, InstallWord, install_commands, span_in
from envdoctor.edits.edit import Edited, Pin, Refusal, RefusedError
from envdoctor.edits.specifier import Written, wished, written
from envdoctor.edits.splice import Document, Splice, document_of, lines_at_newline, lines_of, spliced
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Absent, Exact, Ranged, version_condition
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.records import dataclass
from envdoctor.sources.docker.build import build
from envdoctor.sources.docker.parse import Dockerfile, parse_dockerfile
from envdoctor.sources.docker.stage import Stage
from envdoctor.sources.shell.marks import is_known
from envdoctor.world.installation import Installation
from envdoctor.world.releases import tracked

_MOST_BYTES = 512 * 2**10
_VARIABLE = re.compile(r"==[ \t]*\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))([A-Za-z0-9.+]*)")
_MOST_ROUNDS = 8
_TOOLS = frozenset(("ninja", "packaging", "pip", "setuptools", "uv", "wheel"))
_VALUE = r"(?:^|(?<=\s)){}=(\"[^\"$\\]*\"|'[^'$\\]*'|[^\s\"'$\\]+)(?=\s|$)"


def edit_dockerfile(path: Path, pins: Sequence[Pin], installation: Installation) -> tuple[Edited, ...]:
    """The Dockerfile with the pins in its install commands.

    A package that no command installs is added to the last one of the last stage, if that one is plain enough. What a copied
    requirements file states is refused here: it is that file which is to be changed.

    Raises:
        EnvdoctorError: the file cannot be read, or is no UTF-8 text.
    """
    place = plain(str(path), 4096)
    try:
        data = read_bounded(path, _MOST_BYTES)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected="a Dockerfile", next_step="check the path") from None
    image = _Image(path, document_of(data, place, coding_line=False), installation)
    splices: list[Splice] = []
    done: list[Pin] = []
    refused: list[Refusal] = []
    for pin in pins:
        try:
            planned = image.planned(pin)
            _agreeing(image, [*splices, *planned], [*done, pin])
        except RefusedError as error:
            refused.append(Refusal(pin, str(error)))
        else:
            splices += planned
            done.append(pin)
    text = image.document.text
    after = image.document.encoded(spliced(text, splices))
    return (
        Edited(path, data, after, tuple(done), tuple(refused), lines_of(text, splices, lines_at_newline(text)) if after != data else ()),
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """A package in an environment of a stage that ships."""

    stage: int
    environment: str
    name: str
    fact: Fact


class _Image:
    """What a Dockerfile builds, and the words that say so."""

    def __init__(self, path: Path, document: Document, installation: Installation) -> None:
        self.path, self.document, self.installation = path, document, installation
        self.parsed: Dockerfile = parse_dockerfile(document.text)
        self.commands = install_commands(document.text, self.parsed)
        self.stages: list[Stage] = build(self.parsed, path, installation)
        self.held = tuple(_held(self.stages))

    def planned(self, pin: Pin) -> list[Splice]:
        """The changes that a wish comes to.

        Raises:
            RefusedError: it cannot be given.
        """
        name = canonical(pin.package)
        held = [one for one in self.held if one.name == name]
        if held and all(_satisfied(one.fact, pin) for one in held):
            return []
        elsewhere = {one.fact.origin.file for one in held} - {str(self.path)}
        lines = self._disagreeing(held, pin)
        for _ in range(_MOST_ROUNDS):
            found = self._words(name, lines if pin.specifier else None)
            if not found:
                break
            splices = [splice for command, word, requirement in found for splice in self._changed(pin, command, word, requirement)]
            # What an earlier command installs now, a later one may replace again.
            more = self._disagreeing(self._held_with(splices, name), pin) - lines
            if not more:
                return splices
            lines |= more
        if any(elsewhere):
            raise RefusedError(f"{pin.package} is stated in {', '.join(sorted(filter(None, elsewhere)))}: give that file")
        if held:
            line = min(one.fact.origin.line or 0 for one in held)
            raise RefusedError(f"{pin.package} comes with line {line}, which is no install command of pip or uv that names it")
        if not pin.specifier:
            return []
        direct = next((word.line for command in self.commands for word in command.wanted if _named(word, name)), None)
        if direct is not None:
            raise RefusedError(f"line {direct} installs {pin.package}, and does not say which release, or not in all cases")
        return self._added(pin)

    def _disagreeing(self, held: Sequence[_Held], pin: Pin) -> set[int]:
        """The lines of this file that install what is not wished."""
        facts = [one.fact for one in held if not _satisfied(one.fact, pin)]
        return {fact.origin.line or 0 for fact in facts if fact.origin.file == str(self.path)}

    def _words(self, name: str, lines: set[int] | None) -> list[tuple[InstallCommand, InstallWord, Written]]:
        """The words that install a package, on these lines or on any."""
        return [
            (command, word, requirement)
            for command in self.commands
            for word in command.wanted
            if (lines is None or word.line in lines) and (requirement := _requirement(word)) is not None and requirement.name == name
        ]

    def _held_with(self, splices: Sequence[Splice], name: str) -> list[_Held]:
        try:
            parsed = parse_dockerfile(spliced(self.document.text, splices))
        except ValueError:
            return []
        return [one for one in _held(build(parsed, self.path, self.installation)) if one.name == name]

    def _changed(self, pin: Pin, command: InstallCommand, word: InstallWord, requirement: Written) -> list[Splice]:
        if not pin.specifier:
            if len(command.wanted) < 2:
                raise RefusedError(f"line {word.line} installs nothing but {pin.package}")
            if word.whole:
                raise RefusedError(f"line {word.line} is a list: take {pin.package} out by hand")
            return [Splice(command.before(word).end, word.end, "")]
        if not is_known(word.text):
            return self._argument(pin, word, requirement)
        new = wished(requirement, pin)
        if new is None:
            return []
        return [*self._index(pin, command, word), Splice(word.start, word.end, word.saying(requirement.saying(new)))]

    def _index(self, pin: Pin, command: InstallCommand, word: InstallWord) -> list[Splice]:
        """The index that has the build, named before the word, unless the command or a variable has it already."""
        address = pin.index.rstrip("/")
        variables = " ".join(one.body.text for one in self.parsed.instructions if one.keyword in ("ENV", "ARG"))
        if not address or address in command.text or address in variables:
            return []
        if any(one.text == "--no-index" for one in command.words):
            raise RefusedError(f"line {word.line} says --no-index, and the build is on an index of its own")
        option = f'"--extra-index-url", "{pin.index}", ' if word.whole else f"--extra-index-url {pin.index} "
        return [Splice(word.start, word.start, option)]

    def _argument(self, pin: Pin, word: InstallWord, requirement: Written) -> list[Splice]:
        """The default of the ARG that a version is, where it is that and nothing else."""
        variable = _VARIABLE.fullmatch(requirement.version)
        name = (variable[1] or variable[2]) if variable is not None else ""
        version = pin.specifier.lstrip("=").strip()
        if variable is None or not pin.exact or not version.endswith(variable[3]):
            raise RefusedError(f"line {word.line}: a variable is in the version of {pin.package}")
        text = self.document.text
        if len(re.findall(rf"\$\{{?{name}\b", text)) > 1:
            raise RefusedError(f"line {word.line}: the variable {name} is used elsewhere too")
        given = []
        for instruction in self.parsed.instructions:
            if instruction.keyword == "ENV" and re.search(rf"(?:^|\s){name}[=\s]", instruction.body.text):
                raise RefusedError(f"line {instruction.line}: {name} is a variable of the image, which may be used when it runs")
            if instruction.keyword == "ARG":
                given += [(instruction, found) for found in re.finditer(_VALUE.format(name), instruction.body.text)]
        if len(given) != 1:
            raise RefusedError(f"line {word.line}: the variable {name} has no default, or several")
        instruction, found = given[0]
        start, end = span_in(instruction, text, self.parsed, *found.span(1))
        quote = found[1][0] if found[1][0] in "\"'" else ""
        return [Splice(start, end, f"{quote}{version.removesuffix(variable[3]) if variable[3] else version}{quote}")]

    def _added(self, pin: Pin) -> list[Splice]:
        """The package as another word of the last plain install command of the last stage."""
        first = self.stages[-1].line if self.stages else 0
        plain_ones = [
            command
            for command in self.commands
            if command.simple
            and any(_tells(word) for word in command.wanted)
            and command.wanted[-1].line >= first
            and is_known(command.text)
            and not (command.request.apart or command.request.no_deps or command.request.projects)
            and all(kind == "extra" for kind, _ in command.request.indexes)
        ]
        if not plain_ones:
            raise RefusedError(f"no command installs {pin.package}, and none is plain enough to take it as well")
        command = plain_ones[-1]
        word = command.wanted[-1]
        text = f"{pin.package}{pin.specifier}"
        index = self._index(pin, command, word)
        if word.whole:
            return [*index, Splice(word.end, word.end, f', "{text}"')]
        shown = InstallWord(text, text, word.end, word.end, word.line, word.inside).saying(text)
        return [*index, Splice(word.end, word.end, f" {shown}")]


def _held(stages: Sequence[Stage]) -> list[_Held]:
    """The packages of the last stage, and of others that nothing is made of."""
    shipping = [stage for stage in stages if stage is stages[-1] or not (stage.touched or stage.copied)]
    return [
        _Held(stage.number, key, name, fact)
        for stage in shipping
        for key, environment in stage.environments.items()
        for name, fact in environment.packages.items()
    ]


def _requirement(word: InstallWord) -> Written | None:
    if is_known(word.text):
        return written(word.text)
    raw = word.text if word.whole else word.raw.strip("\"'")
    return written(raw)


def _tells(word: InstallWord) -> bool:
    """Whether a word names a package that the rules know: a command that only brings pip up to date is no place for others."""
    requirement = _requirement(word)
    return requirement is not None and not requirement.direct and requirement.name in tracked() - _TOOLS


def _named(word: InstallWord, name: str) -> bool:
    requirement = _requirement(word)
    return requirement is not None and requirement.name == name


def _satisfied(fact: Fact, pin: Pin) -> bool:
    """Whether what the image holds is what is wished."""
    value = fact.value
    if isinstance(value, Absent):
        return not pin.specifier
    if not isinstance(value, (Exact, Ranged)) or not pin.specifier:
        return False
    if pin.exact and not isinstance(value, Exact):
        return False
    if pin.exact and isinstance(value, Exact) and "*" not in pin.specifier:
        from packaging.version import InvalidVersion, Version

        try:
            return Version(value.text) == Version(pin.specifier.lstrip("="))
        except InvalidVersion:
            return False
    return version_condition(pin.specifier).relation(value) is True


def _agreeing(image: _Image, splices: Sequence[Splice], pins: Sequence[Pin]) -> None:
    """Raises RefusedError where the changed file does not build what is wished, or anything else builds another way."""
    try:
        text = spliced(image.document.text, splices)
        image.document.encoded(text)
    except ValueError:
        raise RefusedError("another change stands at the same place") from None
    if text == image.document.text:
        return
    parsed = parse_dockerfile(text)
    held = _held(build(parsed, image.path, image.installation))
    names = {canonical(pin.package): pin for pin in pins}
    same = _others(image.held, names) == _others(held, names) and len(parsed.problems) == len(image.parsed.problems)
    for name, pin in names.items():
        found = [one.fact for one in held if one.name == name and one.fact.origin.file in (str(image.path), None)]
        same = same and (all(_satisfied(fact, pin) for fact in found) and bool(found) == bool(pin.specifier))
    if not same:
        raise RefusedError("the file would not be read back as wished")


def _others(held: Sequence[_Held], names: dict[str, Pin]) -> set[tuple[int, str, str, str]]:
    return {(one.stage, one.environment, one.name, str(one.fact.value)) for one in held if one.name not in names}


__all__ = ["edit_dockerfile"]
