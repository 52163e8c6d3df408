"""One package of the atlas: what each of its releases contains, module by module.

The text of a volume has a head and a chunk a module. Lines of a chunk end with the releases they hold for, after a tab, where these are
not all releases of the module (of a member: of its class)::

    package peft
    top peft
    release 0.3.0 2023-05-10
    module peft.tuners.lora 0.3.0-
    n Optional torch                   names that are bound, all that have no line of their own
    f mark_only_lora_as_trainable model,bias=
    i LoraModel peft.tuners.lora.model:LoraModel       a link to another name of the package
    l LoraConfig peft.tuners.lora.config:LoraConfig    one that is given on request
    * peft.utils                       all that another module exports
    o                                  other names may exist as well
    x bool                             a name that a module's __getattr__ refuses by name
    > peft.utils peft                  a module that is imported with it, under a condition
    c LoraLayer                        a class, its lines indented:
     b torch.nn:Module                 bases
     k dataclass                       decorators
     a r lora_alpha                    attributes
     m forward x,*,**                  methods
     d                                 attributes are made that the source does not name
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from envdoctor.atlas.masks import read
from envdoctor.errors import EnvdoctorError
from envdoctor.records import dataclass, field

_DEEPEST = 12
# Names that a _LazyModule of transformers 5 turns into others when it has none of that name: one that ends so into the one without
# ``Fast``, and a tokenizer that has a converter (convert_slow_tokenizer.SLOW_TO_FAST_CONVERTERS of 5.0.0 to 5.24.0) into one with the same.
_FAST = ("TokenizerFast", "ImageProcessorFast")
_CONVERTED = frozenset(
    f"{name}Tokenizer"
    for name in (
        "Albert", "Bart", "Barthez", "Bert", "BigBird", "Blenderbot", "CLIP", "Camembert", "CodeGen", "CodeLlama", "ConvBert",
        "DPRContextEncoder", "DPRQuestionEncoder", "DPRReader", "Deberta", "DebertaV2", "DistilBert", "Electra", "FNet", "Funnel", "GPT2",
        "Gemma", "Herbert", "LED", "LayoutLM", "LayoutLMv2", "LayoutLMv3", "LayoutXLM", "Llama", "Longformer", "Lxmert", "MBart", "MBart50",
        "MPNet", "MarkupLM", "MobileBert", "Mvp", "Nllb", "OpenAIGPT", "Pegasus", "Phi3", "Qwen2", "Reformer", "RemBert", "RoFormer",
        "Roberta", "SeamlessM4T", "Splinter", "SqueezeBert", "T5", "Udop", "VideoPrism", "Whisper", "XGLM", "XLMRoberta", "XLNet",
    )
)  # fmt: skip


# Modules that take over all names of others when they are imported, in a loop that no reader of source can follow.
_TAKES_OVER = {"torch": ("torch._C._VariableFunctions", "torch._C")}


# A module that imports these types for itself hardly lists them in __all__, which a star goes by.
_BUILTIN = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type))
# Where the names are listed that a module refuses, if that is not in the module itself.
_EXPIRED_IN = {"numpy": "numpy._expired_attrs_2_0"}


# What a module binds that gives more names on request than its text tells: websockets hands its own table to the first, modelscope fills
# the second from another library. Releases that were read before this was known have no other sign of it. networkx, which takes all names
# of its modules with stars, uses the first for something else. By a class that is called after the last matplotlib puts a backend's names
# into its module (``_BackendTk.export``).
_GIVES_MORE = ("lazy_import", "extra_objects")
_BACKEND = "_Backend"


# Names of Python's that numpy had for a while, and refuses by a table that is made in a loop.
_FORMER = {"numpy": ("__former_attrs__", ("object", "bool", "float", "complex", "str", "int"))}


# What a module gets from another one of its package as it is loaded, by the names in a list: torchaudio.load, of the backend at hand.
_SET_BY = {"torchaudio": ("torchaudio.backend.utils", ("load", "save", "info"))}
# What a module never gives that gets other names in ways that no source shows: matplotlib.cm takes over its colormaps, and none is called
# so; compiled modules of scipy.linalg hand on all of theirs, and these two, gone since 1.13, were never among them.
_NOT_FILLED = {"matplotlib.cm": ("get_cmap", "register_cmap", "unregister_cmap"), "scipy.linalg": ("tril", "triu")}


# Modules that give their names on request by a stub beside them (``lazy_loader.attach_stub``), and which modules the stub names; read in
# the wheel of librosa 0.10.2. What a stub leaves out nobody takes from there.
_STUBBED = {
    "librosa": ("librosa.core", "librosa.util.files", "librosa.util.exceptions"),
    "librosa.core": tuple(
        f"librosa.core.{one}" for one in ("convert", "audio", "spectrum", "pitch", "constantq", "harmonic", "fft", "notation", "intervals")
    ),
    "librosa.feature": ("librosa.feature.utils", "librosa.feature.spectral", "librosa.feature.rhythm"),
    "librosa.util": ("librosa.util.utils", "librosa.util.files", "librosa.util.matching", "librosa.util.deprecation", "librosa.util._nnls"),
}


class DamagedAtlasError(EnvdoctorError):
    """A volume that is not as envdoctor wrote it."""


@dataclass(slots=True)
class Sheet:
    """A class over the releases: every value is a set of releases."""

    mask: int
    bases: dict[tuple[str, ...], int] = field(default_factory=dict)
    decorators: dict[tuple[str, ...], int] = field(default_factory=dict)
    attributes: dict[str, int] = field(default_factory=dict)
    methods: dict[str, dict[str, int]] = field(default_factory=dict)
    dynamic: int = 0


@dataclass(slots=True)
class Chunk:
    """A module over the releases."""

    mask: int
    names: dict[str, int] = field(default_factory=dict)
    functions: dict[str, dict[str, int]] = field(default_factory=dict)
    links: dict[str, dict[str, int]] = field(default_factory=dict)
    lazy: dict[str, dict[str, int]] = field(default_factory=dict)
    stars: dict[str, int] = field(default_factory=dict)
    open: int = 0
    expired: dict[str, int] = field(default_factory=dict)
    imports: list[tuple[str, str, int]] = field(default_factory=list)
    classes: dict[str, Sheet] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Presence:
    """In which releases something is there, and in which it is not."""

    there: int
    gone: int


class Volume:
    """A package's releases; ``chunk`` gives the text of a module, None where no release has it.

    ``standing`` is the place of what is installed, where that is no release that was read.
    """

    standing: int | None = None

    def __init__(self, head: str, chunk: Callable[[str], str | None]) -> None:
        self.name, self.tops, releases, self.days = _head(head)
        self.releases: Sequence[str] = tuple(releases)
        self.places: Mapping[str, int] = {release: place for place, release in enumerate(releases)}
        self.all = (1 << len(releases)) - 1
        self._text = chunk
        self._chunks: dict[str, Chunk | None] = {}

    def chunk(self, module: str) -> Chunk | None:
        """A module; None where no release has it."""
        if module not in self._chunks:
            try:
                self._chunks[module] = self._parsed(module)
            except (KeyError, ValueError, IndexError) as error:
                raise DamagedAtlasError(
                    f"atlas, {self.name}, module {module}",
                    found=f"a line that cannot be read ({error})",
                    expected="what envdoctor wrote",
                    next_step="install envdoctor again",
                ) from None
            other = self.chunk(_EXPIRED_IN[module]) if module in _EXPIRED_IN else None
            found = self._chunks[module]
            if found is not None and other is not None:
                found.expired.update({name: mask | found.expired.get(name, 0) for name, mask in other.expired.items()})
            if found is not None and module in _FORMER:
                table, names = _FORMER[module]
                found.expired.update(dict.fromkeys(names, found.names.get(table, 0)))
            if found is not None and module in _NOT_FILLED:
                found.expired.update(dict.fromkeys(_NOT_FILLED[module], found.mask))
            if found is not None:
                starred = sum_of(found.stars)
                backends = (name for name in (*found.names, *found.links) if name.startswith(_BACKEND)) if self.name == "matplotlib" else ()
                for name in (*_GIVES_MORE, *backends):
                    found.open |= (found.names.get(name, 0) | sum_of(found.links.get(name, {}))) & ~starred
            if module in _TAKES_OVER:
                self._take_over(module)
        return self._chunks[module]

    def _parsed(self, module: str) -> Chunk | None:
        text = self._text(module)
        return None if text is None else parse_chunk(text, self.places)

    def _take_over(self, module: str) -> None:
        chunk = self._chunks[module]
        others = [(name, self.chunk(name)) for name in _TAKES_OVER[module]]
        if chunk is None:
            return
        known = self.all
        for name, other in others:
            mask = 0 if other is None else other.mask & ~other.open
            chunk.stars[name] = mask
            known &= mask
        chunk.open &= ~known

    def has_module(self, module: str) -> int:
        """The releases in which a module can be imported."""
        chunk = self.chunk(module)
        return (0 if chunk is None else chunk.mask) | sum_of(self._aliases(module))

    def _aliases(self, module: str) -> dict[str, int]:
        """The modules for which an old name stands, which their package registers."""
        parent, _, last = module.rpartition(".")
        outer = self.chunk(parent) if parent else None
        found = {} if outer is None else outer.links.get(last, {})
        return {target[1:]: mask for target, mask in found.items() if target.startswith("=")}

    def provides(self, module: str, name: str, depth: int = _DEEPEST) -> Presence:
        """``from module import name``."""
        chunk = self.chunk(module)
        own = 0 if chunk is None else chunk.mask
        yes = maybe = 0
        if chunk is not None:
            yes = chunk.names.get(name, 0) | sum_of(chunk.functions.get(name, {})) | sum_of(chunk.links.get(name, {}))
            if name in chunk.classes:
                yes |= chunk.classes[name].mask
            yes |= self.has_module(f"{module}.{name}") & own
            maybe = chunk.open
            for other in _STUBBED.get(module, ()) if depth else ():
                yes |= self.provides(other, name, depth - 1).there & maybe
            defined: dict[str, int] = {}
            borrowed: dict[str, int] = {}
            for star, mask in chunk.stars.items():
                if star.partition(".")[0] not in self.tops or depth == 0:
                    maybe |= mask
                    continue
                if self.chunk(star) is None:
                    maybe |= mask  # a module that no wheel shows, such as one that is compiled for other platforms
                    continue
                inner = self.provides(star, name, depth - 1)
                if name in _BUILTIN and module not in _TAKES_OVER:
                    maybe |= inner.there & mask
                    continue
                kept = self._kept(star, name)
                defined[star] = inner.there & mask & ~kept
                borrowed[star] = inner.there & mask & kept
                maybe |= mask & ~inner.there & ~inner.gone
            yes |= sum_of(defined) | self._exported(name, defined, borrowed)
            maybe &= ~chunk.expired.get(name, 0)
            if module in _SET_BY and name in _SET_BY[module][1]:
                maybe |= self.has_module(_SET_BY[module][0])
            if self.name == "transformers" and name.endswith(("Tokenizer", *_FAST)):
                plain = name.removesuffix("Fast")
                maybe |= own if plain in _CONVERTED else self.provides(module, plain, depth - 1).there if plain != name and depth else 0
        there = own
        if depth:
            for target, mask in self._aliases(module).items():
                inner = self.provides(target, name, depth - 1)
                yes |= inner.there & mask
                maybe |= mask & ~inner.there & ~inner.gone
                there |= mask
        absent = self.all & ~there
        return Presence(yes & there, (self.all & ~yes & ~maybe) | absent)

    def _exported(self, name: str, defined: Mapping[str, int], borrowed: Mapping[str, int]) -> int:
        """The releases in which modules that list what they export hand on a name that may be theirs, or one that they import.

        What one module defines no other one exports that has it beside that one, because it imports the like: scipy.linalg.triu. What it
        has alone is its own (altair.vegalite.v6.api, after v5), and so is what the other one takes from it.
        """
        found = 0
        for star, mask in borrowed.items():
            others = 0
            for other, there in defined.items():
                chunk = self.chunk(other)
                others |= there & ~(0 if chunk is None else chunk.links.get(name, {}).get(f"{star}:{name}", 0))
            found |= 0 if mask & others else mask
        return found

    def _kept(self, module: str, name: str) -> int:
        """The releases in which a module that lists what it exports has a name of another package, which it hardly lists."""
        chunk = self.chunk(module)
        return 0 if chunk is None else chunk.names.get(name, 0) & chunk.names.get("__all__", 0)

    def follow(self, module: str, name: str, place: int, depth: int = _DEEPEST) -> tuple[str, str] | None:
        """The module of a release that defines what a name stands for, and its name there."""
        chunk = self.chunk(module)
        bit = 1 << place
        if chunk is None or depth == 0:
            return None
        if (name in chunk.classes and chunk.classes[name].mask & bit) or sum_of(chunk.functions.get(name, {})) & bit:
            return module, name
        for target, mask in chunk.links.get(name, {}).items():
            if mask & bit and not target.startswith("="):
                source, _, original = target.partition(":")
                return self.follow(source, original, place, depth - 1) if original else None
        for star, mask in chunk.stars.items():
            if mask & bit and star.partition(".")[0] in self.tops:
                found = self.follow(star, name, place, depth - 1)
                if found is not None:
                    return found
        by_stub = (self.follow(other, name, place, depth - 1) for other in _STUBBED.get(module, ()) if chunk.open & bit)
        return next((found for found in by_stub if found is not None), None)


def sum_of(table: Mapping[Any, int]) -> int:
    """The releases of all entries together."""
    mask = 0
    for one in table.values():
        mask |= one
    return mask


def _head(text: str) -> tuple[str, tuple[str, ...], list[str], list[str]]:
    name = ""
    tops: tuple[str, ...] = ()
    releases: list[str] = []
    days: list[str] = []
    for line in text.splitlines():
        kind, *words = line.split(" ")
        if kind == "package":
            name = words[0]
        elif kind == "top":
            tops = tuple(words)
        elif kind == "release":
            releases.append(words[0])
            days.append(words[1] if len(words) > 1 else "")
    return name, tops, releases, days


def parse_chunk(text: str, places: Mapping[str, int], adjust: Callable[[int], int] = int) -> Chunk:
    """A module's lines; ``adjust`` makes the releases that they hold for out of those that they name.

    Raises:
        KeyError, ValueError, IndexError: the text is no chunk.
    """
    lines = text.split("\n")
    _, _, spans = lines[0].split(" ", 2)
    chunk = Chunk(adjust(read(spans, places)))
    mask_of: dict[str, int] = {}
    sheet = Sheet(0)
    for line in lines[1:]:
        if not line:
            continue
        body, tab, spans = line.partition("\t")
        inner = body[0] == " "
        if tab:
            mask = mask_of.get(spans, -1)
            if mask < 0:
                mask = mask_of[spans] = adjust(read(spans, places))
        else:
            mask = sheet.mask if inner else chunk.mask
        kind, _, rest = body[1:].partition(" ") if inner else body.partition(" ")
        if inner:
            _member(sheet, kind, rest, mask)
        elif kind == "n":
            for name in rest.split(" "):
                chunk.names[name] = chunk.names.get(name, 0) | mask
        elif kind == "f":
            name, _, signature = rest.partition(" ")
            chunk.functions.setdefault(name, {})[signature] = mask
        elif kind in ("i", "l"):
            name, _, target = rest.partition(" ")
            table = chunk.links.setdefault(name, {})
            table[target] = table.get(target, 0) | mask
            if kind == "l":
                chunk.lazy.setdefault(name, {})[target] = mask
        elif kind == "c":
            sheet = chunk.classes[rest] = Sheet(mask)
        elif kind == ">":
            target, _, guard = rest.partition(" ")
            chunk.imports.append((target, guard, mask))
        elif kind == "*":
            chunk.stars[rest] = mask
        elif kind == "o":
            chunk.open = mask
        elif kind == "x":
            for name in rest.split(" "):
                chunk.expired[name] = mask
        else:
            raise ValueError(line[:60])
    return chunk


def _member(sheet: Sheet, kind: str, rest: str, mask: int) -> None:
    if kind == "a":
        for name in rest.split(" "):
            sheet.attributes[name] = sheet.attributes.get(name, 0) | mask
    elif kind == "m":
        name, _, signature = rest.partition(" ")
        sheet.methods.setdefault(name, {})[signature] = mask
    elif kind == "b":
        sheet.bases[tuple(rest.split(" ")) if rest else ()] = mask
    elif kind == "k":
        sheet.decorators[tuple(rest.split(" "))] = mask
    elif kind == "d":
        sheet.dynamic = mask
    else:
        raise ValueError(rest[:60])
