"""The command that makes a remedy true of an environment, in the words of the installer that is in use there."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from envdoctor.files.paths import absolute, real_path
from envdoctor.records import dataclass
from envdoctor.remedies.remedy import Remedy
from envdoctor.sources.declared.conda_spec import on_pypi
from envdoctor.sources.machine.interpreter import Installed
from envdoctor.sources.machine.layout import read_settings
from envdoctor.sources.machine.metadata import read_bounded
from envdoctor.sources.machine.patient import venv_of
from envdoctor.sources.machine.site_packages import Distribution

_LONGEST_NAME = 1 << 10
_MOST_RECORD = 1 << 22
# name-version-build.json: a version and a build have no hyphen.
_RECORD = re.compile(r"(.+)-([^-]+)-([^-]+)\.json")
_CHANNEL = re.compile(rb'"channel"\s*:\s*"([A-Za-z0-9:/._-]{1,200})"')
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:==[A-Za-z0-9.!+_-]+)?")


def command(
    remedy: Remedy, installed: Installed | None = None, interpreter: Path | None = None, environ: Mapping[str, str] | None = None
) -> str:
    """The lines to type, one for each installer that has something to do: what goes, then the pins, and what moves with them.

    Without an environment, or without an interpreter in it, they are pip's, for whichever environment is active. ``environ`` (default:
    this process's) tells which one that is.
    """
    wanted = dict(remedy.pins)
    # Installing the pins alone would leave a package that must follow where it is, unless the pins themselves require it.
    wanted |= {one.package: f"=={one.after}" for one in remedy.moves if one.before and one.after}
    removed = [*remedy.removes]
    if installed is None or interpreter is None:
        return "\n".join(_pip("pip", wanted, removed, _indexes(remedy)))
    home = _home(installed, interpreter, os.environ if environ is None else environ)
    lines: list[str] = []
    for tool in ("conda", "uv", "pip"):
        pins = {name: pin for name, pin in wanted.items() if home.tool_of(name) == tool}
        gone = [name for name in removed if home.tool_of(name) == tool]
        if pins or gone:
            lines += home.lines(tool, pins, gone, _indexes(remedy))
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Home:
    """One environment as its installers see it. ``conda`` are its conda packages by their names on PyPI: the own name and the channel."""

    interpreter: Path
    prefix: Path | None
    active: bool
    windows: bool
    default: str
    distributions: Mapping[str, Distribution]
    conda: Mapping[str, tuple[str, str]]

    def tool_of(self, package: str) -> str:
        """The installer that has put a package there; of a new one, that of the environment."""
        distribution = self.distributions.get(package)
        if distribution is None:
            return "conda" if package in self.conda else self.default
        by = _installer(distribution)
        if package in self.conda and by not in ("pip", "uv"):
            return "conda"
        return "uv" if by == "uv" else "pip" if by == "pip" else self.default

    def lines(self, tool: str, pins: Mapping[str, str], gone: Sequence[str], indexes: Sequence[str]) -> list[str]:
        if tool == "conda":
            return self._conda(pins, gone)
        if tool == "uv":
            where = "" if self.active else f" --python {self._quoted(str(self.interpreter))}"
            return _uv(where, pins, gone, indexes)
        python = "python" if self.active else self._quoted(str(self.interpreter))
        user = any(self.distributions[name].via == "user site" for name in pins if name in self.distributions)
        return _pip(f"{python} -m pip", pins, gone, indexes, user=user)

    def _conda(self, pins: Mapping[str, str], gone: Sequence[str]) -> list[str]:
        where = f" -p {self._quoted(str(self.prefix))}"
        channels = dict.fromkeys(self.conda[name][1] for name in pins if self.conda.get(name, ("", ""))[1])
        named = {name: self.conda.get(name, (name, ""))[0] for name in (*pins, *gone)}
        lines = [f"conda remove{where} {' '.join(_word(named[name]) for name in gone)}"] if gone else []
        if pins:
            asked = " ".join(f'"{named[name]}={pin.removeprefix("==").partition("+")[0]}"' for name, pin in pins.items())
            lines.append(f"conda install{where}{''.join(f' -c {_word(channel)}' for channel in channels)} {asked}")
        return lines

    def _quoted(self, text: str) -> str:
        if self.windows:
            return f'"{text}"' if " " in text else text
        return shlex.quote(text)


def _home(installed: Installed, interpreter: Path, environ: Mapping[str, str]) -> _Home:
    prefix = venv_of(interpreter)
    conda = {} if prefix is None else _conda_packages(prefix)
    active = prefix is not None and any(
        environ.get(variable) and str(real_path(environ[variable])) == str(real_path(prefix))
        for variable in ("VIRTUAL_ENV", "CONDA_PREFIX")
    )
    by_uv = prefix is not None and "uv" in read_settings(prefix)
    return _Home(
        interpreter=Path(absolute(interpreter)),
        prefix=None if prefix is None else Path(absolute(prefix)),
        active=active,
        windows=installed.platform == "win32",
        default="uv" if by_uv else "pip",
        distributions={one.name: one for one in installed.distributions},
        conda=conda,
    )


def _installer(distribution: Distribution) -> str:
    """What the INSTALLER file of a distribution says (PEP 627), its first word in lower case; empty where it says nothing."""
    try:
        data, _ = read_bounded(str(distribution.path / "INSTALLER"), _LONGEST_NAME)
    except OSError:
        return ""
    return next(iter(data.decode("utf-8", "replace").split()), "").lower()


def _conda_packages(prefix: Path) -> dict[str, tuple[str, str]]:
    try:
        names = sorted(os.listdir(prefix / "conda-meta"))
    except OSError:
        return {}
    found = {}
    for name in names:
        record = _RECORD.fullmatch(name)
        package = None if record is None else on_pypi(record[1].lower())
        if record is not None and package is not None:
            found[package] = (record[1], _channel(prefix / "conda-meta" / name))
    return found


def _channel(record: Path) -> str:
    """The name of the channel that a conda package came from; empty for conda's default and where it cannot be told."""
    try:
        data, _ = read_bounded(str(record), _MOST_RECORD)
    except OSError:
        return ""
    found = _CHANNEL.search(data)
    parts = [] if found is None else [part for part in found[1].decode().split("/") if part and not part.endswith(":")]
    parts = [part for part in parts if part not in ("linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64", "noarch")]
    channel = parts[-1] if parts else ""
    return "" if channel in ("main", "defaults", "r", "msys2") else channel


