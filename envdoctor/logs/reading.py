"""A log, read: what it shows of rules, its errors with their frames, what installers said, and the numbers of its losses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from envdoctor.logs.debugger_order import as_python_tells
from envdoctor.logs.installers import read_refusal
from envdoctor.logs.out_of_memory import Account, OutOfMemory
from envdoctor.logs.quoted_errors import imported_in_code, raised_in_code
from envdoctor.logs.refusal import Refusal
from envdoctor.logs.signatures import Shown, signatures
from envdoctor.logs.skimming import Kept, Skim
from envdoctor.logs.tracebacks import Failure, decisive, read_failures
from envdoctor.logs.unwrapping import bare_line, plain_line, unpack
from envdoctor.records import dataclass, replace
from envdoctor.rules.rule import Rule

# A line of a narrow terminal or a box goes on in the next one; shorter ones end where they end.
_WRAPPED_FROM = 40
# Of an error somebody often pastes the sentence alone, without the class that stands before it. A log is longer.
PASTED = 6
# In some lines more it has to be the whole of one: what follows other words may be a warning like many.
_QUOTED = 16
_WHOLE = re.compile(
    r"\s*(?:Descriptors cannot (?:not )?be created|cannot import name ['\"]|No module named ['\"]|module ['\"][\w.]+['\"] has no attribute "
    r"|['\"]\w+['\"] object has no attribute |[\w.]+\(\) got an unexpected keyword argument |name ['\"]\w+['\"] is not defined)"
)
_SAYS = re.compile(
    r"[Cc]annot import name|No module named|has no attribute|unexpected keyword argument|is not defined|undefined symbol"
    r"|\b40[134] Client Error|Cannot access gated repo|trying to access a gated repo|not used by the HfArgumentParser"
    r"|error: unrecognized arguments|positional arguments? but \d|required positional argument|does not exist or is not currently imported"
    r"|Descriptors cannot (?:not )?be created directly|^Numpy is not available$|expected scalar type \w+ but found \w+$"
    r"|multiple values for (?:keyword )?argument|incompatible (?:function|constructor) arguments"
    r"|requires the following packages that were not found in your environment"
    r"|should be the same|must have the same dtype|was removed in|size mismatch for|Expected all tensors to be on"
    r"|mat1 and mat2 shapes|must match the size of tensor|does not match \S{1,40} version|is not a supported wheel|WeightsUnpickler error"
    r"|\brequires \S{1,60} ?[<>=!~]=? ?\d.{0,80}\b(?:got|but|found|have|installed)\b"
)


# "addmm_impl_cpu_" not implemented for 'Half', without the first or the last of its quotes, or with other ones.
_KERNEL = re.compile(
    r"(?<![\w\"'])(?P<q>[\"'`\u201c\u2018]?)(?P<kernel>[A-Za-z]\w*(?:_\w*|Kernel\w*))[\"'`\u201d\u2019]?\s{1,3}not implemented for "
    r"[\"'`\u201c\u2018]?(?P<type>Half|BFloat16|Float8_\w{4,9}|Bool|Long|Int|Char|Byte)\b[\"'`\u201d\u2019]?"
)
# The optimizer's class is anybody's; rules have the one that most people use. DeepSpeed wraps its own.
_OF_AN_OPTIMIZER = re.compile(
    r"'(?!DeepSpeed)(?:[A-Z]\w{0,40})?(?:Adam|SGD|Optim|Adafactor|Adagrad|Lion|RMSprop|Shampoo|Muon|Lamb|LAMB)\w{0,40}' "
    r"object has no attribute '(train|eval)'"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """``lines`` are those worth a look, as the program wrote them, with their numbers; ``kept`` are the same as they stand in the log."""

    shown: dict[str, Shown]
    kept: tuple[Kept, ...]
    lines: tuple[tuple[int, str], ...]
    failures: tuple[Failure, ...]
    decisive: Failure | None
    refusal: Refusal | None
    too_small: Account | None
    history: str
    count: int

    @property
    def ended_well(self) -> bool:
        """Whether the run says that it came to its end, and no error is told of but in words that it went on after."""
        last, end = self.decisive, max((number for number, line in self.lines if "train_runtime" in line), default=0)
        return self.refusal is None and end > 0 and (last is None or (not last.kind and not last.frames and last.line < end))

    @property
    def packages(self) -> tuple[str, ...]:
        """The import names of all packages in frames, those of the decisive error first, innermost first."""
        first = () if self.decisive is None else self.decisive.packages
        return tuple(dict.fromkeys((*first, *(name for failure in self.failures for name in failure.packages))))


def read_log(blocks: Iterable[bytes], rules: Iterable[Rule]) -> Reading:
    """Read a log from blocks of whole lines, in bounded memory."""
    looking = signatures(rules)
    skim = Skim(looking)
    skim.read(blocks)
    kept = skim.kept()
    memory = OutOfMemory()
    lines: list[tuple[int, str]] = []
    for one in kept:
        for raw in unpack(one.text):
            bare = bare_line(raw)
            lines.append((one.number, bare))
            for event in memory.read(plain_line(bare)):
                looking.match(event, one.number, one.text)
            if raw is not one.text:
                looking.match(plain_line(bare), one.number, bare)
    for number, joined in _wrapped(lines):
        looking.match(plain_line(joined), number, joined)
    failures = read_failures(as_python_tells(lines))
    for number, whole in _kernels_cut(lines):
        looking.match(plain_line(whole), number, whole)
        if not failures:
            failures = (Failure("", whole, number),)
    refusal = read_refusal(lines)
    if not failures and refusal is None and skim.lines <= _QUOTED:
        few = skim.lines <= PASTED
        alone = ((number, line.strip()) for number, line in lines if _SAYS.search(line) and (few or _WHOLE.match(line)))
        failures = tuple(Failure("", line, number) for number, line in alone)
        if few and not failures:
            failures = tuple(raised_in_code(lines)) or tuple(imported_in_code(lines))
    for failure in failures:
        looking.match(plain_line(failure.told), failure.line, failure.told)
        if _OF_AN_OPTIMIZER.search(failure.message):
            looking.match(
                plain_line(_OF_AN_OPTIMIZER.sub("'AdamW' object has no attribute '\\1'", failure.message)), failure.line, failure.told
            )
    return Reading(
        looking.found,
        kept,
        tuple(lines),
        failures,
        decisive(failures),
        refusal,
        memory.too_small,
        skim.curve.history(),
        skim.lines,
    )


def read_misspelt(reading: Reading, rules: Iterable[Rule]) -> Reading:
    """The same with the symptoms that its few lines show but for a letter here and there."""
    if reading.count > PASTED or reading.refusal is not None:
        return replace(reading, shown={})
    looking = signatures(rules)
    for number, line in reading.lines:
        looking.match_misspelt(plain_line(line), number, line)
    return replace(reading, shown=looking.found)


def _kernels_cut(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """What torch says of a kernel that a type does not have, in its own quotes, where a line has lost them or its beginning."""
    for number, line in lines:
        found = _KERNEL.search(line) if "not implemented for" in line else None
        if found is not None and (whole := _whole(found)) not in line:
            yield number, whole


def _whole(found: re.Match[str]) -> str:
    return f"\"{found['kernel']}\" not implemented for '{found['type']}'"


def _wrapped(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Pairs of lines that may be one, broken by a terminal or a box."""
    for (number, line), (following, rest) in pairwise(lines):
        if len(line) >= _WRAPPED_FROM and following <= number + 1 and rest and rest[0] not in "{[" and "': " not in line:
            yield number, f"{line.rstrip()} {rest.strip()}"
