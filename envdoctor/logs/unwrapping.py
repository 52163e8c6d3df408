"""What stands around the words of a log, undone: colours, boxes, ranks, quotes of mails, notebooks' JSON.

``bare_line`` gives a line as the program wrote it, in its own case; ``plain_line`` gives it as it is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Cursor and colour sequences, and window titles: what a terminal would act on, without the text between.
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_ANSI_BYTES = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)?|[@-Z\\-_])")
# What is left of colours where the escape character was lost on the way.
_ORPHANED = re.compile(r"\[(?:\d{1,2};)?\d{1,2}m")
_QUOTES = str.maketrans({"`": "'", "\u2018": "'", "\u2019": "'", '"': "'", "\u201c": "'", "\u201d": "'"})
# Quotes that an editor or a forum turned: https://github.com/philschmid/deep-learning-pytorch-huggingface/issues/33
_TURNED = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'})
LONGEST_LINE = 4000

# Who speaks, before what is said: torchrun, srun, mpirun, Ray, vLLM, docker compose, GitHub Actions, loggers.
_SPEAKER = re.compile(
    r"(?:"
    r"\[(?:rank|default|local_rank|worker)?[ :=]?\d{1,5}(?:,\d{1,5})?\](?:<std(?:err|out)>)?: ?"
    r"|\d{1,4}: (?=\s|\S)"
    r"|\((?:[\w.<>:-]{1,60} )?(?:pid|rank|ip)=[^()\n]{1,80}\)(?: \[repeated[^\]]{0,120}\])?:? ?"
    r"|\([\w-]{1,40}(?: pid=\d{1,9})?\) (?=\S|\s{2})"
    r"|(?:worker|node|host|gpu|ip)[\w.-]{0,40}: ?"
    r"|[\w.-]{1,40}\s{1,8}\| "
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? (?:-\s)?"
    r"|\[\d{4}-\d\d-\d\d[T ][\d:.,]{8,15}\]\s?"
    r"|[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{1,9} (?:\d{1,9} )?[\w./-]{1,120}:\d{1,6}\] ?"
    r"|(?:INFO|WARNING|WARN|ERROR|CRITICAL|DEBUG) \d\d-\d\d \d\d:\d\d:\d\d (?:\[[^\]\n]{1,80}|[\w./-]{1,80}:\d{1,6})\] ?"
    r"|\[(?:INFO|WARNING|WARN|ERROR|CRITICAL|DEBUG)(?:\|[^\]\n]{0,80})?\]:? ?(?:\[[^\]\n]{0,80}\] ?)?"
    r"|(?:INFO|WARNING|WARN|ERROR|CRITICAL|DEBUG)(?::[\w.]{1,60})?[:>] ?"
    r"|std(?:err|out): ?"
    r")"
)
# Paths that Colab and VS Code make links of.
_LINK = re.compile(r"\[((?:[A-Za-z]:)?[\\/~][^\]\n]{1,500}|<[^\]\n]{1,80})\]\([^)\n]{0,600}\)")
_QUOTED = re.compile(r"(?:> ?){1,4}")
# The two hyphens of an option, as an editor or a web page joins them: https://github.com/airbert-vln/bnb-dataset/issues/6
_JOINED = re.compile(r"(?<![\w\u2013\u2014])[\u2013\u2014](?=[a-z]\w*(?:[_=-]|$))", re.IGNORECASE)
_BOX_EDGE = re.compile(r"[╭╰┏┗┌└╔╚][─━═]{3,}.*")
_BOX_SIDE = re.compile(r"^\s{0,8}[│┃║]\s?(.*?)\s*[│┃║]?\s*$")
_ESCAPED = re.compile(r"\\(u001b|x1b|033|n|t|\"|'|\\)")
_MEANT = {"u001b": "\x1b", "x1b": "\x1b", "033": "\x1b", "n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\"}
# A line that holds lines: a JSON record, an element of a notebook's list, a string as Python prints it.
_PACKED = re.compile(
    r"\\n\s{0,8}(?:File \\?\"|Traceback|\w[\w.]{0,100}(?:Error|Exception)\b)|\\u001b\[|"
    r"\\x1b\[|(?:Error|Exception)[^\\]{0,400}\\n|Traceback[^\\]{0,60}\\n"
)
# Where a traceback that somebody pasted as one line was broken.
_BROKEN = re.compile(r"\s{1,8}(?=File \"|(?:\w{1,60}\.){0,6}[A-Z]\w{1,60}(?:Error|Exception): )|(?<=<module>)\s{2,8}")
_MOST_SPEAKERS = 4
_MOST_UNPACKED = 2000


def without_escapes(block: bytes) -> bytes:
    """The bytes of a log without what a terminal would act on."""
    return _ANSI_BYTES.sub(b"", block)


def last_state(line: bytes) -> bytes:
    """Of a line that was written over its last state, what stood there last."""
    return next((part for part in reversed(line.split(b"\r")) if part.strip()), b"")


def shorten(raw: str) -> str:
    """The two ends of a line that is longer than any message."""
    return raw if len(raw) <= LONGEST_LINE else raw[: LONGEST_LINE // 2] + " " + raw[-LONGEST_LINE // 2 :]


def plain_line(raw: str) -> str:
    """A line as it is compared: without colours, what a carriage return overwrote, case, and differences of quotes and spaces."""
    text = shorten(raw)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = next((part for part in reversed(text.split("\r")) if part.strip()), "")
    text = text.replace('"', "'").replace("`", "'") if text.isascii() else _JOINED.sub("--", text.translate(_QUOTES))
    return " ".join(text.replace("\\'", "'").lower().split())


def shown_line(raw: str) -> str:
    """A line as a report quotes it: without colours, and no more than 300 characters of it."""
    return _ANSI.sub("", raw).strip()[:300]


def bare_line(raw: str) -> str:
    """A line as the program wrote it: indented as it was, without ranks, times, levels, boxes and marks of quotation."""
    text = shorten(raw)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "[0" in text or "[3" in text:
        text = _ORPHANED.sub("", text)
    if "\r" in text:
        text = next((part for part in reversed(text.split("\r")) if part.strip()), "")
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if text[:1] == ">" and not text.startswith(">>>"):
        text = text[_end(_QUOTED, text) :]
    for _ in range(_MOST_SPEAKERS):
        end = _end(_SPEAKER, text.lstrip())
        if not end:
            break
        text = text.lstrip()[end:]
    if ("│" in text or "┃" in text or "║" in text) and "├─" not in text and "└─" not in text:
        side = _BOX_SIDE.match(text)
        text = side[1] if side else text
    elif _BOX_EDGE.match(text.strip()):
        return ""
    # What a shell or a JSON file made of a quote.
    text = text.replace("\\'", "'").rstrip()
    return text if text.isascii() else _JOINED.sub("--", text.translate(_TURNED))


def _end(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0


def unpack(raw: str) -> Iterator[str]:
    """The lines that a line holds: those of a string in JSON or as Python prints it, of a traceback pasted as one line, else itself."""
    if "Traceback (most" in raw and raw.count(' File "') > 1:
        yield from _BROKEN.split(shorten(raw))
        return
    if "\\" not in raw or not _PACKED.search(raw):
        yield raw
        return
    text = _ESCAPED.sub(lambda found: _MEANT[found[1]], raw)
    if "\\n" in text:  # a string within a string
        text = _ESCAPED.sub(lambda found: _MEANT[found[1]], text)
    for number, line in enumerate(text.split("\n")):
        if number >= _MOST_UNPACKED:
            return
        yield line
