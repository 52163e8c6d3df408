"""What a build has read already: outlines by the checksum of their file, and the files of every release. It may be deleted at any time."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from pathlib import Path

from envdoctor.atlas.outline import FORMAT, Outline, pack, unpack
from envdoctor.survey.archives import Member


class Kept:
    """A database of the user's cache directory."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, timeout=60)
        self._db.execute("pragma journal_mode=wal")
        self._db.execute("pragma synchronous=off")
        self._db.execute("create table if not exists outlines (key text primary key, data blob)")
        self._db.execute(
            "create table if not exists releases"
            " (package text, version text, day text, file text, data blob, primary key (package, version))"
        )

    def outline(self, member: Member) -> Outline | None:
        """The outline of a file with this content; None where it was not read, or cannot be."""
        row = self._db.execute("select data from outlines where key = ?", (_key(member),)).fetchone()
        return None if row is None or row[0] is None else unpack(json.loads(zlib.decompress(row[0])))

    def unread(self, members: Sequence[Member]) -> list[Member]:
        """Those whose content was not read yet."""
        return [one for one in members if self._db.execute("select 1 from outlines where key = ?", (_key(one),)).fetchone() is None]

    def keep(self, member: Member, outline: Outline | None) -> None:
        """Keep an outline; None: the file is none that this interpreter reads."""
        data = None if outline is None else zlib.compress(json.dumps(pack(outline), separators=(",", ":")).encode(), 3)
        self._db.execute("insert or replace into outlines values (?, ?)", (_key(member), data))

    def keep_release(self, package: str, version: str, day: str, file: str, members: Sequence[Member]) -> None:
        """Keep what files a release has; from here on it counts as read."""
        data = zlib.compress(json.dumps([[one.path, one.crc, one.size] for one in members]).encode(), 6)
        self._db.execute("insert or replace into releases values (?, ?, ?, ?, ?)", (package, version, day, file, data))
        self._db.commit()

    def releases(self, package: str) -> dict[str, str]:
        """The releases of a package that were read, with their days."""
        return dict(self._db.execute("select version, day from releases where package = ?", (package,)).fetchall())

    def members(self, package: str, version: str) -> list[Member]:
        """The files of a release."""
        row = self._db.execute("select data from releases where package = ? and version = ?", (package, version)).fetchone()
        return [] if row is None else [Member(*one) for one in json.loads(zlib.decompress(row[0]))]

    def close(self) -> None:
        """Write what is left."""
        self._db.commit()
        self._db.close()


def _key(member: Member) -> str:
    return f"{FORMAT}:{member.crc:08x}:{member.size}:{member.path}"
