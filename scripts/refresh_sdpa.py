"""Which release of transformers first lets which model type use torch's sdpa: read from the released wheels.

    python scripts/refresh_sdpa.py WHEELS    # a folder that keeps the downloaded wheels (about 10 MB each)

Writes envdoctor/data/sdpa.json. A type counts from the first release in which a model class beside its
configuration says ``_supports_sdpa = True``; types that lost it again are left out.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

RELEASES = (
    "4.35.2", "4.36.2", "4.37.2", "4.38.2", "4.39.3", "4.40.2", "4.41.2", "4.42.4", "4.43.4", "4.44.2", "4.45.2", "4.46.3", "4.47.1",
    "4.48.3", "4.49.0", "4.50.3", "4.51.3", "4.52.4", "4.53.3", "4.54.1", "4.55.4", "4.56.2", "4.57.1", "5.0.0", "5.12.0", "5.23.0",
)  # fmt: skip
OUT = Path(__file__).parent.parent / "envdoctor" / "data" / "sdpa.json"


def wheel(release: str, folder: Path) -> Path:
    found = list(folder.glob(f"transformers-{release}-*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), f"transformers=={release}"]
        subprocess.run(command, check=True)
        found = list(folder.glob(f"transformers-{release}-*.whl"))
    return found[0]


def sdpa_types(path: Path) -> tuple[set[str], set[str]]:
    """The model types of a release, and those of them that support sdpa."""
    types: dict[str, set[str]] = defaultdict(set)
    supported: set[str] = set()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            parts = name.split("/")
            if len(parts) < 4 or parts[1] != "models" or not name.endswith(".py"):
                continue
            folder = "/".join(parts[:-1])
            if parts[-1].startswith("configuration_"):
                text = archive.read(name).decode()
                types[folder] |= set(re.findall(r'^    model_type(?:: str)? = "([^"]+)"', text, re.MULTILINE))
            elif parts[-1].startswith("modeling_") and re.search(r"^    _supports_sdpa = True", archive.read(name).decode(), re.MULTILINE):
                supported.add(folder)
    return {t for found in types.values() for t in found}, {t for folder in supported for t in types[folder]}


def main() -> int:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    since: dict[str, str] = {}
    born: dict[str, str] = {}
    lost: set[str] = set()
    for release in RELEASES:
        known, supported = sdpa_types(wheel(release, folder))
        minor = ".".join(release.split(".")[:2])
        for name in known:
            born.setdefault(name, minor)
        for name in supported:
            since.setdefault(name, minor)
        lost |= {name for name in since if name in known and name not in supported}
        print(release, len(supported), flush=True)
    kept = {name: first for name, first in sorted(since.items()) if name not in lost}
    OUT.write_text(
        json.dumps(
            {"read_from": list(RELEASES), "source": "https://pypi.org/project/transformers/", "since": kept, "uncertain": sorted(lost)},
            indent=0,
        )
        + "\n",
        encoding="utf-8",
    )
    print(len(kept), "types;", len(lost), "uncertain")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
