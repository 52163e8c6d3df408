"""Every kind of file that is read: how it is told, and who reads it. Targets, Docker's build contexts and the fuzzer share this table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.sources.declared.readers import CONDA, NAMED, REQUIREMENTS, Reader

if TYPE_CHECKING:
    from envdoctor.facts.fact import Collected
    from envdoctor.sources.declared.variant import Variant
    from envdoctor.world.installation import Installation


def _is_dockerfile(path: Path) -> bool:
    from envdoctor.sources.docker.dockerfile import is_dockerfile

    return is_dockerfile(path)


def _dockerfile(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.docker.dockerfile import collect_dockerfile
    from envdoctor.sources.scripts.kept import collect_script
    from envdoctor.world.installation import Installation

    return collect_dockerfile(path, installation or Installation(), collect_script)


def _is_script(path: Path) -> bool:
    from envdoctor.sources.scripts.recognition import is_script

    return is_script(path)


def _script(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.scripts.kept import collect_script

    return _alone(collect_script(path, installation))


def _is_launcher(path: Path) -> bool:
    from envdoctor.sources.launches.launcher import is_launcher

    return is_launcher(path)


def _launcher(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.launches.launcher import collect_launcher
    from envdoctor.sources.scripts.kept import collect_script

    return _alone(collect_launcher(path, installation, collect_script))


def _is_readme(path: Path) -> bool:
    from envdoctor.sources.launches.readme import is_readme

    return is_readme(path)


def _readme(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.launches.readme import collect_readme

    return _alone(collect_readme(path, installation))


def _plan(path: Path, installation: Installation | None) -> tuple[Variant, ...]:
    from envdoctor.sources.plans.plan import collect_plan

    return _alone(collect_plan(path))


def _alone(collected: Collected) -> tuple[Variant, ...]:
    """What a file without choices says."""
    from envdoctor.sources.declared.variant import Variant

    return (Variant("", collected),)


_PLANS = (".json", ".yaml", ".yml")
# Names that say what a file is come first; what has to be looked into, later.
READERS = (
    *NAMED,
    Reader("dockerfile", "image", "Dockerfile", _dockerfile, r"(?is).*(?:dockerfile|containerfile).*", recognise=_is_dockerfile),
    Reader("script", "script", "train.py", _script, suffixes=("", ".py"), recognise=_is_script),
    Reader("notebook", "script", "train.ipynb", _script, suffixes=(".ipynb",), recognise=_is_script),
    Reader("launcher", "script", "train.sh", _launcher, other_suffixes=(*_PLANS, ".txt", ".in", ".pip"), recognise=_is_launcher),
    Reader("readme", "script", "README.md", _readme, suffixes=(".md",), recognise=_is_readme),
    CONDA,
    Reader("plan-yaml", "plan", "plan.yaml", _plan, suffixes=(".yaml", ".yml")),
    Reader("plan-json", "plan", "plan.json", _plan, suffixes=(".json",)),
    REQUIREMENTS,
)


__all__ = ["READERS"]
