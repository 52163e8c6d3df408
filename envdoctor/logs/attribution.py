"""Whose an error is: whether anything besides its words speaks for a rule."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import ABSENT, Exact
from envdoctor.logs.asked import ARGUMENT
from envdoctor.logs.callables_named import classes_named
from envdoctor.logs.circular_imports import NAME
from envdoctor.logs.demanded import DEMAND, NOT_INSTALLED
from envdoctor.logs.derived import ATTRIBUTE, Derived
from envdoctor.logs.ffmpeg import FFMPEG
from envdoctor.logs.installer_rules import REFUSES_PYTHON
from envdoctor.logs.likely_callers import asks_for
from envdoctor.logs.linking import FLOOR, NO_LIBRARY, SYMBOL
from envdoctor.logs.missing_modules import MODULE
from envdoctor.logs.numpy_abi import NUMPY_ABI
from envdoctor.logs.own_code import innermost_own
from envdoctor.logs.reading import Reading
from envdoctor.logs.refused_runs import TENSORS
from envdoctor.logs.run_errors import OF_INPUT, RUN
from envdoctor.logs.signatures import Shown
from envdoctor.logs.specifiers import admits
from envdoctor.logs.undefined_names import UNDEFINED
from envdoctor.logs.weights_only import WEIGHTS
from envdoctor.rules.conditions import All, Condition, PackageIs, ValueIs
from envdoctor.rules.rule import Rule
from envdoctor.world.dependencies import dependencies
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import release_texts

# A message is no longer than this.
MESSAGE_LINES = 14
# Packages that are installed with another one, and only with it.
_COMPANIONS = {"gradio-client": "gradio", "pydantic-core": "pydantic", "unsloth-zoo": "unsloth"}
# What serves an application of somebody else's: that its frames are there does not say whose the application is.
_SERVERS = frozenset(("fastapi", "starlette", "uvicorn", "anyio", "gunicorn", "flask", "werkzeug"))
# What torch says without naming itself.
_OF_TORCH = frozenset(("cuda", "tensor", "tensors", "cudnn", "cublas", "nccl", "gpu", "pytorch", "autograd", "grad"))
# Nearly every stack has these: that they are there tells no two errors apart.
EVERYBODYS = frozenset(("torch", "numpy", "transformers", "tokenizers", "huggingface-hub", "triton", "setuptools", "pandas", "protobuf"))
# What Python says of its own types, of whatever object it was.
_OF_PYTHON = re.compile(r"'(?:bool|dict|float|int|list|str|tuple)' object has no attribute")
# What CUDA, Python and safetensors say alike whoever asked: alone it is no sign of a package that is nowhere to be seen.
_ANYBODYS = re.compile(
    r"no kernel image is available|unsupported operand type\(s\) for \||Some tensors share memory|issubclass\(\) arg 1 must"
    r"|argument of type 'NoneType' is not iterable|unhashable type: '|pop from an empty|std::bad_alloc"
    r"|'(?:int|list|dict|str|float|tuple)' object has no attribute"
    r"|zip\(\) takes no keyword|exceptions\.Exit: 0|422 (?:\()?Unprocessable|Unable to avoid copy|cannot enable executable stack"
    r"|expected dtype float for `end`|CUDA driver error: device not ready|Tensor\.item\(\) cannot be called on meta"
    r"|^(?:generate|forward|map)\(\) (?:takes|got)|not supported between instances of|shape '\[-1, 0\]' is invalid"
    r"|^Expected all tensors to be on the same device"
    r"|contains custom code which must be executed to correctly load the dataset"
    r"|output tensor must have the same type|No module named 'pytest'|KeyError: 'full_attention'"
    r"|^(?:RuntimeError: )?Failed to import [\w.]+ because of the following error"
)
# "MyDataset.__init__() got an unexpected keyword argument": the class stands before it, in Python 3.10 and later.
_MADE = re.compile(r"\b(?P<cls>[A-Z]\w{1,60})\.__init__\(\) got an unexpected keyword")
_OF_TRAINERS = ("Trainer", "Arguments", "Config")
_IS_NO_NUMBER = re.compile(r"(?:loss|norm)['\"]?(?: is|:) ?['\"]?nan|^loss is nan")
# So few releases are one fault of one day.
_FEW = 2
_ADAPTERS = re.compile(r"lora|adapter|peft|p-?tuning|prefix.?tuning", re.IGNORECASE)
# What is computed of the very name, version or file that an error states.
_COMPUTED = frozenset(
    (ARGUMENT, NAME, MODULE, NOT_INSTALLED, ATTRIBUTE, DEMAND, REFUSES_PYTHON, UNDEFINED, FLOOR, NO_LIBRARY, SYMBOL, TENSORS, NUMPY_ABI)
)


def packages_there(reading: Reading, stated: Facts) -> frozenset[str]:
    """The packages in frames, versions and the environment, by normalised name."""
    of_facts = {
        name.removeprefix("packages.") for name, fact in stated.items() if name.startswith("packages.") and fact.value is not ABSENT
    }
    of_frames = {package_of(name) for name in reading.packages} - _SERVERS
    return frozenset(of_facts | of_frames | {_COMPANIONS[name] for name in of_frames & set(_COMPANIONS)})


def packages_required(stated: Facts) -> frozenset[str]:
    """What the releases that are stated require of others: it is there as well."""
    found: set[str] = set()
    for fact, one in stated.items():
        if fact.startswith("packages.") and isinstance(one.value, Exact):
            required = dependencies(fact.removeprefix("packages."), one.value.text.partition("+")[0], unbound=True)
            found |= {other.name for other in required or () if not other.marker}
    return frozenset(found)


def names_package(seen: Shown, packages: Iterable[str]) -> bool:
    """Whether the line itself names one of a rule's packages."""
    # What stands in an address tells where something is, and not whose.
    said = re.sub(r"https?://\S+", " ", f"{seen.text} {seen.symptom}")
    words = {canonical(word) for word in re.findall(r"[A-Za-z][\w-]{1,60}", said)}
    words |= {word.removeprefix("lib").partition("-")[0] for word in words if word.startswith("lib")}  # libbitsandbytes_cpu.so
    return any(name in words or (name == "torch" and words & _OF_TORCH) for name in packages)


