"""What a name of a package can be called with, and which members a class has, over its releases."""

from __future__ import annotations

from functools import lru_cache

from envdoctor.atlas.masks import stretches
from envdoctor.atlas.objects import MODELS, TOKENIZERS
from envdoctor.atlas.signatures import HIDDEN, names_of
from envdoctor.atlas.volume import Sheet, Volume, sum_of

_DEEPEST = 16
_PLAIN_BASES = frozenset(("object", "abc:ABC", "typing:Generic", "typing:Protocol", "torch.nn:Module", "torch:nn.Module"))
MODULES_OF_TORCH = frozenset(("torch.nn:Module", "torch:nn.Module", "torch.nn.modules:Module", "torch.nn.modules.module:Module"))
_NO_MEMBERS = frozenset(("object", "abc:ABC", "Enum", "typing:Generic", "typing:Protocol"))
_FIELD = ("=", ":")
# Its stubs follow the compiled code by a few releases, and a class there may be made in several ways.
_COMPILED = "torch._C"
# Decorators of a class that leave its call as it is written.
_PLAIN_DECORATORS = frozenset(
    (
        "add_start_docstrings",
        "add_end_docstrings",
        "auto_docstring",
        "requires",
        "deprecated",
        "export",
        "document",
        "runtime_checkable",
        "keras_export",
        "experimental",
        "compatibility",
        "set_module",
        "final",
    )
)
# Decorators that add members of another class: pandas.DatetimeIndex.year until 3.0.
_ADDING = frozenset(
    (
        "delegate_names", "delegate_to_executor", "inherit_fields_from", "inherit_names", "pin_allowlisted_properties",
        "proxy_method_directly", "proxy_property_directly",
    )
)  # fmt: skip
# Members that went with a release, of classes that have more than their source shows, and never these: gradio 4 has events, a tokenizer
# special tokens, and a model what it registers.
_NEVER_MADE = {"gradio": ("style", "update"), "transformers": (*MODELS, *TOKENIZERS)}
# They make a class, or look one up, when the class is called.
_ENUMERATIONS = ("Enum", "Flag", "EnumMeta", "NamedTuple", "TypedDict")


def sheet_of(volume: Volume, link: str, place: int) -> tuple[str, Sheet] | None:
    """The class that a link stands for in a release, with the module that defines it."""
    module, _, name = link.partition(":")
    if module.partition(".")[0] not in volume.tops or not name:
        return None
    if "." in name:  # ``torch:nn.Module``
        inner, _, name = name.rpartition(".")
        module = f"{module}.{inner}"
    found = volume.follow(module, name, place)
    if found is None:
        return None
    chunk = volume.chunk(found[0])
    sheet = None if chunk is None else chunk.classes.get(found[1])
    return None if sheet is None or not sheet.mask >> place & 1 else (found[0], sheet)


def lineage(volume: Volume, module: str, name: str, place: int, *, dynamic: bool = False) -> tuple[list[Sheet], bool]:
    """A class and those it is made of, nearest first, and whether all are known; with ``dynamic`` whatever they set themselves."""
    found: list[Sheet] = []
    seen: set[str] = set()
    waiting = [f"{module}:{name}"]
    whole = True
    while waiting and len(found) < _DEEPEST:
        link = waiting.pop(0)
        if link in seen or link in ("object", "abc:ABC", "Enum"):
            continue
        seen.add(link)
        there = sheet_of(volume, link, place)
        if there is None:
            # A mixin brings methods, and no fields that a constructor takes.
            whole = whole and (link in ("typing:Generic", "typing:Protocol") or (dynamic and link.endswith("Mixin")))
            continue
        found.append(there[1])
        # What a stub says of compiled code is what its makers thought of.
        chunk = volume.chunk(there[0])
        hidden = there[1].dynamic | (0 if chunk is None else chunk.open)
        hidden |= sum_of({words: mask for words, mask in there[1].decorators.items() if not _ADDING.isdisjoint(words)})
        whole = whole and (dynamic or not hidden >> place & 1)
        for bases, mask in there[1].bases.items():
            if mask >> place & 1:
                waiting += bases
    return found, whole and len(found) < _DEEPEST


def outer_bases(volume: Volume, module: str, name: str, place: int) -> set[str]:
    """The classes of other packages that a class of a release is made of, as links."""
    sheets, _ = lineage(volume, module, name, place, dynamic=True)
    links = {link for sheet in sheets for bases, mask in sheet.bases.items() if mask >> place & 1 for link in bases}
    return {link for link in links if ":" in link and link.partition(".")[0].partition(":")[0] not in volume.tops} - _PLAIN_BASES


