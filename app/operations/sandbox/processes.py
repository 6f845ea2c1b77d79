"""Programs of one workspace, run in the sandbox."""

from __future__ import annotations

import asyncio
import os
import ssl
import weakref
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from app.core.errors import ToolFailed
from app.operations.egress.egress import EgressNetwork
from app.operations.local.beneath import Beneath
from app.operations.local.environment import TERMINAL_TYPE, check_argv, clean_environment
from app.operations.local.spawn import find_program
from app.operations.local.threads import PROCESSES, run_in, to_end
from app.operations.protocols.processes import ProcessSpec, RunningProcess
from app.operations.protocols.sandbox import LevelStatus
from app.operations.sandbox.caches import ProjectCache
from app.operations.sandbox.change_watch import ChangeWatch, WatchedProgramFiles
from app.operations.sandbox.config import NO_NETWORK, Network, SandboxConfig
from app.operations.sandbox.jail.job import Job
from app.operations.sandbox.pipes import open_pipes
from app.operations.sandbox.policies import ProgramFolders, command_policy, served_ports
from app.operations.sandbox.process import SandboxedProcess, launch
from app.operations.sandbox.sandbox import Sandbox

_NAMES_BY_TCP = {"RES_OPTIONS": "use-vc"}
# Without a network, retries only take time: half a minute for npm.
_ASK_ONCE = {"npm_config_fetch_retries": "0", "PIP_RETRIES": "0"}

