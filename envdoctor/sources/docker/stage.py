"""A build stage: its variables, its files, its Python environments, as its instructions change them."""

from __future__ import annotations

import posixpath
import re

from envdoctor.facts.fact import Fact, Origin, Skip
from envdoctor.facts.same_uses import list_same
from envdoctor.facts.uses import ALLOCATOR, DIRECTORIES, SOME, SWITCHES
from envdoctor.facts.values import parse_value
from envdoctor.files.text import plain
from envdoctor.records import dataclass, field
from envdoctor.sources.docker.environments import Environment
from envdoctor.sources.docker.files import Files
from envdoctor.sources.docker.images import Image
from envdoctor.sources.docker.parse import Instruction
from envdoctor.sources.shell.expansion import bounded
from envdoctor.sources.shell.marks import is_known, unknown

_TREE = re.compile(
    r"/(?:usr(?:/local)?|opt/conda|opt/(?:mini|ana)conda3?|root/\.local|home/[^/]+/\.local)?"
    r"(?:/lib(?:/python3[^/]*(?:/(?:site|dist)-packages)?)?)?"
)
_PACKAGES = re.compile(r"(.*)/lib/python3[^/]*(?:/(?:site|dist)-packages)?")
_CONDA_ENVIRONMENT = re.compile(r".*/envs/([^/]+)")
_TRUE = frozenset(("1", "on", "yes", "true"))


