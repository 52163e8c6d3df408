"""What installers say when they give up: pip, uv, poetry, conda, mamba and pixi, each in its own words.

Each text comes down to the same: who asks for what of whom, which two of these do not go together, and whether something has no release
or no file for this interpreter.
"""

# ruff: noqa: RUF001 - uv marks its errors with a multiplication sign
from __future__ import annotations

import re
from collections.abc import Sequence

from envdoctor.facts.names import canonical
from envdoctor.logs.refusal import Asked, Refusal, Unavailable
from envdoctor.logs.specifiers import as_pep_440
from envdoctor.world.releases import releases

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,80}[A-Za-z0-9])?"
_VERSION = r"[0-9][A-Za-z0-9.+!_-]{0,60}"
_CLAUSE = r"(?:===|==|!=|<=|>=|~=|<|>) ?[0-9*][A-Za-z0-9.+!*_-]{0,60}"
_SPEC = rf"{_CLAUSE}(?:(?: ?, ?| and ){_CLAUSE}){{0,8}}"
_EXTRA = r"(?:\[[\w,. -]{0,120}\])?"

# pip
_PIP_USER = re.compile(rf"The user requested (?:\(constraint\) )?(?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})?")
_PIP_NEEDS = re.compile(
    rf"^(?P<by>{_NAME}){_EXTRA}(?: |==)(?P<release>{_VERSION}) depends on (?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})?"
)
_PIP_LEFT = re.compile(
    rf"(?P<by>{_NAME}) (?P<release>{_VERSION}) (?:requires|has requirement) (?P<name>{_NAME}){_EXTRA} ?\(?(?"
    rf"P<spec>{_SPEC})?\)?[^,;]{{0,200}}?(?:; [^,\n]{{1,200}})?, but you(?:'ll)? have (?P<there>{_NAME}) (?P<have>{_VERSION})"
    rf"(?: which is incompatible)?"
)
_PIP_LACKS = re.compile(
    rf"(?P<by>{_NAME}) (?P<release>{_VERSION}) requires (?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})?[^,]{{0,200}}, which is not installed"
)
_PIP_NONE = re.compile(
    rf"Could not find a version that satisfies the requirement (?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})?"
    rf"[^\n]{{0,300}}?\(from versions: (?P<versions>[^)]{{0,20000}})\)"
)
# Whoever wants it stands behind it: "(from torch)", "(from torch==2.1->-r requirements.txt (line 3))"
_PIP_FROM = re.compile(rf"\(from (?!versions)(?P<by>{_NAME})(?:==|->|\[|[<>~!]|\))")
_PIN = re.compile(rf"(?P<name>{_NAME}){_EXTRA}(?P<spec>{_SPEC})(?:\s|$|\()")
_PIP_NO_MATCH = re.compile(
    rf"(?:No matching distribution found for|Could not find a version that satisfies the requirement) "
    rf"(?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})?"
)
_PIP_PYTHON = re.compile(
    rf"Package ['\"](?P<name>{_NAME})['\"] requires a different Python: (?P<python>\d\.\d{{1,2}}(?:\.\d{{1,"
    rf"3}})?\S{{0,8}}) not in ['\"](?P<spec>[^'\"]{{1,200}})['\"]"
)
_PIP_IGNORED = re.compile(r"Ignored the following versions that require a different python version: (?P<versions>.{1,4000})")
_PIP_CANNOT = re.compile(
    r"(?:Cannot|cannot|can't) install (?P<what>.{3,1200}?) because these packages? versions? ha(?:ve|s) conflicting dependenc(?:ies|y)"
)
_WHEEL_PLATFORM = re.compile(r"(?P<file>[\w.+-]{3,200}\.whl) is not a supported wheel on this platform")
# pip-tools: ``dill<0.3.6 (from datasets==2.6.1->-r requirements.in (line 1))``
_COMPILE_NEEDS = re.compile(rf"^(?P<name>{_NAME}){_EXTRA}(?P<spec>{_SPEC}) \(from (?P<by>{_NAME})(?P<release>=={_VERSION})?(?:->|\))")
# uv, and what is like it
_UV_NEEDS = re.compile(
    rf"(?P<by>{_NAME}){_EXTRA}(?P<release>{_CLAUSE}(?:,{_CLAUSE}){{0,4}})? (?:depends on|"
    rf"depend on) (?:one of:)?\s{{0,9}}(?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})?"
)
_UV_YOU = re.compile(rf"(?:you require|your project depends on|depends on) (?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})?")
_UV_NO_VERSION = re.compile(rf"there (?:is|are) no versions? of (?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})?")
_UV_WITHDRAWN = re.compile(rf"(?P<name>{_NAME})(?P<spec>=={_VERSION}) was yanked")
_UV_NO_PACKAGE = re.compile(rf"(?P<name>{_NAME}) was not found in the (?:package registry|provided package locations|cache)")
_UV_NO_WHEEL = re.compile(
    rf"(?P<name>{_NAME}) ?(?P<spec>{_SPEC})? ha(?:s|ve) no (?:wheels|usable wheels|source distribution "
    rf"or wheel)[^\n]{{0,60}}?(?:matching|with a matching) (?P<what>Python version tag|Python implementation(?! tag)|"
    rf"Python ABI tag|Python implementation tag|platform tag|platform)[^`]{{0,40}}(?:`(?P<tag>[\w.]{{1,60}}"
    rf")`)?"
)
_UV_NO_FILE = re.compile(
    rf"`(?:(?P<name>{_NAME})==(?P<version>[\w.+!-]{{1,40}}) )?@ [^`]{{1,200}}` can't be installed because it doesn't have a source "
    r"distribution or wheel for the current platform"
)
_UV_PYTHON = re.compile(rf"the current Python version \((?P<python>{_VERSION})\) does not satisfy Python ?(?P<spec>{_SPEC})")
_UV_REQUESTED = re.compile(rf"the requested Python version \((?P<python>{_SPEC})\) does not satisfy Python ?(?P<spec>{_SPEC})")
_MARKER = re.compile(r"(?<=[\w\]])\{[^{}]{1,300}\}")
_UV_SOLVES = re.compile(rf"Solving with installed Python version: (?P<python>{_VERSION})")
_UV_LOOKS = re.compile(rf"Searching for a compatible version of (?P<name>{_NAME}) \((?P<spec>{_SPEC}\+?)")
_UV_FOUND_NONE = re.compile(rf"No compatible version found for: (?P<name>{_NAME})")
# poetry
_POETRY_NEEDS = re.compile(
    rf"(?P<by>{_NAME}) \((?P<release>[^()]{{1,120}})\) depends on (?P<name>{_NAME}){_EXTRA} \((?P<spec>[^()]{{1,120}})\)"
)
_POETRY_PROJECT = re.compile(
    rf"(?P<by>{_NAME}) depends on (?:both )?(?P<name>{_NAME}){_EXTRA} \((?P<spec>[^()]{{1,120}})"
    rf"\)(?: and (?P<other>{_NAME}){_EXTRA} \((?P<also>[^()]{{1,120}})\))?"
)
_POETRY_PACKAGE = re.compile(
    rf"^Because (?P<by>{_NAME})(?: depends on| \((?P<release>[^()]{{1,120}})\) requires) (?P<name>{_NAME}){_EXTRA} "
    r"\((?P<spec>[^()]{1,120})\)"
)
_NUMBERED = re.compile(r"^\d{1,2}\. (?=Because )")
_POETRY_PYTHON = re.compile(
    rf"(?P<name>{_NAME}) requires Python (?P<spec>{_SPEC}), so it will not be (?:satisfied|installable) for Python (?P<for>{_SPEC})"
)
_POETRY_NO_FILE = re.compile(rf"Unable to find installation candidates for (?P<name>{_NAME}) \((?P<version>{_VERSION})\)")
# conda, mamba, pixi
_CONDA_NEEDS = re.compile(
    rf"package (?P<by>{_NAME})-(?P<release>{_VERSION})-[\w.]{{1,120}} requires (?P<name>{_NAME})"
    rf"(?: (?P<spec>[^,;]{{1,120}}(?:,[<>=!][^,;]{{1,60}}){{0,4}}))?, but none of the providers "
    rf"can be installed"
)
# What conda lists under an UnsatisfiableError: the line of the user's file, and what follows from it.
_CONDA_LISTED = re.compile(rf"- (?P<name>{_NAME})={{1,2}}(?P<release>{_VERSION})(?:=\S{{1,80}})?(?: -> .{{1,400}})?$")
_TREE = re.compile(
    rf"^(?P<indent>[\s│]{{0,80}})[├└]─ ?(?P<name>{_NAME})(?: (?P<spec>[^\s,][^;]{{0,160}}?))??\s{{0,3}}"
    r"(?P<verdict>,? ?(?:is |can be |cannot be |can not be |would |does not |conflicts "
    r"|which |for which )[^\n]{0,200}|, [^\n]{0,200}|[;.]?$)"
)
_TORCH_INDEX = re.compile(r"https://download\.pytorch\.org/whl/(?:nightly/|test/)?(cpu|cu\d{2,3}|rocm[\d.]{1,8}|xpu)\b")
# A build with a local label, which uv's universal resolution told of as of another release.
_UV_LOCAL = re.compile(rf"(?P<name>{_NAME})(?:\{{[^{{}}]{{1,120}}\}})?==(?P<release>{_VERSION}\+[A-Za-z0-9.]{{1,20}})")
_PIXI_NONE = re.compile(rf"No candidates were found for (?P<name>{_NAME})(?: (?P<spec>[^\s.].{{0,80}}))?")

