"""What packages say when they refuse or warn, as it is looked up: by the rarest word of each message, and of no more than that is read.

What ends a run is bound: no warnings, and no assertions of private modules. The bound form is a head, the length of the compressed
index, the index, and compressed blocks of lines. The index has a line for each block (its place and length), an empty line, and a line
for each word with the blocks of the messages that it stands for.
"""

from __future__ import annotations

import lzma
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from envdoctor.atlas.masks import fill, read
from envdoctor.atlas.volume import DamagedAtlasError
from envdoctor.records import dataclass

MAGIC = b"envdoctor-messages 3\n"
_BLOCK = 512 * 1024
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 4, "pb": 0, "nice_len": 273}]
_QUOTES = str.maketrans("", "", "`\u2018\u2019'\"\u201c\u201d")
_WORD = re.compile(r"[a-z_]{4,}")
_SMALL = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_PASSES = re.compile(r"\w*Warning\t|(?:warning|message|info|debug)\t")
# What compilers and exporters say to those who make them: a third of all that torch says.
_OF_COMPILERS = re.compile(
    r"in (?:caffe2|torchgen|functorch|torch\.(?:_inductor|_vendor|_export|_functorch|_higher_order_ops|_prims|_refs|_decomp|_subclasses"
    r"|onnx|ao|fx|_C|_dynamo|export|_library|_meta|testing|package|_numpy|_lazy|contrib|quantization|jit|sparse))\b"
)
# Whose assertions compare shapes that only kernels and caches of their own make.
_INNER = re.compile(r"in vllm\.(?:model_executor\.layers|vllm_flash_attn|v1\.attention|distributed\.kv_transfer|third_party)\b")
# A word with a quote in it is one word in a text as it is compared, and two in the block.
_CONTRACTED = re.compile(r"\w+['\u2019]\w+")
# A pasted message may be cut: a word of its beginning is what it is found by.
_BEGINNING = 160
_LEAST_FIXED = 10
_CUT_FROM = 30
_EMBEDDED_FROM = 20
_TELLING = 60
_MOST_SHOWN = 16
# A longer template was cut where it was read.
_CUT_AT = 590
_STOPS, _QUOTED = " .:!,;", "`'\" "


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a package: ``kind`` is its exception, or the level of a log; ``lines`` are the line and the releases (as text).

    ``read`` are the releases of which its module was read (as text); without any, nobody knows which were not.
    """

    package: str
    module: str
    kind: str
    where: str
    condition: str
    text: str
    lines: tuple[tuple[int, str], ...]
    read: tuple[str, ...] = ()

    def releases(self, places: Mapping[str, int], line: int | None = None) -> int:
        """The releases that can say it; with ``line`` those that have it there."""
        mask = 0
        for at, spans in self.lines:
            if line is None or at == line:
                mask |= read(spans, places)
        return mask if line is not None or not self.read else fill(mask, self.known(places))

    def known(self, places: Mapping[str, int]) -> int:
        """The releases of which its module was read."""
        mask = 0
        for spans in self.read:
            mask |= read(spans, places)
        return mask


def plain(text: str) -> str:
    """A text as it is compared: no quotes, which people leave out or change, no capitals, single blanks."""
    return " ".join(text.translate(_QUOTES).lower().split())


def fixed_parts(template: str) -> list[str]:
    """What is written out of a template, as it is compared."""
    return [part for part in (one.strip() for one in plain(template).split("{}")) if part]


def likeness(template: str, words: str) -> int:
    """How many letters of a template a text (as ``plain`` makes it) shows, in order; 0 where it shows another message."""
    at = fixed = 0
    for number, part in enumerate(fixed_parts(template)):
        found = words.find(part, at)
        if found < 0 and part[-1] in _STOPS and words.endswith(bare := part.rstrip(_STOPS)) and bare:
            found = words.find(bare, max(at, len(words) - len(bare)))
            part = bare
        if found < 0:
            if fixed >= _LEAST_FIXED and not part.strip(_STOPS):
                continue  # a sentence is pasted without its full stop
            if len(part) > _TELLING and words.find(part[:_TELLING], at) >= 0:
                return fixed + _TELLING  # the rest was cut, or is of a release beside those that were read
            rest = words[at:].lstrip()
            # Where nothing was shown before, less than that of a part is no sign of it: most candidates are let go here.
            least = 1 if fixed >= _CUT_FROM else _CUT_FROM
            place = words.find(part[:least], at)
            while place >= 0 and not part.startswith(words[place:]):
                place = words.find(part[:least], place + 1)
            begins = words[place:] if place >= 0 else ""
            cut = fixed >= _CUT_FROM and (not rest or bool(begins))
            return fixed if cut else len(begins) if len(begins) >= _CUT_FROM else 0
        if number == 0 and not template.startswith("{}") and found > 0 and len(part) < _EMBEDDED_FROM:
            return 0
        at = found + len(part)
        fixed += len(part)
    return fixed if fixed >= _LEAST_FIXED else 0


def is_whole(template: str, words: str) -> bool:
    """Whether a text (as ``plain`` makes it) is this message from its first word to its last, and nothing else."""
    parts = fixed_parts(template)
    if not parts or len(template) >= _CUT_AT:
        return False
    words = words.rstrip(_STOPS)
    last = parts[-1].rstrip(_STOPS)
    begins, ends = template.lstrip(_QUOTED).startswith("{}"), template.rstrip(_QUOTED + _STOPS).endswith("{}")
    if len(parts) == 1:
        whole = (begins or words.startswith(last)) and (ends or words.endswith(last)) and last in words
        return whole and (begins or ends or len(words) == len(last))
    if not (begins or words.startswith(parts[0])) or not (ends or words.endswith(last)):
        return False
    at = 0
    for part in parts[:-1]:
        found = words.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return words.find(last, at) >= 0


def bind_messages(text: str) -> bytes:
    """The bytes of a package's messages, from their text."""
    modules = list(filter(None, map(_that_end_a_run, re.split(r"(?m)^(?=in )", text)[1:])))
    frequency: Counter[str] = Counter()
    for module in modules:
        for line in module.split("\n")[1:]:
            frequency.update(set(_words(line.rpartition("\t")[2])))
    blocks: list[list[str]] = [[]]
    size = 0
    for module in modules:
        if size > _BLOCK:
            blocks.append([])
            size = 0
        blocks[-1].append(module)
        size += len(module)
    anchors: dict[str, set[int]] = {}
    for place, block in enumerate(blocks):
        for module in block:
            for line in module.split("\n")[1:]:
                words = _words(line.rpartition("\t")[2])
                if words:
                    anchors.setdefault(min(words, key=lambda word: (frequency[word], -len(word), word)), set()).add(place)
    packed = [_pack("".join(block)) for block in blocks]
    at, rows = 0, []
    for data in packed:
        rows.append(f"{at} {len(data)}")
        at += len(data)
    index = _pack(
        "\n".join([*rows, "", *(f"{word} {','.join(map(str, sorted(found)))}" for word, found in sorted(anchors.items()))]) + "\n"
    )
    return MAGIC + len(index).to_bytes(4, "big") + index + b"".join(packed)