# A refused host stays refused: npm would wait for minutes in all.
_ASK_AGAIN_SOON = {
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_retry_mintimeout": "500",
    "PIP_RETRIES": "1",
    "CARGO_NET_RETRY": "1",
}
# Where Debian has them; the interpreter may have been built for another place.
_CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# Git's and Cargo's own variables would override the settings of a repository; both find these.
_CERTIFICATE_VARIABLES = (
    *("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "PIP_CERT", "SSL_CERT_FILE", "CURL_CA_BUNDLE"),
)
# Caches that are elsewhere by default; pip, uv, Go's builds and others use `.cache` of the home.
_CACHES = {
    "npm_config_cache": ".cache/npm",
    "YARN_CACHE_FOLDER": ".cache/yarn",
    "GOMODCACHE": ".cache/go-mod",
}


class SandboxedProcesses:
    """`ProcessOperations` at level `bash`, on a `Beneath`.

    All programs of the workspace share one private temporary folder as HOME and TMPDIR, which is
    created for the first of them and removed by `close`, or once the workspace is unused.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        beneath: Beneath,
        watched: WatchedProgramFiles,
        network: Network = NO_NETWORK,
        cache: ProjectCache | None = None,
    ) -> None:
        self._sandbox = sandbox
        self._beneath = beneath
        self._network = network
        self._cache = cache
        self._private_tmp: str | None = None
        self._dropping: weakref.finalize[..., SandboxedProcesses] | None = None
        self._making = asyncio.Lock()
        self._watched = watched

    def open(self, spec: ProcessSpec) -> AbstractAsyncContextManager[RunningProcess]:
        return self._open(spec)

    async def close(self) -> None:
        """Remove the private folder; no programs may be started afterwards."""
        async with self._making:
            folder, self._private_tmp = self._private_tmp, None
            self._keep_tmp()
            if folder is not None:
                await self._sandbox.remove_folder(folder)

    @asynccontextmanager
    async def _open(self, spec: ProcessSpec) -> AsyncIterator[RunningProcess]:
        watch = ChangeWatch(
            self._watched, spec.may_change, spec.long_lived, aside=lambda: self._private_tmp
        )
        read_only = await watch.begin()
        try:
            running = await self._start(spec, read_only)
            running.watch = watch
            try:
                yield running
            finally:
                await running.close()
                self._sandbox.trim(self._cache, running.written_bytes)
        finally:
            await watch.settle()

    async def _start(self, spec: ProcessSpec, read_only: tuple[str, ...]) -> SandboxedProcess:
        check_argv(spec.argv)
        status = await self._sandbox.level("bash")
        tmp = await self._tmp()
        try:
            return await self._start_with(spec, status, tmp, read_only)
        except ToolFailed:
            if not await self._lost(tmp):
                raise
        return await self._start_with(spec, status, await self._tmp(), read_only)

    async def _start_with(
        self, spec: ProcessSpec, status: LevelStatus, tmp: str, read_only: tuple[str, ...]
    ) -> SandboxedProcess:
        job = await self._job(spec, status, tmp, read_only)
        terminal = spec.terminal
        has_input = spec.stdin is not None or spec.interactive
        network, egress = await self._served(job, spec)
        try:
            await self._sandbox.zygote.turns.next()
            pipes = open_pipes(has_input=has_input, terminal=terminal)
        except BaseException:
            if egress is not None:
                os.close(egress)
            raise
        if egress is not None:
            pipes.theirs.append(egress)
        process = await launch(self._sandbox.zygote, job, pipes, spec, "bash")
        process.network = network
        return process

    async def _served(self, job: Job, spec: ProcessSpec) -> tuple[EgressNetwork | None, int | None]:
        """Open the network of a job that has one."""
        if not job.policy.served_ports:
            return None, None
        return await self._sandbox.egress.open(self._network_of(spec).hosts)

    def _network_of(self, spec: ProcessSpec) -> Network:
        """Return the network of a program: the project's, with the hosts of its call."""
        if not spec.network:
            return NO_NETWORK
        return replace(self._network, hosts=self._network.hosts.joined(spec.hosts))

    async def _job(
        self, spec: ProcessSpec, status: LevelStatus, tmp: str, read_only: tuple[str, ...]
    ) -> Job:
        """Return the job for `spec`, except its descriptors."""
        network = self._network_of(spec)
        by_name = bool(served_ports(status, network))
        extra = {**_author(self._sandbox.config), **_extra(spec, network, by_name=by_name)}
        if self._cache is not None:
            extra = {name: f"{tmp}/{place}" for name, place in _CACHES.items()} | extra
        environment = clean_environment(tmp, extra, tmp)
        program = await to_end(run_in(PROCESSES, _find, self._beneath, spec, environment["PATH"]))
        folders = ProgramFolders(
            writable=(*self._beneath.folders, tmp),
            narrowed=self._beneath.root if self._beneath.roots else None,
            readable=spec.readable,
            read_only=read_only,
            temporary=tmp,
            cache=await self._cache_folder(),
        )
        policy = command_policy(
            *(self._sandbox.config, status, spec.limits, folders), program=program, network=network
        )
        return Job(
            policy=policy,
            root=self._beneath.root,
            cwd="/".join(self._beneath.parts(self._beneath.start(spec.cwd))) or ".",
            argv=(program, *spec.argv[1:]),
            env=environment,
            terminal=spec.terminal is not None,
            service_pid=os.getpid(),
        )

    async def _cache_folder(self) -> str | None:
        if self._cache is None:
            return None
        return await to_end(run_in(PROCESSES, self._cache.ready))

    async def _tmp(self) -> str:
        async with self._making:
            if self._private_tmp is None:
                self._private_tmp = await self._sandbox.make_folder()
                self._dropping = weakref.finalize(
                    self, self._sandbox.drop_folder, self._private_tmp
                )
                self._dropping.atexit = False  # the sandbox removes them all
            return self._private_tmp

    def _keep_tmp(self) -> None:
        """Detach the private folder from this workspace, so that it is not dropped."""
        if self._dropping is not None:
            self._dropping.detach()
            self._dropping = None

    async def _lost(self, tmp: str) -> bool:
        """Return whether the private folder was removed externally, so that another one is needed.

        Cleanup of temporary files may remove it while the service runs.
        """
        if await to_end(run_in(PROCESSES, os.path.isdir, tmp)):
            return False
        async with self._making:
            if self._private_tmp == tmp:
                self._private_tmp = None
                self._keep_tmp()
        return True


def _author(config: SandboxConfig) -> dict[str, str]:
    """Return the author of commits."""
    if config.git_author is None:
        return {}
    name, mail = config.git_author
    names, mails = (
        ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"),
        ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"),
    )
    return {**dict.fromkeys(names, name), **dict.fromkeys(mails, mail)}


def _extra(spec: ProcessSpec, network: Network, *, by_name: bool) -> dict[str, str]:
    """Return additions to the safe environment; the caller's own come last."""
    extra: dict[str, str] = {}
    if network.tcp_ports and not network.udp:
        extra |= _NAMES_BY_TCP  # names are looked up through port 53, if it is open
    if by_name:
        extra |= _ASK_AGAIN_SOON | _machines_certificates()
    elif not network.tcp_ports:
        extra |= _ASK_ONCE
    if spec.terminal is not None:
        extra["TERM"] = TERMINAL_TYPE
    return extra | dict(spec.env)


@cache
def _machines_certificates() -> dict[str, str]:
    """Return the certificates of this machine, for programs that bring their own list."""
    bundle = ssl.get_default_verify_paths().cafile or _CERTIFICATES
    return dict.fromkeys(_CERTIFICATE_VARIABLES, bundle) if Path(bundle).is_file() else {}


def _find(beneath: Beneath, spec: ProcessSpec, search: str) -> str:
    """Return the program's path; blocks. Refuses a `cwd` that is outside or not a folder."""
    with beneath.opened(beneath.start(spec.cwd), os.O_PATH | os.O_DIRECTORY) as folder:
        return find_program(spec.argv[0], folder, search)
