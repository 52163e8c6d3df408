"""The chat template: whether it can be parsed, which release reads it, and whether its markers are tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envdoctor.checks.hit import Hit
from envdoctor.coherence.jinja_blocks import NEWER_TAGS, first_output, read_blocks, without_comments
from envdoctor.coherence.token_table import TokenTable, read_tokens
from envdoctor.facts.fact import Defect, Facts
from envdoctor.facts.uses import ADDS_NO_BOS, CODE_USES, RENDERS, SETS_TEMPLATE, does
from envdoctor.facts.versions import Exact, Ranged, version_condition
from envdoctor.facts.vocabulary import TRAINING
from envdoctor.files.text import plain
from envdoctor.records import dataclass
from envdoctor.sources.model.snapshot import Snapshot, table_of

FILE = "chat_template.jinja"
_CONFIG = "tokenizer_config.json"
# Templates of tens of thousands of characters exist; one that is ten times as long is left unread.
_LONGEST = 2**18
# The first release whose tokenizers read chat_template.jinja: tokenization_utils_base.py of the wheels, 4.46.3 against 4.47.0.
_FILE_SINCE = "4.47.0"

# Tokens with which a turn ends, of the template formats that have one of their own.
TURN_ENDS = ("<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|eot|>", "<|end|>", "<|end_of_turn|>", "<|END_OF_TURN_TOKEN|>")
# Markers that every tokenizer made for their format has as one token. <|user|> and <|assistant|> are not among them:
# Zephyr and its followers write them as plain text (https://github.com/hiyouga/LlamaFactory/issues/2147).
_ONE_TOKEN = (
    "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<start_of_turn>", "<end_of_turn>",
    "<|header_start|>", "<|header_end|>", "<|eot|>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>",
)  # fmt: skip
_MARKER = re.compile(r"<\|[^|<>\s'\"{}]{1,48}\|>|<\uff5c[^\uff5c<>\s'\"{}]{1,48}\uff5c>|<(?:start|end)_of_turn>")
_ROLE_BETWEEN_BARS = re.compile(r"""<\|['"]\s*[+~]\s*\w+(?:\.role|\[['"]role['"]\])\s*[+~]\s*['"]\|>""")


@dataclass(frozen=True, slots=True)
class Template:
    """A chat template and the file it stands in; ``line`` is that of the key in tokenizer_config.json."""

    text: str
    name: str
    line: int | None


def template_of(snapshot: Snapshot) -> Template | None:
    """The template that a current transformers uses: that of its own file before that of tokenizer_config.json."""
    return _in_file(snapshot) or _in_config(snapshot)


def control_tokens(text: str) -> frozenset[str]:
    """The markers that a template writes; where it puts bars around a role, the two roles that every chat has."""
    written = without_comments(text)
    found = set(_MARKER.findall(written))
    if _ROLE_BETWEEN_BARS.search(written):
        found.update(("<|user|>", "<|assistant|>"))
    return frozenset(found)


def template_cannot_be_parsed(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """A block that is never closed, or closed by the end of another kind; nothing where the script sets another template."""
    if does(SETS_TEMPLATE, facts.value(CODE_USES)):
        return
    for template in (_in_file(snapshot), _in_config(snapshot)):
        blocks = None if template is None else read_blocks(template.text)
        if template is not None and blocks is not None and blocks.problem is not None:
            where = f"line {blocks.line} of the template: " if template.name == _CONFIG else ""
            line = blocks.line if template.name == FILE else template.line
            yield Defect("snapshot-chat-template-broken", f"{where}{blocks.problem}", snapshot.directory.place(template.name), line)


def template_needs_a_newer_release(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """A tag that the installed transformers does not know, or a file that it does not read."""
    if facts.value("plan.apply_chat_template") is not True:
        return
    in_file, in_config = _in_file(snapshot), _in_config(snapshot)
    if in_file is not None and in_config is None and _older(facts, _FILE_SINCE):
        detail = f"the chat template stands in {FILE} alone, which transformers reads from {_FILE_SINCE} on"
        yield _needs("snapshot-chat-template-unread", snapshot, in_file, facts, _FILE_SINCE, detail)
        return
    used = in_config if in_file is None or _older(facts, _FILE_SINCE) else in_file
    blocks = None if used is None else read_blocks(used.text)
    if used is None or blocks is None:
        return
    for tag in sorted(blocks.tags & set(NEWER_TAGS)):
        if _older(facts, NEWER_TAGS[tag]):
            detail = f"the chat template uses the tag {tag}, which transformers knows from {NEWER_TAGS[tag]} on"
            yield _needs("snapshot-chat-template-tag-unknown", snapshot, used, facts, NEWER_TAGS[tag], detail)


def templates_differ(snapshot: Snapshot, facts: Facts) -> Iterator[Defect]:
    """Two templates, of which the release decides which one is used."""
    in_file, in_config = _in_file(snapshot), _in_config(snapshot)
    if in_file is None or in_config is None or "".join(in_file.text.split()) == "".join(in_config.text.split()):
        return
    detail = f"{FILE} and chat_template in {_CONFIG} are two different templates"
    yield Defect("snapshot-chat-templates-differ", detail, snapshot.directory.place(_CONFIG), in_config.line)


def marker_is_no_token(snapshot: Snapshot, facts: Facts) -> Iterator[Defect | Hit]:
    """A marker of the template that the tokenizer takes to pieces."""
    template = template_of(snapshot)
    if template is None:
        return
    found = control_tokens(template.text)
    tokens = read_tokens(snapshot)
    place = snapshot.directory.place(template.name)
    rule = "snapshot-chat-marker-not-a-token"
    lacking = [marker for marker in _ONE_TOKEN if marker in found and tokens.lacks(marker)]
    if lacking:
        detail = (
            f"the chat template writes {', '.join(lacking)}; no vocabulary of the tokenizer has {'it' if len(lacking) == 1 else 'them'}"
        )
        yield Defect(rule, detail, place, template.line)
    elif _chatglm3_plain(facts, tokens, found):
        detail = "the chat template writes <|user|>, which this tokenizer encodes as plain text: its files list no added tokens"
        because = (("plan.apply_chat_template", "prompts are encoded from the template's text"),)
        yield Hit(rule, True, because=because, detail=detail, file=place, line=template.line)


def bos_twice(snapshot: Snapshot, facts: Facts) -> Iterator[Hit]:
    """The template writes the first token, and the tokenizer adds it once more to a text."""
    used = facts.value("plan.apply_chat_template") is True and facts.text("plan.method") in TRAINING
    template = template_of(snapshot) if used else None
    tokens = read_tokens(snapshot)
    bos, uses = tokens.roles.get("bos_token"), facts.value(CODE_USES)
    if template is None or bos is None or not _adds(snapshot, tokens, bos):
        return
    if does(ADDS_NO_BOS, uses) or (isinstance(uses, tuple) and uses and not does(RENDERS, uses)):
        return
    first = first_output(template.text).lstrip("{-+ '\"")
    if not first.startswith(("bos_token", bos)):
        return
    yield Hit(
        "snapshot-double-bos",
        True,
        because=(("plan.apply_chat_template", "the template writes the first token"),),
        detail=f"the chat template begins with {plain(bos, 60)}, and the tokenizer adds it to every text that is tokenized",
        file=snapshot.directory.place(_CONFIG),
        line=None if snapshot.tokenizer is None else snapshot.tokenizer.line_of("add_bos_token"),
    )


CHECKS = (template_cannot_be_parsed, template_needs_a_newer_release, templates_differ, marker_is_no_token, bos_twice)


def _in_file(snapshot: Snapshot) -> Template | None:
    if FILE not in snapshot.directory.names:
        return None
    skips = snapshot.directory.skips
    data = snapshot.directory.read(FILE, _LONGEST)
    if data is None and skips and skips[-1] in skips[:-1]:
        skips.pop()
    return None if data is None else Template(data.decode("utf-8", "replace"), FILE, 1)


def _in_config(snapshot: Snapshot) -> Template | None:
    document = snapshot.tokenizer
    raw = table_of(document).get("chat_template")
    if isinstance(raw, list):
        named = {one.get("name"): one.get("template") for one in raw if isinstance(one, dict) and isinstance(one.get("name"), str)}
        raw = named.get("default")
    if not isinstance(raw, str) or not 0 < len(raw) <= _LONGEST or document is None:
        return None
    return Template(raw, _CONFIG, document.line_of("chat_template"))


def _older(facts: Facts, release: str) -> bool:
    """Whether transformers, as far as it is told, is older than a release."""
    value = facts.value("packages.transformers")
    return isinstance(value, (Exact, Ranged)) and version_condition(f"<{release}").relation(value) is True


def _adds(snapshot: Snapshot, tokens: TokenTable, bos: str) -> bool:
    """Whether the tokenizer begins each text with bos: its configuration says so, or the template of tokenizer.json does."""
    said = table_of(snapshot.tokenizer).get("add_bos_token")
    return said if isinstance(said, bool) else tokens.first_added() == bos


def _needs(rule: str, snapshot: Snapshot, template: Template, facts: Facts, release: str, detail: str) -> Hit:
    because = (
        ("packages.transformers", f"before {release}"),
        ("plan.apply_chat_template", "the template is used"),
    )
    return Hit(
        rule,
        True,
        because=because,
        detail=detail,
        packages=("transformers",),
        pins=(("transformers", f">={release}"),),
        file=snapshot.directory.place(template.name),
        line=template.line,
    )


def _chatglm3_plain(facts: Facts, tokens: TokenTable, found: frozenset[str]) -> bool:
    """ChatGLM3's own tokenizer has the role tokens and finds none in a text, unless its files list them as added tokens.

    Executed with the files of January and February 2024 on transformers 4.30 to 4.44.
    """
    if facts.text("model.family") != "chatglm3" or facts.value("plan.apply_chat_template") is not True:
        return False
    return "<|user|>" in found and tokens.id_of("<|user|>") is None
