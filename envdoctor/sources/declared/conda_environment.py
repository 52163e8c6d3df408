"""Conda's ``environment.yml`` and explicit lists: what conda installs, and what pip installs after it.

Names of conda's are stated under those of PyPI. A package that is no Python package is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Fact, Origin
from envdoctor.facts.histories import satisfiable
from envdoctor.facts.names import canonical
from envdoctor.facts.values import parse_value
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.text import plain
from envdoctor.files.yaml_nodes import NestedTooDeeplyError, yaml_nodes
from envdoctor.sources.declared.conda_channel import TORCH_OF_ITS_CHANNEL, brings_torch, is_of_its_channel
from envdoctor.sources.declared.conda_spec import MatchSpec, cuda_of, on_pypi, parse_match_spec
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.requirement_line import MALFORMED
from envdoctor.sources.declared.requirements import read_requirement_lines
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation
from envdoctor.world.releases import release_texts

# Up to 20.2 pip warned of what does not go together, and installed it.
_OLD_PIP = re.compile(r"(?:==|~=|<=?)(?:\d|1\d|20\.[0-2])(?:\..*)?|<=?20")
_MOST_BYTES = 2**20
_DEEPEST = 20
# A list of aliases of lists is longer than its file.
_MOST_PACKAGES = 5_000
_SELECTOR = re.compile(r"#\s*\[(not\s+)?(linux|win|osx|unix|linux64|linux32|win64|win32|osx64|aarch64|arm64)\]\s*$")
_EXPLICIT = re.compile(r"https?://\S+/([^/\s]+)-([^-/\s]+)-([^-/\s]+?)\.(?:conda|tar\.bz2)(?:#\S*)?")


def collect_conda(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What a conda environment file states: one variant; more for further YAML documents.

    Raises:
        EnvdoctorError: unreadable, or no YAML.
    """
    place = plain(str(path), 4096)
    try:
        text = read_bounded(path, _MOST_BYTES).decode("utf-8-sig", "replace")
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected="a conda environment file", next_step="check the path") from None
    if re.search(r"^@EXPLICIT\s*$", text, re.MULTILINE):
        return (_explicit(path, text, installation),)
    variants: list[Variant] = []
    plain_text, templates = _without_templates(text)
    for number, node in enumerate(_documents(plain_text, place), start=1):
        reading = CondaReading(path, text.splitlines(), installation)
        if number == 1:
            for line, why in templates:
                reading.skip(line, why)
        reading.document(node)
        variants.append(Variant("" if number == 1 else f"document {number}", reading.collected()))
    if not variants:
        raise EnvdoctorError(place, found="nothing but comments", expected="a conda environment file", next_step="check the path")
    return tuple(variants)


def _explicit(path: Path, text: str, installation: Installation) -> Variant:
    """A list of files, as ``conda list --explicit`` writes it."""
    reading = CondaReading(path, text.splitlines(), installation)
    for number, line in enumerate(text.splitlines(), start=1):
        match = _EXPLICIT.fullmatch(line.strip())
        if match is not None:
            reading.specs.append((MatchSpec(match[1].lower(), f"=={match[2]}", f"=={match[2]}", match[3]), number))
    reading.state()
    return Variant("", reading.collected())


