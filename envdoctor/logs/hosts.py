"""Programs that load other people's code from a folder: ComfyUI its node packs, the web UIs of Stable Diffusion their extensions.

Neither is on the package index, and nobody lists their releases. What such code asks its host for, and does not find, is of another state
of one of the two.
"""

from __future__ import annotations

import re

from envdoctor.atlas.shelf import open_package
from envdoctor.checks.hit import Hit
from envdoctor.facts.names import canonical
from envdoctor.logs.asked import ATTRIBUTE, MODULE, NAME
from envdoctor.logs.statements import MissingAttribute, MissingModule, MissingName, Statement
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import named, place_of
from envdoctor.records import dataclass
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed


@dataclass(frozen=True, slots=True)
class Host:
    """A program, the folder of what it loads, the modules at its top, and how what it loads is brought up to date."""

    name: str
    folder: re.Pattern[str]
    kind: str
    modules: frozenset[str]
    update: str


HOSTS = (
    Host(
        "comfyui",
        re.compile(r"custom_nodes[\\/](?P<guest>[\w.-]{2,80})(?=[\\/ \"']|$)"),
        "node pack",
        frozenset(
            ("comfy", "comfy_extras", "comfy_execution", "comfy_api", "execution", "nodes", "folder_paths", "server", "latent_preview")
        ),
        "git pull in custom_nodes/{guest} (or the Manager's update), and in ComfyUI",
    ),
    Host(
        "stable-diffusion-webui",
        re.compile(r"[\\/]extensions(?:-builtin)?[\\/](?P<guest>[\w.-]{2,80})[\\/]"),
        "extension",
        frozenset(("modules", "scripts", "extensions", "ldm", "sgm", "repositories", "modules_forge", "ldm_patched", "backend")),
        "git pull in extensions/{guest}, and in the web UI",
    ),
)  # fmt: skip
# A module of the host that nobody else has.
_ONLY_ITS_OWN = frozenset(("comfy", "comfy_extras", "comfy_execution", "comfy_api", "folder_paths"))


def judge_guest(statement: Statement | None, failure: Failure) -> Hit | None:
    """What a node pack or an extension asks of its host, or of its own files, and does not find there; None of a package that is known."""
    asked = _asked(statement)
    if asked is None:
        return None
    module, what, family = asked
    top = module.partition(".")[0]
    if module and (package_of(module) in listed() or open_package(package_of(module)) is not None):
        return None
    host, guest, frame = _loaded(failure)
    if host is None or (not guest and top not in _ONLY_ITS_OWN):
        return None
    of_host = top in host.modules
    where = f" ({place_of(frame)})" if frame is not None else ""
    who = f"the {host.kind} {guest}" if guest else f"a {host.kind}"
    whose = _title(host) if of_host else f"{top}, which is no package that is known here," if module else "what it works on"
    why = f"it was written for another state of {_title(host)}" if of_host else "its files, or what it hooks into, are of another state"
    newest = host.update.format(guest=guest or "NAME")
    packages = [host.name] if of_host else []
    return Hit(
        family,
        True,
        (),
        detail=f"{who} asks for it{where}: {why}",
        packages=named(*packages, canonical(guest)),
        edge=f"{canonical(guest) or host.name}:{what}",
        headline=f"{whose} has no {what}",
        advice=f"bring both to their newest state: {newest}; a {host.kind} that nobody keeps up waits for the {_title(host)} of its day",
    )


def guest_of(failure: Failure) -> tuple[str, str]:
    """The innermost node pack or extension on the way of an error, and what it is; both empty where none is."""
    host, guest, _ = _loaded(failure)
    return (guest, host.kind) if host is not None and guest else ("", "")


def _asked(statement: Statement | None) -> tuple[str, str, str] | None:
    """The module, the full name and the family of what is not there."""
    if isinstance(statement, MissingName) and statement.module and not statement.circular:
        return statement.module, f"{statement.module}.{statement.name}", NAME
    if isinstance(statement, MissingAttribute) and not statement.circular:
        return statement.module, f"{statement.module}.{statement.name}", ATTRIBUTE
    if isinstance(statement, MissingModule) and "." in statement.name and not statement.shadowed:
        return statement.name, statement.name, MODULE
    return None


def _loaded(failure: Failure) -> tuple[Host | None, str, Frame | None]:
    """The host, what it loaded, and the innermost frame of that; of a sentence alone what stands in it."""
    for frame in reversed(failure.frames):
        if "-packages" in frame.path:
            return None, "", None  # what is installed was asked by nobody but itself
        for host in HOSTS:
            if (found := host.folder.search(frame.path)) is not None and (host.name != "stable-diffusion-webui" or _is_webui(failure)):
                return host, found["guest"], frame
    if not failure.frames:
        for host in HOSTS[:1]:
            if (found := host.folder.search(failure.message)) is not None:
                return host, found["guest"], None
            statement = re.search(r"(?:from|module) '?(comfy(?:_\w+)?)\b[.']", failure.message)
            if statement is not None:
                return host, "", None
    return None, "", None


def _is_webui(failure: Failure) -> bool:
    return any(re.search(r"stable-diffusion-webui|sd-webui|sd\.webui|webui|[Ff]orge|automatic", frame.path) for frame in failure.frames)


def _title(host: Host) -> str:
    return "ComfyUI" if host.name == "comfyui" else host.name