def has_member(volume: Volume, module: str, name: str, member: str, place: int) -> bool | None:
    """Whether a class of a release has a member; None where it may have any."""
    sheets, whole = lineage(volume, module, name, place)
    if not sheets:
        return None
    for sheet in sheets:
        there = sheet.attributes.get(member, 0)
        for mask in sheet.methods.get(member, {}).values():
            there |= mask
        if there >> place & 1:
            return True
    whole = whole or member in _NEVER_MADE.get(volume.name, ())
    return False if whole and not (member.startswith("__") and member.endswith("__")) else None


def bases_outside(volume: Volume, module: str, name: str, place: int) -> tuple[list[Sheet], frozenset[str]] | None:
    """What a class of a release is made of in its own package, and its bases of others as links; None where it may have any member."""
    sheets, _ = lineage(volume, module, name, place, dynamic=True)
    outside: set[str] = set()
    for sheet in sheets:
        words = {word for decorators, mask in sheet.decorators.items() if mask >> place & 1 for word in decorators}
        if sheet.dynamic >> place & 1 or not _ADDING.isdisjoint(words):
            return None
        for link in (link for bases, mask in sheet.bases.items() if mask >> place & 1 for link in bases):
            if link in _NO_MEMBERS or sheet_of(volume, link, place) is not None:
                continue
            if ":" not in link or link.partition(":")[0].partition(".")[0] in volume.tops:
                return None
            outside.add(link)
    return (sheets, frozenset(outside)) if sheets and len(sheets) < _DEEPEST else None


def is_member_of(sheets: list[Sheet], member: str, place: int) -> bool:
    """Whether one of these classes has a member of its own in a release."""
    masks = (sum_of(sheet.methods.get(member, {})) | sheet.attributes.get(member, 0) for sheet in sheets)
    return any(mask >> place & 1 for mask in masks)


def is_method_of(sheets: list[Sheet], member: str, place: int) -> bool:
    """Whether one of these classes defines a method of this name in a release."""
    told = (item for sheet in sheets for item in sheet.methods.get(member, {}).items())
    return any(mask >> place & 1 and signature not in _FIELD for signature, mask in told)


def lacks_method(volume: Volume, module: str, name: str, member: str, place: int) -> bool:
    """Whether a class of a release, which is a module of torch's, has no method of a name: what such a one registers is none."""
    found = bases_outside(volume, module, name, place)
    if found is None or not found[1] or not found[1] <= MODULES_OF_TORCH or member.startswith("__"):
        return False
    return member not in members_of_modules()


@lru_cache(maxsize=1)
def members_of_modules() -> frozenset[str]:
    """What torch's own class of modules has, in any release; everything where torch is not in the atlas."""
    from envdoctor.atlas.shelf import open_package

    torch = open_package("torch")
    chunk = None if torch is None else torch.volume.chunk("torch.nn.modules.module")
    sheet = None if chunk is None else chunk.classes.get("Module")
    return _Everything() if sheet is None else frozenset((*sheet.attributes, *sheet.methods))


class _Everything(frozenset[str]):
    def __contains__(self, other: object) -> bool:
        return True


def signature_of(volume: Volume, module: str, name: str, place: int) -> str:
    """How a function or a class of a release is called; ``~`` where that is hidden."""
    found = volume.follow(module, name, place)
    chunk = None if found is None else volume.chunk(found[0])
    if found is None or chunk is None or found[0].startswith(_COMPILED):
        return HIDDEN
    for signature, mask in chunk.functions.get(found[1], {}).items():
        if mask >> place & 1:
            return _with_old_names(volume, signature, place) if "^" in signature else signature
    return constructor(volume, found[0], found[1], place)


def _with_old_names(volume: Volume, signature: str, place: int) -> str:
    """A signature with the old names of parameters that the method takes which it names."""
    own, _, link = signature.rpartition(",^")
    module, _, name = link.partition(":")
    kind, _, method = name.partition(".")
    found = volume.follow(module, kind, place)
    inner = HIDDEN if found is None else method_of(volume, found[0], found[1], method, place)
    if inner == HIDDEN:
        return HIDDEN
    known = names_of(own)
    more = [one for one in inner.split(",*-,", 1)[-1].split(",") if one.endswith("=") and one[:-1] not in known] if ",*-," in inner else []
    if not more or "**" in known:
        return own
    return ",".join([own, *([] if {"*", "*-"} & set(known) else ["*-"]), *more])


def method_of(volume: Volume, module: str, name: str, method: str, place: int) -> str:
    """How a method of a class of a release is called; ``~`` where that is hidden."""
    if module.startswith(_COMPILED):
        return HIDDEN
    if method == "__init__":
        return constructor(volume, module, name, place)
    sheets, _ = lineage(volume, module, name, place)
    for sheet in sheets:
        for signature, mask in sheet.methods.get(method, {}).items():
            if mask >> place & 1:
                return HIDDEN if signature in _FIELD else signature
        if sheet.attributes.get(method, 0) >> place & 1:
            return HIDDEN
    return HIDDEN


