"""Attributes that no release gives to a class: whose the class is, and which package gives the attribute to others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from envdoctor.atlas.answers import Answer, owner_of
from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.binding import Bound
from envdoctor.atlas.masks import stretches, write
from envdoctor.atlas.shelf import open_package, package_names, pass_packages
from envdoctor.atlas.stack import holds, places
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callables_named import OF_MODELS, OFTEN, TOOK_OVER, classes_called, classes_named
from envdoctor.logs.callers import asker_of, caller_of
from envdoctor.logs.everyday_names import is_anybodys_class, is_everyday
from envdoctor.logs.statements import MissingMember
from envdoctor.logs.syntax_nodes import is_node
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named, place_of
from envdoctor.records import dataclass, replace
from envdoctor.world.import_names import package_of

ATTRIBUTE = "error-attribute-missing"
# Objects of which everybody has some.
_ANY = frozenset(
    ("dict", "list", "tuple", "set", "str", "int", "float", "bool", "bytes", "NoneType", "Namespace", "function", "method", "module",
     "type", "Tensor", "DictConfig", "EasyDict", "SimpleNamespace", "builtin_function_or_method", "Series", "DataFrame",
     "ndarray", "generator")
)  # fmt: skip
# What code passed before packages had classes of their own for it.
_PLAIN = frozenset(("list", "tuple", "dict"))
# Modules of torch whose names packages take for classes of their own: an object of that name is mostly torch's.
_OF_TORCH = frozenset(
    ("Linear", "Embedding", "LayerNorm", "RMSNorm", "Dropout", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose2d", "BatchNorm1d",
     "BatchNorm2d", "GroupNorm", "ModuleList", "ModuleDict", "Sequential", "Parameter", "ParameterDict", "Identity", "GELU", "SiLU", "ReLU",
     "Softmax", "LSTM", "GRU", "MultiheadAttention", "TransformerEncoder", "TransformerEncoderLayer", "DataParallel",
     "DistributedDataParallel", "FullyShardedDataParallel", "AdamW", "Adam", "SGD", "Optimizer", "DataLoader", "Dataset", "Subset",
     "GradScaler", "Generator")
)  # fmt: skip
# Whose attributes on modules and parameters of others begin so: deepspeed/runtime/zero, accelerate/hooks.py.
_MARKS = {"ds_": "deepspeed", "_hf_hook": "accelerate", "hf_device_map": "accelerate", "quant_state": "bitsandbytes"}
_OTHERS = ("TF", "Flax")
# So many classes had an attribute, and so many times as many as have it since, where a package has given it up.
_MANY, _MOST = 5, 3
# Classes that end alike in so many letters are of one kind: ``Trainer``, ``Config``.
_ALIKE = 5
# Nobody else has a name of so many letters.
_ONLY_ONES = 20
# A name with fewer letters is anybody's.
_TELLING = 10
# What every function of autograd and every module has: of two classes with it the one has not come for the other.
_OF_FUNCTIONS = frozenset(("forward", "backward", "apply", "setup_context", "jvp", "vmap"))
# A class with so long a name is one package's.
_OWN = 14


def judge_member(one: MissingMember, failure: Failure, facts: Facts) -> Hit | None:
    """An attribute that no release has in this class; None where more than one package may be meant."""
    if one.cls == "NoneType":
        return _of_nothing(one, failure, facts)
    # So Llama was written in the branch of transformers that first had it.
    one = replace(one, cls=one.cls.replace("LLaMA", "Llama"))
    if one.cls in _ANY or one.name.startswith("__") or (is_node(one.cls) and "torch" not in failure.packages):
        return None
    classes = _classes_meant(one, failure)
    owners = {bound.volume.name for symbol in classes if (bound := owner_of(symbol)) is not None}
    given = _givers_meant(one, facts, owned=bool(owners))
    told = [look_up(f"{symbol}.{one.name}") for symbol in classes]
    if (marked := _of_mark(one, told, failure, facts)) is not None:
        return marked
    if len(owners) == 1 and all(answer is not None and not answer.there for answer in told):
        (package,) = owners
        whose = f"{one.cls} of {package} has no {one.name} in any release that was read"
    elif len(owners) == 1 and told and all(_is_there_with(cls, answer) for cls, answer in zip(classes, told, strict=True)):
        (package,) = owners
        whose = f"{one.cls} of {package} gets its {one.name} when it is set up, in all releases, and this one was not, or was reset"
        given = []
    elif not owners and len(given) == 1 and _speaks_for(given[0], one, failure, facts):
        package = given[0].package
        whose = f"{one.cls} is no class that has {one.name}"
    else:
        return None
    bound = open_package(package)
    before = None if bound is None or not told else _before_it(bound, classes, one.name)
    if bound is not None and before is not None:
        return _replaced(one, failure, facts, bound, before)
    gives = f"; {given[0].words()}" if len(given) == 1 else ""
    caller = caller_of(failure, package)
    if (
        package in TOOK_OVER
        and package not in {package_of(name) for name in failure.packages}
        and not isinstance(facts.value(f"packages.{package}"), Exact)
        and OF_MODELS.fullmatch(one.cls)
    ):
        return None
    if not caller.package and not given and len(one.cls) < _OWN and (len(one.name) < _TELLING or "_" not in one.name):
        return None  # nobody says who asks, and the name could be anybody's
    if not caller.package and owners and is_anybodys_class(one.cls, package) and facts.value(f"packages.{package}") is None:
        return None  # the class may be of a project, or compiled
    detail = f"{whose}{gives}; {caller.words(facts, package, 'asks for')}: it expects another class, a fork, or an object that was set up"
    packages = named(package, caller.package, *(giver.package for giver in given if len(given) == 1))
    edge = f"{caller.package or 'code'}:{one.cls}.{one.name}"
    if not owners and len(given) == 1 and (wanted := _wanted_of_others(one, given[0], failure, facts)) is not None:
        return wanted
    pins = _went_before(classes, given[0]) if owners and len(given) == 1 else given[0].pins(facts) if not owners else ()
    if one.cls in _OF_TORCH and all(spec.startswith(">=") for _, spec in pins) and facts.value(f"packages.{package}") is None:
        pins = ()  # torch's own object is of no class that a later release changed
    if pins:
        detail = f"{whose}{gives}; {caller.words(facts, package, 'asks for')}: it was written for these releases"
        return Hit(ATTRIBUTE, True, (), detail=detail, packages=packages, pins=pins, edge=edge)
    return Hit(ATTRIBUTE, True, (), detail=detail, packages=packages, edge=edge, advice=_advise(one, package, owners=owners))


def _is_there_with(cls: str, answer: Answer | None) -> bool:
    """Whether each release that has a class has the attribute too."""
    has = look_up(cls)
    if answer is None or not answer.there:
        return False
    return not has.there & ~answer.there if has is not None and has.there else not answer.gone


def _went_before(classes: Sequence[str], giver: _Giver) -> tuple[tuple[str, str], ...]:
    """The last release in which other classes of the package had the attribute, where the class that lacks it came after that.

    https://github.com/PaddlePaddle/PaddleOCR/issues/17587: TokenizersBackend of transformers 5, and what tokenizers of 4 had.
    """
    volume = giver.bound.volume
    last = giver.there.bit_length() - 1
    came = [told.there for cls in classes if (told := look_up(cls)) is not None and told.there]
    if last < 0 or not came or last >= len(volume.releases) - 1:
        return ()
    since = min(stretches(there)[0][0] for there in came)
    return ((volume.name, f"<={volume.releases[last]}"),) if since > last else ()


def _wanted_of_others(one: MissingMember, giver: _Giver, failure: Failure, facts: Facts) -> Hit | None:
    """An attribute that a package gives to its own classes since some release, and asks every object for: a class of before lacks it.

    https://github.com/lucidrains/enformer-pytorch/issues/55: all_tied_weights_keys of a model that never calls post_init.
    """
    asker = asker_of(failure)
    first = stretches(giver.there)[0][0] if giver.there else 0
    if asker is None or package_of(asker.package or "") != giver.package or not first:
        return None
    volume = giver.bound.volume
    stated = facts.value(f"packages.{giver.package}")
    where = places(volume, stated.text) if isinstance(stated, Exact) else ()
    if where and min(where) < first:
        return None
    since, before = volume.releases[first], volume.releases[first - 1]
    outside = (package_of(frame.package) for frame in reversed(failure.frames) if frame.package)
    whose = next((name for name in outside if name not in (giver.package, "torch", "accelerate", "transformers-modules")), "")
    of = f" of {whose}" if whose else ""
    detail = (
        f"{one.cls}{of} was written for {giver.package} before {since}, which gives {one.name} to {giver.classes[0]} and asks each object "
        f"for it ({place_of(asker)}); or it does not set up what it is made of (super().__init__(), post_init())"
    )
    packages = named(giver.package, whose)
    pins = ((giver.package, f"<={before}"),)
    advice = f"a release of {whose} for {giver.package} {since}" if whose else ""
    edge = f"{giver.package}:{one.cls}.{one.name}"
    return Hit(ATTRIBUTE, True, (), detail=detail, packages=packages, pins=pins, edge=edge, by_hand=advice)


def _speaks_for(giver: _Giver, one: MissingMember, failure: Failure, facts: Facts) -> bool:
    """Whether more than the name speaks for a package: its frames, a stated release, or a class that ends alike."""
    asked = next((frame.package for frame in reversed(failure.frames) if frame.package and not frame.function.startswith("__getattr")), "")
    if facts.value(f"packages.{giver.package}") is not None or (asked and package_of(asked) == giver.package):
        return True
    alike = any(_ends_alike(one.cls, cls) >= _ALIKE for cls in giver.classes)
    return alike or len(giver.classes) >= _MANY or len(one.name) >= _ONLY_ONES


def _classes_meant(one: MissingMember, failure: Failure) -> list[str]:
    """The classes of that name that may be meant; none of torch, whose modules carry what everybody puts on them."""
    if one.cls in _OF_TORCH:
        return []
    classes = list(classes_called(one.cls, failure)) or list(classes_called(one.cls, failure, passed=True))
    if not classes and not failure.packages and len(one.name) >= _TELLING:
        # A short name is many packages' class; of these those are meant that have such an attribute.
        classes = [cls for cls in classes_named(one.cls) if (has := look_up(f"{cls}.{one.name}")) is not None and has.there]
    return classes


def _givers_meant(one: MissingMember, facts: Facts, *, owned: bool) -> list[_Giver]:
    """The packages that give such an attribute to a class of theirs."""
    given = list(_givers(one.name, one.cls)) if len(one.name) >= _TELLING and "_" in one.name else []
    if is_everyday(one.name):
        given = [giver for giver in given if facts.value(f"packages.{giver.package}") is not None]
    if not given and not owned and len(one.name) >= _OWN and "_" in one.name.strip("_"):
        # A name of several words is one package's, however few use that.
        given = list(_givers(one.name, one.cls, package_names()))
    return given


def _of_mark(one: MissingMember, told: Sequence[Answer | None], failure: Failure, facts: Facts) -> Hit | None:
    """What a package puts on the modules of others, by its first letters."""
    marked = next((package for begins, package in _MARKS.items() if one.name.startswith(begins)), "")
    if not marked or not all(answer is not None and not answer.there for answer in told):
        return None
    caller = caller_of(failure, marked)
    detail = (
        f"{marked} puts {one.name} on the modules and parameters that it takes over, and this {one.cls} has none: it was made, "
        f"replaced or moved after that; {caller.words(facts, marked, 'asks for')}"
    )
    packages = named(marked, caller.package)
    return Hit(ATTRIBUTE, True, (), detail=detail, packages=packages, edge=f"{caller.package or 'code'}:{one.cls}.{one.name}")


def _advise(one: MissingMember, package: str, *, owners: Iterable[str]) -> str:
    other = f"an object that has {one.name}" if owners else f"a class that has {one.name}"
    return f"the release of {package} that this code was written for, or {other} in place of {one.cls}"


def _of_nothing(one: MissingMember, failure: Failure, facts: Facts) -> Hit | None:
    """``None`` in the place of an object that has the attribute: whose such an object is, where that is one package's."""
    if len(one.name) < _TELLING or "_" not in one.name:
        return None
    given = list(_givers(one.name, ""))
    raised = package_of(failure.raised_in) if failure.raised_in else ""
    if len(given) != 1 or (failure.frames and raised != given[0].package):
        return None
    package, where = given[0].package, f"{given[0].classes[0]}, {given[0].releases()}"
    caller = caller_of(failure, package)
    detail = (
        f"there is None where {package} has an object with {one.name} ({where}): an argument that was not passed, or something "
        f"that was not found or not made before; {caller.words(facts, package, 'asks for')}"
    )
    packages = named(package, caller.package)
    return Hit(ATTRIBUTE, None, (), detail=detail, packages=packages, edge=f"{caller.package or 'code'}:None.{one.name}")


