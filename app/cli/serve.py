"""`tollgate serve`: runs the service and prints its start banner."""

from __future__ import annotations

import asyncio
import ctypes
import faulthandler
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from threading import Thread, Timer
from types import FrameType
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

import typer

from app import __version__
from app.bootstrap.installation import make_folder
from app.catalog.catalog import PluginProblem
from app.cli.bootstrap_token import LocalAccess, prepare_access
from app.cli.installation import needs_token
from app.cli.instance_lock import only_service_of
from app.cli.log_lines import JsonLines, LinesForPeople, LogLineHandler
from app.cli.service_discovery import noted
from app.config.secret_values import redactor_of
from app.config.setting_files import unread_here
from app.config.setting_names import deprecated_forms, refuse_misspelt, wrong_names
from app.config.settings import Settings
from app.core.errors import ConfigurationError, TollgateError
from app.core.escaping import visible
from app.execution.doctor.hook_checks import missing_hooks
from app.execution.doctor.sandbox_checks import sandbox_line
from app.operations.protocols.sandbox import SandboxStatus

if TYPE_CHECKING:
    from app.api.service import Service

log = logging.getLogger(__name__)

START_FAILED = 1
STOP_FAILED = 1
STOP_S = 60.0
"""Seconds within which a service ends; everything it waits for has a shorter timeout."""
OPEN_FILES = 65_536
_M_ARENA_MAX = -8
_STACK_BYTES = 2 << 20


def serve_until_stopped(settings: Settings) -> int:
    """Serve until a signal stops the service; return the exit code.

    Raises:
        ConfigurationError: A setting is unknown, settings files in the current folder would be
            ignored, the service would be open to other machines, or the workspace cannot be
            created.
        StorageUnavailable: The data folder is not writable, or another service uses it.
    """
    names = wrong_names(Settings, settings.data_dir)
    refuse_misspelt(names)
    for wrong in names:
        typer.echo(f"warning: {wrong.sentence}: it has no effect", err=True)
    for sentence in deprecated_forms(Settings, settings.data_dir):
        typer.echo(f"warning: {sentence}", err=True)
    _tell_unread(settings)
    with only_service_of(settings.data_dir):
        return _prepared(settings)


def _tell_unread(settings: Settings) -> None:
    """Report settings files in the current folder that are not read.

    Raises:
        ConfigurationError: The installation has no settings files, so these were probably intended.
    """
    unread = unread_here(Settings, settings.data_dir)
    if not unread:
        return
    named, own = " and ".join(map(str, unread)), str(settings.data_dir.absolute())
    if not settings.files:
        raise ConfigurationError(
            f"{named} would not be read, because settings are read from the data "
            f"folder. Move them to {own!r}, or create an empty .env there to ignore "
            "them"
        )
    typer.echo(f"warning: {named} is not read; settings are read from {own!r}", err=True)


def _prepared(settings: Settings) -> int:
    leave = Leave()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    configure_logging(settings)
    faulthandler.enable()  # a process that runs out of memory may die in C code
    _allow_open_files()
    _save_address_space()
    asyncio.run(needs_token(settings))
    try:
        make_folder(settings.workspace_dir)
    except OSError as error:
        raise ConfigurationError(
            f"Cannot create the workspace {str(settings.workspace_dir)!r} "
            f"({error.strerror}): set TOLLGATE_WORKSPACE to a folder"
        ) from None
    return _serve(settings, leave)


def _serve(settings: Settings, leave: Leave) -> int:
    from functools import partial

    from app.operations.sandbox.kernel_probe import probe

    # A child probes the kernel's layers on another processor, while this process imports the web
    # stack.
    Thread(target=probe, args=(settings.sandbox.uid,), daemon=True).start()
    from app.api.app import create_app
    from app.api.server import listening_socket, run_server

    try:
        listening_socket(settings).close()
    except ConfigurationError as error:
        typer.echo(f"error: {error.message}", err=True)
        return START_FAILED
    access = asyncio.run(prepare_access(settings))
    app = create_app(settings, partial(_opened, settings), whole=False)
    announced: list[str] = []
    noting = ExitStack()

    def announce(url: str) -> None:
        runtime = app.state.service.runtime
        if (port := urlsplit(url).port) is not None:
            runtime.workspaces.keep_out(port)
        announced.append(url)
        noting.enter_context(noted(_reachable(settings, url), settings.data_dir))
        if leave.asked:
            signal.raise_signal(signal.SIGTERM)  # to the server, which is listening by now
        problems, status = runtime.registry.snapshot().problems, runtime.workspaces.status
        lines = banner(settings, url, access=access, problems=problems, sandbox=status)
        lines[-1:-1] = missing_hooks(runtime.hooks.problems)
        typer.echo("\n".join(lines))
        sys.stdout.flush()

    with noting:
        run_server(settings, app, announce, stop_in_time)
    return 0 if announced else START_FAILED


