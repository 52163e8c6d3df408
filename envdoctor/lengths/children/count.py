"""Counts the tokens of every row of a training file: the file is read once, in constant memory, a thousand rows at a time."""

from __future__ import annotations

import os
import runpy
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Pending = tuple[int, Any, list[tuple[list[str], int]]]
    """Line, row, and its sequences: texts that are encoded one by one, and the tokens beside them."""

ROWS_AT_ONCE = 1000
CHARACTERS_AT_ONCE = 4_000_000
MOST_LENGTHS = 20_000
MOST_REFUSALS = 10
MOST_REASONS = 50
MOST_LONGEST = 10
ANSWERS_TO = 10_000
"""The last line whose answers are counted by themselves: enough for their share."""
_BAR = 20


def run(params: dict[str, Any], stage: Callable[[str], None]) -> dict[str, Any]:
    """Count ``data`` by the first of ``routes`` that works; see ``envdoctor.lengths.measure`` for both sides' words."""
    # The library reads it when it is loaded, and the runner has switched its threads off for the probes.
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    stage("loading the tokenizer")
    parts = [_part(name) for name in ("lines", "forms", "templates", "counters")]
    lines, _forms, _templates, counters = parts
    counter: Any = None
    by_words: Any = None
    cannot: list[str] = []
    for route in params["routes"]:
        try:
            counter = counters["open_counter"](route)
            by_words = partial(counters["by_words"], counter, route)
            cannot = []
            break
        except counters["CannotCountError"] as error:
            cannot.append(str(error))
    tables = _part("tables")
    try:
        rows = tables["Table"](params["data"]) if tables["kind_of"](params["data"]) else lines["Rows"](params["data"])
    except tables["NoTableError"] as error:
        return {"unreadable": {"found": error.found, "next_step": error.next_step}}
    counting = _Counting(params, parts, counter, by_words)
    try:
        whole = counting.all_of(rows, stage)
    except (lines["UnreadableFileError"], tables["NoTableError"]) as error:
        return {"unreadable": {"found": error.found, "next_step": error.next_step}}
    except _NoCounterError:
        return {"cannot": cannot}
    return dict(
        counting.measured(),
        whole=whole,
        array=rows.array,
        library=getattr(counter, "library", "") if counting.first is not None and counting.first.ids < 0 else "",
        route=len(cannot) if counter is None else params["routes"].index(route),
    )


class _NoCounterError(Exception):
    """A row has to be encoded, and nothing can."""


