"""A file of which only parts are at hand, as one that can be read from any place."""

from __future__ import annotations

import io


class Parts(io.RawIOBase):
    """``size`` is that of the whole file; who inherits says how the bytes at ``at`` are come by."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.at = size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = max(offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence], 0)
        return self.at

    def end_of(self, size: int | None) -> int:
        """Where a read of so many bytes ends; all that is left where nobody says, or less than none."""
        return self.size if size is None or size < 0 else min(self.at + size, self.size)
