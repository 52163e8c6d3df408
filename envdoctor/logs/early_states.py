"""A state of the main branch before a release (``4.45.0.dev0``): what came with that release it may have or not, for one number stands for
months. https://github.com/deekshaaneja/Qwen2-VL/issues/1
"""

from __future__ import annotations

from envdoctor.atlas.volume import Volume
from envdoctor.checks.hit import Hit
from envdoctor.logs.callers import caller_of
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import named


def judge_early(symbol: str, family: str, volume: Volume, release: str, there: int, failure: Failure) -> Hit | None:
    """Where the release that a stated state led to has what is missing: either it is an older state, or another Python ran."""
    from packaging.version import InvalidVersion, Version

    try:
        wanted = Version(release.partition("+")[0])
    except InvalidVersion:
        return None
    place = next((at for at, one in enumerate(volume.releases) if Version(one).release == wanted.release), None)
    if not wanted.is_devrelease or place is None or not there >> place & 1 or (place and there >> (place - 1) & 1):
        return None
    base, package = volume.releases[place], volume.name
    caller = caller_of(failure, package)
    module = package.replace("-", "_")
    detail = (
        f"{symbol} is there from {package} {base} on, and {release} is the main branch on the way to it: a state from before it came, or "
        f"the Python that ran is not the one of the pip that lists {release}, and has an older {package}"
    )
    return Hit(
        family,
        True,
        ((f"packages.{package}", "before the release that has it"),),
        detail=detail,
        packages=named(package, caller.package),
        edge=f"{caller.package or 'code'}:{symbol}",
        advice=f'python -m pip install -U "{package}>={base}", with the python that runs, and last where other requirements move it; '
        f"python -c 'import {module}; print({module}.__version__, {module}.__file__)' shows which one it has",
    )
