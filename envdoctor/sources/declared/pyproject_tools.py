"""What uv, PDM, Hatch, Flit and setuptools keep in ``pyproject.toml`` beside the standard tables."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.facts.names import canonical
from envdoctor.sources.declared.project_extras import Stated
from envdoctor.sources.declared.pyproject_sections import Environment, Sections
from envdoctor.sources.declared.toml_document import strings_of, table_of, text_of

_MOST_TEMPLATES = 20


def read_uv(sections: Sections) -> None:
    """``[tool.uv]``: development dependencies, constraints, overrides, and sources that are no index.

    Conflicts need nothing: every extra and group is a choice of its own here. With an index a version is still the specifier's.
    """
    tool = sections.table("tool", "uv")
    if "dev-dependencies" in tool:
        sections.groups.setdefault("dev", []).extend(sections.rows("tool", "uv", "dev-dependencies", owner=tool))
    sections.constraints += sections.rows("tool", "uv", "constraint-dependencies", owner=tool)
    for row in sections.rows("tool", "uv", "override-dependencies", owner=tool):
        _override(row, sections)
    sections.excluded |= {canonical(name) for name in strings_of(tool.get("exclude-dependencies"))}
    for name, value in sections.table("tool", "uv", "sources").items():
        keys = ("tool", "uv", "sources", name)
        rows = [(row, (*keys, place)) for place, row in enumerate(value)] if isinstance(value, list) else [(value, keys)]
        sections.sources[canonical(name)] = [(table_of(row), sections.document.line(*where)) for row, where in rows]
    sections.read_indexes("tool", "uv", "index")
    environments = tool.get("environments", [])
    wanted = [environments] if isinstance(environments, str) else strings_of(environments)
    if wanted and not any(sections.applies(marker) for marker in wanted):
        sections.skip("the project is locked for other environments than the one that is looked at", "tool", "uv", "environments")


def read_pdm(sections: Sections) -> None:
    """``[tool.pdm]``: development dependencies by group, and the versions that its resolution is made to take."""
    for group in (development := sections.table("tool", "pdm", "dev-dependencies")):
        rows = sections.rows("tool", "pdm", "dev-dependencies", group, owner=development)
        sections.groups.setdefault(group, []).extend(_editable_aside(rows, sections))
    for keys in (("tool", "pdm", "overrides"), ("tool", "pdm", "resolution", "overrides")):
        for name, value in sections.table(*keys).items():
            text = text_of(value)
            if not text or "://" in text:
                sections.skip(f"{name}: overridden by what is no version", *keys, name)
                sections.excluded.add(canonical(name))
            else:
                spec = text if text[0] in "=<>!~" else f"=={text}"
                _override(sections.text(f"{name}{spec}", *keys, name), sections)
    sections.excluded |= {canonical(name) for name in strings_of(sections.table("tool", "pdm", "resolution").get("excludes"))}


def _editable_aside(rows: list[Stated], sections: Sections) -> list[Stated]:
    kept = []
    for row in rows:
        if row.text.lstrip().startswith("-e"):
            sections.stated.skip(f"{row.file}:{row.line}", "an editable requirement, its version is not known")
        else:
            kept.append(row)
    return kept


def _override(row: Stated, sections: Sections) -> None:
    name = row.text
    for end, character in enumerate(row.text):
        if not (character.isalnum() or character in "._-"):
            name = row.text[:end]
            break
    sections.overrides.setdefault(canonical(name), []).append(row)


def read_hatch(sections: Sections) -> None:
    """``[tool.hatch.envs]``: each environment with what it inherits; and the hook that takes dependencies from requirements files."""
    environments = sections.table("tool", "hatch", "envs")
    for name in environments:
        options = _inherited(name, environments, sections)
        requirements = [
            row for key in ("dependencies", "extra-dependencies") if key in options for row in _hatch_list(options[key], key, sections)
        ]
        alone = any(table.get(key) is True for key in ("skip-install", "detached") for table, _ in [options.get(key, ({}, ""))])
        extras, groups = (
            tuple(strings_of(table.get(key))) for key in ("features", "dependency-groups") for table, _ in [options.get(key, ({}, ""))]
        )
        sections.environments.append(Environment(f"env {name}", requirements, extras, groups, alone))
    hook = sections.table("tool", "hatch", "metadata", "hooks", "requirements_txt")
    line = sections.document.line("tool", "hatch", "metadata", "hooks", "requirements_txt")
    for file in strings_of(hook.get("files")) or strings_of(hook.get("filename")):
        sections.followed.append((file, "", line))
    for extra, files in table_of(hook.get("optional-dependencies")).items():
        sections.followed += [(file, extra, line) for file in strings_of(files)]


def _inherited(name: str, environments: Mapping[str, object], sections: Sections) -> dict[str, tuple[Mapping[str, object], str]]:
    """The options of an environment, its own before those of its templates; each with its table and that table's name."""
    options: dict[str, tuple[Mapping[str, object], str]] = {}
    for _ in range(_MOST_TEMPLATES):
        table = table_of(environments.get(name))
        for key in table:
            options.setdefault(key, (table, name))
        template = text_of(table.get("template")) or "default"
        if template == name or template not in environments or table.get("detached") is True:
            break
        name = template
    return options


def _hatch_list(found: tuple[Mapping[str, object], str], key: str, sections: Sections) -> list[Stated]:
    rows = []
    for row in sections.rows("tool", "hatch", "envs", found[1], key, owner=found[0]):
        if "{" in row.text:
            sections.stated.skip(f"{row.file}:{row.line}", f"{row.text}: Hatch fills in what stands in braces")
        else:
            rows.append(row)
    return rows


def read_flit(sections: Sections) -> None:
    """``[tool.flit.metadata]``, from before the standard tables."""
    metadata = sections.table("tool", "flit", "metadata")
    sections.name = sections.name or text_of(metadata.get("dist-name")) or text_of(metadata.get("module"))
    sections.base += sections.rows("tool", "flit", "metadata", "requires", owner=metadata)
    for extra in (extras := sections.table("tool", "flit", "metadata", "requires-extra")):
        sections.extras.setdefault(extra, []).extend(sections.rows("tool", "flit", "metadata", "requires-extra", extra, owner=extras))


def read_setuptools(sections: Sections) -> None:
    """``[tool.setuptools.dynamic]``: the requirements files that are to be read."""
    _files("", ("tool", "setuptools", "dynamic"), "dependencies", sections)
    for extra in sections.table("tool", "setuptools", "dynamic", "optional-dependencies"):
        _files(extra, ("tool", "setuptools", "dynamic", "optional-dependencies"), extra, sections)


def _files(extra: str, keys: tuple[str, ...], key: str, sections: Sections) -> None:
    value = table_of(sections.table(*keys).get(key)).get("file")
    for file in [value] if isinstance(value, str) else strings_of(value):
        sections.followed.append((file, extra, sections.document.line(*keys, key)))
