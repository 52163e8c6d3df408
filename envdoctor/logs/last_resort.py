"""What can still be said of an error that nothing explains: who raised it, or what its numbers show.

No accusation: a note that names the package in whose code the run ended, for whoever looks for the place to ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.atlas.answers import answer as look_up
from envdoctor.atlas.answers import owner_of as owner_of_symbol
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.shelf import open_package
from envdoctor.atlas.stack import places
from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.names import canonical
from envdoctor.facts.versions import Exact
from envdoctor.logs.beside_stated import with_releases_beside
from envdoctor.logs.callables_named import OFTEN, aliased, classes_called, classes_of, functions_called, functions_named
from envdoctor.logs.changed_functions import with_changes
from envdoctor.logs.compiled_sentences import says_compiled
from envdoctor.logs.error_classes import with_releases_of_class
from envdoctor.logs.everyday_names import is_anybodys_class, is_everyday
from envdoctor.logs.hosts import guest_of
from envdoctor.logs.no_number_advice import advise_no_number
from envdoctor.logs.operators import judge_operator
from envdoctor.logs.other_states import judge_states
from envdoctor.logs.own_code import RAISED_IN_OWN, innermost_own, is_known, is_of_a_package, judge_own_lines
from envdoctor.logs.owners_anywhere import classes_anywhere
from envdoctor.logs.places import owner_of
from envdoctor.logs.reading import Reading
from envdoctor.logs.sayings import home_of, others_who_say
from envdoctor.logs.stated_values import judge_general, judge_own_words
from envdoctor.logs.statements import MissingArguments, MissingMember, RefusedKeyword, TooManyArguments, parse_statement
from envdoctor.logs.torch_sentences import says_torch
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.whose_memory import with_whose_memory
from envdoctor.logs.wording import AS_SAVED, describe, named, place_of
from envdoctor.records import replace
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

RAISED, NO_NUMBER, NO_MEMORY = "error-raised-by-package", "loss-is-no-number", "gpu-memory-exhausted"

# Whoever passes through here hands on what others gave it: those before it in the traceback are nearer to the cause.
_HAND_ON = frozenset(
    ("torch", "accelerate", "pydantic", "pydantic-core", "ray", "fsspec", "multiprocess", "tqdm", "joblib", "hydra-core", "click", "typer",
     "fire", "uvicorn", "starlette", "fastapi", "anyio", "safetensors", "packaging", "concurrent")
)  # fmt: skip
_SPEAKS = re.compile(r"^\W{0,4}(?P<name>[A-Z][A-Za-z][\w.-]{1,30})\W{0,2}: ")
_ASSERT = re.compile(r"\bassert (.{4,200})")
_DOTTED = re.compile(r"(?<![\w./\\@-])(?P<path>[a-z_]\w{1,40}(?:\.[A-Za-z_]\w{0,80}){1,12})")
_FILE = re.compile(r"(?P<path>[\w./\\+-]{0,300}(?:site|dist)-packages[\\/][\w./\\+-]{1,300})")
_SOURCE = re.compile(r"(?<![\w-])(?P<name>[a-z][\w-]{2,40})[\\/](?:csrc|src)[\\/]")
# Names that mean nothing but the package.
_BY_NAME = frozenset(
    ("bitsandbytes", "deepspeed", "flash-attn", "flashinfer-python", "xformers", "unsloth", "vllm", "sglang", "llamafactory", "axolotl",
     "auto-gptq", "autoawq", "gptqmodel", "tokenizers", "sentencepiece", "liger-kernel", "torchao", "torchvision", "torchaudio", "xgrammar",
     "mamba-ssm", "causal-conv1d", "wandb", "mlflow", "openrlhf", "lightning", "pytorch-lightning", "numba", "tensorflow", "keras", "jax")
)  # fmt: skip
_SOURCES_OF = tuple(
    (re.compile(pattern), package)
    for pattern, package in (
        # https://github.com/explosion/spaCy/blob/master/spacy/errors.py numbers its errors, mlflow/protos/databricks.proto names its own.
        (r"^\[[EW]\d{3,4}\] [A-Z]", "spacy"),
        (r"\b(?:INVALID_PARAMETER_VALUE|RESOURCE_ALREADY_EXISTS|RESOURCE_DOES_NOT_EXIST): ", "mlflow"),
        (r"\bLightning(?:Module|DataModule|App|Flow|Work)\b", "pytorch-lightning"),
        # torchvision/models/_utils.py since 0.13
        (r"Arguments other than a weight enum|'pretrained' is deprecated since 0\.13", "torchvision"),
        (r"src/csrc/ops\.(?:hip|cu)\b|\bCUDA SETUP: ", "bitsandbytes"),
        (r"\bds_(?:summary|status|id|numel|tensor|shape)\b", "deepspeed"),
        (r"\bautogptq_cuda", "auto-gptq"),
        (r"flash_fwd_|flash_bwd_|FlashAttention", "flash-attn"),
        (
            r"Model architectures \[.{1,200}\] (?:are not supported|failed to be inspected)|EngineCore|EngineDeadError|[Ee]ngine core init"
            r"|is_async_output_supported|Bfloat16 is only supported on GPUs with compute capability",
            "vllm",
        ),
    )
)
# Who tells of another error is not its subject.
_HEARSAY = re.compile(
    r"^(?:(?:RuntimeError: )?Failed to import [\w.]+ because of the following error \(look up to see its traceback\):\s*)+"
)
_CUT_HEARSAY = re.compile(r"(?:RuntimeError: )?Failed to import [\w.]+(?: because of the following error)?[^:]{0,60}:?\W*")
_SPEAKS_OF_ONE = re.compile(
    r"error|fail|invalid|too old|not (?:supported|implemented|compatible|available)|cannot|unable|exception", re.IGNORECASE
)
# A warning that was pasted alone is about what it says will go.
_SINCE = re.compile(r"\bdeprecated (?:since|as of) (?:version |v)?(?P<release>\d{1,4}(?:\.\d{1,4}){1,3})\b")
_ENDS_SOON = re.compile(r"Warning: .*\b(?:deprecated|will be removed)\b")
_PASTED = 16
# One project under two names.
_TWINS = {"pytorch-lightning": ("lightning",)}
# A class or a function with a shorter name is anybody's.
_TELLING = 6
_OF_MODULE = re.compile(r"'(?P<top>[A-Za-z_]\w{2,40})(?:\.\w{1,60}){1,6}' object has no attribute")
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]")
# So long a name with an underscore in it is one package's.
_OWN_NAME = 9
_CALLED_OTHERWISE = {"flash-attention": "flash-attn", "pytorch": "torch", "flashinfer": "flashinfer-python"}
# Whose types stand in messages of everybody: torch.float32, numpy.ndarray.
_WRITTEN = frozenset(("torch", "numpy", "pandas", "pillow"))
# "argument 'tensors' must be tuple of Tensors, not Column", "expected str instance, Columns found"
_OBJECT = re.compile(
    r"\bnot '?(?P<cls>[A-Z]\w{3,60})'?$|\b(?:got|but found) (?:an? )?(?:<class ')?(?:[\w.]{1,80}\.)?(?P<other>[A-Z]\w{3,60})\b"
)
_MEMORY = re.compile(r"CUDA out of memory|OutOfMemoryError|HIP out of memory|CUDA error: out of memory", re.IGNORECASE)
_LOSS = re.compile(
    r"(?:\b|_)(?:loss|grad_norm)\b.{0,24}?(?<![a-z])nan(?![a-z_])|(?<![a-z])nan(?![a-z])[^,'\"]{0,50}\bloss\b|\boutputs?\b.{0,40}(?<![a-z])nan(?![a-z])"
    r"|\bgrad_norm\W{1,6}nan",
    re.IGNORECASE,
)
_OF_EVALUATION = re.compile(r"^\W{0,40}eval_loss\W{1,6}nan\W{0,10}$", re.IGNORECASE)
# The scaler of fp16 skips a step whose gradient is no number, as its first ones; a loss that is one, or that fell to 0, is another matter.
_LOST = re.compile(r"loss (?:-?nan|-?inf|0(?:\.0*)?(?![\d.]))")
_NO_LONGER = re.compile(r"\bno longer\b|\b(?:fix|solv|resolv)ed\b", re.IGNORECASE)
_NOT_TOLD = frozenset(("KeyboardInterrupt", "SystemExit"))


def judge_at_last(reading: Reading, facts: Facts) -> Iterator[tuple[Hit, int, str]]:
    """What is told where nothing else was found: findings with the line and the text that they are about."""
    for number, line in reading.lines:
        if _MEMORY.search(line) and not reading.ended_well:
            detail = "the GPU had no room for what was asked for, and the numbers that say who holds it were not pasted"
            full = Hit(NO_MEMORY, True, (), detail=detail, packages=(), edge="memory")
            yield with_whose_memory(full, reading, number), number, line.strip()[:300]
            return
    shown = next(((number, line) for number, line in reading.lines if _LOSS.search(line) and not _NO_LONGER.search(line)), None)
    skipped = reading.ended_well and bool(reading.history) and not _LOST.search(reading.history)
    if (reading.history or shown is not None) and not skipped:
        number, line = shown or (0, reading.history)
        detail = f"the numbers: {reading.history}" if reading.history else "the loss, its gradient or the outputs are no number"
        # Of an evaluation alone it may be that no row had a label left: nothing then is wrong with what is installed.
        sure = None if not reading.history.replace("eval_loss", "").count("loss") and _OF_EVALUATION.search(line) else True
        advice = advise_no_number(reading.lines, facts)
        yield Hit(NO_NUMBER, sure, (), detail=detail, packages=(), edge="loss", advice=advice), number or 1, line.strip()[:300]
        return
    last = reading.decisive
    if last is None and reading.refusal is None and reading.count <= _PASTED:
        for number, line in reading.lines:
            if _CUT_HEARSAY.fullmatch(line.strip()):
                return
            speaks = _SPEAKS_OF_ONE.search(line) or (_ENDS_SOON.search(line) and not reading.ended_well)
            if speaks and (spoken := named_in(line) or _owner_of_word(Failure("", line, number))):
                yield _spoken(spoken, facts, line), number, line.strip()[:300]
                return
    if last is None or last.kind in _NOT_TOLD or last.wraps:
        return
    hit = (
        judge_operator(last, facts)
        or _came_with(last, facts)
        or _explain_own(judge_own_lines(last), last)
        or (judge_states(last, facts) if last.frames else None)
    )
    # Of a sentence alone, who has what it tells of comes first.
    hit = hit or _said_by_torch(last, facts) or _raised(last, facts)
    if not last.frames:
        hit = hit or judge_states(last, facts) or judge_general(last) or judge_own_words(last)
    elif hit is None and innermost_own(last) is not None:
        hit = judge_general(last)
    if hit is not None:
        yield with_releases_beside(with_changes(hit, last, facts), facts), last.line, last.told[:300]


def _said_by_torch(failure: Failure, facts: Facts) -> Hit | None:
    """A sentence of torch's that no other package says, where no frame tells what gave it what, or of other compiled code."""
    torch = says_torch(failure, facts) if not failure.frames and not others_who_say(failure, facts) else None
    if torch is None:
        compiled = says_compiled(failure)
        if compiled is None:
            return None
        return Hit(RAISED, None, (), detail=compiled.words(), packages=(compiled.package,), edge=f"{compiled.package}:says")
    return Hit(RAISED, None, (), detail=f"{torch.words()}; it speaks of what it was given", packages=("torch",), edge="torch:says")


