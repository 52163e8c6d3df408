"""``Pipfile`` and ``Pipfile.lock``: what pipenv installs, with a variant for each further category (``group dev``)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Fact, Origin
from envdoctor.facts.values import parse_value
from envdoctor.files.json_file import JsonError, UnreadableError, parse_json, read_bounded
from envdoctor.files.json_spans import key_lines
from envdoctor.files.text import plain
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.requirement_line import MALFORMED, declare, wheel_release, without_credentials
from envdoctor.sources.declared.toml_document import TomlDocument, read_document, strings_of, table_of, text_of
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

_LOCK_BYTES = 16 * 2**20
# Tables of a Pipfile that are no category of packages.
_OTHER = ("source", "requires", "pipenv", "scripts", "build-system", "_meta")
_REPOSITORY = ("git", "hg", "svn", "bzr")
# Keys of a package that stand for one marker (PEP 508) each.
_MARKERS = (
    "os_name", "sys_platform", "platform_machine", "platform_python_implementation", "platform_release", "platform_system",
    "platform_version", "python_version", "python_full_version", "implementation_name", "implementation_version",
)  # fmt: skip


def collect_pipfile(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What a ``Pipfile`` asks for.

    Raises:
        EnvdoctorError: unreadable, or no TOML.
    """
    document = read_document(path)
    requires = table_of(document.table.get("requires"))
    key = "python_full_version" if "python_full_version" in requires else "python_version"
    declarations = _with_python(text_of(requires.get(key)), document.file, document.line("requires", key), installation)
    sources = document.table.get("source")
    urls = {text_of(table_of(row).get("name")): text_of(table_of(row).get("url")) for row in (sources if isinstance(sources, list) else [])}
    _packages(document, "packages", declarations, urls)
    variants = [Variant("", declarations.collected())]
    for category, table in document.table.items():
        if category in ("packages", *_OTHER) or not isinstance(table, dict) or not table:
            continue
        own = declarations.copy()
        _packages(document, category, own, urls)
        _add(variants, f"group {category.removesuffix('-packages')}", own)
    return tuple(variants)


