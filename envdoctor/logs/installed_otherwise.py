"""What to do where an installer finds no file: a build of PyTorch's own index, a part of Python itself, a name that no index has, and
two bounds that agree on releases which this pip passes over.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from envdoctor.checks.hit import Hit
from envdoctor.facts.names import canonical
from envdoctor.logs.installer_rules import CONTRADICT
from envdoctor.logs.refusal import Asked, Unavailable
from envdoctor.logs.specifiers import admits
from envdoctor.world.releases import release_texts

# The newest Python that torch has wheels for, by the first release that has them: the files of its releases on the package index.
TORCH_FOR_PYTHON = (("3.10", "1.11.0"), ("3.11", "1.13.0"), ("3.12", "2.2.0"), ("3.13", "2.5.0"), ("3.14", "2.9.0"))
_LABEL = re.compile(r"cu\d{2,3}|cpu|rocm\d[\d.]*")
# What the index has for old Pythons alone, and since which Python it is a module of Python: https://docs.python.org/3/library/ of each;
# https://github.com/atosystem/ThemeTransformer/issues/4 for the first.
_SINCE = {
    "dataclasses": "3.7",
    "contextvars": "3.7",
    "enum34": "3.4",
    "pathlib": "3.4",
    "asyncio": "3.4",
    "typing": "3.5",
    "futures": "3.2",
}
# Modules that come with another distribution, and are none themselves: https://github.com/JarodMica/dataset-maker/issues/13
PARTS = {
    "pkg-resources": "leave the line out: pkg_resources is a part of setuptools (pip install 'setuptools<82': 82.0.0 has it no more); "
    "pip freeze of an old Debian wrote pkg-resources==0.0.0 by mistake",
}
# The releases whose metadata pip refuses from 24.1 on: the wheels that the rule about them names.
_OLD_METADATA = {"omegaconf": ">=2.0.1,<2.1.1", "pytorch-lightning": ">=1.5.4,<1.8.4"}


def advise(one: Unavailable, python: str, *, known: bool) -> str:
    """The change of the requirement, or of the command, that stands before another Python; empty where that is all that there is to do."""
    public, _, label = one.specifier.partition("+")
    if label and _LABEL.fullmatch(label):
        wanted = f"{one.name}{one.specifier}" if public else one.name
        release = public.removeprefix("==")
        last = next((minor for minor, since in reversed(TORCH_FOR_PYTHON) if admits(f">={since}", release)), "3.9")
        too_new = one.name == "torch" and bool(python) and admits(f">{last}", ".".join(python.split(".")[:2])) is True
        if too_new:
            return (
                f"a Python up to {last} (conda create -n x python={last}), for which torch {release} has wheels, and there "
                f'pip install "{wanted}" --extra-index-url https://download.pytorch.org/whl/{label}'
            )
        older = f"; under a Python for which {release} has wheels" if one.offered else ""
        return f'pip install "{wanted}" --extra-index-url https://download.pytorch.org/whl/{label}{older}'
    name = canonical(one.name)
    if name in PARTS:
        return PARTS[name]
    since = _SINCE.get(name, "")
    if since or name.replace("-", "_") in sys.stdlib_module_names:
        return f"leave {one.name} out of the requirements: Python has it itself{f' since {since}' if since else ''}"
    if one.offered or known or one.tag:
        return ""
    return (
        f"look whether anything imports it (grep -rn {one.name.replace('-', '_')} .): a line that was written by mistake is left out; "
        "else the name that its page on pypi.org has, the index or the git+https address that the project names, or another Python"
    )


def judge_passed_over(asked: Sequence[Asked]) -> Hit | None:
    """Bounds that agree, and of whose releases pip from 24.1 on takes none: https://github.com/RVC-Project/Retrieval-based-Voice-Conversion-WebUI/issues/2556."""
    for name, refused in _OLD_METADATA.items():
        bounds = [one for one in asked if canonical(one.name) == name and one.specifier]
        left = [text for text in release_texts(name) if all(admits(one.specifier, text) for one in bounds)]
        if not bounds or not left or not all(admits(refused, text) for text in left):
            continue
        detail = (
            f"{'; '.join(dict.fromkeys(one.words() for one in bounds[:3]))}: {left[-1]} is in all of these, and pip 24.1 and later pass "
            f"over {name} {refused} for a requirement that ends in .*"
        )
        packages = tuple(dict.fromkeys(("pip", name, *(canonical(one.by) for one in bounds if one.by))))
        advice = 'pip install "pip<24.1", then the same again; or uv pip install, which reads what is meant'
        return Hit(
            CONTRADICT, True, (), detail=detail, packages=packages, edge=f"pip:{name}", advice=advice,
            headline=f"This pip passes over the releases of {name} that are asked for",
        )  # fmt: skip
    return None