def _explain_own(own: Hit | None, failure: Failure) -> Hit | None:
    """What the project's own line failed of, with what is certain of the message."""
    general = judge_general(failure) if own is not None and own.headline == RAISED_IN_OWN and failure.kind != "KeyError" else None
    if own is None or general is None:
        return own
    return replace(own, headline=f"In the project's own code: {general.headline}", detail=general.detail, advice=general.advice)


def _came_with(failure: Failure, facts: Facts) -> Hit | None:
    """An object that a function does not take, of a class that came with the stated release of a package, or since one before it."""
    told = _OBJECT.search(failure.message)
    if told is None:
        return None
    cls = told["cls"] or told["other"]
    stated = [fact.removeprefix("packages.") for fact in facts if fact.startswith("packages.") and isinstance(facts.value(fact), Exact)]
    found = [hit for package in stated if (hit := _came_with_release(cls, package, failure, facts)) is not None]
    if not found:
        # Of those that most people use, one whose name the line has in some form: ``self.hf_dataset["time"]``.
        code = " ".join((failure.near, *(frame.text for frame in failure.frames)))
        others = [package for package in OFTEN if package not in stated and package.rstrip("s").replace("-", "_") in code]
        found = [hit for package in others if (hit := _came_with_release(cls, package, failure, facts)) is not None]
    return found[0] if len(found) == 1 else None


