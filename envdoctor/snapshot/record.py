"""What is known of one file of a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from envdoctor.files.json_file import CONFIG_LIMIT
from envdoctor.records import dataclass

if TYPE_CHECKING:
    from envdoctor.snapshot.tensors import Shard

SMALL = CONFIG_LIMIT
"""Files up to this size, in bytes, also have a git blob id, which the hub shows."""


@dataclass(frozen=True, slots=True)
class Record:
    """One file. Digests are lower-case hex; None is what nobody has computed.

    ``fields`` is the outline of a JSON object, ``definitions`` that of Python code, ``shard`` that of a safetensors file.
    """

    size: int
    sha256: str | None = None
    git_blob: str | None = None
    shard: Shard | None = None
    fields: Mapping[str, str] | None = None
    definitions: Mapping[str, str] | None = None

    def same(self, other: Record) -> bool | None:
        """Whether two records are of the same bytes; None where neither has a digest that the other has."""
        if self.size != other.size:
            return False
        if self.sha256 is not None and other.sha256 is not None:
            return self.sha256 == other.sha256
        if self.git_blob is not None and other.git_blob is not None:
            return self.git_blob == other.git_blob
        if self.shard is not None and other.shard is not None and self.shard.header != other.shard.header:
            return False
        return None
