"""Which model a probe builds in small: the snapshot's own, by transformers' class or by its own code, or one of a stated type."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from envdoctor.facts.fact import Facts

NO_CONSENT = "the snapshot's own code is executed only with --trust-remote-code"
# How torch says that a CPU, or its own CPU build, cannot compute what a GPU can.
_NOT_ON_THIS_CPU = (
    "not implemented for '",
    "no cuda gpus are available",
    "torch not compiled with cuda",
    "found no nvidia driver",
    "no gpu found",
    "kernels are not available",
)
_OFFLINE = ("huggingface.co", "offline mode", "localentrynotfound", "outgoing traffic has been disabled", "cannot reach")
_PACKAGE_MISSING = (
    "packages that were not found in your environment",
    "but it was not found in your environment",
    "seems to be not installed",
    "no module named",
)


def source(facts: Facts, trust: bool) -> Mapping[str, object] | str:
    """``path`` or ``model_type``, and whether the snapshot's code is ``remote`` (run); or why neither can be built.

    Without a model ``model_type`` is None. ``trust`` is the user's consent to run the snapshot's code.
    """
    path = facts.text("model.path")
    remote = facts.value("model.remote_code") is True and facts.value("plan.trust_remote_code") is not False
    if remote and path is None:
        return "the model's own code decides, and no local snapshot holds it"
    if remote and not trust:
        return NO_CONSENT
    # The child works in a directory of its own.
    whole = None if path is None else str(Path(path).absolute())
    return {"path": whole, "model_type": None if path is not None else facts.text("model.type"), "remote": remote}


def not_testable(error: Mapping[str, object]) -> str | None:
    """Why an error tells of this machine and not of a fault: a kernel, a network or a package that it lacks; else None."""
    message = one_line(error)
    lower = message.lower()
    during = str(error.get("during", "the run"))
    if any(text in lower for text in _NOT_ON_THIS_CPU):
        return f"not testable on this CPU ({during}: {message})"
    if any(text in lower for text in _OFFLINE):
        return f"{during} asked for a file that is not on this machine: {message}"
    missing = error.get("missing")
    # A module that transformers itself no longer has is a fault, a package that is not installed is not.
    if isinstance(missing, str) and missing.partition(".")[0] not in ("transformers", "peft", "torch", "transformers_modules"):
        return f"{during} needs {missing}, which is not installed"
    if error.get("type") == "ImportError" and any(text in lower for text in _PACKAGE_MISSING):
        return f"{during} needs a package that is not installed: {message}"
    if error.get("type") in ("OSError", "FileNotFoundError", "PermissionError", "NotADirectoryError", "IsADirectoryError"):
        return f"{during} could not read or write a file: {message}"
    return None


def told(error: Mapping[str, object]) -> str:
    """The stage, the error and the line it was raised in."""
    line = " ".join(str(error.get("line") or "").split())[:200]
    words = f"{error.get('during', 'the run')} failed: {error.get('type', 'an error')}: {one_line(error)}"
    return f"{words} (at {line})" if line else words


def one_line(error: Mapping[str, object]) -> str:
    return " ".join(str(error.get("message", "")).split())[:300]
