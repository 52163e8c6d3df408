"""How findings of errors name packages: with their versions, who called, each once."""

from __future__ import annotations

from difflib import get_close_matches

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact, Ranged
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.world.import_names import package_of
from envdoctor.world.other_names import names_written_down
from envdoctor.world.releases import listed

# A shorter name has too many neighbours.
_SHORT = 6
# transformers writes its own release into each configuration that it saves.
AS_SAVED = (
    "pip install \"transformers==VERSION\", with the transformers_version that stands in the model's config.json; or fetch the model's "
    "files anew, where their author has followed since"
)


def describe(package: str, facts: Facts) -> str:
    """A package with its version, where it is stated: ``peft 0.14.0``."""
    value = facts.value(f"packages.{package}")
    return f"{package} {value}" if isinstance(value, (Exact, Ranged)) and str(value) else package


def caller_of(failure: Failure) -> tuple[str, str]:
    """The package that asked for something of another one, and where; both empty where user code did, or nobody says who."""
    for frame in reversed(failure.frames):
        if frame.package:
            package = package_of(frame.package)
            where = frame.path.replace("\\", "/").rpartition("-packages/")[2] or frame.path
            return package, f"{where}:{frame.line}" if frame.line else where
        return "", ""
    return "", ""


def among_installed(top: str, caller: str, failure: Failure) -> bool:
    """Whether a file of a package, or one of its callers, says that a module is not the project's own."""
    return caller not in ("", top, "transformers_modules") or any(frame.package == top for frame in failure.frames)


def reasons(*packages: str) -> tuple[tuple[str, str], ...]:
    """That packages are named by the error."""
    return tuple((f"packages.{name}", "in the error") for name in packages if name)


def named(*packages: str) -> tuple[str, ...]:
    """Packages, each once; the code that comes with models is none."""
    return tuple(dict.fromkeys(name for name in packages if name and name != "transformers-modules"))


def place_of(frame: Frame) -> str:
    """Where a frame is: the file from the root of the packages, or its last two parts, with the line and the function."""
    path = frame.path.replace("\\", "/")
    short = path.rpartition("-packages/")[2] if "-packages/" in path else "/".join(path.split("/")[-2:])
    return f"{short}:{frame.line}{f', in {frame.function}' if frame.function else ''}" if frame.line else short


def misspelt(top: str) -> str:
    """The package whose module was meant by a name that no package has: one letter too many, missing or another; not a plural."""
    names = {name: name for name in names_written_down()} | {name.replace("-", "_"): name for name in listed()}
    near = get_close_matches(top.lower(), names, n=2, cutoff=0.88) if len(top) > _SHORT else []
    return names[near[0]] if len(near) == 1 and near[0].rstrip("s") != top.lower().rstrip("s") else ""