def _came_with_release(cls: str, package: str, failure: Failure, facts: Facts) -> Hit | None:
    bound, stated = open_package(package), facts.value(f"packages.{package}")
    for symbol in classes_of(bound, cls) if bound is not None else ():
        answer, volume = look_up(symbol), bound.volume if bound is not None else None
        first = stretches(answer.there)[0][0] if answer is not None and answer.there else 0
        where = places(volume, str(stated)) if volume is not None and isinstance(stated, Exact) else ()
        if volume is None or not first or (isinstance(stated, Exact) and (not where or min(where) < first)):
            continue
        raised = package_of(failure.raised_in) if failure.raised_in else ""
        detail = (
            f"{cls} is a class of {describe(package, facts)} that came with {volume.releases[first]}: code that was written before was "
            "given something else there"
        )
        pins = ((package, f"<={volume.releases[first - 1]}"),)
        return Hit(RAISED, None, (), detail=detail, packages=named(package, raised), pins=pins, edge=f"{package}:came:{cls}")
    return None


def _raised(failure: Failure, facts: Facts) -> Hit | None:
    if failure.frames and failure.frames[-1].package == "transformers_modules":
        return _of_model_code(failure.frames[-1], facts)
    # Who asks an object for an attribute stands before the frame in which the object says that it has none.
    asked = failure.frames[-2] if len(failure.frames) > 1 and failure.frames[-1].function == "__getattr__" else None
    if asked is not None and not asked.package:
        return _asked_by_own(asked, failure)
    own = innermost_own(failure)
    if own is not None and (called := _called_in(own, failure)):
        # Whoever is on the way to it has no part in what the project calls.
        line = f"which calls {describe(called, facts)} (`{own.text[:120]}`)"
        detail = f"it was raised in the project's own {place_of(own)}, {line}; no cause is known"
        return Hit(RAISED, None, (), detail=detail, packages=(called,), edge=f"{called}:called:{own.path[-60:]}:{own.line}"[:160])
    guest, kind = guest_of(failure)
    if own is not None and guest:
        detail = f"it was raised in {place_of(own)}, and the {kind} {guest} is on the way to it; no cause is known"
        return Hit(
            RAISED, None, (), detail=detail, packages=(canonical(guest),), edge=f"{canonical(guest)}:{own.path[-60:]}:{own.line}"[:160]
        )
    frames = [frame for frame in failure.frames if is_of_a_package(frame) and frame.package != "transformers_modules"]
    inner = next((frame for frame in reversed(frames) if package_of(frame.package) not in _HAND_ON), frames[-1] if frames else None)
    if inner is None:
        home = home_of(failure)
        if _CUT_HEARSAY.fullmatch(failure.message):
            return None  # whose error it is stands behind what was pasted
        spoken = (home if home not in _HAND_ON else "") or named_in(failure.message) or home or _owner_of_called(failure, facts)
        spoken = spoken or _owner_of_condition(failure)
        return with_releases_of_class(_spoken(spoken, facts), failure, home or spoken) if spoken else None
    package = package_of(inner.package)
    if (handed := _HEARSAY.search(failure.message)) is not None and package_of(frames[-1].package) == package:
        # The frames are of who imports, and not of what failed.
        other = named_in(failure.message)
        rest = failure.message[handed.end() :][:120]
        detail = (
            f"{describe(package, facts)} hands on an error of a module that it imports ({rest}); its own traceback stands above this one"
        )
        return Hit(RAISED, None, (), detail=detail, packages=named(other or package), edge=f"{package}:handed-on:{rest}"[:160])
    caller = next((one for one in _before(frames, inner) if package_of(one.package) not in (package, *_HAND_ON)), None)
    by = f", called by {describe(package_of(caller.package), facts)} ({place_of(caller)})" if caller is not None else ""
    detail = f"it was raised in {describe(package, facts)} ({place_of(inner)}){by}; no cause is known"
    if inner is not frames[-1]:
        passed = f"{package_of(frames[-1].package)}, which does what it is told ({place_of(frames[-1])})"
        detail = f"it was raised below {describe(package, facts)} ({place_of(inner)}), in {passed}{by}; no cause is known"
    if own is not None:
        detail = (
            f"it was raised in the project's own {place_of(own)}, below {describe(package, facts)} ({place_of(inner)}); no cause is known"
        )
    spoken = _owner_of_word(failure)
    if spoken and spoken != package:
        detail += f"; the message speaks of a class of {describe(spoken, facts)}"
    packages = named(package, package_of(caller.package) if caller is not None else "", spoken)
    return Hit(RAISED, None, (), detail=detail, packages=packages, edge=f"{package}:{inner.module}:{inner.function}"[:160])


