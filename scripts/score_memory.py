"""How right the estimate of GPU memory is: every published measurement against what `envdoctor fit` says of the same run.

    python scripts/score_memory.py [ROWS] [--output docs/memory.md] [--json FILE] [--keep FILE] [--quality A] [--rows 100,101]
                                   [--cli N] [--show]

ROWS are the cases that are kept in the repository (fixtures/memory/cases.json, the default), or measurements as JSON lines, which
scripts/memory_rows.py turns into a config.json and a facts table each, and `--keep` writes in the form that is kept. Both files are
written to a temporary directory and read as the command reads them. `--cli N` runs the command itself for every N-th case and
compares; `--show` prints every case with what its peak is made of.

What a figure is decides what it is compared with:

- `torch.cuda.max_memory_allocated` and "peak memory active": the allocated memory that is expected;
- `torch.cuda.max_memory_reserved`, "peak reserved": the reserved memory that is expected;
- nvidia-smi, and figures whose source does not say what they are: the reserved memory with the CUDA context beside it, as large as the
  source says where it does.

Where what nobody stated leaves more than twice between low and high, the answer is that range and no figure: such a row has no error, is
counted as a range, and is in it or not. How many of the rows that state model, method, length and batch got a figure is told beside.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from memory_cases import Case, dump, load, toml
from memory_rows import case

from envdoctor.app.request import Request
from envdoctor.app.situations import gather
from envdoctor.files.json_file import Document
from envdoctor.memory.budget import usable_memory
from envdoctor.memory.config import ArchitectureError, read_architecture
from envdoctor.memory.estimate import GIB, Range
from envdoctor.memory.fits import verdict
from envdoctor.memory.situation import planned
from envdoctor.memory.undecided import spanned, weigh

KEPT = Path(__file__).parent.parent / "fixtures" / "memory" / "cases.json"
# A facts file that states no package would be completed from the machine that this runs on.
NOTHING = {"envdoctor-nothing": "1"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What `fit` says, in GiB. ``kept`` is what stays between steps: weights, adapters and the optimizer's states."""

    allocated: Range
    reserved: Range
    beside: Range
    terms: Mapping[str, float]
    peak: str
    fits: str
    moments: Mapping[str, float]
    kept: float
    ranged: bool = False
    card: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Scored:
    """One case with its answer, or ``why`` there is none. ``low``, ``expected`` and ``high`` are of what its metric is compared with."""

    case: Case
    answer: Answer | None
    low: float = 0.0
    expected: float = 0.0
    high: float = 0.0
    why: str = ""

    @property
    def error(self) -> float | None:
        """Share of the measured figure that the expected one is above it; None where the answer is no figure."""
        if self.case.measured is None or self.answer is None or self.answer.ranged:
            return None
        return (self.expected - self.case.measured) / self.case.measured

    @property
    def within(self) -> bool | None:
        """Whether the measured figure lies between low and high; None where there is none."""
        if self.case.measured is None or self.answer is None:
            return None
        return self.low <= self.case.measured <= self.high

    @property
    def asks_for_a_figure(self) -> bool:
        """Whether the row states what a figure can be asked for: the sizes of a model, the method, the length and the batch."""
        plan = self.case.plan
        return self.case.measured is not None and not self.case.reason and all(name in plan for name in ("method", "seq_len", "batch_size"))

    @property
    def exact(self) -> bool:
        """Cases of quality A, of allocated memory: what the first goals are about."""
        return self.case.quality == "A" and self.case.metric == "allocated"

    @property
    def known_card(self) -> bool:
        """Whether there is a memory that the answer could be compared with."""
        return self.answer is not None and self.answer.card is not None

    @property
    def wrong(self) -> bool | None:
        """Whether the answer to "does it fit" is wrong; None where there is nothing to compare. ``tight`` is never wrong."""
        if self.answer is None or not self.case.ended or self.answer.fits == "unknown":
            return None
        return self.answer.fits == ("no" if self.case.ended == "ok" else "yes")

    @property
    def after(self) -> float | None:
        """The error of what stays allocated after training."""
        if self.answer is None or not self.case.after:
            return None
        return self.answer.kept * GIB / self.case.after - 1


