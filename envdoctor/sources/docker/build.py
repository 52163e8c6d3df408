"""Carries out the instructions of a Dockerfile in thought, stage by stage."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from pathlib import Path

from envdoctor.sources.docker.commands import Commands
from envdoctor.sources.docker.files import Files, context_of
from envdoctor.sources.docker.images import Image, glibc_of, image_of
from envdoctor.sources.docker.parse import Dockerfile, Instruction, parse_dockerfile
from envdoctor.sources.docker.run import Shell
from envdoctor.sources.docker.stage import Stage
from envdoctor.sources.shell.expansion import Lookup, text_of
from envdoctor.sources.shell.marks import is_known, shown
from envdoctor.sources.shell.text import Text
from envdoctor.world.installation import Installation

_WORD = re.compile(r"(?:[^\s\"'\\`]+|\"(?:\\.|[^\"\\])*\"?|'[^']*'?|\\.|[\\`])+", re.DOTALL)
_PAIR = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)=(.*)", re.DOTALL)
_PLATFORM = re.compile(r"linux/(amd64|x86_64|arm64|aarch64)(?:/.*)?")
_MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ash"))
_MOST_STAGES = 200


def build(parsed: Dockerfile, path: Path, installation: Installation) -> list[Stage]:
    """The stages in order, each as it stands at its end."""
    first = _Build(parsed, path, installation, [])
    stages = first.stages_of()
    missing = [needed for stage in stages[:1] for needed in stage.files.missing]
    missing += [needed for stage in stages[1:] for needed in stage.files.missing if needed not in missing]
    if not missing:
        return stages
    again = _Build(parsed, path, installation, missing)
    return stages if again.context == first.context else again.stages_of()


class _Build:
    def __init__(self, parsed: Dockerfile, path: Path, installation: Installation, missing: list[tuple[str, ...]]) -> None:
        self.parsed, self.path, self.installation = parsed, path, installation
        self.stages: list[Stage] = []
        machine = installation.environment()["platform_machine"].lower()
        platform = "arm64" if machine in ("arm64", "aarch64") else "amd64"
        self.predefined: dict[str, str | None] = {
            f"{side}{name}": value
            for side in ("TARGET", "BUILD")
            for name, value in (("PLATFORM", f"linux/{platform}"), ("OS", "linux"), ("ARCH", platform), ("VARIANT", ""))
        }
        self.arguments: dict[str, str | None] = {}
        self.context = context_of(path, self._sources(), missing)

    def stages_of(self) -> list[Stage]:
        for instruction in self.parsed.instructions:
            if instruction.keyword == "FROM":
                if len(self.stages) >= _MOST_STAGES:
                    break
                self._from(instruction)
            elif self.stages:
                self._carry_out(self.stages[-1], instruction)
            elif instruction.keyword == "ARG":
                self._arguments(instruction, self.arguments, self._global)
        return self.stages

    def _sources(self) -> list[str]:
        """What is copied out of the build context, by names that are written out."""
        found: list[str] = []
        for instruction in self.parsed.instructions:
            if instruction.keyword in ("COPY", "ADD") and instruction.flag("from") is None:
                words = instruction.words or tuple(_WORD.findall(instruction.body.text))
                found += [word.strip("\"'") for word in words[:-1] if "$" not in word and not word.startswith("<<")]
            elif instruction.keyword == "RUN":
                found += [source for source, _, origin in _mounts(instruction, str) if origin is None and "$" not in source]
        return found

    def _global(self, name: str) -> str | None:
        return self.arguments[name] if name in self.arguments else self.predefined.get(name)

    def _expanded(self, text: str, lookup: Lookup) -> str:
        return text_of(text, lookup, self.parsed.escape)

    def _from(self, instruction: Instruction) -> None:
        words = _WORD.findall(instruction.body.text)
        image = self._expanded(words[0], self._global) if words else ""
        name = words[2] if len(words) > 2 and words[1].upper() == "AS" else ""
        number, line = len(self.stages), instruction.line
        parent = next((stage for stage in reversed(self.stages) if stage.name and stage.name.lower() == image.lower()), None)
        if parent is not None:
            stage = parent.child(number, name, line)
            parent.touched = True
            self.stages.append(stage)
            for waiting in parent.on_build:
                self._carry_out(stage, waiting)
            return
        stage = Stage(number, name, line, str(self.path), Files(self.context))
        stage.environments[""].installed = False
        if not is_known(image) or not image:
            stage.begin(Image(why=f"FROM {shown(image) or 'nothing'}: which image that is the Dockerfile does not tell"), line)
        else:
            found = image_of(image)
            stage.begin(found, line, glibc_of(image, found))
        platform = _PLATFORM.fullmatch(self._expanded(instruction.flag("platform") or "", self._global))
        if platform and "$" not in (instruction.flag("platform") or ""):
            stage.facts["machine"] = stage.fact("machine", _MACHINES[platform[1]], line)
        self.stages.append(stage)

    def _arguments(self, instruction: Instruction, table: dict[str, str | None], lookup: Lookup) -> None:
        for word in _WORD.findall(instruction.body.text):
            pair = _PAIR.fullmatch(word)
            if pair:
                table[pair[1]] = self._expanded(pair[2], lookup)[:65536]
            else:
                name = self._expanded(word, lookup)
                table[name] = self._global(name) if table is not self.arguments else self.predefined.get(name)

    def _carry_out(self, stage: Stage, instruction: Instruction) -> None:
        keyword = instruction.keyword
        if keyword == "ARG":
            self._arguments(instruction, stage.arguments, stage.value)
        elif keyword == "ENV":
            self._environment(stage, instruction)
        elif keyword == "WORKDIR":
            text = self._expanded(instruction.body.text.strip(), stage.value)
            stage.directory = posixpath.normpath(posixpath.join(stage.directory, text))
        elif keyword in ("COPY", "ADD"):
            self._copy(stage, instruction)
        elif keyword == "SHELL" and instruction.words:
            stage.shell = instruction.words
        elif keyword == "CMD":
            stage.command = instruction
        elif keyword == "ENTRYPOINT":
            # What the stage or image before had as CMD is gone with it.
            stage.entrypoint = instruction
            stage.command = stage.command if stage.command is not None and stage.command.line > stage.line else None
        elif keyword == "RUN":
            self._run(stage, instruction)
        elif keyword == "ONBUILD":
            stage.on_build += _inner(instruction, self.parsed.escape)

    def _environment(self, stage: Stage, instruction: Instruction) -> None:
        words = _WORD.findall(instruction.body.text)
        if words and "=" not in words[0]:
            name, _, rest = instruction.body.text.strip().partition(" ")
            if rest:
                stage.variable_set(name, self._expanded(rest.strip(), stage.value), instruction.line)
            return
        pairs = [(match, number) for number, word in enumerate(words) if (match := _PAIR.fullmatch(word))]
        values = [(match[1], self._expanded(match[2], stage.value)) for match, _ in pairs]
        position = 0
        for name, value in values:
            position = max(instruction.body.text.find(f"{name}=", position), position)
            stage.variable_set(name, value, instruction.body.line_at(position))

    def _copy(self, stage: Stage, instruction: Instruction) -> None:
        words = instruction.words or tuple(_WORD.findall(instruction.body.text))
        texts = [self._expanded(word, stage.value) if instruction.words is None else word for word in words]
        if len(texts) < 2:
            return
        target = stage.path(texts[-1]) if is_known(texts[-1]) else texts[-1]
        sources = [text for text in texts[:-1] if not text.startswith("<<")]
        for heredoc in instruction.heredocs:
            place = posixpath.join(target, heredoc.name) if target.endswith("/") else target
            stage.files.inline[posixpath.normpath(place)] = heredoc
        named = instruction.flag("from")
        if named is None:
            stage.files.add(sources, target)
            return
        name = self._expanded(named, stage.value)
        other = self._stage(name)
        if other is None:
            stage.files.add(sources, target, name)
            trees = [source for source in sources if re.search(r"(?:site|dist)-packages|/venv|/\.venv|/conda", source)]
            if trees:
                stage.skip(instruction.line, f"COPY --from={shown(name)} {shown(trees[0])}: what it holds is not known")
            return
        stage.files.add(sources, target, other.files)
        for source in sources:
            if stage.copy_from(other, source, target):
                other.copied = True
                stage.skips += [skip for skip in other.skips if skip not in stage.skips and other.image is None]

    def _stage(self, name: str) -> Stage | None:
        if name.isdigit() and int(name) < len(self.stages) - 1:
            return self.stages[int(name)]
        return next((stage for stage in reversed(self.stages[:-1]) if stage.name and stage.name.lower() == name.lower()), None)

    def _run(self, stage: Stage, instruction: Instruction) -> None:
        commands = Commands(stage, self.installation)
        kept = list(stage.files.copied)
        for source, target, origin in _mounts(instruction, lambda text: self._expanded(text, stage.value)):
            other = None if origin is None else self._stage(origin)
            stage.files.add([source], stage.path(target), origin if other is None else other.files)
        shell = Shell(stage.value, stage.directory, commands.handle, self._shell_environment(stage))
        if instruction.words is not None:
            shell.words(instruction.words, instruction.line)
        elif stage.shell and posixpath.basename(stage.shell[0]) not in _SHELLS and "bash" not in " ".join(stage.shell):
            stage.skip(instruction.line, f"RUN in {stage.shell[0]}, which is no shell that is read")
        else:
            self._script(instruction, shell)
        stage.files.copied = kept
        for line, why in shell.problems:
            stage.skip(line or instruction.line, why)

    def _script(self, instruction: Instruction, shell: Shell) -> None:
        """The shell form: text, or heredocs alone, which are scripts."""
        if instruction.heredocs and re.fullmatch(r"(?:[0-9]*<<-?\S+\s*)+", instruction.body.text.strip()):
            for heredoc in instruction.heredocs:
                first = heredoc.body.text.partition("\n")[0]
                if first.startswith("#!") and not re.search(r"\b(?:ba|da|z|a)?sh\b", first):
                    continue
                shell.script(heredoc.body)
            return
        shell.script(instruction.body, instruction.heredocs)

    def _shell_environment(self, stage: Stage) -> str | None:
        """The environment that SHELL activates: ``conda run -n NAME``, or a login shell whose profile does."""
        words = " ".join(stage.shell)
        named = re.search(r"(?:conda|mamba|micromamba) run .*?(?:-n|--name|-p|--prefix)[ =](\S+)", words)
        if named:
            return named[1]
        return stage.activated if re.search(r"\s-(?:-login|\w*[li]\w*)\b", words) else None


def _inner(instruction: Instruction, escape: str) -> list[Instruction]:
    """The instruction that ONBUILD keeps for the images that are built from this one."""
    marked = f"# escape={escape}\n{instruction.body.text}"
    found = parse_dockerfile(marked).instructions[:1]
    return [
        Instruction(
            one.keyword,
            instruction.line,
            one.flags,
            Text(one.body.text, (0,), (instruction.line,)),
            one.words,
            instruction.heredocs,
        )
        for one in found
        if one.keyword not in ("FROM", "ONBUILD", "MAINTAINER")
    ]


def _mounts(instruction: Instruction, expand: Callable[[str], str]) -> list[tuple[str, str, str | None]]:
    """What a RUN is lent for its time: source, target and, if it is not the build context, where from."""
    found = []
    for name, value in instruction.flags:
        if name != "mount":
            continue
        parts = dict(part.partition("=")[::2] for part in value.strip("\"'").split(","))
        if parts.get("type", "bind") != "bind":
            continue
        target = parts.get("target") or parts.get("dst") or parts.get("destination")
        if target:
            origin, source = parts.get("from"), parts.get("source") or parts.get("src") or "."
            found.append((expand(source), expand(target), None if origin is None else expand(origin)))
    return found
