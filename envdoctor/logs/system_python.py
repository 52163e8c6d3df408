"""What pip does not do to a Python of the operating system: install beside its packages, and take away what it did not install."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.names import canonical
from envdoctor.logs.run_errors import RUN

_MANAGED = re.compile(r"externally[- ]managed[- ]environment|environment is externally managed", re.IGNORECASE)
_KEPT = re.compile(
    r"Cannot uninstall (?:requirement )?['\"]?(?P<name>[A-Za-z0-9][\w.-]{0,60}?)['\"]?(?: (?P<version>\d[\w.+!-]{0,40}))?"
    r"(?:[.,:; ]|$)"
)
_WHY = re.compile(
    r"distutils installed project|distutils-installed|RECORD file (?:was )?(?:not )?found|contents are unknown|installed by (?:debian|rpm)"
)
_NEAR = 3
_ENVIRONMENT = "python3 -m venv .venv && .venv/bin/python -m pip install ..."


def judge_system_python(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[Hit, int, str]]:
    """The findings of such refusals, each with its line and text."""
    for place, (number, line) in enumerate(lines):
        if "nstall" not in line and "xternally" not in line:
            continue
        if (kept := _KEPT.search(line)) is not None:
            around = " ".join(text for _, text in lines[max(0, place - _NEAR) : place + _NEAR + 1])
            if _WHY.search(around):
                yield _not_ours(canonical(kept["name"]), kept["version"] or ""), number, line.strip()[:300]
                return
        if _MANAGED.search(line):
            yield _managed(), number, line.strip()[:300]
            return


def _managed() -> Hit:
    return Hit(
        RUN,
        True,
        detail="the pip that ran is of the operating system, Homebrew or uv, which keeps its Python to itself (PEP 668); "
        "inside a virtual environment it is another pip that is found first",
        edge="code:the-python-is-externally-managed",
        headline="This Python belongs to the operating system, and pip may not install into it",
        advice=f"{_ENVIRONMENT}: the environment's own python runs pip; --break-system-packages only in a container that has no other use",
    )


def _not_ours(name: str, version: str) -> Hit:
    what = f"{name} {version}".strip()
    return Hit(
        RUN,
        True,
        detail=f"{what} came from the distribution (apt, dnf) or an old installer, and has no list of its files that pip could remove",
        packages=(name,),
        edge=f"{name}:cannot-be-uninstalled",
        headline=f"pip cannot replace {what}, which it did not install",
        advice=f"{_ENVIRONMENT}; in a container python -m pip install --ignore-installed {name} first",
    )