def write(one: Case, folder: Path) -> Path:
    """config.json and facts.toml of a case in a folder; the path of the latter."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(one.config, indent=1), encoding="utf-8")
    (folder / "facts.toml").write_text(toml({"packages": NOTHING, **one.facts}), encoding="utf-8")
    return folder / "facts.toml"


def answer(folder: Path, facts: Path) -> Answer:
    """What the command says of a folder and a facts file, by the functions that the command calls."""
    gathered = gather(Request(targets=(str(folder),), facts=str(facts)))
    architecture = read_architecture(_config(gathered.snapshots[0].config))
    situation = planned(gathered.facts, architecture)
    computed = situation.estimate()
    made = spanned(situation, computed, weigh(situation, computed))
    room = usable_memory(gathered.derived)
    steps = made.moments[1:] or made.moments
    kept = min(sum(moment.terms.get(term, 0.0) for term in ("weights", "adapters", "optimizer")) for moment in steps)
    return Answer(
        _gib(made.allocated),
        _gib(made.reserved),
        _gib(made.beside),
        {term: value / GIB for term, value in made.peak.terms.items()},
        made.peak.name,
        verdict(made, room).fits,
        {moment.name: moment.total / GIB for moment in made.moments},
        kept / GIB,
        made.is_a_range,
        None if room is None else room / GIB,
    )


def _config(document: Document | None) -> Mapping[str, Any]:
    return document.value if document is not None and isinstance(document.value, dict) else {}


def _gib(span: Range) -> Range:
    return Range(span.low / GIB, span.expected / GIB, span.high / GIB)


def score(one: Case, folder: Path) -> Scored:
    """One case against its answer."""
    if one.reason:
        return Scored(one, None, why=one.reason)
    try:
        said = answer(folder, write(one, folder))
    except ArchitectureError as error:
        return Scored(one, None, why=str(error))
    beside = said.beside if one.context is None else Range(one.context, one.context, one.context)
    held = _on_the_card(said)
    parts = {"allocated": (said.allocated,), "reserved": (held,), "used": (held, beside)}[one.metric]
    return Scored(one, said, sum(part.low for part in parts), sum(part.expected for part in parts), sum(part.high for part in parts))


def _on_the_card(said: Answer) -> Range:
    """The reserved memory, which is no more than the card has unless even the allocated memory is: torch gives its cache back before it
    fails."""
    most = max(said.card or math.inf, said.allocated.expected)
    return Range(min(said.reserved.low, most), min(said.reserved.expected, most), min(said.reserved.high, max(most, said.allocated.high)))


@dataclass(frozen=True, slots=True)
class Summary:
    """Errors of a group of cases, as shares of what was measured.

    ``cases`` are those with a figure, ``bias`` is the median of their signed error, ``under`` the part of them that is under-predicted by
    more than 5 %, ``within`` the part whose measured figure lies between low and high. ``ranges`` were answered by a range alone, and
    ``ranges_within`` of them hold what was measured.
    """

    cases: int
    median: float
    p90: float
    p95: float
    bias: float
    under: float
    within: float
    ranges: int = 0
    ranges_within: int = 0


def summary(scored: Iterable[Scored]) -> Summary | None:
    """None for a group in which nothing was measured; of one that has ranges alone, the errors are none."""
    measured = [one for one in scored if one.within is not None]
    group = [one for one in measured if one.error is not None]
    ranges = [one for one in measured if one.error is None]
    if not measured:
        return None
    if not group:
        return Summary(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, len(ranges), sum(one.within is True for one in ranges))
    errors = [one.error for one in group if one.error is not None]
    sizes = sorted(map(abs, errors))
    return Summary(
        len(group),
        statistics.median(sizes),
        quantile(sizes, 0.9),
        quantile(sizes, 0.95),
        statistics.median(errors),
        sum(error < -0.05 for error in errors) / len(errors),
        sum(one.within is True for one in group) / len(group),
        len(ranges),
        sum(one.within is True for one in ranges),
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest of the values that at least ``share`` of them do not exceed."""
    place = max(0, -int(-share * len(ordered) // 1) - 1)
    return ordered[min(place, len(ordered) - 1)]


def read(path: Path) -> list[Case]:
    """Cases as they are kept, or measurements as JSON lines."""
    if path.suffix == ".json":
        return load(path)
    return [case(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def scores(cases: Iterable[Case]) -> list[Scored]:
    """All of them, each in a directory of its own that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        return [score(one, Path(name) / "model") for one in cases]


def method(one: Case) -> str:
    return "PEFT, other than LoRA" if one.method.startswith("peft:") and one.method != "peft:lora" else one.method.removeprefix("peft:")


GROUPS: tuple[tuple[str, Callable[[Scored], str]], ...] = (
    ("source", lambda one: one.case.origin),
    ("method", lambda one: method(one.case)),
    ("metric", lambda one: one.case.metric),
    ("way of sharing", lambda one: str(one.case.plan.get("distributed", "none"))),
    ("loss and kernels", lambda one: one.case.kernels or "none, or not said"),
    ("model", lambda one: one.case.model),
)


def grouped(scored: Sequence[Scored], key: Callable[[Scored], str]) -> list[tuple[str, Summary]]:
    """Groups that have figures, by name."""
    names = sorted({key(one) for one in scored})
    found = ((name, summary(one for one in scored if key(one) == name)) for name in names)
    return [(name, made) for name, made in found if made is not None]


def fits(scored: Iterable[Scored]) -> tuple[list[Scored], list[Scored]]:
    """Those whose answer to "does it fit" can be judged, and those of them that were answered wrong."""
    told = [one for one in scored if one.wrong is not None]
    return told, [one for one in told if one.wrong]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """How often each verdict was given to runs of a known card that ended well, and to those that ran out of memory."""

    ended: Mapping[str, int]
    out_of_memory: Mapping[str, int]


def verdicts(scored: Iterable[Scored]) -> Verdicts:
    ended: dict[str, int] = {}
    out_of_memory: dict[str, int] = {}
    for one in scored:
        if one.answer is not None and one.case.ended and one.known_card:
            into = ended if one.case.ended == "ok" else out_of_memory
            into[one.answer.fits] = into.get(one.answer.fits, 0) + 1
    return Verdicts(ended, out_of_memory)


WIDTHS = (0.1, 0.25, 0.5, 1.0, 2.0)


def calibration(scored: Iterable[Scored]) -> list[float]:
    """Which share of what was measured lies in a range that is so many times as wide, to both sides of the figure, as the one shown."""
    known = [(one, one.case.measured) for one in scored if one.case.measured is not None and one.answer is not None]
    return [
        sum(
            one.expected - wide * (one.expected - one.low) <= found <= one.expected + wide * (one.high - one.expected)
            for one, found in known
        )
        / max(len(known), 1)
        for wide in WIDTHS
    ]


def figures(scored: Iterable[Scored]) -> tuple[int, int]:
    """How many rows state what a figure can be asked for, and how many of those got one."""
    asked = [one for one in scored if one.asks_for_a_figure]
    return len(asked), sum(one.error is not None for one in asked)


def _line(name: str, found: Summary | None) -> str:
    if found is None:
        return f"{name:<50} -"
    ranges = f"  ranges {found.ranges}, {found.ranges_within} in" if found.ranges else ""
    if not found.cases:
        return f"{name:<50}{ranges}"
    return (
        f"{name:<50} n {found.cases:>3}  median {found.median:6.1%}  p90 {found.p90:6.1%}  p95 {found.p95:6.1%}  bias {found.bias:+6.1%}"
        f"  under {found.under:5.1%}  in range {found.within:5.1%}{ranges}"
    )


def table(scored: Sequence[Scored]) -> str:
    """The figures as text."""
    lines = [
        _line("quality A, allocated", summary(one for one in scored if one.exact)),
        _line("all others", summary(one for one in scored if not one.exact)),
        _line("all", summary(scored)),
    ]
    for title, key in GROUPS:
        lines += ["", f"by {title}", *(_line(f"  {name}", found) for name, found in grouped(scored, key))]
    errors = sorted(abs(one.after) for one in scored if one.after is not None)
    if errors:
        lines += [
            "",
            f"what stays after training: n {len(errors)}, median {statistics.median(errors):.1%}, p95 {quantile(errors, 0.95):.1%}",
        ]
    for name, allocated in (("allocated", True), ("reserved or used", False)):
        some = [one for one in scored if (one.case.metric == "allocated") is allocated and one.within is not None]
        if some:
            held = ", ".join(f"{wide:g} x {share:.1%}" for wide, share in zip(WIDTHS, calibration(some), strict=True))
            lines.append(f"{name} ({len(some)}), held by so many times the range: {held}")
    asked, got = figures(scored)
    if asked:
        far = sum(abs(one.error) > 1 or one.error < -0.5 for one in scored if one.error is not None)
        lines.append(f"{got} of {asked} rows that state model, method, length and batch got a figure; figures off by more than 2 x: {far}")
    given = verdicts(scored)
    for name, counted in (("ended well", given.ended), ("out of memory", given.out_of_memory)):
        if counted:
            lines.append(f"{name}: " + ", ".join(f"{word} {counted.get(word, 0)}" for word in ("yes", "tight", "no", "unknown")))
    told, wrong = fits(scored)
    if told:
        lines.append(
            f"fits: {len(wrong)} of {len(told)} answers wrong ({len(wrong) / len(told):.1%}): {[one.case.number for one in wrong]}"
        )
    return "\n".join(lines) + "\n"


def _agree(scored: Sequence[Scored], every: int) -> int:
    """Run the command for every ``every``-th case; the number of those that it says something else about."""
    different = 0
    for one in [one for one in scored if one.answer is not None][::every]:
        with tempfile.TemporaryDirectory() as name:
            words = [sys.executable, "-m", "envdoctor", "fit", name, "--facts", str(write(one.case, Path(name))), "--format", "json"]
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        said = json.loads(done.stdout) if done.returncode in (0, 1) and done.stdout else {}
        assert one.answer is not None
        same = bool(said) and said["fits"] == one.answer.fits and said["per_gpu"]["peak_at"] == one.answer.peak
        for kind in ("allocated", "reserved") if same else ():
            told, here = said["per_gpu"][f"{kind}_gib"], getattr(one.answer, kind)
            same = same and all(abs(told[end] - getattr(here, end)) < 0.06 for end in ("low", "expected", "high"))
        if not same:
            different += 1
            print(f"case {one.case.number}: the command says {said.get('per_gpu') or done.stderr.strip()}, here {one.answer}")
    return different


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="?", default=KEPT)
    parser.add_argument("--output", type=Path, help="write the page")
    parser.add_argument("--json", type=Path, help="write every case with its answer")
    parser.add_argument("--keep", type=Path, help="write the cases in the form that the repository keeps")
    parser.add_argument("--quality", help="only cases of this quality")
    parser.add_argument("--rows", dest="only", help="only cases of these numbers")
    parser.add_argument("--cli", type=int, metavar="N", help="run the command for every N-th case as well")
    parser.add_argument("--show", action="store_true", help="print every case")
    options = parser.parse_args(words)
    cases = read(options.rows)
    if options.keep:
        options.keep.parent.mkdir(parents=True, exist_ok=True)
        options.keep.write_text(dump(cases), encoding="utf-8")
    wanted = set(options.only.split(",")) if options.only else None
    chosen = [one for one in cases if (wanted is None or str(one.number) in wanted) and options.quality in (None, one.quality)]
    scored = scores(chosen)
    if options.show:
        for one in scored:
            print(_shown(one))
    print(table(scored), end="")
    if options.json:
        options.json.write_text(json.dumps([_object(one) for one in scored], indent=1) + "\n", encoding="utf-8")
    if options.output:
        from memory_page import page

        options.output.write_text(page(scored), encoding="utf-8")
    return 1 if options.cli and _agree(scored, options.cli) else 0


def _shown(one: Scored) -> str:
    said = one.case
    plan = said.plan
    head = f"{said.number} {said.model.rpartition('/')[2][:20]} {said.method} b{plan.get('batch_size')} s{plan.get('seq_len')} x{said.gpus}"
    if one.answer is None:
        return f"{head}: {one.why}"
    terms = " ".join(f"{name[:4]} {value:.2f}" for name, value in one.answer.terms.items())
    error = ("range" if one.answer.ranged else "") if one.error is None else f"{one.error:+.1%}"
    stays = "" if one.after is None else f" after {one.after:+.1%}"
    return (
        f"{head} {said.kernels} {said.metric}: measured {said.measured} expected {one.expected:.2f} ({one.low:.2f}-{one.high:.2f}) "
        f"{error}{stays} {one.answer.fits}/{said.ended} | {one.answer.peak}: {terms}"
    )


def _object(one: Scored) -> dict[str, Any]:
    body = {"number": one.case.number, "metric": one.case.metric, "measured": one.case.measured, "error": one.error}
    return body | ({"why": one.why} if one.answer is None else {"expected": one.expected, "answer": asdict(one.answer)})


if __name__ == "__main__":
    sys.exit(main())