def is_guess(
    rule: Rule, seen: Shown, reading: Reading, there: frozenset[str], derived: Sequence[Derived], *, decided: bool = False
) -> bool:
    """Whether a rule has its words alone to show, while its error is computed to be of others or was raised among others. ``decided`` says
    that the stated versions decide its condition.

    Where nobody else is told of, the rule's package is as likely as any.
    """
    own = _own_packages(rule)
    if any(one.hit.edge == WEIGHTS and is_near(seen.line, one) for one in derived):
        # One sentence of torch's for the files of many: whose it is, its frames and its stated releases say.
        besides = frozenset(rule.packages) - {"torch"}
        return besides.isdisjoint(there) and not names_package(seen, besides)
    # A class that another package has by the same name, while that is nowhere and the stated releases are this page's, is not that one's.
    homes = there if decided and not there.isdisjoint(rule.packages) else None
    if own and any(hit.packages[0] not in rule.packages and (homes is None or hit.packages[0] in homes) for hit in _exact(seen, derived)):
        return True
    if any(_asks_itself(hit, rule, own, seen, reading, there) for hit in _nearby(seen, derived)):
        return True
    if (besides := own - _SERVERS) and besides != own and besides.isdisjoint(there) and not names_package(seen, besides):
        return True  # a server that is there is that of many
    if not decided and any(hit.edge == FFMPEG for hit in _nearby(seen, derived)):
        return True  # of its own list of causes the text shows the other one
    if not decided and own.isdisjoint(there) and _IS_NO_NUMBER.search(seen.symptom):
        return True  # a loss that is no number has many causes
    if not decided and own.isdisjoint(there | EVERYBODYS) and not names_package(seen, own) and _OF_PYTHON.search(seen.symptom):
        return True
    if not decided and own.isdisjoint(there) and not names_package(seen, own - {"torch"}) and _ANYBODYS.search(seen.symptom):
        return True
    if (
        rule.affected is None
        and not rule.log_only
        and not decided
        and any(one.hit.rule in (RUN, OF_INPUT) and is_near(seen.line, one) for one in derived)
    ):
        return True  # a check of what there is, of which nothing is known
    if (made := _MADE.search(seen.text)) is not None and f"{made['cls']}." not in seen.symptom and _is_of_nobody(made["cls"]):
        return True  # a class of the project's own does not take it
    if not decided and any(hit.rule == NUMPY_ABI for hit in _nearby(seen, derived)):
        return True  # whose module was compiled for another numpy, the words do not say
    if not decided and rule.affected is not None and any(hit.rule == NO_LIBRARY for hit in _nearby(seen, derived)):
        return True  # that a library is not found does not say that another one is there
    if not decided and any(hit.rule == TENSORS for hit in _nearby(seen, derived)) and _is_of_few_releases(rule.affected):
        return True  # tensors differ in every release of everything
    others = [hit for hit in _nearby(seen, derived) if hit.pins and hit.packages and hit.packages[0] not in rule.packages]
    if not decided and others and _is_of_few_releases(rule.affected):
        return True  # that just this release ran, nobody says, and the error is computed to be another package's
    if rule.affected is not None and _is_of_adapters(rule.affected) and there and "peft" not in there and not _speaks_of_adapters(reading):
        return True
    if not own or not own.isdisjoint(there) or names_package(seen, own):
        return False
    about = list(_nearby(seen, derived))
    if _imports_another(about, own, reading):
        return True
    # Who lacks it is told first: a page that does not know of that one is about another error of the same words.
    # The code of many asked for torch._six: there somebody has to speak of the page's package.
    spoken = any(name in line for _, line in reading.lines for name in own)
    told = [hit for hit in about if spoken or not hit.edge.endswith(":torch._six")]
    if any(not own.isdisjoint(hit.packages) and not set(rule.packages).isdisjoint(hit.packages[:1]) for hit in told):
        return False
    frames = {package_of(name) for name in reading.packages} - _SERVERS
    if frames and frames.isdisjoint(rule.packages):
        return True
    # What Python itself dropped, and what a package says of its own, everybody may have asked for. A module that is gone as a whole is
    # asked for by few, and here by those of the one rule that knows of it.
    named = [hit for hit in about if hit.packages or hit.rule == REFUSES_PYTHON]
    by_few = len(reading.shown) == 1 and all(
        hit.rule == MODULE and set(hit.packages) <= set(rule.packages) and (spoken or hit.packages[:1] != ("torch",)) for hit in named
    )
    return bool(named) and not by_few


