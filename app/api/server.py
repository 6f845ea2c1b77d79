"""HTTP server with its own listening socket, and protection against stuck clients.

Measured with uvicorn 0.54: a peer that stops reading blocks `send` forever, and neither
keepalive nor close ends this; `TCP_USER_TIMEOUT` on the listening socket, which accepted
sockets inherit, does. A graceful shutdown waits for handlers, so it needs a time limit.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from app.api.app import end_feeds
from app.api.connection_limits import ConnectionLimits
from app.api.http_protocol import HttpProtocol, ServingConfig
from app.api.ws.frame_writer import FastWebSocketProtocol
from app.config.settings import Settings
from app.core.error_boundary import ErrorBoundary
from app.core.errors import ConfigurationError, TollgateError

log = logging.getLogger(__name__)

TCP_USER_TIMEOUT_MS = 30_000
GRACEFUL_S = 10
BACKLOG = 2048


class Server(uvicorn.Server):
    """uvicorn server that then loads the deferred routes.

    It calls `on_ready` with its URL, `on_whole` when all routes are loaded, and `on_leave` when
    its shutdown starts.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        app: FastAPI,
        on_ready: Callable[[str], None],
        on_leave: Callable[[], None],
        on_whole: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._app = app
        self._on_ready = on_ready
        self._on_leave = on_leave
        self._on_whole = on_whole
        self._loading: asyncio.Task[bool] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self.started and sockets:
            self._on_ready(url_of(sockets[0]))
            self._loading = asyncio.create_task(self._load())

    async def _load(self) -> bool:
        """Load every route; stop the service if that fails."""
        with ErrorBoundary() as held:
            await self._app.state.later.loaded()
        if held.error is not None:
            log.critical("failed to load the routes; stopping the service", exc_info=held.error)
            self.should_exit = True
            return False
        self._on_whole()
        return True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; requests that wait for their route are processed first.

        Raises:
            TollgateError: the routes could not be loaded.
        """
        self._on_leave()
        self._app.state.connections.going_away()
        end_feeds(self._app)
        # Time for the writers to send the notices before the sockets close.
        await asyncio.sleep(0.05)
        await super().shutdown(sockets=sockets)
        if self._loading is not None and not await self._loading:
            raise TollgateError("The service failed to load; see its log")


def listening_socket(settings: Settings) -> socket.socket:
    """Bind the configured address.

    Raises:
        ConfigurationError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, TCP_USER_TIMEOUT_MS)
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"Cannot listen on {settings.host}:{settings.port} ({error.strerror}); "
            "choose another address with TOLLGATE_HOST and TOLLGATE_PORT"
        ) from None
    listener.setblocking(False)
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of a bound socket."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"


def make_server(
    settings: Settings,
    app: FastAPI,
    on_ready: Callable[[str], None] = lambda _: None,
    on_leave: Callable[[], None] = lambda: None,
    on_whole: Callable[[], None] = lambda: None,
) -> Server:
    """Create a server for `app`; run it with `serve(sockets=[listening_socket(settings)])`."""
    serving = settings.serving
    config = ServingConfig(
        app,
        ConnectionLimits(serving),
        loop="uvloop",
        http=HttpProtocol,
        ws=FastWebSocketProtocol,
        ws_max_size=settings.max_frame_bytes,
        ws_ping_interval=20,
        ws_ping_timeout=20,
        ws_per_message_deflate=False,
        timeout_keep_alive=serving.idle_timeout_s,
        timeout_graceful_shutdown=GRACEFUL_S,
        # Any client can send the proxy headers, so only trusted proxies may set the source.
        proxy_headers=bool(serving.trusted_proxies),
        forwarded_allow_ips=serving.trusted_proxies,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
    )
    return Server(config, app, on_ready, on_leave, on_whole)


def run_server(
    settings: Settings,
    app: FastAPI,
    on_ready: Callable[[str], None] = lambda _: None,
    on_leave: Callable[[], None] = lambda: None,
) -> None:
    """Serve on a fast event loop until a stop signal; `on_leave` is called when shutdown starts.

    Raises:
        ConfigurationError: the address cannot be used.
        TollgateError: the deferred routes could not be loaded.
    """
    import uvloop

    # The writer's thread must run while the loop is busy: with the default interval of 5 ms,
    # a commit of many rows took up to 0.2 s.
    sys.setswitchinterval(0.0005)

    listener = listening_socket(settings)
    server = make_server(settings, app, on_ready, on_leave, calm_collector)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(server.serve(sockets=[listener]))


def calm_collector() -> None:
    """Exclude permanent objects from garbage collection, and run young collections less often.

    Saves a tenth of the CPU time of a governed call (`python -m benchmarks dispatch`). There is no
    collection before: it takes a quarter of a second and finds almost nothing.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 100)