def _that_end_a_run(module: str) -> str:
    """A module without what ends no run, and without what it says only of itself; empty where nothing is left."""
    head, *lines = module.rstrip("\n").split("\n")
    if _OF_COMPILERS.match(head):
        return ""
    private = "._" in head.split(" ", 2)[1] or _INNER.match(head) is not None
    left = [line for line in lines if not _PASSES.match(line) and not (private and line.startswith("AssertionError\t"))]
    return "\n".join([head, *left]) + "\n" if left else ""


def _words(template: str) -> list[str]:
    """The whole words of a template's beginning that a text must show."""
    beginning = plain(_CONTRACTED.sub(" ", template))[:_BEGINNING]
    inner = re.sub(r"[a-z_]*\{\}[a-z_]*", " ", beginning)
    return _WORD.findall(inner if len(beginning) < _BEGINNING else inner.rpartition(" ")[0])


def _pack(text: str) -> bytes:
    return lzma.compress(text.encode(), format=lzma.FORMAT_RAW, filters=_FILTERS)


class Book:
    """The messages of one package.

    Raises:
        DamagedAtlasError: the bytes are not what ``bind_messages`` made.
    """

    def __init__(self, package: str, data: bytes, place: str) -> None:
        self.package, self._data, self._place = package, data, place
        start = len(MAGIC) + 4
        length = int.from_bytes(data[len(MAGIC) : start], "big")
        if not data.startswith(MAGIC) or len(data) < start + length:
            raise self._damaged("another beginning")
        rows, _, self._words = self._inflate(data[start : start + length]).partition("\n\n")
        self._words = f"\n{self._words}"
        self._blocks = [(int(at), int(size)) for at, size in (row.split(" ") for row in rows.split("\n"))]
        self._start = start + length
        self._read: dict[int, tuple[str, str]] = {}
        self._shown: dict[str, tuple[tuple[int, Message], ...]] = {}

    def _inflate(self, data: bytes) -> str:
        try:
            return lzma.decompress(data, format=lzma.FORMAT_RAW, filters=_FILTERS).decode()
        except (lzma.LZMAError, UnicodeDecodeError) as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, what: str) -> DamagedAtlasError:
        return DamagedAtlasError(
            self._place,
            found=f"messages that cannot be read ({what})",
            expected="what envdoctor wrote",
            next_step="install envdoctor again",
        )

    def shown(self, words: str) -> tuple[tuple[int, Message], ...]:
        """The same as ``find``, kept for a while: several findings ask it of one error."""
        found = self._shown.get(words)
        if found is None:
            if len(self._shown) >= _MOST_SHOWN:
                self._shown.clear()
            found = self._shown[words] = tuple(self.find(words))
        return found

    def find(self, words: str) -> Iterator[tuple[int, Message]]:
        """The messages that a text (as ``plain`` makes it) shows, with how many letters of each."""
        for word in set(_WORD.findall(words)):
            at = self._words.find(f"\n{word} ")
            if at >= 0:
                numbers = self._words[at + len(word) + 2 : self._words.index("\n", at + 1)]
                for number in numbers.split(","):
                    yield from self._in_block(self._block(int(number)), word, words)

    def _block(self, number: int) -> tuple[str, str]:
        """A block as it is, and in small letters (of the same length, letter by letter)."""
        if number not in self._read:
            at, size = self._blocks[number]
            block = self._inflate(self._data[self._start + at : self._start + at + size])
            self._read[number] = block, block.translate(_SMALL)
        return self._read[number]

    def _in_block(self, block: tuple[str, str], word: str, words: str) -> Iterator[tuple[int, Message]]:
        whole, small = block
        end = 0
        while (at := small.find(word, end)) >= 0:
            begin, end = whole.rfind("\n", 0, at) + 1, whole.find("\n", at)
            fields = whole[begin:end].split("\t")
            if len(fields) == 5 and (alike := likeness(fields[4], words)):
                head = whole.rfind("\nin ", 0, begin) + 1
                _, module, spans = whole[head : whole.index("\n", head)].split(" ", 2)
                kind, where, moved, condition, text = fields
                parts = tuple(spans.split("|"))
                yield alike, Message(self.package, module, kind, where, condition, text, tuple(lines_of(moved, parts)), parts)


def lines_of(moved: str, stretches: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The line in each stretch of releases that has the message."""
    parts = moved.split(",")
    line = 0
    for place, spans in enumerate(stretches):
        part = parts[place] if place < len(parts) else ""
        if part != "x":
            line += int(part or 0)
            yield line, spans