_STARTS = (
    ("pip", re.compile(
        r"has requirement \S.{0,200}, but you(?:'ll)? have |"
        r"because these packages? versions? ha(?:ve|s) conflicting|The conflict is caused by|"
        r"ResolutionImpossible|which is incompatible|Could not find a version that satisfies|"
        r"incompatible versions in the resolved dependencies|Could not find a version that matches |"
        r"No matching distribution found|requires a different Python: |is not a supported "
        r"wheel on this platform|, which is not installed")),
    ("uv", re.compile(r"No solution found when resolving|doesn't have a source distribution or wheel|"
        r"we can conclude that|requirements are unsatisfiable|No compatible version found for: ")),
    ("poetry", re.compile(rf"version solving failed|SolverProblemError|depends on both {_NAME}{_EXTRA} \(|"
        r"Unable to find installation candidates")),
    ("conda", re.compile(
        r"UnsatisfiableError|LibMambaUnsatisfiableError|ResolvePackageNotFound|PackagesNotFoundError|"
        r"none of the providers can be installed")),
    ("mamba", re.compile(
        r"The following packages? (?:are|is) (?:incompatible|not available)|Could not solve "
        r"for environment specs|Cannot solve the request because of|failed to solve the (?:conda "
        r")?requirements")),
)  # fmt: skip
_MOST = 60
_OF_UV_OR_POETRY = (
    "depend", "require", "no version", "was not found", "has no", "have no", "doesn't have", "does not satisfy", "was yanked"
)  # fmt: skip


