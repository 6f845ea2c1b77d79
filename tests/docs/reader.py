"""Somebody who follows a page: a fresh folder, a running service, a terminal in that folder."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.docs.blocks import Block
from tests.packaging.containers import free_port
from tests.support import forked
from tests.support.source import ROOT

PATIENCE_S = 900  # only ends what hangs
PRINTED = ("127.0.0.1:8420", "localhost:8420")  # where pages reach the service


@dataclass
class Reader:
    """Runs the blocks of one page, in order.

    Attributes:
        values: what the page's blocks call `$NAME` or `{name}`, beside the environment.
    """

    folder: Path
    port: int = field(default_factory=free_port)
    values: dict[str, str] = field(default_factory=dict)
    service: forked.Forked | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def environment(self) -> dict[str, str]:
        """Nothing of this machine's own settings."""
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        return {
            **kept,
            "PATH": f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "TOLLGATE_DATA_DIR": str(self.data),
            "TOLLGATE_PORT": str(self.port),
            "TOLLGATE_URL": self.url,
            **self.values,
        }

    def furnish(self) -> None:
        """A folder as the pages expect it: the tree's programs and examples, curl as printed."""
        (self.folder / "home").mkdir()
        connect = [f'connect-to = "{name}:127.0.0.1:{self.port}"' for name in PRINTED]
        (self.folder / "home" / ".curlrc").write_text("\n".join(connect), encoding="utf-8")
        (self.folder / ".venv").symlink_to(sys.prefix)
        for name in ("examples", "scripts", "tests"):
            (self.folder / name).symlink_to(ROOT / name)

    def start(self) -> None:
        """Start the service, and wait until it says where it is."""
        with (self.folder / "service.log").open("ab") as log:
            self.service = forked.start(
                ["serve"],
                cwd=self.folder,
                environment=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log.fileno(),
            )
        assert any("url" in line for line in self.service.stdout), self.log()

    def stop(self) -> None:
        """End the service."""
        if self.service is not None:
            self.service.send_signal(signal.SIGTERM)
            self.service.communicate(timeout=PATIENCE_S)
            self.service = None

    def log(self) -> str:
        return (self.folder / "service.log").read_text(encoding="utf-8", errors="replace")

    def token(self) -> str:
        return (self.data / "bootstrap.token").read_text(encoding="ascii").strip()

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, str]:
        """Status and text of an answer."""
        headers = {"authorization": f"Bearer {self.token()}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.url + path, data, headers, method=method)
        try:
            with urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def get(self, path: str) -> dict[str, Any]:
        """The JSON of an answer below `/api/v1`."""
        status, text = self.ask("GET", f"/api/v1{path}")
        assert status == 200, text
        found: dict[str, Any] = json.loads(text)
        return found

    def post(self, path: str, body: object) -> dict[str, Any]:
        """As `get`, with something sent."""
        status, text = self.ask("POST", f"/api/v1{path}", body)
        assert status < 300, text
        found: dict[str, Any] = json.loads(text)
        return found

    def follow(self, block: Block) -> None:
        """Do what a block says; AssertionError when it does not work."""
        if block.note == "saved":
            place = self.folder / block.value
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            self._shell(block)
        elif block.language == "console":
            self._console(block)
        elif block.language == "http":
            self._requests(block)

    def _shell(self, block: Block) -> None:
        if block.note == "until stopped":
            self._interrupt(block)
            return
        typed = block.value + "\n" if block.note == "typed" else ""
        self.run(block.text, block.place, typed)

    def run(self, script: str, place: str, typed: str = "") -> str:
        """What lines of a terminal print; each has to succeed."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.folder,
            env=self.environment(),
            input=typed,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        said = f"{place}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        assert done.returncode == 0, said
        assert "Traceback" not in done.stdout + done.stderr, said
        return done.stdout

    def _interrupt(self, block: Block) -> None:
        """Start it, wait for its first output, and press Ctrl-C."""
        process = subprocess.Popen(
            shlex.split(block.text, comments=True),
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            shown = process.stdout.readline()
            process.send_signal(signal.SIGINT)
            _, complaints = process.communicate(timeout=PATIENCE_S)
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            process.wait()
        assert shown, f"{block.place}\n{complaints.decode()}"
        assert process.returncode in (0, 130), f"{block.place}\n{complaints.decode()}"

    def _console(self, block: Block) -> None:
        """Each `$ COMMAND` prints what stands below it; nothing there: anything."""
        for part in block.text.split("$ ")[1:]:
            command, _, expected = part.partition("\n")
            shown = self.run(command, block.place)
            if expected.strip():
                assert shown.rstrip("\n") == expected.rstrip("\n"), block.place

    def _requests(self, block: Block) -> None:
        """Requests as in RFC 9110 without headers: METHOD PATH, and JSON up to the next one."""
        requests: list[list[str]] = []
        for line in block.text.splitlines():
            if line.startswith(("GET ", "POST ", "PUT ", "PATCH ", "DELETE ")):
                requests.append(line.split(None, 2))
            else:
                requests[-1] = [*requests[-1][:2], " ".join([*requests[-1][2:], line])]
        for method, named, *text in requests:
            path, body = self._filled(named), json.loads(self._filled(text[0])) if text else None
            status, answer = self.ask(method, path, body)
            assert status < 300, f"{block.place}: {method} {path}: {status} {answer}"

    def _filled(self, text: str) -> str:
        """The text with the values in the place of `{name}`."""
        for name, value in self.values.items():
            text = text.replace("{" + name.lower() + "}", value)
        return text
