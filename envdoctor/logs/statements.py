"""What an error message states, as values: which name, module, member, argument, release or library was missing.

One function a kind of message; each takes the message on one line, in its own case, and gives None where it is of another kind. The
answers (which releases have the name) are given elsewhere.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from envdoctor.logs.tracebacks import Failure
from envdoctor.records import dataclass, replace

_Q = r"['\"`\u2018\u2019]"
_DOTTED = r"[A-Za-z_][\w]{0,100}(?:\.[A-Za-z_]\w{0,100}){0,12}"
_NAME_FROM = re.compile(
    rf"[Cc]annot import name {_Q}?(?P<name>[A-Za-z_]\w{{0,150}}){_Q}?"
    rf"(?: from (?P<partial>partially initialized module )?{_Q}(?P<module>{_DOTTED}){_Q}?)?(?P<rest>.{{0,600}})"
)
# What a saved object says whose class is not where it was.
_SAVED = re.compile(
    rf"Can't get attribute {_Q}(?P<name>\w{{1,150}}){_Q} on <module {_Q}(?P<module>(?!__main__|__mp_main__){_DOTTED}){_Q}"
    rf"(?: from {_Q}(?P<path>[^'\">]{{1,1000}}))?"
)
_MODULE = re.compile(rf"No module named {_Q}?(?P<name>{_DOTTED}){_Q}?(?:; {_Q}(?P<package>[\w.]{{1,100}}){_Q} is not a package)?")
_ATTRIBUTE = re.compile(
    rf"(?P<partial>partially initialized )?module {_Q}?(?P<module>{_DOTTED}){_Q}? has no attribute {_Q}?(?P<name>\w{{1,150}}){_Q}?"
)
# People leave out a quote here and there, markdown takes the underscores of __init__, and some type what they read.
_MEMBER = re.compile(
    rf"(?:type object )?{_Q}?\b(?P<cls>[A-Za-z_]\w{{0,150}}){_Q} (?:object )?has no attribute:? {_Q}?(?P<name>\w{{1,150}})(?:{_Q}|$|[\s.,])"
)
# transformers 5 says it of tokenizers without quotes.
_PLAIN_MEMBER = re.compile(r"^(?P<cls>[A-Z]\w{2,150}) has no attribute (?P<name>\w{1,150})(?:$|[\s.,])")
_KEYWORD = re.compile(
    rf"(?P<function>{_DOTTED}|<lambda>)(?:\(\))? got an unexpected keyword argument:? "
    rf"(?:{_Q}(?P<name>\w{{1,100}}(?: \w{{1,40}})?){_Q}|(?P<bare>\w{{1,150}})\s*$)"
)
_KEYWORD_ALONE = re.compile(rf"unexpected keyword argument:? {_Q}?(?P<name>\w{{1,100}}){_Q}?\W{{0,3}}$")
_MISSING = re.compile(
    rf"(?P<function>{_DOTTED})\(\) missing \d{{1,3}} required (?:positional|keyword-only)"
    rf" arguments?: (?P<names>{_Q}\w{{1,100}}{_Q}(?:(?:,| and|, and) {_Q}\w{{1,100}}{_Q}){{0,20}})"
)
_TOO_MANY = re.compile(
    rf"(?P<function>{_DOTTED})\(\) takes (?:from \d{{1,3}} to )?(?P<takes>\d{{1,3}}) positional arguments? but (?P<given>\d{{1,3}})"
    r"(?: positional arguments?)?(?: \(and \d{1,3} keyword-only arguments?\))? (?:was|were) given"
)
_IMPORT_FROM = re.compile(rf"\bfrom (?P<module>{_DOTTED}) import (?P<names>[\w, ()]{{1,300}})")
_UNDEFINED = re.compile(rf"name {_Q}(?P<name>\w{{1,150}}){_Q} is not defined")
_CIRCULAR = "circular import"
_PATH = re.compile(r"\(([^()\n]{1,1000}\.(?:py|so|pyd)[\w.]{0,20}|unknown location)\)")
# Where transformers looks a model's type up: configuration_auto.py, auto_factory.py, tokenization_auto.py.
_AUTO_CLASSES = "models/auto/"
_CHECKPOINT_TYPE = re.compile(rf"model type {_Q}?(?P<name>[\w.-]{{1,80}}){_Q}? but Transformers does not recognize")


@dataclass(frozen=True, slots=True)
class MissingName:
    """``from module import name`` failed. ``module`` is empty where nobody said it; ``path`` is the file that was looked into.

    ``circular`` says that the module was not finished, so that the name may well be in it.
    """

    name: str
    module: str = ""
    path: str = ""
    circular: bool = False


@dataclass(frozen=True, slots=True)
class MissingModule:
    """``import name`` failed: of a dotted name the part before the last dot is there. ``shadowed``: the parent that is no package."""

    name: str
    shadowed: str = ""


@dataclass(frozen=True, slots=True)
class MissingAttribute:
    """``module.name`` failed."""

    module: str
    name: str
    circular: bool = False


@dataclass(frozen=True, slots=True)
class MissingMember:
    """``object.name`` failed for an object of a class; of which module the class is, the message does not say."""

    cls: str
    name: str


@dataclass(frozen=True, slots=True)
class RefusedKeyword:
    """A call with a keyword that the function does not take. ``function`` is as Python has it: ``f`` or ``Class.method``; empty where
    nobody wrote it down."""

    function: str
    keyword: str


@dataclass(frozen=True, slots=True)
class MissingArguments:
    """A call without arguments that the function needs."""

    function: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TooManyArguments:
    """A call with more arguments by position than the function takes; both as Python counts them, the object itself among them."""

    function: str
    takes: int
    given: int


@dataclass(frozen=True, slots=True)
class UndefinedName:
    """A name that a module uses and has not."""

    name: str


@dataclass(frozen=True, slots=True)
class UnknownModelType:
    """A ``model_type`` that the installed transformers does not know."""

    name: str


Statement: TypeAlias = (
    "MissingName | MissingModule | MissingAttribute | MissingMember | RefusedKeyword | MissingArguments | TooManyArguments"
    " | UndefinedName | UnknownModelType"
)


def parse_missing_name(message: str) -> MissingName | None:
    """``cannot import name 'X' from 'a.b' (/path/b.py)``, with or without quotes, module and path."""
    found = _NAME_FROM.search(message)
    if found is None and (saved := _SAVED.search(message)) is not None:
        return MissingName(saved["name"], saved["module"], saved["path"] or "", circular=False)
    if found is None:
        return None
    path = _PATH.search(found["rest"] or "")
    circular = bool(found["partial"]) or _CIRCULAR in (found["rest"] or "")
    return MissingName(found["name"], found["module"] or "", "" if path is None else path[1], circular)


def parse_missing_module(message: str) -> MissingModule | None:
    """``No module named 'a.b'``; ``; 'a' is not a package`` says that something else has the name of the package."""
    # Some people's keyboards put a space behind the dot.
    found = _MODULE.search(re.sub(r"(?<=\w)\. (?=\w+')", ".", message))
    return None if found is None else MissingModule(found["name"], found["package"] or "")


def parse_missing_attribute(message: str) -> MissingAttribute | None:
    """``module 'a.b' has no attribute 'c'``."""
    found = _ATTRIBUTE.search(message)
    return None if found is None else MissingAttribute(found["module"], found["name"], bool(found["partial"]))


def parse_missing_member(message: str) -> MissingMember | None:
    """``'Cls' object has no attribute 'x'`` and ``type object 'Cls' has no attribute 'x'``."""
    found = None if _ATTRIBUTE.search(message) else _MEMBER.search(message) or _PLAIN_MEMBER.search(message.strip())
    return None if found is None else MissingMember(found["cls"], found["name"])


def parse_refused_keyword(message: str) -> RefusedKeyword | None:
    """``f() got an unexpected keyword argument 'k'``."""
    found = _KEYWORD.search(message)
    if found is None:
        alone = _KEYWORD_ALONE.search(message)
        return None if alone is None else RefusedKeyword("", alone["name"])
    function = re.sub(r"(?:^|(?<=\.))init$", "__init__", found["function"])
    return RefusedKeyword(function, (found["name"] or found["bare"]).replace(" ", "_"))


def parse_missing_arguments(message: str) -> MissingArguments | None:
    """``f() missing 1 required positional argument: 'x'``."""
    found = _MISSING.search(message)
    return (
        None
        if found is None
        else MissingArguments(found["function"], tuple(re.findall(r"\w{1,100}", found["names"].replace(" and ", " "))))
    )


def parse_too_many(message: str) -> TooManyArguments | None:
    """``f() takes 2 positional arguments but 3 were given``."""
    found = _TOO_MANY.search(message)
    return None if found is None else TooManyArguments(found["function"], int(found["takes"]), int(found["given"]))


def parse_undefined_name(message: str) -> UndefinedName | None:
    """``name 'x' is not defined``."""
    found = _UNDEFINED.search(message)
    return None if found is None else UndefinedName(found["name"])


def parse_model_type(failure: Failure) -> UnknownModelType | None:
    """A model type that AutoConfig does not find: transformers' own sentence, or the bare ``KeyError`` of releases before it.

    Tables of projects have such keys as well (templates, target modules): a traceback that ends outside of transformers is of one of these.
    """
    from envdoctor.world.architectures import span_of

    found = _CHECKPOINT_TYPE.search(failure.message)
    if found is not None:
        return UnknownModelType(found["name"])
    elsewhere = bool(failure.frames) and _AUTO_CLASSES not in failure.frames[-1].path.replace("\\", "/")
    key = None if failure.kind != "KeyError" or elsewhere else re.match(rf"{_Q}([\w.-]{{2,80}}){_Q}", failure.message)
    return UnknownModelType(key[1]) if key is not None and span_of(key[1]) is not None else None


def _imported_from(name: str, failure: Failure) -> str:
    """The module that the line before an error imports a name from; empty where no such line was pasted."""
    lines = [*failure.near.split("\n"), *(frame.text for frame in failure.frames[-1:])]
    found = [one["module"] for line in lines for one in _IMPORT_FROM.finditer(line) if re.search(rf"\b{name}\b", one["names"])]
    return found[-1] if found else ""


def parse_statement(failure: Failure) -> Statement | None:
    """What one error states; None where it is of no kind that is known here."""
    message = failure.message
    if "import name" in message or "Can't get attribute" in message:
        one = parse_missing_name(message)
        return replace(one, module=_imported_from(one.name, failure)) if one is not None and not one.module else one
    if "No module named" in message:
        return parse_missing_module(message)
    if "has no attribute" in message:
        return parse_missing_attribute(message) or parse_missing_member(message)
    if "unexpected keyword" in message:
        return parse_refused_keyword(message)
    if " required " in message and "() missing" in message:
        return parse_missing_arguments(message)
    if "positional argument" in message and "given" in message:
        return parse_too_many(message)
    if failure.kind in ("NameError", "") and "is not defined" in message:
        return parse_undefined_name(message)
    return parse_model_type(failure)
