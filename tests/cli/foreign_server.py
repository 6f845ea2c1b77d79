"""A server that is no Tollgate, and keeps what it was sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# As `health` of a service begins.
BODY = b'{"status": "ok", "sandbox": {}}'


class Answering(ThreadingHTTPServer):
    """A server that answers each GET with a status and a place, and keeps what it was sent."""

    def __init__(self, location: str | None) -> None:
        self.seen: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.seen.append(f"{self.path}\n{self.headers}")
                self.send_response(200 if location is None else 307)
                if location is not None:
                    self.send_header("Location", f"{location}{self.path}")
                self.send_header("Content-Length", str(len(BODY)))
                self.end_headers()
                self.wfile.write(BODY)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def answering(location: str | None = None) -> Iterator[Answering]:
    with Answering(location) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