def _called_in(own: Frame, failure: Failure) -> str:
    """The one package a function of which the line of a frame calls by the package's name, or by what people call it."""
    words = re.findall(r"\b([A-Za-z_]\w{1,40})(?:\.\w{1,60}){1,6}\(", own.text)
    found = {name for word in words if (name := package_of(aliased(word, failure))) not in _HAND_ON and is_known(name)}
    return found.pop() if len(found) == 1 else ""


def _owner_of_word(failure: Failure) -> str:
    """The one package that has the classes which a message names, where none of them is in two packages."""
    words = [word for word in re.findall(r"\b[A-Z][a-z]\w{8,60}\b|\b[A-Z]{2,}[a-z]\w{5,60}\b", failure.message) if _CAMEL.search(word)]
    owners = [
        {bound.volume.name for one in classes_called(word, failure, passed=True) if (bound := owner_of_symbol(one)) is not None}
        for word in dict.fromkeys(words[:4])
    ]
    # What packages derive from one that most people use, under its name, is that one's.
    found = {next((name for name in OFTEN if name in names), next(iter(names))) for names in owners if {*OFTEN} & names or len(names) == 1}
    return found.pop() if len(found) == 1 else ""


def _asked_by_own(frame: Frame, failure: Failure) -> Hit:
    code = f": `{frame.text[:120]}`" if frame.text else ""
    return Hit(
        RAISED,
        None,
        detail=f"{place_of(frame)}{code}; no release of a package that was read gives it to such an object, or nobody knows which",
        edge=f"asked:{frame.path[-60:]}:{frame.line}",
        headline=f"The project's own code asks for what is not there: {failure.message[:100]}",
        advice="take the releases that the project names, or those of the day of its last change",
    )


