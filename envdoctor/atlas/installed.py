"""One installed distribution, read from its source files: only the modules that are asked for, each kept by its content."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

from envdoctor.atlas.outline import FORMAT, READING, Outline, pack, unpack
from envdoctor.atlas.reading import read_contents
from envdoctor.files.json_file import UnreadableError, read_bounded
from envdoctor.files.kept import Seen
from envdoctor.files.own import read_own
from envdoctor.files.user_cache import cache_directory, keep_file
from envdoctor.syntax.parsing import SOURCE_LIMIT, NoPythonError, python_text

_COMPILED = (".so", ".pyd")
_SLACK_S = 2.0
_MOST_FILES = 8000
_MOST_KEPT = 64 * 2**20
_MOST_OUTLINES = 2000
_LISTED = re.compile(r"""["']([A-Za-z_][A-Za-z0-9_]*)["']""")
_MARKED = re.compile(r"^@(?:requires|export)\([^)]*\)\n(?:@[^\n]*\n)*(?:class|def) ([A-Za-z_]\w*)", re.MULTILINE)


class Source:
    """The files of a distribution under some roots; ``mapped`` are folders of top-level modules that an editable install names.

    ``record`` is the text of its RECORD: a file of another size, or newer and of another content, was edited.
    """

    def __init__(self, name: str, roots: Sequence[str], mapped: dict[str, str], record: Path | None, seen: Seen | None = None) -> None:
        self.name = name
        self._roots = roots
        self._mapped = mapped
        self._record = record
        self._listed: tuple[str, float] | None = None
        self._outlines: dict[str, Outline | None] = {}
        self._files: dict[str, str | None] = {}
        self._kept: dict[str, object] | None = None
        self._changed = False
        self.read: list[str] = []
        """The files that were read, in the order in which they were asked for."""
        self.seen = seen or Seen()
        """All that was looked at: an outcome stands while it is the same."""
        if record is not None:
            self.seen.file(str(record))

    # --- which files there are ---------------------------------------------------------------------

    def file(self, module: str) -> str | None:
        """The source of a module, the stub of one that is compiled; None where there is none."""
        if module not in self._files:
            self._files[module] = next(self._candidates(module), None)
        return self._files[module]

    def _candidates(self, module: str) -> Iterator[str]:
        for base in self._bases(module):
            for end in (os.path.join(base, "__init__.py"), f"{base}.py", os.path.join(base, "__init__.pyi"), f"{base}.pyi"):
                self.seen.file(end)
                if os.path.isfile(end):
                    yield end

    def _bases(self, module: str) -> Iterator[str]:
        top, _, rest = module.partition(".")
        inner = rest.replace(".", os.sep)
        if top in self._mapped:
            yield os.path.join(self._mapped[top], inner) if rest else self._mapped[top]
            return
        for root in self._roots:
            yield os.path.join(root, top, inner) if rest else os.path.join(root, top)

    def is_folder(self, module: str) -> bool:
        """Whether it is a folder, which can be imported without any ``__init__``."""
        return any(self.seen.kind(base) == "folder" for base in self._bases(module))

    def is_compiled(self, module: str) -> bool:
        """Whether a module is there as a library."""
        for base in self._bases(module):
            folder, stem = os.path.split(base)
            self.seen.file(folder)
            try:
                if any(name.startswith(f"{stem}.") and name.endswith(_COMPILED) for name in os.listdir(folder)):
                    return True
            except OSError:
                continue
        return False

    def is_edited(self, file: str) -> bool:
        """Whether a file is not as it was installed, by size and time and then by its content."""
        if self._listed is None:
            try:
                text = "" if self._record is None else self._record.read_text(encoding="utf-8", errors="replace")
                self._listed = text, os.stat(self._record).st_mtime if self._record is not None and text else 0.0
            except OSError:
                self._listed = "", 0.0
        text, installed = self._listed
        for root in self._roots:
            if not file.startswith(root + os.sep):
                continue
            path = file[len(root) + 1 :].replace(os.sep, "/")
            told = re.search(rf"^{re.escape(path)},sha256=([\w-]+)=*,(\d+)\s*$", text, re.MULTILINE)
            if told is None:
                return False
            status = os.stat(file)
            if status.st_size != int(told[2]):
                return True
            return status.st_mtime > installed + _SLACK_S and _digest_of(file) != told[1]
        return False

    # --- what is in them -----------------------------------------------------------------------------

    def outline(self, module: str) -> Outline | None:
        """What a module holds; None where no source of it can be read."""
        if module not in self._outlines:
            file = self.file(module)
            self._outlines[module] = None if file is None else self._read(module, file)
        return self._outlines[module]

    def _read(self, module: str, file: str) -> Outline | None:
        try:
            data = read_bounded(Path(file), SOURCE_LIMIT)
        except UnreadableError:
            return None
        self.read.append(file)
        package = os.path.basename(file).startswith("__init__.")
        key = f"{module} {blake2b(data, digest_size=16).hexdigest()}"
        kept = self._load().get(key)
        if isinstance(kept, list):
            return unpack(kept)
        try:
            outline = read_contents(python_text(data), module, package=package)
        except (NoPythonError, RecursionError, ValueError):
            return None
        outline.taken, outline.said = [], []
        self._load()[key] = pack(outline)
        self._changed = True
        return outline

    def exports(self, module: str, prefix: str) -> dict[str, str]:
        """What ``define_import_structure`` finds below a package: names, each with the module that lists it in ``__all__``."""
        bases = self._bases(".".join(filter(None, (module, prefix))))
        folder = next((base for base in bases if self.seen.kind(base) == "folder"), None)
        if folder is None:
            return {}
        self.seen.tree(folder)
        files = list(_sources(folder))
        states = [(file, os.stat(file)) for file in files]
        told = "\n".join(f"{file} {status.st_size} {status.st_mtime_ns}" for file, status in states)
        key = f"@{module} {prefix} {blake2b(told.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"
        kept = self._load().get(key)
        if isinstance(kept, dict):
            return kept
        found: dict[str, str] = {}
        base = ".".join(filter(None, (module, prefix)))
        for file in files:
            inner = os.path.relpath(file, folder)[:-3].replace(os.sep, ".")
            for name in _exported(file):
                found.setdefault(name, f"{base}.{inner}:{name}")
        self._load()[key] = found
        self._changed = True
        return found

    # --- what is kept --------------------------------------------------------------------------------

    def _place(self) -> Path:
        label = "\0".join([self.name, *self._roots, *self._mapped.values()])
        return (
            cache_directory()
            / "outlines"
            / f"{self.name}-{blake2b(label.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}.json"
        )

    def _load(self) -> dict[str, object]:
        if self._kept is None:
            try:
                data = json.loads(read_own(self._place(), _MOST_KEPT))
            except (UnreadableError, ValueError, RecursionError):
                data = None
            whole = isinstance(data, dict) and data.get("format") == [FORMAT, READING] and isinstance(data.get("outlines"), dict)
            self._kept = data["outlines"] if whole else {}
        return self._kept

    def save(self) -> None:
        """Keep what was read for the next run."""
        if self._changed and self._kept is not None:
            rows = dict(list(self._kept.items())[-_MOST_OUTLINES:])
            keep_file(self._place(), json.dumps({"format": [FORMAT, READING], "outlines": rows}, separators=(",", ":")).encode("ascii"))
            self._changed = False


def _digest_of(file: str) -> str:
    from base64 import urlsafe_b64encode
    from hashlib import sha256

    try:
        return urlsafe_b64encode(sha256(read_bounded(Path(file), SOURCE_LIMIT)).digest()).rstrip(b"=").decode()
    except UnreadableError:
        return ""


def _sources(folder: str) -> Iterator[str]:
    count = 0
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(files):
            count += 1
            if name.endswith(".py") and name != "__init__.py" and count <= _MOST_FILES:
                yield os.path.join(path, name)


def _exported(file: str) -> list[str]:
    try:
        text = read_bounded(Path(file), SOURCE_LIMIT).decode("utf-8", "replace")
    except UnreadableError:
        return []
    start = text.rfind("\n__all__")
    listed = _LISTED.findall(text[start : text.find("]", start)]) if start >= 0 else []
    return listed + (_MARKED.findall(text) if "@requires" in text or "@export" in text else [])
