"""``envdoctor atlas status|build|update``: what every release contains, read from the releases."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from envdoctor.cli.output import emit
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.names import canonical


def run(options: argparse.Namespace) -> int:
    """Tell what the atlas holds, or read what it lacks; 1 where a release could not be read.

    Raises:
        EnvdoctorError: no network is to be used, or there is no folder to write to.
    """
    if options.action == "status":
        emit(options, _status(options.packages))
        return 0
    if options.offline and options.wheels is None:
        raise EnvdoctorError(
            f"atlas {options.action}",
            found="--offline",
            expected="a network, or wheels in a folder",
            next_step="leave it out, or --from DIR",
        )
    return _build(options)


def _status(packages: Sequence[str]) -> str:
    from envdoctor.atlas.shelf import open_package, package_names

    names = sorted(set(map(canonical, packages))) or list(package_names())
    lines = []
    releases = 0
    for name in names:
        bound = open_package(name)
        if bound is None:
            lines.append(f"{name}  not in the atlas")
            continue
        volume = bound.volume
        releases += len(volume.releases)
        lines.append(f"{name}  {len(volume.releases)} releases, {volume.releases[0]} to {volume.releases[-1]} ({volume.days[-1]})")
    lines.append(f"{len(names)} packages, {releases} releases")
    return "\n".join(lines) + "\n"


def _build(options: argparse.Namespace) -> int:
    from envdoctor.atlas.shelf import SOURCE
    from envdoctor.files.user_cache import cache_directory
    from envdoctor.refresh.http import Connections
    from envdoctor.survey.building import build

    folder = Path(options.output) if options.output else SOURCE
    if not options.output and not SOURCE.is_dir():
        raise EnvdoctorError(
            f"atlas {options.action}", found="an installed envdoctor, whose own atlas is not written to", expected="a folder of your own",
            next_step="--output DIR, and later ENVDOCTOR_ATLAS=DIR",
        )  # fmt: skip
    from envdoctor.cli.progress import told_on_stderr

    with closing(Connections()) as connections, told_on_stderr() as tell:
        failed = build(
            folder, sorted(set(map(canonical, options.packages))), cache_directory() / "survey", connections.get,
            wheels=None if options.wheels is None else Path(options.wheels), adds=options.action == "update", tell=tell,
        )  # fmt: skip
    lines = [f"{name}: {why}" for name, why in failed]
    emit(argparse.Namespace(output=None), "\n".join([*lines, f"written to {folder}"]) + "\n")
    return 1 if failed else 0
