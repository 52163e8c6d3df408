"""What the standard library of a Python has no more, or not yet.

From "What's New in Python" of 3.8 to 3.14: what each release removed, and what it brought.
"""

from __future__ import annotations

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
    "typing.io": "<3.13",
    "typing.re": "<3.13",
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
    "aifc": "<3.13", "chunk": "<3.13", "mailcap": "<3.13", "nntplib": "<3.13", "sunau": "<3.13", "uu": "<3.13", "xdrlib": "<3.13",
    "pipes": "<3.13", "telnetlib": "<3.13", "crypt": "<3.13", "imghdr": "<3.13", "sndhdr": "<3.13", "audioop": "<3.13", "lib2to3": "<3.13",
    "parser": "<3.10", "formatter": "<3.10", "symbol": "<3.10", "binhex": "<3.11", "tomllib": ">=3.11", "zoneinfo": ">=3.9",
    "graphlib": ">=3.9", "importlib.metadata": ">=3.8", "annotationlib": ">=3.14",
}  # fmt: skip
# What to write in the place of what went.
INSTEAD = {
    **{f"collections.{name}": f"from collections.abc import {name}" for name in _ABSTRACT},
    "imp": "use importlib",
    "distutils": "setuptools brings a copy: pip install setuptools",
    "pipes": "use shlex.quote",
    "inspect.getargspec": "write inspect.getfullargspec",
    "inspect.formatargspec": "write str(inspect.signature(f))",
    "asyncio.coroutine": "write async def",
    "fractions.gcd": "write math.gcd",
    "time.clock": "write time.perf_counter",
    "cgi.escape": "write html.escape",
    "base64.decodestring": "write base64.decodebytes",
    "base64.encodestring": "write base64.encodebytes",
    "configparser.SafeConfigParser": "write configparser.ConfigParser",
    "ssl.wrap_socket": "write ssl.SSLContext(...).wrap_socket",
    "locale.format": "write locale.format_string",
    "ast.Num": "write ast.Constant",
    "ast.Str": "write ast.Constant",
}


def last_minor(wanted: str) -> int | None:
    """The last Python 3.n that has what a row says ("<3.12": 11); None where it is still there."""
    return int(wanted.removeprefix("<3.")) - 1 if wanted.startswith("<3.") else None


# What no Python has any more, or not in every later release; some of it on one system alone.
REMOVED = frozenset(
    (
        *(name for name, wanted in {**MODULES, **NAMES}.items() if wanted.startswith("<")),
        "msilib", "nis", "ossaudiodev", "spwd", "random.jumpahead",
    )
)  # fmt: skip
