"""docs/memory.md: how right the estimate of memory is, case by case; `python scripts/score_memory.py --output docs/memory.md` writes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memory_cases import Case
from score_memory import GROUPS, Scored, Summary, figures, fits, grouped, quantile, summary, verdicts

_HEAD = """# How right the estimate of memory is

Made by `python scripts/score_memory.py --output docs/memory.md` from the measurements that others have published
(`fixtures/memory/cases.json`). Each is stated as a user would state it: the sizes of the model as a `config.json`, the run as a facts
table. The answer of `envdoctor fit` to these two is compared with what was measured.

What a figure is decides what it is compared with:

- *allocated*: `torch.cuda.max_memory_allocated()`, or the peak of active memory: with the allocated memory that is expected;
- *reserved*: `torch.cuda.max_memory_reserved()`: with the reserved memory that is expected;
- *used*: nvidia-smi, or a figure whose source does not say what it is: with the reserved memory and the CUDA context together, as large
  as the source says where it does.

The error is (expected - measured) / measured: above 0 the estimate is the larger one. *under* is the part of the cases that are
under-predicted by more than 5 %, *in range* the part that lies between the low and the high end of the estimate. Quality A are cases
whose source states every size and version that decides; of the others it leaves some open: the length of the rows, the batch, the
releases, or what its figure is. Where what nobody stated leaves more than twice between low and high, the answer is that *range* and no
figure: such a row has no error, and is counted apart. What a source says and no fact can express is in the last column; the estimate
does not know of it.
"""
_SHORT = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}


def page(scored: Sequence[Scored]) -> str:
    """The whole page."""
    told, wrong = fits(scored)
    lines = [_HEAD]
    lines += _summaries(
        "group",
        [
            ("quality A, allocated", summary(one for one in scored if one.exact)),
            ("all others", summary(one for one in scored if not one.exact)),
            ("all", summary(scored)),
        ],
    )
    lines.append("")
    if told:
        numbers = f" ({', '.join(str(one.case.number) for one in wrong)})" if wrong else ""
        lines += [
            f"Of {len(told)} runs on a GPU of known size, {len(wrong)} were answered wrong{numbers}: one that ended well was told `no`,",
            "or one that ran out of memory `yes`. `tight` is never counted as wrong.",
            "",
            *_verdicts(scored),
            "",
        ]
    asked, got = figures(scored)
    if asked:
        lines += [f"Of {asked} rows that state model, method, length and batch {got} got a figure, the others a range.", ""]
    after = sorted(abs(one.after) for one in scored if one.after is not None)
    if after:
        lines += [
            f"What stays allocated when training is over is weights, adapters and the states of the optimizer: {len(after)} runs tell it.",
            f"Median error {quantile(after, 0.5):.1%}, 95th percentile {quantile(after, 0.95):.1%}.",
            "",
        ]
    for title, key in GROUPS:
        lines += [f"## By {title}", "", *_summaries(title, grouped(scored, key)), ""]
    lines += ["## Every case", "", *_cases(scored), "", "## Sources", "", *_sources(one.case for one in scored)]
    return "\n".join(lines) + "\n"


def _verdicts(scored: Sequence[Scored]) -> list[str]:
    """What runs on cards of a known size were told, against how they ended."""
    given = verdicts(scored)
    words = ("yes", "tight", "no", "unknown")
    lines = ["| run | " + " | ".join(words) + " |", "|---|---|---|---|---|"]
    for name, counted in (("ended well", given.ended), ("ran out of memory", given.out_of_memory)):
        lines.append(f"| {name} | " + " | ".join(str(counted.get(word, 0)) for word in words) + " |")
    return lines


def _summaries(title: str, groups: Iterable[tuple[str, Summary | None]]) -> list[str]:
    lines = [
        f"| {title} | figures | median | p90 | p95 | bias | under | in range | ranges | in them |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, found in groups:
        if found is not None and not found.cases:
            lines.append(f"| {name} | 0 | - | - | - | - | - | - | {found.ranges} | {found.ranges_within} |")
        elif found is not None:
            ranges = f"{found.ranges} | {found.ranges_within}" if found.ranges else "- | -"
            figures = f"{found.median:.1%} | {found.p90:.1%} | {found.p95:.1%} | {found.bias:+.1%} | {found.under:.1%} | {found.within:.0%}"
            lines.append(f"| {name} | {found.cases} | {figures} | {ranges} |")
    return lines


def _cases(scored: Iterable[Scored]) -> list[str]:
    lines = [
        "| case | model | run | figure | measured GiB | expected GiB | range | error | fits | ended | not expressed |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in scored:
        said = one.case
        measured = "-" if said.measured is None else f"{said.measured:.2f}"
        error = ("range" if one.answer is not None and one.answer.ranged else "-") if one.error is None else f"{one.error:+.1%}"
        missing = "; ".join(said.not_stated)
        head = f"| {said.number} | {said.model} | {setting(said)} | {said.metric}, {said.quality} | {measured}"
        if one.answer is None:
            lines.append(f"{head} | - | - | - | - | {said.ended or '-'} | {one.why} |")
            continue
        figures = f"{one.expected:.2f} | {one.low:.2f} - {one.high:.2f} | {error} | {one.answer.fits} | {said.ended or '-'}"
        lines.append(f"{head} | {figures} | {missing or '-'} |")
    return lines


def setting(case: Case) -> str:
    """A run in a few words."""
    plan = case.plan
    words = [case.method]
    if plan.get("quant", "none") != "none":
        words.append(str(plan["quant"]))
    if "load_dtype" in plan:
        words.append(_SHORT.get(plan["load_dtype"], plan["load_dtype"]))
    words += [f"{short} autocast" for short in ("bf16", "fp16") if plan.get(short)]
    words.append(_shape(plan))
    if "lora_r" in plan:
        words.append(f"r {plan['lora_r']}")
    if plan.get("gradient_checkpointing"):
        words.append("checkpointing")
    words += [str(plan[name]) for name in ("attn", "optimizer", "distributed") if name in plan]
    words += [name for name in ("liger", "compile") if plan.get(name)]
    if "offload" in plan:
        words.append(f"offload {plan['offload']}")
    if case.gpus > 1:
        words.append(f"{case.gpus} GPUs")
    return ", ".join(words)


def _shape(plan: Mapping[str, Any]) -> str:
    shape = f"{plan.get('batch_size', '?')} x {plan.get('seq_len', '?')}"
    steps = plan.get("gradient_accumulation", 1)
    return f"{shape}, {steps} steps" if steps > 1 else shape


def _sources(cases: Iterable[Case]) -> list[str]:
    """Each address with the cases that were read from it, and the releases it names."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.source, []).append(case)
    lines = ["| source | cases | releases |", "|---|---|---|"]
    for source, its in sorted(found.items()):
        stacks = {", ".join(f"{name} {version}" for name, version in case.facts.get("packages", {}).items()) for case in its}
        lines.append(f"| <{source}> | {_numbers([case.number for case in its])} | {'; '.join(sorted(stacks - {''})) or 'not told'} |")
    return lines


def _numbers(numbers: Sequence[int]) -> str:
    """1, 2, 3, 5 as 1-3, 5."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
