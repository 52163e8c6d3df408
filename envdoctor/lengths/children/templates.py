"""A chat made into one text by the snapshot's chat template, in jinja2's sandbox and with what transformers gives to templates."""

from __future__ import annotations

import importlib
import json
import re
import time
from collections.abc import Callable
from typing import Any

# Marks what an assistant said, for transformers' own use; a plain sandbox does not know the tag.
_GENERATION = re.compile(r"\{%(-?)\s*(end)?generation\s*(-?)%\}")
_ROW_ERRORS = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


class NoTemplateError(Exception):
    """There is nothing to render with; the text says why."""


class RowError(Exception):
    """The template cannot render this row; the text says why."""


def renderer(template: str, variables: dict[str, str]) -> Callable[[list[dict[str, Any]], Any], str]:
    """A function of turns and tools. ``variables`` are the special tokens that a template may name.

    Raises:
        NoTemplateError: jinja2 is not installed, or cannot parse the template.
    """
    try:
        jinja2: Any = importlib.import_module("jinja2")
        sandbox: Any = importlib.import_module("jinja2.sandbox")
    except ImportError:
        raise NoTemplateError("jinja2 is not installed") from None
    environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.filters["tojson"] = _to_json

    def refuse(message: str) -> None:
        raise jinja2.TemplateError(message)

    environment.globals.update(raise_exception=refuse, strftime_now=time.strftime)
    plain = _GENERATION.sub(lambda tag: "{%" + tag[1] + (" endif " if tag[2] else " if true ") + tag[3] + "%}", template)
    try:
        compiled = environment.from_string(plain)
    except (jinja2.TemplateError, RecursionError) as error:
        raise NoTemplateError(f"jinja2 cannot parse it: {error}") from None

    def render(turns: list[dict[str, Any]], tools: Any) -> str:
        try:
            text = str(compiled.render(messages=turns, tools=tools, documents=None, add_generation_prompt=False, **variables))
            if not text.isascii():
                text.encode("utf-8")
        except (jinja2.TemplateError, *_ROW_ERRORS) as error:
            raise RowError(f"the chat template refuses it: {str(error)[:120] or type(error).__name__}") from None
        return text

    return render


def _to_json(value: Any, ensure_ascii: bool = False, indent: Any = None, separators: Any = None, sort_keys: bool = False) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