class _Counting:
    def __init__(self, params: dict[str, Any], parts: list[dict[str, Any]], counter: Any, by_words: Callable[[], Any] | None) -> None:
        _lines, self.forms, self.templates, _counters = parts
        self.counter = counter
        self.by_words = by_words
        self.glm = bool(params["glm"])
        self.seconds = float(params["seconds"])
        self.render: Any = None
        self.template = ""
        if params["template"]:
            try:
                self.render = self.templates["renderer"](params["template"], params["variables"])
            except self.templates["NoTemplateError"] as error:
                self.template = str(error)
        self.histogram: Counter[int] = Counter()
        self.reasons: Counter[str] = Counter()
        self.refusals: list[list[Any]] = []
        self.longest: list[tuple[int, int]] = []
        self.first: Any = None
        self.first_line = 0
        self.also_text = False
        self.worker = ThreadPoolExecutor(max_workers=1)
        self.ahead: tuple[list[_Pending], Future[tuple[list[int], list[int], list[int]]]] | None = None
        self.rendered = 0
        self.answers = {"rows": 0, "tokens": 0, "of": 0}
        self.pending: list[_Pending] = []
        self.characters = 0
        self.flushed = False

    def all_of(self, rows: Any, stage: Callable[[str], None]) -> bool:
        """Whether the end of the file was reached in time."""
        started = told = time.monotonic()
        for line, value, why in rows:
            self.take(line, value, why)
            if len(self.pending) >= ROWS_AT_ONCE or self.characters >= CHARACTERS_AT_ONCE:
                self.flush()
            if line % 64 == 0 or self.characters == 0:
                now = time.monotonic()
                if now - told > 0.5:
                    told = now
                    stage(progress(rows.share(), sum(self.histogram.values()), now - started))
                    if now - started > self.seconds:
                        self.end()
                        return False
        self.end()
        return True

    def end(self) -> None:
        self.flush()
        self.flush()

    def take(self, line: int, value: Any, why: str | None) -> None:
        row = why if why is not None else self.forms["read_row"](value)
        if isinstance(row, str):
            return self.refuse(line, row)
        if self.first is None:
            self.first, self.first_line, self.also_text = row, line, self.forms["also_text"](value)
        elif row.form != self.first.form:
            return self.refuse(line, f"another format ({row.form}) than line {self.first_line}")
        if row.ids >= 0:
            if row.labels >= 0:
                self.answer(row.labels, row.ids)
            return self.keep(line, row.ids)
        if self.counter is None:
            raise _NoCounterError
        try:
            sequences = self.sequences(row)
        except self.templates["RowError"] as error:
            return self.refuse(line, str(error))
        self.pending.append((line, row, sequences))
        self.characters += sum(len(text) for texts, _more in sequences for text in texts)
        return None

    def sequences(self, row: Any) -> list[tuple[list[str], int]]:
        """Each sequence of a row as texts that are encoded one by one, and how many tokens stand beside them: -1 for what the
        tokenizer itself adds to a text."""
        if not row.chats:
            return [([text], -1) for text in row.texts]
        if self.glm:
            return [_as_glm(chat) for chat in row.chats]
        if self.render is None:
            return [(["\n".join(turn["content"] for turn in chat)], -1) for chat in row.chats]
        self.rendered += 1
        return [([self.render(list(chat), row.tools)], 0) for chat in row.chats]

    def flush(self) -> None:
        """Hand the rows read so far to the tokenizer, and keep the counts of those before: it counts while the next are read."""
        pending, self.pending, self.characters = self.pending, [], 0
        if pending and self.flushed and self.by_words is not None:
            # What is longer than one batch is worth it.
            self.counter, self.by_words = self.by_words(), None
        self.flushed = True
        before, self.ahead = self.ahead, (pending, self._begin(pending)) if pending else None
        if before is not None:
            self.settle(*before)

    def _begin(self, pending: list[_Pending]) -> Future[tuple[list[int], list[int], list[int]]]:
        """The library counts in threads of its own; words are counted here, since two threads of Python only wait for each other."""
        if not getattr(self.counter, "in_python", False):
            return self.worker.submit(self._counts, pending)
        done: Future[tuple[list[int], list[int], list[int]]] = Future()
        done.set_result(self._counts(pending))
        return done

    def settle(self, pending: list[_Pending], counting: Future[tuple[list[int], list[int], list[int]]]) -> None:
        plain, whole, parts = map(iter, counting.result())
        for line, row, sequences in pending:
            tokens = [max(0, more) + sum(next(whole if more < 0 else plain) for _text in texts) for texts, more in sequences]
            self.keep(line, max(tokens))
            if line <= ANSWERS_TO and row.answers:
                self.answer(sum(next(parts) for _answer in row.answers), tokens[0])

    def _counts(self, pending: list[_Pending]) -> tuple[list[int], list[int], list[int]]:
        """Tokens of the texts that stand alone, of those to which the tokenizer adds its own, and of the answers."""
        return (
            self._count([text for _line, _row, sequences in pending for texts, more in sequences if more >= 0 for text in texts], False),
            self._count([text for _line, _row, sequences in pending for texts, more in sequences if more < 0 for text in texts], True),
            self._count([answer for line, row, _sequences in pending if line <= ANSWERS_TO for answer in row.answers], False),
        )

    def _count(self, texts: list[str], special: bool) -> list[int]:
        return list(self.counter.count(texts, special)) if texts else []

    def answer(self, tokens: int, of: int) -> None:
        self.answers["rows"] += 1
        self.answers["tokens"] += min(tokens, of)
        self.answers["of"] += of

    def keep(self, line: int, tokens: int) -> None:
        self.histogram[tokens] += 1
        if len(self.longest) < MOST_LONGEST:
            heappush(self.longest, (tokens, -line))
        else:
            heappushpop(self.longest, (tokens, -line))

    def refuse(self, line: int, why: str) -> None:
        if len(self.refusals) < MOST_REFUSALS:
            self.refusals.append([line, why])
        self.reasons[why if why in self.reasons or len(self.reasons) < MOST_REASONS else "other reasons"] += 1

    def measured(self) -> dict[str, Any]:
        lengths, step = dict(self.histogram), 1
        while len(lengths) > MOST_LENGTHS:
            step *= 2
            lengths = Counter()
            for length, count in self.histogram.items():
                lengths[-(-length // step) * step] += count
        return {
            "rows": sum(self.histogram.values()),
            "histogram": [[length, lengths[length]] for length in sorted(lengths)],
            "step": step,
            "tokens": sum(length * count for length, count in self.histogram.items()),
            "longest": [[tokens, -line] for tokens, line in sorted(self.longest, reverse=True)],
            "kind": "" if self.first is None else self.first.kind,
            "form": "" if self.first is None else self.first.form,
            "joined": "" if self.first is None else self.forms["JOINED"][self.first.kind],
            "chats": self.first is not None and bool(self.first.chats),
            "also_text": self.also_text,
            "rendered": self.rendered > 0,
            "template_unused": self.template,
            "overhead": self.overhead(),
            "answers": self.answers,
            "refused": sum(self.reasons.values()),
            "refusals": self.refusals,
            "reasons": [[why, count] for why, count in self.reasons.most_common()],
        }

    def overhead(self) -> int:
        """How many tokens the chat template would add to a question with its answer that was counted without it; -1 unknown."""
        if self.render is None or self.counter is None or self.first is None or self.first.kind not in ("alpaca", "question and answer"):
            return -1
        turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "a"}]
        try:
            rendered = self.render(turns, None)
        except self.templates["RowError"]:
            return -1
        with_template, bare = self.counter.count([rendered], False)[0], self.counter.count(["a"], False)[0]
        return max(0, int(with_template) - 2 * int(bare))


def _as_glm(chat: Any) -> tuple[list[str], int]:
    """A chat as ChatGLM3's and GLM-4's own fine-tuning scripts make it.

    Two tokens before all, for each turn the token of its role, what stands beside it with a line end, and the content; one token
    after all (``build_single_message`` of tokenization_chatglm.py, process_batch of finetune_demo).
    """
    texts: list[str] = []
    for turn in chat:
        texts += [f"{turn.get('metadata') or ''}\n", turn["content"]]
    return texts, 3 + len(chat)


def progress(share: float, rows: int, seconds: float) -> str:
    """One line: how much of the file is read, as a bar, and how long the rest will take."""
    full = int(share * _BAR)
    left = ""
    if share > 0.01 and seconds > 2:
        rest = int(seconds * (1 - share) / share)
        left = f", {rest // 60}:{rest % 60:02d} left"
    return f"counting tokens [{'#' * full}{'-' * (_BAR - full)}] {100 * share:.0f} %, {rows} rows{left}"


def _part(name: str) -> dict[str, Any]:
    return runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".py"))
