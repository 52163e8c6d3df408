"""Pins written into a ``pyproject.toml``: PEP 621 and 735, uv, Poetry, PDM, Hatch and Flit, in the words that stand there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from envdoctor.edits.constraints import name_of, rewritten_range, rewritten_requirement, rewritten_specifier, rewritten_version
from envdoctor.edits.edit import Edited, Pin, Refusal, RefusedError, Set
from envdoctor.edits.pyproject_places import Place, places
from envdoctor.edits.toml_draft import TomlDraft
from envdoctor.facts.names import canonical
from envdoctor.sources.declared.toml_document import strings_of, table_of, text_of
from envdoctor.world.installation import Installation

_INDEX_LISTS = (("tool", "uv", "index"), ("tool", "poetry", "source"), ("tool", "pdm", "source"))
_INDEX_TEXTS = ("index-url", "extra-index-url", "find-links")
_REWRITE = {"requirement": rewritten_requirement, "poetry": rewritten_range, "version": rewritten_version}


def edit_pyproject(path: Path, pins: Sequence[Pin], installation: Installation) -> tuple[Edited, ...]:
    """The file with every statement of the pinned packages that applies here rewritten; a package that nothing states is added.

    Raises:
        EnvdoctorError: unreadable, not UTF-8, or no TOML.
    """
    draft = TomlDraft(path)
    installation = installation.admitted_by(_pythons(draft))
    return apply_pins(draft, pins, lambda edited, pin: _give(edited, pin, installation))


def apply_pins(draft: TomlDraft, pins: Sequence[Pin], give: Callable[[TomlDraft, Pin], None]) -> tuple[Edited, ...]:
    """Give a file its pins one by one; what fails leaves no trace of itself."""
    done: list[Pin | Set] = []
    refused: list[Refusal] = []
    for pin in pins:
        attempt = draft.copy()
        try:
            give(attempt, pin)
            attempt.verify()
        except RefusedError as error:
            refused.append(Refusal(pin, str(error)))
        else:
            draft = attempt
            done.append(pin)
    return (draft.draft.edited(draft.path, draft.before, done, refused),)


def _give(draft: TomlDraft, pin: Pin, installation: Installation) -> None:
    package = canonical(pin.package)
    if package == "python":
        _give_python(draft, pin)
        return
    _refuse_sources(draft, package, pin)
    found = places(draft.table, package, installation)
    outside = [place for place in found if not place.build]
    if pin.specifier:  # what only builds the project is changed where nothing else states it, and never taken out
        outside = outside or found
    found = outside
    if not found:
        if name_of(package) != package:
            raise RefusedError(f"{pin.package!r} is no name of a package")
        if pin.specifier:
            _add(draft, package, pin)
        return
    here = [place for place in found if place.applies is not False]
    if not here:
        raise RefusedError(f"line {draft.line(found[0].entry)}: {package} is stated for other platforms or Pythons only")
    for place in reversed(here):
        _give_place(draft, pin, place)


def _give_place(draft: TomlDraft, pin: Pin, place: Place) -> None:
    if not pin.specifier:
        _remove(draft, place)
    elif place.applies is None:
        raise RefusedError(f"line {draft.line(place.entry)}: its marker cannot be read")
    elif place.kind == "direct":
        raise RefusedError(f"line {draft.line(place.entry)}: it is taken from a repository, a URL or a path, or states no version")
    elif place.kind != "name":
        try:
            new = _REWRITE[place.kind](place.text, pin)
        except RefusedError as error:
            raise RefusedError(f"line {draft.line(place.entry)}: {error}") from None
        if new != place.text:
            draft.set(place.value, new)


def _remove(draft: TomlDraft, place: Place) -> None:
    """Take an entry out; one of Poetry's with several constraints goes as a whole with its last one."""
    above = draft.get(*place.entry[:-1])
    if place.kind in ("poetry", "direct") and isinstance(place.entry[-1], int) and len(above) == 1:
        draft.remove(place.entry[:-1])
    else:
        draft.remove(place.entry)


def _add(draft: TomlDraft, package: str, pin: Pin) -> None:
    project, poetry = draft.get("project"), draft.get("tool", "poetry", "dependencies")
    if isinstance(project, dict) and not (isinstance(poetry, dict) and "dependencies" not in project):
        if "dependencies" in strings_of(project.get("dynamic")):
            raise RefusedError("its dependencies are dynamic: they are stated elsewhere, and the package is to be added there")
        if isinstance(project.get("dependencies"), list):
            draft.append(("project", "dependencies"), f"{package}{pin.specifier}")
        elif "dependencies" not in project:
            draft.add(("project",), "dependencies", [f"{package}{pin.specifier}"])
        else:
            raise RefusedError("[project] dependencies is no list")
    elif isinstance(poetry, dict):
        draft.add(("tool", "poetry", "dependencies"), package, pin.specifier.removeprefix("==").strip() if pin.exact else pin.specifier)
    elif isinstance(draft.get("tool", "flit", "metadata", "requires"), list):
        draft.append(("tool", "flit", "metadata", "requires"), f"{package}{pin.specifier}")
    else:
        raise RefusedError("the file states no project whose dependencies the package could join")


