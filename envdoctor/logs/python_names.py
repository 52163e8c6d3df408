"""What the standard library of a Python has no more, or not yet: a package was written for an older or a newer one."""

from __future__ import annotations

from envdoctor.checks.hit import Hit
from envdoctor.facts.fact import Facts
from envdoctor.facts.versions import Exact
from envdoctor.logs.callers import caller_of
from envdoctor.logs.specifiers import admits
from envdoctor.logs.statements import MissingAttribute, MissingMember, MissingModule, MissingName, RefusedKeyword
from envdoctor.logs.tracebacks import Failure
from envdoctor.logs.wording import describe

PYTHON = "requirement-refuses-python"

# From "What's New in Python" of 3.8 to 3.14: what each release removed, and what it brought.
_ABSTRACT = (
    "Mapping", "MutableMapping", "Sequence", "MutableSequence", "Set", "MutableSet", "Iterable", "Iterator", "Callable", "Hashable",
    "Sized", "Container", "Generator", "Coroutine", "Awaitable", "AsyncIterable", "AsyncIterator", "ByteString", "KeysView", "ItemsView",
    "ValuesView", "MappingView",
)  # fmt: skip
NAMES = {
    **{f"collections.{name}": "<3.10" for name in _ABSTRACT},
    "asyncio.coroutine": "<3.11",
    "inspect.getargspec": "<3.11",
    "inspect.formatargspec": "<3.11",
    "fractions.gcd": "<3.9",
    "time.clock": "<3.8",
    "cgi.escape": "<3.8",
    "base64.decodestring": "<3.9",
    "base64.encodestring": "<3.9",
    "gettext.lgettext": "<3.11",
    "binascii.b2a_hqx": "<3.11",
    "configparser.SafeConfigParser": "<3.12",
    "unittest.makeSuite": "<3.13",
    "pkgutil.ImpImporter": "<3.12",
    "ssl.wrap_socket": "<3.12",
    "locale.format": "<3.12",
    "ast.Num": "<3.14",
    "ast.Str": "<3.14",
    "datetime.UTC": ">=3.11",
    "typing.Self": ">=3.11",
    "typing.LiteralString": ">=3.11",
    "typing.NotRequired": ">=3.11",
    "typing.Required": ">=3.11",
    "typing.Unpack": ">=3.11",
    "typing.TypeVarTuple": ">=3.11",
    "typing.assert_never": ">=3.11",
    "typing.override": ">=3.12",
    "typing.ParamSpec": ">=3.10",
    "typing.TypeAlias": ">=3.10",
    "typing.TypeGuard": ">=3.10",
    "typing.Concatenate": ">=3.10",
    "typing.Annotated": ">=3.9",
    "typing.Literal": ">=3.8",
    "typing.Protocol": ">=3.8",
    "typing.TypedDict": ">=3.8",
    "typing.Final": ">=3.8",
    "types.UnionType": ">=3.10",
    "types.NoneType": ">=3.10",
    "enum.StrEnum": ">=3.11",
    "itertools.pairwise": ">=3.10",
    "itertools.batched": ">=3.12",
    "functools.cache": ">=3.9",
    "functools.cached_property": ">=3.8",
    "asyncio.TaskGroup": ">=3.11",
    "asyncio.timeout": ">=3.11",
    "asyncio.to_thread": ">=3.9",
    "contextlib.aclosing": ">=3.10",
    "importlib.metadata": ">=3.8",
}
# The same of members of its classes, and of keywords of its functions.
MEMBERS = {
    "str.removeprefix": ">=3.9",
    "str.removesuffix": ">=3.9",
    "Path.is_relative_to": ">=3.9",
    "PosixPath.is_relative_to": ">=3.9",
    "PosixPath.hardlink_to": ">=3.10",
    "Thread.isAlive": "<3.9",
    "HTMLParser.unescape": "<3.9",
    "Element.getchildren": "<3.9",
    "ConfigParser.readfp": "<3.12",
    "RawConfigParser.readfp": "<3.12",
    "SafeConfigParser.readfp": "<3.12",
    "EntryPoints.get": "<3.12",
    "FileFinder.find_module": "<3.12",
    "zipimporter.find_module": "<3.12",
    "int.bit_count": ">=3.10",
}
KEYWORDS = {
    "glob(root_dir)": ">=3.10",
    "iglob(root_dir)": ">=3.10",
    "glob(include_hidden)": ">=3.11",
    "dataclass(kw_only)": ">=3.10",
    "dataclass(slots)": ">=3.10",
    "field(kw_only)": ">=3.10",
    "zip(strict)": ">=3.10",
    "ThreadPoolExecutor.shutdown(cancel_futures)": ">=3.9",
    "shutdown(cancel_futures)": ">=3.9",
    "parse_args(exit_on_error)": ">=3.9",
    "mkdtemp(delete)": ">=3.12",
    "TemporaryDirectory.__init__(ignore_cleanup_errors)": ">=3.10",
    "TemporaryDirectory.__init__(delete)": ">=3.12",
    "rmtree(onexc)": ">=3.12",
    "batched(strict)": ">=3.13",
}
MODULES = {
    "imp": "<3.12", "asyncore": "<3.12", "asynchat": "<3.12", "smtpd": "<3.12", "distutils": "<3.12", "cgi": "<3.13", "cgitb": "<3.13",
    "pipes": "<3.13", "telnetlib": "<3.13", "crypt": "<3.13", "imghdr": "<3.13", "sndhdr": "<3.13", "audioop": "<3.13", "lib2to3": "<3.13",
    "parser": "<3.10", "formatter": "<3.10", "symbol": "<3.10", "binhex": "<3.11", "tomllib": ">=3.11", "zoneinfo": ">=3.9",
    "graphlib": ">=3.9", "importlib.metadata": ">=3.8", "annotationlib": ">=3.14",
}  # fmt: skip
_INSTEAD = {"imp": "importlib", "distutils": "setuptools brings a copy: pip install setuptools", "collections": "collections.abc"}


