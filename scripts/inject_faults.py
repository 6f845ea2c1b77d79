"""Run a service with load and faults in random order; it must answer and lose nothing.

    .venv/bin/python -m scripts.inject_faults --minutes 30 --seed 7
    .venv/bin/python -m scripts.inject_faults --rounds 1

`/api/v1/health` is requested continuously, on a new connection each time, and must answer. Load
gets a success or a typed problem. After each fault the service must recover by itself. In the end
everything acknowledged must exist. Prints a line for each fault and every problem; exits with 1 if
there was any. As root the data is on a separate small disk, so that it can be filled; otherwise
that fault is skipped.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parent.parent
OPEN_FILES = 1024
ADDRESS_SPACE = 1400 << 20
# Half an hour of load writes several hundred of them.
DISK_MIB = 2048
RESERVE_MIB = 32
PATIENCE_S = 120.0
TOKEN = "t" * 43
_BEARER = {"Authorization": f"Bearer {TOKEN}"}
# Permitted refusals of the service.
TYPED = frozenset(
    {
        *("overloaded", "storage_unavailable", "rate_limited", "request_timeout"),
        *("concurrency_limited", "busy", "headers_too_large"),
    }
)


@dataclass
class Seen:
    """Observations, and violations."""

    health: int = 0
    slowest_s: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    conditions: Counter[str] = field(default_factory=Counter)
    sessions: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Trial:
    """One service with load and faults.

    Attributes:
        workers: number of concurrent clients.
    """

    def __init__(self, data: Path, *, seed: int, has_own_disk: bool, workers: int = 3) -> None:
        self.data = data
        self.seen = Seen()
        self.workers = workers
        self.has_own_disk = has_own_disk
        self.random = Random(seed)  # noqa: S311 - an order, no secret
        self.url = ""
        self._under_way = asyncio.Event()

    # -- the whole ----------------------------------------------------------------------

    async def run(self, *, seconds: float | None = None, rounds: int = 1) -> Seen:
        """Inject faults for the given time, or each the given number of times."""
        async with self._service(), AsyncExitStack() as stack:
            for work in (self._ask_health(), *(self._load(n) for n in range(self.workers))):
                task = asyncio.create_task(work)
                stack.push_async_callback(_end, task)
            ends = None if seconds is None else time.monotonic() + seconds
            async for name, fault in self._order(ends, rounds):
                began = time.monotonic()
                await fault(self)
                await self._until_ready(name)
                self.seen.faults[name] += 1
                print(f"{name}: ready again after {time.monotonic() - began:.1f} s", flush=True)
            await stack.aclose()
            await self._look_for_losses()
        return self.seen

    async def _order(
        self, ends: float | None, rounds: int
    ) -> AsyncIterator[tuple[str, Callable[[Trial], Awaitable[None]]]]:
        done = 0
        while (time.monotonic() < ends) if ends else (done < rounds):
            chosen = [item for item in FAULTS.items() if self.has_own_disk or item[0] not in DISK]
            self.random.shuffle(chosen)
            for item in chosen:
                if ends and time.monotonic() > ends:
                    return
                yield item
            done += 1

    @asynccontextmanager
    async def _service(self) -> AsyncIterator[None]:
        environment = {
            **{name: value for name, value in os.environ.items() if "TOLLGATE" not in name},
            "TOLLGATE_PORT": "0",
            "TOLLGATE_TOKEN": TOKEN,
            "TOLLGATE_DATA_DIR": str(self.data),
            "TOLLGATE_WORKSPACE": str(self.data / "workspace"),
            "TOLLGATE_SERVING__DISK_RESERVE_MB": str(RESERVE_MIB if self.has_own_disk else 1),
            "TOLLGATE_SERVING__HEADER_TIMEOUT_S": "2",
            "TOLLGATE_SERVING__BODY_TIMEOUT_S": "2",
            "TOLLGATE_SERVING__WRITE_TIMEOUT_S": "2",
        }
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "app.cli", "serve"),
            stdout=subprocess.PIPE,
            env=environment,
            cwd=ROOT,
            preexec_fn=_limit,
        )
        try:
            assert process.stdout is not None
            async with asyncio.timeout(PATIENCE_S):
                while not self.url:
                    line = (await process.stdout.readline()).decode()
                    assert line, "the service has not started"
                    self.url = line.split()[1] if line.split()[:1] == ["url"] else ""
            yield
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
            code = await process.wait()
            if code != 0:
                self.seen.wrong.append(f"the service has ended with {code}")

    # -- beside the faults --------------------------------------------------------------

    async def _ask_health(self) -> None:
        while True:
            began = time.monotonic()
            try:
                async with httpx2.AsyncClient(timeout=PATIENCE_S) as client:
                    answer = await client.get(f"{self.url}/api/v1/health")
                if answer.status_code != httpx2.codes.OK:
                    self.seen.wrong.append(f"health: {answer.status_code} {answer.text[:200]}")
                else:
                    self.seen.conditions.update(answer.json()["conditions"])
            except httpx2.HTTPError as error:
                self.seen.wrong.append(f"health was not answered: {error!r}")
            self.seen.health += 1
            self.seen.slowest_s = max(self.seen.slowest_s, time.monotonic() - began)
            await asyncio.sleep(0.1)

    async def _load(self, worker: int) -> None:
        number = 0
        async with self.client() as client:
            while True:
                number += 1
                name = f"w{worker}-{number}.txt"
                made = await self._asked(client, "/sessions", {"project_id": "default"})
                if made is not None:
                    self.seen.sessions.append(made["id"])
                    call = {"path": name, "content": name}
                    body = {"arguments": call, "session_id": made["id"]}
                    reported = await self._asked(client, "/tools/write_file/call", body)
                    if reported is not None and reported.get("status") == "success":
                        self.seen.files.append(name)
                await asyncio.sleep(0.05)

    async def _asked(
        self, client: httpx2.AsyncClient, path: str, body: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Return an acknowledging answer; anything else must be typed."""
        try:
            answer = await client.post(path, json=body)
        except (httpx2.TransportError, httpx2.PoolTimeout) as error:
            # A connection may be closed to make room, and then nothing was acknowledged.
            self.seen.answers[type(error).__name__] += 1
            return None
        reported: dict[str, Any] = answer.json()
        self.seen.answers[
            f"{answer.status_code} {reported.get('code') or reported.get('status', '')}"
        ] += 1
        if answer.is_success:
            return reported
        if reported.get("code") not in TYPED:
            self.seen.wrong.append(f"{path}: {answer.status_code} {answer.text[:300]}")
        return None

    def client(self) -> httpx2.AsyncClient:
        """Return a client with all rights."""
        return httpx2.AsyncClient(
            base_url=f"{self.url}/api/v1", headers=_BEARER, timeout=PATIENCE_S
        )

    async def until_ready_says(self, *, ready: bool) -> bool:
        """Return whether `ready` reaches the value; polls until then."""
        async with httpx2.AsyncClient(timeout=PATIENCE_S) as client:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    while True:
                        with suppress(httpx2.HTTPError):
                            answer = await client.get(f"{self.url}/api/v1/ready")
                            if answer.is_success == ready:
                                return True
                        await asyncio.sleep(0.1)
        return False

    async def _until_ready(self, name: str) -> None:
        if not await self.until_ready_says(ready=True):
            self.seen.wrong.append(f"not ready again after {name}")

    async def _look_for_losses(self) -> None:
        async with self.client() as client:
            for session in self.seen.sessions:
                answer = await client.get(f"/sessions/{session}")
                if answer.status_code != httpx2.codes.OK:
                    self.seen.wrong.append(f"session {session} is lost: {answer.status_code}")
        for name in self.seen.files:
            path = self.data / "workspace" / name
            if not path.exists() or path.read_text(encoding="utf-8") != name:
                self.seen.wrong.append(f"file {name} is lost")

    # -- what faults need ---------------------------------------------------------------

    @asynccontextmanager
    async def holding(self, count: int, text: str) -> AsyncIterator[None]:
        """Hold this many connections that have sent only this text, from many addresses."""
        host, _, port = self.url.removeprefix("http://").rpartition(":")
        held: list[socket.socket] = []
        try:
            for number in range(count):
                client = socket.socket()
                held.append(client)
                client.setblocking(False)
                client.bind((f"127.0.{2 + number % 3}.{1 + number % 200}", 0))
                with suppress(OSError, TimeoutError):
                    async with asyncio.timeout(2):
                        await asyncio.get_running_loop().sock_connect(client, (host, int(port)))
                        client.send(text.encode())
            yield
        finally:
            for client in held:
                client.close()


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