def _reachable(settings: Settings, url: str) -> str:
    """Return the address for commands on this machine, even if the service listens on all
    addresses.
    """
    port = urlsplit(url).port
    return settings.model_copy(update={"port": port}).client_url if port else url


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[Service]:
    """Build the service; print an error that prevents the start as one line without traceback."""
    from app.bootstrap.service import open_service

    async with AsyncExitStack() as stack:
        try:
            service = await stack.enter_async_context(open_service(settings))
        except TollgateError as error:
            typer.echo(f"error: {error.message}", err=True)
            # The server logs a failed start with its whole traceback.
            logging.getLogger("uvicorn.error").disabled = True
            raise
        yield service


def banner(
    settings: Settings,
    url: str,
    *,
    access: LocalAccess,
    problems: tuple[PluginProblem, ...],
    sandbox: SandboxStatus,
) -> list[str]:
    """Return the lines of the start banner."""
    model = (
        f"{settings.model}, key set"
        if settings.has_model
        else f"no key ({settings.model_key_setting} is not set): tools work, chat with a "
        "model does not"
    )
    facts = {
        "url": url,
        "data": str(settings.data_dir.absolute()),
        "workspace": str(settings.workspace_dir.absolute()),
        **access.facts(),
        "model": model,
        "sandbox": sandbox_line(sandbox),
    }
    lines = [f"Tollgate {__version__}"]
    lines += [f"  {name:10} {value}" for name, value in facts.items()]
    for problem in problems:
        place = f" ({visible(problem.at)})" if problem.at else ""
        message = f"{visible(problem.name)} is not loaded{place}: {visible(problem.error)}"
        lines += [f"  {'plugin':10} {message}", f"  {'fix':10} {visible(problem.fix)}"]
    return [*lines, "Press Ctrl-C to stop."]


def configure_logging(settings: Settings) -> None:
    """Log to standard error, as text or as one JSON object per line, with secrets masked."""
    mask = redactor_of(settings).text
    handler = LogLineHandler(sys.stderr)
    handler.setFormatter(
        JsonLines(mask)
        if settings.log_format == "json"
        else LinesForPeople(mask, coloured=sys.stderr.isatty())
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    # The banner replaces the libraries' startup messages.
    for name in ("uvicorn", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _allow_open_files() -> None:
    """Raise the soft limit of open files: a running command needs four or five descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _save_address_space() -> None:
    """Reserve little unused address space where `ulimit -v` limits it.

    The allocator reserves 64 MiB for each of up to 8 threads per processor, plus each thread's
    stack, and never returns it: a service at its limit would stay there.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return
    threading.stack_size(_STACK_BYTES)
    with suppress(OSError, AttributeError):  # another C library has no such setting
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def stop_in_time() -> None:
    """End the process even if a thread hangs, and report the thread; the next start recovers.

    A service manager would kill the process eventually, without a reason.
    """
    timer = Timer(STOP_S, _cut_off)
    timer.daemon = True
    timer.start()


def _cut_off() -> NoReturn:
    log.error("the service did not stop within %g s; its threads are at:", STOP_S)
    logging.shutdown()
    faulthandler.dump_traceback(all_threads=True)
    os._exit(STOP_FAILED)


class Leave:
    """Ends the service without error on a stop signal, even when the server raises it again.

    Attributes:
        asked: Set by the signal. Python drops exceptions raised in a garbage collector callback,
            and the start would continue.
    """

    def __init__(self) -> None:
        self.asked = False

    def __call__(self, _number: int, _frame: FrameType | None) -> NoReturn:
        self.asked = True
        raise SystemExit(0)
