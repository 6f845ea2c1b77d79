"""A process of the same user that has nothing to do with the run."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import time
from hashlib import sha256
from pathlib import Path

_LIMIT = resource.RLIMIT_CORE
_SLEEPING = ("230", "115")  # clock_nanosleep of x86_64 and aarch64


def _digest(pid: int) -> str:
    """Of its stack, and of the beginning of each of its programs."""
    found = sha256()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            start, end = (int(word, 16) for word in line.split()[0].split("-"))
            if "[stack]" in line or ("r-xp" in line and "[v" not in line):
                memory.seek(start)
                found.update(memory.read(min(end - start, 256 << 10)))
    return found.hexdigest()


class Victim:
    """It sleeps, with a secret in its environment, and must be left as it is."""

    def __init__(self, secret: str) -> None:
        self._process = subprocess.Popen(
            ["/bin/sleep", "600"],
            env={"ESCAPE_VICTIM_SECRET": secret},
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._wait_until_asleep()
        self._before = self._state()

    @property
    def pid(self) -> int:
        return self._process.pid

    def changes(self) -> list[str]:
        """What somebody did to it."""
        if self._process.poll() is not None:
            return [f"ended with {self._process.returncode}"]
        try:
            now = self._state()
        except OSError:  # it is just ending
            return ["ended"]
        return [
            f"{name}: {self._before[name]} -> {now[name]}"
            for name in now
            if now[name] != self._before[name]
        ]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _wait_until_asleep(self) -> None:
        """Before that, its memory changes by itself."""
        while Path(f"/proc/{self.pid}/syscall").read_text().split()[0] not in _SLEEPING:
            time.sleep(0.001)

    def _state(self) -> dict[str, object]:
        status = Path(f"/proc/{self.pid}/status").read_text()
        state = re.search(r"^State:\s(\S)", status, re.MULTILINE)
        tracer = re.search(r"^TracerPid:\s(\d+)", status, re.MULTILINE)
        assert state
        assert tracer
        return {
            "stopped": state[1] in "Tt",
            "tracer": tracer[1],
            "priority": os.getpriority(os.PRIO_PROCESS, self.pid),
            "affinity": os.sched_getaffinity(self.pid),
            "scheduler": os.sched_getscheduler(self.pid),
            "limit": resource.prlimit(self.pid, _LIMIT),
            "memory": _digest(self.pid),
            "out of memory score": Path(f"/proc/{self.pid}/oom_score_adj").read_text(),
        }
