"""Whose a name, a keyword or an attribute is where the message does not say: the one package whose releases come and go with it.

Somebody pasted half of the message, Python before 3.10 told no class, or the class is one that a project derived from a package's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.shelf import open_package, package_names
from envdoctor.atlas.stack import holds, places
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callables_named import OFTEN, classes_called, classes_of
from envdoctor.logs.statements import MissingMember, MissingName, RefusedKeyword
from envdoctor.logs.tracebacks import Failure
from envdoctor.world.import_names import package_of

# Packages whose classes scripts make with keywords, beside those that most people use.
_MADE = (*OFTEN, "pytorch-lightning", "evaluate", "torchmetrics", "albumentations", "httpx")
# A name with fewer letters is anybody's.
_TELLING, _LEAST_KEYWORD = 8, 4
# A class that ends in so few letters ends so by chance.
_ENDS = 7
# Their users derive from their modules, and hand their Trainer on as it is.
_HANDED_ON = ("pytorch_lightning", "lightning")
# A class of one model is no base of what others call alike.
_ONE_MODELS = "transformers.models."


# What the code that comes with models derives from, by how its classes are called.
_BASES = (
    (re.compile(r"(?:For(?:CausalLM|ConditionalGeneration|SequenceClassification|Training)|LMHeadModel|PreTrainedModel)$"),
     "transformers.modeling_utils:PreTrainedModel"),
    (re.compile(r"\w{3,}Tokenizer(?:Fast)?$"), "transformers.tokenization_utils_base:PreTrainedTokenizerBase"),
    (re.compile(r"\w{3,}Processor$"), "transformers.processing_utils:ProcessorMixin"),
)  # fmt: skip


def modules_of(statement: MissingName, failure: Failure) -> tuple[str, ...]:
    """The modules that a name may have been imported from: the top of the packages near, else those that somebody takes it from."""
    if len(statement.name) < _TELLING:
        return ()
    taken = re.search(
        rf"\bfrom ([A-Za-z_][\w.]{{0,80}}) import [^\n]{{0,200}}\b{re.escape(statement.name)}\b", f"{failure.near}\n{failure.told}"
    )
    if taken is not None:
        return (taken[1],)  # the line that asks for it stands there
    near = [package_of(name) for name in failure.packages]
    tops = [top for package in dict.fromkeys((*near, *OFTEN)) if (bound := open_package(package)) for top in bound.volume.tops[:1]]
    found = [top for top in tops if (told := look_up(f"{top}:{statement.name}")) is not None and told.there and told.gone]
    return tuple(found) or tuple(_taken(statement.name))


def _taken(name: str) -> Iterator[str]:
    """The modules from which packages take a name whose releases come and go."""
    pattern = re.compile(rf"(?m)^bad ([\w.]+):{re.escape(name)}(?: |$)")
    seen: dict[str, None] = {}
    for package in package_names():
        bound = open_package(package)
        text = None if bound is None else bound.chunk("@@takes")
        if text and name in text:
            seen |= dict.fromkeys(pattern.findall(text))
    yield from seen


def makers_of(statement: RefusedKeyword, failure: Failure) -> tuple[str, ...]:
    """The classes that took a keyword and take it no more, or took it later, where only ``__init__`` is told, or a class of a short
    name, and no line says of what."""
    of_class, _, last = statement.function.rpartition(".")
    if last != "__init__" or failure.packages or len(statement.keyword) < _LEAST_KEYWORD:
        return ()
    found = [one for package in dict.fromkeys(_MADE) for one in _made_with(package, statement.keyword, of_class) if _is_given(package, one)]
    # Nothing is made more often than a Trainer.
    return tuple(sorted(found, key=lambda one: not one.endswith(":Trainer")))


def _is_given(package: str, symbol: str) -> bool:
    """Whether a package gives a class to its users: at its top, or in a module that is no private one and none of its own commands."""
    bound = open_package(package)
    cls = symbol.rpartition(":")[2]
    at_top = bound is not None and any(bound.volume.provides(top, cls).there for top in bound.volume.tops)
    return at_top or not re.search(r"\.(?:_\w+|commands|utils|integrations|scripts|cli)[.:]", symbol)


def members_given(statement: MissingMember, failure: Failure) -> tuple[str, ...]:
    """The class of a name that several packages give, in the one whose releases give and lack a member: Lightning's ``Trainer``."""
    if failure.packages or len(statement.name) < _TELLING:
        return ()
    found: dict[str, list[str]] = {}
    for package in dict.fromkeys(_MADE):
        bound = open_package(package)
        for symbol in classes_of(bound, statement.cls) if bound is not None else ():
            told = look_up(f"{symbol}.{statement.name}")
            if told is not None and told.there and told.gone and _is_given(package, symbol):
                found.setdefault(package, []).append(symbol)
    return tuple(next(iter(found.values()))) if len(found) == 1 else ()


