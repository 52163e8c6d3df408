"""Facts from a ``pyproject.toml``: what the project requires, always and with each extra, group and environment.

Read: the standard tables (PEP 621, PEP 735, ``build-system``), and what Poetry, PDM, uv, Hatch, Flit and setuptools keep beside them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.facts.names import canonical
from envdoctor.files.paths import is_file, real_path
from envdoctor.records import replace
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.locks import say_python
from envdoctor.sources.declared.project_extras import Stated
from envdoctor.sources.declared.pyproject_poetry import poetry_pythons, read_poetry
from envdoctor.sources.declared.pyproject_sections import Environment, Sections
from envdoctor.sources.declared.pyproject_tools import read_flit, read_hatch, read_pdm, read_setuptools, read_uv
from envdoctor.sources.declared.requirement_line import declare
from envdoctor.sources.declared.toml_document import TomlDocument, read_document, strings_of, table_of, text_of
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation
from envdoctor.world.releases import tracked

_PROJECT_NAME = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?")
_MOST_VARIANTS = 300
_MOST_INCLUDED = 100
_MOST_STATED = 20_000

_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+){0,5}(?:\.?(?:post|dev|rc|a|b)[0-9]*)?", re.ASCII)


def collect_pyproject(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What the project requires: always, and with each extra, dependency group and environment, and what builds it.

    Raises:
        EnvdoctorError: the file cannot be read, or is no TOML.
    """
    document = read_document(path)
    pythons, keys = _pythons(document, installation)
    sections = Sections(document, Declarations(installation.admitted_by(pythons)))
    if pythons:
        say_python(sections.stated, pythons, document.file, document.line(*keys))
    _read_project(sections)
    read_flit(sections)
    read_poetry(sections)
    _read_groups(sections)
    read_uv(sections)
    read_pdm(sections)
    read_hatch(sections)
    read_setuptools(sections)
    _say_dynamic(sections)
    build = sections.rows("build-system", "requires", owner=sections.table("build-system"))
    _say_nothing(sections)
    return _Variants(sections).all(build)


def _pythons(document: TomlDocument, installation: Installation) -> tuple[str, tuple[str, ...]]:
    """The range of Pythons that the project admits, and where it stands."""
    project = table_of(document.table.get("project")).get("requires-python")
    if isinstance(project, str):
        return project, ("project", "requires-python")
    told = poetry_pythons(Sections(document, Declarations(installation)))
    if told:
        return told, ("tool", "poetry", "dependencies", "python")
    flit = table_of(table_of(table_of(document.table.get("tool")).get("flit")).get("metadata"))
    return text_of(flit.get("requires-python")), ("tool", "flit", "metadata", "requires-python")


def _read_project(sections: Sections) -> None:
    project = sections.table("project")
    sections.name = text_of(project.get("name"))
    version = text_of(project.get("version"))
    if sections.name and _VERSION.fullmatch(version):
        sections.stated.project = (canonical(sections.name), version)
    if not isinstance(project.get("requires-python", ""), str):
        sections.wrong(project["requires-python"], "a range of Pythons as text", "project", "requires-python")
    sections.base += sections.rows("project", "dependencies", owner=project)
    extras = sections.table("project", "optional-dependencies")
    for extra in extras:
        sections.extras[extra] = sections.rows("project", "optional-dependencies", extra, owner=extras)


def _read_groups(sections: Sections) -> None:
    """``[dependency-groups]`` (PEP 735), with the groups that a group includes in their place."""
    groups = _Groups(sections)
    for name in sections.table("dependency-groups"):
        sections.groups.setdefault(name, []).extend(groups.flat(name, (), set()))


