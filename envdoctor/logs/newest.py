"""The release of a package that an installer would take where it is not there yet."""

from __future__ import annotations

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.world.releases import releases


def newest_for(name: str, facts: Facts) -> tuple[tuple[str, str], ...]:
    """The newest release for the Python that is stated, as a pin; none for a package that is not listed."""
    python = facts.value("python")
    fitting = [
        one.version
        for one in releases(name)
        if not one.yanked and (not isinstance(python, Exact) or not one.requires_python or admits(one.requires_python, python) is not False)
    ]
    return ((name, f"=={fitting[-1]}"),) if fitting else ()
