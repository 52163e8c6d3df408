"""Asking a server: parts, passwords, redirects, connections that stay open, and answers that are none."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from envdoctor.refresh.http import Connections, _proxy
from envdoctor.refresh.index import DEFAULT_INDEX, NoAnswerError, configured_index

FILE = bytes(range(256)) * 8


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked: list[tuple[str, str | None]]
    opened: list[object]
    elsewhere = ""

    def setup(self) -> None:
        super().setup()
        self.opened.append(self.client_address)

    def do_GET(self) -> None:
        self.asked.append((self.path, self.headers.get("Authorization")))
        if self.path.startswith("/moved"):
            self._send(302, b"", Location={"/moved": "/file", "/moved-away": f"{self.elsewhere}/file", "/moved-in": "file:///etc/hostname",
                                           "/moved-round": "/moved-round"}[self.path])  # fmt: skip
        elif self.path == "/none":
            self._send(404, b"no such file")
        elif self.path == "/closes" and len(self.opened) < 2:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif "Range" in self.headers:
            part = FILE[-int(self.headers["Range"].partition("=-")[2]) :]
            self._send(206, part, **{"Content-Range": f"bytes {len(FILE) - len(part)}-{len(FILE) - 1}/{len(FILE)}"})
        else:
            self._send(200, FILE)

    def _send(self, status: int, data: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Handler]]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    _proxy.cache_clear()

    class Own(Handler):
        asked: list[tuple[str, str | None]] = []  # noqa: RUF012 - made anew for every test
        opened: list[object] = []  # noqa: RUF012

    with ThreadingHTTPServer(("127.0.0.1", 0), Own) as listening:
        listening.daemon_threads = True
        Own.elsewhere = f"http://localhost:{listening.server_port}"
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield Own
        listening.shutdown()
        thread.join()
    _proxy.cache_clear()


@pytest.fixture
def connections() -> Iterator[Connections]:
    with closing(Connections()) as made:
        yield made


def address(server: type[Handler], path: str, login: str = "") -> str:
    return f"{server.elsewhere.replace('localhost', f'{login}127.0.0.1')}{path}"


def test_parts_and_wholes_over_one_connection(server: type[Handler], connections: Connections) -> None:
    part = connections.get(address(server, "/file"), {"Range": "bytes=-10"}, 4096)
    whole = connections.get(address(server, "/file"), {}, 4096)
    assert (part.data, part.whole) == (FILE[-10:], len(FILE))
    assert (whole.data, whole.whole) == (FILE, len(FILE))
    assert len(server.opened) == 1


def test_more_than_was_asked_for_is_refused_and_the_connection_not_used_again(server: type[Handler], connections: Connections) -> None:
    with pytest.raises(NoAnswerError, match="more than 100 bytes"):
        connections.get(address(server, "/file"), {}, 100)
    assert connections.get(address(server, "/file"), {"Range": "bytes=-10"}, 100).data == FILE[-10:]


def test_a_password_in_the_address_is_a_header_and_stays_with_its_host(server: type[Handler], connections: Connections) -> None:
    for path in ("/moved", "/moved-away"):
        assert connections.get(address(server, path, "me:s%3Acret@"), {}, 4096).data == FILE
    told = "Basic bWU6czpjcmV0"
    assert server.asked == [("/moved", told), ("/file", told), ("/moved-away", told), ("/file", None)]


@pytest.mark.parametrize(
    ("path", "why"),
    [("/none", "HTTP 404"), ("/moved-in", "not the address of a server"), ("/moved-round", "sent from place to place")],
)
def test_what_is_no_answer(server: type[Handler], connections: Connections, path: str, why: str) -> None:
    with pytest.raises(NoAnswerError, match=why):
        connections.get(address(server, path), {}, 4096)


def test_a_connection_that_the_other_side_closed_is_opened_again(server: type[Handler], connections: Connections) -> None:
    assert connections.get(address(server, "/closes"), {}, 4096).data == FILE
    assert len(server.opened) == 2


@pytest.mark.parametrize(
    "wrong", ["file:///etc/hostname", "ftp://host/x", "host/simple", "", "https://", "http://[::1", "http://host:port/", "http://host/a b",
              "http://host/a\r\nX: y"]
)  # fmt: skip
def test_what_is_no_address(connections: Connections, wrong: str) -> None:
    with pytest.raises(NoAnswerError, match="not the address of a server"):
        connections.get(wrong, {}, 4096)


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "\u00e4" * 70 + ".example"])
def test_a_host_that_cannot_be(connections: Connections, host: str) -> None:
    with pytest.raises(NoAnswerError, match="no answer"):
        connections.get(f"http://{host}/", {}, 4096)


def test_letters_that_no_request_may_have_are_written_as_bytes(server: type[Handler], connections: Connections) -> None:
    assert connections.get(address(server, "/fil\u00e9%20x?a=\u00df#part"), {}, 4096).data == FILE
    assert [path for path, _ in server.asked] == ["/fil%C3%A9%20x?a=%C3%9F"]


def test_nobody_listens_and_the_password_is_not_told(connections: Connections) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(NoAnswerError) as told:
            connections.get(f"http://me:secret@127.0.0.1:{port}/", {}, 4096)
    assert str(told.value).startswith("no answer")
    assert "secret" not in str(told.value)


def test_a_proxy_is_asked_for_the_whole_address(server: type[Handler], connections: Connections, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", server.elsewhere)
    monkeypatch.setenv("no_proxy", "")
    assert connections.get("http://me:secret@index.example/file?x=1", {}, 4096).data == FILE
    assert [path for path, _ in server.asked] == ["http://index.example/file?x=1"]


@pytest.mark.parametrize(
    ("environ", "index"),
    [
        ({"PIP_INDEX_URL": "https://pip.example/simple"}, "https://pip.example/simple"),
        ({"PIP_INDEX_URL": "https://pip.example/simple", "UV_INDEX_URL": " https://uv.example/simple "}, "https://uv.example/simple"),
        ({"UV_DEFAULT_INDEX": "https://uv.example/a", "UV_INDEX_URL": "https://uv.example/b"}, "https://uv.example/a"),
    ],
)
def test_the_index_that_the_environment_names(environ: dict[str, str], index: str) -> None:
    assert configured_index(environ) == index


def test_the_index_of_pips_own_settings_and_without_any_the_default(tmp_path: Path) -> None:
    assert configured_index({"PIP_CONFIG_FILE": os.devnull}) == DEFAULT_INDEX
    file = tmp_path / "pip.conf"
    for text, index in (
        ("[global]\nindex-url = https://conf.example/simple\n", "https://conf.example/simple"),
        ("[global]\nindex-url = https://a.example\n[install]\nindex-url = https://b.example/%7Ex\n", "https://b.example/%7Ex"),
        ("[global]\ntimeout = 60\n", DEFAULT_INDEX),
        ("index-url = https://conf.example/simple\n", DEFAULT_INDEX),
        ("\0\xff[", DEFAULT_INDEX),
    ):
        file.write_text(text, encoding="latin-1")
        assert configured_index({"PIP_CONFIG_FILE": str(file)}) == index
    users = tmp_path / "config"
    (users / "pip").mkdir(parents=True)
    (users / "pip" / ("pip.ini" if sys.platform == "win32" else "pip.conf")).write_text("[global]\nindex-url = https://mine.example\n")
    assert configured_index({"XDG_CONFIG_HOME": str(users), "APPDATA": str(users)}) == "https://mine.example"