def constructor(volume: Volume, module: str, name: str, place: int) -> str:
    """The signature with which a class of a release is made."""
    sheets, whole = lineage(volume, module, name, place, dynamic=True)
    fields: list[tuple[str, str]] = []
    for depth, sheet in enumerate(sheets):
        words = [word for words, mask in sheet.decorators.items() if mask >> place & 1 for word in words]
        if sheet.dynamic >> place & 1 and depth == 0 and "__init__" not in sheet.methods and "dataclass" not in words:
            return HIDDEN
        made = [signature for signature, mask in sheet.methods.get("__new__", {}).items() if mask >> place & 1]
        if made:
            # It is called first, unless a metaclass calls something else, as that of an enumeration does.
            own = any(mask >> place & 1 for mask in sheet.methods.get("__init__", {}).values())
            other = own or set(words) - _PLAIN_DECORATORS or any(_calls_otherwise(one, place) for one in sheets)
            return HIDDEN if other or len(made) > 1 or made[0] in _FIELD else made[0]
        if "dataclass" in words:
            there = [text for text, mask in sheet.methods.get("__init__", {}).items() if mask >> place & 1]
            if len(there) == 1 and not set(words) - {"dataclass"} - _PLAIN_DECORATORS:
                return there[0]  # a constructor that is written there stays: none is generated
            if not whole or any(mask >> place & 1 for one in sheets for mask in one.methods.get("__init__", {}).values()):
                return HIDDEN
            for one in reversed(sheets):
                fields = _fields(one, place, fields)
            # Fields without a place in the constructor cannot be told from others: too many are allowed, never too few.
            return ",".join(f"{field}=" for field, _ in fields) or HIDDEN
        if set(words) - _PLAIN_DECORATORS:
            return HIDDEN
        for signature, mask in sheet.methods.get("__init__", {}).items():
            if mask >> place & 1:
                return signature
        if sheet.attributes.get("__init__", 0) >> place & 1:
            return HIDDEN
    return HIDDEN


def _calls_otherwise(sheet: Sheet, place: int) -> bool:
    """Whether the call of a class may be another one than that of its ``__new__``."""
    links = [link for bases, mask in sheet.bases.items() if mask >> place & 1 for link in bases]
    return bool(sheet.dynamic >> place & 1) or "?" in links or any(link.endswith(_ENUMERATIONS) for link in links)


def open_dataclass(volume: Volume, module: str, name: str, place: int) -> tuple[frozenset[str], tuple[str, ...]] | None:
    """The fields of a dataclass that it has of its own package, and the bases of others that have the rest; None of anything else."""
    fields: dict[str, str] = {}
    outside: list[str] = []
    waiting = [f"{module}:{name}"]
    for _ in range(_DEEPEST):
        if not waiting:
            break
        link = waiting.pop(0)
        there = sheet_of(volume, link, place)
        if there is None:
            outside.append(link)
            continue
        sheet = there[1]
        words = [word for words, mask in sheet.decorators.items() if mask >> place & 1 for word in words]
        own = {one for one in ("__init__", "__new__") if any(mask >> place & 1 for mask in sheet.methods.get(one, {}).values())}
        if words != ["dataclass"] or own:
            return None
        fields |= dict(_fields(sheet, place, []))
        # A field without an annotation keeps the one that a base has.
        fields |= dict.fromkeys((one for one, mask in sheet.attributes.items() if mask >> place & 1), "")
        for bases, mask in sheet.bases.items():
            waiting += [one for one in bases if mask >> place & 1 and one not in ("object", "abc:ABC", "typing:Generic")]
    tops = {one.partition(".")[0].partition(":")[0] for one in outside}
    known = bool(outside) and not waiting and not tops & {*volume.tops, "?"}
    return (frozenset(fields), tuple(outside)) if known else None


def fields_of(volume: Volume, module: str, name: str, field: str) -> tuple[int, int]:
    """The releases in which a dataclass with bases of other packages has a field of its own, and those in which it has none."""
    there = gone = 0
    for start, end in stretches(volume.provides(module, name).there):
        for place in range(start, end + 1):
            found = volume.follow(module, name, place)
            known = None if found is None else open_dataclass(volume, found[0], found[1], place)
            if known is not None:
                there, gone = (there | 1 << place, gone) if field in known[0] else (there, gone | 1 << place)
    return there, gone


def _fields(sheet: Sheet, place: int, before: list[tuple[str, str]]) -> list[tuple[str, str]]:
    known = dict(before)
    for name, values in sheet.methods.items():
        for value, mask in values.items():
            if mask >> place & 1 and value in _FIELD:
                known[name] = value
    return list(known.items())
