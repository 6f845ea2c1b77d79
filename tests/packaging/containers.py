"""The image and compose.yaml, driven as an operator would."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.support.source import ROOT

TOKEN = "0123456789abcdef" * 4
SLOW_S = 1800  # only ends what hangs: a build loads all packages
PAGE = "<title>A shop</title><body style='background: #00ff00'><h1>商店 Shop</h1>"
TEXT = "Hello from a compatible server."


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def docker(*words: str, folder: Path = ROOT, check: bool = True) -> str:
    """What a command of Docker prints."""
    done = subprocess.run(
        ["docker", *words],
        cwd=folder,
        env={**os.environ, "BUILDKIT_PROGRESS": "plain"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SLOW_S,
        check=False,
    )
    if check and done.returncode:
        raise AssertionError(
            f"docker {' '.join(words)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


@dataclass
class Composed:
    """A service that Compose runs, with the `.env` of a folder of its own."""

    name: str
    folder: Path
    files: list[Path]
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settings(self, **values: str) -> None:
        """Write `.env`."""
        usual = {"TOLLGATE_TOKEN": TOKEN, "TOLLGATE_PORT": str(self.port)}
        lines = [f"{name}={value}" for name, value in (usual | values).items()]
        (self.folder / ".env").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def compose(self, *words: str) -> str:
        files = [word for file in self.files for word in ("--file", str(file))]
        where = ["--project-directory", str(self.folder), "--project-name", self.name]
        return docker("compose", *where, *files, *words, folder=self.folder)

    def up(self, *words: str) -> None:
        """Start, and wait until Docker itself calls it healthy."""
        self.compose("up", "--detach", "--no-build", "--wait", *words)

    def run(self, *words: str) -> str:
        """What a program in the running container prints."""
        return self.compose("exec", "--no-TTY", "tollgate", *words)

    def inspect(self) -> dict[str, Any]:
        container = self.compose("ps", "--quiet", "tollgate").strip()
        found: dict[str, Any] = json.loads(docker("inspect", container))[0]
        return found

    def ask(self, path: str, body: Any = None, **headers: str) -> Any:
        """The JSON of an answer below `/api/v1`."""
        data = None if body is None else json.dumps(body).encode()
        usual = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
        request = Request(f"{self.url}/api/v1{path}", data, usual | headers)
        with urlopen(request, timeout=300) as answer:
            return json.load(answer)

    def status(self, path: str, **headers: str) -> int:
        """The status of an answer, whatever it is."""
        try:
            with urlopen(Request(f"{self.url}{path}", headers=headers), timeout=60) as answer:
                return int(answer.status)
        except HTTPError as error:
            return error.code

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.ask(f"/tools/{tool}/call", {"arguments": arguments})
        return answer


class _Outside(BaseHTTPRequestHandler):
    """A page, and a server of chat completions that says one sentence."""

    def do_GET(self) -> None:
        self._answer("text/html; charset=utf-8", PAGE.encode())

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        pieces = [
            {"index": 0, "delta": {"role": "assistant", "content": TEXT}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        ]
        lines = [json.dumps({**head, "choices": [piece]}) for piece in pieces]
        body = "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]"))
        self._answer("text/event-stream", body.encode())

    def _answer(self, kind: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def outside() -> Iterator[int]:
    """A server of this machine that containers reach as `host.docker.internal`; its port."""
    form = "{{(index .IPAM.Config 0).Gateway}}"
    gateway = docker("network", "inspect", "bridge", "--format", form).strip()
    with ThreadingHTTPServer((gateway, 0), _Outside) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
