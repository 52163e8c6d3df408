"""Whether a list of packages is all that there is, and of whose requirements it tells that they are missing."""

from __future__ import annotations

from envdoctor.facts.fact import Facts

_PACKAGE = "packages."
_FEW = 2
_ONE_IN = 8
# Below eight packages the few are fewer.
_AMONG = 4


# A long list of which one package alone lacks this many was whole before somebody moved that one without what it requires.
_OF_ONE, _LONG = 4, 12


def lacks_few(absent: int, stated: int, *, asking: int = 0, read: bool = False) -> bool:
    """Whether a list of so many packages lacks so few of those that they require that it may be whole.

    People paste the lines that they think matter, and two packages are no environment: of such a list, what it lacks says nothing.
    An environment that was ``read`` holds what it holds. ``asking`` is how many packages miss what is absent, where that is known.
    """
    if asking == 1 and stated >= _LONG and absent <= _OF_ONE:
        return True
    few = max(_FEW, stated // _ONE_IN)
    return stated > 1 and absent <= (few if read else min(few, stated // _AMONG))


def scanned_names(facts: Facts) -> frozenset[str]:
    """The packages that an environment was read to hold; empty where none was read.

    A release that somebody states beside an environment, to ask what would be, brings what it requires when it is installed.
    """
    return frozenset(
        name.removeprefix(_PACKAGE)
        for name, fact in facts.by_name.items()
        if name.startswith(_PACKAGE) and fact.origin.source.startswith("installed")
    )


def brought_otherwise(facts: Facts) -> frozenset[str]:
    """The packages that a file has conda bring, or a wheel that it names: what the index says of its own builds is not said of these.

    Of an environment that was read, or a complete list, everything is there, however it came.
    """
    present = facts.value("present")
    return frozenset(present) if isinstance(present, tuple) and not facts.closed and not scanned_names(facts) else frozenset()
