"""The dependencies of ``[tool.poetry]``, turned into requirements in the words of PEP 508."""

from __future__ import annotations

import re
from collections.abc import Mapping

from envdoctor.facts.names import canonical
from envdoctor.sources.declared.project_extras import Stated
from envdoctor.sources.declared.pyproject_sections import Sections, direct_requirement
from envdoctor.sources.declared.toml_document import strings_of, table_of, text_of

_POETRY = ("tool", "poetry")


def poetry_pythons(sections: Sections) -> str:
    """The Pythons that ``tool.poetry.dependencies`` admits, as PEP 440 has it; empty where it says nothing."""
    from envdoctor.facts.poetry_ranges import alternatives, hull, one_specifier

    value = sections.table(*_POETRY, "dependencies").get("python")
    text = text_of(value) or text_of(table_of(value).get("version"))
    try:
        choices = alternatives(text)
    except ValueError:
        return text
    return one_specifier(choices) or hull(choices)


def read_poetry(sections: Sections) -> None:
    """Dependencies, extras and groups of ``[tool.poetry]``.

    Where the standard table lists the dependencies as well, Poetry's only narrow what is listed there.
    """
    tool = sections.table(*_POETRY)
    if not tool:
        return
    sections.name = sections.name or text_of(tool.get("name"))
    project = sections.table("project")
    listed = None
    if "dependencies" in project or "optional-dependencies" in project:
        listed = {_name_of(row.text) for rows in (sections.base, *sections.extras.values()) for row in rows}
    optional: dict[str, list[Stated]] = {}
    dependencies = sections.table(*_POETRY, "dependencies")
    for name in dependencies:
        if canonical(name) == "python":
            continue
        for row, is_optional in _requirements(name, dependencies[name], sections, (*_POETRY, "dependencies")):
            if listed is not None:
                for rows in (sections.base, *sections.extras.values()):
                    if any(_name_of(other.text) == canonical(name) for other in rows):
                        rows.append(row)
            elif is_optional:
                optional.setdefault(canonical(name), []).append(row)
            else:
                sections.base.append(row)
    extras = sections.table(*_POETRY, "extras")
    for extra in extras:
        for row in sections.rows(*_POETRY, "extras", extra, owner=extras):
            sections.extras.setdefault(extra, []).extend(optional.get(_name_of(row.text), ()))
    _read_groups(sections)
    sections.read_indexes(*_POETRY, "source")


def _read_groups(sections: Sections) -> None:
    groups = {name: table_of(table) for name, table in sections.table(*_POETRY, "group").items()}
    where = {name: ((*_POETRY, "group", name, "dependencies"), table_of(table.get("dependencies"))) for name, table in groups.items()}
    development = sections.table(*_POETRY, "dev-dependencies")
    found: dict[str, list[Stated]] = {}
    if development:
        found["dev"] = _all((*_POETRY, "dev-dependencies"), development, sections)
    for name, (keys, dependencies) in where.items():
        found.setdefault(name, []).extend(_all(keys, dependencies, sections))
    for name, rows in found.items():
        included = strings_of(groups.get(name, {}).get("include-groups"))
        more = [row for other in included if other in found and other != name for row in found[other]]
        sections.groups.setdefault(name, []).extend([*rows, *more])


def _all(keys: tuple[str, ...], dependencies: Mapping[str, object], sections: Sections) -> list[Stated]:
    return [
        row for name, value in dependencies.items() if canonical(name) != "python" for row, _ in _requirements(name, value, sections, keys)
    ]


def _requirements(name: str, value: object, sections: Sections, keys: tuple[str, ...]) -> list[tuple[Stated, bool]]:
    """The requirements that one entry states here, each with whether it is optional; an entry may list several, under conditions."""
    found = []
    several = isinstance(value, list)
    for place, row in enumerate(value if isinstance(value, list) else [value]):
        path = (*keys, name, *((place,) if several else ()))
        table = {"version": row} if isinstance(row, str) else table_of(row)
        if not isinstance(row, (str, dict)):
            sections.wrong(row, "a version constraint or a table", *path)
        elif _wanted_here(name, table, sections, path):
            text = _requirement(name, table, sections, path)
            if text:
                sections.sources.setdefault(canonical(name), []).append(({"index": table.get("source")}, sections.document.line(*path)))
                found.append((sections.text(text, *path), table.get("optional") is True))
    return found


def _wanted_here(name: str, table: Mapping[str, object], sections: Sections, path: tuple[str | int, ...]) -> bool:
    from envdoctor.facts.poetry_ranges import admits

    here = sections.stated.installation.environment()
    try:
        if not admits(text_of(table.get("python")), here["python_full_version"]):
            return False
    except ValueError:
        detail = f"{name}: {table.get('python')!r} is no range of Pythons"
        sections.stated.defect("requirement-malformed", detail, sections.document.file, sections.document.line(*path))
        return False
    platform = text_of(table.get("platform"))
    return not platform or any(_on_platform(part.strip(), here["sys_platform"]) for part in platform.split("|") if part.strip())


def _on_platform(wanted: str, here: str) -> bool:
    negated, name = wanted.startswith("!"), wanted.lstrip("!= ")
    return (name == here) != negated


def _requirement(name: str, table: Mapping[str, object], sections: Sections, path: tuple[str | int, ...]) -> str | None:
    from envdoctor.facts.poetry_ranges import alternatives, hull, one_specifier

    marker = text_of(table.get("markers"))
    condition = f" ; {marker}" if marker else ""
    direct = direct_requirement(name, table)
    if direct is not None:
        return f"{direct}{condition}"
    version = table.get("version", "*")
    try:
        choices = alternatives(version) if isinstance(version, str) else None
    except ValueError as error:
        detail = f"{name}: {version!r} is no version constraint: {str(error).splitlines()[0]}"
        sections.stated.defect("requirement-malformed", detail, sections.document.file, sections.document.line(*path))
        return None
    if choices is None:
        sections.wrong(version, "a version constraint as text", *path, "version")
        return None
    specifier = one_specifier(choices)
    if specifier is None:
        specifier = hull(choices)
        sections.skip(f"{name} {version}: no one range can tell this; {specifier or 'any version'} is taken, which admits more", *path)
    extras = strings_of(table.get("extras"))
    return f"{name}{f'[{chr(44).join(extras)}]' if extras else ''}{specifier}{condition}"


def _name_of(text: str) -> str:
    found = re.match(r"\s*([A-Za-z0-9._-]+)", text)
    return canonical(found[1]) if found else ""
