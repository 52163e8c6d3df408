"""What transformers says of the packages that a model's own code imports: it imports each, and passes on the name of the one that failed.

check_imports of transformers/dynamic_module_utils.py (4.57.6): a package counts as not found where its import ends in any "No module
named", also where that is a module which the package itself lacks. https://github.com/baichuan-inc/Baichuan2/issues/196 (bitsandbytes,
for want of scipy), https://github.com/LlamaChinese/Llama-Chinese/issues/337 (flash-attn)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact

CHECKED = re.compile(r"requires the following packages that were not found in your environment:? ?(?P<first>[A-Za-z_]\w{1,60})?")
_ATTENTION = (
    "; where it cannot be had (no NVIDIA GPU, no wheel): leave out use_flash_attention_2=True and attn_implementation='flash_attention_2', "
    "take trust_remote_code=True away where transformers has the model itself, or put that import of the model's file under try"
)


def tell_checked(names: Sequence[str], first: str, who: str, facts: Facts) -> tuple[str, str]:
    """What is behind it, and what to do; ``first`` is the first of them as the code imports it."""
    there = [name for name in names if isinstance(facts.value(f"packages.{name}"), Exact)]
    every = " and ".join(names)
    stated = f"{' and '.join(there)} {'is' if len(there) == 1 else 'are'} stated, so that its own import failed: " if there else ""
    detail = (
        f"{who} {every}: {stated}transformers imports each package that the model's code imports, and says so of one that is not "
        "there, and of one that is there and itself imports a module that is not"
    )
    module = first or names[0].replace("-", "_")
    asked = f"python -c 'import {module}' with the Python that runs names the module that is missing"
    installed = " ".join(names)
    such = " (scipy for an old bitsandbytes)" if "bitsandbytes" in names else ""
    if there:
        return detail, f"{asked}: pip install that one{such}; where it names {module}, another Python ran"
    how = f"python -m pip install -U {installed}"
    if "flash-attn" in names:
        how = f"python -m pip install {' '.join(name for name in names if name != 'flash-attn')} && " if len(names) > 1 else ""
        how += "python -m pip install --no-build-isolation flash-attn" + _ATTENTION
    return detail, f"{how}; where it is there, {asked}, and that is the one to install{such}"