def read_refusal(lines: Sequence[tuple[int, str]]) -> Refusal | None:
    """What installers say in a log, from lines as ``bare_line`` makes them; None where none gave up."""
    first = next(((number, tool) for number, line in lines for tool, start in _STARTS if start.search(line)), None)
    if first is None:
        # Two lines of what releases require, without the installer's own words: what they come to they say by themselves.
        told = [number for number, line in lines if (needs := _PIP_NEEDS.match(line.strip())) is not None and needs["spec"]]
        of_poetry = [number for number, line in lines if "depends on" in line and _POETRY_NEEDS.search(line)]
        first = (told[0], "") if len(told) > 1 else (of_poetry[0], "poetry") if len(of_poetry) > 1 else None
    if first is None:
        return None
    reading = _Reading()
    text = _joined(lines)
    for line in text:
        reading.read(line)
    reading.read_tree([line for _, line in lines if "├─" in line or "└─" in line])
    if not (reading.asked or reading.unavailable or reading.left):
        return None
    return Refusal(
        first[1],
        first[0],
        tuple(reading.asked.values())[:_MOST],
        tuple(reading.unavailable.values())[:_MOST],
        tuple(reading.left.values())[:_MOST],
        next((found[1] for _, line in lines if (found := _TORCH_INDEX.search(line)) is not None), ""),
    )


