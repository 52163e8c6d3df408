"""Messages that state their own constraint: which release of which package, of Python or which GPU they ask for.

Only errors and warnings of programs are read so: what people write about what they need is no statement of a program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.facts.names import canonical
from envdoctor.logs.worded_bounds import read_bounds
from envdoctor.records import dataclass
from envdoctor.sources.stated.report_words import package_name
from envdoctor.world.import_names import package_of
from envdoctor.world.releases import listed

_Q = r"['\"`*\u2018\u2019]{0,3}"
_OP = r"(?:>=|<=|==|!=|~=|>|<)"
_NUMBER = r"v?\d{1,4}(?:\.\d{1,8}){0,4}(?:\.?(?:post|dev|rc|a|b)\d{0,10})?"
_RANGE = rf"{_OP} ?{_NUMBER}(?: ?, ?{_OP} ?{_NUMBER}){{0,4}}"
_NAME = r"[A-Za-z][A-Za-z0-9]{0,30}(?:[-_.][A-Za-z0-9]{1,30}){0,4}"
# ``bitsandbytes>=0.44.0``, `pip install 'accelerate>=0.26.0'`, "tokenizers>=0.14,<0.15 is required"
_COMPARED = re.compile(rf"(?<![\w./=@-])(?P<name>{_NAME}){_Q}(?:\[[\w,-]{{1,60}}\])?(?: versions?)? ?{_Q}(?P<spec>{_RANGE})")
# "requires torch version 2.1 or higher", "needs at least accelerate 0.26.0", "install accelerate version 0.21 or newer"
_WORDED = re.compile(
    rf"(?P<least>at least |minimum |a minimum of |version of |newer than )?{_Q}(?<![\w./-])(?P<name>{_NAME}){_Q},?"
    rf"(?: versions?(?: of)?| release| package| library)? (?P<to>(?:to be |to |must be |should be )?(?:at least|"
    rf"greater than or equal to|newer than|higher than|greater than|>=)? ?)v?"
    rf"(?P<number>{_NUMBER})(?![\w%])(?P<more> ?(?:or|and|\+)? ?(?:higher|newer|later|above|greater|up|more recent|\+))?",
    re.IGNORECASE,
)
# "minimum required version of bitsandbytes is 0.43", "the minimum version of `accelerate` is 0.26"
_MINIMUM = re.compile(
    rf"minimum (?:required )?version (?:of |for )?{_Q}(?P<name>{_NAME}){_Q} (?:is|:|=) ?{_Q}v?(?P<number>{_NUMBER})", re.IGNORECASE
)
# "Found an incompatible version of auto-gptq. Found version 0.4.2, but only versions above 0.5.0 are supported"
_ONLY = re.compile(
    rf"incompatible version of {_Q}(?P<name>{_NAME}){_Q}\. .{{0,80}}only versions (?:above|from|>=?) ?(?P<number>{_NUMBER}) ?(?:are|is|on)",
    re.IGNORECASE,
)
# "please install vllm 0.7.3"
_NAMED = re.compile(
    rf"(?:please |to |and )(?:install|use|downgrade to|upgrade to|switch to) {_Q}(?P<name>{_NAME}){_Q} "
    rf"(?:version )?{_Q}v?(?P<number>\d{{1,4}}\.\d{{1,4}}(?:\.\d{{1,4}})?)(?![\w.]*[\w]|"
    rf" or| and (?:above|later|newer))",
    re.IGNORECASE,
)
# "version of diffusers must be 0.10.2 to 0.14.0"
_BETWEEN = re.compile(
    rf"(?:version of )?{_Q}(?<![\w./-])(?P<name>{_NAME}){_Q}(?: version)? must be (?:between )?v?(?P<low>{_NUMBER}) (?:to|and|-) "
    rf"v?(?P<high>{_NUMBER})",
    re.IGNORECASE,
)
# "`np.NaN` was removed in the NumPy 2.0 release", "has been removed since gradio v4.0"
_REMOVED = re.compile(
    rf"(?:was|were|has been|have been) removed (?:in|from|since|as of) (?:the )?{_Q}(?P<name>{_NAME}){_Q} (?:version |release )?v?"
    rf"(?P<number>\d{{1,4}}(?:\.\d{{1,4}}){{0,3}})(?![\w.]*\w)",
    re.IGNORECASE,
)
# "use jax.tree.map (jax v0.4.25 or newer)", "Use `np.nan` instead."
_INSTEAD = re.compile(rf"^.{{0,80}}?\b[Uu]se {_Q}([A-Za-z_]\w{{0,40}}(?:\.\w{{1,60}}){{1,6}}){_Q}(?=[\s.,;(]|$)")
# protobuf's own message, which goes on to say so, and is often pasted without its end.
_PROTOC = re.compile(
    r"your generated code is out of date and must be regenerated with protoc >= 3\.19\.0|Descriptors cannot (?:not )?be created directly"
)
_UPPER = re.compile(r"(?:\.x)? or (?:lower|earlier|older|below)", re.IGNORECASE)
# "Downgrade the protobuf package to 3.20.x or lower"
_LOWER = re.compile(
    rf"\bdowngrade (?:the )?{_Q}(?P<name>{_NAME}){_Q}(?: package)? to {_Q}v?(?P<start>(?:\d{{1,4}}\.){{0,2}})(?P<last>\d{{1,4}})\.x{_Q} or "
    r"(?:lower|earlier|older|below)",
    re.IGNORECASE,
)
# "flashinfer-cubin version (0.6.8.post1) does not match flashinfer version (0.6.10). Please install the same version of both packages"
_SAME = re.compile(
    rf"{_Q}(?P<name>{_NAME}){_Q} version {_Q}\(?{_Q}(?P<number>{_NUMBER}){_Q}\)?{_Q} "
    rf"(?:does not match|is not the same as|differs from) (?:the )?"
    rf"{_Q}(?P<other>{_NAME}){_Q} version {_Q}\(?{_Q}(?P<there>{_NUMBER})",
    re.IGNORECASE,
)
# mmcv writes what it wants as Python has it: ``mmcv>=(1, 3, 13, 0, 0, 0)``
_TUPLE = re.compile(r"[(\[](\d{1,4}(?:, ?\d{1,4}){1,5})[)\]]")
_INSTALL = re.compile(rf"(?:pip3?|uv pip) install (?:-\S{{1,40}} (?:https?://\S{{1,200}} )?){{0,4}}{_Q}(?P<name>{_NAME})(?![\w./:-])")
_INSTALL_THIS = re.compile(rf"(?:\binstall|\b[Pp]lease use|\brequires?|\bneeds?|upgrade(?: to)?|downgrade(?: to)?) {_Q}$", re.IGNORECASE)
# "requires the Levenshtein library but it was not found", "requires jinja2 to be installed", "flash_attn is not installed"
# What importlib.metadata and pkg_resources say of a distribution, before whoever asked for it says how to install itself.
_ABSENT = re.compile(rf"{_Q}(?P<name>{_NAME})(?:[<>=!~][^'\"]{{0,40}})?{_Q} distribution was not found and is required by")
_LACKS = (
    re.compile(
        rf"requires? (?:the )?{_Q}(?P<name>{_NAME}){_Q} (?:library |package |module )?(?:but it was not found|to be installed)", re.I
    ),
    re.compile(
        rf"{_Q}(?<![\w./-])(?P<name>{_NAME}){_Q} (?:library |package |module )?(?:is|was) not (?:installed|available in your)", re.I
    ),
    re.compile(
        rf"\b[Pp]lease (?:pip )?install (?:the )?{_Q}(?P<name>{_NAME}){_Q}(?: (?:library|package|first|to use|to run|with)|[.!,]|$)"
    ),
    re.compile(rf"(?:No package metadata was found for|PackageNotFoundError:(?! No package)) {_Q}(?P<name>{_NAME}){_Q}"),
)
_WANTS = re.compile(
    r"requir|\bneeds?\b|please install|not installed|not found|missing|no package metadata|\bneither\b.{1,80}\bis available", re.IGNORECASE
)
# A package that nobody tracks, where a program writes it as a name: 'requires "python-multipart" to be installed', `pip install X`
_TICK = r"['\"`\u2018\u2019]"
# transformers/dynamic_module_utils.py, check_imports
_LISTED = re.compile(r"following packages that were not found in your environment: (?P<names>[\w.-]{1,80}(?:, ?[\w.-]{1,80}){1,12})\. Run")
_ITS_OWN_WORDS = (
    re.compile(rf"[Pp]lease (?:pip )?install (?:the )?{_TICK}(?P<name>{_NAME}){_TICK}"),
    re.compile(rf"requires? (?:the )?{_TICK}(?P<name>{_NAME}){_TICK} (?:library |package |module )?to be installed"),
    re.compile(
        rf"(?:{_TICK}|[Rr]un:? |: )(?:!?python3? -m )?pip3? install (?:-U |--upgrade )?['\"]?(?P<name>{_NAME})(?=['\"`\[]|\s*[.,;)]*\s*$)"
    ),
    re.compile(rf"Neither {_TICK}(?P<name>{_NAME}){_TICK} nor {_TICK}{_NAME}{_TICK} is available"),
    re.compile(rf"Missing optional dependency {_TICK}(?P<name>{_NAME}){_TICK}"),
)
_ASKS = re.compile(
    r"requir|\bneeds?\b|please|\bmust\b|\binstall|upgrad|update|minimum|at least|make "
    r"sure|ensure|only (?:works|supported|available)|supported (?:with|from|in)"
    r"|cannot (?:not )?be created directly"
    r"|downgrade|\bwith version\b|\bremoved (?:in|from|since|as of)|does not match|not (?:supported|compatible)|incompatible",
    re.IGNORECASE,
)
_FOUND = re.compile(
    rf"(?:but (?:found|got|you have)|found|installed(?: version)?(?: is)?|current(?:ly)?(?: "
    rf"version)?(?: is)?|you have|got):? {_Q}(?:{_NAME}){{0,1}}{_Q}[ =]{{0,3}}$",
    re.IGNORECASE,
)
# "transformers==4.15.0 requires tokenizers<0.11": who asks, and no release that is asked for.
_ASKER = re.compile(rf"{_Q} (?:requires?|depends on|needs|has requirement) ")
_PYTHONS = ("python", "python3")
# setup.py of numba and of llvmlite
_ONLY_PYTHONS = re.compile(r"Cannot install on Python version [\d.]{1,9}; only versions (?P<spec>[<>=!~\d., ]{3,40}?) are supported")
# "only supported on CUDA GPUs with compute capability >= 7.5", "Bfloat16 is only supported on GPUs with compute capability of at least 8.0"
_CAPABILITY = re.compile(
    r"compute capability (?:of )?(?:at least |>= ?|higher than |greater than or equal to )?(\d{1,2}\.\d)", re.IGNORECASE
)
_BFLOAT16 = re.compile(r"\bb(?:float|f)16\b", re.IGNORECASE)
_AMPERE = re.compile(r"FlashAttention only supports (Ampere|Turing|Hopper) GPUs or newer", re.IGNORECASE)
# "Expected is_sm90 || is_sm8x || is_sm75 to be true, but got false."
_KERNELS = re.compile(r"Expected .{0,80}\bis_sm\d[\dx].{0,80} to be true, but got false")
_KERNEL = re.compile(r"\bis_sm(\d[\dx])\b")
_FLOORS = {"turing": "7.5", "ampere": "8.0", "hopper": "9.0"}


@dataclass(frozen=True, slots=True)
class Demand:
    """What a message asks for. ``package`` is normalised, or ``python`` or ``gpu.compute_capability``; ``specifier`` as in PEP 440.

    ``text`` are the words that ask for it; ``instead`` is what they say to write in the place of what is gone.
    """

    package: str
    specifier: str
    text: str
    instead: str = ""


def read_demands(message: str) -> tuple[Demand, ...]:
    """What an error or a warning asks for; none where it only tells versions."""
    message = _TUPLE.sub(lambda found: re.sub(r"(?:\.0){1,4}$", "", found[1].replace(" ", "").replace(",", ".")), message)
    bounds = [Demand(*one) for one in read_bounds(message)]
    if not bounds and not _ASKS.search(message):
        return tuple(_capabilities(message))
    found: dict[tuple[str, str], Demand] = {}
    for demand in (
        *bounds,
        *_compared(message),
        *_worded(message),
        *_minimums(message),
        *_between(message),
        *_named(message),
        *_removed(message),
        *_lower(message),
        *_same(message),
        *_capabilities(message),
        *(Demand("python", one["spec"].replace(" ", ""), one[0]) for one in _ONLY_PYTHONS.finditer(message)),
    ):
        found.setdefault((demand.package, demand.specifier), demand)
    # Where something is gone, the releases that a message names beside it are of what it says to write instead.
    gone = {one.package for one in _removed(message)}
    told = [one for one in found.values() if one.package not in gone or one.specifier.startswith("<")]
    return tuple(one for one in told if not any(_is_part(one, other) for other in told))


def _is_part(one: Demand, other: Demand) -> bool:
    """Whether a demand is one end of what the same message asks of the same package."""
    whole = other.specifier.split(",")
    return one.package == other.package and len(whole) > 1 and one.specifier in whole


def read_wants(message: str) -> tuple[str, ...]:
    """The packages that a message says are required and tells how to install: `requires Accelerate: pip install accelerate`."""
    if not _WANTS.search(message):
        return ()
    if (several := _LISTED.search(message)) is not None:
        return tuple(dict.fromkeys(canonical(package_of(name)) for name in re.findall(r"[\w.-]+", several["names"])))
    absent = _ABSENT.search(message)
    found = [package_name(one["name"]) for one in _INSTALL.finditer(message)] if absent is None else [canonical(absent["name"])]
    if not any(found):
        named = [one["name"] for lacks in _LACKS for one in lacks.finditer(message)]
        found = [name if (name := package_of(one)) in listed() else package_name(one) for one in named]
    if not any(found) and absent is None:
        found = [canonical(package_of(one["name"])) for told in _ITS_OWN_WORDS for one in told.finditer(message)][:1]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _compared(message: str) -> Iterator[Demand]:
    for found in _COMPARED.finditer(message):
        name = _known(found["name"]) or _asked_for(message, found)
        if name is None or _is_found(message, found.start()) or _ASKER.match(message, found.end()):
            continue
        specifier = re.sub(r"(?<![a-z])v(?=\d)", "", "".join(found["spec"].split()))
        # "but found tokenizers==0.13.3": what there is, not what is asked for.
        if not specifier.startswith("==") or _asks_nearby(message, found.start()):
            yield Demand(name, specifier, found[0].strip("'\"`* "))


def _worded(message: str) -> Iterator[Demand]:
    for found in _WORDED.finditer(message):
        name = _known(found["name"])
        if name is None or "." not in found["number"] or _is_found(message, found.start()):
            continue
        lower = found["least"] or found["to"].strip() or found["more"]
        if lower and _asks_nearby(message, found.start()) and not _UPPER.match(message, found.end()):
            yield Demand(name, f">={found['number'].lstrip('v')}", found[0].strip("'\"`* "))


def _minimums(message: str) -> Iterator[Demand]:
    for found in (*_MINIMUM.finditer(message), *_ONLY.finditer(message)):
        name = _known(found["name"])
        if name is not None:
            yield Demand(name, f">={found['number'].lstrip('v')}", found[0])


def _between(message: str) -> Iterator[Demand]:
    for found in _BETWEEN.finditer(message):
        name = _known(found["name"])
        if name is not None:
            yield Demand(name, f">={found['low']},<={found['high']}", found[0])


def _named(message: str) -> Iterator[Demand]:
    for found in _NAMED.finditer(message):
        name = _known(found["name"])
        if name is not None:
            yield Demand(name, f"=={found['number']}", found[0])


def _removed(message: str) -> Iterator[Demand]:
    for found in _REMOVED.finditer(message):
        name = _known(found["name"])
        if name is not None:
            told = _INSTEAD.search(message[found.end() :])
            yield Demand(name, f"<{found['number']}", found[0], told[1] if told is not None else "")


def _lower(message: str) -> Iterator[Demand]:
    if (made := _PROTOC.search(message)) is not None:
        yield Demand("protobuf", "<3.21", made[0])
    for found in _LOWER.finditer(message):
        name = _known(found["name"])
        if name is not None:
            yield Demand(name, f"<{found['start']}{int(found['last']) + 1}", found[0])


def _same(message: str) -> Iterator[Demand]:
    """Two packages that want to be of one release: the one that is known goes to the other's."""
    for found in _SAME.finditer(message):
        first, second = (
            _known(name) or (owner if (owner := package_of(name)) in listed() else None) for name in (found["name"], found["other"])
        )
        if first is not None:
            yield Demand(first, f"=={found['there'].lstrip('v')}", found[0])
        elif second is not None:
            yield Demand(second, f"=={found['number'].lstrip('v')}", found[0])


