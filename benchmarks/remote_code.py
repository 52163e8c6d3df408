"""How long a snapshot's code takes to be held against an installed transformers, cold and with the parsed library kept.

    python benchmarks/remote_code.py SNAPSHOT SITE_PACKAGES [--release 4.57.1] [--runs 5]

Every run is a process of its own, with the page cache warm; cold means that nothing of the library is kept from earlier
runs. The times are those of the comparison, without the start of Python, which is given beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLD, WARM = 1.5, 0.2


def measure(folder: Path, site: Path, release: str, cache: Path) -> None:
    from envdoctor.code.examine import entries_of, examine, library_for
    from envdoctor.code.library import InstalledLibrary
    from envdoctor.sources.model.model_directory import ModelDirectory

    documents = [json.loads((folder / name).read_bytes()) for name in ("config.json", "tokenizer_config.json") if (folder / name).is_file()]
    start, used = time.perf_counter(), time.process_time()
    library = library_for(release, [site], {}, cache)
    assert isinstance(library, InstalledLibrary), "no transformers in these site-packages"
    hits = examine(ModelDirectory(folder), entries_of(*(item.get("auto_map") for item in documents)), library, documents[0])
    library.save()
    print(json.dumps({"seconds": time.perf_counter() - start, "cpu": time.process_time() - used, "findings": len(hits)}))


def run(arguments: list[str], cache: Path) -> dict[str, float]:
    command = [sys.executable, __file__, *arguments, "--child", os.fspath(cache)]
    start = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, float] = json.loads(done.stdout)
    return {**told, "process": time.perf_counter() - start}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", type=Path)
    parser.add_argument("site", type=Path)
    parser.add_argument("--release", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        measure(options.snapshot, options.site, options.release, options.child)
        return
    arguments = [str(options.snapshot), str(options.site), "--release", options.release]
    with tempfile.TemporaryDirectory() as folder:
        run(arguments, Path(folder, "page-cache"))
        cold = [run(arguments, Path(folder, f"cold-{count}")) for count in range(options.runs)]
        warm = [run(arguments, Path(folder, "cold-0")) for _ in range(options.runs)]
        size = sum(path.stat().st_size for path in Path(folder, "cold-0").iterdir())
    for label, rows, limit in (("cold", cold, COLD), ("kept", warm, WARM)):
        seconds = statistics.median(row["seconds"] for row in rows)
        cpu = statistics.median(row["cpu"] for row in rows)
        whole = statistics.median(row["process"] for row in rows)
        verdict = "within" if seconds < limit else "OVER"
        findings = rows[0]["findings"]
        print(f"{label}: {seconds:.3f} s ({cpu:.3f} s CPU, process {whole:.3f} s), {verdict} {limit} s; findings: {findings:.0f}")
    print(f"kept outlines: {size / 1024:.0f} KiB")


if __name__ == "__main__":
    main()