# -- the faults ---------------------------------------------------------------------------


async def half_requests(trial: Trial) -> None:
    async with trial.holding(400, "GET /api/v1/sess"):
        await asyncio.sleep(1)


async def half_bodies(trial: Trial) -> None:
    head = "POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    async with trial.holding(200, f"{head}Content-Length: 999\r\n\r\n{{"):
        await asyncio.sleep(1)


async def half_handshakes(trial: Trial) -> None:
    head = "GET /api/v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    async with trial.holding(200, f"{head}Connection: Upgrade\r\n"):
        await asyncio.sleep(1)


async def unread_answers(trial: Trial) -> None:
    async with trial.holding(100, "GET /api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
        await asyncio.sleep(1)


async def flood(trial: Trial) -> None:
    async with trial.holding(1500, "GET /"):
        await asyncio.sleep(0.5)


async def foreign_hosts(trial: Trial) -> None:
    async with httpx2.AsyncClient(timeout=PATIENCE_S, headers={"Host": "evil.example"}) as client:
        for path in ("/", "/api/v1/ready", "/api/v1/sessions"):
            with suppress(httpx2.TransportError):
                answer = await client.get(trial.url + path)
                if answer.status_code not in (403, 503):
                    trial.seen.wrong.append(f"{path} of a foreign host: {answer.status_code}")


async def guesses(trial: Trial) -> None:
    async with httpx2.AsyncClient(timeout=PATIENCE_S) as client:
        for number in range(40):
            with suppress(httpx2.TransportError):
                answer = await client.post(
                    f"{trial.url}/api/v1/login", json={"token": f"guess {number}"}
                )
                if answer.status_code not in (401, 429, 503):
                    trial.seen.wrong.append(f"a guess was answered {answer.status_code}")


async def many_calls(trial: Trial) -> None:
    async with trial.client() as client:
        body = {"arguments": {"command": "sleep 0.3"}}
        calls = (client.post("/tools/bash/call", json=body) for _ in range(40))
        for answer in await asyncio.gather(*calls, return_exceptions=True):
            if isinstance(answer, httpx2.Response) and not answer.is_success:
                code = answer.json().get("code")
                if code not in TYPED:
                    trial.seen.wrong.append(f"bash: {answer.status_code} {answer.text[:200]}")


async def large_bodies(trial: Trial) -> None:
    # With the maximum size of a body, not stored anywhere.
    content = b'{"token": "' + b"1" * (7 << 20) + b'"}'
    headers = {"Content-Type": "application/json"}
    async with trial.client() as client:
        calls = (client.post("/login", content=content, headers=headers) for _ in range(12))
        await asyncio.gather(*calls, return_exceptions=True)


async def unlinked_file(trial: Trial) -> None:
    command = "exec 3> gone; rm gone; head -c 8000000 /dev/zero >&3; sleep 0.5"
    async with trial.client() as client:
        with suppress(httpx2.TransportError):
            await client.post("/tools/bash/call", json={"arguments": {"command": command}})


async def database_moved(trial: Trial) -> None:
    path = trial.data / "tollgate.db"
    path.rename(path.with_suffix(".aside"))
    try:
        if not await trial.until_ready_says(ready=False):
            trial.seen.wrong.append("a database that was moved went unnoticed")
    finally:
        path.with_suffix(".aside").rename(path)
        for rescued in trial.data.glob("tollgate.rescued-*.db"):
            rescued.unlink()


async def database_locked(trial: Trial) -> None:
    lock = sqlite3.connect(trial.data / "tollgate.db", isolation_level=None)
    try:
        with suppress(sqlite3.OperationalError):
            lock.execute("BEGIN IMMEDIATE")
            await asyncio.sleep(1)
            lock.execute("ROLLBACK")
    finally:
        lock.close()


async def temporary_folder_removed(trial: Trial) -> None:
    shutil.rmtree(trial.data / "tmp", ignore_errors=True)


async def full_disk(trial: Trial) -> None:
    """Fill the disk completely: first the reserve ends admission, then nothing can be written."""
    filler = trial.data / "filler"
    try:
        with suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(bytes(1 << 20))
                file.flush()
        if not await trial.until_ready_says(ready=False):
            trial.seen.wrong.append("ready says yes on a full disk")
    finally:
        filler.unlink(missing_ok=True)


DISK = frozenset({"full disk"})
FAULTS: dict[str, Callable[[Trial], Awaitable[None]]] = {
    "half requests": half_requests,
    "half bodies": half_bodies,
    "half handshakes": half_handshakes,
    "unread answers": unread_answers,
    "flood": flood,
    "foreign hosts": foreign_hosts,
    "guesses": guesses,
    "many calls": many_calls,
    "large bodies": large_bodies,
    "unlinked file": unlinked_file,
    "database moved": database_moved,
    "database locked": database_locked,
    "temporary folder removed": temporary_folder_removed,
    "full disk": full_disk,
}


@asynccontextmanager
async def small_disk(folder: Path) -> AsyncIterator[bool]:
    """Make `folder` a separate disk for the duration of the block, if possible."""
    options = ["-t", "tmpfs", "-o", f"size={DISK_MIB}m,mode=700", "tollgate", str(folder)]
    mount = shutil.which("mount")
    done = mount and os.geteuid() == 0 and await _ran(mount, *options)
    try:
        yield bool(done)
    finally:
        if done:
            await _ran(shutil.which("umount") or "umount", "--lazy", str(folder))


async def _ran(*command: str) -> bool:
    process = await asyncio.create_subprocess_exec(*command, stderr=subprocess.DEVNULL)
    return await process.wait() == 0


@contextmanager
def _many_files() -> Iterator[None]:
    """Raise the limit of open files to the maximum; shells start with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def run_trial(
    *, seed: int, seconds: float | None = None, rounds: int = 1, workers: int = 3
) -> Seen:
    """Run one trial in a separate folder."""
    with TemporaryDirectory() as name, _many_files():
        data = Path(name) / "data"
        data.mkdir(mode=0o700)
        async with small_disk(data) as has_own_disk:
            trial = Trial(data, seed=seed, has_own_disk=has_own_disk, workers=workers)
            return await trial.run(seconds=seconds, rounds=rounds)


def main() -> int:
    """Run a trial and print the observations; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, help="for how long; without it, --rounds")
    parser.add_argument("--rounds", type=int, default=1, help="how often each fault")
    parser.add_argument("--seed", type=int, default=7, help="which order")
    chosen = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8192)), hard))
    seconds = None if chosen.minutes is None else chosen.minutes * 60
    seen = asyncio.run(run_trial(seed=chosen.seed, seconds=seconds, rounds=chosen.rounds))
    print(f"faults: {dict(seen.faults)}")
    print(f"health: asked {seen.health} times, slowest {seen.slowest_s:.2f} s")
    print(f"conditions seen: {dict(seen.conditions)}")
    print(f"answers: {dict(seen.answers.most_common())}")
    print(f"acknowledged: {len(seen.sessions)} sessions, {len(seen.files)} files")
    for line in seen.wrong:
        print(f"WRONG: {line}")
    print(f"{len(seen.wrong)} wrong (seed {chosen.seed})")
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
