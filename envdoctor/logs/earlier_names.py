"""Names that transformers gave up before the first release whose contents were read, or that its contents leave out.

The wheels of 2.11.0, 3.0.2, 3.1.0 and 3.2.0 have them, those of 3.3.1, 3.4.0, 3.5.1 and 4.15.0 have not, under the old path or the new:
BertLayerNorm = torch.nn.LayerNorm, and the activations, which stay in transformers.activations (ACT2FN). The constants for
documentation stand in 290 modules of 4.51.3 and in none of 4.52.4 (modeling_kosmos2_5 of 4.57.6 has some again).
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.asked import NAME
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import MissingName, Statement
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import caller_of, describe, named

_LAST = "3.2.0"
_MODULE = re.compile(r"transformers\.(?:models\.\w{2,40}\.)?modeling_(?P<model>bert|electra|longformer|mobilebert|lxmert|funnel)")
_NORMS = frozenset(("BertLayerNorm", "LxmertLayerNorm", "FunnelLayerNorm"))
_ACTIVATIONS = {
    "gelu": "torch.nn.functional.gelu",
    "swish": "torch.nn.functional.silu",
    "mish": "torch.nn.functional.mish",
    "gelu_new": "from transformers.activations import ACT2FN, and ACT2FN['gelu_new']",
}
_OF_ACTIVATIONS = frozenset(("bert", "mobilebert"))


_OF_DOCUMENTATION = re.compile(r"_CONFIG_FOR_DOC|_CHECKPOINT_FOR_DOC|\w+_(?:INPUTS|START)_DOCSTRING")
_OF_MODELS = re.compile(r"transformers\.models\.\w{2,40}\.modeling_\w{2,40}")
_LIGER = "liger-kernel"
_PAGE_OF_LIGER = "liger-kernel-before-0-5-10-inputs-docstring"


def judge_documentation(statement: Statement | None, failure: Failure, facts: Facts, around: str) -> Hit | None:
    """A constant for documentation that others import with a model; None where liger-kernel, which has a page of its own, is there."""
    if not isinstance(statement, MissingName) or _OF_DOCUMENTATION.fullmatch(statement.name) is None:
        return None
    if _OF_MODELS.fullmatch(statement.module or "") is None:
        return None
    code = "\n".join((*(f"{frame.path} {frame.text}" for frame in failure.frames), failure.near, around))
    if facts.value(f"packages.{_LIGER}") is not None or re.search(r"(?i)\bliger", code) is not None:
        return None
    stated = facts.value("packages.transformers")
    if isinstance(stated, Exact) and admits("<4.52.0", stated):
        return None
    caller, where = caller_of(failure)
    asks = f"{describe(caller, facts)} imports it ({where})" if caller and caller != "transformers" else "what imports it"
    return Hit(
        NAME,
        True,
        detail=f"{describe('transformers', facts)} has no {statement.module}.{statement.name}: from 4.52.0 on its models have no such "
        f"constants for their documentation; {asks} was written for an earlier one (liger-kernel before 0.5.10 does so, and code that was "
        "copied from a model)",
        packages=named("transformers", caller),
        pins=(("transformers", "<4.52.0"),),
        edge=f"{caller or 'code'}:{statement.module}.{statement.name}",
        by_hand=f"without {statement.name} and the decorators (add_start_docstrings) that use it, which change nothing but documentation",
        over=(_PAGE_OF_LIGER,),
    )


def judge_earlier_name(statement: Statement | None, facts: Facts) -> Hit | None:
    """What stands for such a name today; None for every other name, and for a stated release that has it."""
    if not isinstance(statement, MissingName) or statement.circular or (told := _MODULE.fullmatch(statement.module or "")) is None:
        return None
    name, stated = statement.name, facts.value("packages.transformers")
    if isinstance(stated, Exact) and admits(f"<={_LAST}", stated):
        return None
    if name in _NORMS:
        instead = f"torch.nn.LayerNorm in place of {name}, which was another name of it"
    elif name in _ACTIVATIONS and told["model"] in _OF_ACTIVATIONS:
        instead = f"{_ACTIVATIONS[name]} in place of {name}"
    else:
        return None
    old = ".models." not in statement.module
    return Hit(
        NAME,
        True,
        detail=f"{describe('transformers', facts)} has no {statement.module}.{name}: releases up to {_LAST} had it"
        + ("" if old else f" (as transformers.modeling_{told['model']}), before this path came with 4.0"),
        packages=("transformers",),
        pins=(("transformers", f"<={_LAST}"),) if old else (),
        edge=f"code:{statement.module}.{name}",
        advice=instead,
    )
