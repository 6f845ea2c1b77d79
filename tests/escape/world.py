"""What lies around one run, all of it owned by the user that the sandbox runs as.

The harshest neighbourhood there is: world-readable secrets beside the workspace, a process of
the same user, servers on every kind of local address, the terminal of an operator.
"""

from __future__ import annotations

import os
import pty
import secrets
import shutil
import sqlite3
import stat
import subprocess
import termios
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from app.operations.egress.egress import PROXY_PORT
from tests.escape.canaries import Canaries
from tests.escape.victim import Victim

SYSTEM_SETTING = Path("/proc/sys/kernel/printk_ratelimit_burst")  # nothing depends on it
_GROUPS = Path("/sys/fs/cgroup")
SERVICE_SECRET = "ESCAPE_SERVICE_SECRET"
Snapshot = dict[str, tuple[object, ...]]


class World:
    """One neighbourhood, and how it was before the run.

    Attributes:
        token: marks whatever a run starts or leaves behind.
        ws: the workspace.
        private: where the runner keeps private folders, of all runs.
        relay: port of a proxy that checks nothing, where nothing is confined.
        secrets: what must not come out, by where it lies.
    """

    def __init__(self, base: Path) -> None:
        self.token = f"7{secrets.randbelow(10**11):011d}"
        self.key = secrets.randbelow(2**31 - 2) + 1
        self.base = base / f"w{self.token}"
        self.ws, self.outside = self.base / "ws", self.base / "outside"
        self.private = base / "private"
        self.relay: int | None = None
        for folder in (self.ws, self.outside, self.base / "ws-evil", self.base / "data"):
            folder.mkdir(parents=True)
        self.secrets = {
            name: secrets.token_hex(16)
            for name in ("file", "sibling", "database", "token", "fd", "first")
        }
        if SERVICE_SECRET in os.environ:
            self.secrets["service"] = os.environ[SERVICE_SECRET]
        self._fill()
        self.canaries = Canaries(self.outside, self.token)
        self.secrets["victim"] = secrets.token_hex(16)
        self.victim = Victim(self.secrets["victim"])
        self.terminal, self._slave = pty.openpty()
        _make_raw(self._slave)
        os.set_blocking(self.terminal, False)
        self._held = (self._inheritable("fd.txt", os.O_RDONLY), self._inheritable("log", os.O_RDWR))
        self._setting = SYSTEM_SETTING.read_bytes()
        self._before = self._snapshot()

    def names(self) -> dict[str, str | int]:
        """What a run is told about its neighbourhood."""
        return {
            "TOKEN": self.token,
            "KEY": self.key,
            "WS": str(self.ws),
            "OUTSIDE": str(self.outside),
            "SECRET": str(self.outside / "secret.txt"),
            "MARKER": str(self.outside / "marker.txt"),
            "SIBLING": str(self.base / "ws-evil" / "secret.txt"),
            "DATABASE": str(self.base / "data" / "tollgate.db"),
            "BOOTSTRAP": str(self.base / "data" / "bootstrap.token"),
            "VICTIM": self.victim.pid,
            "SERVICE": os.getpid(),
            "TTY": os.ttyname(self._slave),
            "SETTING": str(SYSTEM_SETTING),
            "PROXY": self.relay or PROXY_PORT,
            "FREE": 0 if self.relay is None else 1,
            **self.canaries.names(),
        }

    def changes(self) -> list[str]:
        """What is different outside the workspace."""
        now = self._snapshot()
        changed = sorted(
            path for path in now.keys() | self._before if now.get(path) != self._before.get(path)
        )
        return changed + [str(path) for path in self._planted() if os.path.lexists(path)]

    def setting_changed(self) -> bool:
        return SYSTEM_SETTING.read_bytes() != self._setting

    def terminal_received(self) -> bytes:
        """What somebody wrote to the operator's terminal, or typed into it."""
        received = b""
        for descriptor in (self.terminal, self._slave):
            os.set_blocking(descriptor, False)
            with suppress(OSError):
                received += os.read(descriptor, 4096)
        return received

    def close(self) -> None:
        """Take everything away again, also what a run that got out has left."""
        self.victim.close()
        self.canaries.close()
        for descriptor in (self.terminal, self._slave, *self._held):
            os.close(descriptor)
        if self.setting_changed():
            SYSTEM_SETTING.write_bytes(self._setting)
        for path in self._planted():
            with suppress(OSError):
                path.rmdir() if path.parent == _GROUPS else path.unlink()
        _remove_ipc(self.key)
        _remove_mounts(self.base)
        _remove_tree(self.base)

    def _fill(self) -> None:
        outside, data = self.outside, self.base / "data"
        (outside / "secret.txt").write_text(self.secrets["file"] + "\n")
        (outside / "fd.txt").write_text(self.secrets["fd"])
        (outside / "log").write_text("nothing")
        (outside / "marker.txt").write_text("untouched")
        (outside / "folder").mkdir()
        (self.base / "ws-evil" / "secret.txt").write_text(self.secrets["sibling"])
        (data / "bootstrap.token").write_text(self.secrets["token"])
        with sqlite3.connect(data / "tollgate.db") as database:
            database.execute("PRAGMA synchronous = OFF")  # nobody needs it after a power cut
            database.execute("CREATE TABLE tokens (secret TEXT)")
            database.execute("INSERT INTO tokens VALUES (?)", (self.secrets["database"],))
        database.close()
        (self.ws / "hello.txt").write_text("hello")
        (self.ws / ".git" / "hooks").mkdir(parents=True)

    def _inheritable(self, name: str, flags: int) -> int:
        """A descriptor that a careless runner hands on."""
        descriptor = os.open(self.outside / name, flags)
        os.set_inheritable(descriptor, True)
        return descriptor

    def _planted(self) -> list[Path]:
        """Where a run may leave something for others to find."""
        name = f"esc{self.token}"
        homes = {Path.home(), Path("/root"), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm")}
        homes.add(_GROUPS)
        return [folder / name for folder in homes]

    def _snapshot(self) -> Snapshot:
        folders = (self.outside, self.base / "ws-evil", self.base / "data")
        paths = [self.base, *folders]
        for folder in folders:
            paths.extend(folder.rglob("*"))
        return {str(path): _state(path) for path in paths}


def _state(path: Path) -> tuple[object, ...]:
    status = path.lstat()
    content = sha256(path.read_bytes()).digest() if stat.S_ISREG(status.st_mode) else b""
    # Directories change their time with what is below them, so that counts as well.
    fields = (status.st_mode, status.st_uid, status.st_gid, status.st_size, status.st_nlink)
    return (*fields, status.st_mtime_ns, status.st_ctime_ns, content)


def _make_raw(descriptor: int) -> None:
    settings = termios.tcgetattr(descriptor)
    settings[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(descriptor, termios.TCSANOW, settings)


def _remove_ipc(key: int) -> None:
    for table, option in (("shm", "-M"), ("msg", "-Q"), ("sem", "-S")):
        if str(key) in Path(f"/proc/sysvipc/{table}").read_text():
            subprocess.run(["ipcrm", option, str(key)], capture_output=True, check=False)


def _remove_mounts(folder: Path) -> None:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        place = line.split()[1]
        if place.startswith(f"{folder}/"):
            subprocess.run(["umount", "-l", place], capture_output=True, check=False)


def _remove_tree(folder: Path) -> None:
    """Also one whose folders were locked or nested without end."""
    with suppress(OSError, RecursionError):
        shutil.rmtree(folder)
        return
    locked = [
        "find",
        str(folder),
        "-type",
        "d",
        "!",
        "-perm",
        "-700",
        "-exec",
        "chmod",
        "700",
        "{}",
    ]
    subprocess.run([*locked, ";"], capture_output=True, check=False)
    subprocess.run(["rm", "-rf", str(folder)], capture_output=True, check=True)
