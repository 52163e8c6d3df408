"""What a target is, and what it says.

The readers are loaded when a target of their kind is there: a run pays for what it reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from envdoctor.errors import EnvdoctorError
from envdoctor.facts import Collected, Fact, Origin, Skip

if TYPE_CHECKING:
    from envdoctor.sources.adapter import Adapter
    from envdoctor.sources.snapshot import Snapshot

Kind = Literal["model", "requirements", "plan"]
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_PLAN_SUFFIXES = (".json", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Target:
    """One target as read: its kind decides whether the installed stack is still asked."""

    text: str
    kind: Kind
    collected: Collected
    snapshot: Snapshot | None = None
    adapter: Adapter | None = None


def read_target(text: str, python: str | None = None) -> Target:
    """Tell a target by what it is and read it.

    Raises:
        EnvdoctorError: no such path, a directory that is no model, a file of no known kind,
            or one that cannot be used at all.
    """
    path = Path(text)
    if path.is_dir():
        return _model(text, path)
    if path.is_file():
        return _read_file(path, text, python)
    if path.exists() or path.is_symlink():
        raise EnvdoctorError(
            text, found="neither a file nor a directory", expected="a target that can be read", next_step="check what it links to"
        )
    if _HUB_ID.fullmatch(text):
        return _from_hub_cache(text)
    raise EnvdoctorError(
        text,
        found="no such file or directory",
        expected="a model directory, a hub id, a requirements file or a training plan",
        next_step="check the path",
    )


def _read_file(path: Path, text: str, python: str | None) -> Target:
    from envdoctor.sources.requirements import collect_requirements, is_requirements

    if is_requirements(path):
        return Target(text, "requirements", collect_requirements(path, python))
    if path.suffix.lower() in _PLAN_SUFFIXES:
        from envdoctor.sources.plan import collect_plan

        return Target(text, "plan", collect_plan(path))
    raise EnvdoctorError(
        text,
        found=f"a file of no known kind ({path.suffix or 'no suffix'})",
        expected="requirements*.txt, or a training plan in JSON or YAML",
        next_step="give facts as --facts FILE, a model as its directory",
    )


def _model(text: str, path: Path, *facts: Fact) -> Target:
    if (path / "adapter_config.json").is_file() and not (path / "config.json").exists():
        from envdoctor.sources.adapter import adapter_facts, read_adapter

        adapter = read_adapter(path)
        return Target(text, "model", adapter_facts(adapter), adapter=adapter)
    from envdoctor.sources.snapshot import read_snapshot
    from envdoctor.sources.snapshot_facts import snapshot_facts

    snapshot = read_snapshot(path)
    found = snapshot_facts(snapshot)
    return Target(text, "model", replace(found, facts=(*facts, *found.facts)), snapshot)


def _from_hub_cache(identity: str) -> Target:
    """A hub id: what the local hub cache holds of it; the network is never asked."""
    from huggingface_hub import try_to_load_from_cache

    named = Fact("model.id", identity, Origin(identity))
    config = try_to_load_from_cache(identity, "config.json")
    if not isinstance(config, str):
        skip = Skip(identity, "not in the local hub cache; the network was not asked")
        return Target(identity, "model", Collected((named,), skips=(skip,)))
    return _model(identity, Path(config).parent, named)