def _is_of_nobody(cls: str) -> bool:
    """Whether no package that was read has a class of a name, nor one from which it may be derived."""
    return not cls.endswith(_OF_TRAINERS) and next(classes_named(cls), None) is None


def _imports_another(named: Sequence[Hit], own: Iterable[str], reading: Reading) -> bool:
    """Whether the line that imports from the module takes names that no release of the rule's packages takes from it."""
    last = reading.decisive
    code = "" if last is None else "\n".join((last.near, *(frame.text for frame in last.frames[-2:])))
    for module in {hit.edge.partition(":")[2] for hit in named if hit.rule == MODULE}:
        taken = re.search(rf"from {re.escape(module)} import \(?([\w, ]{{2,300}})", code)
        names = re.findall(r"\w+", re.sub(r"\bas \w+", "", taken[1])) if taken is not None else []
        if names and not any(asks_for(package, f"{module}.{name}", Facts({})) for package in own for name in names):
            return True
    return False


def _is_of_few_releases(condition: Condition | None) -> bool:
    """Whether a rule accuses a release or two of a package, and so holds by chance where none is stated."""
    accused = [leaf for leaf in _needed(condition) if leaf.version.text]
    return any(0 < sum(bool(admits(leaf.version.text, text)) for text in release_texts(leaf.package)) <= _FEW for leaf in accused)


def _is_of_adapters(condition: Condition) -> bool:
    """Whether a rule holds for a run that trains an adapter, and for no other."""
    parts = condition.parts if isinstance(condition, All) else (condition,)
    methods = [part for part in parts if isinstance(part, ValueIs) and part.fact == "plan.method"]
    return any(not {*one.values} & {"full", "none"} for one in methods)


def _speaks_of_adapters(reading: Reading) -> bool:
    return any(_ADAPTERS.search(line) for _, line in reading.lines)


def _nearby(seen: Shown, derived: Sequence[Derived]) -> Iterator[Hit]:
    """What is computed of the error that a line is of."""
    return (one.hit for one in derived if one.hit.rule in _COMPUTED and one.hit.outcome and is_near(seen.line, one))


def _asks_itself(hit: Hit, rule: Rule, own: frozenset[str], seen: Shown, reading: Reading, there: frozenset[str]) -> bool:
    """Whether the project itself asks for a name of a package, or may as well: what a package gives at its top is for everybody. A page
    that knows it from one of those who ask for it is then about another run."""
    caller, _, symbol = hit.edge.partition(":")
    if hit.rule not in (NAME, ATTRIBUTE, MODULE) or not hit.packages or hit.packages[0] not in rule.packages:
        return False
    askers = own - {hit.packages[0]}
    if caller != "code":
        # Another package asks for it, which the page does not know: silero-vad for what speechbrain asked torchaudio for.
        known = caller in rule.packages or caller == hit.packages[0]
        return bool(askers) and not known and askers.isdisjoint(there) and not names_package(seen, askers)
    framed = reading.decisive is not None and bool(reading.decisive.frames)
    if framed and reading.decisive is not None and hit.packages[0] in own and innermost_own(reading.decisive) is None:
        return False  # it is raised in the code of a package, and the page is about this one
    if hit.rule == MODULE and (reading.decisive is None or innermost_own(reading.decisive) is None):
        return False  # nobody shows that it is a file of the project which imports the module
    return bool(askers) and askers.isdisjoint(there) and not names_package(seen, askers) and (framed or symbol.count(".") == 1)


def _exact(seen: Shown, derived: Sequence[Derived]) -> Iterator[Hit]:
    """What is computed of a keyword or a member, with its class: the sentence says whose it is, whoever else is on the way."""
    for one in derived:
        if one.hit.rule == ARGUMENT and one.hit.outcome and one.hit.packages and one.hit.pins and is_near(seen.line, one):
            yield one.hit


def _own_packages(rule: Rule) -> frozenset[str]:
    """The packages without which the rule does not hold, or of which it needs one: those that not everybody has, where there are such."""
    needed = {leaf.package for leaf in _needed(rule.affected)} or set(rule.packages)
    return frozenset(needed - EVERYBODYS or set(rule.packages) - EVERYBODYS or needed)


def _needed(condition: Condition | None) -> Iterator[PackageIs]:
    """Unlike those that are accused, none that another fact may stand for."""
    if isinstance(condition, All):
        for part in condition.parts:
            yield from _needed(part)
    elif isinstance(condition, PackageIs):
        yield condition


def is_near(line: int, derived: Derived) -> bool:
    """Whether a line stands where the derived finding's does."""
    return abs(line - derived.line) <= MESSAGE_LINES
