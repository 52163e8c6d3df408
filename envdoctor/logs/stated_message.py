"""The form of a message that states values: a pattern with named groups, and sentences that use them."""

from __future__ import annotations

from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class StatedMessage:
    """``says`` is the pattern; ``means``, ``behind`` and ``advice`` may use its groups by name.

    A group ``path`` is looked through for clues of the kind ``clues``. ``given``: data, files or settings of the run are at fault and
    the environment is innocent. Not ``sure``: the same message has several causes, and the answer says what is certain of it.
    The message is not told beside a rule in ``unless``, which says the same and more, and rules in ``over`` are not told beside it.
    ``package`` is whose words they are, where no frame says who asked.
    """

    says: str
    means: str
    behind: str
    advice: str
    given: bool = False
    sure: bool = True
    clues: str = ""
    unless: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    package: str = ""
