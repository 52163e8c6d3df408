"""A Python to take where one is refused, as a command."""

from __future__ import annotations

from envdoctor.logs.specifiers import admits

# Those with the most wheels first.
_USUAL = ("3.11", "3.10", "3.12", "3.9", "3.13", "3.8", "3.14", "3.7", "3.6")


def python_within(specifier: str) -> str:
    """The usual Python that a bound admits; empty where none does, or the bound is none that can be read."""
    return next((minor for minor in _USUAL if _has_any(specifier, minor)), "")


def _has_any(specifier: str, minor: str) -> bool:
    """Whether a bound admits some patch release of a Python: ``!=3.9.0`` and ``>=3.8.1`` say nothing against the rest."""
    try:
        return any(admits(specifier, f"{minor}.{patch}") is True for patch in ("9", "2"))
    except ValueError:
        return False


def take_python(specifier: str) -> str:
    """The command that makes an environment of a Python within a bound; empty where none is known."""
    minor = python_within(specifier)
    return f"conda create -n NAME python={minor} (or uv venv --python {minor}), and the same install in it" if minor else ""
