"""Environments of gym and gymnasium, whose ``reset`` and ``step`` give more values from gym 0.26 on, and their callers.

https://github.com/openai/gym/releases/tag/0.26.0: ``step`` gives five values and no longer four, ``reset`` a pair and not the observation.
"""

from __future__ import annotations

import re

from envdoctor.checks.hit import Hit
from envdoctor.logs.tracebacks import Failure, Frame
from envdoctor.logs.wording import place_of

RUN = "error-of-the-run"
_UNPACKED = re.compile(r"(?P<many>too many|not enough) values to unpack \(expected (?P<want>\d)(?:, got (?P<got>\d))?\)")
_CALL = re.compile(r"=\s*(?:await )?(?:[\w.\[\]]{0,60}?\b)?_?envs?\w*\.(?P<call>reset|step)\(")
_BY_POSITION = re.compile(r"\breset\(\) takes 1 positional argument but \d were given")
_RESET = re.compile(r"\benv\w*\.reset\(\s*[\w\"']")
_OWN = ("gym", "gymnasium")
_OLD, _NEW = "gym before 0.26", "gym 0.26 or later, or gymnasium"
_BACK = (("gym", "<0.26"),)
_FIVE = "obs, reward, terminated, truncated, info = env.step(action), done = terminated or truncated, and obs, info = env.reset()"
_FOUR = "obs, reward, done, info = env.step(action) and obs = env.reset()"


def judge_environment(failure: Failure) -> Hit | None:
    """An environment that gives more or fewer values than its caller takes; None where no line shows that it is one."""
    frame = failure.frames[-1] if failure.frames else None
    if frame is None:
        return None
    if _BY_POSITION.search(failure.message) and _RESET.search(frame.text):
        return _by_name(frame)
    told, call = _UNPACKED.search(failure.message), _CALL.search(frame.text)
    if told is None or call is None:
        return None
    want, name = int(told["want"]), call["call"]
    if (name, want) == ("step", 4) and told["many"] == "too many":
        older, gives = True, "five"
    elif (name, want) == ("step", 5) and told["got"] == "4":
        older, gives = False, "four"
    elif (name, want) == ("reset", 2):
        older, gives = False, "the observation alone"
    else:
        return None
    return _of_wrapper(frame, name, gives, older=older) if frame.package in _OWN else _of_caller(frame, failure, name, gives, older=older)


def _of_caller(frame: Frame, failure: Failure, name: str, gives: str, *, older: bool) -> Hit:
    """The caller is the project's, or a package's that is no environment's."""
    caller, env = (_OLD, _NEW) if older else (_NEW, _OLD)
    new = older and "gymnasium" in failure.packages
    return Hit(
        RUN,
        True,
        detail=f"{place_of(frame)} is written for {caller}, and the environment is of {env}: there step() gives "
        f"{'five values and reset() a pair' if older else 'four values and reset() the observation alone'}",
        packages=("gymnasium",) if new else ("gym",),
        pins=() if new else _BACK if older else (("gym", ">=0.26"),),
        edge=f"gym:{name}:{'older' if older else 'newer'}-caller",
        headline=f"{name}() of this environment gives {gives}, and its caller takes another number of values",
        advice=f"{_FIVE} there" if older else f"gymnasium in place of gym (import gymnasium as gym), or {_FOUR} there",
    )


def _of_wrapper(frame: Frame, name: str, gives: str, *, older: bool) -> Hit:
    """The caller is a wrapper that gym itself puts around the environment: the two are of different days."""
    package = frame.package
    wrapper, env = (_OLD, _NEW) if older else (_NEW, _OLD)
    back = package == "gym" and not older
    return Hit(
        RUN,
        True,
        detail=f"{place_of(frame)}, a wrapper of {wrapper}, wraps an environment that is written for {env}",
        packages=(package,),
        pins=_BACK if back else (("gym", ">=0.26"),) if package == "gym" else (),
        edge=f"{package}:{name}:{'older' if older else 'newer'}-wrapper",
        headline=f"{name}() of the wrapped environment gives {gives}, and {package} takes another number of values",
        advice=""
        if back
        else "the release of the package that has the environment which goes with this one, or let it give "
        f"{'four values in step() and the observation alone in reset()' if older else 'five values in step() and a pair in reset()'}",
    )


def _by_name(frame: Frame) -> Hit:
    """https://github.com/vita-epfl/CrowdNav/issues/45: gym.Wrapper.reset(self, **kwargs), which gym.make puts around an environment."""
    return Hit(
        RUN,
        True,
        detail=f"{place_of(frame)} passes by position what gym's wrappers hand on by name alone; gym.make puts such a wrapper around every "
        "environment in its later releases",
        packages=("gym",),
        edge="gym:reset:by-position",
        headline="reset() of a wrapped environment takes its arguments by name alone",
        advice="pass it by the name that the environment's own reset() has (env.reset(phase=...)), or call env.unwrapped.reset(...); "
        "or the gym that the project names (0.21 refuses it already)",
    )
