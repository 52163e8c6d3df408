"""What a command asks an installer for: pip, uv, conda, poetry, pdm, apt. Read from its arguments alone."""

from __future__ import annotations

import posixpath
import re
from typing import Literal

from envdoctor.records import dataclass, replace
from envdoctor.sources.installers.options import CONDA_VALUED, PIP_VALUED, PROJECT_VALUED, SYSTEM_VALUED, split_options
from envdoctor.sources.shell.marks import is_known
from envdoctor.sources.shell.text import Argument

Tool = Literal["pip", "uv", "uv-project", "poetry", "pdm", "pipenv", "conda", "system", "venv", "none"]
Action = Literal["install", "uninstall", "create", "environment-file", "interpreter"]

_PIP = re.compile(r"pip([0-9](?:\.[0-9]+)?)?")
_PYTHON = re.compile(r"python([0-9](?:\.[0-9]+)?)?")
_CONDA = frozenset(("conda", "mamba", "micromamba"))
_SYSTEM = frozenset(("apt", "apt-get", "aptitude", "apk", "dnf", "yum", "microdnf", "zypper"))


@dataclass(frozen=True, slots=True)
class Request:
    """What one installer is asked for. ``into`` is a directory, an interpreter or the name of an environment.

    ``active`` says that uv is to take the environment that is activated, ``apart`` that the directory is made by the
    command (``--target``, ``--prefix``).
    ``channels`` are conda's, in their order.
    ``isolated`` says that whatever has no wheel is built with the newest tools that there are.
    ``python`` is the version that the command itself states (``python3.11 -m pip``, ``uv venv --python 3.11``).
    """

    tool: Tool
    action: Action
    wanted: tuple[Argument, ...] = ()
    files: tuple[Argument, ...] = ()
    constraints: tuple[Argument, ...] = ()
    projects: tuple[Argument, ...] = ()
    indexes: tuple[tuple[str, str], ...] = ()
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    upgrade: bool = False
    no_deps: bool = False
    system: bool = False
    into: str | None = None
    python: str | None = None
    apart: bool = False
    active: bool = False
    isolated: bool = True
    channels: tuple[str, ...] = ()


def read_request(command: tuple[Argument, ...]) -> Request | None:
    """The request that a command makes of an installer; None where it is none. The first word is the program."""
    program, arguments = posixpath.basename(command[0].text), command[1:]
    into = _prefix_of(command[0].text)
    if _PIP.fullmatch(program):
        version = _PIP.fullmatch(program)
        return _with(_pip(arguments), into, version[1] if version else None)
    if _PYTHON.fullmatch(program):
        return _python(program, arguments, into)
    if program == "uv":
        return _uv(arguments)
    if program in _CONDA:
        return _conda(arguments)
    if program in ("poetry", "pdm", "pipenv"):
        return _project(program, arguments)
    if program in _SYSTEM:
        return _system(arguments)
    if program in ("virtualenv", "pyvenv"):
        return _venv(arguments, "-p", "--python")
    if program == "pyenv" and arguments and arguments[0].text in ("install", "global"):
        versions = [argument.text for argument in arguments[1:] if re.match(r"[0-9]", argument.text)]
        return Request("system", "interpreter", python=versions[0]) if versions else None
    return None


def _with(request: Request | None, into: str | None, version: str | None) -> Request | None:
    if request is None:
        return None
    minor = version if version is not None and "." in version else None
    return replace(request, into=request.into or into, python=request.python or minor)


def _prefix_of(program: str) -> str | None:
    """The environment that a program lies in: ``/opt/venv/bin/pip`` -> ``/opt/venv``."""
    directory = posixpath.dirname(program)
    return posixpath.dirname(directory) or "/" if posixpath.basename(directory) == "bin" else None


def _pip(arguments: tuple[Argument, ...], *, uv: bool = False) -> Request | None:
    read = split_options(arguments, PIP_VALUED)
    if not read.plain:
        return None
    action, wanted = read.plain[0].text, tuple(read.plain[1:])
    if action not in ("install", "uninstall", "sync"):
        return None
    if action == "sync":
        read.options.extend(("-r", argument) for argument in wanted)
        wanted = ()
    indexes = [(name, value.text) for name, value in read.options if name in _INDEX_OPTIONS]
    prefix = read.last("--prefix", "--target", "-t", "--root")
    python = read.last("--python", "-p") if uv else read.last("--python")
    return Request(
        "uv" if uv else "pip",
        "uninstall" if action == "uninstall" else "install",
        wanted,
        read.values("-r", "--requirement", "--requirements"),
        read.values("-c", "--constraint", "--constraints"),
        read.values("-e", "--editable"),
        tuple((_INDEX_OPTIONS[name], value) for name, value in indexes),
        tuple(value.text for value in read.values("--extra")),
        tuple(value.text for value in read.values("--group")),
        upgrade=read.has("-U", "--upgrade", "--force-reinstall", "--reinstall", "-I", "--ignore-installed"),
        no_deps=read.has("--no-deps", "--no-dependencies"),
        system=read.has("--system"),
        into=prefix or _environment(python),
        python=_version(python),
        apart=prefix is not None,
        isolated=not (read.has("--no-build-isolation") or read.values("--build-constraint", "--build-constraints", "-b")),
    )


_INDEX_OPTIONS = {
    "-i": "index",
    "--index-url": "index",
    "--default-index": "index",
    "--pypi-url": "index",
    "--extra-index-url": "extra",
    "--index": "extra",
    "--torch-backend": "backend",
}


def _environment(text: str | None) -> str | None:
    """Where an interpreter or a directory lies; None for a bare version, which names no place."""
    if text is None or _version(text) is not None or "/" not in text:
        return None
    if _PYTHON.fullmatch(posixpath.basename(text)):
        return _prefix_of(text)
    return text.rstrip("/") or "/"