class _Groups:
    """The dependency groups of a file; each entry is complained of once, however often its group is included."""

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self._groups = sections.table("dependency-groups")
        self._written = {canonical(name): name for name in self._groups}
        self._told: set[tuple[str, int]] = set()

    def flat(self, name: str, around: tuple[str, ...], done: set[str]) -> list[Stated]:
        """The requirements of a group and of those that it includes, each of them once."""
        rows: list[Stated] = []
        items = self._groups[name]
        if not isinstance(items, list):
            if (name, -1) not in self._told:
                self._told.add((name, -1))
                self._sections.wrong(items, "a list of requirements", "dependency-groups", name)
            return rows
        done.add(name)
        for place, item in enumerate(items):
            included = item.get("include-group") if isinstance(item, dict) else None
            if isinstance(item, str):
                rows.append(self._sections.text(item, "dependency-groups", name, place))
            elif isinstance(included, str) and self._written.get(canonical(included), name) not in (name, *around):
                other = self._written[canonical(included)]
                if other not in done and len(around) < _MOST_INCLUDED:
                    rows += self.flat(other, (*around, name), done)
            elif (name, place) not in self._told:
                self._told.add((name, place))
                self._complain(name, place, item, included)
        return rows

    def _complain(self, name: str, place: int, item: object, included: object) -> None:
        keys = ("dependency-groups", name, place)
        if not isinstance(included, str):
            self._sections.wrong(item, "a requirement as text, or include-group", *keys)
        elif canonical(included) in self._written:
            _malformed(self._sections, f"group {name} includes itself, by way of {included}", *keys)
        else:
            _malformed(self._sections, f"group {name} includes {included}, which is no group of this file", *keys)


def _malformed(sections: Sections, detail: str, *keys: str | int) -> None:
    sections.stated.defect("requirement-malformed", detail, sections.document.file, sections.document.line(*keys))


def _say_dynamic(sections: Sections) -> None:
    """Dependencies that the build back end fills in, where nothing in the file tells from what."""
    dynamic = strings_of(sections.table("project").get("dynamic"))
    told = {"dependencies": not sections.base, "optional-dependencies": not sections.extras}
    followed = {"dependencies" if not extra else "optional-dependencies" for _, extra, _ in sections.followed}
    missing = [name for name in dynamic if told.get(name) and name not in followed]
    if missing:
        sections.skip(f"{' and '.join(missing)}: dynamic, {_where(sections)}", "project", "dynamic")


def _where(sections: Sections) -> str:
    beside = [name for name in ("setup.py", "setup.cfg") if is_file(sections.document.path.parent / name)]
    backend = text_of(sections.table("build-system").get("build-backend"))
    if beside:
        return f"stated in {' or '.join(beside)}"
    if backend.startswith("setuptools") or not backend:
        return "stated in setup.py or setup.cfg, which are not beside it"
    return f"filled in by {backend} when the project is built"


def _say_nothing(sections: Sections) -> None:
    """A file that requires nothing, and what it is instead."""
    requirements = [*sections.extras.values(), *sections.groups.values(), *(each.requirements for each in sections.environments)]
    if sections.base or sections.followed or any(requirements) or sections.stated.skips or sections.stated.defects:
        return
    tools = sorted(sections.table("tool"))
    beside = [name for name in ("setup.py", "setup.cfg", "requirements.txt") if is_file(sections.document.path.parent / name)]
    what = "it declares no dependencies"
    if "project" not in sections.document.table:
        what = f"it has settings of tools only ({', '.join(tools[:8])})" if tools else "it states no project"
    sections.stated.skip(sections.document.file, f"{what}{f'; {beside[0]} beside it may' if beside else ''}")


