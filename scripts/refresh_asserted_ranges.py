"""Which releases of mmcv, mmengine and each other OpenMMLab's packages admit at import, and jax of jaxlib: read from their wheels.

    python scripts/refresh_asserted_ranges.py FOLDER    # a folder that keeps the downloaded files (1 to 8 MB each)

Writes envdoctor/data/asserted_at_import.json. Each ``__init__.py`` has two constants for each companion, and an assert that compares;
where the assert cannot be read, the release is left out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import urllib.request
import zipfile
from pathlib import Path

from packaging.version import InvalidVersion, Version

TABLE = Path(__file__).parent.parent / "envdoctor" / "data" / "asserted_at_import.json"
MODULES = {
    "mmaction2": "mmaction", "mmagic": "mmagic", "mmcls": "mmcls", "mmdet": "mmdet", "mmdet3d": "mmdet3d", "mmedit": "mmedit",
    "mmocr": "mmocr", "mmpose": "mmpose", "mmpretrain": "mmpretrain", "mmrotate": "mmrotate", "mmsegmentation": "mmseg",
    "mmselfsup": "mmselfsup", "mmtrack": "mmtrack", "mmyolo": "mmyolo",
}  # fmt: skip
ABOUT = (
    "Which releases of companions OpenMMLab's packages and jax admit when they are imported: an error ends the import beside another one. "
    "rows: the range by the module of the companion, and the releases; read in each wheel or source archive."
)
# jax names its floor in a file of its own, and takes no jaxlib that is newer than itself; from 0.4.30 on it declares both.
_FLOOR = re.compile(r"""^_minimum_jaxlib_version\s*=\s*['"]([0-9.]+)['"]""", re.MULTILINE)
_DECLARED = Version("0.4.30")
_CONSTANT = re.compile(r"""^(\w+?)_(min|max)(?:imum_version)?\s*=\s*['"]([0-9][\w.]*)['"]""", re.MULTILINE | re.IGNORECASE)
_COMPARED = r"{0}_version\s*(<=|<)\s*(?:digit_version\(\s*)?{0}_max"


def source(name: str, release: str, folder: Path) -> str:
    """The package's ``__init__.py``; empty where there is no file, or none in it."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation", "-d", str(folder), f"{name}=={release}"]
    pattern = f"{name}-{release}[-.]*"
    if not list(folder.glob(pattern)):
        subprocess.run(command, check=False)
    wanted = "jax/version.py" if name == "jax" else f"{MODULES[name]}/__init__.py"
    for path in folder.glob(pattern):
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                return archive.read(wanted).decode() if wanted in archive.namelist() else ""
        with tarfile.open(path) as packed:
            members = (member for member in packed.getmembers() if re.fullmatch(rf"[^/]+/{re.escape(wanted)}", member.name))
            found = next((packed.extractfile(member) for member in members), None)
            return "" if found is None else found.read().decode()
    return ""


def ranges(text: str) -> dict[str, str]:
    """What an ``__init__.py`` admits of each companion, by its module."""
    told: dict[str, dict[str, str]] = {}
    for module, side, bound in _CONSTANT.findall(text):
        told.setdefault(module.lower(), {})[side.lower()] = bound
    found = {}
    for module, bounds in told.items():
        compared = re.search(_COMPARED.format(re.escape(module)), text)
        if {"min", "max"} <= set(bounds) and compared is not None:
            found[module] = f">={bounds['min']},{compared[1]}{bounds['max']}"
    return found


def of_jaxlib(text: str, release: str) -> dict[str, str]:
    """What jax's ``version.py`` admits of jaxlib, where no metadata says so."""
    floor = _FLOOR.search(text)
    return {} if floor is None or Version(release) >= _DECLARED else {"jaxlib": f">={floor[1]},<={release}"}


def releases(name: str) -> list[str]:
    with urllib.request.urlopen(f"https://pypi.org/pypi/{name}/json", timeout=60) as answer:
        texts = json.load(answer)["releases"]
    known = []
    for text in texts:
        try:
            known.append((Version(text), text))
        except InvalidVersion:
            continue
    return [text for _, text in sorted(known)]


def rows(sources: dict[str, str]) -> list[list[object]]:
    """Ranges, and the releases that have them, the oldest first."""
    found: dict[str, tuple[dict[str, str], list[str]]] = {}
    for release, text in sources.items():
        told = ranges(text) or of_jaxlib(text, release)
        if told:
            found.setdefault(json.dumps(told, sort_keys=True), (told, []))[1].append(release)
    return [[told, " ".join(texts)] for told, texts in found.values()]


def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    table = {name: rows({release: source(name, release, folder) for release in releases(name)}) for name in ("jax", *MODULES)}
    TABLE.write_text(json.dumps({"about": ABOUT, "packages": table}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
