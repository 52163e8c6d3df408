"""The doctor as a child process of a training: asked, listened to, and never waited for without end."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Doctor = str | os.PathLike[str] | Sequence[str] | None


class DoctorError(RuntimeError):
    """The doctor could not be asked, or did not answer: no reason to end a training."""


@dataclass(frozen=True)
class Finding:
    """One finding that counts (``matched`` or ``confirmed``), with the first of its fixes in words."""

    rule: str
    title: str
    severity: str
    fix: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.title} [{self.rule}]" + (f"\n  fix: {self.fix}" if self.fix else "")


def command_of(doctor: Doctor) -> list[str]:
    """How the doctor is started: as told, else as a module of this interpreter, else from the PATH.

    Raises:
        DoctorError: there is none.
    """
    if isinstance(doctor, (str, os.PathLike)):
        return [os.fspath(doctor)]
    if doctor is not None:
        return list(doctor)
    if sys.version_info >= (3, 10) and sys.executable and importlib.util.find_spec("envdoctor.cli") is not None:
        return [sys.executable, "-m", "envdoctor"]
    found = shutil.which("envdoctor")
    if found is None:
        raise DoctorError("envdoctor needs Python 3.10 and is not on the PATH: name it, EnvDoctorCallback(doctor='/path/to/envdoctor')")
    return [found]


def check(doctor: Doctor, facts: Mapping[str, Any], seconds: float) -> tuple[Finding, ...]:
    """What the doctor finds in this interpreter's stack under these facts.

    Raises:
        DoctorError: it could not be asked, or did not answer within ``seconds``.
    """
    return findings(ask([*command_of(doctor), "check", "--facts", "-", *OPTIONS, *patient()], toml(facts), seconds))


def diagnose(doctor: Doctor, facts: Mapping[str, Any], log: str, seconds: float) -> tuple[Finding, ...]:
    """The rules that explain what was logged, under these facts and in this interpreter's stack.

    Raises:
        DoctorError: it could not be asked, or did not answer within ``seconds``.
    """
    with tempfile.TemporaryDirectory(prefix="envdoctor-") as directory:
        path = os.path.join(directory, "facts.toml")
        with open(path, "wb") as file:
            file.write(toml(facts))
        command = [*command_of(doctor), "diagnose", "-", "--facts", path, *OPTIONS, *patient()]
        return findings(ask(command, log.encode("utf-8", "replace"), seconds))


OPTIONS = ("--format", "json", "--offline", "--fail-on", "never")


def patient() -> list[str]:
    return ["--python", sys.executable] if sys.executable else []


def ask(command: Sequence[str], text: bytes, seconds: float) -> Mapping[str, Any]:
    """The JSON object that the doctor prints.

    Raises:
        DoctorError: it cannot be started, takes longer, or prints something else.
    """
    # Another Python starts from this one's home into nothing. PYTHONPATH stays: what it holds belongs to the stack that is examined.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONHOME" or command[0] == sys.executable}
    try:
        done = subprocess.run(command, input=text, capture_output=True, timeout=seconds, check=False, env=environ)
    except OSError as error:
        raise DoctorError(f"cannot start {command[0]}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise DoctorError(f"no answer within {seconds:g} s") from error
    try:
        report = json.loads(done.stdout.decode("utf-8", "replace"))
    except ValueError as error:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise DoctorError(f"exit status {done.returncode}" + (f": {said[-1][:300]}" if said else "")) from error
    if not isinstance(report, dict):
        raise DoctorError("it printed no report")
    refused = report.get("error")
    if isinstance(refused, dict):
        raise DoctorError(f"{refused.get('place')}: found {refused.get('found')}, expected {refused.get('expected')}")
    return report


def findings(report: Mapping[str, Any]) -> tuple[Finding, ...]:
    """The findings of a report that count, in its order; those that rest on facts nobody stated only where there are no others."""
    count = [found for found in report.get("findings", ()) if found.get("status") in ("matched", "confirmed")]
    told = []
    for found in [found for found in count if not found.get("missing")] or count:
        fix = next((words(fix) for fix in found.get("fixes", ())), "")
        told.append(Finding(str(found.get("rule")), str(found.get("title")), str(found.get("severity")), fix))
    return tuple(told)


def words(fix: Mapping[str, Any]) -> str:
    pins = " ".join(f"{name}{pin}" for name, pin in (fix.get("pins") or {}).items())
    plan = ", ".join(f"{name} = {json.dumps(value)}" for name, value in (fix.get("set") or {}).items())
    return "; ".join(part for part in (pins, plan, str(fix.get("note") or "")) if part)


def toml(facts: Mapping[str, Any]) -> bytes:
    """Facts as a facts file: texts, numbers, booleans and lists of texts; what is None is left out."""
    lines = [f"{name} = {literal(value)}" for name, value in facts.items() if value is not None]
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(str(item)) for item in value) + "]"
    # JSON writes all but the delete character as TOML does.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
