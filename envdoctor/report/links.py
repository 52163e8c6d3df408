"""Links of a terminal (OSC 8, https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda) to the pages of rules."""

from __future__ import annotations

from functools import lru_cache

from envdoctor.rules.rulebook import shipped_rules

_OPEN, _CLOSE = "\x1b]8;;", "\x1b\\"


def link(rule: str) -> str:
    """A rule's id as a link to its file, which is its page; the id alone where there is none."""
    address = _address(rule)
    return f"{_OPEN}{address}{_CLOSE}{rule}{_OPEN}{_CLOSE}" if address else rule


@lru_cache(maxsize=256)
def _address(rule: str) -> str:
    found = next(iter(shipped_rules().glob(f"*/{rule.partition('@')[0]}.toml")), None)
    return "" if found is None else found.resolve().as_uri()


__all__ = ["link"]