def _version(text: str | None) -> str | None:
    """The version in ``3.11``, ``python3.11``, ``cpython-3.11.9`` and ``/usr/bin/python3.11``."""
    if text is None:
        return None
    found = re.fullmatch(r"(?:c?python-?)?@?([0-9]\.[0-9]+(?:\.[0-9]+)?)", posixpath.basename(text))
    return found[1] if found else None


def _python(program: str, arguments: tuple[Argument, ...], into: str | None) -> Request | None:
    named = _PYTHON.fullmatch(program)
    version = named[1] if named and named[1] and "." in named[1] else None
    at = 0
    while at < len(arguments) and arguments[at].text.startswith("-") and not arguments[at].text.startswith(("-m", "-c")):
        at += 1
    if at >= len(arguments):
        return None
    text = arguments[at].text
    if text.startswith("-m"):
        module = text[2:] or (arguments[at + 1].text if at + 1 < len(arguments) else "")
        rest = arguments[at + (1 if text[2:] else 2) :]
        if module == "pip":
            return _with(_pip(rest), into, version)
        if module == "uv":
            return _uv(rest)
        if module in ("venv", "virtualenv"):
            return _with(_venv(rest), None, version)
        return None
    if posixpath.basename(text) == "setup.py" and any(a.text in ("install", "develop") for a in arguments[at + 1 :]):
        place = Argument(posixpath.dirname(text) or ".", arguments[at].line)
        return _with(Request("pip", "install", projects=(place,)), into, version)
    return None


def _venv(arguments: tuple[Argument, ...], *interpreter: str) -> Request | None:
    read = split_options(arguments, frozenset((*interpreter, "--prompt")))
    if not read.plain:
        return None
    return Request("venv", "create", into=read.plain[0].text, python=_version(read.last(*interpreter)))


def _uv(arguments: tuple[Argument, ...]) -> Request | None:
    at = 0
    while at < len(arguments) and arguments[at].text.startswith("-"):
        at += 2 if arguments[at].text in PIP_VALUED else 1
    if at >= len(arguments):
        return None
    command, rest = arguments[at].text, arguments[at + 1 :]
    if command == "pip":
        return _pip(rest, uv=True)
    if command == "venv":
        read = split_options(rest, frozenset((*PIP_VALUED, "--prompt")))
        python = _version(read.last("--python", "-p"))
        return Request("venv", "create", into=read.plain[0].text if read.plain else ".venv", python=python)
    if command == "python" and rest and rest[0].text == "install":
        versions = [version for argument in rest[1:] if (version := _version(argument.text)) is not None]
        return Request("uv", "interpreter", python=versions[0]) if len(versions) == 1 else None
    if command in ("sync", "add"):
        read = split_options(rest, PROJECT_VALUED)
        return Request(
            "uv-project",
            "install",
            wanted=tuple(read.plain) if command == "add" else (),
            projects=(Argument(read.last("--project", "--directory") or ".", arguments[at].line),),
            extras=("*",) if read.has("--all-extras") else tuple(value.text for value in read.values("--extra")),
            groups=tuple(value.text for value in read.values("--group", "--only-group")),
            python=_version(read.last("--python", "-p")),
            active=read.has("--active"),
        )
    return None


def _project(tool: str, arguments: tuple[Argument, ...]) -> Request | None:
    read = split_options(arguments, PROJECT_VALUED)
    if not read.plain or read.plain[0].text not in ("install", "sync", "add", "update"):
        return None
    known: Tool = "poetry" if tool == "poetry" else "pdm" if tool == "pdm" else "pipenv"
    extras = [word for value in read.values("-E", "--extras", "--extra") for word in re.split(r"[\s,]+", value.text) if word]
    groups = [word for value in read.values("-G", "--with", "--group", "--only") for word in re.split(r"[\s,]+", value.text) if word]
    place = Argument(read.last("-p", "--project", "-C", "--directory") or ".", read.plain[0].line)
    wanted = tuple(read.plain[1:]) if read.plain[0].text in ("add", "install") and tool != "poetry" else ()
    return Request(
        known,
        "install",
        wanted=wanted,
        projects=(place,),
        extras=("*",) if read.has("--all-extras") else tuple(extras),
        groups=tuple(groups),
        system=read.has("--system"),
    )


def _conda(arguments: tuple[Argument, ...]) -> Request | None:
    read = split_options(arguments, CONDA_VALUED)
    words = [argument.text for argument in read.plain]
    if not words:
        return None
    into = read.last("-n", "--name") or read.last("-p", "--prefix")
    if words[0] == "env" and len(words) > 1 and words[1] in ("create", "update"):
        return Request("conda", "environment-file", files=read.values("-f", "--file"), into=into)
    if words[0] not in ("install", "create", "update", "upgrade", "remove", "uninstall"):
        return None
    wanted, files = tuple(read.plain[1:]), read.values("--file", "-f")
    if files and all(value.text.endswith((".yml", ".yaml")) for value in files if is_known(value.text)):
        return Request("conda", "environment-file", wanted, files, into=into)
    action: Action = "create" if words[0] == "create" else "uninstall" if words[0] in ("remove", "uninstall") else "install"
    channels = tuple(value.text for value in read.values("-c", "--channel") if is_known(value.text))
    return Request("conda", action, wanted, files, into=into, upgrade=words[0] in ("update", "upgrade"), channels=channels)


def _system(arguments: tuple[Argument, ...]) -> Request | None:
    read = split_options(arguments, SYSTEM_VALUED)
    if not read.plain or read.plain[0].text not in ("install", "add", "in"):
        return None
    return Request("system", "install", tuple(read.plain[1:]))
