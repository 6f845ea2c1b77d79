"""`tollgate serve`: the service, and what it says about itself at the start."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

import typer

from app import __version__
from app.catalog.catalog import PluginProblem
from app.cli.first_token import Access, prepare_access
from app.cli.gate_checks import missing_hooks
from app.cli.installation import needs_token
from app.core.errors import ConfigurationError
from app.core.settings import Settings
from app.core.visible import visible
from app.execution.setup import make_folder, redactor_of

NO_KERNEL_SANDBOX = "kernel sandbox: not in this version"
PROCESS_LIMITS = "commands run with a clean environment, limits and their own process group"
SAME_RIGHTS = (
    "a command runs with the rights of the service: one that is let through could read its data"
    " or answer a confirmation; give the shell only to agents you trust"
)
FILES_BENEATH = "file tools cannot leave the workspace"
START_FAILED = 1


def serve_until_stopped(settings: Settings) -> int:
    """Serve until a signal asks to stop; the exit code.

    Raises:
        ConfigurationError: the service would be open to other machines, or the workspace
            cannot be made.
        StorageUnavailable: the data directory cannot be written.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    configure_logging(settings)
    asyncio.run(needs_token(settings))
    try:
        make_folder(settings.workspace_dir)
    except OSError as error:
        raise ConfigurationError(
            f"workspace {str(settings.workspace_dir)!r} cannot be made ({error.strerror});"
            " set TOLLGATE_WORKSPACE to a folder"
        ) from None
    return _serve(settings)


def _serve(settings: Settings) -> int:
    from functools import partial

    from app.api.app import create_app
    from app.api.server import listening_socket, run_server
    from app.main import open_service

    try:
        listening_socket(settings).close()
    except ConfigurationError as error:
        typer.echo(f"error: {error.message}", err=True)
        return START_FAILED
    access = asyncio.run(prepare_access(settings))
    app = create_app(settings, partial(open_service, settings))
    announced: list[str] = []

    def announce(url: str) -> None:
        problems = app.state.service.gate.registry.snapshot().problems
        announced.append(url)
        lines = banner(settings, url, access=access, problems=problems)
        lines[-1:-1] = missing_hooks(app.state.service.gate.hooks.problems)
        typer.echo("\n".join(lines))
        sys.stdout.flush()

    run_server(settings, app, announce)
    return 0 if announced else START_FAILED


def banner(
    settings: Settings, url: str, *, access: Access, problems: tuple[PluginProblem, ...]
) -> list[str]:
    """The lines that a starting service prints."""
    model = (
        f"{settings.model}, key set"
        if settings.anthropic_api_key
        else ("no key (ANTHROPIC_API_KEY): tools work, chat with a model does not")
    )
    facts = {
        "url": url,
        "data": str(settings.data_dir.absolute()),
        "workspace": str(settings.workspace_dir.absolute()),
        **access.facts(),
        "model": model,
        "sandbox": f"{NO_KERNEL_SANDBOX}; {PROCESS_LIMITS}; {FILES_BENEATH}",
        "warning": SAME_RIGHTS,
    }
    lines = [f"Tollgate {__version__}"]
    lines += [f"  {name:10} {value}" for name, value in facts.items()]
    lines += [
        f"  {'plugin':10} {visible(problem.name)} is not loaded: {visible(problem.error)}"
        for problem in problems
    ]
    return [*lines, "Stop with Ctrl-C."]


def configure_logging(settings: Settings) -> None:
    """Log to standard error, as text or as one JSON object per line; our secrets are masked."""
    import structlog

    redactor = redactor_of(settings)

    renderer: Any = structlog.processors.JSONRenderer()
    if settings.log_format == "console":
        # Plain: the usual one writes out every local variable, arguments and headers among
        # them, broken into lines so that no secret is recognised, and takes minutes for some.
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    shared: list[Any] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[Any] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if settings.log_format == "json":
        last.append(structlog.processors.format_exc_info)

    def mask(_logger: Any, _method: str, line: Any) -> str:
        return redactor.text(str(line))

    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[*last, renderer, mask]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    # The banner says what their accounts of starting would say.
    for name in ("uvicorn", "alembic"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """Being asked to stop is no failure: also when the server passes its signal on at the end."""
    raise SystemExit(0)
