"""Released wheels, downloaded once by package name and never installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from packaging.utils import InvalidWheelFilename, NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version

# Hundreds of MB to GB a release; to look into them is worth it only on request.
_LARGE = ("torch", "triton", "vllm", "flash-attn", "tensorflow", "jaxlib", "sgl-kernel", "paddlepaddle-gpu")
_DOWNLOAD_SECONDS = 900.0


class NoWheelError(Exception):
    """A wheel that cannot be had here; the message says why."""


class Wheels:
    """The wheels in a directory: directly in it, or one level below; what is missing is downloaded there."""

    def __init__(self, directory: Path, *, large: bool = False) -> None:
        self.directory = directory
        self.large = large
        self._found: dict[tuple[NormalizedName, Version], Path] | None = None

    def wheel(self, package: str, release: str) -> Path:
        """The wheel of a release.

        Raises:
            NoWheelError: it is too large to be downloaded unasked, or pip cannot have it.
        """
        name = canonicalize_name(package)
        key = (name, Version(release))
        if key not in self._index():
            if not self.large and (name in _LARGE or name.startswith("nvidia-")):
                raise NoWheelError(f"wheels of {name} are too large to be downloaded unasked (--large)")
            reason = _download(name, release, self.directory / f"{name}-{release}")
            self._found = None
            if key not in self._index():
                raise NoWheelError(f"{name} {release}: {reason}")
        return self._index()[key]

    def _index(self) -> dict[tuple[NormalizedName, Version], Path]:
        if self._found is None:
            self._found = {}
            for path in sorted([*self.directory.glob("*.whl"), *self.directory.glob("*/*.whl")]):
                try:
                    name, version, _, _ = parse_wheel_filename(path.name)
                except InvalidWheelFilename:
                    continue
                self._found[name, version] = path
        return self._found


def _download(package: str, release: str, folder: Path) -> str:
    """Have pip put a wheel into a folder; why it did not, where it did not."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--ignore-requires-python",
        "-d",
        str(folder),
    ]
    try:
        done = subprocess.run([*command, f"{package}=={release}"], capture_output=True, text=True, check=False, timeout=_DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired:
        return f"no answer within {_DOWNLOAD_SECONDS:g} s"
    finally:
        if not any(folder.iterdir()):
            folder.rmdir()
    return (done.stderr.strip().splitlines() or ["pip gave no wheel"])[-1]