@dataclass(slots=True)
class Stage:
    """``installs`` says that its own commands put in packages that the rules know; ``touched`` that a stage is built from it,
    ``copied`` that another takes an environment out of it. ``environments`` are by directory, or by name for conda's; the one
    under the empty name is the image's own. ``toolkit`` is the CUDA of the system, which a torch of PyPI does not use.
    """

    number: int
    name: str
    line: int
    file: str
    files: Files
    parent: int | None = None
    image: Image | None = None
    arguments: dict[str, str | None] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    directory: str = "/"
    environments: dict[str, Environment] = field(default_factory=lambda: {"": Environment()})
    facts: dict[str, Fact] = field(default_factory=dict)
    toolkit: dict[str, Fact] = field(default_factory=dict)
    skips: list[Skip] = field(default_factory=list)
    system: str | None = None
    apt_pythons: set[str] = field(default_factory=set)
    uv_python: str | None = None
    shell: tuple[str, ...] = ()
    entrypoint: Instruction | None = None
    command: Instruction | None = None
    activated: str | None = None
    on_build: list[Instruction] = field(default_factory=list)
    touched: bool = False
    copied: bool = False
    installs: bool = False
    entered_by: tuple[str, ...] = ()
    uses_set: list[str] = field(default_factory=list)
    uses_run: list[str] = field(default_factory=list)

    def child(self, number: int, name: str, line: int) -> Stage:
        """A stage that is built FROM this one."""
        return Stage(
            number,
            name,
            line,
            self.file,
            self.files.copy(),
            self.number,
            None,
            dict(self.arguments),
            dict(self.variables),
            self.directory,
            {key: environment.copy() for key, environment in self.environments.items()},
            dict(self.facts),
            dict(self.toolkit),
            list(self.skips),
            self.system,
            set(self.apt_pythons),
            self.uv_python,
            self.shell,
            self.entrypoint,
            self.command,
            self.activated,
            entered_by=self.entered_by,
            uses_set=list(self.uses_set),
            uses_run=list(self.uses_run),
        )

    def skip(self, line: int, why: str) -> None:
        self.skips.append(Skip(plain(f"{self.file}:{line}", 4096), plain(why)))

    def fact(self, name: str, value: object, line: int) -> Fact:
        return Fact(name, parse_value(name, value), Origin(self.file, self.file, line))

    @property
    def base(self) -> Environment:
        return self.environments[""]

    def value(self, name: str) -> str | None:
        """A variable as instructions and commands see it: ENV wins over ARG; None where it has no value."""
        if name in self.variables:
            return self.variables[name]
        if name == "HOME" and name not in self.arguments:
            return "/root"
        return self.arguments.get(name)

    def assign(self, name: str, value: str) -> None:
        kept = bounded(value)
        self.variables[name] = unknown(name) if kept is None else kept

    def path(self, text: str) -> str:
        """An absolute path of the image; a slash at the end stays."""
        if text.startswith("~"):
            text = (self.value("HOME") or "/root") + text[1:]
        path = posixpath.normpath(posixpath.join(self.directory, text))
        return f"{path.rstrip('/')}/" if text.endswith(("/", "/.")) or text == "." else path

    def begin(self, image: Image, line: int, glibc: str | None = None) -> None:
        """What the base image brings."""
        self.image, self.system, self.entered_by = image, image.system, image.entered_by
        self.facts["os"] = self.fact("os", image.os, line)
        if glibc is not None:
            self.facts["glibc"] = self.fact("glibc", glibc, line)
        if image.python is not None:
            self.base.facts["python"] = self.fact("python", image.python, line)
        self.base.had_torch = "torch" in image.packages
        # A tag mostly states the major version of cuDNN alone: cudnn9 is any release of it.
        cudnn = image.cudnn if image.cudnn is None or "." in image.cudnn else f"=={image.cudnn}.*"
        for name, value in (("cuda", image.cuda), ("cudnn", cudnn)):
            if value is not None:
                (self.base.facts if self.base.had_torch else self.toolkit)[name] = self.fact(name, value, line)
        accelerator = image.accelerator or ("cuda" if image.cuda is not None else None)
        if accelerator is not None:
            self.facts["accelerator"] = self.fact("accelerator", accelerator, line)
        for package, version in image.packages.items():
            self.base.packages[package] = self.fact(f"packages.{package}", version, line)
            self.base.wanted[package] = ""
        if image.why:
            self.skip(line, image.why)

    def variable_set(self, name: str, value: str, line: int) -> None:
        self.assign(name, value)
        if name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE") and value.strip().lower() in _TRUE:
            self.facts["plan.offline"] = self.fact("plan.offline", True, line)
        if name in (*SWITCHES, *ALLOCATOR, *DIRECTORIES):
            texts = {one: text for one in (*SWITCHES, *ALLOCATOR, *DIRECTORIES) if (text := self.variables.get(one))}
            shown = {one: text.strip() if is_known(text) else SOME for one, text in texts.items() if one in DIRECTORIES or is_known(text)}
            self.uses_set = [same for one, text in shown.items() for same in list_same(f"env:{one}={text}")]
            self._state_uses(line)

    def command_run(self, used: str, line: int) -> None:
        """A program that rules ask about is run while the image is built."""
        self.uses_run.append(f"$ {used}")
        self._state_uses(line)

    def _state_uses(self, line: int) -> None:
        self.facts.pop("plan.code_uses", None)
        if self.uses_set or self.uses_run:
            self.facts["plan.code_uses"] = self.fact("plan.code_uses", [*self.uses_set, *self.uses_run], line)

    # Which Python environment is meant.

    def key(self, text: str | None, *, create: bool = False) -> str:
        """The environment that a directory or a name stands for; what nobody made is the image's own."""
        if text is None or text in ("base", "root"):
            return ""
        named = _CONDA_ENVIRONMENT.fullmatch(text)
        key = named[1] if named else (posixpath.normpath(self.path(text)) if "/" in text or text.startswith((".", "~")) else text)
        if key in self.environments:
            return key
        if create and not (key.startswith("/") and _TREE.fullmatch(key)):
            self.environments[key] = Environment()
            return key
        return ""

    def active(self) -> str:
        """The environment whose programs are found first."""
        for entry in (self.value("PATH") or "").split(":"):
            if not is_known(entry) or posixpath.basename(entry) != "bin":
                continue
            key = self.key(posixpath.dirname(entry))
            if key:
                return key
        for name in ("CONDA_DEFAULT_ENV", "VIRTUAL_ENV"):
            stated = self.value(name)
            if stated and is_known(stated) and (key := self.key(stated)):
                return key
        return self.key(self.activated)

    def copy_from(self, other: Stage, source: str, target: str) -> set[str]:
        """Copy a directory of another stage: the environments that lie in it come along. Their names there are returned."""
        source, target = posixpath.normpath(posixpath.join("/", source)), posixpath.normpath(target)
        tree = _PACKAGES.fullmatch(source)
        came: set[str] = set()
        for key, environment in other.environments.items():
            place = key if key.startswith("/") else None
            if place is None and key:
                place = next((root + f"/envs/{key}" for root in _roots(source) if source.startswith(root)), None)
            if place is not None and (place == source or place.startswith(source.rstrip("/") + "/") or (tree and tree[1] == place)):
                rest = "" if tree and tree[1] == place else place[len(source.rstrip("/")) :]
                landed = self.key((_PACKAGES.sub(r"\1", target) if tree else target.rstrip("/")) + rest or "/", create=True)
                if landed:
                    self.environments[landed] = environment.copy()
                else:
                    self.base.take(environment)
                came.add(key)
            elif not key and _TREE.fullmatch(source) and (environment.packages or environment.facts):
                landed = self.key(_PACKAGES.sub(r"\1", target), create=True) if not _TREE.fullmatch(target) else ""
                self.environments[landed].take(_without_system(environment, whole=source == "/" or "conda" in source))
                came.add(key)
        return came


def _roots(source: str) -> tuple[str, ...]:
    found = re.match(r"(.*?)(?:/envs(?:/.*)?)?$", source)
    return (found[1],) if found else ()


def _without_system(environment: Environment, *, whole: bool) -> Environment:
    """An environment without what belongs to the system that it was built on."""
    kept = environment.copy()
    if not whole:
        kept.facts = {name: fact for name, fact in kept.facts.items() if name in ("cuda", "accelerator") and "torch" in kept.packages}
    return kept
