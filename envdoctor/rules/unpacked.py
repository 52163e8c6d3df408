"""The files of the shipped rules: a checkout has them beside it, a wheel carries them in one compressed piece.

A run needs none of them: it reads their compiled form. Whoever lints, verifies or reproduces a rule reads its file.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from envdoctor.errors import EnvdoctorError
from envdoctor.files.paths import is_file
from envdoctor.files.text import plain
from envdoctor.rules.rulebook import rule_files, shipped_rules

PACKED = "files.json.xz"


def pack_rules(directory: Path) -> bytes:
    """All rule files of a directory in one piece. By themselves they take two and a half times as much of a wheel."""
    texts = {path.relative_to(directory).as_posix(): path.read_text(encoding="utf-8") for path in rule_files(directory)}
    return lzma.compress(json.dumps(texts).encode(), preset=9)


@lru_cache(maxsize=1)
def shipped_files() -> Path:
    """The directory of the files of the shipped rules; out of a wheel they are unpacked for as long as this process runs.

    Raises:
        EnvdoctorError: what the wheel carries cannot be read.
    """
    shipped = shipped_rules()
    packed = shipped / PACKED
    return _unpack(packed) if is_file(packed) else shipped


def is_unpacked(file: Path) -> bool:
    """Whether a rule came with a wheel, which leaves its ledger in the repository: its confidence was proven when it was built."""
    return shipped_files() != shipped_rules() and file.is_relative_to(shipped_files())


def _unpack(packed: Path) -> Path:
    import atexit
    import shutil
    import tempfile

    texts = _read(packed)
    directory = Path(tempfile.mkdtemp(prefix="envdoctor-rules-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    for name, text in texts.items():
        place = directory / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return directory


def _read(packed: Path) -> Mapping[str, str]:
    try:
        texts = json.loads(lzma.decompress(packed.read_bytes()))
    except (OSError, lzma.LZMAError, EOFError, ValueError) as error:
        raise EnvdoctorError(
            plain(str(packed), 4096),
            found=f"no rules: {type(error).__name__}",
            expected="the rules that the wheel came with",
            next_step="install envdoctor again",
        ) from error
    return dict(texts)


__all__ = ["PACKED", "is_unpacked", "pack_rules", "shipped_files"]
