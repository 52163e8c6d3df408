"""The fit report as a page: one file, no script, nothing asked of the network, everything escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from envdoctor.facts.fact import Skip
from envdoctor.memory.estimate import GIB, TERMS, Assumption, Moment
from envdoctor.report.fit import FitReport
from envdoctor.report.fit_html import render
from tests.report.fits import ESTIMATE, HOSTILE, report, too_much


class Page(HTMLParser):
    """Tags with their attributes, the texts, and whether every tag that was opened was closed."""

    VOID = ("meta", "br", "line", "rect")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta" and tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


REPORTS = [report(), report(None), report(96.0), too_much()]


@pytest.mark.parametrize("made", REPORTS)
def test_the_page_is_whole_and_stands_alone(made: FitReport) -> None:
    text = render(made)
    page = Page(text)
    assert page.open == []
    names = {name for name, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "form", "input", "base"}
    for _, attributes in page.tags:
        assert not any(name.startswith("on") or name in ("src", "href") for name in attributes)
    assert "http" not in text
    assert "@import" not in text
    assert "url(" not in text
    assert text.isascii()


@pytest.mark.parametrize("made", REPORTS)
def test_every_term_of_every_moment_is_in_the_picture_at_its_size(made: FitReport) -> None:
    page = Page(render(made))
    heights = [float(attributes["height"] or 0) for name, attributes in page.tags if name == "rect" and "x" in attributes]
    sizes = [moment.terms[term] for moment in made.estimate.moments for term in TERMS if moment.terms.get(term, 0) > 0]
    assert len(heights) == len(sizes)
    largest = max(sizes)
    for height, size in zip(heights, sizes, strict=True):
        assert height == pytest.approx(max(heights) * size / largest, abs=0.2)


def test_the_picture_stays_inside_of_its_frame() -> None:
    wild = replace(ESTIMATE, moments=tuple(Moment(f"moment number {n}", {"weights": n * 300.0 * GIB}) for n in range(30)))
    for _, attributes in Page(render(replace(report(), estimate=wild))).tags:
        for name, limit in (("x", 820), ("x1", 820), ("x2", 820), ("y", 340), ("y1", 340), ("y2", 340)):
            assert 0 <= float(attributes.get(name) or 0) <= limit


def test_the_numbers_are_there_without_the_picture() -> None:
    text = " ".join(Page(render(too_much())).texts)
    assert "does not fit" in text
    assert "47.50" in text
    assert "75.56" in text
    assert "--set plan.gradient_checkpointing=true --set plan.method=qlora --set plan.quant=4bit" in text
    assert "train.jsonl" in text
    assert "transformers is not installed" in text


def test_what_was_read_is_text_and_nothing_else() -> None:
    made = replace(
        too_much(),
        model=HOSTILE,
        gpu=HOSTILE,
        stack=HOSTILE,
        assumptions=(Assumption(HOSTILE, HOSTILE, HOSTILE),),
        notes=(HOSTILE,),
        useless=(HOSTILE,),
        skipped=(Skip(HOSTILE, HOSTILE),),
        refused=HOSTILE,
        estimate=replace(ESTIMATE, moments=tuple(replace(moment, name=HOSTILE) for moment in ESTIMATE.moments)),
    )
    text = render(made)
    page = Page(text)
    assert page.open == []
    assert "script" not in {name for name, _ in page.tags}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)
    assert "<script>alert(1)</script>" in " ".join(page.texts)  # as text that is shown


def test_without_a_known_memory_no_line_is_drawn_for_it() -> None:
    assert "usable" not in " ".join(Page(render(report(None))).texts)
    assert "79.2 GiB usable" in render(report())
