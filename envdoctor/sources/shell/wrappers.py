"""Commands that run another one: sudo, env, timeout; and those that run it in an environment."""

from __future__ import annotations

import posixpath
import re

from envdoctor.sources.shell.text import Argument

WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": frozenset(("-u", "-g", "-h", "-p", "-C", "-r", "-t", "-U", "-D")),
    "env": frozenset(("-u", "-C", "-S")),
    "time": frozenset(("-f", "-o")),
    "nice": frozenset(("-n",)),
    "ionice": frozenset(("-c", "-n")),
    "stdbuf": frozenset(("-i", "-o", "-e")),
    "timeout": frozenset(("-s", "-k")),
    "exec": frozenset(("-a",)),
    "nohup": frozenset(),
    "command": frozenset(),
    "builtin": frozenset(),
}
_CONDA_VALUED = frozenset(("-n", "--name", "-p", "--prefix", "--cwd"))
RUNNERS: dict[str, frozenset[str]] = {
    "conda": _CONDA_VALUED,
    "mamba": _CONDA_VALUED,
    "micromamba": _CONDA_VALUED,
    "uv": frozenset(("-p", "--python", "--with", "--extra", "--group", "--project", "--directory", "--package")),
    "poetry": frozenset(("-C", "--directory", "-P", "--project")),
    "pdm": frozenset(("-p", "--project")),
    "pipenv": frozenset(),
}
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


def unwrapped(arguments: tuple[Argument, ...]) -> tuple[tuple[Argument, ...], dict[str, str]]:
    """The command that wrappers run in the end, and the variables that they set for it."""
    values: dict[str, str] = {}
    while arguments:
        program = posixpath.basename(arguments[0].text)
        valued = WRAPPERS.get(program)
        if valued is None:
            break
        if program == "command" and len(arguments) > 1 and arguments[1].text in ("-v", "-V"):
            return arguments[1:2], values
        arguments = arguments[1:]
        while arguments and (arguments[0].text.startswith("-") or (program in ("env", "sudo") and _VARIABLE.match(arguments[0].text))):
            assigned = _VARIABLE.fullmatch(arguments[0].text)
            if assigned and not arguments[0].text.startswith("-"):
                values[assigned[1]] = assigned[2]
            arguments = arguments[2:] if arguments[0].text in valued else arguments[1:]
        if program == "timeout":
            arguments = arguments[1:]
    return arguments, values
