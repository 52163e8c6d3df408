"""The options of installers: which of them take a value, and what stands beside them."""

from __future__ import annotations

import re

from envdoctor.records import dataclass
from envdoctor.sources.shell.text import Argument

# Options that take a value as their next argument: pip 25 and uv 0.9 `install --help`, and the older names of both.
_VALUED_OPTIONS = """
-r --requirement --requirements -c --constraint --constraints -e --editable -t --target --platform --python-version
--implementation --abi --root --prefix -b --build --src --upgrade-strategy -C --config-settings --config-setting --global-option
--install-option --build-option --no-binary --only-binary --progress-bar --root-user-action --report -i --index-url --pypi-url
--extra-index-url -f --find-links --log --log-file --proxy --retries --timeout --default-timeout --exists-action --trusted-host
--cert --client-cert --cache-dir --use-feature --use-deprecated --python --keyring-provider --group --build-constraint --build-
constraints --index --default-index --index-strategy --torch-backend -p --python-platform --link-mode --resolution --prerelease
--exclude-newer --override --overrides --excludes --reinstall-package -P --upgrade-package --refresh-package --extra --config-file
--directory --project --no-build-isolation-package --no-build-package --no-binary-package --color --allow-insecure-host --fork-
strategy --compile-bytecode-timeout --only-group --no-group --no-extra --package --no-install-package --scheme --requirements-
from-script
"""
PIP_VALUED = frozenset(_VALUED_OPTIONS.split())
_CONDA_VALUED_OPTIONS = """
-n --name -p --prefix -c --channel --file -f --solver --clone --revision --repodata-fn --subdir --platform --experimental
--channel-alias --root-prefix -r --rc-file --log-level --cacert-path --retries --timeout
"""
CONDA_VALUED = frozenset(_CONDA_VALUED_OPTIONS.split())
SYSTEM_VALUED = frozenset(("-t", "-o", "--target-release", "--option", "-c", "--repository", "-X", "--virtual"))
_PROJECT_VALUED_OPTIONS = """
--extra --group --only-group --no-group --no-extra -E --extras --with --without --only -G --python -p --project --directory -C -P
--index-url --extra-index-url --index --default-index --package --no-install-package --link-mode --upgrade-package --reinstall-
package --cache-dir --color --config-file --config-settings --config-setting --resolution --prerelease --exclude-newer -L
--lockfile
"""
PROJECT_VALUED = frozenset(_PROJECT_VALUED_OPTIONS.split())


@dataclass(slots=True)
class Options:
    """The words of a command: those that are no options, and the options with their values."""

    plain: list[Argument]
    options: list[tuple[str, Argument]]

    def values(self, *names: str) -> tuple[Argument, ...]:
        return tuple(value for name, value in self.options if name in names)

    def last(self, *names: str) -> str | None:
        found = self.values(*names)
        return found[-1].text if found else None

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)


def split_options(arguments: tuple[Argument, ...], valued: frozenset[str]) -> Options:
    """Tell options from what is asked for; ``valued`` are those that take the next word."""
    read = Options([], [])
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        text = argument.text
        if text == "--":
            read.plain.extend(arguments[at:])
            break
        if not text.startswith("-") or text == "-":
            read.plain.append(argument)
            continue
        name, equals, value = text.partition("=")
        if equals and name.startswith("--"):
            read.options.append((name, Argument(value, argument.line)))
        elif text in valued and at < len(arguments):
            read.options.append((text, arguments[at]))
            at += 1
        elif not text.startswith("--") and len(text) > 2 and text[:2] in valued:
            read.options.append((text[:2], Argument(text[2:].removeprefix("="), argument.line)))
        else:
            read.options.append((text, Argument("", argument.line)))
            if re.fullmatch(r"-[a-zA-Z]{2,}", text):
                read.options.extend((f"-{letter}", Argument("", argument.line)) for letter in text[1:])
    return read
