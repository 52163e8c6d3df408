"""Asking servers by the standard library, over connections that stay open: thousands of small parts are asked for.

Proxies are those that the environment names, certificates those that Python's ssl trusts (``SSL_CERT_FILE``).
"""

from __future__ import annotations

import base64
import ssl
import threading
import urllib.request
from collections.abc import Mapping
from functools import lru_cache
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit, urlunsplit

from envdoctor.refresh.index import TIMEOUT_S, Answer, NoAnswerError

_MOST_REDIRECTS = 5
_MOST_DIGITS = 18
_AS_IT_IS = "/%?#[]@:!$&'()*+,;=~-._"
_REDIRECTED = (301, 302, 303, 307, 308)
_PORTS = {"https": 443, "http": 80}
# A name server that is busy, a connection that the other side has given up meanwhile.
_ATTEMPTS = 4


class Connections:
    """Connections to servers, kept open until ``close``; each thread has its own."""

    def __init__(self) -> None:
        self._own = threading.local()
        self._all: list[HTTPConnection] = []

    def close(self) -> None:
        """Close the connections of all threads, none of which asks any more."""
        for connection in self._all:
            connection.close()
        self._all.clear()

    def get(self, address: str, headers: Mapping[str, str], most: int) -> Answer:
        """``Get`` over the network.

        Raises:
            NoAnswerError: no answer, or more bytes than that.
        """
        first = _checked(address)
        told = {"Accept-Encoding": "identity", "User-Agent": "envdoctor", **headers, **_login("Authorization", first)}
        at = first
        for _ in range(_MOST_REDIRECTS):
            status, where, answer = self._ask(at, told, most)
            if status in _REDIRECTED and where:
                at = _checked(urljoin(urlunsplit(at), where))
                if (at.scheme, at.netloc) != (first.scheme, first.netloc):  # a password is for the host that it was given for
                    told.pop("Authorization", None)
                continue
            if status not in (200, 206):
                raise NoAnswerError(f"HTTP {status}")
            if len(answer.data) > most:
                raise NoAnswerError(f"more than {most} bytes")
            return answer
        raise NoAnswerError("sent from place to place")

    def _ask(self, at: SplitResult, headers: Mapping[str, str], most: int) -> tuple[int, str | None, Answer]:
        key = (at.scheme, at.hostname or "", at.port or _PORTS[at.scheme])
        kept: dict[tuple[str, str, int], HTTPConnection] = self._own.__dict__.setdefault("kept", {})
        for attempt in range(1, _ATTEMPTS + 1):
            connection = kept.get(key)
            if connection is None:
                connection = kept[key] = _connection(*key)
                self._all.append(connection)
            try:
                connection.request("GET", _target(at), headers=dict(headers))
                response = connection.getresponse()
                data = response.read(most + 1)
                if len(data) > most:  # what is left of it is not waited for
                    connection.close()
                return response.status, response.headers.get("Location"), Answer(data, _whole(response))
            # ValueError: a name that cannot be the name of a host.
            except (OSError, HTTPException, ValueError) as error:
                connection.close()
                if attempt == _ATTEMPTS or isinstance(error, ssl.SSLCertVerificationError):
                    raise NoAnswerError(f"no answer: {error.strerror if isinstance(error, OSError) else ''}".rstrip(": ")) from None
        raise AssertionError("unreachable")


def _checked(address: str) -> SplitResult:
    try:
        parts = urlsplit(address)
        known = parts.scheme in _PORTS and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        known = False
    if not known or any(ord(letter) <= 32 or ord(letter) == 127 for letter in address):
        raise NoAnswerError("not the address of a server: https://HOST/PATH")
    return parts


def _connection(scheme: str, host: str, port: int) -> HTTPConnection:
    proxy = _proxy(scheme, host)
    if proxy is None:
        return (
            HTTPSConnection(host, port, timeout=TIMEOUT_S, context=_trust()) if scheme == "https" else HTTPConnection(host, port, TIMEOUT_S)
        )
    via, at = proxy.hostname or "", proxy.port or _PORTS.get(proxy.scheme, 80)
    if scheme == "http":
        return HTTPConnection(via, at, TIMEOUT_S)
    tunnel = HTTPSConnection(via, at, timeout=TIMEOUT_S, context=_trust())
    tunnel.set_tunnel(host, port, headers=_login("Proxy-Authorization", proxy))
    return tunnel


def _target(at: SplitResult) -> str:
    """What is asked for: a path, and of a proxy without a tunnel the whole address."""
    path = quote(urlunsplit(("", "", at.path or "/", at.query, "")), safe=_AS_IT_IS)
    if at.scheme == "http" and _proxy("http", at.hostname or "") is not None:
        return f"http://{at.netloc.rpartition('@')[2]}{path}"
    return path


@lru_cache(maxsize=64)
def _proxy(scheme: str, host: str) -> SplitResult | None:
    address = urllib.request.getproxies().get(scheme)
    if not address or urllib.request.proxy_bypass(host):
        return None
    return urlsplit(address if "//" in address else f"//{address}", scheme="http")


def _login(header: str, parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
    return {header: f"Basic {base64.b64encode(secret).decode('ascii')}"}


def _whole(response: HTTPResponse) -> int | None:
    """The size of the file that was asked for: ``bytes 90-99/100`` for a part, the length for all of it."""
    part = response.headers.get("Content-Range")
    said = response.headers.get("Content-Length") if part is None else part.rpartition("/")[2]
    return int(said) if said is not None and said.isascii() and said.isdecimal() and len(said) <= _MOST_DIGITS else None


@lru_cache(maxsize=1)
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()
