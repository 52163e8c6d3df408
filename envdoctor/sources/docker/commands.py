"""What the commands of a stage do to it: installs, environments, interpreters, files that come and change."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote

from packaging.requirements import InvalidRequirement, Requirement

from envdoctor.facts.fact import Fact, Origin
from envdoctor.facts.names import canonical
from envdoctor.facts.uses import command_use
from envdoctor.facts.versions import Exact
from envdoctor.records import replace
from envdoctor.sources.declared.built_apart import Line, needs_torch, say_built_apart
from envdoctor.sources.declared.conda_channel import TORCH_OF_ITS_CHANNEL, is_of_its_channel
from envdoctor.sources.declared.conda_spec import cuda_of, on_pypi, parse_match_spec
from envdoctor.sources.declared.declarations import Declarations
from envdoctor.sources.declared.package_index import Indexes
from envdoctor.sources.declared.requirement_line import declare, wheel_release
from envdoctor.sources.docker.environments import Environment
from envdoctor.sources.docker.images import system_python
from envdoctor.sources.docker.project import declare_conda_file, declare_file, declare_project
from envdoctor.sources.docker.run import Call
from envdoctor.sources.docker.stage import Stage
from envdoctor.sources.installers.request import Request, read_request
from envdoctor.sources.shell.marks import is_known, shown
from envdoctor.sources.shell.text import Argument
from envdoctor.world.installation import Installation

_LOCAL = re.compile(r"(?:file://)?(?:\.{1,2}(?:/|\[|$)|/|~/)")
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)")
_REPOSITORY = re.compile(r"(?:git|hg)\+\S*?/([A-Za-z0-9._-]+?)(?:\.git)?(?:[@#?].*)?")
_EXTRAS = re.compile(r"(.*?)\[([^\]]*)\]")
_MIRRORED = re.compile(r"https?://\S*/(?:pytorch-wheels|pytorch/whl|whl)/((?:nightly/|test/)?(?:cu[0-9]{2,3}|cpu))(?:/|$)")
_CONDA_INSTALLER = re.compile(r"(?:Mini|Ana)conda3-|Mini(?:forge|mamba)[0-9]?-|Mambaforge-|Miniforge3-")
_CONDA_SCRIPT = re.compile(r"conda|mamba|forge", re.IGNORECASE)
_SHELLS = ("sh", "bash", "dash", "zsh", "source", ".")
_CONDA_PYTHON = re.compile(r"-py(3)([0-9]+)_")
_APT_PYTHON = re.compile(r"python(3(?:\.[0-9]+)?)(?:-(?:dev|venv|pip|full|minimal|distutils|is-python3))?(?:=.*)?")
_LINKED_PYTHON = re.compile(r"(?:/usr(?:/local)?/bin/)?python(3\.[0-9]+)")
_EXACT_PYTHON = re.compile(r"={0,3}\s*([0-9]+\.[0-9]+(?:\.[0-9]+)*)(?:\.\*)?")
_INDEX_VARIABLES = (
    ("PIP_INDEX_URL", "index"), ("UV_INDEX_URL", "index"), ("UV_DEFAULT_INDEX", "index"), ("PIP_EXTRA_INDEX_URL", "extra"),
    ("UV_EXTRA_INDEX_URL", "extra"), ("UV_INDEX", "extra"), ("UV_TORCH_BACKEND", "backend"),
)  # fmt: skip
# Repositories whose name is not that of their package.
_PACKAGE_OF = {"flash-attention": "flash-attn", "transformerengine": "transformer-engine", "autogptq": "auto-gptq", "pytorch": "torch"}


class Commands:
    """Applies the commands of one stage to it."""

    def __init__(self, stage: Stage, installation: Installation) -> None:
        self.stage, self.installation = stage, installation

    def handle(self, call: Call) -> None:
        self._files(call)
        request = read_request(call.arguments)
        if request is None:
            used = command_use([argument.text for argument in call.arguments])
            if used is not None and call.certain:
                self.stage.command_run(used, call.line)
            self._not_followed(call)
            return
        if request.tool == "system":
            self._system(request, call)
        elif request.action == "interpreter":
            self.stage.uv_python = request.python
        elif request.tool == "venv":
            self._create(request, call)
        elif request.tool == "conda":
            self._conda(request, call)
        elif request.action == "uninstall":
            environment = self.stage.environments[self._target(request, call)]
            for argument in request.wanted:
                named = _NAMED.match(argument.text)
                if named and call.certain:
                    environment.forget(canonical(named[1]))
        else:
            self._pip(request, call)

    def _not_followed(self, call: Call) -> None:
        """Say of a command that may install something that nobody looked into it."""
        texts = [argument.text for argument in call.arguments]
        if not is_known(texts[0]) and texts[1:2] == ["install"]:
            self.stage.skip(call.line, f"{shown(texts[0])} install: which program that is, is not known from the Dockerfile alone")
        script = texts[0] if texts[0].endswith(".sh") else next((text for text in texts[1:2] if call.program in _SHELLS), "")
        if script.endswith(".sh") and is_known(script) and not _CONDA_SCRIPT.search(script):
            self.stage.skip(call.line, f"{script}: a script that is run; what it installs is not known")

    # Files.

    def _files(self, call: Call) -> None:
        files, line, texts = self.stage.files, call.line, [argument.text for argument in call.arguments]
        for path in call.written:
            files.alter(path, f"written by a command on line {line}")
        if call.program == "cat" and call.stdin is not None and len(call.written) == 1:
            files.altered.pop(call.written[0], None)
            files.inline[call.written[0]] = call.stdin
        if (call.program == "sed" and any(text.startswith(("-i", "--in-place")) for text in texts)) or call.program in ("tee", "patch"):
            for text in texts[1:]:
                if not text.startswith("-") and is_known(text):
                    files.alter(self._path(text, call), f"changed by {call.program} on line {line}")
        elif call.program in ("cp", "mv", "ln", "install") and len(texts) > 2:
            plain = [text for text in texts[1:] if not text.startswith("-")]
            self._linked(plain, call)
            if len(plain) > 1 and is_known(plain[-1]) and not plain[-1].endswith("/"):
                files.alter(self._path(plain[-1], call), f"made by {call.program} on line {line}")
        elif call.program == "update-alternatives":
            self._linked(texts[1:], call)
        elif call.program == "git" and "clone" in texts:
            files.elsewhere = f"; a repository is cloned on line {line}"
        elif call.program == "echo" and call.written and call.written[0].endswith((".bashrc", ".profile", ".bash_profile")):
            activated = re.search(r"(?:conda|mamba|source) activate ([\w./-]+)", " ".join(texts))
            self.stage.activated = activated[1] if activated else self.stage.activated
        if any(_CONDA_INSTALLER.search(text) for text in texts):
            self._conda_installer(" ".join(texts), line)

    def _conda_installer(self, text: str, line: int) -> None:
        """Miniconda and its kin bring a Python, which the name of their installer may state."""
        stated = _CONDA_PYTHON.search(text)
        self.stage.base.facts.pop("python", None)
        if stated:
            self.stage.base.facts["python"] = self.stage.fact("python", f"{stated[1]}.{stated[2]}", line)

    def _linked(self, texts: list[str], call: Call) -> None:
        """``ln -s python3.11 python`` and what update-alternatives does."""
        names = [posixpath.basename(text) for text in texts]
        versions = [found[1] for text in texts if (found := _LINKED_PYTHON.fullmatch(text))]
        if len(set(versions)) == 1 and ("python" in names or "python3" in names):
            self.stage.base.facts["python"] = self.stage.fact("python", versions[0], call.line)

    def _path(self, text: str, call: Call) -> str:
        home = self.stage.value("HOME") or "/root"
        text = text.removeprefix("file://")
        text = home + text[1:] if text.startswith("~/") else text
        return posixpath.normpath(posixpath.join(call.directory, text))

    # Interpreters and environments.

    def _system(self, request: Request, call: Call) -> None:
        stage = self.stage
        versions = set()
        for argument in request.wanted:
            named = _APT_PYTHON.fullmatch(argument.text) or re.fullmatch(r"python(3)-is-python3|python-is-python(3)", argument.text)
            if named is not None:
                versions.add((named[1] or "3", argument.line))
        if request.action == "interpreter" and request.python:
            versions.add((request.python, call.line))
        own = system_python(stage.system) if stage.system else None
        for version, line in sorted(versions):
            stated = own if version == "3" else version
            if stated is None:
                continue
            stage.apt_pythons.add(stated)
            if stage.image is not None and stage.image.python is not None:
                continue
            if "python" not in stage.base.facts or (version == "3" and len(stage.apt_pythons) == 1):
                stage.base.facts["python"] = stage.fact("python", stated, line)

    def _create(self, request: Request, call: Call) -> None:
        directory = self._path(request.into or ".venv", call)
        key = self.stage.key(directory, create=True)
        if not key:
            return
        environment = Environment()
        self.stage.environments[key] = environment
        version = request.python or self.stage.uv_python or self.stage.value("UV_PYTHON")
        if any(argument.text == "--system-site-packages" for argument in call.arguments):
            environment.take(self.stage.base)
        if version and is_known(version) and re.fullmatch(r"[0-9.]+", version):
            environment.facts["python"] = self.stage.fact("python", version, call.line)
        elif "python" in self.stage.base.facts:
            environment.facts["python"] = self.stage.base.facts["python"]

    def _target(self, request: Request, call: Call) -> str:
        """The environment that a command installs into."""
        stage = self.stage
        if request.into is not None:
            return stage.key(self._path(request.into, call) if "/" in request.into else request.into, create=request.apart)
        if call.environment is not None:
            return stage.key(call.environment)
        if request.active and (activated := call.value("VIRTUAL_ENV")) and is_known(activated):
            return stage.key(activated)
        if request.tool == "uv-project":
            own = call.value("UV_PROJECT_ENVIRONMENT") or posixpath.join(self._project(request, call), ".venv")
            return stage.key(self._path(own, call), create=True)
        if request.tool == "uv" and not request.system and not call.value("UV_SYSTEM_PYTHON"):
            for place in (call.value("VIRTUAL_ENV"), posixpath.join(call.directory, ".venv")):
                if place and is_known(place) and (key := stage.key(place)):
                    return key
        return stage.active()

    def _project(self, request: Request, call: Call) -> str:
        return self._path(request.projects[0].text if request.projects else ".", call)

    def _marked(self, environment: Environment) -> Installation:
        """Linux, and the Python of the environment where it is known and nobody named another."""
        linux = {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"}
        installation = replace(self.installation, stated={**linux, **self.installation.stated})
        python = environment.facts.get("python")
        if python is None or not isinstance(python.value, Exact) or "python_version" in self.installation.stated:
            return installation
        return installation.with_python(python.value.text)

    # Packages.

    def _pip(self, request: Request, call: Call) -> None:
        stage = self.stage
        environment = stage.environments[self._target(request, call)]
        if request.python and request.tool in ("pip", "uv-project"):
            environment.facts["python"] = stage.fact("python", request.python, call.line)
        if not request.isolated:
            stage.variable_set("PIP_NO_BUILD_ISOLATION", "1", call.line)
        declarations = Declarations(self._marked(environment))
        for argument in request.constraints:
            declare_file(self._path(argument.text, call), stage.files, declarations, self._place(argument), call.value, constraint=True)
        for argument in request.files:
            if re.match(r"https?://", argument.text):
                declarations.skip(self._place(argument), f"-r {argument.text}: a URL is not fetched")
            else:
                declare_file(self._path(argument.text, call), stage.files, declarations, self._place(argument), call.value)
        for argument in request.wanted:
            self._wanted(argument, request, call, declarations, environment)
        if request.isolated and not any(call.value(name) for name in ("PIP_NO_BUILD_ISOLATION", "UV_NO_BUILD_ISOLATION")):
            self._built_apart(request, declarations)
        for argument in request.projects:
            self._local(argument, request, call, declarations, environment)
        self._indexes(request, call, declarations)
        place = f"{stage.file}:{call.line}"
        collected = declarations.collected()
        here = environment.install(collected, upgrade=request.upgrade, no_deps=request.no_deps, certain=call.certain, place=place)
        stage.installs = stage.installs or here

    def _place(self, argument: Argument) -> str:
        return f"{self.stage.file}:{argument.line}"

    def _wanted(self, argument: Argument, request: Request, call: Call, declarations: Declarations, environment: Environment) -> None:
        text = argument.text
        release = None if "*" in text else wheel_release(text)
        if release is not None and is_known("".join(release)):
            declare(unquote(text), self.stage.file, argument.line, declarations)
        elif not is_known(text):
            named = _NAMED.match(text)
            declarations.skip(self._place(argument), f"{shown(text)}: what it stands for is not known from the Dockerfile alone")
            if named and not text.startswith(("http:", "https:", "git+")):
                environment.forget(canonical(named[1]))
        elif "*" in text and ("/" in text or text.endswith((".whl", ".gz"))):
            declarations.skip(self._place(argument), f"{text}: files that the build makes, their versions are not known")
        elif _LOCAL.match(text) and release is None:
            self._local(argument, request, call, declarations, environment)
        else:
            repository = _REPOSITORY.fullmatch(text.partition("@ ")[2].strip() or text)
            if repository:
                name = canonical(repository[1])
                environment.forget(_PACKAGE_OF.get(name, name))
            declare(text, self.stage.file, argument.line, declarations)

    def _built_apart(self, request: Request, declarations: Declarations) -> None:
        """What cannot be built apart from the environment, where no index besides PyTorch's may have a wheel of it."""
        indexes = Indexes(more=[(value, Origin(self.stage.file)) for _, value in request.indexes])
        lines = []
        for argument in request.wanted:
            try:
                lines.append(Line(Requirement(argument.text), self.stage.file, argument.line))
            except InvalidRequirement:
                continue
        say_built_apart([line for line in lines if needs_torch(line.requirement, declarations.installation)], indexes, declarations)

    def _local(self, argument: Argument, request: Request, call: Call, declarations: Declarations, environment: Environment) -> None:
        """A project, by its directory."""
        if re.match(r"(?:git|hg|svn|bzr)\+|https?:", argument.text):
            self._wanted(argument, request, call, declarations, environment)
            return
        stated = _EXTRAS.fullmatch(argument.text)
        directory, extras = (stated[1], tuple(e.strip() for e in stated[2].split(",") if e.strip())) if stated else (argument.text, ())
        if re.search(r"\.(?:whl|tar\.gz|zip)$", directory):
            declare(directory, self.stage.file, argument.line, declarations)
            return
        if request.no_deps and request.tool in ("pip", "uv"):
            return
        path = self._path(directory, call)
        read = declare_project(
            path,
            self.stage.files,
            declarations,
            self._place(argument),
            tool=request.tool,
            extras=(*extras, *request.extras),
            groups=request.groups,
        )
        name = canonical(posixpath.basename(path))
        if not read and is_known(path):
            # A clone of a known project replaces the release that was there.
            environment.forget(_PACKAGE_OF.get(name, name))

    def _indexes(self, request: Request, call: Call, declarations: Declarations) -> None:
        """The CUDA of torch, where the indexes leave no choice."""
        stated = [*request.indexes]
        stated += [(kind, value) for name, kind in _INDEX_VARIABLES if (value := call.value(name)) and is_known(value)]
        torch = next((fact for fact in declarations.collected().facts if fact.name == "packages.torch"), None)
        if torch is None or not stated:
            return
        indexes = Indexes()
        origin = Origin(self.stage.file, self.stage.file, call.line)
        for kind, value in stated:
            found = _MIRRORED.match(value) if kind != "backend" else re.fullmatch(r"(cu[0-9]{2,3}|cpu)", value)
            url = f"https://download.pytorch.org/whl/{found[1]}" if found else value
            if kind == "index" or (kind == "backend" and found):
                indexes.only = (url, origin)
            elif kind == "extra":
                indexes.more.append((url, origin))
        specifier = f"=={torch.value.text}" if isinstance(torch.value, Exact) else str(torch.value)
        try:
            requirement = Requirement(f"torch{specifier}")
        except InvalidRequirement:
            return
        if indexes.only is not None and indexes.only[0].endswith("/cpu") and not indexes.more:
            declarations.say(self.stage.fact("accelerator", "cpu", call.line))
        indexes.say_cuda(requirement, declarations)

    def _conda(self, request: Request, call: Call) -> None:
        stage = self.stage
        declarations = Declarations(self._marked(stage.base))
        into, line = request.into, call.line
        facts: list[Fact] = []
        for argument in request.files:
            if request.action == "environment-file":
                name, stated = declare_conda_file(self._path(argument.text, call), stage.files, declarations, self._place(argument))
                into, facts = into or name, [*facts, *stated]
            else:
                declarations.skip(self._place(argument), f"--file {shown(argument.text)}: a list of conda's is not followed")
        create = request.action in ("create", "environment-file")
        if into is not None:
            key = stage.key(into if "/" not in into else self._path(into, call), create=create)
        else:
            key = stage.key(call.environment) if call.environment is not None else stage.active()
        if create and key and request.action == "create":
            stage.environments[key] = Environment()
        environment = stage.environments[key]
        if request.action == "uninstall":
            for argument in request.wanted:
                environment.forget(on_pypi(argument.text.lower()) or "")
            return
        for argument in request.wanted:
            facts += self._spec(argument, declarations, environment)
        specs = filter(None, (parse_match_spec(one.text) for one in request.wanted if is_known(one.text)))
        if is_of_its_channel(specs, request.channels):
            facts.append(stage.fact("present", [TORCH_OF_ITS_CHANNEL], line))
        place = f"{stage.file}:{line}"
        here = environment.install(declarations.collected(), upgrade=request.upgrade, no_deps=True, certain=call.certain, place=place)
        stage.installs = stage.installs or here
        for fact in facts if call.certain else ():
            if fact.name == "present":
                environment.bring(fact)
            else:
                environment.facts[fact.name] = fact

    def _spec(self, argument: Argument, declarations: Declarations, environment: Environment) -> list[Fact]:
        stage = self.stage
        if not is_known(argument.text):
            named = _NAMED.match(argument.text)
            declarations.skip(self._place(argument), f"{shown(argument.text)}: what it stands for is not known from the Dockerfile alone")
            if named:
                environment.forget(on_pypi(named[1].lower()) or "")
                if named[1].lower() == "python":
                    environment.facts.pop("python", None)
            return []
        spec = parse_match_spec(argument.text)
        if spec is None:
            return []
        if spec.name == "python":
            exact = _EXACT_PYTHON.fullmatch(spec.specifier or "")
            environment.facts.pop("python", None)
            return [stage.fact("python", exact[1] if exact else spec.specifier, argument.line)] if spec.specifier else []
        if spec.name == "cpuonly":
            return [stage.fact("accelerator", "cpu", argument.line)]
        found = []
        if cuda := cuda_of(spec):
            found.append(stage.fact("cuda", cuda, argument.line))
        name = on_pypi(spec.name)
        if name is not None:
            found.append(stage.fact("present", [name], argument.line))
            if spec.specifier is None:
                declarations.skip(self._place(argument), f"{spec.name} {spec.version}: not a range that is followed")
            else:
                declarations.state(name, spec.specifier, stage.file, argument.line)
        return found