def _without_templates(text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text with its template statements, and what they decide, blanked; which lines those are."""
    if "{%" not in text:
        return text, []
    rows, skipped, depth = text.split("\n"), [], 0
    for place, row in enumerate(rows):
        statement = re.match(r"\s*\{%-?\s*(\w+)", row)
        word = statement[1] if statement else ""
        if word in ("if", "for") and depth == 0:
            skipped.append((place + 1, "a block of a template: what it gives is decided when the template is filled in"))
        depth += (word in ("if", "for")) - (word in ("endif", "endfor") and depth > 0)
        if statement or depth:
            rows[place] = ""
    return "\n".join(rows), skipped


def _documents(text: str, place: str) -> Iterator[Any]:
    import yaml

    try:
        yield from yaml_nodes(text, _DEEPEST)
    except NestedTooDeeplyError:
        found = "lists nested too deeply"
        raise EnvdoctorError(place, found=found, expected="a conda environment file", next_step="check the path") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{place}, line {mark.line + 1}, column {mark.column + 1}" if mark else place
        raise EnvdoctorError(where, found=plain(error.problem or "no YAML"), expected="YAML", next_step="correct the file") from None
    except yaml.YAMLError as error:
        found = plain(str(getattr(error, "reason", "") or "no YAML"))
        raise EnvdoctorError(place, found=found, expected="YAML", next_step="correct the file") from None


class CondaReading:
    """One environment. Conda installs first, whatever the order of the file; pip takes its own packages over conda's."""

    def __init__(self, path: Path, rows: list[str], installation: Installation, declarations: Declarations | None = None) -> None:
        self._path = path
        self._file = str(path)
        self._rows = rows
        self._installation = installation
        self._declarations = declarations or Declarations(installation)
        self.specs: list[tuple[MatchSpec, int]] = []
        self._pip: list[tuple[int, str]] = []
        self.channels: tuple[str, ...] = ()

    def skip(self, line: int, why: str, *, lost: bool = False) -> None:
        self._declarations.skip(f"{self._file}:{line}", why, lost=lost)

    def collected(self) -> Collected:
        return self._declarations.collected()

    def document(self, node: Any) -> None:
        values = {} if node.id != "mapping" else {key.value: value for key, value in node.value if key.id == "scalar"}
        listed, channels = values.get("dependencies"), values.get("channels")
        if channels is not None and channels.id == "sequence":
            self.channels = tuple(str(one.value) for one in channels.value if one.id == "scalar")
        if listed is None or listed.id != "sequence":
            locked = "package" in values and "metadata" in values
            why = "a lock of conda-lock, which is not read" if locked else "no list of dependencies: none of conda's environments"
            self.skip(node.start_mark.line + 1, why, lost=True)
            return
        for item in listed.value:
            if len(self.specs) + len(self._pip) > _MOST_PACKAGES:
                self.skip(item.start_mark.line + 1, f"more than {_MOST_PACKAGES} packages: the rest is not read")
                break
            self._item(item)
        self.state()

    def _item(self, node: Any) -> None:
        line = node.start_mark.line + 1
        if node.id == "mapping":
            for key, value in node.value:
                if key.id != "scalar":
                    self.skip(line, "part of a template, not filled in")
                elif key.value == "pip" and value.id == "sequence":
                    self._pip += [
                        (part.start_mark.line + 1, part.value)
                        for part in value.value[:_MOST_PACKAGES]
                        if part.id == "scalar" and self._selected(part)
                    ]
                elif key.value != "pip" or value.id != "scalar" or value.value:
                    self.skip(line, f"{plain(str(key.value), 80)}: neither a package nor a list for pip")
            return
        if node.id != "scalar":
            self.skip(line, "a list within the list of packages")
        elif not node.value.strip() or not self._selected(node):
            return
        elif "{{" in node.value or "${{" in node.value:
            self.skip(line, f"{node.value}: part of a template, not filled in")
        else:
            spec = parse_match_spec(node.value)
            if spec is None:
                self._declarations.defect(MALFORMED, f"{node.value!r} is no package of conda's", self._file, line)
            else:
                self.specs.append((spec, line))

    def _selected(self, node: Any) -> bool:
        """Whether a line is for this platform: ``# [win]`` behind it, as conda-lock and conda-build select lines."""
        row = self._rows[node.start_mark.line] if node.start_mark.line < len(self._rows) else ""
        found = _SELECTOR.search(row)
        if found is None:
            return True
        environment = self._installation.environment()
        system = {"linux": "linux", "darwin": "osx", "win32": "win"}.get(environment["sys_platform"], "")
        machine = {"x86_64": "64", "AMD64": "64", "arm64": "arm64", "aarch64": "aarch64"}.get(environment["platform_machine"], "")
        names = {system, f"{system}{machine}", machine} | ({"unix"} if system in ("linux", "osx") else set())
        return (found[2] in names) is (found[1] is None)

    def state(self) -> None:
        """Declare all: Python first, because it decides the markers of what pip installs."""
        has_torch = self.state_conda(text for _, text in self._pip)
        read_requirement_lines(self._pip, self._path, self._declarations, indexed_here=True, built_here=not has_torch)

    def state_conda(self, texts_of_pip: Iterable[str]) -> bool:
        """Declare what conda installs and pip, which comes after it, leaves in its place; whether a torch is there when pip begins."""
        for spec, line in self.specs:
            if spec.name == "python" and spec.specifier:
                self._python(spec, line)
            elif spec.name == "pip" and _is_old_pip(spec.specifier or ""):
                self._declarations.state("pip", spec.specifier or "", self._file, line)
        of_pip = dict(filter(None, map(_asked_of_pip, texts_of_pip)))
        conda = {on_pypi(spec.name) for spec, line in self.specs if self._package(spec, line, of_pip)}
        packages = [spec for spec, _ in self.specs]
        stays = "torch" in conda or "torch" not in of_pip or brings_torch(packages, of_pip["torch"])
        if stays and is_of_its_channel(packages, self.channels):
            conda.add(TORCH_OF_ITS_CHANNEL)
        if brought := tuple(sorted(name for name in conda if name)):
            self._declarations.say(Fact("present", brought, Origin(self._file, self._file)))
        self._cuda("torch" in of_pip and not stays)
        return any(on_pypi(spec.name) in ("torch", "torchvision", "torchaudio") for spec in packages)

    def _python(self, spec: MatchSpec, line: int) -> None:
        declarations = self._declarations
        declarations.say(Fact("python", parse_value("python", spec.specifier), Origin(self._file, self._file, line)))
        exact = re.fullmatch(r"==(\d+\.\d+(?:\.\d+)?)(?:\.\*)?", spec.specifier or "", re.ASCII)
        if exact is None:
            declarations.installation = declarations.installation.admitted_by(spec.specifier or "")
        elif "python_version" not in declarations.installation.stated:
            declarations.installation = declarations.installation.with_python(exact[1])

    def _package(self, spec: MatchSpec, line: int, of_pip: Mapping[str, str | None]) -> bool:
        """Declare a package of conda's, and say whether it stays: pip replaces it where it asks for something else."""
        name = on_pypi(spec.name)
        if name is None:
            return False
        if spec.specifier is None or not _is_specifier(spec.specifier):
            self.skip(line, f"{spec.name} {spec.version}: a version that Python's own specifiers cannot say")
            return True
        asked = of_pip.get(canonical(name), "")
        joined = ",".join(filter(None, (spec.specifier, asked)))
        if asked is None or (asked and not satisfiable(joined, release_texts(name))):
            return False
        self._declarations.state(name, spec.specifier, self._file, line)
        return True

    def _cuda(self, torch_of_pip: bool) -> None:
        """The CUDA of conda's torch, or of the toolkit; torch from pip brings its own, and what conda installs does not tell it."""
        stated = [(cuda, spec, line) for spec, line in self.specs if (cuda := cuda_of(spec))]
        # The build of torch itself says it best, then the package that selects it.
        stated.sort(key=lambda row: (not row[1].name.startswith("pytorch"), row[1].name == "pytorch-cuda"))
        for cuda, spec, line in stated[:1]:
            if torch_of_pip:
                self.skip(line, f"{spec.name} {spec.version}: torch comes from pip here, and brings a CUDA of its own")
            else:
                self._declarations.say(Fact("cuda", parse_value("cuda", cuda), Origin(self._file, self._file, line)))


def _asked_of_pip(text: str) -> tuple[str, str | None] | None:
    """The package that a line for pip names, and its specifier: None for one that lies somewhere else."""
    try:
        requirement = Requirement(text.partition(" #")[0].strip())
        specifier = str(requirement.specifier)
    except (ValueError, RecursionError):  # a ValueError also of a number without end
        named = re.match(r"([A-Za-z0-9._-]+)\s*@", text)
        return (canonical(named[1]), None) if named else None
    return canonical(requirement.name), None if requirement.url else specifier


def _is_old_pip(specifier: str) -> bool:
    """Whether a pip is asked for by a release of before the resolver that refuses."""
    return _is_specifier(specifier) and _OLD_PIP.fullmatch(specifier.replace(" ", "")) is not None


def _is_specifier(text: str) -> bool:
    try:
        SpecifierSet(text)
    except ValueError:  # no specifier, or a number without end in one
        return False
    return True
