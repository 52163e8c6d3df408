"""A release that is pinned and not installed: what the bundled table knows of it stands for its source."""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.code.history import History
from envdoctor.code.library import RENAMED, LibraryClass
from envdoctor.code.shape import ClassShape, Method

_MODEL = ("PreTrainedModel", "GenerationMixin")
_TOKENIZER = ("PreTrainedTokenizer", "PreTrainedTokenizerFast", "PreTrainedTokenizerBase")
# Attributes that __getattr__ or __setattr__ of tokenizers make, in one release or another.
_SPECIAL = ("_token", "_tokens", "_id", "_ids", "_extended", "_map")


class PinnedLibrary:
    """One release of transformers out of the table.

    It has names and members, and no signatures: what the library passes, and what it accepts, is not told.
    """

    def __init__(self, release: str, history: History) -> None:
        self.releases: Mapping[str, str] = {"transformers": release}
        self._release = release
        self._history = history
        self._classes: dict[str, LibraryClass] = {}

    def known(self) -> bool:
        """Whether the table has this release."""
        return self._history.place(self._release) is not None

    def has_module(self, module: str) -> bool | None:
        surface = f"module {module}"
        if surface not in self._history.texts or not self.known():
            return None
        return bool(self._history.members(surface, self._release))

    def provides(self, module: str, name: str) -> bool | None:
        # The table keeps neither modules inside a package nor what a file imports for itself: a name of no release may be one of those.
        surface = f"module {module}"
        if name.endswith(RENAMED) or not self._history.ever(surface, name):
            return None
        return self._history.had(surface, name, self._release)

    def find_class(self, module: str, name: str) -> LibraryClass | None:
        if not module.startswith("transformers") or not self.known():
            return None
        if name in _MODEL:
            return self._made("model", "PreTrainedModel", ("torch.nn.Module",))
        return self._made("tokenizer", "PreTrainedTokenizerBase", ()) if name in _TOKENIZER else None

    def _made(self, surface: str, name: str, bases: tuple[str, ...]) -> LibraryClass:
        if surface not in self._classes:
            members = self._history.members(surface, self._release)
            unsure = frozenset(item for item in self._history.texts[surface] if item.endswith(_SPECIAL))
            shape = ClassShape(name, 1, bases, attributes=dict.fromkeys(members, ""), dynamic=surface == "tokenizer", strings=unsure)
            self._classes[surface] = LibraryClass("transformers", shape)
        return self._classes[surface]

    def find_function(self, module: str, name: str) -> Method | None:
        return None

    def full_name(self, module: str, name: str) -> str:
        return name

    def classes_of(self, module: str) -> Mapping[str, ClassShape]:
        if module != "transformers.cache_utils" or not self.known():
            return {}
        names = {name for name in self._history.members(f"module {module}", self._release) if name.endswith("Cache")}
        members = dict.fromkeys(self._history.members("cache", self._release), "")
        return {name: ClassShape(name, 1, attributes=members) for name in names}