def _joined(lines: Sequence[tuple[int, str]]) -> list[str]:
    """The lines, and sentences that uv and poetry wrapped as one line each."""
    found: list[str] = []
    for _, raw in lines:
        line = re.sub(r"^\s{0,12}[×╰─▶│|]{1,6}\s{0,3}", "  ", raw)
        body = line.strip()
        goes_on = (
            bool(found)
            and line[:1] == " "
            and (body[:1].islower() or body[:1] in "`(<>='")
            # pip sets each of its sentences on a line of its own, and most names are in small letters.
            and _PIP_NEEDS.match(body) is None
            and re.search(r"(?:Because|And because|we can conclude|depends? on|and|of|you require|,)\s*.{0,200}$", found[-1][-260:])
        )
        if goes_on and len(found[-1]) < 3000:
            found[-1] += " " + body
        else:
            found.append(line.rstrip())
    return found


class _Reading:
    def __init__(self) -> None:
        self.asked: dict[tuple[str, str, str, str], Asked] = {}
        self.unavailable: dict[str, Unavailable] = {}
        self.left: dict[tuple[str, str], tuple[Asked, str]] = {}
        self.python = ""
        self.looked: dict[str, str] = {}
        self.ignored: tuple[str, ...] = ()

    def read(self, line: str) -> None:
        body = line.strip().removeprefix("ERROR: ").removeprefix("error: ").strip()
        if not body:
            return
        self._pip(body)
        if "installation candidates" in body and (none := _POETRY_NO_FILE.search(body)) is not None:
            self.lack(Unavailable(canonical(none["name"]), f"=={none['version']}", "no file"))
        if any(words in body for words in _OF_UV_OR_POETRY):
            # A resolution for several systems writes the marker of a requirement behind its name: numba{platform_machine != 's390x'}
            self._uv(_MARKER.sub("", body))
            self._poetry(_NUMBERED.sub("", body))
        elif "ompatible version" in body or "Solving with installed Python" in body:
            self._uv_at_work(body)
        if body.startswith("- ") or "none of the providers" in body or "No candidates" in body:
            self._conda(line)

    def ask(self, name: str, specifier: str | None, by: str = "", release: str = "") -> None:
        spec = as_pep_440(specifier or "")
        one = Asked(canonical(name), spec, canonical(by) if by else "", release.strip())
        self.asked.setdefault((one.name, one.specifier, one.by, one.release), one)

    def lack(self, one: Unavailable) -> None:
        known = self.unavailable.get(one.name)
        if known is None or (not known.offered and one.offered) or (known.why == "no release" and one.why in ("no wheel", "python")):
            self.unavailable[one.name] = one

    def _leave(self, found: re.Match[str], have: str) -> None:
        one = Asked(canonical(found["name"]), as_pep_440(found["spec"] or ""), canonical(found["by"]), f"=={found['release']}")
        self.left.setdefault((one.by, one.name), (one, have))

    def _pip(self, body: str) -> None:
        if found := _COMPILE_NEEDS.match(body):
            self.ask(found["name"], found["spec"], found["by"], found["release"] or "")
        if found := _PIP_USER.search(body):
            self.ask(found["name"], found["spec"])
        if found := _PIP_NEEDS.match(body):
            self.ask(found["name"], found["spec"], found["by"], f"=={found['release']}")
        for found in _PIP_LEFT.finditer(body):
            self._leave(found, found["have"].rstrip("."))
        if found := _PIP_LACKS.search(body):
            self._leave(found, "")
        if found := _PIP_CANNOT.search(body):
            pins = [pin for part in re.split(r", | and ", found["what"]) if (pin := _PIN.match(part.strip().removeprefix("-r ")))]
            if len(pins) > 1 and len(names := {canonical(pin["name"]) for pin in pins}) == 1:  # pip tried one after the other
                self.lack(Unavailable(names.pop(), "", "tried", tuple(pin["spec"].removeprefix("==") for pin in pins)))
                pins = []
            for pin in pins:
                self.ask(pin["name"], pin["spec"])
        if found := _PIP_IGNORED.search(body):
            self.ignored = tuple(dict.fromkeys(spec.strip() for spec in re.findall(r"Requires-Python ([^;]{1,80})", found["versions"])))
        if found := _PIP_NONE.search(body):
            offered = tuple(text for text in re.split(r",\s*", found["versions"].strip()) if re.fullmatch(_VERSION, text))
            refused = as_pep_440(self.ignored[-1]) if self.ignored and not offered else ""
            by = canonical(asker["by"]) if (asker := _PIP_FROM.search(found[0])) is not None else ""
            self.lack(Unavailable(canonical(found["name"]), as_pep_440(found["spec"] or ""), "no release", offered, refused=refused, by=by))
        elif found := _PIP_NO_MATCH.search(body):
            self.lack(Unavailable(canonical(found["name"]), as_pep_440(found["spec"] or ""), "no release"))
        if found := _PIP_PYTHON.search(body):
            self.lack(Unavailable(canonical(found["name"]), "", "python", python=found["python"], refused=as_pep_440(found["spec"])))
        if found := _WHEEL_PLATFORM.search(body):
            parts = found["file"].removesuffix(".whl").split("-")
            if len(parts) >= 5:
                self.lack(Unavailable(canonical(parts[0]), f"=={parts[1]}", "no wheel", tag="-".join(parts[-3:])))

    def _uv(self, body: str) -> None:
        refused = _UV_PYTHON.search(body) or _UV_REQUESTED.search(body)
        if refused is not None:
            self.python = refused["python"]
            before = re.search(rf"({_NAME})({_CLAUSE})? depends on Python", body)
            if before:
                self.lack(
                    Unavailable(
                        canonical(before[1]), as_pep_440(before[2] or ""), "python", python=self.python, refused=as_pep_440(refused["spec"])
                    )
                )
        for found in _UV_NO_WHEEL.finditer(body):
            self.lack(Unavailable(canonical(found["name"]), as_pep_440(found["spec"] or ""), "no wheel", tag=found["tag"] or found["what"]))
        for found in _UV_NO_FILE.finditer(body):
            # Somebody who hides the name of a package hides its release with it.
            name, release = canonical(found["name"] or ""), f"=={found['version']}" if found["version"] else ""
            self.lack(Unavailable(name, release, "no wheel" if name else "no file", tag="this platform"))
        for found in _UV_NO_VERSION.finditer(body):
            self.lack(Unavailable(canonical(found["name"]), as_pep_440(found["spec"] or ""), "no release"))
        for found in _UV_WITHDRAWN.finditer(body):
            self.lack(Unavailable(canonical(found["name"]), as_pep_440(found["spec"]), "withdrawn"))
        for found in _UV_NO_PACKAGE.finditer(body):
            self.lack(Unavailable(canonical(found["name"]), "", "no package"))
        if "we can conclude" not in body and "ecause" not in body:
            return
        for found in _UV_NEEDS.finditer(body):
            if found["name"].lower() not in ("python", "one", "both") and found["by"] not in (
                "project",
                "you",
                "it",
                "that",
                "And",
                "which",
            ):
                self.ask(found["name"], found["spec"], found["by"], as_pep_440(found["release"] or ""))
            elif found["by"] in ("project",):
                self.ask(found["name"], found["spec"])
        for found in _UV_LOCAL.finditer(body):
            name, public = canonical(found["name"]), found["release"].partition("+")[0]
            if any(one.name == name and one.specifier == f"=={public}" for one in self.asked.values()):
                self.ask(name, f"=={found['release']}")
        for found in re.finditer(r"(?:you require|your project depends on) (?P<what>.{1,400}?)(?:, we can|, your|, and|\.\s|$)", body):
            for part in re.finditer(rf"(?P<name>{_NAME}){_EXTRA} ?(?P<spec>{_SPEC})", found["what"]):
                self.ask(part["name"], part["spec"])

    def _uv_at_work(self, body: str) -> None:
        """What uv -v writes while it resolves, where its last sentence was not pasted."""
        if (python := _UV_SOLVES.search(body)) is not None:
            self.python = python["python"]
        elif (looking := _UV_LOOKS.search(body)) is not None:
            spec = re.sub(r"^>=(?P<release>[\w.]{1,30}),<(?P=release)\+?$", r"==\g<release>", looking["spec"].replace(" ", ""))
            self.looked.setdefault(canonical(looking["name"]), as_pep_440(spec))
        elif (none := _UV_FOUND_NONE.search(body)) is not None:
            name = canonical(none["name"])
            self.lack(Unavailable(name, self.looked.get(name, ""), "no release", python=self.python))

    def _poetry(self, body: str) -> None:
        for found in _POETRY_NEEDS.finditer(body):
            self.ask(found["name"], found["spec"], found["by"], found["release"])
        for found in _POETRY_PACKAGE.finditer(body):
            if releases(canonical(found["by"])):
                self.ask(found["name"], found["spec"], found["by"], found["release"] or "")
        for found in _POETRY_PROJECT.finditer(body):
            if releases(canonical(found["by"])):
                continue
            if " (" not in found["by"] and not re.search(rf"\) depends on {re.escape(found['name'])}", body):
                self.ask(found["name"], found["spec"])
                if found["other"]:
                    self.ask(found["other"], found["also"])
        if python := _POETRY_PYTHON.search(body):
            self.lack(
                Unavailable(canonical(python["name"]), "", "python", python=as_pep_440(python["for"]), refused=as_pep_440(python["spec"]))
            )

    def _conda(self, line: str) -> None:
        body = line.strip()
        if listed := _CONDA_LISTED.match(body):
            self.ask(listed["name"], f"=={listed['release']}")
            return
        if found := _CONDA_NEEDS.search(body):
            self.ask(found["name"], found["spec"], found["by"], f"=={found['release']}")
        elif absent := _PIXI_NONE.search(body):
            self.lack(Unavailable(canonical(absent["name"]), as_pep_440(absent["spec"] or ""), "no release"))
        elif "nothing provides" in body and (
            nothing := re.search(
                rf"nothing provides (?:requested )?(?P<name>{_NAME})(?: (?P<spec>[^\s]{{1,60}}))?(?: "
                rf"needed by (?P<by>{_NAME})-(?P<release>{_VERSION})-)?",
                body,
            )
        ):
            if nothing["by"]:
                self.ask(nothing["name"], nothing["spec"], nothing["by"], f"=={nothing['release']}")
            else:
                self.lack(Unavailable(canonical(nothing["name"]), as_pep_440(nothing["spec"] or ""), "no release"))

    def read_tree(self, lines: Sequence[str]) -> None:
        """The trees of libmamba and pixi: what is asked for at the roots, and below a release what it would require."""
        above: list[tuple[int, str, str, str]] = []
        for line in lines:
            found = _TREE.match(line)
            if found is None:
                continue
            depth, name, spec, verdict = len(found["indent"]), found["name"], found["spec"] or "", found["verdict"]
            while above and above[-1][0] >= depth:
                above.pop()
            parent = above[-1] if above else None
            release = _release(spec)
            if parent is None:
                self.ask(name, release)
            elif "would require" in parent[3] or "would constrain" in parent[3]:
                self.ask(name, release, parent[1], parent[2])
            # What only one of several candidates would require is no lack of what was asked for.
            if parent is None and ("does not exist" in verdict or "No candidates" in verdict):
                self.lack(Unavailable(canonical(name), as_pep_440(release), "no release"))
            above.append((depth, name, as_pep_440(release), verdict))


def _release(spec: str) -> str:
    """The version of a match specification: several builds that are listed behind it, and its build string, say no more."""
    return spec.strip().split("|")[0].split(" ")[0] if not spec.startswith(("[", "*")) else ""