def _of_model_code(inner: Frame, facts: Facts) -> Hit:
    """An error in the code that came with a model's files, which is written for the transformers of its day."""
    runs = describe("transformers", facts)
    detail = (
        f"it was raised in the code that comes with the model ({place_of(inner)}), which was written for the transformers of its day"
        f"{f', and {runs} runs' if runs != 'transformers' else ''}"
    )
    return Hit(
        RAISED,
        None,
        (),
        detail=detail,
        packages=("transformers",),
        edge=f"model-code:{inner.path[-60:]}:{inner.function}",
        headline="The code that comes with the model failed, and may be for another transformers than the one that ran",
        advice=AS_SAVED,
    )


def _owner_of_condition(failure: Failure) -> str:
    """The one package that has a class with a telling name that the condition of an ``assert`` asks for."""
    condition = _ASSERT.search(failure.near)
    words = re.findall(r"\b[A-Z]\w{9,60}\b", condition[1]) if condition is not None else ()
    symbols = [one for word in dict.fromkeys(words) for one in classes_called(word, failure, passed=True)]
    owners = {bound.volume.name for one in symbols if (bound := owner_of_symbol(one)) is not None}
    return owners.pop() if len(owners) == 1 else ""


def _owner_of_called(failure: Failure, facts: Facts) -> str:
    """The one package that has the class, or the function with a telling name, which the message says was called."""
    statement = parse_statement(failure)
    if (written := _OF_MODULE.match(failure.message)) is not None and is_known(package_of(written["top"])):
        return package_of(written["top"])
    if isinstance(statement, MissingMember):
        told = len(statement.cls) >= _TELLING and not is_anybodys_class(statement.cls)
        symbols = tuple(classes_called(statement.cls, failure)) if told else ()
    elif isinstance(statement, (RefusedKeyword, MissingArguments, TooManyArguments)):
        head = statement.function.partition(".")[0]
        called = len(head) >= _TELLING and (head != head.lower() or "_" in head) and not is_everyday(head)
        symbols = tuple(classes_called(head, failure)) or tuple(functions_called(statement.function, failure)) if called else ()
        if called and not symbols and not failure.frames and "_" in head and len(head) >= _OWN_NAME:
            symbols = tuple(functions_named(head))
    else:
        symbols = ()
    owners = {bound.volume.name for one in symbols if (bound := owner_of_symbol(one)) is not None}
    if not owners and isinstance(statement, (MissingMember, RefusedKeyword, MissingArguments, TooManyArguments)):
        cls = statement.cls if isinstance(statement, MissingMember) else statement.function.rpartition(".")[0].rpartition(".")[2]
        owners = {bound.volume.name for one in classes_anywhere(cls, failure, facts) if (bound := owner_of_symbol(one)) is not None}
    return owners.pop() if len(owners) == 1 else ""


