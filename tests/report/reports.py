"""Reports to render: one as a person would meet it, and random ones with hostile text in every place that text can come from."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from envdoctor.engine.diagnosis import Because, Finding, Location, Status
from envdoctor.facts.fact import Fact, Facts, Origin, Skip
from envdoctor.probes.verdict import Verdict
from envdoctor.remedies.cures import Cure
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.model import Coverage, Diagnosed, Report
from envdoctor.rules.rule import Evidence, Rule, Severity

SDPA = Rule(
    id="torch-2-5-0-sdpa-mask-nan",
    title="padded rows of a batch become NaN",
    severity="error",
    effect="silent",
    confidence="cited",
    details="A fully masked row has no defined softmax.\n\nThe fused kernel of torch 2.5.0\nreturns NaN for it; `eager` returns zeros.",
    condition=None,
    packages=("torch",),
    evidence=(Evidence("https://github.com/pytorch/pytorch/issues/1", "issue", "the row is NaN"),),
)
UNREADABLE = Rule(
    id="requirement-malformed",
    title="a line of the requirements cannot be read",
    severity="warning",
    effect="blocked",
    confidence="boundary",
    details="The installer stops at it.",
    condition=None,
    evidence=(Evidence("https://peps.python.org/pep-0508/", "docs", "what a requirement is"),),
)

FACTS = Facts(
    {
        "packages.torch": Fact("packages.torch", "2.5.0", Origin("requirements.txt", "requirements.txt", 3)),
        "plan.attn": Fact("plan.attn", "sdpa", Origin("train.yaml", "train.yaml", 7)),
        "plan.batch_size": Fact("plan.batch_size", 2, Origin("--set")),
    }
)

MATCHED = Diagnosed(
    Finding(
        SDPA,
        "matched",
        "error",
        because=(
            Because("packages.torch", "2.5.0", "==2.5.0", "requirements.txt", "requirements.txt", 3),
            Because("plan.attn", "sdpa", "sdpa", "train.yaml", "train.yaml", 7),
        ),
        location=Location("requirements.txt", 3),
        packages=("torch",),
    ),
    (Cure("pin", "the next release", {"torch": "==2.5.1+cu118"}, {}), Cure("plan", "", {}, {"plan.attn": "eager"})),
)
MALFORMED = Diagnosed(
    Finding(UNREADABLE, "matched", "warning", location=Location("requirements.txt", 9), detail="line 9 reads 'torch=='"),
    (Cure("code", "", {}, {}, "mend the line"),),
)
POSSIBLE = Diagnosed(replace(MATCHED.finding, status="possible", missing=("plan.batch_size",)), MATCHED.cures)
REFUTED = Diagnosed(
    replace(MATCHED.finding, status="refuted"),
    (),
    Verdict("padded-batch", "refuted", "no NaN in 3 steps"),
)
CONFIRMED = Diagnosed(replace(MATCHED.finding, status="confirmed"), MATCHED.cures, Verdict("padded-batch", "confirmed", "NaN in step 1"))


def report(*findings: Diagnosed, facts: Facts = FACTS, skipped: tuple[Skip, ...] = (), strict: bool = False) -> Report:
    """A report of these findings."""
    return Report(
        version="0.1.0",
        rules=190,
        rules_digest="sha256:0",
        releases_as_of="2026-01-01",
        patient="packages of requirements.txt",
        facts=facts,
        findings=findings,
        remedy=Remedy({"torch": "==2.5.1+cu118"}, ("torch-2-5-0-sdpa-mask-nan",), ()) if findings else Remedy({}, (), ()),
        unknown=(("plan.method", 3),),
        skipped=skipped,
        coverage=Coverage(1, 1, ()),
        probes=(),
        hints=(),
        fail_on="error",
        strict=strict,
    )


# What could end a command, an element, a cell, a link or a line, or mean something to whoever shows it.
NASTY = (
    "\n::set-output name=a::b", "%0A::error::x", "::stop-commands::t", "##[error]x", "\r\n", "\x1b[31m", "]]>", "</failure>", "<script>",
    '"&\'', "| a | b |", "\\|", "`", "``` ", "@octocat", "#1", "GH-2", "https://evil.example", "www.evil.example",
    "[a](https://evil.example)", "![x](y)", "\ud800", "\udcff", "\ufffe", "\uffff", "\x00", "\u202e", "\u2028", "{0}", "a,b:c=d", "100%",
    "</details>", "---", "# head", "1. x", "$x$", ":+1:",
)  # fmt: skip
texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=12), st.builds(str.__add__, st.sampled_from(NASTY), st.sampled_from(NASTY)))
files = st.one_of(
    st.sampled_from(("requirements.txt", "a b/c#d.txt", "dir/ü.yaml", "/elsewhere/x.txt", "../up.txt", "x:y,z=%.txt", "a|b.txt")),
    texts.filter(bool),
)
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
STATUSES: tuple[Status, ...] = ("matched", "confirmed", "possible", "refuted")
NAMES = ("packages.torch", "packages.peft", "plan.attn", "plan.method", "gpu.name")
CURES = (Cure("pin", "", {"torch": "==2.5.1"}, {}), Cure("plan", "a note", {}, {"plan.bf16": True}))
ADDRESS = "https://example.org/a_b?c=d#e"


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Any report. Its texts and files are drawn from a few, so that the same text stands in many places."""
    told = st.sampled_from(draw(st.lists(texts, min_size=1, max_size=4)))
    where = st.sampled_from(draw(st.lists(files, min_size=1, max_size=3)))
    line = st.sampled_from((None, 1, 2, 7, 400))
    severity, name = st.sampled_from(SEVERITIES), st.sampled_from(NAMES)

    def rule(identity: str) -> Rule:
        evidence = (Evidence(ADDRESS, "docs", draw(told)),) if draw(st.booleans()) else ()
        title, details = draw(told).strip() or "a title", draw(told).strip() or "details"
        return Rule(identity, title, draw(severity), "crash", "boundary", details, None, packages=("torch", "x|y"), evidence=evidence)

    def because() -> Because:
        file = draw(st.none() | where)
        return Because(draw(name), draw(told), draw(told), draw(told), file, None if file is None else draw(line))

    def diagnosed() -> Diagnosed:
        finding = Finding(
            draw(st.sampled_from(rules)), draw(st.sampled_from(STATUSES)), draw(severity),
            because=tuple(because() for _ in range(draw(st.integers(0, 2)))),
            missing=draw(st.sampled_from(((), ("plan.attn", "gpu.name")))),
            location=Location(draw(where), draw(line)) if draw(st.booleans()) else None,
            detail=draw(told),
            packages=draw(st.sampled_from(((), ("torch",), ("peft", "torch")))),
        )  # fmt: skip
        return Diagnosed(
            finding, draw(st.sampled_from(((), CURES, (Cure("code", draw(told), {}, {}, draw(told)),)))),
            Verdict("padded-batch", "inconclusive", draw(told)) if draw(st.booleans()) else None,
            within=draw(st.sampled_from(((), ("extra train", draw(told))))),
            excused=draw(st.sampled_from(("", "", "", "in the baseline", "ignored: | <b>"))),
            fail_on=draw(st.sampled_from((None, None, "warning"))),
        )  # fmt: skip

    rules = [rule("rule-one"), rule("rule-two")]
    found = tuple(diagnosed() for _ in range(draw(st.integers(0, 4))))
    stated = {one: Fact(one, "v", Origin(draw(told), draw(st.none() | where), 3)) for one in draw(st.lists(name, unique=True, max_size=3))}
    skipped = tuple(Skip(draw(told), draw(told)) for _ in range(draw(st.integers(0, 2))))
    base = report(*found, facts=Facts(stated), skipped=skipped, strict=draw(st.booleans()))
    return replace(base, patient=draw(told), fail_on=draw(st.sampled_from(("error", "warning", "note", "never"))))
