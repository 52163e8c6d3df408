"""Ask the package index which releases the packages of a training stack have, and bundle the answer.

Run ``python scripts/refresh_releases.py`` for all packages, or name some to refresh only those.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timezone
from html.parser import HTMLParser
from pathlib import Path
from typing import TypeAlias

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

Row: TypeAlias = "list[str | None]"

BUNDLE = Path(__file__).resolve().parent.parent / "envdoctor" / "data" / "releases.json"
DEFAULT_INDEX = "https://pypi.org/simple/"
ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
MAX_PAGE_BYTES = 64 * 2**20
TIMEOUT_S = 60

TRACKED = (
    "torch",
    "torchvision",
    "torchaudio",
    "torchtext",
    "torchao",
    "triton",
    "transformers",
    "peft",
    "accelerate",
    "bitsandbytes",
    "tokenizers",
    "safetensors",
    "huggingface-hub",
    "datasets",
    "pyarrow",
    "fsspec",
    "trl",
    "sentence-transformers",
    "deepspeed",
    "flash-attn",
    "xformers",
    "numpy",
    "vllm",
    "auto-gptq",
    "autoawq",
    "optimum",
    "llamafactory",
    "ms-swift",
    "axolotl",
    "unsloth",
    "unsloth-zoo",
    "setuptools",
    "packaging",
    "pydantic",
    "protobuf",
    "sentencepiece",
    "tiktoken",
    "scipy",
    "pandas",
    "einops",
    "diffusers",
    "gradio",
    "keras",
    "tensorflow",
    "mkl",
    "lightning",
    "liger-kernel",
    "hqq",
    "gptqmodel",
    "compressed-tensors",
    "mamba-ssm",
    "causal-conv1d",
    "evaluate",
    "rouge-score",
    "timm",
    "ray",
    "nvidia-nccl-cu12",
    "nvidia-cudnn-cu12",
    "nvidia-cudnn-cu13",
)

_SDIST_SUFFIXES = (".tar.gz", ".zip", ".tar.bz2", ".tgz")


@dataclass(frozen=True, slots=True)
class File:
    """One file of a project page; ``uploaded`` is a date (YYYY-MM-DD) where the index tells it."""

    name: str
    uploaded: str | None
    yanked: bool
    requires_python: str | None


def parse_page(page: bytes) -> list[File]:
    """The files of a project page, in either form of the simple repository API (PEP 691, PEP 503).

    Raises:
        ValueError: the page is neither.
    """
    text = page.decode("utf-8")
    return _parse_json(text) if text.lstrip().startswith("{") else _parse_html(text)


def _parse_json(text: str) -> list[File]:
    match json.loads(text):
        case {"files": list(files)}:
            pass
        case _:
            raise ValueError("a JSON page without a list of files")
    return [
        File(
            name=file["filename"],
            uploaded=(file.get("upload-time") or "")[:10] or None,
            yanked=file.get("yanked", False) is not False,
            requires_python=file.get("requires-python") or None,
        )
        for file in files
    ]


def _parse_html(text: str) -> list[File]:
    if "<html" not in text[:1024].lower():
        raise ValueError("neither a JSON nor an HTML page")
    reader = _Anchors()
    reader.feed(text)
    reader.close()
    return reader.files


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.files: list[File] = []
        self._open: Mapping[str, str | None] | None = None
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._open, self._text = dict(attrs), ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag != "a" or self._open is None:
            return
        self.files.append(
            File(
                name=self._text.strip(),
                # No standard has an upload time on an HTML page; some indexes give it all the same.
                uploaded=(self._open.get("data-upload-time") or "")[:10] or None,
                yanked="data-yanked" in self._open,
                requires_python=self._open.get("data-requires-python") or None,
            )
        )
        self._open = None


def version_of(file: str, project: str) -> Version | None:
    """The version that a wheel's or a source archive's name states; None for files of any other kind."""
    if file.endswith(".whl"):
        parts = file.removesuffix(".whl").split("-")
        if len(parts) not in (5, 6) or canonicalize_name(parts[0]) != project:
            return None
        text = parts[1]
    else:
        stem = next((file.removesuffix(suffix) for suffix in _SDIST_SUFFIXES if file.endswith(suffix)), None)
        if stem is None:
            return None
        # Old archives keep the dashes and dots of the project's name, and a version may hold a dash too.
        name = re.match("[-_.]+".join(re.escape(part) for part in project.split("-")) + "-", stem, re.IGNORECASE)
        if name is None:
            return None
        text = stem[name.end() :]
    try:
        return Version(text)
    except InvalidVersion:
        return None


def rows(files: Iterable[File], project: str) -> list[Row]:
    """One row for each release that has files, oldest version first; pre- and development releases are left out.

    A row is: version, date of the first upload, requires-python, then the marks that apply
    (``yanked`` when every file is, ``no-wheel`` when there are only source archives).
    """
    by_version: dict[Version, list[File]] = {}
    for file in files:
        version = version_of(file.name, project)
        if version is not None and not version.is_prerelease:
            by_version.setdefault(version, []).append(file)
    return [_row(version, by_version[version]) for version in sorted(by_version)]


def _row(version: Version, files: list[File]) -> Row:
    row: Row = [
        str(version),
        min((file.uploaded for file in files if file.uploaded), default=None),
        next((file.requires_python for file in files if file.requires_python), None),
    ]
    if all(file.yanked for file in files):
        row.append("yanked")
    if not any(file.name.endswith(".whl") for file in files):
        row.append("no-wheel")
    return row


def read_bundle(path: Path) -> tuple[str | None, dict[str, list[Row]]]:
    """The date and the packages of a bundle; nothing when there is none yet."""
    if not path.exists():
        return None, {}
    bundle = json.loads(path.read_text(encoding="utf-8"))
    return bundle["as_of"], bundle["packages"]


def render(as_of: str, packages: Mapping[str, list[Row]]) -> str:
    """The bundle as JSON with one release per line, so that a refresh reads well as a diff."""
    blocks = [
        f"  {json.dumps(name)}: [\n" + ",\n".join("   " + json.dumps(row, separators=(",", ":")) for row in packages[name]) + "\n  ]"
        for name in sorted(packages)
    ]
    return f'{{\n "as_of": {json.dumps(as_of)},\n "packages": {{\n' + ",\n".join(blocks) + "\n }\n}\n"


def configured_index() -> str:
    """The index that pip asks: its environment, then its configuration files, then PyPI."""
    for section in (":env:", "install", "global"):
        command = [sys.executable, "-m", "pip", "config", "get", f"{section}.index-url"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode == 0 and answer.stdout.strip():
            return answer.stdout.strip()
    return DEFAULT_INDEX


def download(index: str, project: str) -> bytes:
    """A project's page.

    Raises:
        OSError: the index cannot be reached, or has no such project.
        ValueError: the page is larger than MAX_PAGE_BYTES.
    """
    request = urllib.request.Request(f"{index.rstrip('/')}/{project}/", headers={"Accept": ACCEPT})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S, context=ssl.create_default_context()) as answer:
        page: bytes = answer.read(MAX_PAGE_BYTES + 1)
    if len(page) > MAX_PAGE_BYTES:
        raise ValueError(f"a page larger than {MAX_PAGE_BYTES} bytes")
    return page


def saved(directory: Path, project: str) -> bytes:
    """A project's page that was saved as ``<project>.html`` or ``<project>.json``.

    Raises:
        OSError: there is none.
    """
    page = directory / f"{project}.json"
    return (page if page.exists() else directory / f"{project}.html").read_bytes()


def _date(text: str) -> str:
    return date.fromisoformat(text).isoformat()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="NAME", nargs="*", help="packages to refresh; default: all that are tracked")
    parser.add_argument("--index", metavar="URL", help="a simple repository; default: the index that pip is configured with")
    parser.add_argument("--pages", metavar="DIR", type=Path, help="read project pages saved in DIR (NAME.json, NAME.html) and ask no index")
    today = datetime.now(timezone.utc).date().isoformat()
    parser.add_argument("--as-of", metavar="DATE", type=_date, default=today, help="the day on which the pages were saved; default: today")
    parser.add_argument("--output", metavar="FILE", type=Path, default=BUNDLE)
    options = parser.parse_args(arguments)

    names = sorted({canonicalize_name(name) for name in options.names or TRACKED})
    index = "" if options.pages else options.index or configured_index()
    before, packages = read_bundle(options.output)
    failed = 0
    for name in names:
        try:
            page = saved(options.pages, name) if options.pages else download(index, name)
            found = rows(parse_page(page), name)
        except (OSError, ValueError) as error:
            print(f"{name}: kept as it was: {error}", file=sys.stderr)
            failed += 1
            continue
        if not found:
            print(f"{name}: kept as it was: no release with a wheel or a source archive", file=sys.stderr)
            failed += 1
            continue
        packages[name] = found
        print(f"{name}: {len(found)} releases, newest {found[-1][0]}")

    if not packages:
        return 1
    # The bundle is as old as its oldest part.
    all_fresh = not failed and set(packages) <= set(names)
    as_of = options.as_of if before is None or all_fresh else min(before, options.as_of)
    options.output.write_text(render(as_of, packages), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
