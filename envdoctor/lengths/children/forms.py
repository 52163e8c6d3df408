"""What a row of training data is: text, a chat, a question with its answer, a pair to choose from, or ids that are tokens already."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

PAIRS = (
    ("prompt", "completion"),
    ("prompt", "response"),
    ("prompt", "output"),
    ("query", "response"),
    ("question", "answer"),
    ("input", "output"),
    ("content", "summary"),
    ("context", "target"),
)
"""Columns of a question and its answer: those of TRL, ms-swift, AdvertiseGen (ChatGLM's own example), and others in use."""
_CHATS = ("messages", "conversations", "conversation")
_ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "chatbot": "assistant", "function_call": "assistant", "tool": "tool"}
_ANSWERING = frozenset({"assistant", "model"})
# Said of what was read, to those who read the numbers.
JOINED = {
    "text": "the text as it is",
    "token ids": "ids that are counted as they are",
    "chat": "the turns of a chat",
    "alpaca": "instruction, input and output, joined by line ends",
    "question and answer": "question and answer, one after the other",
    "preference pairs": "prompt with the chosen and prompt with the rejected answer: the longer of the two",
}


class Row(NamedTuple):
    """One row. ``kind`` is a key of JOINED, ``form`` the columns that it was known by.

    ``texts`` are the sequences that it makes, of which the longest counts; ``chats`` are used in their place where it is a chat:
    each a list of turns. ``answers`` are the parts that a trainer learns from. ``ids`` is the number of ready tokens, -1 for none,
    ``labels`` that of their labels. ``tools`` are what a chat template may show.
    """

    kind: str
    form: str
    texts: tuple[str, ...] = ()
    chats: tuple[tuple[dict[str, Any], ...], ...] = ()
    answers: tuple[str, ...] = ()
    ids: int = -1
    labels: int = -1
    tools: Any = None


def read_row(value: Any) -> Row | str:
    """The row that a parsed value is, or why it is none."""
    if not isinstance(value, dict):
        return f"not an object but {_kind(value)}"
    for read in (_ids, _preference, _chat, _alpaca, _pair, _text):
        row = read(value)
        if row is not None:
            return row if isinstance(row, str) or _writable(row) else "half of a surrogate pair, which is no text"
    if not value:
        return "an empty object"
    return "no known format"


def also_text(value: Any) -> bool:
    """Whether a row that is known by other columns has a column ``text`` beside them."""
    return isinstance(value.get("text"), str) and len(value) > 1


def _ids(value: dict[str, Any]) -> Row | str | None:
    ids = value.get("input_ids")
    if not isinstance(ids, list):
        return None
    if not all(type(number) is int for number in ids):
        return "input_ids that are no list of numbers"
    labels = value.get("labels")
    answered = sum(1 for number in labels if number != -100) if isinstance(labels, list) else -1
    return Row("token ids", "input_ids", ids=len(ids), labels=answered)


def _preference(value: dict[str, Any]) -> Row | str | None:
    chosen, rejected, prompt = value.get("chosen"), value.get("rejected"), value.get("prompt")
    if chosen is None or rejected is None:
        return None
    if prompt is None and isinstance(value.get("instruction"), str):
        prompt = "\n".join(part for part in (value["instruction"], value.get("input")) if isinstance(part, str) and part)
    if prompt is None:
        prompt = next((value[name] for name in _CHATS if isinstance(value.get(name), list)), None)
    form = "prompt, chosen and rejected" if prompt is not None else "chosen and rejected"
    if isinstance(chosen, str) and isinstance(rejected, str) and (prompt is None or isinstance(prompt, str)):
        return Row("preference pairs", form, texts=((prompt or "") + chosen, (prompt or "") + rejected), answers=(chosen,))
    before = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt if prompt is not None else []
    sides: list[tuple[dict[str, Any], ...]] = []
    for side in (chosen, rejected):
        turns = _turns(before + (side if isinstance(side, list) else [side])) if isinstance(before, list) else "a prompt of another kind"
        if isinstance(turns, str):
            return turns
        sides.append(turns)
    return Row("preference pairs", form + " as chats", chats=tuple(sides), answers=_answers(sides[0]))


