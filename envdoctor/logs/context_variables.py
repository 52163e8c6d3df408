"""What gradio keeps for the event that runs, asked for where no event runs.

gradio/context.py of the wheels: in 3.50.2 to 5.42.0 each of LocalContext's variables has a default (None), from 5.43.0 on none has: get()
without an argument raises a LookupError then. gradio's own code asks with get(None) there (blocks.py, helpers.py of 6.0.0).
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.specifiers import admits
from envdoctor.logs.tracebacks import Failure

_SAYS = re.compile(
    r"<ContextVar name='(?P<name>request|progress|blocks|blocks_config|renderable|render_block|in_event_listener|event_id|key_to_id_map)' "
)
# Other programs have such variables too.
_ANYBODYS = frozenset(("request", "progress", "blocks", "event_id"))
_GRADIO = re.compile(r"(?i)\bgradio\b|\bLocalContext\b|\bgr\.[A-Za-z]")
_SINCE = ">=5.43.0"


def judge_context_variable(failure: Failure, facts: Facts, around: str) -> Hit | None:
    """None where the stated gradio has defaults, or frames of others alone are there."""
    said = _SAYS.search(failure.message)
    if said is None or failure.kind.rpartition(".")[2] != "LookupError":
        return None
    name, stated = said["name"], facts.value("packages.gradio")
    if isinstance(stated, Exact) and not admits(_SINCE, stated):
        return None
    code = "\n".join((*(frame.text for frame in failure.frames), failure.near, around))
    shown = isinstance(stated, Exact) or "gradio" in failure.packages or "spaces" in failure.packages or _GRADIO.search(code) is not None
    if not shown and failure.frames:
        return None
    return Hit(
        "error-of-the-run",
        True if shown or name not in _ANYBODYS else None,
        detail="from 5.43.0 on these variables have no default: get() raises where it gave None before; a thread or a call of one's own, "
        "and what runs while the page is built, is in no event",
        packages=("gradio",),
        pins=(("gradio", "<5.43.0"),),
        edge=f"gradio:context:{name}",
        headline=f"gradio's LocalContext.{name} is asked for outside of an event",
        advice=f"LocalContext.{name}.get(None) in the line that asks, or a later release of what asks"
        + ("; in an event's own function a parameter of the type gr.Request brings it" if name == "request" else ""),
    )
