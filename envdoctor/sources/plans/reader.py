"""What the readers of all dialects share: facts out of the settings of one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from envdoctor.facts.fact import Collected, Fact, FactValue, NotUnderstood, Origin, Skip
from envdoctor.facts.hub_names import glm_family, is_owned_name
from envdoctor.facts.local_models import find_named_model
from envdoctor.facts.published_models import model_of_folder
from envdoctor.facts.stored_names import stored_in_name
from envdoctor.files.paths import is_dir
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field, replace
from envdoctor.sources.plans.plan_file import PlanFile, Unresolved
from envdoctor.sources.plans.settings import Settings
from envdoctor.sources.stated.stated_value import stated_value

Table: TypeAlias = "Mapping[object, object]"


@dataclass(frozen=True, slots=True)
class Dialect:
    """A tool's way of writing a plan. Without ``read`` it is known by its marks and not read.

    ``recognises`` is asked with a mapping of settings and those of its keys that are text.
    """

    name: str
    recognises: Callable[[Table, frozenset[str]], bool]
    read: Callable[[Reader, Table], None] | None = None


@dataclass(slots=True)
class Reader:
    """Collects facts from one file; a later statement of a fact replaces an earlier one.

    ``given`` has the places of settings that a command gives in the place of the file's.
    """

    path: Path
    file: PlanFile
    facts: dict[str, Fact] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)
    open: dict[str, int | None] = field(default_factory=dict)
    given: Mapping[tuple[str, ...], Origin] = field(default_factory=dict)

    def origin(self, *keys: str) -> Origin:
        if keys in self.given:
            return self.given[keys]
        place = plain(str(self.path), 4096)
        return Origin(place, place, self.file.line_of(*keys) if keys else self.file.whole)

    def say(self, fact: str, raw: object, *keys: str) -> None:
        """State a fact from the setting at a path of keys; null says nothing.

        A value that is only known when the run starts (``${BATCH}``, ``!ENV``) is stated as not
        understood, so that no default takes its place.
        """
        if raw is None:
            return
        origin = self.origin(*keys)
        if is_open(raw):
            self.open.setdefault(keys[-1] if keys else fact, origin.line)
            self.facts[fact] = Fact(fact, NotUnderstood(plain(word(raw))), origin)
        elif isinstance(raw, Mapping) or (isinstance(raw, list) and any(isinstance(item, (Mapping, list)) for item in raw)):
            self.facts[fact] = Fact(fact, NotUnderstood(plain(word(raw))), origin)
        else:
            self.facts[fact] = Fact(fact, stated_value(fact, raw), origin)

    def say_names(self, fact: str, names: tuple[str, ...], *above: str) -> None:
        """State the names of settings below a path of keys as the items of a list, each at its own place."""
        self.say(fact, names, *above)
        said = self.facts.get(fact)
        if said is not None and isinstance(said.value, tuple):
            self.facts[fact] = replace(said, places=tuple(self.origin(*above, name) for name in said.value))

    def say_all(self, table: Table, pairs: Iterable[tuple[str, str]], *above: str) -> None:
        """State the fact of each (setting, fact) that the table at a path of keys has."""
        for key, fact in pairs:
            self.say(fact, table.get(key), *above, key)

    def say_settings(self, table: Table, settings: Settings, *above: str, but: str | None = None) -> None:
        """State what the settings of a dialect's table say that are a fact's value; one that is ``but`` says nothing."""
        for keys, fact in settings.read():
            raw: object = table
            for key in keys:
                raw = raw.get(key) if isinstance(raw, Mapping) else None
            if raw is not None and raw != but:
                self.say(fact, raw, *above, *keys)

    def say_model(self, table: Table, *names: str) -> None:
        """State the model that the first of the named settings gives: a hub id, or a model's folder here."""
        name = next((name for name in names if table.get(name) is not None), None)
        raw = table.get(name) if name else None
        folder = find_named_model(raw, self.path) if isinstance(raw, str) else None
        if name and folder is not None:
            self.say("model.path", str(folder), name)
            return
        if name and isinstance(raw, str) and is_owned_name(raw.strip()) and not self._is_folder(raw.strip()):
            self.say("model.id", raw.strip(), name)
        elif name and isinstance(raw, str):
            self.say_called(raw.strip(), name)

    def names_a_model(self) -> bool:
        return any(fact in self.facts for fact in ("model.id", "model.path", "model.type"))

    def say_called(self, named: str, name: str) -> None:
        """State what the name of a folder says, which has a published model's."""
        family, published = glm_family(named), model_of_folder(named)
        if family is not None:
            self.say("model.family", family, name)
            self.say("model.type", "chatglm", name)
        elif published is not None:
            for fact, value in published.facts():
                self.say(fact, value, name)
        stored = stored_in_name(named)
        if stored is not None and "model.quant_method" not in self.facts:
            self.say("model.quant_method", "bitsandbytes" if stored.endswith("bit") else stored, name)

    def _is_folder(self, named: str) -> bool:
        try:
            return any(is_dir(self.path.parent / "/".join([".."] * up) / named) for up in range(5))
        except OSError:
            return False

    def default(self, fact: str, value: FactValue, origin: Origin) -> None:
        self.facts.setdefault(fact, Fact(fact, value, origin))

    def say_keys(self, table: Table, tool: str) -> None:
        """State the names of all settings, each with its line, for a tool that refuses those that it does not have."""
        names = sorted(key for key in text_keys(table) if key.isidentifier())
        if names:
            places = tuple(self.origin(name) for name in names)
            self.facts["plan.keys"] = Fact("plan.keys", tuple(f"{tool}:{name}" for name in names), self.origin(), places)

    def skip(self, what: str, why: str) -> None:
        self.skips.append(Skip(plain(what), plain(why)))

    def collected(self) -> Collected:
        skips = list(self.skips)
        if self.open:
            named = ", ".join(f"{name} (line {line})" if line else name for name, line in list(self.open.items())[:8])
            skips.append(Skip(plain(str(self.path), 4096), plain(f"set when the run starts, so unknown here: {named}")))
        return Collected(tuple(self.facts.values()), skips=tuple(skips))


def is_open(raw: object) -> bool:
    """Whether a value is only known when the run starts: interpolated, of a template, or of a tag of another program."""
    if isinstance(raw, str):
        return isinstance(raw, Unresolved) or "${" in raw or "{{" in raw or "{%" in raw
    return isinstance(raw, list) and any(isinstance(item, str) and is_open(item) for item in raw)


def word(raw: object) -> str:
    """A setting as text. Lists of lists are not written out: aliases make them longer than memory."""
    if isinstance(raw, Mapping):
        return "a mapping"
    if isinstance(raw, list):
        return " ".join(word(item) if not isinstance(item, (list, Mapping)) else "..." for item in raw[:100])
    if isinstance(raw, int) and not isinstance(raw, bool) and raw.bit_length() > 4096:
        return "a number of too many digits"
    return str(raw)


def text_keys(table: Table) -> frozenset[str]:
    return frozenset(key for key in table if isinstance(key, str))


def is_yes(raw: object) -> bool:
    """Whether a switch is on: everything but false, an empty value and the words for no."""
    return bool(raw) and word(raw).strip().lower() not in ("false", "no", "none", "null", "off", "0", "")