def _before_it(bound: Bound, classes: Iterable[str], name: str) -> tuple[str, int] | None:
    """The class of the same module that had the attribute and is gone, with the releases that have it."""
    modules = {symbol.partition(":")[0] for symbol in classes}
    for module, cls in _having(bound, name):
        told = look_up(f"{module}:{cls}.{name}") if module in modules else None
        if name not in _OF_FUNCTIONS and told is not None and told.there and told.gone > told.there:
            return cls, told.there
    return None


def _replaced(one: MissingMember, failure: Failure, facts: Facts, bound: Bound, before: tuple[str, int]) -> Hit | None:
    volume, (cls, there) = bound.volume, before
    stated = facts.value(f"packages.{volume.name}")
    where = places(volume, stated.text) if isinstance(stated, Exact) else ()
    if holds(there, where):
        return None
    caller = caller_of(failure, volume.name)
    detail = (
        f"{one.name} is of {cls}, which {volume.name} had in {write(there, volume.releases)} where it has {one.cls} now; "
        f"{caller.words(facts, volume.name, 'asks for')}: it was written for these releases"
    )
    packages = named(volume.name, caller.package)
    # Of what was released between the last that has it and the first that lacks it nobody knows.
    pins = tuple((volume.name, f">={volume.releases[first]},<={volume.releases[last]}") for first, last in reversed(stretches(there)))
    edge = f"{caller.package or 'code'}:{one.cls}.{one.name}"
    return Hit(ATTRIBUTE, True, (), detail=detail, packages=packages, pins=pins, edge=edge)


