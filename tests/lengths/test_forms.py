"""The formats in which people keep training data: each is known by its columns, and what is no row says why."""

from __future__ import annotations

import pytest
from hypothesis import given

from envdoctor.lengths.children.forms import Row, read_row

from .test_lines import JSON

USER = {"role": "user", "content": "Hello"}
ANSWER = {"role": "assistant", "content": "Hi"}
CHAT = ((USER, ANSWER),)


@pytest.mark.parametrize(
    ("value", "row"),
    [
        ({"text": "some words", "id": 3}, Row("text", "text", texts=("some words",))),
        ({"input_ids": [1, 2, 3], "labels": [-100, 2, 3]}, Row("token ids", "input_ids", ids=3, labels=2)),
        ({"messages": [USER, ANSWER]}, Row("chat", "messages of role and content", chats=CHAT, answers=("Hi",))),
        (
            {"conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi"}]},
            Row("chat", "conversations of from and value", chats=CHAT, answers=("Hi",)),
        ),
        (
            {"system": "Be kind", "conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi"}]},
            Row(
                "chat",
                "conversations of from and value",
                chats=(({"role": "system", "content": "Be kind"}, USER, ANSWER),),
                answers=("Hi",),
            ),
        ),
        (
            {
                "tools": '[{"name": "weather"}]',
                "conversations": [USER, {"role": "tool", "name": "weather", "parameters": {}, "observation": "rain"}, ANSWER],
            },
            Row(
                "chat",
                "conversations of role and content",
                chats=((USER, {"role": "tool", "name": "weather", "parameters": {}, "observation": "rain", "content": "rain"}, ANSWER),),
                answers=("Hi",),
                tools=[{"name": "weather"}],
            ),
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hel"}, {"type": "text", "text": "lo"}]}, ANSWER]},
            Row("chat", "messages of role and content", chats=CHAT, answers=("Hi",)),
        ),
        (
            {"instruction": "Add", "input": "1 and 2", "output": "3"},
            Row("alpaca", "instruction, input and output", texts=("Add\n1 and 2\n3",), answers=("3",)),
        ),
        (
            {"instruction": "Add", "output": "3", "history": [["a", "b"]]},
            Row("alpaca", "instruction, input and output", texts=("a\nb\nAdd\n3",), answers=("3",)),
        ),
        (
            {"instruction": "Add", "context": "1 and 2", "response": "3", "category": "sums"},
            Row("alpaca", "instruction, context and response", texts=("Add\n1 and 2\n3",), answers=("3",)),
        ),
        ({"prompt": "1+2=", "completion": "3"}, Row("question and answer", "prompt and completion", texts=("1+2=3",), answers=("3",))),
        ({"query": "1+2=", "response": "3"}, Row("question and answer", "query and response", texts=("1+2=3",), answers=("3",))),
        ({"content": "long", "summary": "s"}, Row("question and answer", "content and summary", texts=("longs",), answers=("s",))),
        (
            {"prompt": [USER], "completion": [ANSWER]},
            Row("chat", "prompt and completion as chats", chats=CHAT, answers=("Hi",)),
        ),
        (
            {"prompt": "1+2=", "chosen": "3", "rejected": "12"},
            Row("preference pairs", "prompt, chosen and rejected", texts=("1+2=3", "1+2=12"), answers=("3",)),
        ),
        (
            {"conversations": [{"from": "human", "value": "Hello"}], "chosen": {"from": "gpt", "value": "Hi"}, "rejected": ANSWER},
            Row("preference pairs", "prompt, chosen and rejected as chats", chats=CHAT * 2, answers=("Hi",)),
        ),
        (
            {"chosen": [USER, ANSWER], "rejected": [USER, ANSWER]},
            Row("preference pairs", "chosen and rejected as chats", chats=CHAT * 2, answers=("Hi",)),
        ),
    ],
)
def test_a_format_is_known_by_its_columns(value: dict[str, object], row: Row) -> None:
    assert read_row(value) == row


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, "not an object but null"),
        (["text"], "not an object but a list"),
        ("text", "not an object but a text"),
        (True, "not an object but true or false"),
        ({}, "an empty object"),
        ({"body": "words"}, "no known format"),
        ({"text": 3}, "text that is no text but a number"),
        ({"input_ids": [1, "2"]}, "input_ids that are no list of numbers"),
        ({"messages": "Hello"}, "messages that are no list"),
        ({"messages": []}, "a chat without a turn"),
        ({"messages": ["Hello"]}, "a turn that is a text"),
        ({"messages": [{"content": "Hello"}]}, "a turn without a role"),
        ({"messages": [{"role": "user", "content": 3}]}, "a turn whose content is no text"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "a turn whose content is no text"),
        ({"instruction": "Add"}, "an instruction without an output"),
        ({"instruction": "Add", "input": 3, "output": "3"}, "input that is no text"),
        ({"prompt": "a", "completion": 4}, "completion that is no text"),
        ({"prompt": 3, "chosen": "a", "rejected": "b"}, "a prompt of another kind"),
        ({"text": "half of \ud83d"}, "half of a surrogate pair, which is no text"),
    ],
)
def test_what_is_no_row_says_why(value: object, why: str) -> None:
    assert read_row(value) == why


@given(JSON)
def test_any_value_is_a_row_or_a_reason(value: object) -> None:
    keyed = {"messages": value, "text": value, "prompt": value, "chosen": value, "rejected": value, "instruction": value, "output": value}
    for one in (value, keyed, *({name: value} for name in keyed), {"prompt": value, "completion": value}):
        row = read_row(one)
        assert row
        assert isinstance(row, Row | str)
