"""The Markdown summary: what it shows, and that no text from a file does anything in it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envdoctor.engine.diagnosis import Location
from envdoctor.errors import EnvdoctorError
from envdoctor.facts.fact import Skip
from envdoctor.remedies.remedy import Remedy
from envdoctor.report.markdown import MOST_CHARACTERS, render, render_error
from envdoctor.report.markup import block, code, in_html, inline, link, prose
from envdoctor.report.model import Diagnosed, Report, Situation
from tests.report.reports import FACTS, MALFORMED, MATCHED, NASTY, POSSIBLE, REFUTED, report, reports, texts


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_report_in_full(here: Path) -> None:
    shown = report(MATCHED, replace(POSSIBLE, within=("extra train",)), skipped=(Skip("a.yaml", "a dialect of its own"),))
    assert render(shown, root=here) == (
        "## envdoctor: 1 error, 0 warnings, 0 notes, 1 possible: failed by 1 of 2 findings\n"
        "\n"
        "packages of requirements.txt; envdoctor 0.1.0, 190 rules\n"
        "\n"
        "| severity | rule | where | cure |\n"
        "| --- | --- | --- | --- |\n"
        "| **error** | [torch-2-5-0-sdpa-mask-nan](https://github.com/pytorch/pytorch/issues/1)<br>padded rows of a batch become NaN "
        '| `requirements.txt:3` | `pip install "torch==2.5.1+cu118" --extra-index-url https://download.pytorch.org/whl/cu118` |\n'
        "\n"
        "Clears it:\n"
        "\n"
        "```sh\n"
        'pip install "torch==2.5.1+cu118" --extra-index-url https://download.pytorch.org/whl/cu118\n'
        "```\n"
        "\n"
        "<details><summary>error: torch-2-5-0-sdpa-mask-nan</summary>\n"
        "\n"
        "padded rows of a batch become NaN. `requirements.txt:3`\n"
        "\n"
        "- Because torch is 2.5.0 (bad: ==2.5.0; requirements.txt:&#8203;3)\n"
        "- Because plan.attn is sdpa (bad: sdpa; train.yaml:&#8203;7)\n"
        '- Cure: `pip install "torch==2.5.1+cu118" --extra-index-url https://download.pytorch.org/whl/cu118: the next release`\n'
        "- Cure: `plan.attn = eager`\n"
        "\n"
        "A fully masked row has no defined softmax.\n"
        "\n"
        "The fused kernel of torch 2.5.0 returns NaN for it; `eager` returns zeros.\n"
        "\n"
        "- [https:/&#8203;/&#8203;github.com/pytorch/pytorch/issues/1](https://github.com/pytorch/pytorch/issues/1): the row is NaN\n"
        "\n"
        "`envdoctor explain torch-2-5-0-sdpa-mask-nan`\n"
        "\n"
        "</details>\n"
        "\n"
        "<details><summary>possible (1)</summary>\n"
        "\n"
        "- [torch-2-5-0-sdpa-mask-nan](https://github.com/pytorch/pytorch/issues/1) `requirements.txt:3`: "
        "padded rows of a batch become NaN. Needs plan.batch\\_size. Only with extra train.\n"
        "\n"
        "</details>\n"
        "\n"
        "<details><summary>not read (1)</summary>\n"
        "\n"
        "- `a.yaml: a dialect of its own`\n"
        "\n"
        "</details>\n"
        "\n"
        "<details><summary>unknown (1)</summary>\n"
        "\n"
        "- `plan.method`: 3 rules wait for it\n"
        "\n"
        "</details>\n"
    )


def test_a_healthy_project_passes_in_a_few_lines(here: Path) -> None:
    assert render(replace(report(), unknown=()), root=here) == (
        "## envdoctor: 0 errors, 0 warnings, 0 notes, 0 possible: passed\n\npackages of requirements.txt; envdoctor 0.1.0, 190 rules\n"
    )


def test_what_does_not_count_is_folded(here: Path) -> None:
    excused = replace(MALFORMED, excused="ignored until 2027-01-01: we know")
    text = render(report(REFUTED, excused), root=here)
    assert "| **" not in text
    assert "<summary>refuted (1)</summary>" in text
    assert "<summary>excused (1)</summary>" in text
    assert "ignored until 2027-01-01: we know." in text
    assert "0 warnings, 0 notes, 0 possible, 1 excused: passed" in text


def test_situations_have_pins_of_their_own(here: Path) -> None:
    torch, peft = Remedy({"torch": "==2.5.1"}, ("a",), ()), Remedy({"peft": "==0.12.0"}, ("a", "b"), ())
    several = (
        Situation("", "packages of a.txt", FACTS, torch),
        Situation("extra x", "packages of b.txt", FACTS, peft),
        Situation("", "c", FACTS, torch),
    )
    text = render(replace(report(MATCHED), situations=several), root=here)
    assert 'Clears it for packages of a.txt, c:\n\n```sh\npip install "torch==2.5.1"\n```' in text
    assert 'Clears 2 findings for packages of b.txt, extra x:\n\n```sh\npip install "peft==0.12.0"\n```' in text


@pytest.mark.large
def test_a_flood_is_cut_to_a_comment_and_says_how_much_is_left_out(here: Path) -> None:
    flood = tuple(Diagnosed(replace(MALFORMED.finding, location=Location(f"r{n}.txt", n), detail="ü" * 400), ()) for n in range(1, 900))
    text = render(report(*flood, skipped=tuple(Skip(f"{n}.yaml", "why" * 40) for n in range(900))), root=here)
    assert len(text.encode("utf-8")) <= MOST_CHARACTERS
    *_, last = text.rstrip("\n").split("\n")
    left = {what: (int(left), int(total)) for left, total, what in re.findall(r"(\d+) of (\d+) ([a-z ]+)", last)}
    assert left["findings of the table"] == (899 - text.count("| **"), 899)
    assert left["findings in detail"] == (899 - text.count("<details><summary>warning:"), 899)
    assert last.startswith("Left out, for want of room: ")
    assert "--format json" in last
    assert text.count("<details>") == text.count("</details>")


def test_an_error_says_that_nothing_was_checked() -> None:
    error = EnvdoctorError("a|b.toml", found="@x", expected="a table", next_step="look")
    assert render_error(error) == "## envdoctor: could not run\n\na\\|b.toml: found @&#8203;x; expected a table; next: look\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words, 1.2.3", "plain words, 1.2.3"),
        ("<b>&amp;", "&lt;b&gt;&amp;amp;"),
        ("[a](b) ![c](d)", "\\[a\\](b) !\\[c\\](d)"),
        ("*a* _b_ ~c~ `d`", "\\*a\\* \\_b\\_ \\~c\\~ \\`d\\`"),
        ("@octocat #12 GH-3", "@&#8203;octocat #&#8203;12 GH-&#8203;3"),
        ("https://e.x www.e.x a@b.c", "https:/&#8203;/&#8203;e.x www&#8203;.e.x a@&#8203;b.c"),
        ("a\n# b\r\nc", "a # b\\\\x0d c"),
        ("# head", "\\#&#8203; head"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("1.2 is a version", "1.2 is a version"),
        ("==1.0", "\\==1.0"),
        (":smile: a: b", ":&#8203;smile: a: b"),
        ("a|b\\|c", "a\\|b\\\\\\|c"),
        ("$x$", "\\$x\\$"),
        ("\x1b[1m", "\\\\x1b\\[1m"),
    ],
)
def test_text_is_shown_as_it_is(text: str, shown: str) -> None:
    assert inline(text) == shown


def test_code_is_fenced_by_more_than_it_holds() -> None:
    assert code("a``b`c") == "```a``b`c```"
    assert code("`a") == "`` `a ``"
    assert code("") == "` `"
    assert code("a|b", cell=True) == "<code>a\\|b</code>"
    assert code("a\\|b", cell=True) == "<code>a\\\\\\|b</code>"
    assert block("a\n```\nb", "sh") == "````sh\na\n```\nb\n````"


def test_a_link_leads_only_to_plain_addresses() -> None:
    assert link("x", "https://e.org/a_b?c#d") == "[x](https://e.org/a_b?c#d)"
    assert link("x", "javascript:alert(1)") == "x"
    assert link("x", "https://e.org/) [y](https://evil.example") == "x"


def test_prose_keeps_the_code_that_authors_mark() -> None:
    assert prose("use `pip check` <or> `x|y` and a ` alone") == "use `pip check` &lt;or&gt; `x|y` and a \\` alone"


@given(texts)
def test_no_text_marks_anything_up(text: str) -> None:
    for shown in (inline(text), in_html(text)):
        assert "\n" not in shown
        assert not re.search(r"<|@\w|(?<!&)#\d|(?<!\w)GH-\d|//|www\.|&(?!#8203;|amp;|lt;|gt;)", shown, re.IGNORECASE)
    bare = re.sub(r"\\\\", "", inline(text))
    assert not re.search(r"(?<!\\)[`*_\[\]{}|~$]", bare)


@given(st.text(st.sampled_from("ab|\\`\n"), max_size=20))
def test_a_cell_stays_one_cell(text: str) -> None:
    """A bar ends a cell unless a backslash that is not itself escaped stands before it."""
    for shown in (inline(text), code(text, cell=True)):
        assert "\n" not in shown
        assert all(len(run) % 2 for run in re.findall(r"(\\*)\|", shown))


@pytest.mark.parametrize("text", NASTY)
def test_hostile_text_everywhere_leaves_the_page_whole(text: str, here: Path) -> None:
    hostile = Diagnosed(replace(MATCHED.finding, detail=text, location=Location(f"r{text}", 1)), ())
    page = render(replace(report(hostile, skipped=(Skip(text, text),)), patient=text), root=here)
    assert page.count("\n<details><summary>") == page.count("\n</details>\n") == 3
    (row,) = [line for line in page.split("\n") if line.startswith("| **")]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 5
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", page, flags=re.DOTALL)
    assert not re.search(r"@octocat|https://evil|www\.evil|<script|GH-2", outside)


@given(reports())
def test_every_report_fits_a_comment_and_closes_what_it_opens(shown: Report) -> None:
    page = render(shown)
    assert len(page.encode("utf-8")) <= MOST_CHARACTERS
    assert page.count("<details><summary>") == page.count("\n</details>\n")
    assert "Left out" not in page