def judge_passed(one: MissingMember, failure: Failure, facts: Facts) -> Hit | None:
    """A list or a tuple handed to a package that has wanted an object of a class of its own there since some release."""
    bound = open_package(package_of(failure.raised_in)) if one.cls in _PLAIN and failure.raised_in else None
    if bound is None or len(one.name) < _TELLING or "_" not in one.name:
        return None
    volume, there, cls = bound.volume, 0, ""
    for module, word in _having(bound, one.name):
        told = look_up(f"{module}:{word}.{one.name}")
        there, cls = there | (told.there if told is not None else 0), cls or word
    first = stretches(there)[0][0] if there else 0
    stated = facts.value(f"packages.{volume.name}")
    where = places(volume, stated.text) if isinstance(stated, Exact) else ()
    if not first or (where and not holds(there, where)):
        return None
    since = volume.releases[first]
    caller = caller_of(failure, volume.name)
    who = caller.package or "the code that runs"
    detail = (
        f"{volume.name} from {since} on wants an object with {one.name} ({cls}) where it was given a {one.cls}: {who} was written for "
        "releases before that"
    )
    packages = named(volume.name, caller.package)
    return Hit(
        ATTRIBUTE,
        True,
        (),
        detail=detail,
        packages=packages,
        pins=((volume.name, f"<={volume.releases[first - 1]}"),),
        edge=f"{who}:{one.cls}.{one.name}",
    )


