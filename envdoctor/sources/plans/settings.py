"""The settings by which a dialect says facts: one table for who reads its plans, who reads scripts, and who writes plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

Keys: TypeAlias = "tuple[str, ...]"


class Settings:
    """Rows of a fact, without ``plan.``, and its settings: names, or paths of keys with dots, the one that counts first.

    A bare name is read as it stands, and written. ``name?`` is written only where it stands already. ``<name`` is read and never
    written; ``>name`` is written, and what it says of the fact its reader works out by itself.
    """

    def __init__(self, rows: Mapping[str, str], *more: Settings) -> None:
        self.rows: dict[str, str] = {fact: names for one in more for fact, names in one.rows.items()} | dict(rows)

    def read(self) -> Iterator[tuple[Keys, str]]:
        """Each setting whose value is that of a fact, with the fact; of several of one fact the one that counts is the last."""
        for fact, names in self.rows.items():
            plain = dict.fromkeys(name.lstrip("<").rstrip("?") for name in names.split() if not name.startswith(">"))
            for name in reversed(plain):
                yield tuple(name.split(".")), f"plan.{fact}"

    def written(self, fact: str) -> list[tuple[Keys, bool]]:
        """Where a fact is written, and whether only where that stands already; ``fact`` is without ``plan.``."""
        names = [name.lstrip(">") for name in self.rows.get(fact, "").split() if not name.startswith("<")]
        return [(tuple(name.rstrip("?").split(".")), name.endswith("?")) for name in names]

    def name(self, fact: str) -> str:
        """The last key of the first setting of a fact."""
        return self.written(fact)[0][0][-1]

    def below(self, group: str) -> Settings:
        """What is written, in a group."""
        told = {fact: [name.lstrip(">") for name in names.split() if not name.startswith("<")] for fact, names in self.rows.items()}
        return Settings({fact: " ".join(f">{group}.{name}" for name in names) for fact, names in told.items()})

    def in_place(self) -> Settings:
        """The same settings, written only where they stand."""
        return Settings({fact: " ".join(f"{name.rstrip('?')}?" for name in names.split()) for fact, names in self.rows.items()})
