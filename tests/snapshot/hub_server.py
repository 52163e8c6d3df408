"""A server on this machine that answers as the hub's API does, or as a broken one."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.snapshot.places import COMMIT, git_blob, sha256

Answer = tuple[int, Mapping[str, str], bytes]


def listing(files: Mapping[str, bytes], commit: str = COMMIT) -> bytes:
    """What ``/api/models/ORG/NAME/revision/REVISION?blobs=true`` answers."""
    siblings: list[dict[str, object]] = []
    for name, data in files.items():
        told: dict[str, object] = {"rfilename": name, "size": len(data), "blobId": git_blob(data)}
        if name.endswith((".safetensors", ".bin")):
            told |= {"blobId": git_blob(b"pointer"), "lfs": {"sha256": sha256(data), "size": len(data), "pointerSize": 130}}
        siblings.append(told)
    return json.dumps({"id": "org/model", "modelId": "org/model", "sha": commit, "siblings": siblings}).encode()


@contextmanager
def hub(answer: Callable[[str], Answer]) -> Iterator[str]:
    """The endpoint of a hub that answers a path, with its query, as ``answer`` says."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(self.path)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing: what a test prints is what the command printed."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """Nothing: a client that goes away in the middle is what a test wants."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
