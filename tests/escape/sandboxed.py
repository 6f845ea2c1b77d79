"""The runner under attack: the real sandbox, as the service uses it."""

from __future__ import annotations

import ipaddress
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from app.core.errors import ToolFailed
from app.core.host_rules import HostRules
from app.operations.egress.destinations import HostDestinations
from app.operations.protocols.code import CodeSpec, RunningCode
from app.operations.protocols.processes import (
    ProcessExit,
    ProcessLimits,
    ProcessSpec,
    RunningProcess,
    Terminal,
)
from app.operations.protocols.sandbox import Level
from app.operations.sandbox.config import NO_NETWORK, Network, SandboxConfig
from app.operations.sandbox.jail.job import Job
from app.operations.sandbox.kernel_probe import Probe, probe
from app.operations.sandbox.sandbox import Sandbox
from app.operations.sandbox.status import judge
from app.operations.sandbox.workspace import SandboxedWorkspace
from app.operations.sandbox.zygote import Zygote
from tests.escape.attempt import Attempt, Limits, Outcome
from tests.escape.front import ALLOWED, FRONT, Places, rules_for
from tests.escape.source import TIGHT, TIGHT_FILES, text_of
from tests.escape.world import World

_KEPT = 4 << 20
_LET_AT = (443,)  # where no canary listens
_PYTHON = "/usr/bin/python3"


class _NarrowSandbox(Sandbox):
    """On a kernel that has no `without`, as far as it can tell."""

    def __init__(
        self,
        config: SandboxConfig,
        without: tuple[str, ...],
        destinations: HostDestinations | None = None,
    ) -> None:
        super().__init__(config, destinations=destinations)
        found = probe(None)
        missing = dict.fromkeys(without, "taken away")
        layers = found.layers - set(without)
        self._status = judge(Probe(layers, missing, found.landlock_abi), weaker=config.weaker)


class _TightZygote(Zygote):
    """Lets no run make more than a few files: the sandbox itself has no setting for that."""

    async def send(self, job: Job, descriptors: Sequence[int]) -> None:
        policy = replace(job.policy, inodes=min(job.policy.inodes, TIGHT_FILES))
        await super().send(replace(job, policy=policy), descriptors)


class SandboxedRunner:
    """Runs attempts in one sandbox, each in a workspace of its own; in another, tight ones.

    Args:
        private: where their private folders lie.
        hosts: whether programs may reach some hosts by name.
    """

    def __init__(
        self,
        private: Path,
        without: tuple[str, ...],
        network: Network = NO_NETWORK,
        *,
        hosts: bool = False,
    ) -> None:
        self._network = network
        self._places = Places((ipaddress.ip_network(FRONT),)) if hosts else None
        usual = SandboxConfig(temporary=private)
        # No worker waits in it: those have the time of their level, which no attempt that uses
        # something up asks for.
        tight = replace(
            usual,
            warm_workers=0,
            memory_bytes=TIGHT["memory_bytes"],
            disk_bytes=TIGHT["disk_bytes"],
        )
        self._usual = _NarrowSandbox(usual, without, self._places)
        self._tight = _NarrowSandbox(tight, without)
        self._tight.zygote = _TightZygote()

    async def run(self, attempt: Attempt, level: Level, world: World, limits: Limits) -> Outcome:
        """Never raises for what the run does; that is the service's fault, and told so."""
        text = text_of(attempt, level, world, limits, helped=True)
        sandbox = self._tight if attempt.tight else self._usual
        kept = _Kept()
        network = self._network
        if self._places is not None:
            self._places.world = world
            network = Network(hosts=rules_for(world))
        try:
            async with SandboxedWorkspace(world.ws, sandbox=sandbox, network=network) as workspace:
                if level == "bash":
                    spec = self._spec(attempt, text, world, limits)
                    async with workspace.operations.processes.open(spec) as process:
                        kept.start()
                        await kept.drain(process)
                        exit_ = await process.wait()
                else:
                    code = CodeSpec(text, level, limits.wall_s)
                    async with workspace.operations.code.open(code) as running:
                        kept.start()
                        await kept.drain(running)
                        ended = await running.wait()
                    kept.value = ended.value
                    kept.files = tuple(file.data for file in ended.files)
                    exit_ = ended.exit
        except ToolFailed as error:
            return kept.outcome(f"refused: {error}", None)
        except Exception as error:  # noqa: BLE001 - the finding itself
            return kept.outcome(f"{type(error).__name__}: {error}", None)
        return kept.outcome(_mismatch(exit_, level), exit_)

    async def rest(self) -> None:
        """Return when nothing is being started any more."""
        await self._usual.start()
        await self._tight.start()
        if self._places is not None and self._usual.egress.pid is None:
            _, descriptor = await self._usual.egress.open(HostRules.of([ALLOWED]))
            os.close(descriptor)

    @property
    def proxy_process(self) -> int | None:
        """The number of the process that reaches hosts for programs."""
        return self._usual.egress.pid

    async def close(self) -> None:
        await self._usual.close()
        await self._tight.close()

    def _spec(self, attempt: Attempt, text: str, world: World, limits: Limits) -> ProcessSpec:
        if attempt.shell:
            argv: tuple[str, ...] = ("bash", "-c", text)
        else:
            script = world.ws / ".run.py"
            script.write_text(text)
            argv = (_PYTHON, "-I", str(script))
        return ProcessSpec(
            argv,
            limits=ProcessLimits(
                wall_s=limits.wall_s,
                memory_bytes=limits.memory_bytes,
                disk_bytes=limits.disk_bytes,
                file_bytes=limits.file_bytes,
                processes=limits.processes,
                open_files=limits.open_files,
                output_bytes=limits.output_bytes,
            ),
            terminal=Terminal() if attempt.terminal else None,
        )


class _Kept:
    """What has come back so far."""

    def __init__(self) -> None:
        self._streams = {"stdout": bytearray(), "stderr": bytearray()}
        self._count = 0
        self._started: float | None = None
        self.value: str | None = None
        self.files: tuple[bytes, ...] = ()

    def start(self) -> None:
        """It runs from now on."""
        self._started = time.monotonic()

    async def drain(self, running: RunningProcess | RunningCode) -> None:
        async for chunk in running.output():
            self._count += len(chunk.data)
            stream = self._streams[chunk.stream]
            stream += chunk.data[: _KEPT - len(stream)]

    def outcome(self, fault: str | None, exit_: ProcessExit | None) -> Outcome:
        """What came of it; a fault before its start is nothing that it did."""
        if self._started is None:
            return Outcome(reason="none", unknown=f"it was not started: {fault}")
        return Outcome(
            stdout=bytes(self._streams["stdout"]),
            stderr=bytes(self._streams["stderr"]),
            delivered=self._count,
            value=self.value,
            files=self.files,
            fault=fault,
            reason="none" if exit_ is None else exit_.reason,
            wall_s=time.monotonic() - self._started,
        )


def _mismatch(exit_: ProcessExit, level: Level) -> str | None:
    """Why the run does not count: it was not confined as its level is."""
    report = exit_.sandbox
    if report.level != level or report.missing:
        return f"ran with {replace(report)}"
    return None


@asynccontextmanager
async def sandboxed(kind: str, private: Path) -> AsyncIterator[SandboxedRunner]:
    """The sandbox of one kind: with all this machine has, or less, or with a network or hosts."""
    without = ("namespaces",) if "without-namespaces" in kind else ()
    network = Network(_LET_AT) if "with-network" in kind else NO_NETWORK
    runner = SandboxedRunner(private, without, network, hosts="with-hosts" in kind)
    try:
        yield runner
    finally:
        await runner.close()
