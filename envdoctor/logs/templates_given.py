"""A page that cannot be rendered: starlette 1.0 takes the request first, and the settings of a page were taken for its name.

https://github.com/sam1am/backlogia/issues/103, https://github.com/mordechaipotash/brain-mcp/pull/6; jinja2 looks the name up in its cache.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callers import caller_of
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named
from envdoctor.world.import_names import package_of

_SAYS = re.compile(r"unhashable type: 'dict'|cannot use 'tuple' as a dict key \(unhashable type: 'dict'\)")
_RENDERS = re.compile(r"\bTemplateResponse\b|\bget_template\b|\bjinja2[\\/](?:utils|environment)\.py|starlette[\\/]templating\.py")
_SERVES = re.compile(r"Exception in ASGI application|\" 500 Internal Server Error|uvicorn[\\/]|starlette[\\/]")


def judge_template(failure: Failure, facts: Facts, around: str = "") -> Hit | None:
    """Whether a dict was taken for the name of a page: by the frames, or by a server's error beside a starlette that is stated."""
    if not _SAYS.search(failure.message):
        return None
    shown = "\n".join((around, failure.near, *(f"{one.path} {one.function} {one.text}" for one in failure.frames)))
    starlette = facts.value("packages.starlette")
    new = isinstance(starlette, Exact) and admits(">=1.0", starlette)
    if isinstance(starlette, Exact) and not new:
        return None
    if not _RENDERS.search(shown) and not (new and (not failure.frames or _SERVES.search(shown))):
        return None
    if "gradio" in (package_of(name) for name in failure.packages) or facts.value("packages.gradio") is not None:
        return None  # a page of gradio's own, of which a rule knows more
    caller = caller_of(failure, "starlette")
    asks = caller.package if caller.package not in ("jinja2", "fastapi", "uvicorn", "anyio") else ""
    return Hit(
        "error-argument-refused",
        True,
        detail="starlette 1.0 removed TemplateResponse(name, context): the first argument is the request, and the context was taken for "
        "the name of the page, which jinja2 looks up in its cache",
        packages=named("starlette", asks),
        pins=(("starlette", "<1.0"),),
        edge=f"{asks or 'code'}:starlette.templating.Jinja2Templates.TemplateResponse",
        headline="TemplateResponse of starlette takes the request first from 1.0 on, and gets the page first",
        advice='TemplateResponse(request, "page.html", {...}) in place of TemplateResponse("page.html", {"request": request, ...})',
    )
