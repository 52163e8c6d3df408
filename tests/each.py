"""Many small cases in one test: where thousands of them cost more to keep books of than to check.

Used like ``pytest.mark.parametrize``, for cases that need no fixture. Every case is checked, and every one that fails is told with its
arguments, so that a failure says as much as if each case were a test of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

MOST_SHOWN = 20


def each(names: str | tuple[str, ...], cases: Iterable[Any], ids: Callable[[Any], object] = repr) -> Callable[..., Callable[[], None]]:
    """Make one test of a check and all its cases; ``ids`` gives an argument the name under which it is told."""
    listed = list(cases)

    def told(values: tuple[Any, ...]) -> str:
        words = (names,) if isinstance(names, str) else names
        return ", ".join(f"{word}={str(ids(value))[:100]}" for word, value in zip(words, values, strict=True))

    def over(check: Callable[..., None]) -> Callable[[], None]:
        def test() -> None:
            assert listed, "no case to check"
            failures = []
            for case in listed:
                values = (case,) if isinstance(names, str) else tuple(case)
                ended = False
                try:
                    check(*values)
                    ended = True
                except AssertionError as error:
                    failures.append(f"{told(values)}\n{error}")
                    ended = True
                finally:
                    if not ended:  # any other error goes its way; what was checked is told with it
                        print(f"checking {told(values)}")
            if failures:
                pytest.fail(f"{len(failures)} of {len(listed)} cases fail\n\n" + "\n\n".join(failures[:MOST_SHOWN]), pytrace=False)

        test.__name__, test.__qualname__, test.__doc__, test.__module__ = (
            check.__name__,
            check.__qualname__,
            check.__doc__,
            check.__module__,
        )
        return test

    return over