def collect_pipfile_lock(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What a ``Pipfile.lock`` pins.

    Raises:
        EnvdoctorError: unreadable, no JSON, or no object.
    """
    place, file = plain(str(path), 4096), str(path)
    try:
        data = read_bounded(path, _LOCK_BYTES)
        document = parse_json(data)
    except UnreadableError as error:
        raise EnvdoctorError(place, found=str(error), expected="a Pipfile.lock", next_step="check the path") from None
    except JsonError as error:
        where = f"{place}, line {error.line}, column {error.column}"
        raise EnvdoctorError(where, found=error.found, expected=error.expected, next_step="run pipenv lock again") from None
    if not isinstance(document.value, dict):
        raise EnvdoctorError(place, found="no object", expected="a Pipfile.lock", next_step="run pipenv lock again")
    lines = key_lines(document.text, 2)
    requires = table_of(table_of(document.value.get("_meta")).get("requires"))
    key = "python_full_version" if "python_full_version" in requires else "python_version"
    declarations = _with_python(text_of(requires.get(key)), file, lines.get(("_meta", "requires")), installation)
    if not isinstance(document.value.get("default"), dict):
        declarations.skip(file, "it has no table of default packages: no Pipfile.lock", lost=True)
    _locked(document.value.get("default"), "default", file, lines, declarations)
    variants = [Variant("", declarations.collected())]
    for category, table in document.value.items():
        if category not in ("default", "_meta") and isinstance(table, dict) and table:
            own = declarations.copy()
            _locked(table, category, file, lines, own)
            _add(variants, f"group {'dev' if category == 'develop' else category}", own)
    return tuple(variants)


def _with_python(version: str, file: str, line: int | None, installation: Installation) -> Declarations:
    """Declarations for the Python that the file asks for, where nobody named another."""
    if not re.fullmatch(r"\d{1,3}(?:\.\d{1,4}){0,2}", version, re.ASCII):
        return Declarations(installation)
    named = "python_version" in installation.stated or "." not in version
    declarations = Declarations(installation if named else installation.with_python(version))
    wanted = version if version.count(".") == 2 else f"=={version}.*"
    declarations.say(Fact("python", parse_value("python", wanted), Origin(file, file, line)))
    return declarations


def _add(variants: list[Variant], label: str, own: Declarations) -> None:
    collected, base = own.collected(), variants[0].collected
    if [fact.value for fact in collected.facts] != [fact.value for fact in base.facts] or collected.defects != base.defects:
        variants.append(Variant(label, collected))


def _packages(document: TomlDocument, category: str, declarations: Declarations, urls: Mapping[str, str]) -> None:
    for name, wanted in table_of(document.table.get(category)).items():
        line = document.line(category, name)
        if not isinstance(wanted, str | dict):
            declarations.defect(MALFORMED, f"{name} = {wanted!r}: neither a version nor a table", document.file, line)
            continue
        entry = wanted if isinstance(wanted, dict) else {"version": wanted}
        _package(name, entry, document.file, line, declarations)
        if name.lower() == "torch" and "version" in entry:
            _cuda(text_of(entry["version"]), urls.get(text_of(entry.get("index")), ""), document.file, line, declarations)


def _cuda(version: str, url: str, file: str, line: int | None, declarations: Declarations) -> None:
    """The CUDA of the index that torch is bound to; pipenv takes a package with an index from that one alone."""
    if not url or "+" in version:
        return
    from envdoctor.sources.declared.package_index import cuda_of_index

    cuda = cuda_of_index(url)
    if cuda is not None:
        declarations.say(Fact("cuda", parse_value("cuda", cuda), Origin(file, file, line)))


def _locked(table: object, category: str, file: str, lines: Mapping[tuple[str, ...], int], declarations: Declarations) -> None:
    for name, entry in table_of(table).items():
        line = lines.get((category, name))
        if isinstance(entry, dict):
            _package(name, entry, file, line, declarations)
        else:
            declarations.defect(MALFORMED, f"{name}: {plain(repr(entry), 80)} is no entry of a lock", file, line)


def _package(name: str, entry: Mapping[str, object], file: str, line: int | None, declarations: Declarations) -> None:
    """Declare one entry: a version, or where the package lies."""
    marker = _marker(entry)
    repository = next((kind for kind in _REPOSITORY if entry.get(kind)), None)
    place = next((text_of(entry[key]) for key in ("file", "path") if entry.get(key)), None)
    if repository is not None:
        reference = text_of(entry.get("ref"))
        url = f"{repository}+{text_of(entry[repository]).removeprefix(f'{repository}+')}{f'@{reference}' if reference else ''}"
        declare(f"{name} @ {url}{f' ; {marker}' if marker else ''}", file, line, declarations)
    elif place is not None:
        release = wheel_release(place)
        if release is not None:
            declarations.state(name, f"=={release[1]}", file, line, marker=marker)
        elif declarations.state(name, "", file, line, marker=marker, constraint=True):  # a constraint alone states nothing
            where = file if line is None else f"{file}:{line}"
            declarations.skip(where, f"{name}, {without_credentials(place)}: a file or path, its version is not known")
    else:
        specifier = text_of(entry.get("version")).strip()
        if specifier in ("", "*"):
            specifier = ""
        elif specifier[0] not in "=<>!~":
            specifier = f"=={specifier}"  # as pipenv takes a bare version
        extras = ",".join(strings_of(entry.get("extras")))
        declare(f"{name}{f'[{extras}]' if extras else ''}{specifier}{f' ; {marker}' if marker else ''}", file, line, declarations)


def _marker(entry: Mapping[str, object]) -> str:
    """The marker of an entry; a list of them, and keys such as ``sys_platform``, all have to hold."""
    stated = entry.get("markers")
    parts = [stated] if isinstance(stated, str) and stated.strip() else strings_of(stated)
    parts += [f"{key} {entry[key]}" for key in _MARKERS if isinstance(entry.get(key), str)]
    return " and ".join(f"({part})" for part in parts) if len(parts) > 1 else "".join(parts)