class _Variants:
    """The variants of a project, each stated anew on top of what is always required."""

    def __init__(self, sections: Sections) -> None:
        self._sections = sections
        self._left = _MOST_STATED
        self._extras = {canonical(name): name for name in sections.extras}

    def all(self, build: list[Stated]) -> tuple[Variant, ...]:
        sections, base = self._sections, self._sections.stated
        extras = list(dict.fromkeys([*sections.extras, *(extra for _, extra, _ in sections.followed if extra)]))
        number = len(extras) + len(sections.groups) + len(sections.environments)
        if number > _MOST_VARIANTS:
            base.skip(sections.document.file, f"{number} extras, groups and environments, of which {_MOST_VARIANTS} are read")
        for row in sections.constraints:
            declare(row.text, row.file, row.line, base, constraint=True)
        alone = base.copy()
        self._state(base, sections.base, "")
        self._follow(base, "")
        choices: list[tuple[str, Callable[[], Declarations]]] = []
        choices += [(f"extra {name}", partial(self._with_extra, name)) for name in extras]
        choices += [(f"group {name}", partial(self._with_group, name)) for name in sections.groups]
        choices += [(each.label, partial(self._with_environment, each, alone)) for each in sections.environments]
        choices = choices[:_MOST_VARIANTS]
        if any(_name_of(row.text) in tracked() for row in build):
            choices.append(("build system", partial(self._build, build)))
        first = Variant("", base.collected())
        others: list[Variant] = []
        for label, stated in choices:
            self._left -= len(sections.base)
            if self._left < 0:
                break
            variant = Variant(label, stated().collected())
            if _differs(variant, first):
                others.append(variant)
        if self._left < 0:
            skip = Skip(sections.document.file, f"more than {_MOST_STATED} requirements in all its extras and groups: the rest is not read")
            first = Variant("", replace(first.collected, skips=(*first.collected.skips, skip)))
        return (first, *others)

    def _with_extra(self, name: str) -> Declarations:
        stated = self._sections.stated.copy()
        self._state(stated, self._sections.extras.get(name, ()), name, {canonical(name)})
        self._follow(stated, name)
        return stated

    def _with_group(self, name: str) -> Declarations:
        stated = self._sections.stated.copy()
        self._state(stated, self._sections.groups[name], name)
        return stated

    def _with_environment(self, environment: Environment, alone: Declarations) -> Declarations:
        stated = (alone if environment.alone else self._sections.stated).copy()
        self._state(stated, environment.requirements, environment.label)
        seen: set[str] = set()
        for name in environment.extras:
            self._state_extra(stated, name, seen)
        for name, rows in self._sections.groups.items():
            if canonical(name) in map(canonical, environment.groups):
                self._state(stated, rows, name)
        return stated

    def _build(self, rows: list[Stated]) -> Declarations:
        """What the project is built with, in an environment of its own."""
        stated = Declarations(self._sections.stated.installation)
        self._state(stated, rows, "")
        return stated

    def _state(self, stated: Declarations, rows: Iterable[Stated], choice: str, seen: set[str] | None = None) -> None:
        """State requirements; the project's own name among them asks for its extras, and an override takes the place of any."""
        sections = self._sections
        seen = set() if seen is None else seen
        for row in rows:
            self._left -= 1
            if self._left < 0:
                break
            name = _name_of(row.text)
            if name and name == canonical(sections.name):
                self._state_own(stated, row, seen)
            elif name in sections.excluded:
                continue
            elif name in sections.overrides:
                stated.overridden.add(name)
                for other in sections.overrides[name]:
                    declare(other.text, other.file, other.line, stated, extra=choice)
            elif (source := sections.source_of(name, choice)) is not None:
                marker = row.text.partition(";")[2].strip()
                declare(f"{source.text}{f' ; {marker}' if marker else ''}", source.file, source.line, stated, extra=choice)
            elif declare(row.text, row.file, row.line, stated, extra=choice) is not None and name == "torch":
                sections.say_cuda(stated, choice)

    def _state_own(self, stated: Declarations, row: Stated, seen: set[str]) -> None:
        found = _PROJECT_NAME.match(row.text)
        marker = row.text.partition(";")[2].strip()
        if found is None or (marker and not self._sections.applies(marker)):
            return
        for extra in (found[2] or "").split(","):
            if extra.strip():
                self._state_extra(stated, extra, seen)

    def _state_extra(self, stated: Declarations, extra: str, seen: set[str]) -> None:
        name = self._extras.get(canonical(extra.strip()))
        if name is not None and canonical(name) not in seen:
            seen.add(canonical(name))
            self._state(stated, self._sections.extras[name], name, seen)
            self._follow(stated, name)

    def _follow(self, stated: Declarations, extra: str) -> None:
        """State what the requirements files of an extra do; only files of the project itself are read."""
        from envdoctor.sources.declared.requirements import read_requirements

        document = self._sections.document
        for name, wanted_by, line in self._sections.followed:
            if wanted_by != extra:
                continue
            path = document.path.parent / name
            place = document.file if line is None else f"{document.file}:{line}"
            if not _is_inside(path, document.path.parent):
                stated.skip(place, f"{name}: outside of the project, it is not read")
                continue
            try:
                read_requirements(path, stated)
            except EnvdoctorError as error:
                stated.skip(place, f"{name}: {error.found}")


def _is_inside(path: Path, folder: Path) -> bool:
    try:
        return real_path(path).is_relative_to(real_path(folder))
    except (OSError, ValueError, RuntimeError):
        return False


def _differs(variant: Variant, base: Variant) -> bool:
    """Whether a variant states a package that the base does not, or states it otherwise, or has something wrong of its own."""
    told = {(fact.name, str(fact.value)) for fact in base.collected.facts}
    more = any((fact.name, str(fact.value)) not in told for fact in variant.collected.facts)
    return more or any(defect not in base.collected.defects for defect in variant.collected.defects)


def _name_of(text: str) -> str:
    found = _PROJECT_NAME.match(text)
    return canonical(found[1]) if found else ""
