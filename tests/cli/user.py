"""Somebody who runs `tollgate` in a folder of their own, with a home folder of their own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.program import PATIENCE_S, announced
from tests.support import forked
from tests.support.source import ROOT


@dataclass(frozen=True)
class User:
    """Somebody with a home folder, who stands in a folder of their own."""

    home: Path
    here: Path

    @property
    def usual(self) -> Path:
        return self.home / ".local" / "share" / "tollgate"

    def environment(self, **extra: str) -> dict[str, str]:
        passed = ("TOLLGATE_", "ANTHROPIC_", "OPENAI_", "XDG_")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(passed)}
        # Nothing answers at the address of the settings.
        own = {"HOME": str(self.home), "PYTHONPATH": str(ROOT), "TOLLGATE_PORT": closed_port()}
        return {**kept, **own, **extra}

    def run(
        self, *words: str, stdin: str = "", cwd: Path | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `tollgate` in the folder where the user stands."""
        return forked.run(
            words, cwd=cwd or self.here, environment=self.environment(**extra), stdin=stdin
        )

    @contextmanager
    def serving(self, *words: str, cwd: Path | None = None, **extra: str) -> Iterator[Served]:
        """A service of this user, started somewhere else than the commands."""
        process = forked.start(
            ["serve", "--port", "0", *words],
            cwd=cwd or self.home,
            environment=self.environment(**extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        try:
            yield Served(process, announced(process.stdout))
        finally:
            process.terminate()
            process.communicate()


@dataclass(frozen=True)
class Served:
    process: forked.Forked
    facts: dict[str, str]

    @property
    def url(self) -> str:
        return self.facts["url"]

    @property
    def token(self) -> str:
        """The first token."""
        path = Path(self.facts["data"]) / "bootstrap.token"
        return path.read_text(encoding="ascii").strip()

    def get(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The answer of a path; a body is posted."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        call = urllib.request.Request(f"{self.url}/api/v1{path}", data=data, headers=headers)
        with urllib.request.urlopen(call, timeout=PATIENCE_S) as answer:
            return json.load(answer)


def closed_port() -> str:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