def makers_stated(statement: RefusedKeyword, failure: Failure, facts: Facts) -> tuple[str, ...]:
    """The same among the packages whose releases are stated, where not even the function is told."""
    if statement.function or failure.packages or len(statement.keyword) < _LEAST_KEYWORD:
        return ()
    return tuple(_lacking_it(statement.keyword, facts))


def methods_of(statement: RefusedKeyword, failure: Failure) -> tuple[str, ...]:
    """The methods of classes that most people use, where before Python 3.10 no class is told and the line shows that it is a method."""
    name = statement.function
    last = failure.frames[-1] if failure.frames else None
    if last is None or last.package or f".{name}(" not in last.text or "_" not in name or len(name) < _TELLING:
        return ()
    found: list[str] = []
    for package in OFTEN:
        bound = open_package(package)
        for module, text in () if bound is None else bound.modules(f" m {name} "):
            for one in re.finditer(rf"(?m)^ m {re.escape(name)} ", text):
                cls = text[text.rfind("\nc ", 0, one.start()) + 3 : one.start()].split("\n")[0].partition("\t")[0]
                found.append(f"{module}:{cls}.{name}")
    return tuple(dict.fromkeys(found))


def _lacking_it(keyword: str, facts: Facts) -> Iterator[str]:
    """The classes that other releases make with a keyword, and the stated ones do not."""
    for package in dict.fromkeys(_MADE):
        bound, stated = open_package(package), facts.value(f"packages.{package}")
        where = places(bound.volume, stated.text) if bound is not None and isinstance(stated, Exact) else ()
        for symbol in _made_with(package, keyword, "") if where else ():
            told = look_up(f"{symbol}({keyword})")
            if told is not None and told.there and holds(told.gone, where):
                yield symbol


def _made_with(package: str, keyword: str, of_class: str) -> Iterator[str]:
    """The classes of a package that are made with a keyword in some release."""
    bound = open_package(package)
    pattern = re.compile(rf"(?m)^ m __init__ (?:\S*[,*])?{re.escape(keyword)}=?(?:[,\t]|$)")
    for module, text in () if bound is None else bound.modules(keyword):
        for one in pattern.finditer(text):
            cls = text[text.rfind("\nc ", 0, one.start()) + 3 : one.start()].split("\n")[0].partition("\t")[0]
            if not of_class or cls == of_class:
                yield f"{module}:{cls}"


def named_after(statement: MissingMember, failure: Failure) -> tuple[str, ...]:
    """The trainer of a package whose name a project's own has around a word of its own: ``GRPOEnvTrainer`` is a ``GRPOTrainer``.

    https://github.com/PrimeIntellect-ai/verifiers/issues/50
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]+", statement.cls) if statement.cls.endswith("Trainer") else []
    if "".join(words) != statement.cls or any(True for _ in classes_called(statement.cls, failure)):
        return ()
    for end in range(len(words) - 2, 0, -1):
        name = f"{''.join(words[:end])}Trainer"
        found = tuple(one for one in classes_called(name, failure) if not one.startswith((*_HANDED_ON, _ONE_MODELS)))
        if found:
            return found
    return ()


def derived_from(statement: MissingMember, failure: Failure) -> tuple[str, ...]:
    """The classes of packages whose name a class of a project ends with: ``OurTrainer`` is a ``Trainer``."""
    for ending, base in _BASES:
        if ending.search(statement.cls) and not any(True for _ in classes_called(statement.cls, failure)):
            return (base,)
    for start in (found.start() for found in re.finditer(r"(?<!^)[A-Z]", statement.cls)):
        name = statement.cls[start:]
        if len(name) < _ENDS:
            return ()
        found = tuple(one for one in classes_called(name, failure) if not one.startswith((*_HANDED_ON, _ONE_MODELS)))
        if found:
            return found
    return ()