def _having(bound: Bound, name: str) -> Iterator[tuple[str, str]]:
    """The classes of a package that have a method or an attribute of this name, each with its module."""
    pattern = re.compile(rf"(?m)^ (?:m {re.escape(name)} |a (?:.* )?{re.escape(name)}(?: |\t|$))")
    for module, text in bound.modules(name, keep=False):
        seen: dict[str, None] = {}
        for found in pattern.finditer(text):
            cls = text.rfind("\nc ", 0, found.start())
            seen[text[cls + 3 : text.find("\n", cls + 1)].partition("\t")[0]] = None
        yield from ((module, cls) for cls in seen)


@dataclass(frozen=True, slots=True)
class _Giver:
    """A package of which classes have an attribute: these ``classes``, the likest first, each in its releases (``masks``); ``there`` is
    where one of them has it, ``gone`` where none does for certain."""

    package: str
    bound: Bound
    classes: tuple[str, ...]
    masks: tuple[int, ...]
    there: int
    gone: int

    def releases(self) -> str:
        return write(self.there, self.bound.volume.releases) if self.there else "some releases"

    def words(self) -> str:
        more = len(self.classes) - 1
        others = f" and {more} more {'class' if more == 1 else 'classes'}" if more else ""
        left = self._left()
        if left is None:
            return f"{self.package} gives it to {self.classes[0]}{others} ({self.releases()})"
        place, before, after = left
        last = self.bound.volume.releases[place]
        return f"{self.package} gave it to {before} classes until {last} and gives it to {after} since"

    def _left(self) -> tuple[int, int, int] | None:
        """The last release before most classes lost it, with how many have it there and at most after it; None where they kept it."""
        counts = [sum(mask >> place & 1 for mask in self.masks) for place in range(len(self.bound.volume.releases))]
        for place in range(len(counts) - 2, -1, -1):
            after = max(counts[place + 1 :])
            if counts[place] >= _MANY and counts[place] >= _MOST * after:
                return place, counts[place], after
        return None

    def pins(self, facts: Facts) -> tuple[tuple[str, str], ...]:
        """The releases up to which, or from which on, it is there; none where the stated release has it or may have it, or both sides lack
        it."""
        volume = self.bound.volume
        stated = facts.value(f"packages.{volume.name}")
        where = places(volume, stated.text) if isinstance(stated, Exact) else ()
        left = self._left()
        if left is not None and (not where or min(where) > left[0]):
            return ((volume.name, f"<={volume.releases[left[0]]}"),)
        if not self.there or not self.gone or (where and not holds(self.gone, where)):
            return ()
        if self.there | self.gone != volume.all:
            return ()  # of some releases nobody knows it
        if len(stretches(self.there)) > 1:
            ((first, _), *_) = reversed(stretches(self.gone))
            return ((volume.name, f"<={volume.releases[first - 1]}"),) if first else ()
        ((first, last),) = stretches(self.there)
        if last < len(volume.releases) - 1:
            return ((volume.name, f"<={volume.releases[last]}"),)
        return ((volume.name, f">={volume.releases[first]}"),)


def _ends_alike(one: str, other: str) -> int:
    """How many letters two names end with alike."""
    return next((at for at, (a, b) in enumerate(zip(reversed(one), reversed(other), strict=False)) if a != b), min(len(one), len(other)))


def _givers(name: str, like: str, packages: Iterable[str] = OFTEN) -> Iterator[_Giver]:
    """The packages, mostly those that most people use, whose classes have a method or an attribute of this name; classes of TensorFlow and
    JAX only for one of theirs."""
    few = packages is OFTEN
    opened = ((name, open_package(name)) for name in packages) if few else pass_packages(packages)
    for package, bound in opened:
        if bound is None:
            continue
        found: dict[str, int] = {}
        there, gone = 0, bound.volume.all
        for module, cls in _having(bound, name):
            told = look_up(f"{module}:{cls}.{name}")
            if cls.startswith(_OTHERS) and not like.startswith(_OTHERS):
                continue
            there, gone = (there | told.there, gone & told.gone) if told is not None else (there, 0)
            found[cls] = found.get(cls, 0) | (told.there if told is not None else 0)
        if found:
            classes = sorted(found, key=lambda cls: -_ends_alike(cls, like))
            yield _Giver(package, bound, tuple(classes), tuple(found.values()), there, gone)