def _capabilities(message: str) -> Iterator[Demand]:
    for found in _CAPABILITY.finditer(message):
        if re.search(r"\b(?:has|have)\b(?: a| cuda)? $", message[max(0, found.start() - 14) : found.start()], re.IGNORECASE):
            continue  # what the GPU at hand has
        if re.search(
            r"only|requir|at least|need|minimum|must|lower than|less than|not supported",
            message[max(0, found.start() - 160) : found.end() + 60],
            re.IGNORECASE,
        ):
            yield Demand("gpu.compute_capability", f">={found[1]}", found[0], "float16" if _BFLOAT16.search(message) else "")
    if _KERNELS.search(message) is not None:
        least = min(found[1].replace("x", "0") for found in _KERNEL.finditer(message))
        yield Demand("gpu.compute_capability", f">={least[:-1]}.{least[-1]}", message[:160])
    if (named := _AMPERE.search(message)) is not None:
        yield Demand("gpu.compute_capability", f">={_FLOORS[named[1].lower()]}", named[0])


def _known(name: str) -> str | None:
    return "python" if name.lower() in _PYTHONS else package_name(name)


def _asked_for(message: str, found: re.Match[str]) -> str | None:
    """A package that nobody tracks, where the words right before say that it is to be installed."""
    before = message[max(0, found.start() - 24) : found.start()]
    return canonical(found["name"]) if _INSTALL_THIS.search(before) else None


def _is_found(message: str, start: int) -> bool:
    """Whether what follows is told as what there is."""
    return _FOUND.search(message[max(0, start - 60) : start]) is not None


def _asks_nearby(message: str, start: int) -> bool:
    return _ASKS.search(message[max(0, start - 140) : start + 160]) is not None