def judge_python(statement: object, failure: Failure, facts: Facts) -> Hit | None:
    """The Pythons that have what was missing, and who asked for it; None where it is not of the standard library."""
    if isinstance(statement, (MissingName, MissingAttribute)):
        name = f"{statement.module}.{statement.name}"
        wanted = NAMES.get(name, "")
    elif isinstance(statement, MissingModule):
        name = statement.name if statement.name in MODULES else statement.name.partition(".")[0]
        wanted = MODULES.get(name, "")
    elif isinstance(statement, MissingMember):
        name = f"{statement.cls}.{statement.name}"
        wanted = MEMBERS.get(name, "")
    elif isinstance(statement, RefusedKeyword):
        name = f"{statement.function}({statement.keyword})"
        wanted = KEYWORDS.get(name, "")
    else:
        return None
    python = facts.value("python")
    if not wanted or (isinstance(python, Exact) and admits(wanted, python)):
        return None
    caller = caller_of(failure, "python")
    who = f"{describe(caller.package, facts)} ({caller.where})" if caller.package else "the code that asks for it"
    gone = wanted.startswith("<")
    instead = _INSTEAD.get(name, _INSTEAD.get(name.partition(".")[0], ""))
    told = f"Python {wanted[1:]} removed {name}" if gone else f"{name} came with Python {wanted[2:]}"
    there = f", and Python {python} is stated" if isinstance(python, Exact) else ""
    which = (
        "is older: a later release of it, or an older Python" if gone else "is for newer ones: a newer Python, or an earlier release of it"
    )
    detail = f"{told}{there}; {who} {which}{f' ({instead})' if gone and instead else ''}"
    packages = (caller.package, "python") if caller.package else ("python",)
    return Hit(PYTHON, True, (("python", f"not {wanted}"),), detail=detail, packages=packages, edge=f"{caller.package or 'code'}:{name}")
