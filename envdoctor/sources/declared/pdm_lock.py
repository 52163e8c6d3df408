"""Facts from a ``pdm.lock``: the default group, and each other group with it (PDM keeps extras and groups in one list)."""

from __future__ import annotations

from pathlib import Path

from envdoctor.sources.declared.locks import Choice, Locked, LockReading
from envdoctor.sources.declared.toml_document import LOCK_LIMIT, read_document, strings_of, table_of, text_of
from envdoctor.sources.declared.variant import Variant
from envdoctor.world.installation import Installation

_DEFAULT = "default"


def collect_pdm_lock(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What the lock installs by default, and with each group.

    Raises:
        EnvdoctorError: the file cannot be read, or is no TOML.
    """
    document = read_document(path, LOCK_LIMIT)
    metadata = table_of(document.table.get("metadata"))
    targets = metadata.get("targets")
    pythons = [text_of(table_of(target).get("requires_python")) for target in (targets if isinstance(targets, list) else [])]
    requires = pythons[0] if len(pythons) == 1 else text_of(metadata.get("requires_python"))
    reading = LockReading(document, installation.admitted_by(requires))
    reading.python(requires, "metadata", *(("targets", 0) if len(pythons) == 1 else ()), "requires_python")
    packages = [package for package in reading.packages("package") if _applies(package, reading)]
    if not any(_groups(package) for package in packages):
        if packages:
            reading.preamble.skip(document.place("metadata"), "the lock does not tell which group needs a package: all are taken together")
        return reading.variants([Choice("", packages)])
    choices = [Choice("", [package for package in packages if _DEFAULT in _groups(package)])]
    for name in dict.fromkeys((*strings_of(metadata.get("groups")), *(name for package in packages for name in _groups(package)))):
        if name != _DEFAULT:
            choices.append(Choice(f"group {name}", [package for package in packages if {name, _DEFAULT} & set(_groups(package))]))
    return reading.variants(choices)


def _groups(package: Locked) -> list[str]:
    return strings_of(package.entry.get("groups"))


def _applies(package: Locked, reading: LockReading) -> bool:
    return reading.holds(text_of(package.entry.get("marker")), package.line) and _admits_python(
        text_of(package.entry.get("requires_python")), reading.installation
    )


def _admits_python(specifier: str, installation: Installation) -> bool:
    """Whether a range of Pythons admits the one that is installed for; one that cannot be read admits any."""
    from packaging.specifiers import SpecifierSet

    try:
        return not specifier or SpecifierSet(specifier).contains(str(installation.environment()["python_full_version"]), prereleases=True)
    except ValueError:  # no specifier, or a number without end in one
        return True
