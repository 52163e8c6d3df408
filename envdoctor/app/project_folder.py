"""A project given as its folder: what it declares, and its scripts and notebooks, as targets of one situation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from envdoctor.app.ahead import reading_ahead
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Collected, Skip
from envdoctor.facts.vocabulary import ADDING_UP
from envdoctor.files.paths import is_dir, is_file
from envdoctor.records import replace

if TYPE_CHECKING:
    from envdoctor.sources.targets import Target
    from envdoctor.world.installation import Installation

# What a project's root declares; a lock says all that the manifest beside it says.
_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock")
_DECLARING = ("requirements.txt", "pyproject.toml", "setup.cfg", "setup.py", "environment.yml", "environment.yaml")
_LOCKED = ("pyproject.toml", "setup.cfg", "setup.py")
_CODE = (".py", ".ipynb")
_OTHERS = frozenset(("__pycache__", "site-packages", "node_modules", "build", "dist", "third_party", "thirdparty", "vendor", "vendored"))
_MOST = 1000
_MOST_FOLDERS = 20_000
# What a script says that trains.
_TRAINS = frozenset(("plan.trainer", "plan.method", "plan.batch_size"))
_NOT_TAKEN = "of a project's lists requirements.txt at its root is taken: name this one beside the folder where it is the one that counts"


def is_project(text: str) -> bool:
    """Whether a target is a folder that holds code or declares packages, and no model."""
    path = Path(text)
    if not is_dir(path):
        return False
    try:
        names = set(os.listdir(path))
    except OSError:
        return False
    if names & {"config.json", "adapter_config.json"}:
        return False
    return bool(names & {*_LOCKS, *_DECLARING}) or next(_code_of(path, []), None) is not None


def read_project_folder(text: str, installation: Installation | None) -> list[Target]:
    """The targets of a project's folder; what a script says of its run counts where it is the only one that trains.

    Raises:
        EnvdoctorError: nothing in it can be read.
    """
    from envdoctor.sources.targets import Target, read_target

    root = Path(text)
    aside: list[str] = []
    code = sorted(path for path in _code_of(root, aside) if path != root / "setup.py")
    locks = [name for name in _LOCKS if is_file(root / name)][:1]
    declaring = [name for name in _DECLARING if is_file(root / name) and not (locks and name in _LOCKED)]
    targets: list[Target] = []
    unread: list[Skip] = []
    with reading_ahead([str(path) for path in code[:_MOST]], installation):
        for path in [*(root / name for name in (*locks, *declaring)), *code[:_MOST]]:
            try:
                target = read_target(str(path), installation)
            except EnvdoctorError as error:
                unread.append(Skip(str(path), f"found {error.found}"))
                continue
            targets.append(replace(target, folder=".") if path in code else target)
    scripts = [one for one in targets if one.folder]
    trains = [one for one in scripts if _TRAINS & {fact.name for fact in one.collected.facts}]
    run = trains[0] if len(trains) == 1 else None
    targets = [_of_project(one) if one.folder and one is not run else one for one in targets]
    unread += [Skip(str(path), _NOT_TAKEN) for path in _other_lists(root)]
    if not targets:
        raise EnvdoctorError(text, found="a project of which no file can be read", expected="scripts or a list", next_step="give one file")
    left = len(code) - len(scripts) + len(aside)
    of_run = f", the run of {os.path.relpath(run.text, root)}" if run is not None else ""
    label = f"{text} ({_count_in_words(scripts)}{of_run}{f'; {left} left out' if left else ''})"
    rest = Target(text, "script", Collected(skips=tuple(unread)), folder=label)
    return [*(replace(one, folder=label) if one.folder else one for one in targets), *([rest] if unread else [])]


def _of_project(target: Target) -> Target:
    """A script of a project: what it uses counts for all, what it says of its own run for it alone."""
    found = target.collected
    facts = tuple(fact for fact in found.facts if fact.name in ADDING_UP)
    skips = tuple(replace(skip, lost=False) for skip in found.skips if skip.lost and "empty" not in skip.why)
    return replace(target, collected=Collected(facts, skips=skips), folder=".")


def _other_lists(root: Path) -> list[Path]:
    """Lists of requirements that nobody chose among: for another machine, for development, or the only ones there are."""
    found = {*root.glob("*requirements*.txt"), *root.glob("requirements/*.txt")} - {root / "requirements.txt"}
    return sorted(path for path in found if is_file(path))


def _count_in_words(scripts: list[Target]) -> str:
    notebooks = sum(one.text.endswith(".ipynb") for one in scripts)
    told = [
        f"{count} {word}{'s' if count > 1 else ''}"
        for count, word in ((len(scripts) - notebooks, "script"), (notebooks, "notebook"))
        if count
    ]
    return " and ".join(told) or "no script"


def _code_of(folder: Path, aside: list[str]) -> Iterator[Path]:
    """The code of a project; of what is not its own, ``aside`` has each folder's files of code."""
    ignored = _list_ignored(folder)
    for count, (place, folders, files) in enumerate(os.walk(folder)):
        if count == _MOST_FOLDERS:
            told = "a folder of the project"
            raise EnvdoctorError(str(folder), found=f"more than {_MOST_FOLDERS} folders", expected="a project", next_step=f"name {told}")
        here = [one for one in folders if _is_others(Path(place) / one, ignored)]
        folders[:] = sorted(set(folders) - set(here))
        for other in here:
            if not other.startswith(".") and other != "__pycache__":
                aside += [name for _, _, names in os.walk(Path(place) / other) for name in names if name.endswith(_CODE)]
        yield from (Path(place) / name for name in files if name.endswith(_CODE) and not name.startswith("."))


def _is_others(folder: Path, ignored: frozenset[str]) -> bool:
    """Whether a folder is hidden, vendored, made, or an environment."""
    name = folder.name
    return name.startswith(".") or name in _OTHERS or name in ignored or name.endswith(".egg-info") or is_file(folder / "pyvenv.cfg")


def _list_ignored(root: Path) -> frozenset[str]:
    """The folders that the project's own .gitignore names without a pattern."""
    try:
        lines = (root / ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    names = (line.strip().strip("/") for line in lines if not line.startswith(("#", "!")))
    return frozenset(name for name in names if name and not any(mark in name for mark in "*?[/"))