def _chat(value: dict[str, Any]) -> Row | str | None:
    for name in _CHATS:
        if name not in value:
            continue
        said = value[name]
        if not isinstance(said, list):
            return f"{name} that are no list"
        system = value.get("system")
        if isinstance(system, str) and system and not (said and _role(said[0]) == "system"):
            said = [{"role": "system", "content": system}, *said]
        turns = _turns(said)
        if isinstance(turns, str):
            return turns
        style = "from and value" if isinstance(said[-1], dict) and "from" in said[-1] else "role and content"
        return Row("chat", f"{name} of {style}", chats=(turns,), answers=_answers(turns), tools=_tools(value.get("tools")))
    return None


def _alpaca(value: dict[str, Any]) -> Row | str | None:
    if "instruction" not in value:
        return None
    answer = next((name for name in ("output", "response") if name in value), None)
    if answer is None:
        return "an instruction without an output"
    middle = "context" if "context" in value and "input" not in value else "input"
    names = ("system", "instruction", middle, answer)
    parts = [_plain(value.get(name)) for name in names]
    if any(part is None for part in parts):
        return f"{names[parts.index(None)]} that is no text"
    said = _history(value.get("history")) + [part for part in parts if part]
    return Row("alpaca", f"instruction, {middle} and {answer}", texts=("\n".join(said),), answers=(str(parts[-1]),))


def _pair(value: dict[str, Any]) -> Row | str | None:
    for question, answer in PAIRS:
        if question not in value or answer not in value:
            continue
        form = f"{question} and {answer}"
        asked, answered = value[question], value[answer]
        if isinstance(asked, list) and isinstance(answered, list):
            turns = _turns(asked + answered)
            return turns if isinstance(turns, str) else Row("chat", form + " as chats", chats=(turns,), answers=_answers(turns))
        parts = [_plain(value.get("system")), _plain(asked), _plain(answered)]
        if None in parts:
            return "{} that is no text".format((("system", question, answer))[parts.index(None)])
        said = _history(value.get("history")) + [str(part) for part in parts]
        return Row("question and answer", form, texts=("".join(said),), answers=(str(parts[-1]),))
    return None


def _text(value: dict[str, Any]) -> Row | str | None:
    if "text" not in value:
        return None
    text = value["text"]
    return Row("text", "text", texts=(text,)) if isinstance(text, str) else f"text that is no text but {_kind(text)}"


def _turns(said: list[Any]) -> tuple[dict[str, Any], ...] | str:
    """The turns of a chat as templates know them, with the rest of what they hold."""
    if not said:
        return "a chat without a turn"
    turns = []
    for one in said:
        if not isinstance(one, dict):
            return f"a turn that is {_kind(one)}"
        role = _role(one)
        content = _plain(one["content"] if "content" in one else one.get("value", one.get("observation")))
        if not role:
            return "a turn without a role"
        if content is None:
            return "a turn whose content is no text"
        if one.get("role") is not role or one.get("content") is not content or "from" in one or "value" in one:
            one = {**{name: part for name, part in one.items() if name not in ("from", "value")}, "role": role, "content": content}
        turns.append(one)
    return tuple(turns)


def _role(turn: Any) -> str:
    role = turn.get("role", turn.get("from")) if isinstance(turn, dict) else None
    return _ROLES.get(role, role) if isinstance(role, str) else ""


def _answers(turns: tuple[dict[str, Any], ...]) -> tuple[str, ...]:
    return tuple(str(turn["content"]) for turn in turns if turn["role"] in _ANSWERING)


def _plain(content: Any) -> str | None:
    """Text, or the texts among the parts of a message with several kinds of input; None for anything else."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(isinstance(part, dict) for part in content):
        texts = [part["text"] for part in content if isinstance(part.get("text"), str)]
        # An image or a sound takes tokens that no text shows.
        return "".join(texts) if len(texts) == len(content) else None
    return None


def _history(history: Any) -> list[str]:
    """Earlier turns, as LLaMA-Factory and ChatGLM keep them: pairs of a question and an answer."""
    if not isinstance(history, list):
        return []
    return [part for pair in history if isinstance(pair, (list, tuple)) for part in pair if isinstance(part, str)]


def _tools(tools: Any) -> Any:
    if isinstance(tools, str):
        try:
            return json.loads(tools) or None
        except (ValueError, RecursionError):
            return None
    return tools or None


def _writable(row: Row) -> bool:
    try:
        for text in row.texts:
            if not text.isascii():
                text.encode("utf-8")
        for chat in row.chats:
            for turn in chat:
                if not turn["content"].isascii():
                    turn["content"].encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = ((bool, "true or false"), (str, "a text"), (int, "a number"), (float, "a number"), (list, "a list"), (dict, "an object"))
    return next((name for kind, name in names if isinstance(value, kind)), "something else")