def _pythons(draft: TomlDraft) -> str:
    """The range of Pythons that the project admits, as PEP 440 has it; empty where it says nothing readable."""
    from envdoctor.facts.poetry_ranges import alternatives, hull

    stated = draft.get("project", "requires-python") or draft.get("tool", "flit", "metadata", "requires-python")
    if isinstance(stated, str):
        return stated
    value = draft.get("tool", "poetry", "dependencies", "python")
    try:
        return hull(alternatives(text_of(value) or text_of(table_of(value).get("version"))))
    except ValueError:
        return ""


def _give_python(draft: TomlDraft, pin: Pin) -> None:
    if not pin.specifier:
        raise RefusedError("Python itself is not taken out")
    whole = pin.exact or "," in pin.specifier
    found = False
    for keys in (("project", "requires-python"), ("tool", "flit", "metadata", "requires-python")):
        stated = draft.get(*keys)
        if isinstance(stated, str):
            found = True
            new = rewritten_specifier(stated, pin, whole=whole)
            if new != stated:
                draft.set(keys, new)
    poetry = ("tool", "poetry", "dependencies", "python")
    place: tuple[str, ...] = poetry if isinstance(draft.get(*poetry), str) else (*poetry, "version")
    stated = draft.get(*place)
    if isinstance(stated, str):
        found = True
        new = rewritten_range(stated, pin, whole=whole)
        if new != stated:
            draft.set(place, new)
    if found:
        return
    project = draft.get("project")
    if not isinstance(project, dict) or "requires-python" in project or "requires-python" in strings_of(project.get("dynamic")):
        raise RefusedError("the file states no project whose Python could be bound")
    draft.add(("project",), "requires-python", pin.specifier, after="version" if "version" in project else "name")


def _refuse_sources(draft: TomlDraft, package: str, pin: Pin) -> None:
    """Refuse a version of what uv takes from elsewhere, and a build of an index that the file does not name."""
    sources = table_of(draft.get("tool", "uv", "sources"))
    name = next((key for key in sources if canonical(key) == package), "")
    rows = sources.get(name)
    rows = [table_of(row) for row in (rows if isinstance(rows, list) else [rows])]
    if pin.specifier and any(row.get(key) for row in rows for key in ("git", "url", "path", "workspace")):
        raise RefusedError(f"line {draft.line(('tool', 'uv', 'sources', name))}: uv takes it from a repository, a URL or a path")
    if not pin.index or not pin.specifier:
        return
    wanted = pin.index.rstrip("/")
    named = [table_of(row) for keys in _INDEX_LISTS for row in _rows(draft.get(*keys))]
    matching = [row for row in named if text_of(row.get("url")).rstrip("/") == wanted]
    told = [text for key in _INDEX_TEXTS for tool in (("tool", "uv"), ("tool", "uv", "pip")) for text in _texts(draft.get(*tool, key))]
    if wanted in (text.rstrip("/") for text in told):
        return
    table = "source" if draft.get("tool", "poetry") and not draft.get("tool", "uv") else "index"
    label = wanted.rpartition("/")[2]
    if not matching:
        if table == "source":
            needed = (
                f'[[tool.poetry.source]] name = "{label}", url = "{pin.index}", priority = "explicit"; and source = "{label}" for {package}'
            )
        else:
            source = f'[tool.uv.sources] {package} = {{ index = "{label}" }}'
            needed = f'[[tool.uv.index]] name = "{label}", url = "{pin.index}", explicit = true; and {source}'
        raise RefusedError(f"this build is of {pin.index}, which the file does not name; it needs {needed}")
    names = {text_of(row.get("name")) for row in matching}
    if table == "source" and not _bound(draft, package, names):
        if all(text_of(row.get("priority")) in ("explicit", "supplemental") for row in matching):
            raise RefusedError(f'Poetry takes {package} from that source only where its entry says so: source = "{min(names)}"')
        return
    closed = all(row.get("explicit") is True for row in matching)
    if table == "index" and closed and not any(row.get("index") in names for row in rows):
        name = next(iter(names))
        raise RefusedError(f'the index {name} is explicit: it needs [tool.uv.sources] {package} = {{ index = "{name}" }}')


def _bound(draft: TomlDraft, package: str, names: set[str]) -> bool:
    """Whether an entry of Poetry's is bound to one of these sources."""
    tables = [draft.get("tool", "poetry", "dependencies"), draft.get("tool", "poetry", "dev-dependencies")]
    tables += [table_of(group).get("dependencies") for group in table_of(draft.get("tool", "poetry", "group")).values()]
    entries = [entry for table in tables for name, entry in table_of(table).items() if canonical(name) == package]
    rows = [table_of(row) for entry in entries for row in (entry if isinstance(entry, list) else [entry])]
    return any(text_of(row.get("source")) in names for row in rows)


def _rows(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [value] if isinstance(value, str) else strings_of(value)


__all__ = ["apply_pins", "edit_pyproject"]
