"""What an installer says when it gives up, as a value: who asks for what, and of what nothing fits."""

from __future__ import annotations

from envdoctor.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Asked:
    """What one side asks of a package. ``by`` is a package and ``release`` its version or range; empty for the user's own line."""

    name: str
    specifier: str
    by: str = ""
    release: str = ""

    def words(self) -> str:
        """``peft 0.14.0 requires transformers>=4.45``, ``transformers==4.40.0 is asked for``."""
        if not self.by:
            return f"{self.name}{self.specifier} is asked for"
        who = f"{self.by} {self.release.removeprefix('==')}".strip()
        return f"{who} requires {self.name}{self.specifier}"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """A package of which nothing fits. ``why`` is ``no release``, ``no package``, ``no wheel``, ``no file``, ``withdrawn``,
    ``tried`` or ``python``.

    ``offered`` are the releases that the installer saw, ``python`` what it ran on, ``refused`` what the release asks of Python, ``by`` who
    requires it.
    """

    name: str
    specifier: str
    why: str
    offered: tuple[str, ...] = ()
    python: str = ""
    refused: str = ""
    tag: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The text of an installer, read: by which tool (empty where only what releases require was pasted), from which line on. ``left`` are
    requirements that pip broke and told of, ``index`` is which of PyTorch's own indexes it was sent to."""

    tool: str
    line: int
    asked: tuple[Asked, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    left: tuple[tuple[Asked, str], ...] = field(default=())
    index: str = ""