def _indexes(remedy: Remedy) -> list[str]:
    return [f"--extra-index-url {shlex.quote(remedy.index)}"] if remedy.index else []


def _pip(pip: str, pins: Mapping[str, str], gone: Sequence[str], indexes: Sequence[str], *, user: bool = False) -> list[str]:
    lines = [f"{pip} uninstall -y {' '.join(map(_word, gone))}"] if gone else []
    return [*lines, " ".join((f"{pip} install{' --user' if user else ''}", *_asked(pins), *_beside(pins, indexes)))] if pins else lines


def _uv(where: str, pins: Mapping[str, str], gone: Sequence[str], indexes: Sequence[str]) -> list[str]:
    lines = [f"uv pip uninstall{where} {' '.join(map(_word, gone))}"] if gone else []
    if pins:
        beside = _beside(pins, indexes)
        # uv takes a package from the first index that has it, and PyTorch's have old releases of others.
        beside += ["--index-strategy unsafe-best-match"] if beside else []
        lines.append(" ".join((f"uv pip install{where}", *_asked(pins), *beside)))
    return lines


def _asked(pins: Mapping[str, str]) -> list[str]:
    words = (f"{name}{pin}" for name, pin in pins.items())
    return [f'"{word}"' if _SAFE.fullmatch(word) else shlex.quote(word) for word in words]


def _beside(pins: Mapping[str, str], indexes: Sequence[str]) -> list[str]:
    """The indexes, for the command that installs a build which the default one lacks."""
    return list(indexes) if any("+" in pin for pin in pins.values()) else []


def _word(text: str) -> str:
    return text if _SAFE.fullmatch(text) else shlex.quote(text)


__all__ = ["command"]