def _spoken(package: str, facts: Facts, message: str = "") -> Hit:
    detail = f"the message is one of {describe(package, facts)}, or speaks of its code; nothing more is known of it"
    if (since := _SINCE.search(message)) is not None:
        detail += f" than what it says itself: releases {since['release']}-"
    return Hit(RAISED, None, (), detail=detail, packages=(package, *_TWINS.get(package, ())), edge=package)


def _before(frames: list[Frame], inner: Frame) -> list[Frame]:
    """The frames before one, the nearest first."""
    place = len(frames) - 1 - frames[::-1].index(inner)
    return frames[:place][::-1]


def named_in(message: str) -> str:
    """The one package that a message is of by its own words: it begins with its name, or tells a class, a module or a file of it."""
    known = listed()
    message = _HEARSAY.sub("", message)
    spoken = _SPEAKS.match(message)
    if spoken is not None and (name := _name(spoken["name"])) in known:
        return name
    found = {package_of(owner) for one in _FILE.finditer(message) if (owner := owner_of(one["path"])[0])}
    found |= {name for one in _SOURCE.finditer(message) if (name := _name(one["name"])) in known}
    found |= {package for pattern, package in _SOURCES_OF if pattern.search(message)}
    found |= {name for word in re.findall(r"(?<![\w'\"`])[A-Za-z][\w-]{3,30}", message) if (name := _name(word)) in _BY_NAME}
    if not found:
        tops = (package_of(one["path"].partition(".")[0]) for one in _DOTTED.finditer(message))
        found = {name for name in tops if name in known and name not in _WRITTEN}
    return found.pop() if len(found) == 1 else ""


def _name(word: str) -> str:
    name = canonical(word)
    return _CALLED_OTHERWISE.get(name, package_of(word) if package_of(word) in listed() else name)
