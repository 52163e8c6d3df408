"""What every comparison of a snapshot's code with a library starts from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envdoctor.checks.hit import Hit
from envdoctor.code.chain import Chain, add_generation, chain_of
from envdoctor.code.history import History
from envdoctor.code.library import Library
from envdoctor.code.remote import RemoteCode, RemoteModule
from envdoctor.facts.fact import Facts
from envdoctor.records import dataclass, field

_GENERATES = frozenset(("prepare_inputs_for_generation", "_update_model_kwargs_for_generation", "generate"))
_KINDS = (("model", ("PreTrainedModel",)), ("config", ("PretrainedConfig", "PreTrainedConfig")), ("processor", ("ProcessorMixin",)))


@dataclass(frozen=True, slots=True)
class Target:
    """One class that will be made: its chain, what kind of thing it is, and whether ``auto_map`` names it."""

    name: str
    module: RemoteModule
    chain: Chain
    kind: str
    entry: bool


@dataclass(slots=True)
class Context:
    """Code, library, and the classes to look at: those that the entries need, and no other class derives from.

    ``settings`` is config.json. ``needed`` are the definitions, by module file, that the entries come to.
    """

    code: RemoteCode
    library: Library
    history: History
    settings: Mapping[str, object]
    facts: Facts = field(default_factory=Facts)
    targets: list[Target] = field(default_factory=list)
    needed: dict[str, set[str]] = field(default_factory=dict)

    @property
    def release(self) -> str:
        return self.library.releases.get("transformers", "")

    def hit(self, rule: str, module: RemoteModule, line: int, symbol: str, words: str, *, surface: str = "", needs: str = "") -> Hit:
        """A finding; its text begins with the symbol, so that the same fault is known by it elsewhere.

        ``surface`` is where the history knows the symbol's last part. ``needs`` names the plan fact that decides whether
        the code runs: where it is unknown the outcome is None, where it is false the outcome is False.
        """
        name = symbol.rpartition(".")[2]
        told = self.history.words(surface, name) if surface else ""
        pins = self.history.pins(surface, name, self.release) if surface else ()
        asked = self.facts.value(needs) if needs else True
        return Hit(
            rule,
            asked if isinstance(asked, bool) else None,
            because=(("packages.transformers", self.release), *(((needs, "true"),) if needs and asked is True else ())),
            missing=(needs,) if asked is None else (),
            detail=f"{symbol}: {words}" + (f"; {told}" if told else ""),
            packages=("transformers",),
            pins=pins,
            file=self.code.directory.place(module.file),
            line=line,
        )


def runs_in(method: str, kind: str = "model") -> str:
    """The plan fact on which a method depends: generation, or tokenizing; empty for what every run comes to."""
    if kind == "tokenizer":
        return "plan.generate" if "chat" in method or "prompt" in method else "plan.tokenize"
    generates = method in _GENERATES or any(word in method for word in ("generat", "chat", "stream", "beam", "sample", "reorder_cache"))
    return "plan.generate" if generates else "plan.gradient_checkpointing" if "gradient_checkpointing" in method else ""


def context_of(
    code: RemoteCode,
    entries: Iterable[str],
    library: Library,
    history: History,
    settings: Mapping[str, object],
    facts: Facts,
) -> Context:
    """The classes behind the entries, each with its chain."""
    context = Context(code, library, history, settings, facts)
    named = [(entry.rpartition(".")[0], entry.rpartition(".")[2]) for entry in entries if "--" not in entry]
    context.needed = _needed(code, named)
    chains: dict[tuple[str, str], Chain] = {}
    for module in code.modules.values():
        for name in module.shape.classes:
            if name in context.needed.get(module.file, ()):
                chain = chain_of(code, library, module, name)
                if chain is not None:
                    chains[module.file, name] = chain
    derived = {
        (link.remote.file, link.shape.name) for chain in chains.values() for link in list(chain.own())[1:] if link.remote is not None
    }
    starts = {(f"{module}.py", name) for module, name in named}
    by_file = {module.file: module for module in code.modules.values()}
    for (file, name), chain in chains.items():
        entry = (file, name) in starts
        if entry or (file, name) not in derived:
            if entry:
                add_generation(chain, library)
            context.targets.append(Target(name, by_file[file], chain, _kind(chain), entry))
    return context


def _kind(chain: Chain) -> str:
    for kind, names in _KINDS:
        if chain.derives_from(*names):
            return kind
    if chain.derives_from("PreTrainedTokenizerBase"):
        return "tokenizer"
    return ""


def _needed(code: RemoteCode, named: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """Definitions that the named ones refer to, directly or not, by the file that holds them."""
    found: dict[str, set[str]] = {}
    waiting = [(code.modules[module], name) for module, name in named if module in code.modules]
    while waiting:
        module, name = waiting.pop()
        seen = found.setdefault(module.file, set())
        if name in seen:
            continue
        seen.add(name)
        waiting += ((module, other) for other in module.refers.get(name, ()) if other in module.refers)
        for other in (name, *module.refers.get(name, ())):
            target = module.shape.names.get(other, "")
            if target.startswith("."):
                source, _, original = target[1:].partition(":")
                if source in code.modules:
                    waiting.append((code.modules[source], original))
                    waiting += ((code.modules[source], star) for star in code.modules[source].refers if original == "*")
        for star in module.shape.stars:
            if star[1:] in code.modules:
                waiting += (
                    (code.modules[star[1:]], other)
                    for other in (name, *module.refers.get(name, ()))
                    if other in code.modules[star[1:]].refers
                )
    return found


def unique(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Each finding that may hold, once: the same rule and text in the same file stands at the first line."""
    seen: set[tuple[str, str, str | None]] = set()
    for hit in sorted(hits, key=lambda item: (item.file or "", item.line or 0, item.rule)):
        key = (hit.rule, hit.detail, hit.file)
        if key not in seen and hit.outcome is not False:
            seen.add(key)
            yield hit
