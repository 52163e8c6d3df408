"""A module or a name of Python's standard library that one system has and another has not: ``fcntl``, ``os.fork``, ``signal.SIGALRM``."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.logs.callers import caller_of
from envdoctor.logs.statements import MissingAttribute, MissingModule, MissingName
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe, named
from envdoctor.world.unix_only import INSTEAD, LINUX_NAMES, MODULES, NAMES

RUN = "error-of-the-run"
# https://github.com/huggingface/transformers/blob/main/src/transformers/dynamic_module_utils.py: the question has a time limit of Unix's.
_ASKS_FOR_TRUST = "resolve_trust_remote_code"


def judge_unix(statement: object, failure: Failure, facts: Facts) -> Hit | None:
    """What Windows does not have, and who asked for it; None where it is of every system, or a system is stated that has it."""
    if isinstance(statement, MissingModule):
        name = statement.name if statement.name in MODULES else ""
    elif isinstance(statement, (MissingAttribute, MissingName)):
        name = f"{statement.module}.{statement.name}" if f"{statement.module}.{statement.name}" in NAMES else ""
    else:
        name = ""
    system = facts.value("os")
    of_linux = name in LINUX_NAMES
    if not name or system == "linux" or (system == "macos" and not of_linux):
        return None
    caller = caller_of(failure, "python")
    who = f"{describe(caller.package, facts)} ({caller.where})" if caller.package else "the code that runs"
    ran = " on macOS" if system == "macos" else " on Windows"
    where = "on Linux alone" if of_linux else "on Linux and macOS, and not on Windows"
    if any(frame.function == _ASKS_FOR_TRUST for frame in failure.frames):
        detail = f"{name} is there {where}; transformers asks by it whether the code that comes with the model may run, and cannot ask here"
        advice = "trust_remote_code=True where the model, its configuration or its tokenizer is loaded, once its code was read"
    else:
        detail = f"{name} is a part of Python {where}; {who} asks for it and was written for these systems"
        instead = INSTEAD.get(name, "")
        later = f"a release of {caller.package} that runs{ran}" if caller.package else f"a version of the code that runs{ran}"
        advice = "; or ".join(filter(None, (instead, later, "Linux in WSL 2 or in a container" if system != "macos" else "")))
    packages = named(caller.package) if caller.package else ("python",)
    return Hit(
        RUN, True, (), detail=detail, packages=packages, edge=f"{caller.package or 'code'}:{name}", advice=advice,
        headline=f"Python has no {name}{ran}",
    )  # fmt: skip
