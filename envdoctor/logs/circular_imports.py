"""A package that is asked for a name before it is ready: what stands in its way."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.names import canonical
from envdoctor.logs.places import owner_of
from envdoctor.logs.statements import MissingName
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

NAME = "error-name-missing"


def judge_circular(module: str, path: str, failure: Failure, *, known: bool = True) -> Hit:
    """A package that imports itself before it is ready: a file of its name stands before it, or its files are of several releases.

    Whether a module that is of no ``known`` package is one at all, nobody says: it may be the project's own.
    https://github.com/mem0ai/mem0/issues/88
    """
    package = package_of(module)
    top = module.partition(".")[0]
    own = next((frame.path for frame in reversed(failure.frames) if not frame.package and frame.path.endswith(f"{top}.py")), "")
    own = own or (path if path.endswith(f"{top}.py") and not owner_of(path)[0] else "")
    if own:
        why = f"{own.replace(chr(92), '/').rpartition('/')[2]} of your own has its name and is imported in its place: rename it"
        advice = "mv FILE my_FILE".replace("FILE", f"{top}.py")
    else:
        why = (
            f"a file or folder of your own called {top} or like one of its modules, files of several releases in one folder, or two of its "
            "modules that need each other"
        )
        shown = f"python -c 'import {top}; print({top}.__file__)'"
        advice = f"{shown} where it failed: rename what is your own; else install it again in a new environment"
    detail = f"{package} was asked for {module} before that was imported: {why}"
    if not known and not own:
        headline = f"{top} is imported while it is not finished: a file of your own bears its name, or two modules need each other"
        return Hit(NAME, None, detail=detail, packages=(), edge=f"circular:{module}", headline=headline, advice=advice)
    return Hit(NAME, True, (), detail=detail, packages=named(package), edge=f"circular:{module}", advice=advice)


def judge_shadowed(one: MissingName) -> Hit | None:
    """A name that is not there, where the path that the message gives is a file or folder of the project's own with the package's name.

    A checkout of the package itself lies in a folder of its name too.
    """
    module, name, path = one.module, one.name, one.path
    package, top = package_of(module), module.partition(".")[0]
    parts = path.replace(chr(92), "/").split("/")
    if one.circular or package not in listed() or not path.endswith(".py") or owner_of(path)[0] or "src" in parts:
        return None
    file, folders = parts[-1], [canonical(part) for part in parts[:-1]]
    if file == f"{top}.py":
        own = file
    elif file == "__init__.py" and folders[-1:] == [canonical(top)] and folders.count(canonical(top)) == 1:
        own = f"{parts[-2]}/"
    else:
        return None
    detail = f"{name} was looked for in {own} of your own and not in {package}: Python finds it before the installed package"
    return Hit(
        NAME,
        True,
        (),
        detail=detail,
        packages=named(package),
        edge=f"shadowed:{module}.{name}",
        headline=f"{own} of your own is imported in the place of {package}",
        advice=f"rename {own}, and remove the __pycache__ beside it",
    )
