"""What a check found: the outcome of one rule that code decides."""

from __future__ import annotations

from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class Hit:
    """One rule that holds (``outcome`` True), that cannot be told for want of the ``missing`` facts (None), or is told elsewhere (False).

    ``because`` pairs a fact's name with the condition it satisfies, in words. ``pins`` are alternatives,
    nearest first: a package and the specifier under which the rule no longer holds. ``plan`` are plan
    facts to set together instead. ``file`` and ``line`` are the place to show, where it is not that of a fact.
    A hit that ``yields`` is not told beside a rule that matches the same packages (and, where it has ``names``, is about these), and none
    beside a finding of a rule in ``unless``: those say the same, and more of it; of the rules in ``over`` it says more itself. ``edge``
    tells the hits of one family apart. Of these
    ``headline`` says what is wrong, in place of the family's title, ``witness`` is the line of Python that shows it, and ``advice``
    says what to do, in place of the family's words for it; ``by_hand`` is said after the pins. ``newest``: it holds of what an installer
    would take, and waits for that.
    ``entry`` is the import of a script (``module:name``) that alone leads to it.
    ``edges`` are all that it stands for, where it tells the first of several.
    ``parts`` say the same of each of the ``names`` by itself, to be told where rules are about the others.
    """

    rule: str
    outcome: bool | None
    because: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    detail: str = ""
    packages: tuple[str, ...] = ()
    pins: tuple[tuple[str, str], ...] = ()
    plan: tuple[tuple[str, object], ...] = ()
    file: str | None = None
    line: int | None = None
    yields: bool = False
    unless: tuple[str, ...] = ()
    edge: str = ""
    headline: str = ""
    witness: str = ""
    names: tuple[str, ...] = ()
    advice: str = ""
    by_hand: str = ""
    entry: str = ""
    newest: bool = False
    edges: tuple[str, ...] = ()
    parts: tuple[Hit, ...] = ()
    over: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """All that the hit says of itself in words: what is wrong, what is behind it, and what to do."""
        return "; ".join(filter(None, (self.headline, self.detail, self.advice)))
