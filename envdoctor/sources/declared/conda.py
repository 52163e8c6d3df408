"""Whether a file is conda's: asked of every YAML file, so that its reader is imported for those that are."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.files.json_file import UnreadableError, read_bounded

if TYPE_CHECKING:
    from envdoctor.sources.declared.variant import Variant
    from envdoctor.world.installation import Installation

_MOST_BYTES = 2**20
_NAMED = r"(?:conda[-_.]?)?(?:environment|env)(?:[-_.][\w.-]+)?\.ya?ml|[\w.-]+[-_.](?:environment|conda)\.ya?ml"


def is_conda(path: Path) -> bool:
    """Whether a file is conda's, by what stands in it: ``dependencies`` as a list, in a file that is named so or names channels."""
    if path.suffix.lower() not in (".yml", ".yaml", ".txt"):
        return False
    try:
        text = read_bounded(path, _MOST_BYTES).decode("utf-8", "replace")
    except UnreadableError:
        return False
    if re.search(r"^@EXPLICIT\s*$", text, re.MULTILINE):
        return True
    if path.suffix == ".txt" or not _lists_dependencies(text):
        return False
    return bool(re.fullmatch(_NAMED, path.name, re.IGNORECASE)) or re.search(r"^channels:", text, re.MULTILINE) is not None


def _lists_dependencies(text: str) -> bool:
    """Whether ``dependencies`` on the outermost level is a list, as far as its first entry shows."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("dependencies:"):
            rest = [line.partition(":")[2], *lines]
            bodies = (body.strip() for body in rest)
            first = next((body for body in bodies if body and not body.startswith("#")), "")
            return first.startswith(("-", "["))
    return False


def collect_conda(path: Path, installation: Installation) -> tuple[Variant, ...]:
    """What a conda environment file states.

    Raises:
        EnvdoctorError: unreadable, or no YAML.
    """
    from envdoctor.sources.declared import conda_environment

    return conda_environment.collect_conda(path, installation)
